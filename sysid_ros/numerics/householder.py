"""Least squares of a few unknowns by Householder QR, compiled.

References:
    Golub and Van Loan 2013, sections 5.1 to 5.3.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE

# A pivot below this fraction of its column is rounding.
_DEPENDENT = 1e-9


@njit(**INSIDE)
def householder_least_squares(rows: np.ndarray, unknowns: int, solution: np.ndarray) -> float:
    """Least squares A X = B by Householder QR, in place.

    Args:
        rows: A of u columns, then B of w columns, shape ``(m, u + w)``; is used up.
        unknowns: The number u of columns of A.
        solution: X, is filled, shape ``(u, w)``.

    Returns:
        The smallest pivot in parts of its column; 0 where columns of A depend on each other.
    """
    count, columns = rows.shape
    smallest = 1.0
    for k in range(unknowns):
        whole, below = 0.0, 0.0
        for i in range(count):
            square = rows[i, k] * rows[i, k]
            whole += square
            if i >= k:
                below += square
        if k >= count or below <= _DEPENDENT**2 * whole:
            return 0.0
        smallest = min(smallest, np.sqrt(below / whole))
        pivot = -np.copysign(np.sqrt(below), rows[k, k])
        head = rows[k, k] - pivot
        scale = -1.0 / (pivot * head)
        for j in range(k + 1, columns):
            along = head * rows[k, j]
            for i in range(k + 1, count):
                along += rows[i, k] * rows[i, j]
            along *= scale
            rows[k, j] -= along * head
            for i in range(k + 1, count):
                rows[i, j] -= along * rows[i, k]
        rows[k, k] = pivot
    for j in range(columns - unknowns):
        for k in range(unknowns - 1, -1, -1):
            value = rows[k, unknowns + j]
            for i in range(k + 1, unknowns):
                value -= rows[k, i] * solution[i, j]
            solution[k, j] = value / rows[k, k]
    return smallest
