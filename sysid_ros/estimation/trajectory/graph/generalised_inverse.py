"""Compiled: inverses of matrices whose rows may repeat each other, as those of loops do."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph.planar_arrays import COMPILED

# A pivot below this part of the first is rounding.
_ROUNDING = 1e-12


@njit(**COMPILED)
def invert(work: np.ndarray, rank: int, inverse: np.ndarray) -> bool:
    """Generalised inverse of a matrix of known rank, by Gauss and Jordan with full pivoting.

    Rows that repeat others are left out, and their unknowns are zero.

    Args:
        work: The matrix, shape ``(s, 2 s)`` with space for its inverse behind it; is used up.
        rank: Its rank.
        inverse: Filled, shape ``(s, s)``.

    Returns:
        Whether the rank is so large.
    """
    size = len(inverse)
    if rank == size:
        return _invert_regular(work, inverse)
    used_row, used_column = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    of_column = np.full(size, -1)
    for i in range(size):
        for j in range(size):
            work[i, size + j] = 0.0
        work[i, size + i] = 1.0
    first = 0.0
    for step in range(rank):
        row, column = _pivot(work, used_row, used_column)
        largest = abs(work[row, column])
        first = largest if step == 0 else first
        if not largest > _ROUNDING * first:
            return False
        used_row[row], used_column[column], of_column[column] = True, True, row
        scale = 1.0 / work[row, column]
        for j in range(2 * size):
            work[row, j] *= scale
        for i in range(size):
            factor = work[i, column]
            if i != row and factor != 0.0:
                for j in range(2 * size):
                    work[i, j] -= factor * work[row, j]
    for column in range(size):
        for j in range(size):
            row = of_column[column]
            inverse[column, j] = work[row, size + j] if row >= 0 else 0.0
    return True


@njit(**COMPILED)
def _invert_regular(work: np.ndarray, inverse: np.ndarray) -> bool:
    """The same for a matrix whose rows are independent: pivots by rows, in place."""
    size = len(inverse)
    order = np.arange(size)
    inverse[:, :] = work[:, :size]
    first = 0.0
    for k in range(size):
        best = k
        for i in range(k + 1, size):
            if abs(inverse[i, k]) > abs(inverse[best, k]):
                best = i
        first = max(first, abs(inverse[best, k]))
        if not abs(inverse[best, k]) > _ROUNDING * first:
            return False
        order[k], order[best] = order[best], order[k]
        _exchange(inverse, k, best)
        scale = 1.0 / inverse[k, k]
        inverse[k, k] = 1.0
        for j in range(size):
            inverse[k, j] *= scale
        for i in range(size):
            factor = inverse[i, k]
            if i != k and factor != 0.0:
                inverse[i, k] = 0.0
                for j in range(size):
                    inverse[i, j] -= factor * inverse[k, j]
    # Rows were exchanged, so that columns of the inverse are.
    for k in range(size):
        for j in range(size):
            work[k, order[j]] = inverse[k, j]
    inverse[:, :] = work[:, :size]
    return True


@njit(**COMPILED)
def _exchange(matrix: np.ndarray, first: int, second: int) -> None:
    """Exchange two rows."""
    if first != second:
        for j in range(matrix.shape[1]):
            matrix[first, j], matrix[second, j] = matrix[second, j], matrix[first, j]


@njit(**COMPILED)
def _pivot(work: np.ndarray, used_row: np.ndarray, used_column: np.ndarray) -> tuple[int, int]:
    """Where the largest entry is in rows and columns that are not used."""
    size, largest, row, column = len(used_row), -1.0, 0, 0
    for i in range(size):
        if not used_row[i]:
            for j in range(size):
                if not used_column[j] and abs(work[i, j]) > largest:
                    largest, row, column = abs(work[i, j]), i, j
    return row, column


@njit(**COMPILED)
def add_product(
    sign: float, matrix: np.ndarray, first: int, right: np.ndarray, target: np.ndarray
) -> None:
    """Add columns of a matrix, from the first on, times a matrix to another."""
    for i in range(len(matrix)):
        for k in range(len(right)):
            factor = sign * matrix[i, first + k]
            if factor != 0.0:
                for j in range(right.shape[1]):
                    target[i, j] += factor * right[k, j]


@njit(**COMPILED)
def apply(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """The product of a matrix and a vector, written to another."""
    for i in range(len(matrix)):
        out[i] = 0.0
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]


@njit(**COMPILED)
def fill_saddle(
    mass: np.ndarray, jacobian: np.ndarray, bias: np.ndarray, work: np.ndarray, right: np.ndarray
) -> None:
    """Write a mass matrix bordered by constraints, and what constraints ask of accelerations.

    Args:
        mass: Shape ``(n, n)``.
        jacobian: Of the constraints, shape ``(m, n)``.
        bias: What velocities make of their second derivatives, shape ``(m,)``.
        work: Its first ``n + m`` columns are written.
        right: Its last m entries are written.
    """
    n, m = len(mass), len(jacobian)
    work[:, :n + m] = 0.0
    work[:n, :n] = mass
    for r in range(m):
        right[n + r] = -bias[r]
        for i in range(n):
            work[n + r, i] = work[i, n + r] = jacobian[r, i]
