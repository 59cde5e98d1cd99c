r"""Least squares with the log-det divergence to a prior: consistent by construction.

.. math::
    \min_\theta \; \tfrac12\|W^{1/2}(\Gamma\theta - \tau)\|^2 + \alpha\,
        D_F(\theta \,\|\, \theta_0)

The divergence is the Bregman divergence of the log barrier F of everything physics
allows: the log-determinants of the pseudo-inertias (Lee, Wensing and Park 2020; Kulis,
Sustik and Dhillon 2009) and the logarithms of the distances to the bounds of friction,
armature and masses. It is finite only inside, so the solution never touches a boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.feasible_set import FeasibleSet, Plausibility, feasible_set
from sysid_ros.estimation.regression.weighting import require_prior, weighted_directions

# A prior on a bound (no friction given) is moved inside by this part of its scale.
_INSIDE = 0.1
# Sufficient decrease and shortest step of the line search.
_ARMIJO = 1e-4
_SHORTEST_STEP = 1e-12
# Changes of the objective below this part of it are rounding.
_ROUNDING = 1e-11
# Pivots of the Hessian below this part of the largest have lost half of their digits.
_SMALLEST_PIVOT = 1e-6
# Each stage divides the prior's weight by the first and is solved to the second.
_REDUCTION = 10.0
_FOLLOW = 1e-1


@dataclass(frozen=True)
class EntropicLeastSquares:
    """Weighted least squares regularised by the log-det divergence to the prior.

    Args:
        prior_strength: The weight alpha: a body at twice its prior inertia costs
            1.2 alpha, in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        tolerance: Squared Newton decrement, in units of the prior, at which it ends.
        max_iterations: Most Newton steps.
    """

    prior_strength: float = 0.1
    plausibility: Plausibility = field(default_factory=Plausibility)
    tolerance: float = 1e-8
    max_iterations: int = 500

    name: ClassVar[str] = 'entropic'

    def __post_init__(self) -> None:
        require_prior(self.prior_strength)

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate. Unless Newton's method converged, its values are the prior.
        """
        directions, notes = weighted_directions(problem)
        weights, principal, target = directions.principal_rows()
        objective = DivergenceObjective(
            weights[:, None] * principal, target, feasible_set(problem, self.plausibility)
        )
        z, status, iterations = self._minimise(objective)
        return assess(
            problem, problem.reference + problem.scale @ z, directions.sigma, estimator=self.name,
            settings=self.describe(), status=status, strength=self.prior_strength,
            iterations=iterations, notes=notes,
        )

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {
            'prior_strength': self.prior_strength,
            'plausibility': self.plausibility.model_dump(),
            'tolerance': self.tolerance,
            'max_iterations': self.max_iterations,
        }

    def _minimise(self, objective: DivergenceObjective) -> tuple[np.ndarray, Status, int]:
        """Follow the minimiser from a dominant prior down to the strength asked for.

        Newton's method alone creeps along the boundary when the prior is weak; a stronger
        prior keeps away from it, and each minimiser starts the next.
        """
        z = objective.start.copy()
        iterations = 0
        for strength in _strengths(objective.misfit(z) / len(z), self.prior_strength):
            final = strength == self.prior_strength
            z, status, used = _newton(
                objective, z, strength, self.tolerance if final else _FOLLOW,
                self.max_iterations - iterations,
            )
            iterations += used
            if not status.ok:
                break
        return z, status, iterations


def _strengths(first: float, last: float) -> list[float]:
    """Falling weights of the prior, each a fixed part of the one before."""
    stages = max(int(np.ceil(np.log(max(first / last, 1.0)) / np.log(_REDUCTION))), 0)
    return [last * _REDUCTION**stage for stage in range(stages, -1, -1)]


def _newton(
    objective: DivergenceObjective, z: np.ndarray, strength: float, tolerance: float, most: int
) -> tuple[np.ndarray, Status, int]:
    """Damped Newton's method; every iterate stays inside what is allowed."""
    value = objective.value(z, strength)
    for iteration in range(1, most + 1):
        try:
            gradient, step = objective.newton(z, strength)
        except np.linalg.LinAlgError:
            return z, Status.FAILED, iteration
        # In units of the prior's weight, in which the barrier is self-concordant.
        decrement = float(-gradient @ step)
        if decrement <= tolerance * strength:
            return z, Status.CONVERGED, iteration
        length = 1.0
        while not (
            objective.value(z + length * step, strength) <= value - _ARMIJO * length * decrement
        ):
            length *= 0.5
            if length < _SHORTEST_STEP:
                # Rounding hides any decrease; that is the end if the step was tiny anyway.
                hidden = decrement <= _ROUNDING * abs(value)
                return z, Status.CONVERGED if hidden else Status.INACCURATE, iteration
        z = z + length * step
        value = objective.value(z, strength)
    return z, Status.ITERATION_LIMIT, most


