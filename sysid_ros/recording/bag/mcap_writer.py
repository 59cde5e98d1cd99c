"""Bags in MCAP, written as messages come, with every checksum, readable up to the last chunk."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from mcap.writer import CompressionType, Writer
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from sysid_ros.recording.bag.control_messages import CONTROL_TYPES, installed_types
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.rosbag2_storage import METADATA

_CHUNK_BYTES = 1 << 20
_VERSION = 9


@dataclass
class McapWriter:
    """Writes the MCAP file of a rosbag2 recording.

    Attributes:
        path: The new file, in the folder of the bag.
        topics: Its topics.
        kinds: Type of the messages of each, ``sensor_msgs/msg/JointState`` where there are none.
        counts: Messages by topic so far.
        first: First time of reception in [ns].
        last: Last time of reception in [ns].

    Raises:
        OSError: The file exists, or cannot be written; so do all methods.
        RecordingError: Messages are of ``control_msgs``, which is not installed.
    """

    path: Path
    topics: Sequence[str]
    kinds: Sequence[str] = ()
    counts: list[int] = field(init=False)
    first: int = field(init=False, default=(1 << 63) - 1)
    last: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.topics)
        self._kinds = tuple(self.kinds) or (JOINT_STATE,) * len(self.topics)
        definitions = {kind: _definition(kind).encode() for kind in dict.fromkeys(self._kinds)}
        self._file = self.path.open('xb')
        self._writer = Writer(
            self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.NONE,
            enable_crcs=True, enable_data_crcs=True)
        self._writer.start('ros2', 'sysid_ros')
        schemas = {
            kind: self._writer.register_schema(kind, 'ros2msg', definition)
            for kind, definition in definitions.items()}
        self._channels = [
            self._writer.register_channel(topic, 'cdr', schemas[kind])
            for topic, kind in zip(self.topics, self._kinds, strict=True)]

    def write(self, topic: int, received: Sequence[int], payloads: Sequence[bytes]) -> None:
        """Add messages; they reach the file with the chunk they are in.

        Args:
            topic: Number of the topic, from 0 on.
            received: Times of reception in [ns].
            payloads: Serialized messages.
        """
        channel, count, add = self._channels[topic], self.counts[topic], self._writer.add_message
        for stamp, payload in zip(received, payloads, strict=True):
            add(channel, stamp, payload, stamp, count & 0xFFFFFFFF)
            count += 1
        self.counts[topic] = count
        if received:
            self.first, self.last = min(self.first, *received), max(self.last, *received)

    def flush(self) -> None:
        """End the chunk and hand it to the operating system."""
        self._writer.flush()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Write what is left, summary and checksums down to the disk, and then the metadata."""
        self._writer.finish()  # type: ignore[no-untyped-call]
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        text = yaml.safe_dump({'rosbag2_bagfile_information': self._metadata()}, sort_keys=False)
        part = self.path.with_name(f'{METADATA}.part')
        part.write_text(text, encoding='utf-8')
        part.replace(self.path.with_name(METADATA))

    def abandon(self) -> None:
        """Close the file as it is."""
        # What could not be written before cannot be written now.
        with contextlib.suppress(OSError):
            self._file.close()

    def _metadata(self) -> dict[str, Any]:
        total = sum(self.counts)
        span = {
            'starting_time': {'nanoseconds_since_epoch': self.first if total else 0},
            'duration': {'nanoseconds': self.last - self.first if total else 0},
            'message_count': total,
        }
        return {
            'version': _VERSION, 'storage_identifier': 'mcap',
            'relative_file_paths': [self.path.name], **span,
            'topics_with_message_count': [
                {
                    'topic_metadata': {
                        'name': topic, 'type': kind, 'serialization_format': 'cdr',
                        'offered_qos_profiles': [],
                        'type_description_hash': _types(kind).hash_rihs01(kind),
                    },
                    'message_count': count,
                } for topic, kind, count in zip(
                    self.topics, self._kinds, self.counts, strict=True)
            ],
            'compression_format': '', 'compression_mode': '',
            'files': [{'path': self.path.name, **span}],
            'custom_data': None, 'ros_distro': 'sysid_ros',
        }


@functools.cache
def _types(kind: str) -> Typestore:
    if kind in CONTROL_TYPES:
        return installed_types(kind)
    return get_typestore(Stores.ROS2_HUMBLE)


@functools.cache
def _definition(kind: str) -> str:
    text, _ = _types(kind).generate_msgdef(kind, ros_version=2)
    return str(text)
