r"""Physically consistent least squares as a semidefinite program.

.. math::
    \min_z \; \|W^{1/2}(\Gamma\theta - \tau)\|^2 + \rho\,\|z\|^2, \quad
    \theta = \theta_0 + C z, \quad L_i(\theta) \succeq \epsilon L_{0,i}

with bounds on friction, armature and masses (Sousa and Cortesão 2014; Wensing, Kim and
Slotine 2018). The minimiser without constraints is known in closed form; where physics
allows it, it is the answer, elsewhere the interior-point method looks for it, from the prior or,
where that is not allowed either, from a point far inside. Constraints of
the user's own, and problems too hard for that method, go to cvxpy and Clarabel, as the search
for the allowed point nearest to the free minimiser in the metric of the objective: with the
normal matrix itself as the quadratic term the solver reports success far from the optimum.

Intervals are those of the fit without the constraints, about the fit with them. The projection
onto a convex set that holds the truth brings every point nearer to it in the metric of the
objective, so they cover at least as often as they say; intervals along the active constraints
alone would take a bound that noise chose for knowledge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.robot.parameters import ParameterSet

#: Builds cvxpy constraints from the vector of all p parameters and their names.
ConstraintBuilder = Callable[[Any, ParameterSet], Sequence[Any]]

# How far the halved objective may be from its minimum: in squared standard deviations, and as a
# part of the weight of a prior that is weaker than those.
_ACCURACY, _PRIOR_ACCURACY = 1e-9, 1e-6
# How far from the prior a point to begin from is looked for, in its steps.
_FAR = 1e3
# Relative accuracy asked of Clarabel.
_GENERAL_ACCURACY = 1e-8


@dataclass(frozen=True)
class SemidefiniteLeastSquares(ConsistentLeastSquares):
    """Weighted least squares over all parameters that physics allows.

    Args:
        prior_strength: Weight of the prior: what a body that is 100 % off its prior costs,
            in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        max_iterations: Most iterations of the solver.
        constraints: Further convex constraints; with them the general modelling layer
            solves the problem.
    """

    prior_strength: float = 1e-3
    constraints: ConstraintBuilder | None = None

    name: ClassVar[str] = 'lmi'
    near_bounds: ClassVar[str] = (
        'Intervals are those of the fit without them, which are too wide rather than too narrow.'
    )

    def minimise(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The steps with the smallest objective; see :class:`ConsistentLeastSquares`.

        There are no iterations where the free minimiser is allowed.
        """
        free = directions.solve(self.prior_strength)
        if self.constraints is None:
            if allowed.contains(free):
                return free, Status.CONVERGED, 0
            start = allowed.interior()
            start = _deepest(allowed) if start is None else start
            if start is not None:
                found = self._follow_path(directions, allowed, start)
                if found[1] in (Status.CONVERGED, Status.ITERATION_LIMIT):
                    return found
                second = self._solve_in_general(directions, allowed, free)
                return second if second[1].ok else found
        return self._solve_in_general(directions, allowed, free)

    def prior_curvature(
        self, directions: DataDirections, allowed: FeasibleSet, z: np.ndarray
    ) -> float:
        """The strength alone: the prior is quadratic; see :class:`ConsistentLeastSquares`."""
        return self.prior_strength

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {**super().describe(), 'own_constraints': self.constraints is not None}

    def _follow_path(
        self, directions: DataDirections, allowed: FeasibleSet, start: np.ndarray
    ) -> tuple[np.ndarray, Status, int]:
        weights, known, target = directions.principal_rows
        objective = ConstrainedLeastSquares(
            weights, known, target, np.full(len(start), self.prior_strength),
            np.zeros(len(start)), allowed,
        )
        return objective.minimise(
            start, barrier=0.0,
            accuracy=min(_ACCURACY, _PRIOR_ACCURACY * self.prior_strength),
            max_iterations=self.max_iterations,
        )

    def _solve_in_general(
        self, directions: DataDirections, allowed: FeasibleSet, free: np.ndarray
    ) -> tuple[np.ndarray, Status, int]:
        """Through cvxpy, with the constraints of the user."""
        import cvxpy as cp  # noqa: PLC0415 (a second to import, and rarely needed)

        u = cp.Variable(len(free))
        z = free + self._root(directions) @ u
        constraints = _constraints_on(z, allowed)
        if self.constraints is not None:
            problem = directions.problem
            theta = problem.reference + problem.scale @ z
            constraints += list(self.constraints(theta, problem.parameters))
        program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u)), constraints)
        try:
            with warnings.catch_warnings():
                # It warns of what the status says too.
                warnings.simplefilter('ignore', UserWarning)
                program.solve(
                    solver=cp.CLARABEL, max_iter=self.max_iterations,
                    tol_gap_abs=_GENERAL_ACCURACY, tol_gap_rel=_GENERAL_ACCURACY,
                    tol_feas=_GENERAL_ACCURACY,
                )
        except cp.SolverError:
            return free, Status.FAILED, 0
        status = {
            cp.OPTIMAL: Status.CONVERGED, cp.OPTIMAL_INACCURATE: Status.INACCURATE,
            cp.INFEASIBLE: Status.INFEASIBLE, cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
            cp.USER_LIMIT: Status.ITERATION_LIMIT,
        }.get(program.status, Status.FAILED)
        iterations = int(program.solver_stats.num_iters or 0)
        if status is Status.INFEASIBLE:
            return np.zeros_like(free), status, iterations
        return free if u.value is None else z.value, status, iterations

    def _root(self, directions: DataDirections) -> np.ndarray:
        """A matrix R with R Rᵀ the inverse of the objective's Hessian, shape ``(f, f)``.

        With z = z₀ + R u the objective is ‖u‖² up to a constant: as well conditioned as can
        be, however weak the prior.
        """
        weights, known, _ = directions.principal_rows
        flat = 1.0 / np.sqrt(self.prior_strength)
        stiff = 1.0 / np.sqrt(weights**2 + self.prior_strength)
        return flat * np.eye(known.shape[1]) + known.T @ ((stiff - flat)[:, None] * known)


