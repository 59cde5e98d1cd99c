"""Design motions that show the dynamics of a robot, within its limits.

The settings file names the robot, the family of motions, limits and what is in the way. What
recordings or other motions tell already can be taken into account, so that the next motion
shows what they do not.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import Shown, add_shown_arguments, show, shown_by
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.data_information import data_information
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import CRITERIA
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import (
    excitation_yaml,
    joint_trajectory,
    load_excitation,
    load_motion_csv,
    motion_csv,
)
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance
from sysid_ros.excitation.playback.checks import PlaybackTolerances
from sysid_ros.excitation.playback.preparation import require_stoppable_loops, stopping_time
from sysid_ros.excitation.safety.verification import predicted_torque, resampled
from sysid_ros.numerics.progress import tell, work
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.whole_folder import whole_folder
from sysid_ros.report.excitation_figure import excitation_figure
from sysid_ros.report.excitation_summary import WELL_KNOWN, excitation_summary, limits_table
from sysid_ros.report.planned_motion import PlannedMotion, least_rate
from sysid_ros.report.report import Report
from sysid_ros.runs.report_files import made_now, write_document
from sysid_ros.runs.run_folder import RunFolder

_CHOICES = ('criterion', 'seed', 'starts')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid excite``."""
    parser.add_argument('settings', type=Path, help='settings file (YAML)')
    parser.add_argument('--criterion', choices=tuple(CRITERIA), help='what is optimised')
    parser.add_argument('--seed', type=int, help='of the random beginnings')
    parser.add_argument('--starts', type=int, help='most random beginnings')
    parser.add_argument(
        '--count', type=int, default=1, metavar='N', help='motions that are good together'
    )
    parser.add_argument(
        '--speed', type=float, default=1.0, metavar='SCALE',
        help='play so many times as fast as designed; below 1 is gentler',
    )
    parser.add_argument(
        '--after', type=Path, action='append', default=[], metavar='PATH',
        help="what is known already: folder of 'sysid fit', or a motion of this command; may be "
        'repeated',
    )
    parser.add_argument(
        '--check', type=Path, metavar='FILE',
        help='design nothing, but verify a motion: YAML of this command, or CSV of any planner',
    )
    parser.add_argument(
        '--rate', type=float, default=100.0, metavar='HZ', help='samples in the tables'
    )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FOLDER',
        help='folder to write; by default excitations/<name of the settings file>',
    )
    add_shown_arguments(parser, 'what was designed, or found', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Design, verify, write and print; or only verify."""
    for name, most in (('count', 100), ('rate', 1e4), ('speed', 1.0)):
        if not 0 < getattr(options, name) <= most:
            raise ConfigurationError(
                'cannot be used', where=f'--{name}', found=getattr(options, name),
                allowed=f'above 0, at most {most:g}', fix=f'Say a number, as --{name} 1',
            )
    shown = shown_by(options)
    plan = ExcitationPlan.load(options.settings)
    given = {name: value for name in _CHOICES if (value := getattr(options, name)) is not None}
    plan = replace(plan, settings=plan.settings.model_copy(
        update={'design': replace(plan.settings.design, **given)}
    ))
    if options.check is not None:
        return _check(plan.designer(), options.check, shown)
    with shown.stage('Loading the robot and what is known already'):
        designer = informed(plan, options.after)
    for remark in (_missing_meshes(designer), _searched_pose(designer, plan)):
        if remark:
            shown.say(remark)
    folder = options.output or Path('excitations') / options.settings.stem
    _create(folder)
    motions: list[dict[str, Any]] = []
    for number in range(1, options.count + 1):
        suffix = f'_{number}' if options.count > 1 else ''
        with shown.stage(f'Designing motion {number} of {options.count}'):
            excitation = designer.design(
                None if shown is Shown.NOTHING else _progress(designer.settings),
            ).at_speed(options.speed)
        _require_rate(options.rate, excitation)
        text, planned = _write(folder, suffix, designer, excitation, options)
        shown.say(text)
        motions.append(_plain(folder / f'excitation{suffix}.yaml', planned))
        designer = designer.after(excitation)
    show(shown, brief=f'Written to {folder}', document={'folder': str(folder), 'motions': motions})
    return ExitCode.OK


def _plain(file: Path, planned: PlannedMotion) -> dict[str, Any]:
    """What a program wants to know of a motion."""
    clearance = planned.verification.clearance
    return {
        'file': str(file), 'duration': float(planned.excitation.duration),
        'stopping_time': float(planned.stopping_time),
        'clearance': float(clearance) if np.isfinite(clearance) else None,
        'base_parameters': len(planned.deviations[1][-1]),
        'well_known': int(np.count_nonzero(planned.deviations[1][-1] < WELL_KNOWN))}


def _check(designer: Designer, path: Path, shown: Shown) -> ExitCode:
    """Verify a motion and say everything that was found."""
    names = designer.limits.joint_names
    if path.suffix in ('.yaml', '.yml'):
        excitation = load_excitation(path)
        _require_joints(path, excitation.joint_names, names)
        found = designer.verify(designer.dense(excitation))
        if found.allowed:
            _require_stoppable(designer, str(path), excitation)
            shown.say(f'It can be stopped within {stopping_time(designer, excitation):.2g} s.\n')
    else:
        motion = load_motion_csv(path, names)
        found = designer.verify(motion)
        if found.allowed:
            # What happens between the rows counts, too.
            found = designer.verify(resampled(motion, designer.settings.verification_rate))
    findings = [str(finding) for finding in found.findings]
    lines = [limits_table(names, found) + '\n'] if found.used else []
    lines += [*findings, f'{path} {"may" if found.allowed else "must not"} be played.']
    show(shown, brief='\n'.join(lines), document={
        'file': str(path), 'allowed': found.allowed, 'findings': findings})
    return ExitCode.OK if found.allowed else ExitCode.BAD_INPUT


def informed(plan: ExcitationPlan, known: list[Path]) -> Designer:
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


def _require_joints(path: Path, found: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    if found != allowed:
        raise ConfigurationError(
            'the motion is one of another robot', where=str(path), found=', '.join(found),
            allowed=', '.join(allowed),
            fix='Name a motion that was planned with this settings file',
        )


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f'cannot be written: {error}', where=str(folder),
            fix='Name another folder with -o') from error


def _require_rate(rate: float, excitation: Excitation) -> None:
    least = least_rate(excitation)
    if rate < least:
        raise ConfigurationError(
            'the table would be too coarse to play', where='--rate', found=f'{rate:g} Hz',
            allowed=f'{least:.3g} Hz or more',
            fix=f'Say --rate {np.ceil(least):.0f}, or leave it out',
        )


def _progress(settings: DesignSettings) -> Callable[[int, float, float], None]:
    def show_progress(number: int, cost: float, best: float) -> None:
        with work(f'random beginnings, best {-best:.2f}' if np.isfinite(best) else
                  'random beginnings, no allowed motion yet'):
            tell(number + 1, settings.starts)

    return show_progress


def _write(
    folder: Path, suffix: str, designer: Designer, excitation: Excitation,
    options: argparse.Namespace,
) -> tuple[str, PlannedMotion]:
    """Files of one motion; returns its summary, and the motion with what was found."""
    verification = designer.verify(designer.dense(excitation))
    verification.require()
    _require_stoppable(designer, folder.name, excitation)
    planned = PlannedMotion(
        name=f'{folder.resolve().name}{suffix}', designer=designer, excitation=excitation,
        rate=options.rate, verification=verification,
        stopping_time=stopping_time(designer, excitation))
    text = excitation_summary(
        excitation, verification, designer.information, planned.deviations[1][-1],
        planned.stopping_time)
    settings = options.settings.read_text(encoding='utf-8')
    with whole_folder(folder) as part:
        digests = _write_tables(part, suffix, planned, text)
        excitation_figure(
            part / f'preview{suffix}.png', designer.limits, planned.motion, planned.torque,
            planned.deviations, title=_title(planned))
        note = write_document(
            part, Report.of_motion(planned, made_now(command_line(), settings, digests)),
            suffix.lstrip('_'))
    return f'{text}\n{note}' if note else text, planned


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
        ('excitation{}.yaml', excitation_yaml(excitation)), ('trajectory{}.yaml', trajectory),
        ('motion{}.csv', motion_csv(names, rows, torque)), ('summary{}.txt', summary + '\n'),
    ):
        file, data = name.format(suffix), content.encode()
        write_atomically(folder / file, data)
        digests[file] = hashlib.sha256(data).hexdigest()
    return digests


def _require_stoppable(designer: Designer, name: str, excitation: Excitation) -> None:
    """Refuse what the excitation node would refuse, with the time it takes by default to react."""
    require_stoppable_loops(
        designer, name, designer.dense(excitation), PlaybackTolerances().reaction_time)

