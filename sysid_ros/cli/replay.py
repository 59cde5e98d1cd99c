"""Publish a bag's joint states on ROS 2, with their own stamps and their time on /clock.

Nodes that listen to a replay need the parameter use_sim_time, or they take its stamps for those
of a clock that is wrong. The identification node, started before, then records what was recorded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from sysid_ros.cli.ros_process import become
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


def run(options: argparse.Namespace) -> NoReturn:
    """Check the bag, and publish it as a process that knows ROS."""
    if not 0.0 < options.rate <= _FASTEST:
        raise ConfigurationError(
            'nothing can be played at this rate', where='--rate', found=options.rate,
            allowed=f'above 0 and at most {_FASTEST:g}',
            fix='Say --rate 1',
        )
    # A bag that cannot be replayed is refused before anything is published, and without ROS.
    topics = joint_state_topics(options.bag, options.topic)
    become('sysid_ros.nodes.replay', [
        str(options.bag), '--rate', repr(options.rate), '--wait', repr(options.wait),
        *(word for topic in topics for word in ('--topic', topic)),
    ])
