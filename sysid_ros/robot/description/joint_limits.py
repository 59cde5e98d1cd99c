"""Limits of joints in a ``joint_limits.yaml``, as MoveIt and drivers keep them beside a URDF."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_ros.errors import ModelError
from sysid_ros.settings import load_yaml

# Limits by our names: the keys of the switch and of the value.
_KEYS = {
    'lower': ('has_position_limits', 'min_position'),
    'upper': ('has_position_limits', 'max_position'),
    'velocity': ('has_velocity_limits', 'max_velocity'),
    'acceleration': ('has_acceleration_limits', 'max_acceleration'),
    'jerk': ('has_jerk_limits', 'max_jerk'),
    'effort': ('has_effort_limits', 'max_effort'),
}
_SECTION = 'joint_limits'


def load_joint_limits(path: Path) -> dict[str, dict[str, float]]:
    """Limits by joint: lower, upper, velocity, acceleration, jerk, effort where they are given.

    Args:
        path: The YAML file; its section ``joint_limits`` may be inside of others, as in files of
            ROS parameters. A limit whose switch (``has_velocity_limits``, ...) is off is none.

    Returns:
        Values in [rad] or [m] and [s], [N·m] or [N].

    Raises:
        ConfigurationError: The file cannot be read.
        ModelError: It has no such section, or a limit is no number.
    """
    section = _section(load_yaml(path, missing='Give the path of a joint_limits.yaml'))
    if section is None:
        raise ModelError(
            f'there is no section {_SECTION}', where=str(path),
            fix=f'Write limits as MoveIt does: {_SECTION}: {{joint_1: {{has_velocity_limits: true, '
            'max_velocity: 1.0}}')
    return {
        str(joint): _limits(f'{path}: {joint}', keys) for joint, keys in section.items()
        if isinstance(keys, Mapping)}


def _section(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The section of limits, wherever it is."""
    found = data.get(_SECTION)
    if isinstance(found, Mapping):
        return found
    inner = (_section(value) for value in data.values() if isinstance(value, Mapping))
    return next((section for section in inner if section is not None), None)


def _limits(where: str, keys: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, (switch, key) in _KEYS.items():
        if key not in keys or not keys.get(switch, True):
            continue
        value = keys[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(
                value):
            raise ModelError(
                'is not a limit', where=f'{where}: {key}', found=repr(value),
                allowed='a finite number', fix=f'Write {key}: 1.0, or {switch}: false')
        found[name] = float(value)
    return found
