"""Joint limits and gains of a robot as parameters of ros2_control."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from sysid_ros.release.drive_table import DriveTable, JointDrive, commented


def ros2_control_yaml(table: DriveTable) -> str:
    """Parameters ``joint_limits`` and ``gains`` of ros2_control for the joints of a robot.

    Args:
        table: The drives.
    """
    parameters: dict[str, Any] = {
        'joint_limits': {drive.joint: _limits(drive) for drive in table.drives}}
    gains = {
        drive.joint: {'p': drive.stiffness, 'i': 0.0, 'd': drive.damping}
        for drive in table.drives if drive.kind is not None and drive.kind.feedback}
    if gains:
        parameters['gains'] = gains
    frictions = [
        f'- {drive.joint}: {field}: {getattr(drive, field):.6g}' for drive in table.drives
        for field in ('armature', 'viscous_friction', 'coulomb_friction')
        if getattr(drive, field) != 0.0]
    held = ('armature', 'viscous_friction', 'coulomb_friction')
    left = [*frictions, *(f'- {line}' for line in table.left_out(held))]
    return commented(
        f'Joint limits and gains of the robot "{table.robot.name}" for ros2_control, '
        f'{table.source}.',
        'joint_limits is what the package joint_limits reads, gains what '
        'joint_trajectory_controller and pid_controller read, for joints with effort commands; in '
        '[N·m], [rad] and [s], or [N], [m] and [s].',
        'd is the damping of the drive, which acts on the velocity of the joint: d of a controller '
        'that is told velocities acts on their error.' if gains else
        'There are no gains: no actuator holds a position by itself.',
        'What has no place here:' if left else 'Nothing is left out.', *left,
    ) + yaml.safe_dump(
        {'/**': {'ros__parameters': parameters}}, sort_keys=False, allow_unicode=True, width=200)


def _limits(drive: JointDrive) -> dict[str, Any]:
    """Limits of a joint, as far as there are any."""
    found: dict[str, Any] = {}
    for quantity, bounds in (
        ('position', {'min_position': drive.lower, 'max_position': drive.upper}),
        ('velocity', {'max_velocity': drive.velocity_limit}),
        ('effort', {'max_effort': drive.effort_limit}),
    ):
        there = bool(np.isfinite(list(bounds.values())).all())
        found[f'has_{quantity}_limits'] = there
        found |= bounds if there else {}
    return found | {'has_acceleration_limits': False, 'has_jerk_limits': False}
