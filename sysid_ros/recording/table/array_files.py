"""Files that hold arrays by name, whatever their format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sysid_ros.recording.table.arrays import ArrayHeader
from sysid_ros.recording.table.npz_reader import read_npz_array, read_npz_headers
from sysid_ros.recording.table.parquet_reader import read_parquet_array, read_parquet_headers


class _Reader(NamedTuple):
    headers: Callable[[Path], dict[str, ArrayHeader]]
    array: Callable[[Path, str, Sequence[str | int] | None], np.ndarray]


_READERS: Mapping[str, _Reader] = {
    'npz': _Reader(read_npz_headers, read_npz_array),
    'parquet': _Reader(read_parquet_headers, read_parquet_array)}


def read_headers(format: str, path: Path) -> dict[str, ArrayHeader]:
    """Headers of all arrays of a file by their names; none is unpacked.

    Args:
        format: ``npz`` or ``parquet``.
        path: The file.

    Raises:
        RecordingError: It cannot be read.
    """
    return _READERS[format].headers(path)


def read_array(
    format: str, path: Path, name: str, columns: Sequence[str | int] | None = None
) -> np.ndarray:
    """Read one numeric array, time first, shape ``(T, k)``.

    Args:
        format: ``npz`` or ``parquet``.
        path: The file.
        name: Name of the array.
        columns: 0-based columns to take; all where None.

    Raises:
        RecordingError: The array cannot be read or is not numeric, there is no such array (what
            exists is listed) or no such column.
    """
    return _READERS[format].array(path, name, columns)
