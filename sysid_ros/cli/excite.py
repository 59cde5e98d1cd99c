"""Design motions that show the dynamics of a robot, within its limits.

The settings file names the robot, the family of motions, limits and what is in the way. What
recordings or other motions tell already can be taken into account, so that the next motion
shows what they do not.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.data_information import data_information
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import CRITERIA, expected_deviations
from sysid_ros.excitation.excitation import Excitation, Motion
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
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.excitation_figure import excitation_figure, instants
from sysid_ros.report.excitation_summary import excitation_summary, limits_table
from sysid_ros.runs.run_folder import RunFolder

_CHOICES = ('criterion', 'seed', 'starts')
# Samples in the shortest period of a motion that let it be played and looked at.
_PER_PERIOD = 20


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


def run(options: argparse.Namespace) -> ExitCode:
    """Design, verify, write and print; or only verify."""
    for name, most in (('count', 100), ('rate', 1e4), ('speed', 1.0)):
        if not 0 < getattr(options, name) <= most:
            raise ConfigurationError(
                'cannot be used', where=f'--{name}', found=getattr(options, name),
                allowed=f'above 0, at most {most:g}',
            )
    plan = ExcitationPlan.load(options.settings)
    given = {name: value for name in _CHOICES if (value := getattr(options, name)) is not None}
    plan = replace(plan, settings=plan.settings.model_copy(
        update={'design': replace(plan.settings.design, **given)}
    ))
    if options.check is not None:
        return _check(plan.designer(), options.check)
    with stage('Loading the robot and what is known already'):
        designer = informed(plan, options.after)
    _tell_missing(designer)
    folder = options.output or Path('excitations') / options.settings.stem
    _create(folder)
    for number in range(1, options.count + 1):
        suffix = f'_{number}' if options.count > 1 else ''
        with stage(f'Designing motion {number} of {options.count}'):
            excitation = designer.design(_progress(designer.settings)).at_speed(options.speed)
        _require_rate(options.rate, excitation)
        print(_write(folder, suffix, designer, excitation, options.rate))
        designer = designer.after(excitation)
    print(f'Written to {folder}')
    return ExitCode.OK


def _check(designer: Designer, path: Path) -> ExitCode:
    """Verify a motion and say everything that was found."""
    names = designer.limits.joint_names
    if path.suffix in ('.yaml', '.yml'):
        excitation = load_excitation(path)
        _require_joints(path, excitation.joint_names, names)
        found = designer.verify(designer.dense(excitation))
        if found.allowed:
            _require_stoppable(designer, str(path), excitation)
            print(f'It can be stopped within {stopping_time(designer, excitation):.2g} s.\n')
    else:
        motion = load_motion_csv(path, names)
        found = designer.verify(motion)
        if found.allowed:
            # What happens between the rows counts, too.
            found = designer.verify(resampled(motion, designer.settings.verification_rate))
    if found.used:
        print(limits_table(names, found) + '\n')
    for finding in found.findings:
        print(finding)
    print(f'{path} {"may" if found.allowed else "must not"} be played.')
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


def _tell_missing(designer: Designer) -> None:
    missing = [
        link for check in designer.checks if isinstance(check, GeometryClearance)
        for link in check.missing
    ]
    if missing:
        print(
            f'Meshes that were not found: {", ".join(missing)}. Capsules along the links stand '
            'for them; mind their thickness (clearance: capsule_radius).'
        )


def _require_joints(path: Path, found: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    if found != allowed:
        raise ConfigurationError(
            'the motion is one of another robot', where=str(path), found=', '.join(found),
            allowed=', '.join(allowed),
        )


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f'cannot be written: {error}', where=str(folder)) from error


def _require_rate(rate: float, excitation: Excitation) -> None:
    least = _least_rate(excitation)
    if rate < least:
        raise ConfigurationError(
            'the table would be too coarse to play', where='--rate', found=f'{rate:g} Hz',
            allowed=f'{least:.3g} Hz or more',
        )


def _progress(settings: DesignSettings) -> Any:
    def show_progress(number: int, cost: float, best: float) -> None:
        found = f'{-cost:.2f}' if np.isfinite(cost) else 'no allowed motion'
        print(
            f'  beginning {number + 1} of at most {settings.starts}: {found}, best '
            f'{-best:.2f}', file=sys.stderr,
        )
    return show_progress


def _write(
    folder: Path, suffix: str, designer: Designer, excitation: Excitation, rate: float
) -> str:
    """Files of one motion; returns its summary."""
    verification = designer.verify(designer.dense(excitation))
    verification.require()
    _require_stoppable(designer, folder.name, excitation)
    model, names = designer.model, excitation.joint_names
    rows, drawn = excitation.grid(rate), excitation.grid(max(rate, _least_rate(excitation)))
    torque = predicted_torque(model, rows)
    t, deviations = _course(designer, drawn)
    text = excitation_summary(
        excitation, verification, designer.information, deviations[-1],
        stopping_time(designer, excitation),
    )
    trajectory = yaml.safe_dump(
        joint_trajectory(names, rows, torque), sort_keys=False, default_flow_style=None
    )
    for name, content in (
        ('excitation{}.yaml', excitation_yaml(excitation)), ('trajectory{}.yaml', trajectory),
        ('motion{}.csv', motion_csv(names, rows, torque)), ('summary{}.txt', text + '\n'),
    ):
        write_atomically(folder / name.format(suffix), content.encode())
    excitation_figure(
        folder / f'preview{suffix}.png', designer.limits, drawn, predicted_torque(model, drawn),
        (t, deviations),
        title=f'{model.robot.name}: motion of {excitation.duration:.4g} s',
    )
    return text


def _require_stoppable(designer: Designer, name: str, excitation: Excitation) -> None:
    """Refuse what the excitation node would refuse, with the time it takes by default to react."""
    require_stoppable_loops(
        designer, name, designer.dense(excitation), PlaybackTolerances().reaction_time)


def _least_rate(excitation: Excitation) -> float:
    """Samples per second that show a motion well in [Hz]."""
    return _PER_PERIOD * excitation.basis.highest_frequency * excitation.speed


def _course(designer: Designer, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Expected deviations of the base parameters by some instants of a motion."""
    regressor = designer.model.regressor(motion.q, motion.v, motion.a)
    rows = designer.settings.rows_per_second * (motion.t[1] - motion.t[0])
    information, last, course = designer.information, 0, []
    total = information.known
    for sample in instants(motion):
        part = information.matrix(regressor[last:sample + 1], rows) - information.known
        total, last = total + part, sample + 1
        course.append(expected_deviations(information, total))
    return motion.t[instants(motion)], np.array(course)
