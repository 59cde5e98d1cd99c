r"""Dense linear algebra in place, compiled: Cholesky, LU, QR, and solves with their factors.

A factorisation overwrites the matrix that it is given, and a solve its right-hand side. Right-hand
sides are a vector x, or the columns of a table B. A matrix may be larger than a system: the length
of ``order``, x or B says how many rows and columns count. Loops run along rows, which lie in a
piece; those that begin anywhere count in unsigned numbers, since the compiler makes no vector
instructions of them if it has to test for negative indices.

References:
    Golub and Van Loan 2013, chapters 3 to 5.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.numerics.jit import INSIDE

#: Relative pivot tolerance: a pivot up to this part of its column's largest entry is rounding.
PIVOT_TOLERANCE = 1e-13


@njit(**INSIDE)
def cholesky(matrix: np.ndarray) -> bool:
    r"""Cholesky factorisation :math:`A = R^\top R`, R in place of the upper triangle.

    Args:
        matrix: A, of which the upper triangle is read, and columns B behind it, which become
            :math:`R^{-\top} B`, shape ``(n, n + w)``.

    Returns:
        False where A is not positive definite, or not finite.
    """
    size, width = len(matrix), uint64(matrix.shape[1])
    for i in range(size):
        row, whole = matrix[i], i - i % 4
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
            a0, a1, a2, a3 = r0[i], r1[i], r2[i], r3[i]
            for j in range(uint64(i), width):
                row[j] -= a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
        for k in range(whole, i):
            other = matrix[k]
            factor = other[i]
            for j in range(uint64(i), width):
                row[j] -= factor * other[j]
        if not (row[i] > 0.0 and row[i] < np.inf):
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(uint64(i), width):
            row[j] *= scale
    return True


@njit(**INSIDE)
def solve_cholesky(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve A x = b with the factor of :func:`cholesky`; x holds b, shape ``(n,)``."""
    solve_upper_transposed(factor, x)
    solve_upper(factor, x)


@njit(**INSIDE)
def solve_cholesky_columns(factor: np.ndarray, table: np.ndarray) -> None:
    """Solve A X = B with the factor of :func:`cholesky`; the table holds B, shape ``(n, w)``."""
    solve_upper_transposed_columns(factor, table)
    solve_upper_columns(factor, table)


@njit(**INSIDE)
def lu(matrix: np.ndarray, order: np.ndarray, tolerance: float) -> bool:
    """LU factorisation with partial pivoting, L with a diagonal of ones, in place.

    Two columns go together, so that each entry is loaded half as often.

    Args:
        matrix: Shape ``(n, n)``, or larger.
        order: Is filled: the row exchanged with each, shape ``(n,)``.
        tolerance: A pivot up to this part of the largest entry of its column is rounding.

    Returns:
        False where the matrix is singular, or not finite.
    """
    size = len(order)
    for k in range(0, size, 2):
        if not _exchange_for_pivot(matrix, order, k, tolerance):
            return False
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, size):
            matrix[i, k] *= inverse
        m = k + 1
        if m == size:
            break
        for i in range(m, size):
            matrix[i, m] -= matrix[i, k] * matrix[k, m]
        if not _exchange_for_pivot(matrix, order, m, tolerance):
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
def _exchange_for_pivot(
    matrix: np.ndarray, order: np.ndarray, k: int, tolerance: float
) -> bool:
    """Bring the largest entry of a column up to the diagonal; False where all are rounding."""
    size, best, largest, whole = len(order), k, abs(matrix[k, k]), 0.0
    for i in range(size):
        entry = abs(matrix[i, k])
        whole = max(whole, entry)
        if i > k and entry > largest:
            best, largest = i, entry
    if not (largest > tolerance * whole and largest < np.inf):
        return False
    order[k] = best
    if best != k:
        for j in range(size):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
    return True


@njit(**INSIDE)
def solve_lu(factors: np.ndarray, order: np.ndarray, x: np.ndarray) -> None:
    """Solve A x = b with the factors of :func:`lu`; x holds b, shape ``(n,)``."""
    for k in range(len(x)):
        best = order[k]
        if best != k:
            x[k], x[best] = x[best], x[k]
    solve_unit_lower(factors, x)
    solve_upper(factors, x)


