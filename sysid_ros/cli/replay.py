"""Publish a bag's joint states on ROS 2, with their own stamps and their time on /clock.

Nodes that listen to a replay need the parameter use_sim_time, or they take its stamps for those
of a clock that is wrong. The identification node, started before, then records what was recorded.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.bag.messages import joint_state_topics

_FASTEST = 1000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid replay``."""
    parser.add_argument('bag', type=Path, metavar='BAG', help='folder or file of a bag')
    parser.add_argument(
        '--rate', type=float, default=1.0, metavar='FACTOR',
        help='seconds of the bag per second; 1 by default',
    )
    parser.add_argument(
        '--topic', action='append', default=[],
        help='publish this topic; may be given again; by default all joint states of the bag',
    )
    parser.add_argument(
        '--wait', type=float, default=5.0, metavar='SECONDS',
        help='wait so long for somebody to listen to every topic; 5 by default',
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Check the bag, and have it published by a process that knows ROS."""
    if not 0.0 < options.rate <= _FASTEST:
        raise ConfigurationError(
            'nothing can be played at this rate', where='--rate', found=options.rate,
            allowed=f'above 0 and at most {_FASTEST:g}',
        )
    # A bag that cannot be replayed is refused before anything is published, and without ROS.
    topics = joint_state_topics(options.bag, options.topic)
    if importlib.util.find_spec('rclpy') is None:
        raise ConfigurationError(
            'ROS 2 is not there', found='no module rclpy',
            fix='Source a ROS 2 distribution, or install sysid_ros with its wheels',
        )
    command = [
        sys.executable, '-m', 'sysid_ros.nodes.replay', str(options.bag),
        '--rate', repr(options.rate), '--wait', repr(options.wait),
        *(word for topic in topics for word in ('--topic', topic)),
    ]
    environment = dict(os.environ)
    # A mark of ROS wheels, which tells Python that libraries were found already.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    code = subprocess.run(command, env=environment, check=False).returncode
    return ExitCode(code) if code in set(ExitCode) else ExitCode.BAD_INPUT
