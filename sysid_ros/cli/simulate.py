"""Make MuJoCo the robot of any URDF: play a motion, record it, compare a fit with the truth.

The simulated robot is not as described: a seed draws other masses, centres of mass, frictions and
drive inertias, dry friction sticks and slips, encoders have steps and torques noise. It follows the
motion by computed torque with what the description says, and the bag is that of a driver; or, with
--servos, its drives are position servos that are told the motion, and a table has positions and
commands and no torque. Nothing of the truth is written down; with --compare it is drawn again and
put beside what a fit found.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.pairs import pairs_of, positions_of
from sysid_ros.cli.progress import stage
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.files import load_excitation, load_motion_csv, motion_csv_joints
from sysid_ros.excitation.safety.verification import resampled
from sysid_ros.mechanics.actuators.actuators import DELAY
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.tables import percent, table
from sysid_ros.robot.model import RobotModel

if TYPE_CHECKING:
    from sysid_ros.demo.hidden_robot import HiddenRobot
    from sysid_ros.demo.simulated_motion import PositionServos
    from sysid_ros.demo.truth_comparison import TruthComparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid simulate``."""
    parser.add_argument('robot', help='URDF or xacro file')
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        '--motion', type=Path, metavar='FILE',
        help='motion to play: excitation.yaml or motion.csv of sysid excite, or CSV of any planner')
    what.add_argument(
        '--compare', type=Path, metavar='RUN',
        help="folder of 'sysid fit': put what it found beside the truth")
    parser.add_argument(
        '-o', '--output', type=Path, metavar='BAG',
        help='folder of the bag, by default the name of the motion; with --servos CSV file')
    parser.add_argument(
        '--servos', metavar='kp=N·m/rad,kd=N·m·s/rad',
        help='the drives are position servos with this stiffness and damping, whose commands take '
        'effect some milliseconds late; no torque is measured')
    parser.add_argument(
        '--seed', type=int, default=0, metavar='N',
        help='which robot of this description; the same one for all its recordings; 0 by default')
    parser.add_argument(
        '--repeat', type=int, default=2, metavar='N', help='play it so many times; 2 by default')
    parser.add_argument(
        '--rate', type=float, default=250.0, metavar='HZ',
        help='messages per second, which divide 4000; 250 by default')
    parser.add_argument(
        '--lock', action='append', default=[], metavar='JOINT=POSITION',
        help='hold a joint fixed at a position in rad or m; may be repeated. What the motion does '
        'not move is held at zero, or the limit next to it')
    parser.add_argument(
        '--xacro', action='append', default=[], metavar='NAME=VALUE',
        help='argument for xacro; may be repeated')


def run(options: argparse.Namespace) -> ExitCode:
    """Simulate and write a bag; or compare."""
    _require_mujoco()
    every = _require_numbers(options)
    if options.compare is not None:
        return _compare(options)
    servos = _servos(options.servos)
    output = options.output or Path(options.motion.stem + ('_recorded.csv' if servos else ''))
    if output.exists():
        raise ConfigurationError(
            'there is something already', where=str(output),
            fix='Name another one with -o, or remove this one')
    from sysid_ros.demo.simulated_motion import play, play_commanded

    names, motion = _motion(options.motion)
    hidden = _hidden(options, names)
    in_order = [names.index(name) for name in hidden.robot.joint_names]
    motion = Motion(motion.t, *(
        part[:, in_order] for part in (motion.q, motion.v, motion.a, motion.jerk)))
    with stage(f'Playing {options.motion} in MuJoCo, {options.repeat} times'):
        if servos is None:
            recorded = play(hidden, motion, repeat=options.repeat, every=every)
        else:
            recorded = play_commanded(hidden, motion, servos, repeat=options.repeat, every=every)
    output.parent.mkdir(parents=True, exist_ok=True)
    names = hidden.robot.joint_names
    if recorded.command is None:
        write_bag(output, recorded.t, names, recorded.q, recorded.v, recorded.tau)
    else:
        _write_table(output, names, recorded.t, recorded.q, recorded.command)
    told = '' if servos is None else f' --constants kp={servos.kp:g},kd={servos.kd:g}'
    print(
        f'{_tolerances(hidden)} {_sensors(servos)}\n\n'
        f'Followed to within {np.max(recorded.deviation):.2g} rad or m for '
        f'{recorded.t[-1]:.4g} s. Written to {output}\n'
        f'Next: sysid init {options.robot} {output}{told} -o {output.stem}.yaml')
    return ExitCode.OK


