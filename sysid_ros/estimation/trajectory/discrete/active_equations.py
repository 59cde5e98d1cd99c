r"""Compiled: the equations of a complementarity problem's active variables.

Which variables are active is a guess until the solution of their equations has passed the check
of every row of the problem, :math:`S z + b = w` with w = 0 where a variable is free or positive,
and w at least 0 elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.numerics.dense import PIVOT_TOLERANCE, lu, solve_lu
from sysid_ros.numerics.jit import IN_ORDER

# A value that is not a number must stay one.

#: Largest error of a row, as part of the sum of its terms' sizes.
ACCURACY = 1e-10
# Parts of the largest of variables that are scaled alike: an error that is rounding, and a value
# that is zero but for the rounding of corrections.
_ERROR_TOLERANCE, _ZERO_TOLERANCE = 1e-14, 1e-28
# Corrections of a linear solve; and how often negative variables are taken out.
_CORRECTIONS, _DROPS = 2, 4


class Workspace(NamedTuple):
    """Where the solver works, for problems of n variables.

    Attributes:
        reduced: The problem, its free variables eliminated; offsets last, shape ``(n, n + 1)``.
        tableau: Lemke's, shape ``(n, 2 n + 2)``.
        basis: Variable that belongs to each of its rows, shape ``(n,)``.
        tied: Rows that may leave, shape ``(n,)``.
        column: A column of the tableau, or a right-hand side, shape ``(n,)``.
        system: Equations of the active variables, shape ``(n, n)``.
        order: Exchanges of its rows, shape ``(n,)``.
        members: The active variables, shape ``(n,)``.
        scale: Factors of rows, then of columns, shape ``(2, n)``.
        negative: Whether a value turned out negative, shape ``(n,)``.
        first: The tableau before all pivots, shape ``(n, 2 n + 2)``.
        rest: Residual of the tableau, shape ``(n, 2 n + 2)``.
    """

    reduced: np.ndarray
    tableau: np.ndarray
    basis: np.ndarray
    tied: np.ndarray
    column: np.ndarray
    system: np.ndarray
    order: np.ndarray
    members: np.ndarray
    scale: np.ndarray
    negative: np.ndarray
    first: np.ndarray
    rest: np.ndarray


@njit(**IN_ORDER)
def workspace_for(n: int) -> Workspace:
    """Workspace to solve problems of n variables, one after the other."""
    return Workspace(
        np.empty((n, n + 1)), np.empty((n, 2 * n + 2)), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n), np.empty((n, n)), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty((2, n)), np.empty(n, np.bool_),
        np.empty((n, 2 * n + 2)), np.empty((n, 2 * n + 2)))


@njit(**IN_ORDER)
def solve_active(
    matrix: np.ndarray, offset: np.ndarray, free: int, values: np.ndarray, slack: np.ndarray,
    active: np.ndarray, work: Workspace,
) -> bool:
    """Solve for the active variables, and check every row of the problem.

    Args:
        matrix: S, shape ``(n, n)``.
        offset: b, shape ``(n,)``.
        free: How many variables, the first, are free.
        values: Filled with z, shape ``(n,)``.
        slack: Filled with w, shape ``(n,)``.
        active: Which variables are free or may be positive, shape ``(n,)``; those that turn out
            negative, and not only by rounding, are taken out.
        work: Workspace.

    Returns:
        Whether each row's error is at most ``ACCURACY`` of the sum of its terms' sizes, or is
        rounding.
    """
    for _ in range(_DROPS):
        count = _gather(matrix, active, work)
        if not _factor(work, count):
            return False
        values[:] = 0.0
        _solve(matrix, offset, count, values, work)
        largest = 0.0
        for a in range(count):
            largest = max(largest, abs(values[work.members[a]]) / work.scale[1, a])
        negative = _clip_negative(free, values, count, largest, work)
        if _checked(matrix, offset, free, values, slack, count, largest, work):
            return True
        if not negative:
            return False
        for i in range(free, len(active)):
            active[i] = active[i] and not work.negative[i]
    return False


@njit(**IN_ORDER)
def _clip_negative(
    free: int, values: np.ndarray, count: int, largest: float, work: Workspace
) -> bool:
    """Set what is negative or rounding to zero, and remember negative ones; whether there are any.

    A friction cone without load leaves impulses that are zero but for rounding. They stay in the
    basis: without them the equations of its sliding speed would be singular.
    """
    found = False
    work.negative[:] = False
    for a in range(count):
        i = work.members[a]
        work.negative[i] = i >= free and values[i] < 0.0
        found = found or work.negative[i]
        if i >= free and values[i] <= _ZERO_TOLERANCE * largest * work.scale[1, a]:
            values[i] = 0.0
    return found


@njit(**IN_ORDER)
def _checked(
    matrix: np.ndarray, offset: np.ndarray, free: int, values: np.ndarray, slack: np.ndarray,
    count: int, largest: float, work: Workspace,
) -> bool:
    """Whether all rows of the problem hold; the slack is filled."""
    n, right = len(offset), True
    for i in range(n):
        error, size = offset[i], abs(offset[i])
        for j in range(n):
            error += matrix[i, j] * values[j]
            size += abs(matrix[i, j] * values[j])
        slack[i] = 0.0
        if i >= free and values[i] == 0.0:
            slack[i] = max(error, 0.0)
            error = min(error, 0.0)
        work.column[i] = abs(error) - ACCURACY * size
        right = right and size < np.inf
    # What linear solvers leave over is small beside the largest variable, all of one scale.
    for a in range(count):
        work.column[work.members[a]] -= _ERROR_TOLERANCE * largest / work.scale[0, a]
    for i in range(n):
        right = right and work.column[i] <= 0.0
    return right


@njit(**IN_ORDER)
def _gather(matrix: np.ndarray, active: np.ndarray, work: Workspace) -> int:
    """Collect the equations of the active variables; how many they are."""
    count = 0
    for i in range(len(active)):
        if active[i]:
            work.members[count] = i
            count += 1
    for a in range(count):
        for b in range(count):
            work.system[a, b] = matrix[work.members[a], work.members[b]]
    return count


@njit(**IN_ORDER)
def _factor(work: Workspace, count: int) -> bool:
    """LU of the collected equations by partial pivoting, once they are scaled."""
    _scale(work.system, work.scale, count)
    return lu(work.system, work.order[:count], PIVOT_TOLERANCE)


@njit(**IN_ORDER)
def _scale(system: np.ndarray, scale: np.ndarray, count: int) -> None:
    """Make the largest entry of each row one, then that of each column."""
    for a in range(count):
        largest = 0.0
        for b in range(count):
            largest = max(largest, abs(system[a, b]))
        scale[0, a] = 1.0 / largest if largest > 0.0 else 1.0
    for b in range(count):
        largest = 0.0
        for a in range(count):
            largest = max(largest, abs(system[a, b]) * scale[0, a])
        scale[1, b] = 1.0 / largest if largest > 0.0 else 1.0
        for a in range(count):
            system[a, b] *= scale[0, a] * scale[1, b]


@njit(**IN_ORDER)
def _solve(
    matrix: np.ndarray, changes: np.ndarray, count: int, values: np.ndarray, work: Workspace
) -> None:
    """Solve the factored equations, and correct the solution by what it leaves over.

    Args:
        matrix: S, shape ``(n, n)``.
        changes: What the equations balance, shape ``(n,)``.
        count: How many equations there are.
        values: Zero; the active ones are filled, shape ``(n,)``.
        work: With the factors.
    """
    members, right = work.members, work.column
    for _ in range(1 + _CORRECTIONS):
        for a in range(count):
            i = members[a]
            rest = changes[i]
            for b in range(count):
                rest += matrix[i, members[b]] * values[members[b]]
            right[a] = -rest * work.scale[0, a]
        solve_lu(work.system, work.order, right[:count])
        for a in range(count):
            values[members[a]] += work.scale[1, a] * right[a]