@njit(**INSIDE)
def solve_lu_columns(factors: np.ndarray, order: np.ndarray, table: np.ndarray) -> None:
    """Solve A X = B with the factors of :func:`lu`; the table holds B, shape ``(n, w)``."""
    size, width = table.shape
    for k in range(size):
        best = order[k]
        if best != k:
            for j in range(width):
                table[k, j], table[best, j] = table[best, j], table[k, j]
    solve_unit_lower_columns(factors, table)
    solve_upper_columns(factors, table)


@njit(**INSIDE)
def solve_lu_rows(factors: np.ndarray, order: np.ndarray, rows: np.ndarray) -> None:
    """Solve A x = b for each row; ``rows`` holds them all, shape ``(w, n)``."""
    for row in rows:
        solve_lu(factors, order, row)


@njit(**INSIDE)
def solve_lu_transposed(factors: np.ndarray, order: np.ndarray, x: np.ndarray) -> None:
    r"""Solve :math:`A^\top x = b` with the factors of :func:`lu`; x holds b, shape ``(n,)``."""
    size = len(x)
    solve_upper_transposed(factors, x)
    for i in range(size - 1, -1, -1):
        for j in range(i):
            x[j] -= factors[i, j] * x[i]
    for k in range(size - 1, -1, -1):
        best = order[k]
        if best != k:
            x[k], x[best] = x[best], x[k]


@njit(**INSIDE)
def eliminate(matrix: np.ndarray, count: int, tolerance: float) -> bool:
    r"""LU factorisation of leading columns without pivoting, in place.

    .. math:: \begin{pmatrix} A & B \\ C & D \end{pmatrix} \to \begin{pmatrix}
              L \backslash U & L^{-1} B \\ C U^{-1} & D - C A^{-1} B \end{pmatrix}

    Without exchanges it is stable where the symmetric part of A is positive definite.

    Args:
        matrix: Shape ``(m, w)``.
        count: Size n of A.
        tolerance: A pivot up to this is rounding.

    Returns:
        False where a pivot is rounding or negative, or not a number.
    """
    rows, width = matrix.shape
    for k in range(count):
        if not matrix[k, k] > tolerance:
            return False
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, rows):
            factor = matrix[i, k]
            if factor != 0.0:
                factor *= inverse
                matrix[i, k] = factor
                for j in range(k + 1, width):
                    matrix[i, j] -= factor * matrix[k, j]
    return True


@njit(**INSIDE)
def solve_upper(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve R x = b by back substitution, four rows at a time; x holds b, shape ``(n,)``."""
    size = len(x)
    whole = size - size % 4
    for i in range(size - 1, whole - 1, -1):
        total = 0.0
        for k in range(i + 1, size):
            total += factor[i, k] * x[k]
        x[i] = (x[i] - total) / factor[i, i]
    for i in range(whole - 4, -1, -4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for k in range(uint64(i + 4), uint64(size)):
            x0 -= r0[k] * x[k]
            x1 -= r1[k] * x[k]
            x2 -= r2[k] * x[k]
            x3 -= r3[k] * x[k]
        d0, d1, d2, d3 = 1.0 / r0[i], 1.0 / r1[i + 1], 1.0 / r2[i + 2], 1.0 / r3[i + 3]
        x3 *= d3
        x2 = (x2 - r2[i + 3] * x3) * d2
        x1 = (x1 - r1[i + 3] * x3 - r1[i + 2] * x2) * d1
        x0 = (x0 - r0[i + 3] * x3 - r0[i + 2] * x2 - r0[i + 1] * x1) * d0
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3


@njit(**INSIDE)
def solve_upper_transposed(factor: np.ndarray, x: np.ndarray) -> None:
    r"""Solve :math:`R^\top x = b`, four rows of R at a time; x holds b, shape ``(n,)``."""
    size = len(x)
    whole = size - size % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        # Of what touches one body of many, most is zero before it.
        if x[i] == 0.0 and x[i + 1] == 0.0 and x[i + 2] == 0.0 and x[i + 3] == 0.0:
            continue
        # Reciprocals beforehand: no division has to wait for the unknown before.
        d0, d1, d2, d3 = 1.0 / r0[i], 1.0 / r1[i + 1], 1.0 / r2[i + 2], 1.0 / r3[i + 3]
        x0 = x[i] * d0
        x1 = (x[i + 1] - r0[i + 1] * x0) * d1
        x2 = (x[i + 2] - r0[i + 2] * x0 - r1[i + 2] * x1) * d2
        x3 = (x[i + 3] - r0[i + 3] * x0 - r1[i + 3] * x1 - r2[i + 3] * x2) * d3
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3
        for k in range(uint64(i + 4), uint64(size)):
            x[k] -= r0[k] * x0 + r1[k] * x1 + r2[k] * x2 + r3[k] * x3
    for i in range(whole, size):
        x[i] /= factor[i, i]
        for k in range(i + 1, size):
            x[k] -= factor[i, k] * x[i]


@njit(**INSIDE)
def solve_unit_lower(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve L x = b, L with a diagonal of ones, four rows at a time; x holds b, ``(n,)``."""
    size = len(x)
    whole = size - size % 4
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for k in range(uint64(i)):
            x0 -= r0[k] * x[k]
            x1 -= r1[k] * x[k]
            x2 -= r2[k] * x[k]
            x3 -= r3[k] * x[k]
        x1 -= r1[i] * x0
        x2 -= r2[i] * x0 + r2[i + 1] * x1
        x3 -= r3[i] * x0 + r3[i + 1] * x1 + r3[i + 2] * x2
        x[i], x[i + 1], x[i + 2], x[i + 3] = x0, x1, x2, x3
    for i in range(whole, size):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]