class DivergenceObjective:
    r"""The objective in the prior's steps z, with its derivatives.

    Args:
        matrix: Weighted rows in the steps, shape ``(k, f)``.
        target: Weighted torque less that of the prior, shape ``(k,)``.
        allowed: What physics allows.
    """

    def __init__(self, matrix: np.ndarray, target: np.ndarray, allowed: FeasibleSet) -> None:
        self._matrix, self._target, self._allowed = matrix, target, allowed
        self._normal = matrix.T @ matrix
        self.start = _interior(allowed)
        # Directions no barrier bends (offsets, springs without bounds) get a quadratic.
        self._flat = np.eye(matrix.shape[1])
        self._start_barrier, self._start_gradient, curvature = self._barrier(self.start)
        bent = np.diag(curvature) > 0.0
        self._flat[bent, bent] = 0.0

    def misfit(self, z: np.ndarray) -> float:
        """Half the squared weighted residual."""
        residual = self._matrix @ z - self._target
        return float(0.5 * residual @ residual)

    def value(self, z: np.ndarray, strength: float) -> float:
        """Objective at a weight of the prior, infinite outside of what physics allows."""
        barrier = self._barrier_value(z)
        if not np.isfinite(barrier):
            return np.inf
        moved = z - self.start
        divergence = barrier - self._start_barrier - self._start_gradient @ moved
        divergence += 0.5 * moved @ self._flat @ moved
        return self.misfit(z) + strength * float(divergence)

    def derivatives(self, z: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Gradient ``(f,)`` and Hessian ``(f, f)`` at a point inside."""
        _, barrier_gradient, barrier_hessian = self._barrier(z)
        gradient = self._matrix.T @ (self._matrix @ z - self._target)
        gradient += strength * (
            barrier_gradient - self._start_gradient + self._flat @ (z - self.start)
        )
        return gradient, self._normal + strength * (barrier_hessian + self._flat)

    def newton(self, z: np.ndarray, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Newton's step at a point inside, ``(f,)`` each.

        Raises:
            numpy.linalg.LinAlgError: The point is so near the boundary that the barrier's
                curvature cannot be factored.
        """
        gradient, hessian = self.derivatives(z, strength)
        try:
            factor = np.linalg.cholesky(hessian).T
            pivots = np.diag(factor)
            sound = pivots.min() > _SMALLEST_PIVOT * pivots.max()
        except np.linalg.LinAlgError:
            sound = False
        if not sound:
            # A weak prior drowns in the rounding of the squared rows, not in the rows.
            curvature = self._barrier(z)[2] + self._flat
            root = np.sqrt(strength) * np.linalg.cholesky(curvature).T
            factor = scipy.linalg.qr(np.vstack([self._matrix, root]), mode='r')[0][:len(z)]
        return gradient, -scipy.linalg.cho_solve((factor, False), gradient)

    def _barrier_value(self, z: np.ndarray) -> float:
        slack = self._allowed.slack(z)
        if (slack <= 0.0).any():
            return np.inf
        try:
            factors = np.linalg.cholesky(self._allowed.pseudo_inertias(z))
        except np.linalg.LinAlgError:
            return np.inf
        diagonals = np.diagonal(factors, axis1=1, axis2=2)
        return float(-2.0 * np.log(diagonals).sum() - np.log(slack).sum())

    def _barrier(self, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log barrier with gradient and Hessian."""
        inverse = np.linalg.inv(self._allowed.pseudo_inertias(z))
        scaled = inverse[:, None] @ self._allowed.slopes
        weights = self._allowed.matrix / self._allowed.slack(z)[:, None]
        gradient = weights.sum(axis=0) - np.einsum('cfii->f', scaled)
        hessian = weights.T @ weights + np.einsum('cfij,cgji->fg', scaled, scaled, optimize=True)
        return self._barrier_value(z), gradient, hessian


def _interior(allowed: FeasibleSet) -> np.ndarray:
    """The prior, moved inside where it lies on a bound."""
    z = np.zeros(allowed.matrix.shape[1])
    for row, slack in zip(allowed.matrix, allowed.slack(z), strict=True):
        if slack < _INSIDE:
            z -= (_INSIDE - slack) * row
    inside = np.linalg.eigvalsh(allowed.pseudo_inertias(z)) > 0.0
    if not (inside.all() and (allowed.slack(z) > 0.0).all()):
        raise ConfigurationError(
            'the prior is not strictly inside what is allowed', where='plausibility',
            fix='Widen the ranges, or mend the prior',
        )
    return z
