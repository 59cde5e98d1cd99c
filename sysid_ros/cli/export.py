"""Write the parameters of a run as URDF, MJCF or YAML.

The description is written in the format of the one that was identified, and differs from it
only in inertias, friction and (MJCF) armature. It is reloaded and its torques are compared
before it replaces anything.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.dynamics.closest_friction import frictions_from_json
from sysid_ros.errors import ConfigurationError
from sysid_ros.evaluation.evaluation import CLOSEST_FRICTION
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.description_export import write_description
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.runs.run_folder import RunFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid export``."""
    parser.add_argument('run_folder', type=Path, metavar='RUN', help="folder of 'sysid fit'")
    parser.add_argument(
        '-o', '--urdf', '--mjcf', type=Path, metavar='FILE', dest='description',
        help='URDF to write, or MJCF where one was identified',
    )
    parser.add_argument('--yaml', type=Path, metavar='FILE', help='YAML to write')


def run(options: argparse.Namespace) -> ExitCode:
    """Export what was asked for."""
    if options.description is None and options.yaml is None:
        raise ConfigurationError('nothing to write', fix='Give -o FILE.urdf or --yaml FILE.yaml')
    folder = RunFolder.open(options.run_folder)
    estimate = folder.estimate()
    if not estimate.status.ok:
        print(f'{estimate.status.value} There is nothing to export.')
        return ExitCode.NOT_CONVERGED
    robot = folder.identification().model().robot
    if options.description is not None:
        closest = frictions_from_json(estimate.provenance.get(CLOSEST_FRICTION, {}))
        written = write_description(options.description, robot, estimate.parameters, closest)
        for note in written.notes:
            print(f'Note: {note}')
        print(f'Written to {options.description}')
    if options.yaml is not None:
        provenance = {'estimator': estimate.estimator, 'run': options.run_folder.name}
        write_atomically(
            options.yaml, export_yaml(
                robot, estimate.parameters, provenance, estimate.intervals()).encode())
        print(f'Written to {options.yaml}')
    return ExitCode.OK
