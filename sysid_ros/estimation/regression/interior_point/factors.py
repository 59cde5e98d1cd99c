"""Factors of small dense matrices.

Called through BLAS with several threads, matrices of less than a hundred rows wait longer than
they compute. So these are loops over contiguous rows, which the compiler turns into vector
instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be reordered, but a value that is not a number must stay one.
_REORDERING = {'reassoc', 'contract', 'arcp', 'nsz'}


@njit(cache=True, fastmath=_REORDERING)
def triangle_of(rows: np.ndarray, count: int, triangle: np.ndarray) -> bool:
    r"""Upper triangular R with :math:`R^T R = A^T A`, by modified Gram–Schmidt.

    Squaring A instead would lose the small curvatures beside those at a boundary.

    Args:
        rows: Transposed A, one column of A a row; overwritten.
        count: Rows of A in use.
        triangle: Filled with R.

    Returns:
        False when a column is a combination of those before it.
    """
    size = len(triangle)
    for j in range(size):
        square = 0.0
        for k in range(count):
            square += rows[j, k] * rows[j, k]
        if not square > 0.0:
            return False
        norm = np.sqrt(square)
        triangle[j, j] = norm
        for k in range(count):
            rows[j, k] /= norm
        for i in range(j + 1, size):
            product = 0.0
            for k in range(count):
                product += rows[j, k] * rows[i, k]
            triangle[j, i] = product
            for k in range(count):
                rows[i, k] -= product * rows[j, k]
    return True


@njit(cache=True, fastmath=_REORDERING)
def divide_rows(triangle: np.ndarray, rows: np.ndarray, result: np.ndarray) -> None:
    r"""Write :math:`R^{-T} B` for an upper triangular R, B of shape ``(n, k)``."""
    for j in range(len(triangle)):
        for k in range(rows.shape[1]):
            result[j, k] = rows[j, k]
        for i in range(j):
            factor = triangle[i, j]
            for k in range(rows.shape[1]):
                result[j, k] -= factor * result[i, k]
        scale = 1.0 / triangle[j, j]
        for k in range(rows.shape[1]):
            result[j, k] *= scale


@njit(cache=True, fastmath=_REORDERING)
def add_square(rows: np.ndarray, result: np.ndarray) -> None:
    r"""Add :math:`U^T U` to the upper triangle of the result, U of shape ``(f, k)``.

    Four rows of U and two of the result at a time, so that registers are reused.
    """
    count, size = rows.shape
    whole, even = count - count % 4, size - size % 2
    for i in range(0, even, 2):
        first, second = result[i], result[i + 1]
        for f in range(0, whole, 4):
            u0, u1, u2, u3 = rows[f], rows[f + 1], rows[f + 2], rows[f + 3]
            a0, a1, a2, a3 = u0[i], u1[i], u2[i], u3[i]
            b0, b1, b2, b3 = u0[i + 1], u1[i + 1], u2[i + 1], u3[i + 1]
            for j in range(i, size):
                first[j] += a0 * u0[j] + a1 * u1[j] + a2 * u2[j] + a3 * u3[j]
                second[j] += b0 * u0[j] + b1 * u1[j] + b2 * u2[j] + b3 * u3[j]
        for f in range(whole, count):
            for j in range(i, size):
                first[j] += rows[f, i] * rows[f, j]
                second[j] += rows[f, i + 1] * rows[f, j]
    if even < size:
        for f in range(count):
            result[even, even] += rows[f, even] ** 2


@njit(cache=True, fastmath=_REORDERING)
def cholesky(matrix: np.ndarray) -> bool:
    r"""Upper factor R of :math:`R^T R` in place of an upper triangle; False unless it exists."""
    size = len(matrix)
    for i in range(size):
        row = matrix[i]
        whole = i - i % 4
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
            a0, a1, a2, a3 = r0[i], r1[i], r2[i], r3[i]
            for j in range(i, size):
                row[j] -= a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
        for k in range(whole, i):
            for j in range(i, size):
                row[j] -= matrix[k, i] * matrix[k, j]
        if not row[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(i, size):
            row[j] *= scale
    return True


@njit(cache=True, fastmath=_REORDERING)
def solve_cholesky(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve with the factor of :func:`cholesky`, in place."""
    size = len(x)
    for i in range(size):
        x[i] /= factor[i, i]
        for k in range(i + 1, size):
            x[k] -= factor[i, k] * x[i]
    for i in range(size - 1, -1, -1):
        rest = x[i]
        for k in range(i + 1, size):
            rest -= factor[i, k] * x[k]
        x[i] = rest / factor[i, i]
