"""A motion as somebody asks for it, by a settings file; in a terminal or on a page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.data_information import data_information
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import (
    excitation_yaml,
    joint_trajectory,
    load_excitation,
    motion_csv,
)
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance
from sysid_ros.excitation.playback.checks import PlaybackTolerances
from sysid_ros.excitation.playback.preparation import require_stoppable_loops, stopping_time
from sysid_ros.excitation.safety.verification import predicted_torque
from sysid_ros.numerics.progress import tell, work
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.whole_folder import whole_folder
from sysid_ros.report.excitation_figure import excitation_figure
from sysid_ros.report.excitation_summary import WELL_KNOWN, excitation_summary
from sysid_ros.report.planned_motion import PlannedMotion, least_rate
from sysid_ros.report.report import Report
from sysid_ros.runs.report_files import made_now, write_document
from sysid_ros.runs.run_files import MOTION, TRAJECTORY
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.stages import Stage, silent


@dataclass(frozen=True, eq=False)
class WrittenMotion:
    """A motion that was designed, verified and written.

    Attributes:
        file: The file that it is played from.
        planned: The motion.
        text: What is said of it.
    """

    file: Path
    planned: PlannedMotion
    text: str

    def to_json(self) -> dict[str, Any]:
        """What a program wants to know of it."""
        clearance, last = self.planned.verification.clearance, self.planned.deviations[1][-1]
        return {
            'file': str(self.file), 'duration': float(self.planned.excitation.duration),
            'stopping_time': float(self.planned.stopping_time),
            'clearance': float(clearance) if np.isfinite(clearance) else None,
            'base_parameters': len(last), 'well_known': int(np.count_nonzero(last < WELL_KNOWN))}


@dataclass(frozen=True)
class ExcitationRequest:
    """What is to be designed.

    Attributes:
        settings: The settings file.
        design: What it says of the search in place of the file: criterion, seed, starts.
        count: How many motions that are good together.
        speed: How fast they are played, in parts of what was designed.
        after: What is known already: folders of runs, and files of motions.
        rate: Samples in the tables in [Hz].
        output: Folder to write; ``excitations/<name of the settings file>`` where left out.
    """

    settings: Path
    design: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    speed: float = 1.0
    after: tuple[Path, ...] = ()
    rate: float = 100.0
    output: Path | None = None

    @property
    def folder(self) -> Path:
        """Folder that is written."""
        return self.output or Path('excitations') / self.settings.stem

    def plan(self) -> ExcitationPlan:
        """The settings.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        plan = ExcitationPlan.load(self.settings)
        return replace(plan, settings=plan.settings.model_copy(
            update={'design': replace(plan.settings.design, **self.design)}))

    def run(
        self, *, command: str = '', stage: Stage = silent,
        say: Callable[[str], None] = lambda _: None, shows_progress: bool = True,
    ) -> Iterator[WrittenMotion]:
        """Design, verify and write one motion after the other.

        Args:
            command: Command line, for the provenance in the report.
            stage: Entered for each step, with what is being done in words.
            say: Told what a person should know before the search begins.
            shows_progress: Whether anybody looks at how far a search is.

        Raises:
            SysidError: Settings, robot or what is known cannot be used, or no motion is allowed.
        """
        plan = self.plan()
        with stage('Loading the robot and what is known already'):
            designer = informed(plan, self.after)
        for remark in (_missing_meshes(designer), _searched_pose(designer, plan)):
            if remark:
                say(remark)
        self._create_folder()
        for number in range(1, self.count + 1):
            suffix = f'_{number}' if self.count > 1 else ''
            with stage(f'Designing motion {number} of {self.count}'):
                excitation = designer.design(
                    _progress(designer.settings) if shows_progress else None).at_speed(self.speed)
            self._require_rate(excitation)
            yield self._write(suffix, designer, excitation, command)
            designer = designer.after(excitation)

    def _create_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f'cannot be written: {error}', where=str(self.folder),
                fix='Name another folder with -o') from error

    def _require_rate(self, excitation: Excitation) -> None:
        least = least_rate(excitation)
        if self.rate < least:
            raise ConfigurationError(
                'the table would be too coarse to play', where='--rate', found=f'{self.rate:g} Hz',
                allowed=f'{least:.3g} Hz or more',
                fix=f'Say --rate {np.ceil(least):.0f}, or leave it out',
            )

    def _write(
        self, suffix: str, designer: Designer, excitation: Excitation, command: str
    ) -> WrittenMotion:
        """Verify a motion, and write its files."""
        folder = self.folder
        verification = designer.verify(designer.dense(excitation))
        verification.require()
        require_stoppable(designer, folder.name, excitation)
        planned = PlannedMotion(
            name=f'{folder.resolve().name}{suffix}', designer=designer, excitation=excitation,
            rate=self.rate, verification=verification,
            stopping_time=stopping_time(designer, excitation))
        text = excitation_summary(
            excitation, verification, designer.information, planned.deviations[1][-1],
            planned.stopping_time)
        settings = self.settings.read_text(encoding='utf-8')
        with whole_folder(folder) as part:
            digests = _write_tables(part, suffix, planned, text)
            excitation_figure(
                part / f'preview{suffix}.png', designer.limits, planned.motion, planned.torque,
                planned.deviations, title=_title(planned))
            note = write_document(
                part, Report.of_motion(planned, made_now(command, settings, digests)),
                suffix.lstrip('_'))
        return WrittenMotion(
            folder / numbered(MOTION, suffix), planned, f'{text}\n{note}' if note else text)


