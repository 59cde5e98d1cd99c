"""Arrays of NPZ archives; pickled objects are never loaded."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, did_you_mean, listed, unreadable
from sysid_ros.recording.file_kind import require_format

# Bytes of arrays at the peak of reading and aligning, per byte of samples; and so many times its
# packed size a recording may always take: measured numbers are not packed as well as nothing is.
_COPIES, _RATIO = 4, 100
_SUFFIX = '.npy'
_NUMBERS = 'fiu'


@dataclass(frozen=True)
class NpzHeader:
    """What an archive says of an array before it is unpacked.

    Attributes:
        shape: Its shape.
        dtype: Type of its entries; None where it is no plain array.
        packed: Its size in the archive in bytes.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    packed: int

    @property
    def is_numeric(self) -> bool:
        """Whether its entries are real numbers."""
        return self.dtype is not None and self.dtype.kind in _NUMBERS

    @property
    def unpacked(self) -> int:
        """Its size as floating-point numbers in bytes; 0 where it is none of real numbers."""
        return math.prod(self.shape) * np.dtype(float).itemsize if self.is_numeric else 0


def read_npz_headers(path: Path) -> dict[str, NpzHeader]:
    """Headers of all arrays of an archive by their names; no array is unpacked.

    Args:
        path: The archive.

    Raises:
        RecordingError: It cannot be read.
    """
    require_format(path, 'npz')
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                member.filename.removesuffix(_SUFFIX): _header(archive, member)
                for member in archive.infolist()}
    except OSError as error:
        raise unreadable(RecordingError, path, error) from error
    except Exception as error:  # a damaged archive fails in many ways: zip, zlib, header
        raise RecordingError(
            f'cannot be read: {error}', where=str(path),
            fix='Save it again by numpy.savez; a .npy file is not an archive') from error


def require_npz_bounded(headers: Iterable[NpzHeader], most: float, where: str) -> None:
    """Refuse arrays that would take far more memory than their archive.

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
            fix='Save them with numpy.savez, uncompressed, or raise recording.memory_limit if the '
            'file is to be trusted')


def read_npz_array(
    path: Path, name: str, columns: Sequence[str | int] | None = None
) -> np.ndarray:
    """Read one numeric array, time first, however large; see :func:`require_npz_bounded`.

    Args:
        path: Archive to read.
        name: Array of shape ``(T,)`` or ``(T, k)``.
        columns: 0-based columns to take; all where None.

    Returns:
        Samples, shape ``(T, k)``.

    Raises:
        RecordingError: The archive or array cannot be read or is not numeric,
            there is no such array (what exists is listed) or no such column.
    """
    header = npz_header(read_npz_headers(path), name, path)
    where = f'{path}: {name}'
    if not header.is_numeric or len(header.shape) not in (1, 2):
        raise RecordingError(
            'is not a table of real numbers', where=where,
            found=f'{header.dtype or "no plain array"} of shape {header.shape}',
            allowed='numbers of shape (T, joints)',
            fix='Save it as an array of numbers, time first, and samples as rows')
    try:
        with path.open('rb') as file, np.load(file, allow_pickle=False) as archive:
            values = np.asarray(archive[name])
    except OSError as error:
        raise unreadable(RecordingError, path, error) from error
    except Exception as error:  # as above, and memory
        raise RecordingError(
            f'cannot be read: {error}', where=where,
            fix='Save it again, as plain numbers') from error
    table = values.astype(float, copy=False)
    return _select(table[:, None] if table.ndim == 1 else table, columns, where)


def npz_header(headers: dict[str, NpzHeader], name: str, path: Path) -> NpzHeader:
    """Header of one array.

    Args:
        headers: Of all arrays of the archive.
        name: Name of the array.
        path: The archive, for messages.

    Raises:
        RecordingError: There is none of that name; what exists is listed.
    """
    if name not in headers:
        raise RecordingError(
            f'there is no array {name!r}', where=str(path),
            found=listed(headers) or 'an empty archive',
            fix=did_you_mean(name, headers) or 'Name one of them')
    return headers[name]


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NpzHeader:
    """The header of an array; only those of the first version are short, and are read."""
    with archive.open(member) as file:
        plain = member.filename.endswith(_SUFFIX) and np.lib.format.read_magic(file) == (1, 0)
        if not plain:
            return NpzHeader((), None, member.compress_size)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return NpzHeader(shape, dtype, member.compress_size)


def _select(values: np.ndarray, columns: Sequence[str | int] | None, where: str) -> np.ndarray:
    if columns is None:
        return values
    indices = []
    for column in columns:
        if not isinstance(column, int) or not 0 <= column < values.shape[1]:
            raise RecordingError(
                'there is no such column', where=where, found=repr(column),
                allowed=f'indices 0 to {values.shape[1] - 1}',
                fix='Columns are counted from 0: correct the number',
            )
        indices.append(column)
    return values[:, indices]