def _deepest(allowed: FeasibleSet) -> np.ndarray | None:
    """A point far inside of what is allowed, shape ``(f,)``; None where none was found."""
    import cvxpy as cp  # noqa: PLC0415 (a second to import, and rarely needed)

    z, depth = cp.Variable(allowed.matrix.shape[1]), cp.Variable()
    constraints = [*_constraints_on(z, allowed, depth), depth <= 1.0, cp.norm_inf(z) <= _FAR]
    try:
        with warnings.catch_warnings():
            # How well it was solved does not matter: the point itself is judged.
            warnings.simplefilter('ignore', UserWarning)
            cp.Problem(cp.Maximize(depth), constraints).solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return None
    if z.value is None or not (allowed.slack(z.value) > 0.0).all():
        return None
    inside = np.linalg.eigvalsh(allowed.pseudo_inertias(z.value)) > 0.0
    return z.value if inside.all() else None


def _constraints_on(z: Any, allowed: FeasibleSet, depth: Any = 0.0) -> list[Any]:
    """What physics allows as constraints of cvxpy, each kept by some depth."""
    import cvxpy as cp  # noqa: PLC0415 (a second to import, and rarely needed)

    constraints = [allowed.matrix @ z + depth <= allowed.bound]
    for constant, slopes in zip(allowed.constant, allowed.slopes, strict=True):
        flat = slopes.reshape(len(slopes), 16).T
        pseudo = flat @ z + constant.ravel() - depth * np.eye(4).ravel()
        matrix = cp.reshape(pseudo, (4, 4), order='C')
        constraints.append(0.5 * (matrix + matrix.T) >> 0)
    return constraints
