"""Compiled: products of small dense matrices.

Called through BLAS with several threads, matrices of less than a hundred rows wait longer than
they compute. So these are loops over contiguous rows, which the compiler turns into vector
instructions, several rows at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE


@njit(**INSIDE)
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


@njit(**INSIDE)
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


@njit(**INSIDE)
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
