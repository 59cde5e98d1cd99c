"""Excite, identify and commit a robot through its running nodes, step by step.

Says before each step what it will do, and asks: arm and play slowly where no estimate was committed
yet, record a motion, fit it, let the estimate predict torques on another motion beside the current
revision, and commit it. Ctrl-C stops the robot. The nodes run already, as by
ros2 launch sysid_ros identify.launch.py.

With --campaign it designs the motions itself: each shows what the recordings before it did not,
until the robot is known as well as was asked for, or it says why no motion helps. All recordings
are fitted together in the end.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, NoReturn

from sysid_ros.cli.ros_process import become
from sysid_ros.errors import ConfigurationError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid run``."""
    parser.add_argument(
        'motion', nargs='?', default='', metavar='MOTION',
        help='id of a motion in the data folder of the nodes, motions/MOTION.yaml, as sysid excite '
        'writes it; none with --campaign')
    parser.add_argument(
        '--trial', default='', metavar='MOTION',
        help='motion that the estimate is tried on before the commit; by default the last again')
    parser.add_argument(
        '--speed', type=float, default=1.0, metavar='SCALE',
        help='play so many times as fast as designed; at most 1')
    parser.add_argument(
        '--first-pass', type=float, metavar='SCALE',
        help='the same for a pass before, which is not recorded; 0 for none; by default 0.2 where '
        'no estimate was committed yet')
    parser.add_argument(
        '--shadow', type=float, metavar='SECONDS',
        help='how much of the trial counts; 0 to commit without; by default all of it')
    parser.add_argument(
        '--no-commit', action='store_true', help='end with the verdict on the estimate')
    _add_campaign(parser)
    parser.add_argument('--comment', default='', help='kept with the revision')
    parser.add_argument(
        '--namespace', default='', metavar='NAME', help='namespace of the nodes')
    parser.add_argument(
        '--patience', type=float, default=60.0, metavar='SECONDS',
        help='longest wait for the nodes; 60 by default')
    parser.add_argument(
        '-y', '--yes', action='store_true',
        help='ask nothing; a motion that was stopped is not begun again')


def _add_campaign(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('campaign')
    group.add_argument(
        '--campaign', action='store_true', help='design motions until enough is known')
    group.add_argument(
        '--accuracy', type=percentage, default=0.01, metavar='PERCENT',
        help='wanted torque error on random motion within the limits, noise left out; 1%% by '
        'default')
    group.add_argument(
        '--base-accuracy', type=percentage, metavar='PERCENT',
        help='wanted deviation of the base parameters; by default none')
    group.add_argument(
        '--most-motions', type=int, default=6, metavar='N', help='most motions; 6 by default')
    for name, text in (
        ('plan', 'settings file of the excitation node'),
        ('settings', 'settings file of the identification node'),
        ('data-folder', 'data folder of the identification node'),
    ):
        group.add_argument(
            f'--{name}', default='', metavar='PATH', help=f'{text}, where it is elsewhere here')


def percentage(text: str) -> float:
    """A part from words as 1% and 0.01."""
    number = float(text.rstrip('% '))
    return 0.01 * number if text.rstrip().endswith('%') else number


def run(options: argparse.Namespace) -> NoReturn:
    """Go through the steps as a process that knows ROS."""
    _require_allowed(options)
    settings = {
        'motion': options.motion, 'trial': options.trial, 'speed': options.speed,
        'first_pass': options.first_pass, 'shadow': options.shadow,
        'commit': not options.no_commit, 'comment': options.comment, 'yes': options.yes,
        'patience': options.patience, 'campaign': _campaign(options)}
    words = [json.dumps(settings)]
    if options.namespace:
        words += ['--ros-args', '-r', f'__ns:=/{options.namespace.strip("/")}']
    become('sysid_ros.nodes.guided_run', words)


def _campaign(options: argparse.Namespace) -> dict[str, Any] | None:
    if not options.campaign:
        return None
    return {
        'torque': options.accuracy, 'base': options.base_accuracy,
        'most_motions': options.most_motions, 'plan': options.plan,
        'settings': options.settings, 'data_folder': options.data_folder}


def _require_allowed(options: argparse.Namespace) -> None:
    if bool(options.motion) == options.campaign:
        raise ConfigurationError(
            'a run is of one motion or a campaign', where='MOTION, --campaign',
            found='both' if options.motion else 'neither', allowed='one of them',
            fix='Name a motion, as sysid run first, or design them: sysid run --campaign')
    if options.campaign and not 1 <= options.most_motions <= 100:
        raise ConfigurationError(
            'cannot be used', where='--most-motions', found=options.most_motions,
            allowed='1 to 100',
            fix='Say --most-motions 5')
    for name, least, most in (
        ('speed', 0.0, 1.0), ('first_pass', 0.0, 1.0), ('shadow', 0.0, 600.0),
        ('patience', 0.0, 3600.0), ('accuracy', 0.0, 1.0), ('base_accuracy', 0.0, 1.0),
    ):
        value = getattr(options, name)
        above = name in ('speed', 'patience', 'accuracy', 'base_accuracy')
        if value is not None and not (
                (least < value if above else least <= value) and value <= most):
            raise ConfigurationError(
                'cannot be used', where=f'--{name.replace("_", "-")}', found=value,
                allowed=f'{"above" if above else "from"} {least:g}, at most {most:g}',
                fix=f'Say a number, as --{name.replace("_", "-")} {most:g}')
