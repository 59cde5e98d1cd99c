"""Compiled: products and factors of small dense matrices.

Called through BLAS with several threads, matrices of less than a hundred rows wait longer than
they compute. So these are loops over contiguous rows, which the compiler turns into vector
instructions, several rows at a time; those that begin anywhere count in unsigned numbers, as it
would not, if it had to test for negative indices.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.estimation.regression.interior_point.state import PART


@njit(**PART)
def product(matrix: np.ndarray, x: np.ndarray, result: np.ndarray) -> None:
    """Write the product of a matrix, shape ``(k, f)``, and a vector, shape ``(f,)``."""
    size, count = matrix.shape
    whole = size - size % 4
    for b in range(0, whole, 4):
        r0, r1, r2, r3 = matrix[b], matrix[b + 1], matrix[b + 2], matrix[b + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for f in range(count):
            s0 += r0[f] * x[f]
            s1 += r1[f] * x[f]
            s2 += r2[f] * x[f]
            s3 += r3[f] * x[f]
        result[b], result[b + 1], result[b + 2], result[b + 3] = s0, s1, s2, s3
    for b in range(whole, size):
        total = 0.0
        for f in range(count):
            total += matrix[b, f] * x[f]
        result[b] = total


@njit(**PART)
def add_product(matrix: np.ndarray, x: np.ndarray, result: np.ndarray) -> None:
    """Add the product of the transpose of a matrix, shape ``(k, f)``, and a vector of k."""
    size, count = matrix.shape
    whole = size - size % 4
    for b in range(0, whole, 4):
        r0, r1, r2, r3 = matrix[b], matrix[b + 1], matrix[b + 2], matrix[b + 3]
        x0, x1, x2, x3 = x[b], x[b + 1], x[b + 2], x[b + 3]
        for f in range(count):
            result[f] += x0 * r0[f] + x1 * r1[f] + x2 * r2[f] + x3 * r3[f]
    for b in range(whole, size):
        for f in range(count):
            result[f] += x[b] * matrix[b, f]


@njit(**PART)
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
            total = 0.0
            for k in range(count):
                total += rows[j, k] * rows[i, k]
            triangle[j, i] = total
            for k in range(count):
                rows[i, k] -= total * rows[j, k]
    return True


@njit(**PART)
def divide(triangle: np.ndarray, rows: np.ndarray, scratch: np.ndarray, result: np.ndarray) -> None:
    r"""Write the transpose of :math:`R^{-T} B` for an upper triangular R.

    Args:
        triangle: R, shape ``(n, n)``.
        rows: B, shape ``(n, k)``.
        scratch: Overwritten, at least ``(n, k)``.
        result: Filled, shape ``(k, n)``.
    """
    size, count = rows.shape
    for j in range(size):
        for k in range(count):
            scratch[j, k] = rows[j, k]
        for i in range(j):
            factor = triangle[i, j]
            for k in range(count):
                scratch[j, k] -= factor * scratch[i, k]
        scale = 1.0 / triangle[j, j]
        for k in range(count):
            scratch[j, k] *= scale
            result[k, j] = scratch[j, k]


@njit(**PART)
def add_square(rows: np.ndarray, result: np.ndarray) -> None:
    r"""Add :math:`U U^T` to the upper triangle of the result, U of shape ``(k, f)``.

    Two by four entries at a time, so that numbers that are loaded are used often; some of the
    other triangle beside the diagonal are filled, too.
    """
    size, count = rows.shape
    whole = size - size % 4
    for i in range(0, whole, 2):
        x, y = rows[i], rows[i + 1]
        for j in range(i - i % 4, whole, 4):
            a, b, c, d = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
            xa, xb, xc, xd, ya, yb, yc, yd = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for f in range(count):
                xa += x[f] * a[f]
                xb += x[f] * b[f]
                xc += x[f] * c[f]
                xd += x[f] * d[f]
                ya += y[f] * a[f]
                yb += y[f] * b[f]
                yc += y[f] * c[f]
                yd += y[f] * d[f]
            for k, (first, second) in enumerate(((xa, ya), (xb, yb), (xc, yc), (xd, yd))):
                result[i, j + k] += first
                result[i + 1, j + k] += second
    for j in range(whole, size):
        for i in range(j + 1):
            total = 0.0
            for f in range(count):
                total += rows[i, f] * rows[j, f]
            result[i, j] += total


@njit(**PART)
def cholesky(matrix: np.ndarray) -> bool:
    r"""Upper factor R of :math:`R^T R` in place of an upper triangle; False unless it exists."""
    size = len(matrix)
    for i in range(size):
        row = matrix[i]
        whole = i - i % 4
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
            a0, a1, a2, a3 = r0[i], r1[i], r2[i], r3[i]
            for j in range(uint64(i), uint64(size)):
                row[j] -= a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
        for k in range(whole, i):
            factor, other = matrix[k, i], matrix[k]
            for j in range(uint64(i), uint64(size)):
                row[j] -= factor * other[j]
        if not row[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(uint64(i), uint64(size)):
            row[j] *= scale
    return True


@njit(**PART)
def solve_cholesky(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve with the factor of :func:`cholesky`, in place, four rows at a time."""
    size = len(x)
    whole = size - size % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        x0 = x[i] / r0[i]
        x1 = (x[i + 1] - r0[i + 1] * x0) / r1[i + 1]
        x2 = (x[i + 2] - r0[i + 2] * x0 - r1[i + 2] * x1) / r2[i + 2]
        x3 = (x[i + 3] - r0[i + 3] * x0 - r1[i + 3] * x1 - r2[i + 3] * x2) / r3[i + 3]
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3
        for k in range(uint64(i + 4), uint64(size)):
            x[k] -= r0[k] * x0 + r1[k] * x1 + r2[k] * x2 + r3[k] * x3
    for i in range(whole, size):
        x[i] /= factor[i, i]
        for k in range(i + 1, size):
            x[k] -= factor[i, k] * x[i]
    for i in range(size - 1, whole - 1, -1):
        for k in range(i + 1, size):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(whole - 4, -1, -4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for k in range(uint64(i + 4), uint64(size)):
            x0 -= r0[k] * x[k]
            x1 -= r1[k] * x[k]
            x2 -= r2[k] * x[k]
            x3 -= r3[k] * x[k]
        x3 /= r3[i + 3]
        x2 = (x2 - r2[i + 3] * x3) / r2[i + 2]
        x1 = (x1 - r1[i + 3] * x3 - r1[i + 2] * x2) / r1[i + 1]
        x0 = (x0 - r0[i + 3] * x3 - r0[i + 2] * x2 - r0[i + 1] * x1) / r0[i]
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3