def _write_table(
    path: Path, names: Sequence[str], t: np.ndarray, q: np.ndarray, command: np.ndarray
) -> None:
    """Time, positions and commanded positions as CSV, with the names of joints in the header."""
    header = ','.join(['t', *(f'{kind}_{name}' for kind in ('position', 'command')
                              for name in names)])
    text = io.StringIO()
    np.savetxt(
        text, np.column_stack([t, q, command]), fmt='%.9g', delimiter=',', header=header,
        comments='')
    write_atomically(path, text.getvalue().encode())


def _servos(text: str | None) -> PositionServos | None:
    """Stiffness and damping of ``--servos``."""
    if text is None:
        return None
    from sysid_ros.demo.simulated_motion import PositionServos

    given = dict(pairs_of(text.split(','), '--servos'))
    try:
        servos = PositionServos(float(given.pop('kp')), float(given.pop('kd', 0.0)))
    except (KeyError, ValueError):
        servos = None
    if servos is None or given or not (0.0 < servos.kp < np.inf and 0.0 <= servos.kd < np.inf):
        raise ConfigurationError(
            'cannot be used', where='--servos', found=text,
            allowed='kp above zero in N·m/rad, and kd of zero or more in N·m·s/rad',
            fix='Say the gains of the servos, as --servos kp=40,kd=1.5')
    return servos


def _compare(options: argparse.Namespace) -> ExitCode:
    from sysid_ros.demo.truth_comparison import TruthComparison
    from sysid_ros.estimation.measurement import Measurement
    from sysid_ros.runs.run_folder import RunFolder

    folder = RunFolder.open(options.compare)
    setup = folder.setup()
    with stage('Reading the recording and drawing the truth again'):
        hidden, estimate = _hidden(options, setup.model.robot.joint_names), folder.estimate()
        compared = TruthComparison.of(hidden, Measurement.read(setup), estimate)
    print(f'{_tolerances(hidden)}\n\n{_comparison(compared)}')
    if DELAY in estimate.parameters:
        width = estimate.intervals()['noise'].get(DELAY, 0.0)
        print(f'\nCommands take effect {1e3 * hidden.delay:.0f} ms late; identified: '
              f'{1e3 * estimate.parameters[DELAY]:.3g} ± {1e3 * width:.1g} ms')
    return ExitCode.OK


def _comparison(compared: TruthComparison) -> str:
    rows = [
        [name, f'{torque:.3g}', percent(described / torque), percent(identified / torque)]
        for name, torque, described, identified in zip(
            compared.joint_names, compared.torque, compared.described, compared.identified,
            strict=True)]
    text = ('Torque at states that nobody played, without noise: the true one in N·m or N, and '
            'errors in % of it\n'
            + table(['joint', 'true', 'described', 'identified'], rows))
    if not compared.names:
        return text
    outside = [
        f'{name.split()[0]} ({abs(error):.1f})'
        for name, error in sorted(
            zip(compared.names, compared.errors, strict=True), key=lambda pair: -abs(pair[1]))
        if abs(error) > 2.0]
    said = f'; standard deviations of the others: {", ".join(outside[:5])}' if outside else ''
    return (f'{text}\n\n{compared.within} of {len(compared.names)} base parameters of bodies and '
            f'drive inertias are within two standard deviations of the truth{said}')


