"""Bags of joint states, written with checksums."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError
from sysid_ros.recording.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.mcap import seal

_VERSION: Literal[9] = 9


def write_bag(
    path: str | Path,
    t: np.ndarray,
    joint_names: Sequence[str],
    q: np.ndarray,
    v: np.ndarray | None = None,
    tau: np.ndarray | None = None,
    *,
    start: float = 1.0,
    topic: str = '/joint_states',
    storage: Literal['mcap', 'sqlite3'] = 'mcap',
) -> None:
    """Write joint states as a rosbag2 recording.

    Args:
        path: Folder of the new bag.
        t: Time in [s], shape ``(T,)``, increasing.
        joint_names: Joints, by name.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities in [rad/s] or [m/s], shape ``(T, n)``; left empty where None.
        tau: Efforts in [N·m] or [N], shape ``(T, n)``; left empty where None.
        start: Absolute time of ``t = 0`` in [s]; a zero stamp would say that there is none.
        topic: Topic of the messages.
        storage: Storage of the bag. MCAP files get the checksums of their
            chunks, data section and summary.

    Raises:
        RecordingError: The folder exists, or the arrays do not fit together.
    """
    path = Path(path)
    shape = (len(t), len(joint_names))
    for name, values in (('q', q), ('v', v), ('tau', tau)):
        if values is not None and np.shape(values) != shape:
            raise RecordingError(
                'the array has another shape than (stamps, joints)', where=name,
                found=np.shape(values), allowed=shape,
            )
    if path.exists():
        raise RecordingError(
            'there is something already', where=str(path), fix='Give the bag another name'
        )
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    with Writer(path, version=_VERSION, storage_plugin=plugin) as writer:
        # Apart, as nanoseconds since 1970 do not fit into a float.
        stamps = round(start * 1e9) + np.rint(np.asarray(t) * 1e9).astype(np.int64)
        _write_messages(writer, topic, stamps, list(joint_names), (q, v, tau))
    if storage == 'mcap':
        # The writer of rosbags leaves every checksum empty.
        seal(path / f'{path.name}.mcap')


def _write_messages(
    writer: Writer, topic: str, stamps: np.ndarray, names: list[str],
    columns: tuple[np.ndarray | None, ...],
) -> None:
    types = get_typestore(Stores.ROS2_HUMBLE)
    connection = writer.add_connection(topic, JOINT_STATE, typestore=types)
    make: dict[str, Any] = types.types
    empty = np.empty(0)
    for row, stamp in enumerate(stamps.tolist()):
        seconds, nanoseconds = divmod(stamp, 1_000_000_000)
        time = make['builtin_interfaces/msg/Time'](sec=seconds, nanosec=nanoseconds)
        header = make['std_msgs/msg/Header'](stamp=time, frame_id='')
        position, velocity, effort = (
            empty if values is None else np.ascontiguousarray(values[row], dtype=float)
            for values in columns
        )
        message = make[JOINT_STATE](
            header=header, name=names, position=position, velocity=velocity, effort=effort
        )
        writer.write(connection, stamp, types.serialize_cdr(message, JOINT_STATE))
