"""Wrenches and inertial measurements of a bag, at the times of other samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError, listed
from sysid_ros.recording.bag.reader import one_clear_error
from sysid_ros.recording.bag.rosbag2_storage import open_bag
from sysid_ros.recording.bag.storage import bag_files, check_bag, messages_of

WRENCH, IMU = 'geometry_msgs/msg/WrenchStamped', 'sensor_msgs/msg/Imu'
POSE, POINT = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PointStamped'
# Vectors of a message, by their names.
_VECTORS = {
    WRENCH: ('wrench.force', 'wrench.torque'),
    IMU: ('angular_velocity', 'linear_acceleration'),
    POSE: ('pose.position',),
    POINT: ('point',),
}
# What sensors on the base and on links of a floating robot publish, and how a topic gets recorded.
_FELT = (WRENCH, IMU)
_RECORDED = ('Name it in the parameter wrench_topics or imu_topics of identification_node, and '
             'record again')
# Where an Imu says that it does not measure a vector: -1 as the first covariance.
_COVARIANCES = ('angular_velocity_covariance', 'linear_acceleration_covariance')
# Bytes of a part of a bag that may be unpacked at once.
_MOST_UNPACKED = 300e6


@dataclass(frozen=True, eq=False)
class SensorTrack:
    """Vectors of one sensor as they were measured.

    Attributes:
        kind: Type of the messages.
        topic: The topic with its bag, for errors.
        frame: Frame that the vectors are in, ``header.frame_id``.
        t: Stamps in [s] since 1970, shape ``(T,)``, strictly increasing; times of reception
            where messages have none.
        values: Force [N] and moment [N·m], or angular velocity [rad/s] and specific force
            [m/s²], shape ``(T, 6)``; of poses and points the place in [m], shape ``(T, 3)``.
    """

    kind: str
    topic: str
    frame: str
    t: np.ndarray
    values: np.ndarray


def read_sensor(
    bag: str | Path, topic: str, allowed: Sequence[str] = _FELT, fix: str = _RECORDED
) -> SensorTrack:
    """Read a topic of ``WrenchStamped``, ``Imu``, ``PoseStamped`` or ``PointStamped``.

    Args:
        bag: Folder of the bag, or its only file.
        topic: The topic.
        allowed: Types that it may be of.
        fix: What to do where there is no such topic.

    Raises:
        RecordingError: There is no such topic, it is of another type, its frame changes, or a
            number is missing or not finite.
    """
    path = Path(bag)
    check_bag(path, bag_files(path), _MOST_UNPACKED)
    with one_clear_error(path), open_bag(path) as reader:
        kinds = {item.topic: item.msgtype for item in reader.connections}
        kind = _kind(kinds, topic, path, allowed, fix)
        types = get_typestore(Stores.ROS2_HUMBLE)
        messages = [
            (received, types.deserialize_cdr(
                block.data[start:start + length].tobytes(), kind))
            for block in messages_of(reader, path, (topic,), _MOST_UNPACKED)
            for received, start, length in zip(
                block.received.tolist(), block.start.tolist(), block.length.tolist(),
                strict=True)]
    where = f'{path}: {topic}'
    if not messages:
        raise RecordingError('the topic has no message', where=where, fix='Record it again')
    if kind == IMU:
        _require_measured([message for _, message in messages], where)
    stamps = np.array([_stamp(message) or received for received, message in messages])
    values = np.array([_vectors(message, kind) for _, message in messages])
    _require_finite(values, where)
    t, first = np.unique(1e-9 * stamps, return_index=True)
    return SensorTrack(kind, where, _one_frame(messages, where), t, values[first])


def _kind(
    kinds: dict[str, str], topic: str, path: Path, allowed: Sequence[str], fix: str
) -> str:
    fitting = [name for name, kind in kinds.items() if kind in allowed]
    if topic not in fitting:
        raise RecordingError(
            f'the topic {topic} is of the wrong type' if topic in kinds
            else f'there is no topic {topic}', where=str(path),
            found=kinds.get(topic) or listed(fitting) or 'no sensor of these types',
            allowed=', '.join(allowed), fix=fix)
    return kinds[topic]


def _stamp(message: Any) -> int:
    """The stamp in [ns]; 0 where there is none."""
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)


def _vectors(message: Any, kind: str) -> list[float]:
    values: list[float] = []
    for name in _VECTORS[kind]:
        vector = message
        for part in name.split('.'):
            vector = getattr(vector, part)
        values += (vector.x, vector.y, vector.z)
    return values


def _require_measured(messages: Sequence[Any], where: str) -> None:
    for name in _COVARIANCES:
        if any(getattr(message, name)[0] == -1.0 for message in messages):
            raise RecordingError(
                'the IMU says that it does not measure a vector', where=where,
                found=f'{name}[0] = -1', allowed='angular velocity and specific force',
                fix='Record the topic of another IMU')


def _one_frame(messages: Sequence[tuple[int, Any]], where: str) -> str:
    frames = sorted({message.header.frame_id for _, message in messages})
    if len(frames) > 1:
        raise RecordingError(
            'the frame changes from message to message', where=where, found=listed(frames),
            allowed='one frame', fix='Record each sensor on a topic of its own')
    return str(frames[0])


def _require_finite(values: np.ndarray, where: str) -> None:
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise RecordingError(
            'a measurement is not finite', where=where,
            found=f'message {int(np.argmin(finite))} of {len(values)}',
            fix='See what its driver publishes, and record again')
