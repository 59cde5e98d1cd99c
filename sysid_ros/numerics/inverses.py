"""Inverses of small dense matrices, compiled: regular ones, and those of known rank."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.dense import lu, scale_row, solve_lu_columns, subtract_row
from sysid_ros.numerics.jit import INSIDE


@njit(**INSIDE)
def generalised_inverse(
    work: np.ndarray, rank: int, order: np.ndarray, tolerance: float, inverse: np.ndarray
) -> bool:
    r"""Generalised inverse :math:`A^-` of a matrix of known rank, :math:`A A^- A = A`.

    A regular matrix is inverted by its LU factors, another by Gauss-Jordan elimination with full
    pivoting: rows that repeat others are left out, and their unknowns are zero.

    Args:
        work: A, with space for as many columns behind it, shape ``(n, 2 n)``; is used up.
        rank: Its rank.
        order: Is overwritten, shape ``(n,)``.
        tolerance: A pivot up to this part of the first, or of its column where A is regular, is
            rounding.
        inverse: Is filled, shape ``(n, n)``.

    Returns:
        Whether the rank is so large.
    """
    size = len(inverse)
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 0.0
            work[i, size + j] = 1.0 if i == j else 0.0
        inverse[i, i] = 1.0
    if rank == size:
        if not lu(work, order, tolerance):
            return False
        solve_lu_columns(work, order, inverse)
        return True
    return _gauss_jordan(work, rank, order, tolerance, inverse)


@njit(**INSIDE)
def _gauss_jordan(
    work: np.ndarray, rank: int, order: np.ndarray, tolerance: float, inverse: np.ndarray
) -> bool:
    """Generalised inverse by full pivoting; ``order`` becomes the column of each pivot's row."""
    size, first = len(inverse), 0.0
    order[:] = -1
    for step in range(rank):
        row, column = _largest_entry(work, order)
        largest = abs(work[row, column])
        first = largest if step == 0 else first
        if not largest > tolerance * first:
            return False
        order[row] = column
        scale_row(work, row, 1.0 / work[row, column])
        for i in range(size):
            if i != row:
                subtract_row(work, i, work[i, column], row)
                work[i, column] = 0.0
    inverse[:, :] = 0.0
    for row in range(size):
        if order[row] >= 0:
            for j in range(size):
                inverse[order[row], j] = work[row, size + j]
    return True


@njit(**INSIDE)
def _largest_entry(work: np.ndarray, order: np.ndarray) -> tuple[int, int]:
    """Where the largest entry is in rows without a pivot; in columns of pivots they are zero."""
    largest, row, column = -1.0, 0, 0
    for i in range(len(order)):
        if order[i] < 0:
            for j in range(len(order)):
                if abs(work[i, j]) > largest:
                    largest, row, column = abs(work[i, j]), i, j
    return row, column


@njit(**INSIDE)
def invert_3(matrix: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of a 3×3 matrix, by cofactors."""
    for r in range(3):
        for c in range(3):
            inverse[c, r] = (
                matrix[(r + 1) % 3, (c + 1) % 3] * matrix[(r + 2) % 3, (c + 2) % 3]
                - matrix[(r + 1) % 3, (c + 2) % 3] * matrix[(r + 2) % 3, (c + 1) % 3])
    determinant = (
        matrix[0, 0] * inverse[0, 0] + matrix[0, 1] * inverse[1, 0] + matrix[0, 2] * inverse[2, 0])
    for r in range(3):
        for c in range(3):
            inverse[r, c] /= determinant
