"""MCAP files written as messages come, with every checksum, and readable up to the last chunk.

The layout is that of the MCAP specification (https://mcap.dev/spec), version 0. Every chunk
repeats the schemas and channels, so that none needs another to be understood.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sysid_ros.recording.mcap import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    FOOTER_BODY,
    HEADER,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    PREFIX,
    SCHEMA,
)

_MESSAGE_INDEX, _CHUNK_INDEX, _STATISTICS = 0x07, 0x08, 0x0B
_INDEX_ENTRY = struct.Struct('<QQ')
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Topic:
    """A topic of a bag.

    Attributes:
        name: The topic.
        kind: Type of its messages, as in ``sensor_msgs/msg/JointState``.
        definition: The type's definition in the format ``ros2msg``.
    """

    name: str
    kind: str
    definition: str


@dataclass
class _Chunk:
    """Records that are to be written together; where they lie in it, by topic."""

    data: bytearray
    index: list[list[tuple[int, int]]]
    first: int = (1 << 63) - 1
    last: int = 0


@dataclass
class McapWriter:
    """Writes an MCAP file.

    Attributes:
        path: The new file.
        topics: Its topics.
        counts: Messages by topic so far.
        first: First time of reception in [ns].
        last: Last time of reception in [ns].

    Raises:
        OSError: The file exists, or cannot be written; so do all methods.
    """

    path: Path
    topics: Sequence[Topic]
    counts: list[int] = field(init=False)
    first: int = field(init=False, default=(1 << 63) - 1)
    last: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.topics)
        self._file = self.path.open('xb')
        self._position, self._crc = 0, 0
        self._chunk_indices: list[bytes] = []
        self._describing = b''.join(
            _record(SCHEMA, struct.pack('<H', number) + _string(topic.kind) + _string('ros2msg')
                    + _string(topic.definition))
            + _record(CHANNEL, struct.pack('<HH', number, number) + _string(topic.name)
                      + _string('cdr') + struct.pack('<I', 0))
            for number, topic in enumerate(self.topics, start=1)
        )
        self._chunk = self._new_chunk()
        self._write(MAGIC + _record(HEADER, _string('ros2') + _string('sysid_ros')))

    def write(self, topic: int, received: Sequence[int], payloads: Sequence[bytes]) -> None:
        """Add messages; they reach the file with the chunk they are in.

        Args:
            topic: Number of the topic, from 0 on.
            received: Times of reception in [ns].
            payloads: Serialized messages.
        """
        chunk = self._chunk
        for stamp, payload in zip(received, payloads, strict=True):
            chunk.index[topic].append((stamp, len(chunk.data)))
            chunk.data += PREFIX.pack(MESSAGE, MESSAGE_HEAD.size + len(payload))
            number = self.counts[topic] & 0xFFFFFFFF
            chunk.data += MESSAGE_HEAD.pack(topic + 1, number, stamp, stamp)
            chunk.data += payload
            self.counts[topic] += 1
        if received:
            chunk.first, chunk.last = min(chunk.first, *received), max(chunk.last, *received)
        if len(chunk.data) > _CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """End the chunk and hand it to the operating system."""
        chunk = self._chunk
        if len(chunk.data) == len(self._describing):
            return
        data = bytes(chunk.data)
        start = self._position
        self._write(_record(CHUNK, CHUNK_HEAD.pack(
            chunk.first, chunk.last, len(data), zlib.crc32(data)
        ) + _string('') + struct.pack('<Q', len(data)) + data))
        end = self._position
        offsets = {}
        for number, entries in enumerate(chunk.index, start=1):
            offsets[number] = self._position
            packed = b''.join(_INDEX_ENTRY.pack(*entry) for entry in entries)
            self._write(_record(
                _MESSAGE_INDEX, struct.pack('<HI', number, len(packed)) + packed))
        places = b''.join(struct.pack('<HQ', *item) for item in offsets.items())
        self._chunk_indices.append(
            struct.pack('<QQQQ', chunk.first, chunk.last, start, end - start)
            + struct.pack('<I', len(places)) + places
            + struct.pack('<Q', self._position - end) + _string('')
            + struct.pack('<QQ', len(data), len(data)))
        self.first, self.last = min(self.first, chunk.first), max(self.last, chunk.last)
        self._chunk = self._new_chunk()
        self._file.flush()

    def close(self) -> None:
        """Write what is left, the summary and the checksums, down to the disk."""
        self.flush()
        self._write(_record(DATA_END, struct.pack('<I', self._crc)))
        start, total = self._position, sum(self.counts)
        counts = b''.join(struct.pack('<HQ', *item) for item in enumerate(self.counts, start=1))
        statistics = struct.pack(
            '<QHIIIIQQ', total, len(self.topics), len(self.topics), 0, 0, len(self._chunk_indices),
            self.first if total else 0, self.last,
        ) + struct.pack('<I', len(counts)) + counts
        # The checksum of the summary begins with the summary.
        self._crc = 0
        self._write(self._describing)
        self._write(b''.join(_record(_CHUNK_INDEX, index) for index in self._chunk_indices))
        self._write(_record(_STATISTICS, statistics))
        self._write(PREFIX.pack(FOOTER, FOOTER_BODY.size) + struct.pack('<QQ', start, 0))
        self._write(struct.pack('<I', self._crc) + MAGIC)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        # What could not be written before cannot be written now.
        with contextlib.suppress(OSError):
            self._file.close()

    def _new_chunk(self) -> _Chunk:
        return _Chunk(bytearray(self._describing), [[] for _ in self.topics])

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._position += len(data)


def _record(opcode: int, body: bytes) -> bytes:
    return PREFIX.pack(opcode, len(body)) + body


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack('<I', len(data)) + data
