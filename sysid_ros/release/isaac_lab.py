"""Actuators of a robot for Isaac Lab: keywords of an ``ImplicitActuatorCfg`` as YAML."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import yaml

from sysid_ros.release.drive_table import DriveTable, JointDrive, commented

_HELD = ('armature', 'viscous_friction', 'coulomb_friction')
# Keyword, and the attribute of a drive that it holds.
_KEYWORDS = {
    'stiffness': 'stiffness', 'damping': 'damping', 'armature': 'armature',
    'friction': 'coulomb_friction', 'dynamic_friction': 'coulomb_friction',
    'viscous_friction': 'viscous_friction', 'effort_limit': 'effort_limit',
    'velocity_limit': 'velocity_limit'}
_OF_ACTUATORS = ('stiffness', 'damping')


def isaac_lab_yaml(table: DriveTable) -> str:
    """Keywords of Isaac Lab's ``ImplicitActuatorCfg`` for the drives of a robot.

    Limits that nobody gave and gains of joints without actuator are left out: Isaac Lab then takes
    what the USD says.

    Args:
        table: The drives.
    """
    group: dict[str, Any] = {
        'joint_names_expr': [re.escape(drive.joint) for drive in table.drives]}
    for keyword, attribute in _KEYWORDS.items():
        values = {
            re.escape(drive.joint): getattr(drive, attribute) for drive in table.drives
            if np.isfinite(getattr(drive, attribute))
            and (drive.kind is not None or keyword not in _OF_ACTUATORS)}
        if values:
            group[keyword] = values
    left = [f'- {line}' for line in (*_commands(table), *table.left_out(_HELD))]
    return commented(
        f'Actuators of the robot "{table.robot.name}" for Isaac Lab, {table.source}.',
        "ImplicitActuatorCfg(**content['actuators']['identified']), in [N·m], [rad] and [s], or "
        '[N], [m] and [s].',
        'Frictions are efforts, as Isaac Sim takes them from 5.0 on; for older ones, which take '
        'coefficients, remove the three of them. Isaac Lab 3.0 calls the limits joint_effort_limit '
        'and joint_velocity_limit.',
        'Masses and inertias are those of the URDF or MJCF that sysid export writes.',
        'What has no place here:' if left else 'Nothing is left out.', *left,
    ) + yaml.safe_dump(
        {'actuators': {'identified': group}}, sort_keys=False, allow_unicode=True, width=200)


def _commands(table: DriveTable) -> list[str]:
    """What commands that are no positions have to be multiplied by."""
    return [
        f'{drive.joint}: torque of a command ({drive.kind.command}): {drive.gain:.6g} per '
        f'{drive.kind.units[0]}; Isaac Lab is told torques'
        for drive in table.drives if _is_open_loop(drive) and drive.kind is not None
        and drive.gain != 1.0]


def _is_open_loop(drive: JointDrive) -> bool:
    return drive.kind is not None and not drive.kind.regulates
