"""Bags of joint states with commands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_typestore

from sysid_ros.recording.bag.commands import FLOAT_ARRAY, JOINT_TRAJECTORY
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.mcap_writer import McapWriter

# Absolute time of t = 0 in [s].
_START = 1.7e9
# One store: it writes and compiles the code of a type when it is first used.
_TYPES = get_typestore(Stores.ROS2_HUMBLE)


class Message(NamedTuple):
    """A serialized message, and its type."""

    kind: str
    data: bytes


class Command(NamedTuple):
    """A message of commands, when it is received in [s], and where."""

    received: float
    message: Message
    topic: str = '/commands'


def _nanoseconds(t: float) -> int:
    return round(_START * 1e9) + round(t * 1e9)


def array_message(values: Sequence[float]) -> Message:
    """Numbers without names or stamp."""
    layout = _TYPES.types['std_msgs/msg/MultiArrayLayout'](dim=[], data_offset=0)
    content = _TYPES.types[FLOAT_ARRAY](layout=layout, data=np.array(values, dtype=float))
    return Message(FLOAT_ARRAY, bytes(_TYPES.serialize_cdr(content, FLOAT_ARRAY)))


def state_message(stamp: float, joints: Sequence[str], **fields: Sequence[float]) -> Message:
    """Joint states that are commands, with the fields that are given."""
    table = encode(np.array([_nanoseconds(stamp)]), joints, {
        name: np.array([fields[name]]) if name in fields else None
        for name in ('position', 'velocity', 'effort')})
    return Message(JOINT_STATE, table[0].tobytes())


def trajectory(
    joints: Sequence[str], points: Sequence[tuple[object, ...]], stamp: float | None = None
) -> Message:
    """A trajectory of points: time from its start, positions and their derivatives."""

    def time(nanoseconds: int, kind: str) -> object:
        return _TYPES.types[f'builtin_interfaces/msg/{kind}'](
            sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    made = []
    for seconds, *derivatives in points:
        fields = [np.array(each, dtype=float) for each in derivatives]
        fields += [np.empty(0)] * (4 - len(fields))
        made.append(_TYPES.types['trajectory_msgs/msg/JointTrajectoryPoint'](
            *fields, time_from_start=time(round(1e9 * seconds), 'Duration')))
    header = _TYPES.types['std_msgs/msg/Header'](
        stamp=time(0 if stamp is None else _nanoseconds(stamp), 'Time'), frame_id='')
    content = _TYPES.types[JOINT_TRAJECTORY](header=header, joint_names=list(joints), points=made)
    return Message(JOINT_TRAJECTORY, bytes(_TYPES.serialize_cdr(content, JOINT_TRAJECTORY)))


def write_command_bag(
    path: Path, t: np.ndarray, joints: Sequence[str], q: np.ndarray, told: Sequence[Command],
    late: float = 0.0,
) -> None:
    """Write joint positions, and commands beside them.

    Args:
        path: Folder of the new bag.
        t: Stamps of the joint states in [s].
        joints: Joints, by name.
        q: Positions, shape ``(T, n)``.
        told: The commands.
        late: Time from the stamps of joint states to their reception in [s].
    """
    path.mkdir(parents=True)
    kinds = {each.topic: each.message.kind for each in told}
    topics = ['/joint_states', *kinds]
    writer = McapWriter(path / f'{path.name}.mcap', topics, [JOINT_STATE, *kinds.values()])
    stamps = np.array([_nanoseconds(each) for each in t])
    table = encode(stamps, joints, {'position': q, 'velocity': None, 'effort': None})
    received = (stamps + round(1e9 * late)).tolist()
    writer.write(0, received, [row.tobytes() for row in table])
    for each in told:
        writer.write(
            topics.index(each.topic), [_nanoseconds(each.received)], [each.message.data])
    writer.close()
