r"""Physically consistent least squares as a semidefinite program.

.. math::
    \min_z \; \|W^{1/2}(\Gamma\theta - \tau)\|^2 + \rho\,\|z\|^2, \quad
    \theta = \theta_0 + C z, \quad L_i(\theta) \succeq \epsilon L_{0,i}

with bounds on friction, armature and masses (Sousa and Cortesão 2014; Wensing, Kim and
Slotine 2018). The minimiser without constraints is known in closed form; where physics
allows it, it is the answer, elsewhere the solver looks for the allowed point nearest to it in
the metric of the objective. With the normal matrix itself as the quadratic term the solver
reports success far from the optimum.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import clarabel
import numpy as np
import scipy.linalg
import scipy.sparse as sp

from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.feasible_set import FeasibleSet, Plausibility, feasible_set
from sysid_ros.estimation.regression.weighting import require_prior, weighted_directions
from sysid_ros.robot.parameters import ParameterSet

#: Builds cvxpy constraints from the vector of all p parameters and their names.
ConstraintBuilder = Callable[[Any, ParameterSet], Sequence[Any]]

# Row and column of the entries of a symmetric 4x4 matrix in the solver's order: the upper
# triangle, column by column, off-diagonals times the square root of two.
_COLUMNS, _ROWS = np.tril_indices(4)
_TRIANGLE_WEIGHTS = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))

# What a solution may violate a constraint by, as a ratio, before it is not believed.
_VIOLATION = 1e-6
# Relative accuracy asked of the solver.
_ACCURACY = 1e-8

_STATUS = {
    'Solved': Status.CONVERGED,
    'AlmostSolved': Status.INACCURATE,
    'PrimalInfeasible': Status.INFEASIBLE,
    'AlmostPrimalInfeasible': Status.INFEASIBLE,
    'MaxIterations': Status.ITERATION_LIMIT,
    'MaxTime': Status.ITERATION_LIMIT,
}


@dataclass(frozen=True)
class SemidefiniteLeastSquares:
    """Weighted least squares over all parameters that physics allows.

    Args:
        prior_strength: Weight of the prior: what a body that is 100 % off its prior costs,
            in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        constraints: Further convex constraints; with them the general modelling
            layer solves the problem instead of the solver's own interface.
        max_iterations: Most iterations of the interior-point solver.
    """

    prior_strength: float = 1e-3
    plausibility: Plausibility = field(default_factory=Plausibility)
    constraints: ConstraintBuilder | None = None
    max_iterations: int = 200

    name: ClassVar[str] = 'lmi'

    def __post_init__(self) -> None:
        require_prior(self.prior_strength)

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate. Unless the solver reports success and the solution satisfies
            every constraint when checked again, its values are the prior.
        """
        directions, notes = weighted_directions(problem)
        allowed = feasible_set(problem, self.plausibility)
        free = directions.solve(self.prior_strength)
        if self.constraints is not None:
            z, status, iterations = self._solve_with_constraints(
                problem, directions, allowed, self.constraints
            )
        elif allowed.contains(free):
            z, status, iterations = free, Status.CONVERGED, 0
        else:
            z, status, iterations = self._solve(directions, allowed)
        if status.ok and not allowed.contains(z, _VIOLATION):
            status = Status.INACCURATE
        theta = problem.reference + problem.scale @ z
        # The solver keeps bounds up to its accuracy only; a drive's inertia of -1e-12 is refused
        # later on.
        bounds = problem.parameters
        theta = np.where(problem.free, np.clip(theta, bounds.lower, bounds.upper), theta)
        return assess(
            problem, theta, directions.sigma, estimator=self.name,
            settings=self.describe(), status=status, strength=self.prior_strength,
            iterations=iterations,
            notes=(*notes, *(_active(allowed, z) if status.ok else ())),
        )

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {
            'prior_strength': self.prior_strength,
            'plausibility': self.plausibility.model_dump(),
            'own_constraints': self.constraints is not None,
            'max_iterations': self.max_iterations,
        }

    def _solve(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """Through the solver's own interface: quickly, or if that is not enough, accurately."""
        z, status, iterations = self._project(
            _Misfit.of(directions, self.prior_strength), allowed
        )
        if status is not Status.INACCURATE:
            return z, status, iterations
        z, status, more = self._project(
            _Misfit.of(directions, self.prior_strength, symmetric=True), allowed
        )
        return z, status, iterations + more

    def _project(
        self, misfit: _Misfit, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The allowed point nearest to the minimiser in the metric of the objective."""
        steps = len(misfit.minimiser)
        triangles = allowed.slopes[:, :, _ROWS, _COLUMNS] * _TRIANGLE_WEIGHTS
        corners = allowed.pseudo_inertias(misfit.minimiser)[:, _ROWS, _COLUMNS]
        slopes = np.vstack([
            allowed.matrix, -triangles.transpose(0, 2, 1).reshape(-1, steps)
        ]) @ misfit.root
        limits = np.concatenate([
            allowed.slack(misfit.minimiser), (corners * _TRIANGLE_WEIGHTS).ravel()
        ])
        cones = [clarabel.NonnegativeConeT(len(allowed.bound))]
        cones += [clarabel.PSDTriangleConeT(4)] * len(allowed.names)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = self.max_iterations
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
        solution = clarabel.DefaultSolver(
            sp.identity(steps, format='csc'), np.zeros(steps), sp.csc_matrix(slopes), limits,
            cones, settings,
        ).solve()
        status = _STATUS.get(str(solution.status), Status.FAILED)
        z = misfit.minimiser + misfit.root @ np.array(solution.x)
        return z, status, int(solution.iterations)

    def _solve_with_constraints(
        self, problem: RegressionProblem, directions: DataDirections, allowed: FeasibleSet,
        builder: ConstraintBuilder,
    ) -> tuple[np.ndarray, Status, int]:
        """Through cvxpy, with the constraints of the user."""
        import cvxpy as cp  # noqa: PLC0415 (a second to import, and rarely needed)

        misfit = _Misfit.of(directions, self.prior_strength, symmetric=True)
        u = cp.Variable(len(misfit.minimiser))
        z = misfit.minimiser + misfit.root @ u
        constraints = [allowed.matrix @ z <= allowed.bound]
        for constant, slopes in zip(allowed.constant, allowed.slopes, strict=True):
            flat = slopes.reshape(len(slopes), 16).T
            pseudo = cp.reshape(flat @ z + constant.ravel(), (4, 4), order='C')
            constraints.append(0.5 * (pseudo + pseudo.T) >> 0)
        theta = problem.reference + problem.scale @ z
        constraints += list(builder(theta, problem.parameters))
        program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u)), constraints)
        try:
            with warnings.catch_warnings():
                # It warns of what the status says too.
                warnings.simplefilter('ignore', UserWarning)
                program.solve(
                    solver=cp.CLARABEL, max_iter=self.max_iterations, tol_gap_abs=_ACCURACY,
                    tol_gap_rel=_ACCURACY, tol_feas=_ACCURACY,
                )
        except cp.SolverError:
            return misfit.minimiser, Status.FAILED, 0
        status = {
            cp.OPTIMAL: Status.CONVERGED, cp.OPTIMAL_INACCURATE: Status.INACCURATE,
            cp.INFEASIBLE: Status.INFEASIBLE, cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
            cp.USER_LIMIT: Status.ITERATION_LIMIT,
        }.get(program.status, Status.FAILED)
        iterations = int(program.solver_stats.num_iters or 0)
        return misfit.minimiser if u.value is None else z.value, status, iterations


@dataclass(frozen=True, eq=False)
class _Misfit:
    r"""The objective, up to a constant: :math:`\|u\|^2` with :math:`z = z_0 + R u`.

    Written so, it is as well conditioned as can be, however weak the prior.

    Attributes:
        minimiser: Steps z₀ with the smallest objective if there were no constraints, ``(f,)``.
        root: A matrix R with :math:`R R^T` the inverse of the Hessian, shape ``(f, f)``.
    """

    minimiser: np.ndarray
    root: np.ndarray

    @classmethod
    def of(
        cls, directions: DataDirections, strength: float, *, symmetric: bool = False
    ) -> _Misfit:
        """The objective of a problem with the prior's strength.

        A triangular root leaves half of the solver's matrix empty; with the symmetric one
        it is slower and reaches a higher accuracy.
        """
        weights, known, _ = directions.principal_rows()
        steps = known.shape[1]
        if symmetric:
            flat = 1.0 / np.sqrt(strength)
            stiff = 1.0 / np.sqrt(weights**2 + strength)
            root = flat * np.eye(steps) + known.T @ ((stiff - flat)[:, None] * known)
        else:
            stack = np.vstack([weights[:, None] * known, np.sqrt(strength) * np.eye(steps)])
            triangle = np.linalg.qr(stack[:, ::-1], mode='r')
            root = scipy.linalg.solve_triangular(triangle, np.eye(steps))[::-1, ::-1]
        return cls(directions.solve(strength), root)


def _active(allowed: FeasibleSet, z: np.ndarray) -> tuple[str, ...]:
    """The bounds the solution leans on, in words."""
    tight = allowed.slack(z) < 1e-6 * np.maximum(np.abs(allowed.bound), 1.0)
    labels = [label for label, active in zip(allowed.labels, tight, strict=True) if active]
    edge = np.linalg.eigvalsh(allowed.pseudo_inertias(z))[:, 0] < 1e-6
    labels += [
        f'consistency of {name}' for name, active in zip(allowed.names, edge, strict=True) if active
    ]
    return (f'The fit leans on these bounds: {", ".join(labels)}.',) if labels else ()
