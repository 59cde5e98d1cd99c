"""Plain loops over tables of numbers, compiled once for all that call them.

Slices say the same, but the compiler unfolds every one of them where it stands.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE


@njit(**INSIDE)
def clear(table: np.ndarray) -> None:
    """Make a table zero, shape ``(m, n)``."""
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = 0.0


@njit(**INSIDE)
def clear_tables(tables: np.ndarray) -> None:
    """Make tables zero, shape ``(k, m, n)``."""
    for k in range(tables.shape[0]):
        for i in range(tables.shape[1]):
            for j in range(tables.shape[2]):
                tables[k, i, j] = 0.0


@njit(**INSIDE)
def negate(table: np.ndarray) -> None:
    """Change the sign of a table, shape ``(m, n)``."""
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = -table[i, j]


@njit(**INSIDE)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector, shape ``(n,)``."""
    for j in range(len(source)):
        target[j] = source[j]


@njit(**INSIDE)
def copy_row(source: np.ndarray, i: int, target: np.ndarray, k: int) -> None:
    """Copy a row of a table to a row of another, shapes ``(m, n)`` and ``(l, n)``."""
    for j in range(source.shape[1]):
        target[k, j] = source[i, j]


@njit(**INSIDE)
def copy_table(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a table, shape ``(m, n)``."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]
