"""Dense linear equations with row exchanges, compiled and without allocation."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.dynamics.spatial_vectors import COMPILED

# A pivot below this part of its column's largest entry is rounding.
_DEPENDENT = 1e-13


@njit(**COMPILED)
def decompose(matrix: np.ndarray, order: np.ndarray) -> bool:
    """Replace a matrix by its LU decomposition; False where it is singular.

    Args:
        matrix: Shape ``(n, n)``.
        order: Is filled: the row exchanged with each, shape ``(n,)``.
    """
    size = len(matrix)
    for k in range(size):
        best, largest, whole = k, abs(matrix[k, k]), 0.0
        for i in range(size):
            entry = abs(matrix[i, k])
            whole = max(whole, entry)
            if i > k and entry > largest:
                best, largest = i, entry
        if not largest > _DEPENDENT * whole:
            return False
        order[k] = best
        if best != k:
            for j in range(size):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, size):
            factor = matrix[i, k] * inverse
            matrix[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, size):
                    matrix[i, j] -= factor * matrix[k, j]
    return True


@njit(**COMPILED)
def solve_columns(factors: np.ndarray, order: np.ndarray, right: np.ndarray) -> None:
    """Solve for several right-hand sides in place, shape ``(n, w)``."""
    size, width = right.shape
    for k in range(size):
        best = order[k]
        if best != k:
            for c in range(width):
                right[k, c], right[best, c] = right[best, c], right[k, c]
    for i in range(size):
        for j in range(i):
            factor = factors[i, j]
            for c in range(width):
                right[i, c] -= factor * right[j, c]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            factor = factors[i, j]
            for c in range(width):
                right[i, c] -= factor * right[j, c]
        for c in range(width):
            right[i, c] /= factors[i, i]


@njit(**COMPILED)
def solve_transposed(factors: np.ndarray, order: np.ndarray, right: np.ndarray) -> None:
    """Solve with the transposed matrix in place, shape ``(n,)``."""
    size = len(right)
    for i in range(size):
        right[i] /= factors[i, i]
        for j in range(i + 1, size):
            right[j] -= factors[i, j] * right[i]
    for i in range(size - 1, -1, -1):
        for j in range(i):
            right[j] -= factors[i, j] * right[i]
    for k in range(size - 1, -1, -1):
        best = order[k]
        if best != k:
            right[k], right[best] = right[best], right[k]
