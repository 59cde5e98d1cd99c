"""Close the loop on a simulated arm: excite, identify, commit, track, roll back.

A robot in MuJoCo whose true parameters differ from its description, and all nodes of the suite,
are started as ROS 2 processes of their own. An operator excites and identifies the robot, commits
the estimate after a shadow test, tracks a motion by the description, by what was identified and
by the truth, and rolls back. Takes about two minutes. With --robot quadruped_leg it is a leg with
position servos whose torques nobody measures: it is identified from what it was told, judged by
another motion, committed, and simulated beside what was measured. With --recorded a recording is
fitted instead, without ROS 2.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.recorded_demo import fit_recorded
from sysid_ros.cli.shown import add_shown_arguments, show, shown_by
from sysid_ros.demo.folder import prepare, share, verify
from sysid_ros.demo.node_processes import NodeProcesses
from sysid_ros.demo.report import report
from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.runs.run_files import read_json

# Nodes of every loop, the module and the name of each, in the order of starting.
_ROBOT = (
    ('simulated_robot', 'simulated_robot'),
    ('monitor_node', 'monitor_node'),
    ('model_server', 'model_server'),
    ('identification_node', 'identification_node'),
)
_EXCITATION = ('excitation_node', 'excitation_node')
#: Nodes of the loop of each robot.
NODES = {
    'arm': (
        *_ROBOT,
        ('computed_torque_controller', 'computed_torque_controller'),
        ('computed_torque_controller', 'true_model_controller'),
        _EXCITATION,
    ),
    'quadruped_leg': (*_ROBOT, _EXCITATION),
}
_LONGEST = 400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid demo``."""
    parser.add_argument(
        '-o', '--output', type=Path, default=Path('runs/demo'), metavar='FOLDER',
        help='folder to write; runs/demo by default',
    )
    parser.add_argument(
        '--domain', type=int, choices=range(102), metavar='0..101',
        help='ROS domain of the nodes; by default one that no other demo uses',
    )
    parser.add_argument(
        '--robot', choices=tuple(NODES), default='arm',
        help='arm, whose torques are measured (the default), or quadruped_leg, which has position '
             'servos and is identified from its commands',
    )
    parser.add_argument(
        '--recorded', nargs='?', const='auto', choices=('auto', 'measured', 'simulated'),
        help='fit a recording without ROS 2: real measurements (SYSID_DATA), simulated ones, or '
             'the first that is at hand',
    )
    add_shown_arguments(parser, 'what it came to')


def run(options: argparse.Namespace) -> ExitCode:
    """Run the loop, or fit a recording."""
    shown = shown_by(options)
    if options.recorded is not None:
        if options.robot != 'arm':
            raise ConfigurationError(
                'only the arm has recordings without ROS 2', where='--robot', found=options.robot,
                fix='Leave out --recorded, or --robot')
        return fit_recorded(options.output, options.recorded, shown)
    _require('rclpy', "Source a ROS 2 distribution, or: pip install ros-rclpy, "
                      "or run 'sysid demo --recorded', which needs no ROS 2")
    _require('mujoco', "pip install 'sysid-ros[demo]'")
    folder = prepare(options.output, options.robot)
    with shown.stage('Verifying the motions'):
        verify(folder)
    loop = NODES[options.robot]
    with NodeProcesses(folder, options.domain) as nodes:
        shown.say(f'Starting {len(loop)} nodes in the ROS domain {nodes.domain}; what they print '
                  f'is in {folder / "log"}.')
        for module, name in loop:
            nodes.start(module, name, _parameters(folder, module))
        operator = nodes.start(
            'demo_operator', 'demo_operator', _parameters(folder, 'demo_operator'),
            shown=shown.for_people)
        code = nodes.wait_for(operator, _LONGEST)
    if code != 0:
        raise SysidError(
            'the loop did not come to its end', where=str(folder / 'results.json'),
            fix=f'See what the nodes printed, in {folder / "log"}')
    text, met = _report(options.robot, folder)
    show(shown, brief='\n' + text, full='\n' + text, document={
        'met': met, 'folder': str(folder), **read_json(folder / 'report' / 'report.json')})
    return ExitCode.OK if met else ExitCode.NOT_COMMITTABLE


def _report(robot: str, folder: Path) -> tuple[str, bool]:
    """Judge the loop of a robot; the summary, and whether everything is as it should be."""
    if robot == 'arm':
        return report(folder)
    # It simulates by MuJoCo, which is there by now.
    from sysid_ros.demo.commanded_report import report as commanded_report

    return commanded_report(folder)


def _parameters(folder: Path, module: str) -> list[Path]:
    """Files of parameters, the later ones over the earlier."""
    return [share() / 'config' / f'{module}.yaml', folder / 'nodes.yaml']


def _require(package: str, fix: str) -> None:
    if find_spec(package) is None:
        raise ConfigurationError(
            f'the demo needs {package}, which is not installed', fix=fix)
