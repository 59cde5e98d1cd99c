r"""Mixed linear complementarity problems, solved with a clear status.

.. math:: \begin{pmatrix} S_{AA} & S_{AB} \\ S_{BA} & S_{BB} \end{pmatrix}
          \begin{pmatrix} \lambda_A \\ \lambda_B \end{pmatrix}
          + \begin{pmatrix} b_A \\ b_B \end{pmatrix} = \begin{pmatrix} 0 \\ w_B \end{pmatrix},
          \qquad 0 \le \lambda_B \perp w_B \ge 0

They give the impulses of compliant constraints A and of contacts with dry friction B. Pivots only
choose which variables are positive. The values come from one linear solve in the problem as it
was given, and every row of it is then checked: no rounding of the pivots reaches an answer. A
matrix on which they end on a ray although there are solutions is none of a sound mechanism; where
it is small, all sets of positive variables are tried.

References:
    Paper on discrete multibody dynamics with regularised constraints, Appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numba import njit

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.discrete import active_equations, lemke
from sysid_ros.estimation.trajectory.discrete.active_equations import (
    Workspace,
    solve_active,
    workspace_for,
)
from sysid_ros.estimation.trajectory.discrete.lemke import eliminate, pivot
from sysid_ros.numerics import dense
from sysid_ros.numerics.jit import IN_ORDER, digest

#: Files that are compiled into :func:`solve`. A compiled function that calls it and is cached
#: has to close over their digest and that of this file.
SOURCES = (active_equations, dense, lemke)

#: Most pivots, as a multiple of the variables: a problem takes about one or two of each.
PIVOTS = 100
# What is tried where the pivots have found no solution: other ways to the same one, and a little
# compliance in every row, which separates what is alike but for rounding. Only which variables are
# active is taken from there.
_TILTS = (0.0, 0.7, 3.0, 30.0)
_SOFTNESSES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
# With so few variables that are not free, all sets of active ones are tried where the pivots, on a
# matrix of no good class, have found no solution: at most 1024 small linear solves.
_SEARCHED = 10


class MlcpStatus(Enum):
    """How the solver ended; the value is the sentence for people."""

    SOLVED = 'The complementarity problem is solved.'
    RAY = 'The pivots ended on a ray: no solution was found.'
    PIVOT_LIMIT = 'The solver ran out of pivots: no solution was found.'
    INDEFINITE = 'The block of the free variables is not positive definite.'
    INACCURATE = 'A solution was found, but not one that is accurate in every row.'
    NOT_FINITE = 'The problem has a value that is not finite.'

    @property
    def ok(self) -> bool:
        """Whether the values may be used."""
        return self is MlcpStatus.SOLVED


#: What the number that :func:`solve` returns means; the first are those of the pivots.
ENDINGS = tuple(MlcpStatus)
_SOLVED, _RAY, _LIMIT, _INDEFINITE, _INACCURATE, _NOT_FINITE = range(len(ENDINGS))


@dataclass(frozen=True, eq=False)
class MlcpSolution:
    """Solution of a problem of n variables.

    Attributes:
        values: λ, shape ``(n,)``; NaN unless the status is ok.
        slack: w, shape ``(n,)``; zero for free variables, NaN unless the status is ok.
        active: Whether a variable's row is an equation, shape ``(n,)``: it is free, or in the
            basis, as all positive ones are.
        status: How the solver ended.
        pivots: How many it took.
    """

    values: np.ndarray
    slack: np.ndarray
    active: np.ndarray
    status: MlcpStatus
    pivots: int


@dataclass(frozen=True, eq=False)
class MlcpSolutions:
    """Solutions of K problems of n variables.

    Attributes:
        values: As of one problem each, shape ``(K, n)``.
        slack: As of one problem each, shape ``(K, n)``.
        active: As of one problem each, shape ``(K, n)``.
        statuses: How the solver ended, K of them.
        pivots: How many it took, shape ``(K,)``.
    """

    values: np.ndarray
    slack: np.ndarray
    active: np.ndarray
    statuses: tuple[MlcpStatus, ...]
    pivots: np.ndarray

    def __getitem__(self, k: int) -> MlcpSolution:
        return MlcpSolution(
            self.values[k], self.slack[k], self.active[k], self.statuses[k], int(self.pivots[k]))


def solve_mlcp(
    matrix: np.ndarray, offset: np.ndarray, free: int, *, max_pivots: int | None = None,
    guess: np.ndarray | None = None,
) -> MlcpSolution:
    """Solve one problem.

    Args:
        matrix: S, shape ``(n, n)``, symmetric in the block of the free variables.
        offset: b, shape ``(n,)``.
        free: How many variables, the first, are free.
        max_pivots: Most pivots; 100 times the variables by default.
        guess: Variables that are thought to be active, shape ``(n,)``. A right guess saves the
            pivots; among several solutions it decides.

    Raises:
        EstimationError: Shapes disagree, or the number of free variables cannot be.
    """
    guesses = None if guess is None else np.asarray(guess)[None]
    return solve_mlcps(
        np.asarray(matrix)[None], np.asarray(offset)[None], free, max_pivots=max_pivots,
        guesses=guesses)[0]


def solve_mlcps(
    matrices: np.ndarray, offsets: np.ndarray, free: int, *, max_pivots: int | None = None,
    guesses: np.ndarray | None = None,
) -> MlcpSolutions:
    """Solve K problems of one size.

    Args:
        matrices: Shape ``(K, n, n)``.
        offsets: Shape ``(K, n)``.
        free: As for :func:`solve_mlcp`.
        max_pivots: As for :func:`solve_mlcp`.
        guesses: Shape ``(K, n)``.

    Raises:
        EstimationError: Shapes disagree, or the number of free variables cannot be.
    """
    matrices = np.ascontiguousarray(matrices, dtype=float)
    offsets = np.ascontiguousarray(offsets, dtype=float)
    _check_shapes(matrices, offsets, free, guesses)
    count, n = offsets.shape
    active = np.zeros((count, n), dtype=bool) if guesses is None else np.array(guesses, dtype=bool)
    values, slack = np.empty((count, n)), np.empty((count, n))
    endings, pivots = np.empty(count, np.int64), np.empty(count, np.int64)
    limit = PIVOTS * max(n - free, 1) if max_pivots is None else max_pivots
    _solve_each(
        matrices, offsets, free, limit, guesses is not None, values, slack, active, endings,
        pivots)
    return MlcpSolutions(values, slack, active, tuple(ENDINGS[k] for k in endings), pivots)


def _check_shapes(
    matrices: np.ndarray, offsets: np.ndarray, free: int, guesses: np.ndarray | None
) -> None:
    n = offsets.shape[-1]
    for name, array, shape in (
            ('matrix', matrices, (*offsets.shape, n)), ('guess', guesses, offsets.shape)):
        if array is not None and np.shape(array) != shape:
            raise EstimationError(
                f'the {name} does not fit the offsets', where='complementarity problem',
                found=np.shape(array), allowed=shape)
    if not 0 <= free <= n:
        raise EstimationError(
            'there cannot be so many free variables', where='complementarity problem', found=free,
            allowed=f'0 to {n}')


@njit(**IN_ORDER)
def solve(
    matrix: np.ndarray, offset: np.ndarray, free: int, limit: int, guessed: bool,
    values: np.ndarray, slack: np.ndarray, active: np.ndarray, work: Workspace,
) -> tuple[int, int]:
    """Solve one problem, for compiled functions.

    Args:
        matrix: S, shape ``(n, n)``; the upper triangle of the free block is read for the pivots.
        offset: b, shape ``(n,)``.
        free: How many variables, the first, are free.
        limit: Most pivots.
        guessed: Whether to look first if ``active`` is right as it is.
        values: Filled with λ, or NaN where there is no solution, shape ``(n,)``.
        slack: Filled with w, or NaN where there is no solution, shape ``(n,)``.
        active: Filled: whether a variable is free or in the basis, shape ``(n,)``.
        work: Workspace, of :func:`~.active_equations.workspace_for`.

    Returns:
        The place of its end in :data:`ENDINGS`, and the pivots.
    """
    taken, ending = 0, _NOT_FINITE
    if _finite(matrix, offset):
        active[:free] = True
        if guessed and solve_active(matrix, offset, free, values, slack, active, work):
            return _SOLVED, 0
        ending = _INDEFINITE
        if eliminate(matrix, offset, free, work):
            ending, taken = pivot(free, limit, 0.0, 0.0, False, active, work)
            if ending == _SOLVED:
                if solve_active(matrix, offset, free, values, slack, active, work):
                    return _SOLVED, taken
                ending = _INACCURATE
            # Where all pivots are taken no others are.
            if ending != _LIMIT and _pivot_perturbed(
                    matrix, offset, free, limit, values, slack, active, work):
                return _SOLVED, taken
            if len(offset) - free <= _SEARCHED and _search(
                    matrix, offset, free, values, slack, active, work):
                return _SOLVED, taken
    values[:] = np.nan
    slack[:] = np.nan
    active[:] = False
    return ending, taken


@njit(**IN_ORDER)
def _finite(matrix: np.ndarray, offset: np.ndarray) -> bool:
    """Whether a problem has no value that is not finite."""
    for i in range(len(offset)):
        if not np.isfinite(offset[i]):
            return False
        for j in range(len(offset)):
            if not np.isfinite(matrix[i, j]):
                return False
    return True


@njit(**IN_ORDER)
def _pivot_perturbed(
    matrix: np.ndarray, offset: np.ndarray, free: int, limit: int, values: np.ndarray,
    slack: np.ndarray, active: np.ndarray, work: Workspace,
) -> bool:
    """Pivot from other rays, with and without compliance; whether one leads to a solution.

    Arguments as for solve; the free variables are eliminated.
    """
    for tilt in _TILTS:
        for softness in _SOFTNESSES:
            ending, _ = pivot(free, limit, softness, tilt, True, active, work)
            if ending == _SOLVED and solve_active(
                    matrix, offset, free, values, slack, active, work):
                return True
    return False


@njit(**IN_ORDER)
def _search(
    matrix: np.ndarray, offset: np.ndarray, free: int, values: np.ndarray, slack: np.ndarray,
    active: np.ndarray, work: Workspace,
) -> bool:
    """Try all sets of active variables; whether one is a solution. Arguments as for solve."""
    for chosen in range(1 << (len(offset) - free)):
        for i in range(free, len(offset)):
            active[i] = (chosen >> (i - free)) & 1 == 1
        if solve_active(matrix, offset, free, values, slack, active, work):
            return True
    return False


def _compiled(sources: str) -> Callable:
    """Solve many problems, called from Python.

    Args:
        sources: Digest of the files whose functions are called. The compiler's cache looks at
            what a function closes over, but not at other files: without it, a change there
            would leave old code in use.
    """

    @njit(cache=True, **IN_ORDER)
    def solve_each(
        matrices: np.ndarray, offsets: np.ndarray, free: int, limit: int, guessed: bool,
        values: np.ndarray, slack: np.ndarray, active: np.ndarray, endings: np.ndarray,
        pivots: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        work = workspace_for(matrices.shape[1])
        for k in range(len(matrices)):
            endings[k], pivots[k] = solve(
                matrices[k], offsets[k], free, limit, guessed, values[k], slack[k], active[k],
                work)

    return solve_each


_solve_each = _compiled(digest(*SOURCES))
