"""The parameters of a run, written for programs that know nothing of this package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.evaluation.evaluation import CLOSEST_FRICTION
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.joint_terms.closest_friction import frictions_from_json
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.description_export import write_description
from sysid_ros.release.drive_formats import DRIVE_FORMATS
from sysid_ros.release.drive_table import DriveTable
from sysid_ros.release.dry_friction import dry_friction_parameters
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.runs.run_folder import RunFolder


def export_run(
    run: RunFolder, description: Path | None = None, yaml: Path | None = None,
    drives: Mapping[str, Path] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Write the parameters of a run as URDF, MJCF or YAML.

    Args:
        run: The run.
        description: File to write in the format of the description that was identified.
        yaml: YAML to write, with what a description cannot hold.
        drives: Files to write of joints and drives, by format; see
            :data:`~sysid_ros.release.drive_formats.DRIVE_FORMATS`.

    Returns:
        Notes on what the description cannot hold.

    Raises:
        ConfigurationError: No file is named.
        ReleaseError: The fit did not converge, or a file cannot be written.
    """
    if description is None and yaml is None and not drives:
        raise ConfigurationError('nothing to write', fix='Name a description or a YAML file')
    estimate = run.estimate()
    if not estimate.status.ok:
        raise ReleaseError(
            f'there is nothing to export: {estimate.status.value.rstrip(".")}',
            where=str(run.path), fix='See summary.txt of the run for what to do')
    model = run.setup().model
    robot, actuators = model.robot, None
    if (actuated_model := actuated(model)) is not None:
        actuators = actuated_model.actuators
    if robot.description.format == 'mjcf' and description is None:
        # The MJCF that was identified keeps all that is in it.
        drives = dict(drives)
        description = drives.pop('mjcf', None)
    closest = frictions_from_json(estimate.provenance.get(CLOSEST_FRICTION, {}))
    simulated, notes = dry_friction_parameters(estimate)
    if description is not None:
        notes += write_description(description, robot, simulated, closest, actuators).notes
    if yaml is not None:
        provenance = {'estimator': estimate.estimator, 'run': run.path.name}
        write_atomically(yaml, export_yaml(
            robot, estimate.parameters, provenance, estimate.intervals()).encode())
    if drives:
        source = f'by the estimator {estimate.estimator}, run {run.path.resolve().name}'
        table = DriveTable.of(robot, simulated, source, closest, actuators)
        for name, path in drives.items():
            write_atomically(path, DRIVE_FORMATS[name](table).encode())
    return notes if description is not None or drives else ()
