"""Write the parameter file of the nodes for a robot whose driver runs.

The running system is looked at for some seconds: topics of joint states with their rates, joints
and efforts, controllers by their actions and topics, the robot description. Nothing is published.
What fits is taken and shown; where several fit, it is asked, or has to be said by an option.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.asked import (
    add_answers,
    add_output_arguments,
    answered,
    given,
    output_file,
    write_and_tell,
)
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.ros_process import answer_of
from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.initial_parameters import NODE_OPTIONS, InitialParameters
from sysid_ros.runs.robot_graph import RobotGraph

# What a process takes beside listening on a busy computer, in [s], and longest time to listen.
_START, _LONGEST = 60.0, 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid init nodes``."""
    add_output_arguments(parser, 'nodes.yaml')
    parser.add_argument(
        '--listen', type=float, default=4.0, metavar='SECONDS',
        help='how long to look at the running system; 4 by default')
    add_answers(parser, NODE_OPTIONS)


def run(options: argparse.Namespace) -> ExitCode:
    """Look, ask, write and print."""
    if not 0.0 < options.listen <= _LONGEST:
        raise ConfigurationError(
            'cannot be used', where='--listen', found=options.listen,
            allowed=f'above 0, at most {_LONGEST:g} s',
            fix='Say --listen 3')
    output = output_file(options, Path('nodes.yaml'))
    graph = read_graph(options.listen)
    guess = answered(
        lambda told: InitialParameters.of(graph, told), given(options, NODE_OPTIONS))
    if guess is None:
        return ExitCode.BAD_INPUT
    write_and_tell(output, guess.text(), guess.findings)
    space = f' namespace:={guess.namespace}' if guess.namespace else ''
    print('Next: ros2 launch sysid_ros identify.launch.py plan:=EXCITATION.yaml '
          f'settings:=IDENTIFICATION.yaml robot:={output}{space}')
    return ExitCode.OK


def read_graph(seconds: float) -> RobotGraph:
    """The running system, as a process sees it that knows ROS 2.

    Args:
        seconds: How long to listen.

    Raises:
        ConfigurationError: ROS 2 is not there, or does not answer.
    """
    return RobotGraph.from_json(
        answer_of('sysid_ros.nodes.robot_graph', [str(seconds)], seconds + _START))