@njit(**INSIDE)
def solve_upper_columns(factor: np.ndarray, table: np.ndarray) -> None:
    """Solve R X = B by back substitution; the table holds B, shape ``(n, w)``."""
    size = len(table)
    for i in range(size - 1, -1, -1):
        odd = (size - 1 - i) % 2
        for k in range(i + 1, size - odd, 2):
            _subtract_rows(table, i, factor[i, k], k, factor[i, k + 1], k + 1)
        if odd:
            subtract_row(table, i, factor[i, size - 1], size - 1)
        scale_row(table, i, 1.0 / factor[i, i])


@njit(**INSIDE)
def solve_upper_transposed_columns(factor: np.ndarray, table: np.ndarray) -> None:
    r"""Solve :math:`R^\top X = B` by forward substitution; the table holds B, ``(n, w)``."""
    for i in range(len(table)):
        for k in range(0, i - i % 2, 2):
            _subtract_rows(table, i, factor[k, i], k, factor[k + 1, i], k + 1)
        if i % 2:
            subtract_row(table, i, factor[i - 1, i], i - 1)
        scale_row(table, i, 1.0 / factor[i, i])


@njit(**INSIDE)
def solve_unit_lower_columns(factor: np.ndarray, table: np.ndarray) -> None:
    """Solve L X = B, L with a diagonal of ones; the table holds B, shape ``(n, w)``."""
    for i in range(len(table)):
        for k in range(0, i - i % 2, 2):
            _subtract_rows(table, i, factor[i, k], k, factor[i, k + 1], k + 1)
        if i % 2:
            subtract_row(table, i, factor[i, i - 1], i - 1)


@njit(**INSIDE)
def subtract_row(table: np.ndarray, i: int, factor: float, k: int) -> None:
    """Subtract a multiple of row k from row i, shape ``(n, w)``."""
    if factor != 0.0:
        for j in range(table.shape[1]):
            table[i, j] -= factor * table[k, j]


@njit(**INSIDE)
def _subtract_rows(table: np.ndarray, i: int, first: float, k: int, second: float, m: int) -> None:
    """Subtract multiples of two rows at once, so that row i is loaded half as often."""
    if first != 0.0 or second != 0.0:
        for j in range(table.shape[1]):
            table[i, j] -= first * table[k, j] + second * table[m, j]


@njit(**INSIDE)
def scale_row(table: np.ndarray, i: int, factor: float) -> None:
    """Multiply row i by a factor, shape ``(n, w)``."""
    for j in range(table.shape[1]):
        table[i, j] *= factor


@njit(**INSIDE)
def qr_triangle(rows: np.ndarray, count: int, triangle: np.ndarray) -> bool:
    r"""Triangle R of the QR factorisation A = Q R, by modified Gram-Schmidt.

    It is the Cholesky factor of :math:`A^\top A`, which would have half as many digits.

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
