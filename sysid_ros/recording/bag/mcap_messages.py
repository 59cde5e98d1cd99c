"""Messages of MCAP files, many at a time and in the order of reception."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from mcap.opcode import Opcode
from mcap.records import Channel

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.mcap import Record, parsed, read_chunk, read_records
from sysid_ros.recording.bag.mcap_kernels import find_records


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages as they lie in memory, in the order of reception.

    Attributes:
        topics: What :attr:`topic` counts.
        topic: Number of the topic of each message, shape ``(R,)``, like the others.
        received: Times of reception in [ns].
        start: Where its bytes begin in :attr:`data`.
        length: How many there are.
        data: Bytes, of these and maybe of other messages.
    """

    topics: tuple[str, ...]
    topic: np.ndarray
    received: np.ndarray
    start: np.ndarray
    length: np.ndarray
    data: np.ndarray

    def __len__(self) -> int:
        return len(self.received)

    @classmethod
    def of(
        cls, topics: Sequence[str], topic: Sequence[int], received: Sequence[int],
        payloads: Sequence[bytes],
    ) -> Messages:
        """Messages that came one by one.

        Args:
            topics: Their topics.
            topic: Number of the topic of each.
            received: Times of reception in [ns].
            payloads: Their bytes.
        """
        length = np.array([len(payload) for payload in payloads], dtype=np.int64)
        return cls(
            tuple(topics), np.array(topic, dtype=np.int64), np.array(received, dtype=np.int64),
            np.cumsum(length) - length, length, np.frombuffer(b''.join(payloads), dtype=np.uint8))

    def select(self, rows: np.ndarray | slice) -> Messages:
        """Some of the messages, by a mask or their numbers."""
        return Messages(
            self.topics, self.topic[rows], self.received[rows], self.start[rows],
            self.length[rows], self.data)

    def copied(self) -> Messages:
        """Copy in memory of its own, so that the memory of the others is freed."""
        ends = zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        payloads = [self.data[start:end].tobytes() for start, end in ends]
        return Messages.of(self.topics, self.topic.tolist(), self.received.tolist(), payloads)

    def then(self, other: Messages) -> Messages:
        """These and others of the same topics, by the time of reception, copied."""
        start = [one.start + shift for one, shift in ((self, 0), (other, len(self.data)))]
        both = Messages(
            self.topics, np.concatenate([self.topic, other.topic]),
            np.concatenate([self.received, other.received]), np.concatenate(start),
            np.concatenate([self.length, other.length]), np.concatenate([self.data, other.data]))
        return both.select(np.argsort(both.received, kind='stable'))


@dataclass(frozen=True)
class _Piece:
    """A chunk, and the time from the first to the last message in it, in [ns]."""

    record: Record
    first: int
    last: int


class ChunkedFile:
    """An MCAP file whose messages are all in chunks.

    Args:
        path: The file, which was verified.
        most: Bytes that a chunk may hold, unpacked.

    Attributes:
        whole: Whether all messages are in chunks and all topics are listed behind the data;
            only then can they be read by this.

    Raises:
        RecordingError: The file is damaged.
    """

    def __init__(self, path: Path, most: float) -> None:
        self._path, self._most = path, most
        self._channels: dict[int, str] = {}
        self._pieces: list[_Piece] = []
        loose = False
        with path.open('rb') as file:
            for record in read_records(file, path):
                if record.opcode == Opcode.CHUNK:
                    self._pieces.append(_piece(file, record))
                elif record.opcode == Opcode.CHANNEL:
                    channel = parsed(file, record, path, Channel)
                    self._channels[channel.id] = channel.topic
                loose |= record.opcode == Opcode.MESSAGE
        self.whole = bool(self._channels) and not loose

    def messages(
        self, topics: Sequence[str], start: int | None = None, stop: int | None = None
    ) -> Iterator[Messages]:
        """Messages of some topics.

        Args:
            topics: The topics.
            start: First time of reception in [ns].
            stop: Time of reception after the last.

        Raises:
            RecordingError: The file is damaged.
        """
        numbers = {
            channel: topics.index(topic)
            for channel, topic in self._channels.items() if topic in topics}
        pieces = sorted(
            (piece for piece in self._pieces if (stop is None or piece.first < stop)
             and (start is None or piece.last >= start)), key=lambda piece: piece.first)
        with self._path.open('rb') as file:
            waiting: Messages | None = None
            for number, piece in enumerate(pieces):
                found = self._in_chunk(file, piece.record, tuple(topics), numbers)
                found = found.select(_between(found.received, start, stop))
                found = found if waiting is None else waiting.then(found)
                # What comes may have been received before the last of these.
                ready = len(found)
                if number + 1 < len(pieces):
                    ready = int(np.searchsorted(found.received, pieces[number + 1].first))
                waiting = None if ready == len(found) else (
                    found.select(slice(ready, None)).copied())
                if ready:
                    yield found.select(slice(ready))

    def _in_chunk(
        self, file: BinaryIO, record: Record, topics: tuple[str, ...], numbers: Mapping[int, int]
    ) -> Messages:
        content = np.frombuffer(read_chunk(file, record, self._path, self._most)[0], np.uint8)
        count = find_records(content, *np.empty((4, 0), dtype=np.int64))
        table = np.empty((4, max(count, 0)), dtype=np.int64)
        kinds, received, starts, lengths = table
        if count < 0 or find_records(content, kinds, received, starts, lengths) != count:
            raise RecordingError(
                'the bag is damaged: a record goes beyond its chunk',
                where=f'{self._path}, offset {record.start}',
                fix='Record again, or set recording.salvage: true to read what is left')
        unknown = set(np.unique(kinds[kinds >= 0]).tolist()) - set(self._channels)
        if unknown:
            raise RecordingError(
                'the bag is damaged: messages are of a channel that is not listed',
                where=f'{self._path}, offset {record.start}', found=sorted(unknown),
                fix='Record again, or set recording.salvage: true to read what is left')
        topic = np.full(1 << 16, -1, dtype=np.int64)
        topic[list(numbers)] = list(numbers.values())
        wanted = np.flatnonzero(kinds >= 0)
        wanted = wanted[topic[kinds[wanted]] >= 0]
        found = Messages(
            topics, topic[kinds[wanted]], received[wanted], starts[wanted], lengths[wanted],
            content)
        if (np.diff(found.received) < 0).any():
            found = found.select(np.argsort(found.received, kind='stable'))
        return found


def _piece(file: BinaryIO, record: Record) -> _Piece:
    file.seek(record.body)
    head = file.read(16)
    return _Piece(
        record, int.from_bytes(head[:8], 'little'), int.from_bytes(head[8:], 'little'))


def _between(received: np.ndarray, start: int | None, stop: int | None) -> np.ndarray:
    inside = np.ones(len(received), dtype=bool)
    if start is not None:
        inside &= received >= start
    if stop is not None:
        inside &= received < stop
    return inside
