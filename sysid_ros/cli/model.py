"""Check a robot description and show what could be identified of it."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.pairs import pairs_of, positions_of
from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.report.plotjuggler import plotjuggler_layout
from sysid_ros.report.tables import table
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid model``."""
    parser.add_argument('description', help='URDF, xacro, MJCF, or a planar mechanism in YAML')
    parser.add_argument(
        '--loops', metavar='FILE', help='YAML file that closes the loops of the robot',
    )
    parser.add_argument(
        '--lock', action='append', default=[], metavar='JOINT=POSITION',
        help='hold a joint fixed, or all that match a pattern, position in rad or m; may be '
        'repeated',
    )
    parser.add_argument(
        '--xacro', action='append', default=[], metavar='NAME=VALUE',
        help='argument for xacro; may be repeated',
    )
    parser.add_argument(
        '--equations', action='store_true', help='write out every base parameter'
    )
    parser.add_argument(
        '--plotjuggler', type=Path, metavar='FILE',
        help='write a layout of PlotJuggler with measured, predicted and unexplained torques of '
        'each joint, as the identification node publishes them',
    )
    parser.add_argument(
        '--namespace', default='', metavar='NAME', help='namespace of the nodes in that layout')


def run(options: argparse.Namespace) -> ExitCode:
    """Print joints, bodies, findings and base parameters."""
    robot = RobotModel.from_description(
        options.description,
        locked_joints=positions_of(options.lock, '--lock'),
        xacro_arguments=dict(pairs_of(options.xacro, '--xacro')),
        loops=None if options.loops is None else LoopSettings.load(options.loops),
    )
    if options.plotjuggler is not None:
        _write_layout(options.plotjuggler, robot, options.namespace)
    print(f'Robot {robot.name!r}: {len(robot.joint_names)} joints, '
          f'{len(robot.body_names)} moving bodies')
    if robot.loops is not None:
        print(_loops(robot))
    print()
    print(_joints(robot) + '\n')
    print(_bodies(robot) + '\n')
    if robot.findings:
        print('Findings')
        for finding in robot.findings:
            print(f'  {finding}')
        print()
    if robot.free_joint:
        print(f'The base floats ({robot.free_joint}): its motion has to be measured, too.\n'
              'Say robot: {base: floating} with sensors on it in recording: sensors, or\n'
              'robot: {base: fixed} where it was held.')
        return ExitCode.OK
    _print_base(robot, options.equations)
    return ExitCode.OK


def _write_layout(path: Path, robot: RobotModel, namespace: str) -> None:
    try:
        path.write_text(plotjuggler_layout(robot.joint_names, namespace), encoding='utf-8')
    except OSError as error:
        raise ConfigurationError(
            f'cannot be written: {error.strerror or error}', where=str(path),
            fix='Name a file in a folder that exists, as --plotjuggler layout.xml') from error
    print(f'Written to {path}')


def _print_base(robot: RobotModel, equations: bool) -> None:
    inertial = base_parameters(TorqueModel(robot))
    terms = TermSettings().described(robot)
    everything = base_parameters(TorqueModel(robot, terms.build(robot)))
    described = [name for name in ('armature', 'stiffness') if getattr(terms, name)]
    print(f'Base parameters: {inertial.rank} inertial, {everything.rank} with '
          f'{", ".join(["viscous and Coulomb friction", *described])} and offsets (rank gap '
          f'{everything.gap[0]:.1e} to {everything.gap[1]:.1e})')
    if equations:
        for equation in everything.equations:
            print(f'  {equation}')


def _loops(robot: RobotModel) -> str:
    """The passive joints of closed loops, and how far their assembly is from a dead point."""
    chain = closed_chain(robot)
    margin = float(chain.singularity_margin(chain.assembly[None])[0])
    return (
        f'Loops closed at {", ".join(closure.name for closure in chain.loops.closures)}, which '
        f'move {", ".join(chain.loops.passive_names)} (singularity margin {margin:.2g})'
    )


def _joints(robot: RobotModel) -> str:
    limits = robot.limits
    rows = [
        [
            name, kind, *(_number(values[k]) for values in (
                limits.lower, limits.upper, limits.velocity, limits.effort
            ))
        ]
        for k, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True))
    ]
    rows += [[name, 'locked', _number(at), '', '', ''] for name, at in robot.locked_joints.items()]
    return table(['joint', 'type', 'lower', 'upper', 'velocity', 'effort'], rows)


def _bodies(robot: RobotModel) -> str:
    replaced = robot.replaced_priors
    rows = []
    for body, phi in zip(robot.body_names, robot.inertial_prior, strict=True):
        links = [link.name for link in robot.links if link.body == body]
        prior = f'replaced: {replaced[body]}' if body in replaced else 'consistent'
        rows.append([body, f'{phi[0]:.4g}', str(len(links)), prior])
    return table(['body', 'mass kg', 'links', 'prior'], rows)


def _number(value: float) -> str:
    return f'{value:.4g}' if np.isfinite(value) else '-'
