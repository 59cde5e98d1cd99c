r"""Physically consistent least squares as a semidefinite program.

.. math::
    \min_z \; \|W^{1/2}(\Gamma\theta - \tau)\|^2 + \rho\,\|z\|^2, \quad
    \theta = \theta_0 + C z, \quad L_i(\theta) \succeq \epsilon L_{0,i}

with bounds on friction, armature and masses (Sousa and Cortesão 2014; Wensing, Kim and
Slotine 2018). The QR-compressed residual is a variable of its own: with the normal matrix
as the quadratic term the solver reports success far from the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import clarabel
import numpy as np
import scipy.sparse as sp

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess, effective_noise
from sysid_ros.estimation.regression.feasible_set import FeasibleSet, Plausibility, feasible_set
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
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
_ACCURACY = 1e-9

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
        if not self.prior_strength > 0.0:
            raise ConfigurationError(
                'without a prior the unidentified directions are arbitrary',
                where='prior_strength', found=self.prior_strength, allowed='a number above 0',
            )

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate. Unless the solver reports success and the solution satisfies
            every constraint when checked again, its values are the prior.
        """
        unconstrained, _, _ = WeightedLeastSquares().iterate(problem)
        sigma = effective_noise(problem, unconstrained)
        rows, torque = problem.weighted(sigma)
        matrix = rows @ problem.scale
        target = torque - rows @ problem.reference
        allowed = feasible_set(problem, self.plausibility)
        if self.constraints is None:
            z, status, iterations = self._solve(matrix, target, allowed)
        else:
            z, status, iterations = self._solve_with_constraints(problem, matrix, target, allowed)
        if status.ok and not allowed.contains(z, _VIOLATION):
            status = Status.INACCURATE
        return assess(
            problem, problem.reference + problem.scale @ z, sigma, estimator=self.name,
            settings=self.describe(), status=status, strength=self.prior_strength,
            iterations=iterations, notes=_active(allowed, z) if status.ok else (),
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
        self, matrix: np.ndarray, target: np.ndarray, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """Through the solver's own interface: variables z and the residual r."""
        steps, rows = matrix.shape[1], matrix.shape[0]
        # Scaled by the torque, so that the solver's tolerances mean the same for all data.
        size = max(float(np.linalg.norm(target)), 1e-300)
        quadratic = sp.diags(
            np.concatenate([np.full(steps, self.prior_strength / size**2), np.ones(rows)])
        ).tocsc()
        triangles = allowed.slopes[:, :, _ROWS, _COLUMNS] * _TRIANGLE_WEIGHTS
        corners = allowed.constant[:, _ROWS, _COLUMNS] * _TRIANGLE_WEIGHTS
        constraints = sp.bmat([
            [sp.csc_matrix(matrix / size), -sp.eye(rows)],
            [sp.csc_matrix(allowed.matrix), None],
            [sp.csc_matrix(-triangles.transpose(0, 2, 1).reshape(-1, steps)), None],
        ], format='csc')
        limits = np.concatenate([target / size, allowed.bound, corners.ravel()])
        cones = [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(len(allowed.bound))]
        cones += [clarabel.PSDTriangleConeT(4)] * len(allowed.names)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = self.max_iterations
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-8
        solution = clarabel.DefaultSolver(
            quadratic, np.zeros(steps + rows), constraints, limits, cones, settings
        ).solve()
        status = _STATUS.get(str(solution.status), Status.FAILED)
        return np.array(solution.x[:steps]), status, int(solution.iterations)

    def _solve_with_constraints(
        self, problem: RegressionProblem, matrix: np.ndarray, target: np.ndarray,
        allowed: FeasibleSet,
    ) -> tuple[np.ndarray, Status, int]:
        """Through cvxpy, with the constraints of the user."""
        import cvxpy as cp  # noqa: PLC0415 (a second to import, and rarely needed)

        size = max(float(np.linalg.norm(target)), 1e-300)
        z = cp.Variable(matrix.shape[1])
        constraints = [allowed.matrix @ z <= allowed.bound]
        for constant, slopes in zip(allowed.constant, allowed.slopes, strict=True):
            pseudo = cp.Variable((4, 4), PSD=True)
            flat = slopes.reshape(len(slopes), 16).T
            constraints.append(cp.reshape(pseudo, (16,), order='C') == flat @ z + constant.ravel())
        theta = problem.reference + problem.scale @ z
        constraints += list(self.constraints(theta, problem.parameters))
        objective = cp.sum_squares((matrix @ z - target) / size) + (
            self.prior_strength / size**2
        ) * cp.sum_squares(z)
        program = cp.Problem(cp.Minimize(objective), constraints)
        try:
            program.solve(
                solver=cp.CLARABEL, max_iter=self.max_iterations, tol_gap_abs=_ACCURACY,
                tol_gap_rel=_ACCURACY, tol_feas=_ACCURACY,
            )
        except cp.SolverError:
            return np.zeros(matrix.shape[1]), Status.FAILED, 0
        status = {
            cp.OPTIMAL: Status.CONVERGED, cp.OPTIMAL_INACCURATE: Status.INACCURATE,
            cp.INFEASIBLE: Status.INFEASIBLE, cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
            cp.USER_LIMIT: Status.ITERATION_LIMIT,
        }.get(program.status, Status.FAILED)
        iterations = int(program.solver_stats.num_iters or 0)
        return np.zeros(matrix.shape[1]) if z.value is None else z.value, status, iterations


def _active(allowed: FeasibleSet, z: np.ndarray) -> tuple[str, ...]:
    """The bounds the solution leans on, in words."""
    tight = allowed.slack(z) < 1e-6 * np.maximum(np.abs(allowed.bound), 1.0)
    labels = [label for label, active in zip(allowed.labels, tight, strict=True) if active]
    edge = np.linalg.eigvalsh(allowed.pseudo_inertias(z))[:, 0] < 1e-6
    labels += [
        f'consistency of {name}' for name, active in zip(allowed.names, edge, strict=True) if active
    ]
    return (f'The fit leans on these bounds: {", ".join(labels)}.',) if labels else ()
