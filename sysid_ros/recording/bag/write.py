"""Bags of joint states, written with checksums."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.joint_state_cdr import FIELDS, JOINT_STATE, encode
from sysid_ros.recording.bag.mcap_writer import McapWriter
from sysid_ros.recording.bag.rosbag2_storage import write_joint_states

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
    storage: str = 'mcap',
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
        storage: Storage of the bag: ``mcap``, whose files get the checksums of their chunks, data
            section and summary; ``sqlite3``; or another, where ``rosbag2_py`` knows it.

    Raises:
        RecordingError: The folder exists, the arrays do not fit together, or nothing here knows
            the storage.
    """
    write_bag_in_blocks(
        path, joint_names, [(t, q, v, tau)], start=start, topic=topic, storage=storage)


def write_bag_in_blocks(
    path: str | Path,
    joint_names: Sequence[str],
    blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]],
    *,
    start: float = 1.0,
    topic: str = '/joint_states',
    storage: str = 'mcap',
) -> None:
    """Write joint states that come a block at a time, as :func:`write_bag` does.

    Args:
        path: Folder of the new bag.
        joint_names: Joints, by name.
        blocks: Time, positions, velocities and efforts, one block after the other.
        start: Absolute time of ``t = 0`` in [s].
        topic: Topic of the messages.
        storage: Storage of the bag.

    Raises:
        RecordingError: As for :func:`write_bag`.
    """
    path = Path(path)
    if path.exists():
        raise RecordingError(
            'there is something already', where=str(path), fix='Give the bag another name'
        )
    messages = _messages(joint_names, blocks, start)
    try:
        _write(path, topic, storage, messages)
    except BaseException:
        # A bag that ends somewhere would read as one of a shorter motion.
        shutil.rmtree(path, ignore_errors=True)
        raise


def _write(
    path: Path, topic: str, storage: str, messages: Iterator[tuple[list[int], list[bytes]]]
) -> None:
    if storage == 'mcap':
        path.mkdir(parents=True)
        writer = McapWriter(path / f'{path.name}.mcap', [topic])
        try:
            for stamps, payloads in messages:
                writer.write(0, stamps, payloads)
        except BaseException:
            writer.abandon()
            raise
        writer.close()
        return
    if storage != 'sqlite3':
        write_joint_states(path, storage, topic, messages)
        return
    with Writer(path, version=_VERSION, storage_plugin=StoragePlugin.SQLITE3) as database:
        connection = database.add_connection(
            topic, JOINT_STATE, typestore=get_typestore(Stores.ROS2_HUMBLE))
        for stamps, payloads in messages:
            for stamp, payload in zip(stamps, payloads, strict=True):
                database.write(connection, stamp, payload)


def _messages(
    joint_names: Sequence[str],
    blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]],
    start: float,
) -> Iterator[tuple[list[int], list[bytes]]]:
    """Stamps in [ns] and serialized messages of each block."""
    for t, *columns in blocks:
        _check_shapes(t, joint_names, columns)
        # Apart, as nanoseconds since 1970 do not fit into a float.
        stamps = round(start * 1e9) + np.rint(np.asarray(t) * 1e9).astype(np.int64)
        table = encode(stamps, joint_names, dict(zip(FIELDS, columns, strict=True)))
        yield stamps.tolist(), [row.tobytes() for row in table]


def _check_shapes(
    t: np.ndarray, joint_names: Sequence[str], columns: Sequence[np.ndarray | None]
) -> None:
    shape = (len(t), len(joint_names))
    for name, values in zip(('q', 'v', 'tau'), columns, strict=True):
        if values is not None and np.shape(values) != shape:
            raise RecordingError(
                'the array has another shape than (stamps, joints)', where=name,
                found=np.shape(values), allowed=shape,
            )
