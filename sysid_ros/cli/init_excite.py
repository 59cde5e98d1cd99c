"""Write a settings file for sysid excite: limits, surroundings, a pose to begin from.

What the description gives is taken and shown; what it does not say is asked, or has to be said by
an option where nobody can be asked. The file is tried: a pose to begin from was found with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.asked import (
    add_answers,
    add_output_arguments,
    add_robot_arguments,
    answered,
    given,
    output_file,
    write_and_tell,
)
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.pairs import pairs_of, positions_of
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.geometry.clearance import Box
from sysid_ros.runs.initial_excitation import EXCITE_OPTIONS, Surroundings, initial_excitation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid init excite``."""
    parser.add_argument('robot', type=Path, help='URDF, xacro or MJCF file')
    add_output_arguments(parser, 'the name of the robot, with _excite.yaml')
    add_robot_arguments(parser)
    parser.add_argument(
        '--lock', action='append', default=[], metavar='JOINT=POSITION',
        help='hold a joint fixed, or all that match a pattern, position in rad or m; may be '
        'repeated')
    parser.add_argument(
        '--srdf', type=Path, metavar='FILE', help="MoveIt's SRDF: links that may touch")
    parser.add_argument(
        '--limits', type=Path, metavar='FILE',
        help="MoveIt's joint_limits.yaml; of its limits and the description's the tighter count")
    parser.add_argument(
        '--box', action='append', default=[], metavar='NAME=X,Y,Z,X,Y,Z',
        help='a box around the robot, its lower and its upper corner in the base frame in m; may '
        'be repeated')
    add_answers(parser, EXCITE_OPTIONS)


def run(options: argparse.Namespace) -> ExitCode:
    """Guess, ask, write and print."""
    name = options.robot.name.partition('.')[0]
    output = output_file(options, Path(f'{name}_excite.yaml'))
    around = Surroundings(
        loops=options.loops, xacro_arguments=dict(pairs_of(options.xacro, '--xacro')),
        locks=positions_of(options.lock, '--lock'), srdf=options.srdf, limits=options.limits,
        boxes=[_box(*pair) for pair in pairs_of(options.box, '--box')])
    settings = answered(
        lambda told: initial_excitation(options.robot, output.parent, told, around),
        given(options, EXCITE_OPTIONS))
    if settings is None:
        return ExitCode.BAD_INPUT
    write_and_tell(output, settings.text(), settings.findings)
    print(f'Next: sysid excite {output}')
    return ExitCode.OK


def _box(name: str, text: str) -> Box:
    try:
        x, y, z, right, back, top = map(float, text.split(','))
    except ValueError:
        raise ConfigurationError(
            'is not a box', where='--box', found=f'{name}={text}',
            allowed='six numbers in m, lower corner and upper corner',
            fix='Write --box table=-1,-1,-0.5,1,1,-0.05') from None
    return Box(name, (x, y, z), (right, back, top))