def _sensors(servos: PositionServos | None) -> str:
    from sysid_ros.demo import hidden_robot as drawn

    first, last = (1e3 * late for late in drawn.DELAY)
    measured = (
        f'Torque noise of {drawn.NOISE:.0%}' if servos is None else
        f'Commands take effect {first:.0f} to {last:.0f} ms late')
    return f'{measured}, encoders of {drawn.STEPS} steps per turn.'


def _tolerances(hidden: HiddenRobot) -> str:
    from sysid_ros.demo import hidden_robot as drawn

    return (
        f'Robot {hidden.robot.name!r} with seed {hidden.seed}: masses up to {drawn.MASS:.0%} and '
        f'centres of mass up to {1e3 * drawn.FARTHEST:.0f} mm from the description, drive inertias '
        f'up to {drawn.ARMATURE:.0%} of what joints carry, dry and viscous friction of '
        f'{drawn.DRY:.0%} and {drawn.VISCOUS:.0%} of usual torques (or as described) up to '
        f'{drawn.FRICTION:.0%} off, breaking loose at {drawn.STRIBECK:.0%} more.')


def _hidden(options: argparse.Namespace, moving: Sequence[str]) -> HiddenRobot:
    """The simulated robot, whose joints that do not move are held."""
    from sysid_ros.demo.hidden_robot import HiddenRobot

    arguments, locks = dict(pairs_of(options.xacro, '--xacro')), positions_of(
        options.lock, '--lock')
    robot = RobotModel.from_description(options.robot, xacro_arguments=arguments)
    if robot.loops is not None or robot.free_joint:
        raise ConfigurationError(
            'closed loops and floating bases are not simulated', where=options.robot,
            fix='Hold the base, and open the loops in a copy of the description')
    unknown = [name for name in moving if name not in robot.joint_names]
    if unknown:
        raise ConfigurationError(
            'the motion moves joints that the robot does not have', where=options.robot,
            found=', '.join(unknown), allowed=', '.join(robot.joint_names),
            fix='Name the description that the motion was planned for')
    held = {name: locks.get(name) for name in robot.joint_names if name not in moving}
    held |= locks
    return HiddenRobot.drawn(RobotModel.from_description(
        robot.description, locked_joints=held or None), options.seed)


def _motion(path: Path) -> tuple[tuple[str, ...], Motion]:
    """Joints and their motion, a sample for every step of the simulation."""
    from sysid_ros.demo.simulated_motion import STEPS_PER_SECOND

    if path.suffix in ('.yaml', '.yml'):
        excitation = load_excitation(path)
        return excitation.joint_names, excitation.grid(STEPS_PER_SECOND)
    names = motion_csv_joints(path)
    return names, resampled(load_motion_csv(path, names), STEPS_PER_SECOND)


def _require_numbers(options: argparse.Namespace) -> int:
    """Steps of the simulation per message."""
    from sysid_ros.demo.simulated_motion import STEPS_PER_SECOND

    if options.seed < 0 or not 1 <= options.repeat <= 100:
        name = 'seed' if options.seed < 0 else 'repeat'
        raise ConfigurationError(
            'cannot be used', where=f'--{name}', found=getattr(options, name),
            allowed='0 or more' if options.seed < 0 else '1 to 100',
            fix=f'Say a number, as --{name} 1')
    every = STEPS_PER_SECOND / options.rate if options.rate > 0.0 else 0.0
    if not (every >= 1.0 and every == round(every)):
        raise ConfigurationError(
            'cannot be used', where='--rate', found=options.rate,
            allowed='a number that divides 4000', fix='Say --rate 250')
    return round(every)


def _require_mujoco() -> None:
    from importlib.util import find_spec

    if find_spec('mujoco') is None:
        raise ConfigurationError(
            'the simulation needs mujoco, which is not installed',
            fix="pip install 'sysid-ros[demo]'")
