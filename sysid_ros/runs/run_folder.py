"""The folder a fit leaves behind: everything needed to judge, repeat and hand over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.trajectory.search_log import iterations_table
from sysid_ros.evaluation.commanded_torque import with_commanded_torques
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import (
    CLOSEST_FRICTION,
    FITTED_RANGE,
    JUDGED_RANGE,
    Evaluation,
    HeldOut,
)
from sysid_ros.evaluation.faster_motion import FASTER_MOTION
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.evaluation.study import Study
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.joint_terms.closest_friction import frictions_from_json
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.description_export import write_description
from sysid_ros.release.dry_friction import dry_friction_parameters
from sysid_ros.release.mechanism_export import identified_mechanism
from sysid_ros.release.whole_folder import whole_folder
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.report.drawing import Drawing
from sysid_ros.report.evidence import comparison_section, friction_section
from sysid_ros.report.figures import torque_strips
from sysid_ros.report.motion_figure import motion_strips
from sysid_ros.report.simulation_figure import simulation_strips
from sysid_ros.report.summary import summary
from sysid_ros.runs.judged import JUDGED_BY, KEY, JudgedBy, digests
from sysid_ros.runs.report_files import DOCUMENT, PAGE
from sysid_ros.runs.stored_robot import stored_robot

#: What a terminal shows of the run; and recordings that were given as arrays, of which the run has
#: the only copy: another fit in the same folder leaves them alone.
BRIEF, RECORDINGS = 'brief.txt', 'recordings'
_ESTIMATE = 'estimate.json'
# Every step of a fit of states and parameters.
_ITERATIONS = 'iterations.csv'
_SETTINGS = 'settings.yaml'
# Settings of more recordings that were fitted together, by their number, and any of these names.
_OTHERS, _ANY_OTHER = 'settings_{}.yaml', re.compile(r'settings_\d+\.yaml')
# Settings of the recording that was judged by, if it was another one.
_VALIDATION = 'validation.yaml'
# By the format of the robot description.
_PRIOR = {'urdf': 'prior.urdf', 'mjcf': 'prior.xml'}
_IDENTIFIED = {'urdf': 'identified.urdf', 'mjcf': 'identified.xml'}
# Of a planar mechanism, beside the tree of its joints.
_MECHANISM = 'identified_mechanism.yaml'
_FILES = (
    _ESTIMATE, _SETTINGS, _VALIDATION, *_PRIOR.values(), 'prior_loops.yaml', 'prior_mechanism.yaml',
    *_IDENTIFIED.values(), _MECHANISM, 'identified.yaml', 'verdict.json', 'summary.txt',
    'torque_training.png', 'torque_held_out.png', 'evaluation.json', 'simulation.png',
    'comparison.txt', 'comparison.json', 'friction.txt', 'friction.json', 'provenance.json',
    'readings.png', _ITERATIONS, PAGE, DOCUMENT, BRIEF,
)


@dataclass(frozen=True)
class RunFolder:
    """A folder with one fit and its evaluation.

    Attributes:
        path: The folder.
        place: Where it will be when it is whole; None for where it is.
    """

    path: Path
    place: Path | None = None

    @classmethod
    @contextmanager
    def written(cls, path: Path) -> Iterator[RunFolder]:
        """A run to write, which comes to its folder, or replaces an earlier run, when it is whole.

        What is interrupted, by an error or by Ctrl-C, leaves an earlier run as it was.

        Raises:
            ConfigurationError: The path holds something that is no run.
            ReleaseError: It cannot be written.
        """
        cls.require_free(path)
        with whole_folder(path, lambda: cls.clear(path)) as part:
            yield cls(part, path)

    @staticmethod
    def clear(path: Path) -> None:
        """Remove what an earlier fit left, but for recordings that it has the only copy of."""
        for file in filter(_of_a_run, path.iterdir() if path.is_dir() else ()):
            file.unlink()

    @staticmethod
    def require_free(path: Path) -> None:
        """Refuse a path that a run must not be written to.

        Raises:
            ConfigurationError: It holds something that is no run.
        """
        if path.exists() and not path.is_dir():
            raise ConfigurationError('is not a folder', where=str(path), fix='Choose another -o')
        # A fit of earlier versions that failed left less than a run, but nothing else.
        foreign = path.is_dir() and any(
            not _of_a_run(file) and file.name != RECORDINGS for file in path.iterdir())
        if foreign and not (path / _ESTIMATE).is_file():
            raise ConfigurationError(
                'the folder holds something else', where=str(path), fix='Choose another -o'
            )

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run.

        Raises:
            ConfigurationError: There is no run in the folder.
        """
        missing = [name for name in (_ESTIMATE, _SETTINGS) if not (path / name).is_file()]
        if not any((path / name).is_file() for name in _PRIOR.values()):
            missing.append(' or '.join(_PRIOR.values()))
        if missing:
            raise ConfigurationError(
                'is not the folder of a fit', where=str(path), found=f'no {", ".join(missing)}',
                fix="Name the folder that 'sysid fit' wrote",
            )
        return cls(path)

    def estimate(self) -> Estimate:
        """The estimate of the run."""
        return Estimate.load(self.path / _ESTIMATE)

    def setup(self) -> FitSetup:
        """Settings of the run, with the robot description it was made with."""
        return FitSetup.load(self.path / _SETTINGS)

    def others(self) -> tuple[Identification, ...]:
        """Settings of more recordings that were fitted together, in their order."""
        names = [file.name for file in self.path.iterdir() if _ANY_OTHER.fullmatch(file.name)]
        numbers = sorted(int(name.removesuffix('.yaml').rpartition('_')[2]) for name in names)
        return tuple(
            Identification.load(self.path / _OTHERS.format(number)) for number in numbers)

    def validation(self) -> Identification | None:
        """Settings of the recording that was judged by, if it was another one."""
        file = self.path / _VALIDATION
        return Identification.load(file) if file.is_file() else None

    def write_inputs(self, setup: FitSetup) -> None:
        """Keep the settings and the description, so that the run can be repeated."""
        identification = setup.identification
        settings = identification.settings.model_dump(mode='json', exclude_unset=True)
        robot, files = stored_robot(setup, _PRIOR[setup.model.robot.description.format])
        settings['robot'] |= robot
        settings['folder'] = self._folder_of(identification)
        if identification.settings.known.payload is not None:
            load = settings['known']['payload']
            load['recording'] = str((identification.base / load['recording']).resolve())
        self._write_settings(_SETTINGS, settings)
        for name, content in files.items():
            self._write(name, content)

    def write_others(self, others: Sequence[Identification]) -> None:
        """Keep the settings of more recordings, so that they can be fitted together again."""
        for number, other in enumerate(others, start=2):
            self._write_recording(_OTHERS.format(number), other)

    def write_validation_settings(self, validation: Identification | None) -> None:
        """Keep the settings of the recording to judge by, so that it can be judged again."""
        if validation is not None:
            self._write_recording(_VALIDATION, validation)

    def _write_recording(self, name: str, other: Identification) -> None:
        """Keep what is a recording's own of its settings."""
        settings = other.settings.model_dump(
            mode='json', exclude_unset=True, exclude={'robot', 'fit', 'known'})
        settings['folder'] = self._folder_of(other)
        self._write_settings(name, settings)

    def _folder_of(self, identification: Identification) -> str:
        """Folder of a recording, relative where it is in the run, which may be moved."""
        folder, run = identification.folder.resolve(), (self.place or self.path).resolve()
        return str(folder.relative_to(run) if folder.is_relative_to(run) else folder)

    def draw_torques(self, study: Study, estimate: Estimate, drawing: Drawing) -> None:
        """Draw the torques of an estimate, which may still have to be judged.

        Args:
            study: The recording and the data to judge by.
            estimate: The estimate.
            drawing: What draws.
        """
        study, by_motion = with_commanded_torques(study, estimate), study.loop is not None
        drawing.add(self.path / 'torque_training.png', torque_strips(
            study.training, estimate, title='torques of the training data', by_motion=by_motion))
        if study.held_out is not None:
            drawing.add(self.path / 'torque_held_out.png', torque_strips(
                study.held_out.problem, estimate, title='torques of data the fit has not seen',
                by_motion=by_motion))

    def write_study(
        self, study: Study, evaluation: Evaluation, drawing: Drawing,
        comparison: Comparison | None = None,
    ) -> tuple[Evaluation, str]:
        """Write the estimate, what is handed over, and all that was found out about it.

        Args:
            study: The recording and the data to judge by.
            evaluation: The estimate that is written, with its evidence.
            drawing: What draws its motion; torques are drawn by :meth:`draw_torques`.
            comparison: How it does beside other estimators, if they were compared.

        Returns:
            The evaluation with notes on the export among its remarks, and the summary.
        """
        if evaluation.simulation is not None:
            drawing.add(self.path / 'simulation.png', simulation_strips(
                evaluation.simulation, study.training.model.robot.name))
        if study.trajectory is not None and evaluation.motion is not None:
            drawing.add(
                self.path / 'readings.png', motion_strips(study.trajectory, evaluation.motion))
            self._write(_ITERATIONS, iterations_table(evaluation.motion.iterations).encode())
        notes = self._write_result(study.training.model, evaluation.estimate)
        evaluation = replace(evaluation, verdict=evaluation.verdict.with_remarks(notes))
        text = summary(evaluation, study.data.qualities, comparison, study.choice)
        self._write('summary.txt', text.encode())
        self._write_json(
            'verdict.json', evaluation.verdict.to_json() | {
                KEY: digests(self.path), JUDGED_BY: _judged_by(study, evaluation).to_json()})
        self._write_json('evaluation.json', evaluation.to_json())
        if comparison is not None:
            self._write('comparison.txt', comparison_section(comparison).encode() + b'\n')
            self._write_json('comparison.json', comparison.to_json())
        if study.friction is not None:
            self._write('friction.txt', friction_section(study.friction).encode() + b'\n')
            self._write_json('friction.json', study.friction.to_json())
        return evaluation, text

    def write_brief(self, text: str) -> None:
        """Write what a terminal shows of the run."""
        self._write(BRIEF, text.encode())

    def _write_result(self, model: TorqueModel, estimate: Estimate) -> tuple[str, ...]:
        """Write the estimate, and the parameters to hand over if they are consistent.

        Returns:
            Notes on the export, or why there is none.
        """
        self._write(_ESTIMATE, estimate.to_json().encode())
        if not estimate.status.ok:
            return ('No URDF was written, because the fit did not converge.',)
        parameters = estimate.parameters
        robot = model.robot
        provenance = {
            'estimator': estimate.estimator, 'estimate': _ESTIMATE,
            'data_sha256': str(estimate.provenance.get('sha256', '')),
        } | {
            key: estimate.provenance[key] for key in (FITTED_RANGE, JUDGED_RANGE, FASTER_MOTION)
            if key in estimate.provenance}
        self._write('identified.yaml', export_yaml(
            robot, parameters, provenance, estimate.intervals()).encode())
        try:
            file = self.path / _IDENTIFIED[robot.description.format]
            closest = frictions_from_json(estimate.provenance.get(CLOSEST_FRICTION, {}))
            drives = actuated(model)
            simulated, notes = dry_friction_parameters(estimate)
            if robot.description.mechanism is not None:
                text, without_place = identified_mechanism(robot, simulated)
                self._write(_MECHANISM, text.encode())
                notes += without_place
            return (*notes, *write_description(
                file, robot, simulated, closest,
                None if drives is None else drives.actuators).notes)
        except ReleaseError as error:
            return (f'No {robot.description.format.upper()} was written: {error}',)

    def write_validation(
        self, name: str, estimate: Estimate, verdict: Verdict, held_out: HeldOut,
        simulation: Simulation | None,
    ) -> Path:
        """Write verdict and figures of one more recording, under its name.

        Returns:
            The file of the verdict.
        """
        file = f'verdict_{name}.json'
        self._write_json(file, verdict.to_json())
        with Drawing() as drawing:
            drawing.add(self.path / f'torque_{name}.png', torque_strips(
                held_out.problem, estimate, title=f'torques of {name}',
                by_motion=held_out.loop is not None))
            if simulation is not None:
                drawing.add(
                    self.path / f'simulation_{name}.png',
                    simulation_strips(simulation, held_out.problem.model.robot.name))
        return self.path / file

    def _write_settings(self, name: str, settings: dict[str, Any]) -> None:
        text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
        self._write(name, text.encode())

    def _write_json(self, name: str, content: dict[str, Any]) -> None:
        self._write(name, json.dumps(content, indent=1, allow_nan=False).encode())

    def _write(self, name: str, content: bytes) -> None:
        write_atomically(self.path / name, content)


def _judged_by(study: Study, evaluation: Evaluation) -> JudgedBy:
    """What an estimate was judged by, so that it can be judged by the same again."""
    held_out, unseen = study.held_out, evaluation.held_out
    return JudgedBy(
        '' if held_out is None else str(held_out.problem.provenance.get('sha256', '')),
        study.holdout, study.folds, study.data.coarse,
        tuple(evaluation.training.candidate.rms_per_joint.tolist()),
        () if unseen is None else tuple(unseen.candidate.rms_per_joint.tolist()))


def _of_a_run(file: Path) -> bool:
    """Whether a file of a run folder has one of the names that a fit writes."""
    return file.name in _FILES or _ANY_OTHER.fullmatch(file.name) is not None
