r"""Compiled: which variables of a mixed complementarity problem are positive.

Free variables are eliminated, rows and columns brought to a common size. Lemke's method then
looks for :math:`w = H z + q \ge 0`, :math:`z \ge 0`, :math:`w^T z = 0` from the ray on which an
artificial variable :math:`z_0` makes :math:`w = H z + z_0 + q` positive (Lemke 1965; Cottle, Pang
and Stone 1992, section 4.4). It finds one where H is positive definite, a P-matrix, or strictly
copositive, as contacts with friction and compliance are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.active_equations import Workspace
from sysid_ros.numerics import dense
from sysid_ros.numerics.dense import PIVOT_TOLERANCE
from sysid_ros.numerics.jit import IN_ORDER

#: How the pivots ended.
SOLVED, RAY, PIVOT_LIMIT = range(3)

# Entries of a column below this part of its largest, or of one, are rounding: no pivots.
_PIVOT = 1e-12
# Ratios nearer to each other than this are the same: the lexicographic order goes on.
_TIE = 1e-12
# Multiples of this, less their whole part, are spread evenly.
_GOLDEN = 0.6180339887498949
# Sweeps that make rows and columns alike in size.
_SWEEPS = 3


@njit(**IN_ORDER)
def eliminate(matrix: np.ndarray, offset: np.ndarray, free: int, work: Workspace) -> bool:
    """Eliminate the free variables, of whose block the upper triangle is read.

    Args:
        matrix: S, shape ``(n, n)``.
        offset: b, shape ``(n,)``.
        free: How many variables, the first, are free.
        work: The last rows of ``reduced`` become H and q, of a common size.

    Returns:
        Whether the block is positive definite.
    """
    n, reduced, scale = len(offset), work.reduced, work.scale[0]
    for i in range(n):
        for j in range(n):
            mirrored = j < i < free
            reduced[i, j] = matrix[j, i] if mirrored else matrix[i, j]
        reduced[i, n] = offset[i]
    for k in range(free):
        if not matrix[k, k] > 0.0:
            return False
        scale[k] = 1.0 / np.sqrt(matrix[k, k])
        for j in range(n + 1):
            reduced[k, j] *= scale[k]
        for i in range(n):
            reduced[i, k] *= scale[k]
    if not dense.eliminate(reduced, free, PIVOT_TOLERANCE):
        return False
    _equalise(reduced[free:, free:], work.scale)
    return True


@njit(**IN_ORDER)
def _equalise(reduced: np.ndarray, scale: np.ndarray) -> None:
    """Multiply H and q by positive factors, so that no unit matters.

    Args:
        reduced: H and q, shape ``(m, m + 1)``.
        scale: To work in, shape ``(2, at least m)``.
    """
    m = len(reduced)
    for _ in range(_SWEEPS):
        for i in range(m):
            scale[0, i] = scale[1, i] = 0.0
        for i in range(m):
            for j in range(m):
                size = abs(reduced[i, j])
                scale[0, i] = max(scale[0, i], size)
                scale[1, j] = max(scale[1, j], size)
        for i in range(m):
            factor = 1.0 / np.sqrt(scale[0, i]) if scale[0, i] > 0.0 else 1.0
            reduced[i, m] *= factor
            for j in range(m):
                if scale[1, j] > 0.0:
                    reduced[i, j] *= factor / np.sqrt(scale[1, j])
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(reduced[i, m]))
    if largest > 0.0:
        for i in range(m):
            reduced[i, m] /= largest


@njit(**IN_ORDER)
def pivot(
    free: int, limit: int, softness: float, tilt: float, refined: bool, active: np.ndarray,
    work: Workspace,
) -> tuple[int, int]:
    """Lemke's complementary pivots; the lexicographic order of rows forbids cycles.

    Columns of the tableau are w, z, the artificial variable and the right-hand side.

    Args:
        free: How many free variables were eliminated.
        limit: Most pivots.
        softness: Added to the diagonal of H.
        tilt: How unlike the entries of the artificial variable's column are; they lie between
            one and one more than that.
        refined: Whether each pivot takes the rounding of those before off the tableau.
        active: Those of the variables that are not free are filled, shape ``(n,)``.
        work: As :func:`eliminate` left it.

    Returns:
        How it ended, and the pivots.
    """
    m = len(active) - free
    tableau, basis, column = work.tableau[:m, :2 * m + 2], work.basis[:m], work.column[:m]
    active[free:] = False
    if _filled(work.reduced[free:, free:], softness, tilt, tableau):
        return SOLVED, 0
    for i in range(m):
        basis[i], column[i] = i, -tableau[i, 2 * m]
    first = work.first[:m, :2 * m + 2]
    if refined:
        first[:] = tableau
    entering, row = 2 * m, _leaving(tableau, column, basis, work.tied)
    for taken in range(1, limit + 1):
        left = basis[row]
        _exchange(tableau, row, entering)
        basis[row] = entering
        if refined:
            _refine(tableau, first, basis, work.rest[:m, :2 * m + 2])
        if left == 2 * m:
            for i in range(m):
                if basis[i] >= m:
                    active[free + basis[i] - m] = True
            return SOLVED, taken
        entering = left + m if left < m else left - m
        for i in range(m):
            column[i] = tableau[i, entering]
        row = _leaving(tableau, column, basis, work.tied)
        if row < 0:
            return RAY, taken
    return PIVOT_LIMIT, limit


@njit(**IN_ORDER)
def _refine(
    tableau: np.ndarray, first: np.ndarray, basis: np.ndarray, rest: np.ndarray
) -> None:
    r"""One step of iterative refinement of the tableau, :math:`T + B^{-1} (T_0 - B T)`.

    The columns of w hold the inverse of the basis B, columns of the first tableau.
    """
    m = len(basis)
    for i in range(m):
        for j in range(len(rest[i])):
            rest[i, j] = first[i, j]
        for k in range(m):
            factor = first[i, basis[k]]
            if factor != 0.0:
                for j in range(len(rest[i])):
                    rest[i, j] -= factor * tableau[k, j]
    for i in range(m):
        inverse = tableau[i, :m].copy()
        for k in range(m):
            for j in range(len(rest[k])):
                tableau[i, j] += inverse[k] * rest[k, j]


@njit(**IN_ORDER)
def _filled(reduced: np.ndarray, softness: float, tilt: float, tableau: np.ndarray) -> bool:
    """Write down the first tableau; whether it holds a solution, z = 0."""
    m, inside = len(reduced), True
    tableau[:] = 0.0
    for i in range(m):
        tableau[i, i] = 1.0
        for j in range(m):
            tableau[i, m + j] = -reduced[i, j]
        tableau[i, m + i] -= softness
        tableau[i, 2 * m] = -1.0 - tilt * (i * _GOLDEN % 1.0)
        tableau[i, 2 * m + 1] = reduced[i, m]
        inside = inside and reduced[i, m] >= 0.0
    return inside


@njit(**IN_ORDER)
def _leaving(
    tableau: np.ndarray, column: np.ndarray, basis: np.ndarray, tied: np.ndarray
) -> int:
    """The row whose ratios to a column are lexicographically least, or -1.

    The right-hand side is compared first, then the columns of w. The artificial variable goes
    as soon as it may.
    """
    m = len(basis)
    largest, least, count = 0.0, np.inf, 0
    for i in range(m):
        largest = max(largest, abs(column[i]))
    for i in range(m):
        if column[i] > _PIVOT * max(largest, 1.0):
            tied[count] = i
            count += 1
            least = min(least, tableau[i, 2 * m + 1] / column[i])
    if count == 0:
        return -1
    count = _nearest(tableau[:, 2 * m + 1], column, least, tied, count)
    for k in range(count):
        if basis[tied[k]] == 2 * m:
            return tied[k]
    for j in range(m):
        if count == 1:
            break
        least = np.inf
        for k in range(count):
            least = min(least, tableau[tied[k], j] / column[tied[k]])
        count = _nearest(tableau[:, j], column, least, tied, count)
    return tied[0]


@njit(**IN_ORDER)
def _nearest(
    above: np.ndarray, column: np.ndarray, least: float, tied: np.ndarray, count: int
) -> int:
    """Keep those tied rows whose ratio is the least one; how many they are."""
    found, most = 0, least + _TIE * (1.0 + abs(least))
    for k in range(count):
        i = tied[k]
        if above[i] / column[i] <= most:
            tied[found] = i
            found += 1
    return found


@njit(**IN_ORDER)
def _exchange(tableau: np.ndarray, row: int, entering: int) -> None:
    """Make a column the unit vector of a row."""
    here = tableau[row]
    factor = 1.0 / here[entering]
    for j in range(len(here)):
        here[j] *= factor
    here[entering] = 1.0
    for i in range(len(tableau)):
        factor = tableau[i, entering]
        if i != row and factor != 0.0:
            other = tableau[i]
            for j in range(len(here)):
                other[j] -= factor * here[j]
            other[entering] = 0.0
