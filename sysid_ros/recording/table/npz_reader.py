"""Arrays of NPZ archives; pickled objects are never loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError, unreadable
from sysid_ros.recording.file_kind import require_format
from sysid_ros.recording.table.arrays import ArrayHeader, array_header, columns_of, require_table

_SUFFIX = '.npy'


def read_npz_headers(path: Path) -> dict[str, ArrayHeader]:
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


def read_npz_array(
    path: Path, name: str, columns: Sequence[str | int] | None = None
) -> np.ndarray:
    """Read one numeric array, time first, however large; see :func:`.arrays.require_bounded`.

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
    where = f'{path}: {name}'
    require_table(array_header(read_npz_headers(path), name, path), where)
    try:
        with path.open('rb') as file, np.load(file, allow_pickle=False) as archive:
            values = np.asarray(archive[name])
    except OSError as error:
        raise unreadable(RecordingError, path, error) from error
    except Exception as error:  # as above, and memory
        raise RecordingError(
            f'cannot be read: {error}', where=where,
            fix='Save it again, as plain numbers') from error
    return columns_of(values.astype(float, copy=False), columns, where)


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ArrayHeader:
    """The header of an array; only those of the first version are short, and are read."""
    with archive.open(member) as file:
        plain = member.filename.endswith(_SUFFIX) and np.lib.format.read_magic(file) == (1, 0)
        if not plain:
            return ArrayHeader((), None, member.compress_size)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return ArrayHeader(shape, dtype, member.compress_size)
