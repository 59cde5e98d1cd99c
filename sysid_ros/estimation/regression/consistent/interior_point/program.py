r"""Least squares inside of what physics allows: a primal-dual interior-point method.

.. math::
    \min_z \; \tfrac12\|\mathrm{diag}(w)\,V z - t\|^2 + \tfrac12 z^T\mathrm{diag}(q)\,z + p^T z
        - \mu\Big(\sum_c \log\det L_c(z) + \sum_i \log s_i(z)\Big)

For :math:`\mu > 0` this is the fit with a log-det prior, for :math:`\mu = 0` the
semidefinite program: one method serves both, it only ends elsewhere. Multipliers
:math:`Z_c` and :math:`y_i` are unknowns of their own, with :math:`L_c Z_c = \mu 1` and
:math:`s_i y_i = \mu` at the solution; that keeps steps long beside a boundary, where Newton's
method on z alone creeps. Steps are Nesterov's and Todd's with Mehrotra's correction.

The linear systems have a structure that makes them small. The curvature D of constraints and
prior is made of one block per body and one number per joint term, so only a Schur
complement as large as there are rows of data is factored,
:math:`\mathrm{diag}(w)^{-2} + V D^{-1} V^T`. Weights enter it by their inverse squares, so that
very large ones, of exact data, drown nothing; and D is never squared, but factored by
orthogonalisation.

References:
    Vandenberghe 2010, "The CVXOPT linear and quadratic cone program solvers".
    Todd, Toh and Tütüncü 1998, "On the Nesterov-Todd direction in semidefinite programming".
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.path import (
    compiled_iteration,
    iterate,
)
from sysid_ros.estimation.regression.consistent.interior_point.state import (
    BODY,
    Point,
    Program,
    Step,
)
from sysid_ros.numerics.by_reference import referred

# The path begins where the barrier weighs this part of what a step costs on average.
_FIRST_WEIGHT = 0.1
# Numbers that a loop of vector instructions takes at a time; what is left over takes as long.
_VECTOR = 16


@dataclass(frozen=True, eq=False)
class ConstrainedLeastSquares:
    """The objective above, without its barrier, and where it may be minimised.

    Attributes:
        weights: Weights w of the k rows, above zero, shape ``(k,)``.
        directions: Rows V, shape ``(k, f)``.
        target: Target t, shape ``(k,)``.
        quadratic: Weights q, shape ``(f,)``; above zero where no constraint bends.
        linear: Slopes p, shape ``(f,)``.
        allowed: The constraints.
    """

    weights: np.ndarray
    directions: np.ndarray
    target: np.ndarray
    quadratic: np.ndarray
    linear: np.ndarray
    allowed: FeasibleSet

    def minimise(
        self, start: np.ndarray, *, barrier: float, accuracy: float, max_iterations: int
    ) -> tuple[np.ndarray, Status, int]:
        """Minimise the objective.

        Args:
            start: A point strictly inside, shape ``(f,)``.
            barrier: The weight of the barrier, zero for none.
            accuracy: How far the objective may be from its minimum; no less than rounding
                allows is asked for.
            max_iterations: Most iterations.

        Returns:
            The solution, or the best point that was found, strictly inside, shape ``(f,)``; how
            it ended; iterations used.
        """
        program = self._program()
        residual = self.weights * (self.directions @ start) - self.target
        first = max(barrier, _FIRST_WEIGHT * 0.5 * float(residual @ residual) / len(start))
        point, step = self._workspace(program, start)
        # A start that fits already still needs multipliers above zero.
        status, iterations = iterate(
            program, point, step, max(first, accuracy), barrier, accuracy, max_iterations)
        return point.z if status.ok else point.best, status, iterations

    def _program(self) -> Program:
        allowed = self.allowed
        coupling = allowed.matrix[allowed.owner < 0]
        return Program(
            rows=np.ascontiguousarray(np.vstack([self.directions, coupling]).T),
            spread=self.weights**-2.0, goal=self.target / self.weights,
            quadratic=self.quadratic, linear=self.linear, groups=allowed.groups,
            body=allowed.group_body, constant=allowed.constant, slopes=allowed.slopes,
            matrix=allowed.matrix, span=allowed.span, bound=allowed.bound,
            owner=allowed.owner, unbounded=allowed.unbounded.astype(float),
        )

    def _workspace(self, program: Program, start: np.ndarray) -> tuple[Point, Step]:
        steps, rows = program.rows.shape
        bodies, bounds = len(program.constant), len(program.bound)
        matrices, width = np.zeros((3, bodies, BODY)), steps + -steps % _VECTOR
        point = Point(
            z=start.copy(), best=start.copy(), y=np.zeros(bounds), slack=np.zeros(bounds),
            residual=np.zeros(len(program.goal)), inverse=np.zeros((bodies, 4, 4)),
            values=np.zeros((bodies, 4)), scaled=np.zeros((steps, BODY)),
            triangles=np.zeros((len(program.body), BODY, BODY)),
            whitened=np.zeros((rows, width)), schur=np.zeros((rows, rows)),
            spread=np.concatenate([program.spread, np.ones(rows - len(program.spread))]),
            effort=np.zeros(2, dtype=np.int64),
        )
        step = Step(
            z=np.zeros(steps), y=np.zeros(bounds), slack=np.zeros(bounds), primal=matrices[0],
            dual=matrices[1], twisted=matrices[2], second_order=np.zeros(bounds),
            residual=np.zeros(len(program.goal)), squares=np.zeros((7, 4, 4)),
            block=np.empty((BODY, 2 * BODY + bounds)), rows=np.empty((BODY, rows)),
            right=np.empty(width), forces=np.empty((3, rows)), stack=np.empty((rows, rows + width)),
        )
        return point, step


def compiling() -> AbstractContextManager[None]:
    """Compile the iteration in another process meanwhile.

    See :meth:`~sysid_ros.numerics.compiled_beside.CompiledBeside.compiling`.
    """
    return compiled_iteration.compiling(_smallest)


def _smallest() -> tuple[Any, ...]:
    """Arguments of the iteration for a problem of one step without constraints."""
    one, none = np.ones(1), np.zeros(0)
    problem = ConstrainedLeastSquares(
        weights=one, directions=np.ones((1, 1)), target=one, quadratic=one, linear=one,
        allowed=FeasibleSet(
            names=(), constant=none.reshape(0, 4, 4), slopes=none.reshape(0, 1, 4, 4),
            matrix=none.reshape(0, 1), bound=none, labels=(),
            steps=np.zeros((0, 2), dtype=np.int64)))
    program = problem._program()
    return *referred(program, *problem._workspace(program, np.zeros(1))), 1.0, 1.0, 1.0, 1
