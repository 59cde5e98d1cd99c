"""Dense linear equations with row exchanges, compiled and without allocation."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE

# A pivot below this part of its column's largest entry is rounding.
_DEPENDENT = 1e-13


@njit(**INSIDE)
def _exchange(matrix: np.ndarray, order: np.ndarray, k: int) -> bool:
    """Bring the largest entry of a column up to the diagonal; False where all are rounding."""
    best, largest, whole = k, abs(matrix[k, k]), 0.0
    for i in range(len(matrix)):
        entry = abs(matrix[i, k])
        whole = max(whole, entry)
        if i > k and entry > largest:
            best, largest = i, entry
    if not largest > _DEPENDENT * whole:
        return False
    order[k] = best
    if best != k:
        for j in range(len(matrix)):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
    return True


@njit(**INSIDE)
def decompose(matrix: np.ndarray, order: np.ndarray) -> bool:
    """Replace a matrix by its LU decomposition; False where it is singular.

    Two columns go together, so that each entry is loaded half as often.

    Args:
        matrix: Shape ``(n, n)``.
        order: Is filled: the row exchanged with each, shape ``(n,)``.
    """
    size = len(matrix)
    for k in range(0, size, 2):
        if not _exchange(matrix, order, k):
            return False
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, size):
            matrix[i, k] *= inverse
        m = k + 1
        if m == size:
            break
        for i in range(m, size):
            matrix[i, m] -= matrix[i, k] * matrix[k, m]
        if not _exchange(matrix, order, m):
            return False
        inverse, first = 1.0 / matrix[m, m], matrix[m, k]
        for j in range(m + 1, size):
            matrix[m, j] -= first * matrix[k, j]
        for i in range(m + 1, size):
            matrix[i, m] *= inverse
            first, second = matrix[i, k], matrix[i, m]
            for j in range(m + 1, size):
                matrix[i, j] -= first * matrix[k, j] + second * matrix[m, j]
    return True


@njit(**INSIDE)
def solve(factors: np.ndarray, order: np.ndarray, right: np.ndarray) -> None:
    """Solve for several right-hand sides in place, one in each row, shape ``(w, n)``."""
    width, size = right.shape
    for c in range(width):
        for k in range(size):
            best = order[k]
            if best != k:
                right[c, k], right[c, best] = right[c, best], right[c, k]
        for i in range(size):
            total = 0.0
            for j in range(i):
                total += factors[i, j] * right[c, j]
            right[c, i] -= total
        for i in range(size - 1, -1, -1):
            total = 0.0
            for j in range(i + 1, size):
                total += factors[i, j] * right[c, j]
            right[c, i] = (right[c, i] - total) / factors[i, i]


@njit(**INSIDE)
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
