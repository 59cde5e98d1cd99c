r"""Compiled: LDL factorisation of a positive definite matrix, four rows at a time.

Rows of the upper triangle become those of V in :math:`A = V^T D^{-1} V`, where D is the diagonal
of V: no square roots, and no row is scaled. All that comes off four rows is taken off eight
columns at once, which stay in registers meanwhile; rows that are not coupled with the four are
left out. With 66 unknowns, all coupled, that takes 0.7 times as long as
:func:`~sysid_ros.numerics.dense.cholesky`. Columns behind the matrix are right-hand sides. What is
left of the diagonal counts for nothing, but has to be finite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.numerics.jit import COMPILED
from sysid_ros.numerics.register_tile import coupled_rows, update_tile

# Not cached by itself: the cache would not see changes of the tile.


class TiledLdl(NamedTuple):
    """Workspace of the LDL factorisation of a system of f unknowns.

    Attributes:
        matrix: The matrix's upper triangle, then its factor; right-hand sides behind. Shape
            ``(F, w)``, the next multiple of four, and the next one of eight above f.
        inverse: One over the pivots of the factor, shape ``(f,)``.
        lines: Rows that are taken off others, shape ``(f,)``.
        shares: How often, shape ``(f, 4)``.
        lower: How often four rows come off each other, shape ``(4, 4)``.
        block: The four columns of these, shape ``(4, 4)``.
    """

    matrix: np.ndarray
    inverse: np.ndarray
    lines: np.ndarray
    shares: np.ndarray
    lower: np.ndarray
    block: np.ndarray


def tiled_ldl_workspace(count: int) -> TiledLdl:
    """Workspace of the LDL factorisation for so many unknowns."""
    return TiledLdl(
        aligned(-(-count // 4) * 4, (count // 8 + 1) * 8), np.zeros(count),
        np.zeros(count, dtype=np.int64), np.zeros((count, 4)), np.zeros((4, 4)),
        np.zeros((4, 4)))


def aligned(rows: int, columns: int) -> np.ndarray:
    """Zeros whose rows begin where the processor fetches, shape ``(rows, multiple of 8)``."""
    flat = np.zeros(rows * columns + 8)
    first = -(flat.ctypes.data // 8) % 8
    return flat[first:first + rows * columns].reshape(rows, columns)


@njit(**COMPILED)
def factorise(work: TiledLdl, start: int, first: int, last: int) -> bool:
    """LDL factorisation of rows ``first`` to ``last``, in place.

    Args:
        work: Holds the matrix; gets one over each pivot.
        start: Rows from here on are taken off, those before are not looked at.
        first: The first row to be done.
        last: The one after the last.

    Returns:
        False when a pivot is not positive, or not finite.
    """
    matrix, lower = work.matrix, work.lower
    for i in range(first & -4, last, 4):
        used, begin = _coupled_rows(work, i, start, i, first, last), i & -8
        lower[:] = 0.0
        update_tile(matrix, i, begin, matrix, work.lines, work.shares, used, lower)
        if not _factorise_block(work, i, start, first, last):
            return False
        update_tile(matrix, i, begin, matrix, work.lines, work.shares, 0, lower)
        for j in range(begin + 8, matrix.shape[1], 8):
            update_tile(matrix, i, j, matrix, work.lines, work.shares, used, lower)
    return True


@njit(**COMPILED)
def schur_complement(work: TiledLdl, rest: np.ndarray, first: int, last: int) -> None:
    """Schur complement of the rest of a matrix after the rows before it, in place.

    Args:
        work: Holds rows of the factor.
        rest: Holds the rest of the matrix in its place, of the same shape as the matrix.
        first: First row of the rest.
        last: The one after its last.
    """
    work.lower[:] = 0.0
    for i in range(first & -4, last, 4):
        used = _coupled_rows(work, i, 0, first, first, last)
        for j in range(i & -8, rest.shape[1], 8):
            update_tile(rest, i, j, work.matrix, work.lines, work.shares, used, work.lower)


@njit(**COMPILED)
def _coupled_rows(work: TiledLdl, i: int, begin: int, end: int, first: int, last: int) -> int:
    """Rows that are coupled with four rows from the i-th on, and their multiples; their number."""
    shares = work.shares
    used = coupled_rows(work.matrix, i, begin, end, work.inverse, work.lines, shares)
    for m in range(4):
        if not first <= i + m < last:
            for k in range(used):
                shares[k, m] = 0.0
    return used


@njit(**COMPILED)
def _factorise_block(work: TiledLdl, i: int, start: int, first: int, last: int) -> bool:
    """LDL factorisation of the four by four block on the diagonal; False at a bad pivot."""
    matrix, lower, block = work.matrix, work.lower, work.block
    for m in range(4):
        for n in range(m, 4):
            block[m, n] = matrix[i + m, i + n]
    for m in range(max(first - i, 0), min(last - i, 4)):
        for k in range(max(start - i, 0), m):
            share = block[k, m] * work.inverse[i + k]
            lower[m, k] = share
            for n in range(m, 4):
                block[m, n] -= share * block[k, n]
        pivot = block[m, m]
        if not (pivot > 0.0 and pivot < np.inf):
            return False
        work.inverse[i + m] = 1.0 / pivot
    return True


@njit(**COMPILED)
def solve(work: TiledLdl, column: int, solution: np.ndarray) -> float:
    """Solve for a right-hand side by back substitution; its product with the solution.

    Args:
        work: Holds all rows of the factor.
        column: Where the right-hand side went along.
        solution: Is filled, shape ``(f,)``.
    """
    product, count, matrix, inverse = 0.0, len(solution), work.matrix, work.inverse
    for i in range((count - 1) & -4, -1, -4):
        p, q, r, s = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(uint64(i + 4), uint64(count)):
            x = solution[j]
            a, b, c, d = a + p[j] * x, b + q[j] * x, c + r[j] * x, d + s[j] * x
        taken, last = (a, b, c, d), min(count - i, 4)
        for m in range(last - 1, -1, -1):
            row, value = matrix[i + m], matrix[i + m, column]
            product += value * value * inverse[i + m]
            value -= taken[m]
            for n in range(m + 1, last):
                value -= row[i + n] * solution[i + n]
            solution[i + m] = value * inverse[i + m]
    return product
