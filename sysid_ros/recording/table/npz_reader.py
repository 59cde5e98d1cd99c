"""Arrays of NPZ archives; pickled objects are never loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, did_you_mean, listed, unreadable
from sysid_ros.recording.file_kind import require_format

# An array may always have so many bytes, and more where it is so many times its packed size.
_ALWAYS, _RATIO = 300_000_000, 100


def read_npz_array(
    path: Path, name: str, columns: Sequence[str | int] | None = None
) -> np.ndarray:
    """Read one numeric array, time first.

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
    require_format(path, 'npz')
    where = f'{path}: {name}'
    try:
        with path.open('rb') as file, np.load(file, allow_pickle=False) as archive:
            if name not in archive.files:
                raise RecordingError(
                    f'there is no array {name!r}', where=str(path),
                    found=listed(archive.files) or 'an empty archive',
                    fix=did_you_mean(name, archive.files) or 'Name one of them',
                )
            _require_bounded(archive, name, path)
            values = np.asarray(archive[name])
    except RecordingError:
        raise
    except OSError as error:
        raise unreadable(RecordingError, path, error) from error
    except Exception as error:  # a damaged archive fails in many ways: zip, zlib, header, memory
        raise RecordingError(f'cannot be read: {error}', where=where) from error
    if values.dtype.kind not in 'fiu' or values.ndim not in (1, 2):
        raise RecordingError(
            'is not a table of real numbers', where=where,
            found=f'{values.dtype} of shape {values.shape}', allowed='numbers of shape (T, joints)',
        )
    table = values.astype(float, copy=False)
    return _select(table[:, None] if table.ndim == 1 else table, columns, where)


def _require_bounded(archive: Any, name: str, path: Path) -> None:
    """Refuse an array that would take far more memory than its archive."""
    for packed in archive.zip.infolist():
        allowed = _ALWAYS + _RATIO * packed.compress_size
        if packed.filename in (name, f'{name}.npy') and packed.file_size > allowed:
            raise RecordingError(
                'the array unpacks to more than is allowed', where=f'{path}: {name}',
                found=f'{packed.file_size / 1e6:g} MB of {packed.compress_size / 1e6:g} MB',
                allowed=f'{allowed / 1e6:g} MB', fix='Save it with numpy.savez, uncompressed')


def _select(values: np.ndarray, columns: Sequence[str | int] | None, where: str) -> np.ndarray:
    if columns is None:
        return values
    indices = []
    for column in columns:
        if not isinstance(column, int) or not 0 <= column < values.shape[1]:
            raise RecordingError(
                'there is no such column', where=where, found=repr(column),
                allowed=f'indices 0 to {values.shape[1] - 1}',
            )
        indices.append(column)
    return values[:, indices]
