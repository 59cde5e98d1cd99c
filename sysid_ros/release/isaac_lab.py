"""Actuators of a robot for Isaac Lab: keywords of its configurations as YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from sysid_ros.release.drive_table import DriveTable, JointDrive, commented

_HELD = ('armature', 'viscous_friction', 'coulomb_friction', 'stall_torque')
# Keyword, and the attribute of a drive that it holds.
_KEYWORDS = {
    'stiffness': 'stiffness', 'damping': 'damping', 'armature': 'armature',
    'friction': 'coulomb_friction', 'dynamic_friction': 'coulomb_friction',
    'viscous_friction': 'viscous_friction', 'effort_limit': 'effort_limit',
    'velocity_limit': 'velocity_limit'}
_OF_ACTUATORS = ('stiffness', 'damping')


def isaac_lab_yaml(table: DriveTable) -> str:
    """Keywords of Isaac Lab's actuators for the drives of a robot.

    Drives whose torque falls with speed are ``DCMotorCfg``, one for each stall torque, which is one
    number there; all others are one ``ImplicitActuatorCfg``. Limits that nobody gave and gains of
    joints without actuator are left out: Isaac Lab then takes what the USD says.

    Args:
        table: The drives.
    """
    plain = [drive for drive in table.drives if not drive.slows]
    groups = {'identified': _group(plain)} if plain else {}
    stalls = dict.fromkeys(drive.stall_torque for drive in table.drives if drive.slows)
    for number, stall in enumerate(stalls, start=1):
        own = [drive for drive in table.drives if drive.stall_torque == stall]
        groups[f'dc_motors_{number}'] = _dc_motors(own, stall)
    left = [
        *(f'- {line}; Isaac Lab is told torques' for line in table.command_gains()),
        *(f'- {line}' for line in table.left_out(_HELD))]
    configurations = [
        f"{'ImplicitActuatorCfg' if name == 'identified' else 'DCMotorCfg'}"
        f"(**content['actuators']['{name}'])" for name in groups]
    return commented(
        f'Actuators of the robot "{table.robot.name}" for Isaac Lab, {table.source}.',
        f'{", ".join(configurations)}, in [N·m], [rad] and [s], or [N], [m] and [s].',
        'Frictions are efforts, as Isaac Sim takes them from 5.0 on; for older ones, which take '
        'coefficients, remove the three of them. Isaac Lab 3.0 calls the limits joint_effort_limit '
        'and joint_velocity_limit.',
        *(['velocity_limit of a DCMotorCfg is the speed at which its torque has fallen to none.']
          if stalls else []),
        'Masses and inertias are those of the URDF or MJCF that sysid export writes.',
        'What has no place here:' if left else 'Nothing is left out.', *left,
    ) + yaml.safe_dump(
        {'actuators': groups}, sort_keys=False, allow_unicode=True, width=200)


def _group(drives: Sequence[JointDrive]) -> dict[str, Any]:
    """Keywords of some drives."""
    group: dict[str, Any] = {'joint_names_expr': [re.escape(drive.joint) for drive in drives]}
    for keyword, attribute in _KEYWORDS.items():
        values = {
            re.escape(drive.joint): getattr(drive, attribute) for drive in drives
            if np.isfinite(getattr(drive, attribute))
            and (drive.kind is not None or keyword not in _OF_ACTUATORS)}
        if values:
            group[keyword] = values
    return group


def _dc_motors(drives: Sequence[JointDrive], stall: float) -> dict[str, Any]:
    """Keywords of drives of one stall torque, which falls to none at the velocity limit."""
    speeds = {re.escape(drive.joint): drive.no_load_speed for drive in drives}
    return _group(drives) | {'saturation_effort': stall, 'velocity_limit': speeds}
