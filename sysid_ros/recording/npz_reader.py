"""Arrays of NPZ archives; pickled objects are never loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError


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
    where = f'{path}: {name}'
    try:
        with path.open('rb') as file, np.load(file, allow_pickle=False) as archive:
            if name not in archive.files:
                raise RecordingError(
                    f'there is no array {name!r}', where=str(path),
                    found=', '.join(archive.files) or 'an empty archive', fix='Name one of them',
                )
            values = np.asarray(archive[name])
    except RecordingError:
        raise
    except Exception as error:  # a damaged archive fails in many ways: zip, zlib, header, memory
        raise RecordingError(f'cannot be read: {error}', where=where) from error
    if values.dtype.kind not in 'fiu' or values.ndim not in (1, 2):
        raise RecordingError(
            'is not a table of real numbers', where=where,
            found=f'{values.dtype} of shape {values.shape}', allowed='numbers of shape (T, joints)',
        )
    table = values.astype(float)
    return _select(table[:, None] if table.ndim == 1 else table, columns, where)


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
