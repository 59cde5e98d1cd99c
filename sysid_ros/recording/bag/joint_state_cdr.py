"""Serialized JointState messages, decoded and encoded many at a time.

A publisher repeats itself: from message to message only the stamp and the numbers change,
while names and lengths, and with them the place of every number, stay. Such messages are
decoded together, as columns of one table of bytes. Every new layout is decoded by rosbags
first, and decoded together only where both ways agree on it to the bit.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from sysid_ros.numerics.arrays import runs

JOINT_STATE = 'sensor_msgs/msg/JointState'
# The same in every ROS 2 distribution.
_DEFINITION = f"""\
std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{80 * '='}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
FIELDS = ('position', 'velocity', 'effort')

# Layouts remembered for each length of a message; a publisher has a few, and what goes beyond
# is decoded one by one.
_LAYOUTS = 8

# Bytes that may follow a message: middleware that serializes for itself reserves room for the
# alignment of arrays even where they are empty, and hands out all that it reserved.
_RESERVED = 32

# CDR counts alignment from the end of its own header.
_HEADER = 4
_STAMP = slice(_HEADER, _HEADER + 8)
_ALL_BITS = 0xFF

# The row of a message that comes alone.
_FIRST = np.zeros(1, dtype=np.int64)
_FIRST.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Batch:
    """Messages that hold the same joints in the same order.

    Attributes:
        rows: Which of the messages decoded together these are, shape ``(R,)``, increasing.
        names: Joints, by name.
        stamps: Stamps of the headers in [ns], shape ``(R,)``.
        values: ``position``, ``velocity`` and ``effort``, shape ``(R, k)`` each; k is whatever
            length the messages have, which need not be that of the names.
    """

    rows: np.ndarray
    names: tuple[str, ...]
    stamps: np.ndarray
    values: dict[str, np.ndarray]

    def select(self, rows: np.ndarray) -> Batch:
        """Some of the messages, by a mask."""
        values = {name: array[rows] for name, array in self.values.items()}
        return Batch(self.rows[rows], self.names, self.stamps[rows], values)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the numbers are in messages that are equal to an example elsewhere.

    ``fixed`` has all bits of the bytes that must be those of the example; the others are the
    stamp, the numbers and padding. ``arrays`` has offset and length of each field, ``length`` is
    what the message takes of the example.
    """

    names: tuple[str, ...]
    order: str
    fixed: np.ndarray
    example: np.ndarray
    arrays: dict[str, tuple[int, int]]
    length: int

    def fits(self, table: np.ndarray) -> np.ndarray:
        """Messages of this layout, of a table of bytes ``(R, length)``."""
        # Several bytes at once where the length allows it.
        kind = next(f'u{size}' for size in (8, 4, 2, 1) if table.shape[1] % size == 0)
        different = (table.view(kind) ^ self.example.view(kind)) & self.fixed.view(kind)
        none: np.ndarray = ~different.any(axis=1)
        return none

    def batch(self, table: np.ndarray, rows: np.ndarray) -> Batch:
        """Decode a table of bytes of this layout."""
        stamps = self._columns(table[:, _STAMP], 'u4').astype(np.int64)
        # Seconds are signed, nanoseconds are not.
        seconds = stamps[:, 0] - ((stamps[:, 0] >> 31) << 32)
        values = {
            name: self._columns(table[:, start:start + 8 * count], 'f8').astype(float, copy=False)
            for name, (start, count) in self.arrays.items()
        }
        return Batch(rows, self.names, seconds * 1_000_000_000 + stamps[:, 1], values)

    @functools.cached_property
    def _pieces(self) -> tuple[tuple[int, int, bytes], ...]:
        """Begin and end of the runs of bytes that are those of the example, and what they are."""
        return tuple(
            (start, stop, self.example[start:stop].tobytes())
            for start, stop in runs(self.fixed != 0))

    @functools.cached_property
    def _numbers(self) -> tuple[struct.Struct, tuple[tuple[str, int, struct.Struct], ...]]:
        """What unpacks the stamp, and each field with its offset and what unpacks it."""
        return struct.Struct(f'{self.order}iI'), tuple(
            (name, start, struct.Struct(f'{self.order}{count}d'))
            for name, (start, count) in self.arrays.items())

    def single(self, data: bytes | memoryview) -> Batch | None:
        """Decode one message; None where it is not of this layout.

        Without tables, whose handling takes longer than one message does.
        """
        for start, stop, fixed in self._pieces:
            if data[start:stop] != fixed:
                return None
        stamp, fields = self._numbers
        seconds, nanoseconds = stamp.unpack_from(data, _STAMP.start)
        return Batch(
            _FIRST, self.names, np.array([seconds * 1_000_000_000 + nanoseconds]),
            {name: np.array([numbers.unpack_from(data, start)])
             for name, start, numbers in fields})

    def _columns(self, table: np.ndarray, kind: str) -> np.ndarray:
        if not table.shape[1]:
            return np.empty((len(table), 0))
        return np.ascontiguousarray(table).view(self.order + kind)


@dataclass
class JointStateDecoder:
    """Decodes JointState messages, those of a known layout together.

    Attributes:
        remembered: Layouts kept per length of a message; none decodes one by one.
    """

    remembered: int = _LAYOUTS
    _layouts: dict[int, list[_Layout]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._types = _types()

    def decode(self, payloads: Sequence[bytes | memoryview]) -> list[Batch]:
        """Decode messages.

        Args:
            payloads: Serialized messages, in the order of arrival.

        Returns:
            Batches in the order of their first messages, which together hold every message
            once.

        Raises:
            Exception: A message cannot be decoded; rosbags raises errors of many kinds.
        """
        if len(payloads) == 1:
            for layout in self._layouts.get(len(payloads[0]), ()):
                batch = layout.single(payloads[0])
                if batch is not None:
                    return [batch]
        length = np.array([len(payload) for payload in payloads], dtype=np.int64)
        data = np.frombuffer(b''.join(payloads), dtype=np.uint8)
        return self.decode_in(data, np.cumsum(length) - length, length)

    def decode_in(self, data: np.ndarray, start: np.ndarray, length: np.ndarray) -> list[Batch]:
        """Decode messages that lie in one piece of memory.

        Args:
            data: Bytes.
            start: Where each message begins, shape ``(R,)``.
            length: Its number of bytes, shape ``(R,)``.

        Returns:
            As for :meth:`decode`.

        Raises:
            Exception: A message cannot be decoded; rosbags raises errors of many kinds.
        """
        batches: list[Batch] = []
        for size in np.unique(length).tolist():
            rows = np.flatnonzero(length == size)
            table = (
                sliding_window_view(data, size)[start[rows]] if size
                else np.empty((len(rows), 0), dtype=np.uint8))
            batches += self._decode_equally_long(table, rows)
        return sorted(batches, key=lambda batch: int(batch.rows[0]))

    def _decode_equally_long(self, table: np.ndarray, rows: np.ndarray) -> list[Batch]:
        length = table.shape[1]
        known = self._layouts.setdefault(length, [])
        left = np.arange(len(rows))
        batches: list[Batch] = []
        tried = 0
        while len(left):
            if tried < len(known):
                layout = known[tried]
                rest = table if len(left) == len(table) else table[left]
                fits = layout.fits(rest)
                if fits.any():
                    found = rest if fits.all() else rest[fits]
                    batches.append(layout.batch(found, rows[left[fits]]))
                left, tried = left[~fits], tried + 1
                continue
            single = _single(self._deserialized(table[left[0]]), rows[left[:1]])
            new = _layout(table[left[0]], single) if len(known) < self.remembered else None
            if new is None:
                batches.append(single)
                left = left[1:]
            else:
                known.append(new)
        return batches

    def _deserialized(self, row: np.ndarray) -> Any:
        try:
            return self._types.deserialize_cdr(row.tobytes(), JOINT_STATE)
        except SerdeError:
            # What fails for another reason fails again.
            return self._types.deserialize_cdr(_without_reserve(row).tobytes(), JOINT_STATE)


def encode(
    stamps: np.ndarray, names: Sequence[str], values: Mapping[str, np.ndarray | None]
) -> np.ndarray:
    """Serialize messages that name the same joints, with an empty frame.

    Args:
        stamps: Stamps of the headers in [ns], shape ``(R,)``.
        names: The n joints.
        values: ``position``, ``velocity`` and ``effort``, shape ``(R, n)`` each; None for an
            empty array.

    Returns:
        One message a row, as bytes, shape ``(R, length)``.
    """
    types = _types()
    make: dict[str, Any] = types.types
    header = make['std_msgs/msg/Header'](make['builtin_interfaces/msg/Time'](0, 0), '')
    arrays = [np.zeros(0 if values[name] is None else len(names)) for name in FIELDS]
    message = make[JOINT_STATE](header, list(names), *arrays)
    example = np.frombuffer(
        types.serialize_cdr(message, JOINT_STATE, little_endian=True), dtype=np.uint8)
    table = np.tile(example, (len(stamps), 1))
    time = np.stack(np.divmod(stamps, 1_000_000_000), axis=1).astype('<u4')
    table[:, _STAMP] = time.view(np.uint8)
    for name, (start, count) in _cdr_layout(example).arrays.items():
        numbers = np.ascontiguousarray(values[name] if count else np.empty((len(stamps), 0)), '<f8')
        table[:, start:start + 8 * count] = numbers.view(np.uint8)
    return table


@functools.cache
def _types() -> Typestore:
    # The types of a whole distribution would take a tenth of a second to import.
    types = get_typestore(Stores.EMPTY)
    types.register(get_types_from_msg(_DEFINITION, JOINT_STATE))
    return types


def _single(message: Any, row: np.ndarray) -> Batch:
    stamp = message.header.stamp
    return Batch(
        row, tuple(message.name), np.array([stamp.sec * 1_000_000_000 + stamp.nanosec]),
        {name: np.array(getattr(message, name), dtype=float)[None] for name in FIELDS},
    )


def _without_reserve(row: np.ndarray) -> np.ndarray:
    """The bytes that a message takes of those it was given, where they are not many fewer."""
    try:
        length = _cdr_layout(row).length
    except (struct.error, ValueError, IndexError):
        return row
    return row[:length] if len(row) - length <= _RESERVED else row


def _layout(example: np.ndarray, decoded: Batch) -> _Layout | None:
    """The layout of a message; None where reading by it gives anything but what is known."""
    try:
        layout = _cdr_layout(example)
        again = layout.batch(example[None], decoded.rows)
    except (struct.error, ValueError):
        return None
    agree = again.names == decoded.names and again.stamps[0] == decoded.stamps[0] and all(
        again.values[name].tobytes() == decoded.values[name].tobytes() for name in FIELDS
    )
    return layout if agree else None


def _cdr_layout(example: np.ndarray) -> _Layout:
    """The layout of a message, read without rosbags."""
    data = example.tobytes()
    order = '<' if data[1] else '>'
    fixed = np.zeros(len(data), dtype=np.uint8)
    fixed[:2] = _ALL_BITS

    def count(at: int) -> tuple[int, int]:
        at = _aligned(at, 4)
        fixed[at:at + 4] = _ALL_BITS
        return int(struct.unpack_from(f'{order}I', data, at)[0]), at + 4

    def string(at: int) -> tuple[str, int]:
        length, at = count(at)
        fixed[at:at + length] = _ALL_BITS
        return data[at:at + length].rstrip(b'\0').decode(), at + length

    _, at = string(_STAMP.stop)
    number, at = count(at)
    names = []
    for _ in range(number):
        name, at = string(at)
        names.append(name)
    arrays = {}
    for field_name in FIELDS:
        number, at = count(at)
        # Nothing is aligned for an array without elements.
        at = _aligned(at, 8) if number else at
        arrays[field_name] = (at, number)
        at += 8 * number
    return _Layout(tuple(names), order, fixed, example.copy(), arrays, at)


def _aligned(at: int, size: int) -> int:
    return _HEADER + -(-(at - _HEADER) // size) * size
