"""Copy finished recordings and estimates of a robot into a store, as s3://lab/arm_03.

Called again, it copies what is new or has changed. The nodes do it by themselves while the robot is
idle, with the parameter ship_to of identification_node. 'sysid batch' reads them there.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.fleet.shipping import ship

_NICE = 19


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid ship``."""
    parser.add_argument(
        'data', type=Path, metavar='DATA', help='data folder of the nodes, as ~/sysid_data')
    parser.add_argument(
        'store', metavar='URL', help='where to, as s3://lab/arm_03 or file:///mnt/lab/arm_03')
    parser.add_argument(
        '--background', action='store_true', help='take no processor time that others want')


def run(options: argparse.Namespace) -> ExitCode:
    """Copy and print."""
    if options.background:
        os.nice(_NICE)
    print(ship(options.data.expanduser(), options.store, lambda name: print(f'Sending {name}')))
    return ExitCode.OK
