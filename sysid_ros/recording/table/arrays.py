"""Arrays that a file holds by name: what it says of them before they are read; columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, did_you_mean, listed

# Bytes of arrays at the peak of reading and aligning, per byte of samples; and so many times its
# packed size a recording may always take: measured numbers are not packed as well as nothing is.
_COPIES, _RATIO = 4, 100
_NUMBERS = 'fiu'


@dataclass(frozen=True)
class ArrayHeader:
    """What a file says of an array before it is unpacked.

    Attributes:
        shape: Its shape.
        dtype: Type of its entries; None where it is no plain array.
        packed: Its size in the file in bytes.
        labels: Names of its columns, where the file or one beside it has them.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    packed: int
    labels: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether its entries are real numbers."""
        return self.dtype is not None and self.dtype.kind in _NUMBERS

    @property
    def unpacked(self) -> int:
        """Its size as floating-point numbers in bytes; 0 where it is none of real numbers."""
        return math.prod(self.shape) * np.dtype(float).itemsize if self.is_numeric else 0


def require_bounded(headers: Iterable[ArrayHeader], most: float, where: str) -> None:
    """Refuse arrays that would take far more memory than their file.

    Args:
        headers: Of all arrays that will be read.
        most: Memory in bytes that they may take, whatever their packed size.
        where: Their files, for the message.

    Raises:
        RecordingError: They would.
    """
    arrays = tuple(headers)
    needed = _COPIES * sum(array.unpacked for array in arrays)
    packed = sum(array.packed for array in arrays)
    allowed = most + _RATIO * packed
    if needed > allowed:
        raise RecordingError(
            'the arrays unpack to more than is allowed', where=where,
            found=f'{needed / 1e6:g} MB are needed for {packed / 1e6:g} MB',
            allowed=f'{allowed / 1e6:g} MB',
            fix='Save them uncompressed, or raise recording.memory_limit if the file is to be '
            'trusted')


def array_header(headers: Mapping[str, ArrayHeader], name: str, path: Path) -> ArrayHeader:
    """Header of one array.

    Args:
        headers: Of all arrays of the file.
        name: Name of the array.
        path: The file, for messages.

    Raises:
        RecordingError: There is none of that name; what exists is listed.
    """
    if name not in headers:
        raise RecordingError(
            f'there is no array {name!r}', where=str(path), found=listed(headers) or 'none at all',
            fix=did_you_mean(name, headers) or 'Name one of them')
    return headers[name]


def require_table(header: ArrayHeader, where: str) -> None:
    """Refuse an array that is no table of numbers, time first.

    Args:
        header: Of the array.
        where: Its file and name, for the message.

    Raises:
        RecordingError: It is none.
    """
    if not header.is_numeric or len(header.shape) not in (1, 2):
        raise RecordingError(
            'is not a table of real numbers', where=where,
            found=f'{header.dtype or "no plain array"} of shape {header.shape}',
            allowed='numbers of shape (T, joints)',
            fix='Save it as an array of numbers, time first, and samples as rows')


def columns_of(values: np.ndarray, columns: Sequence[str | int] | None, where: str) -> np.ndarray:
    """Columns of an array of shape ``(T,)`` or ``(T, k)``, as a table.

    Args:
        values: The array.
        columns: 0-based columns to take; all where None.
        where: Its file and name, for the message.

    Raises:
        RecordingError: There is no such column.
    """
    table = values[:, None] if values.ndim == 1 else values
    if columns is None:
        return table
    indices = []
    for column in columns:
        if not isinstance(column, int) or not 0 <= column < table.shape[1]:
            raise RecordingError(
                'there is no such column', where=where, found=repr(column),
                allowed=f'indices 0 to {table.shape[1] - 1}',
                fix='Columns are counted from 0: correct the number',
            )
        indices.append(column)
    return table[:, indices]