def informed(plan: ExcitationPlan, known: Sequence[Path]) -> Designer:
    """The search for a motion that shows what runs and other motions do not.

    Args:
        plan: Settings.
        known: Folders of runs, and files of motions.

    Raises:
        SysidError: A path is neither, or is of another robot.
    """
    runs = [path for path in known if path.is_dir()]
    designer = plan.designer()
    names = designer.model.parameters.names
    information = np.zeros((len(names), len(names)))
    for path in runs:
        folder = RunFolder.open(path)
        problem = Measurement.read(folder.setup()).problem()
        if problem.parameters.names != names:
            other = sorted(set(problem.parameters.names) ^ set(names))
            raise ConfigurationError(
                'the run has other parameters than the motion is designed for', where=str(path),
                found=', '.join(other[:6]), fix='Use the same robot and joint terms in both files',
            )
        information += data_information(problem, folder.estimate().residuals)
    if runs:
        designer = plan.designer(information)
    for path in known:
        if path not in runs:
            designer = designer.after(load_excitation(path))
    return designer


def require_stoppable(designer: Designer, name: str, excitation: Excitation) -> None:
    """Refuse what the excitation node would refuse, with the time it takes by default to react.

    Args:
        designer: The search, with the robot and its limits.
        name: What the motion is called in messages.
        excitation: The motion.

    Raises:
        ExcitationError: Closed loops could not be stopped along it.
    """
    require_stoppable_loops(
        designer, name, designer.dense(excitation), PlaybackTolerances().reaction_time)


def numbered(name: str, suffix: str) -> str:
    """The name of a file with something behind its stem.

    Args:
        name: The name.
        suffix: What is put there.
    """
    return f'{Path(name).stem}{suffix}{Path(name).suffix}'


def _missing_meshes(designer: Designer) -> str:
    """What stands for meshes that were not found; empty where all were."""
    missing = [
        link for check in designer.checks if isinstance(check, GeometryClearance)
        for link in check.missing
    ]
    return '' if not missing else (
        f'Meshes that were not found: {", ".join(missing)}. Capsules along the links stand for '
        'them; mind their thickness (clearance: capsule_radius). Meshes of packages are looked '
        'for in AMENT_PREFIX_PATH and ROS_PACKAGE_PATH: source the workspace, or set '
        'ROS_PACKAGE_PATH to the folder that holds the package.')


def _searched_pose(designer: Designer, plan: ExcitationPlan) -> str:
    """The pose that was searched for, where the middle of the ranges is none to begin from."""
    pose, middle = designer.clear_pose, designer.limits.centre
    if pose is None or plan.settings.rest or (pose == middle).all():
        return ''
    said = ', '.join(
        f'{name}: {value:.6g}' for name, value, usual in zip(
            designer.limits.joint_names, pose, middle, strict=True) if value != usual)
    return (
        'In the middle of its ranges the robot touches itself. It is clear of itself, as described '
        f'and with its other joints there, at rest: {{{said}}}')


def _progress(settings: DesignSettings) -> Callable[[int, float, float], None]:
    def show_progress(number: int, cost: float, best: float) -> None:
        with work(f'random beginnings, best {-best:.2f}' if np.isfinite(best) else
                  'random beginnings, no allowed motion yet'):
            tell(number + 1, settings.starts)

    return show_progress


def _title(planned: PlannedMotion) -> str:
    last, values = planned.deviations[1][-1], planned.singular_values
    condition = f', condition number {values[0] / values[-1]:.3g}' if len(values) else ''
    return (
        f'{planned.designer.model.robot.name[:24]}: motion of {planned.excitation.duration:.4g} s, '
        f'{np.count_nonzero(last < WELL_KNOWN)} of {len(last)} base parameters to '
        f'{100.0 * WELL_KNOWN:.0f} %{condition}')


def _write_tables(
    folder: Path, suffix: str, planned: PlannedMotion, summary: str
) -> dict[str, str]:
    """Files that a motion is played from; returns SHA-256 by name."""
    excitation, names = planned.excitation, planned.excitation.joint_names
    rows = excitation.grid(planned.rate)
    torque = predicted_torque(planned.designer.model, rows)
    trajectory = yaml.safe_dump(
        joint_trajectory(names, rows, torque), sort_keys=False, default_flow_style=None
    )
    digests = {}
    for name, content in (
        (MOTION, excitation_yaml(excitation)), (TRAJECTORY, trajectory),
        ('motion.csv', motion_csv(names, rows, torque)), ('summary.txt', summary + '\n'),
    ):
        file, data = numbered(name, suffix), content.encode()
        write_atomically(folder / file, data)
        digests[file] = hashlib.sha256(data).hexdigest()
    return digests
