"""Messages of ``control_msgs`` that say what ros2_control told the drives.

Their definitions differ by distribution, so that those which a bag has of its own are used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from sysid_ros.errors import RecordingError

#: What a controller of trajectories wants of the joints, and tells their drives.
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'
#: Values of any interfaces of each joint, by name.
INTERFACE_VALUES = 'control_msgs/msg/DynamicJointState'
CONTROL_TYPES = (CONTROLLER_STATE, INTERFACE_VALUES)

# Points of a controller's state that hold what it wants of the joints, in older distributions what
# it desires, which drives of positions are told; and what it tells other drives.
_WANTED = ('reference', 'desired')
_POINTS = {
    'position': _WANTED, 'velocity': ('output', *_WANTED), 'effort': ('output', *_WANTED)}
# Fields of these points, by those of settings.
_FIELDS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'effort'}
# Those that lead from point to point.
_DERIVATIVES = ('positions', 'velocities', 'accelerations')


def control_types(kind: str, definition: str, where: str) -> Typestore:
    """Types of a bag, by its own definition of one of ``control_msgs``.

    Args:
        kind: The type.
        definition: Its definition, with those of all that it is made of.
        where: The bag and topic, for messages.

    Raises:
        RecordingError: There is none.
    """
    if not definition.strip():
        raise RecordingError(
            f'the bag does not say what a message of {kind} is made of', where=where,
            fix='Record to MCAP, ros2 bag record --storage mcap, or name a topic of '
            'trajectory_msgs/msg/JointTrajectory')
    types = get_typestore(Stores.ROS2_HUMBLE)
    found = get_types_from_msg(definition, kind)
    types.register({name: fields for name, fields in found.items() if name not in types.types})
    return types


def installed_types(kind: str) -> Typestore:
    """Types by the definitions of the ``control_msgs`` that is installed.

    Args:
        kind: One of :data:`CONTROL_TYPES`.

    Raises:
        RecordingError: It is not installed, or does not have this type.
    """
    package = importlib.util.find_spec('control_msgs')
    installed = Path(package.origin).parents if package is not None and package.origin else ()
    folder = next((place for prefix in installed if (
        place := prefix / 'share' / 'control_msgs' / 'msg').is_dir()), None)
    if folder is None:
        raise RecordingError(
            'control_msgs is not installed', where=kind,
            fix='Install control_msgs of the ROS distribution')
    types = get_typestore(Stores.ROS2_HUMBLE)
    for file in sorted(folder.glob('*.msg')):
        types.register(get_types_from_msg(
            file.read_text(encoding='utf-8'), f'control_msgs/msg/{file.stem}'))
    if kind not in types.types:
        raise RecordingError(
            'the control_msgs that is installed does not have this type', where=kind,
            found=str(folder), fix='Record another topic')
    return types


def commanded_values(
    kind: str, content: Any, field: str
) -> tuple[Sequence[str], np.ndarray, tuple[str, ...]]:
    """What a message tells the drives.

    Args:
        kind: One of :data:`CONTROL_TYPES`.
        content: The message.
        field: ``position``, ``velocity`` or ``effort``.

    Returns:
        The joints; what each is told, NaN where nothing is said; and, where that is so of all, the
        fields that say something.
    """
    joints = content.joint_names
    by_field = {name: _values(kind, content, name, len(joints)) for name in _FIELDS}
    there = tuple(name for name, values in by_field.items() if np.isfinite(values).any())
    return joints, by_field[field], () if field in there else there


def wanted_point(content: Any) -> np.ndarray:
    """Position, velocity and acceleration that a controller wants of each joint, ``(n, 3)``.

    NaN where it says none.

    Args:
        content: The controller's state.
    """
    joints = len(content.joint_names)
    point = next((getattr(content, name) for name in _WANTED if hasattr(content, name)), None)
    columns = [getattr(point, name, ()) for name in _DERIVATIVES]
    return np.column_stack([
        np.array(values, dtype=float) if len(values) == joints else np.full(joints, np.nan)
        for values in columns])


def _values(kind: str, content: Any, field: str, joints: int) -> np.ndarray:
    """One field of all joints, NaN where it is not there, shape ``(n,)``."""
    if kind == INTERFACE_VALUES:
        named = [
            dict(zip(each.interface_names, each.values, strict=True)).get(field, np.nan)
            for each in content.interface_values]
        return np.array(named if len(named) == joints else [np.nan] * joints, dtype=float)
    for name in _POINTS[field]:
        values = getattr(getattr(content, name, None), _FIELDS[field], ())
        if len(values) == joints:
            return np.array(values, dtype=float)
    return np.full(joints, np.nan)
