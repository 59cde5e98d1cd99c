"""Write the parameters of a run as URDF, MJCF, SDF, USD or YAML.

The description is written in the format of the one that was identified, and differs from it
only in inertias, friction and (MJCF) armature. It is reloaded and its torques are compared
before it replaces anything. Files for Isaac Lab, ros2_control, Gazebo (SDF) and USD say in their
heads what they cannot hold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import ConfigurationError
from sysid_ros.release.drive_formats import DRIVE_FORMATS
from sysid_ros.runs.export import export_run
from sysid_ros.runs.run_folder import RunFolder

# What a URDF or MJCF is not: one who names such a file means another export.
_NO_DESCRIPTION = frozenset({'.csv', '.json', '.npz', '.parquet', '.yaml', '.yml'})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid export``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument(
        '-o', '--urdf', type=Path, metavar='FILE', dest='description',
        help='URDF to write, or MJCF where one was identified',
    )
    parser.add_argument(
        '--mjcf', type=Path, metavar='FILE',
        help='MJCF to write, as MuJoCo reads it: the one that was identified; of a URDF inertias, '
        'joints, their friction and armature, and actuators, without shapes')
    parser.add_argument('--yaml', type=Path, metavar='FILE', help='YAML to write')
    parser.add_argument(
        '--isaac-lab', type=Path, metavar='FILE',
        help='YAML to write with stiffness, damping, armature, friction and limits of the joints, '
        'as Isaac Lab configures actuators')
    parser.add_argument(
        '--ros2-control', type=Path, metavar='FILE',
        help='YAML to write with limits and gains of the joints, as parameters of ros2_control')
    parser.add_argument(
        '--sdf', type=Path, metavar='FILE',
        help='SDF to write with inertias, joints, their friction and limits, as Gazebo reads it; '
        'without shapes')
    parser.add_argument(
        '--usd', type=Path, metavar='FILE',
        help='USD physics to write (.usda) with inertias, joints, their friction, limits and '
        'drives, as Isaac Sim reads it; without shapes; needs usd-core')


def run(options: argparse.Namespace) -> ExitCode:
    """Export what was asked for."""
    drives = {
        name: path for name in DRIVE_FORMATS if (path := getattr(options, name)) is not None}
    if options.description is None and options.yaml is None and not drives:
        raise ConfigurationError('nothing to write', fix='Give -o FILE.urdf or --yaml FILE.yaml')
    if options.description is not None and options.description.suffix.lower() in _NO_DESCRIPTION:
        raise ConfigurationError(
            'is no name of a robot description', where=str(options.description),
            allowed='FILE.urdf, or FILE.xml where an MJCF was identified',
            fix='Parameters as YAML are written by --yaml FILE.yaml')
    folder = RunFolder.open(options.run_folder)
    _require_no_urdf_named_mjcf(folder, options.description)
    status = folder.estimate().status
    if not status.ok:
        print(f'{status.value} There is nothing to export.')
        return ExitCode.NOT_CONVERGED
    for note in export_run(folder, options.description, options.yaml, drives):
        print(f'Note: {note}')
    for path in filter(None, (options.description, options.yaml, *drives.values())):
        print(f'Written to {path}')
    return ExitCode.OK


def _require_no_urdf_named_mjcf(folder: RunFolder, path: Path | None) -> None:
    """Refuse to write a URDF under a name that MuJoCo would read as its own."""
    if path is not None and path.suffix.lower() == '.xml' and (
            folder.setup().model.robot.description.format == 'urdf'):
        raise ConfigurationError(
            'is the name of an MJCF, and the robot that was identified is described by a URDF',
            where=str(path), allowed='FILE.urdf',
            fix=f'Write -o {path.with_suffix(".urdf")}, or an MJCF by --mjcf {path}')
