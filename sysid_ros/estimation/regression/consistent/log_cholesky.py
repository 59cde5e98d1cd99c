r"""Least squares with the log-det divergence of each body to its prior, and bounds that may be met.

.. math::
    \min_\theta \; \tfrac12\|W^{1/2}(\Gamma\theta - \tau)\|^2 + s\,\Big(
        \sum_i D(\phi_i \,\|\, \phi_{0,i}) + \tfrac12 \sum_k z_k^2\Big)
    \quad\text{with}\quad L_i(\theta) \succeq \epsilon L_{0,i},

with bounds on friction, armature and masses. Joint terms, k, have the squared distance to their
prior in its steps: near the prior what the other estimators use, so that strengths compare. Unlike
the barrier of the entropic estimator, the prior here lets friction and armature come to rest on
their bounds and masses on the ends of their ranges.

Rucker and Wensing (2022) pose this in log-Cholesky coordinates, after which the estimator is
named. In the parameters themselves the objective is convex, and so it is minimised there: each
step is Newton's inside of the constraints, a semidefinite least-squares problem, followed by a
line search (sequential quadratic programming). The divergence being self-concordant, that
converges from every prior, where a chart is bent, and flat on the boundary: points there look
stationary that are not.

Intervals are those of the posterior of the prior after Laplace; bounds and ranges count as no
information.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares, verified
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.consistent.interior_point.state import MISFIT_TOLERANCE
from sysid_ros.estimation.regression.consistent.log_det_objective import LogDetObjective
from sysid_ros.estimation.regression.directions import DataDirections

# Sufficient decrease and shortest step of the line search.
_ARMIJO = 1e-4
_SHORTEST_STEP = 1e-10
# The inner problem is solved to this part of the accuracy, in so many iterations at most.
_INNER_ACCURACY, _INNER_ITERATIONS = 0.1, 200


class SmoothObjective(Protocol):
    """What sequential quadratic programming minimises; see :class:`LogDetObjective`."""

    strength: float

    @property
    def inside(self) -> np.ndarray:
        """A point strictly inside of what is allowed, shape ``(f,)``."""

    @property
    def start(self) -> np.ndarray:
        """Where the minimum is sought from, strictly inside, shape ``(f,)``."""

    def misfit(self, z: np.ndarray) -> float:
        """Half the squared weighted residual."""

    def value(self, z: np.ndarray) -> float:
        """The objective; infinite where it is not defined."""

    def prior_curvature(self, z: np.ndarray) -> np.ndarray:
        """Hessian of the weighted prior, shape ``(f, f)``."""

    def predicted(self, z: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """Slope of the objective along a step ``(f,)``, and the decrease its model predicts."""

    def model(self, z: np.ndarray) -> ConstrainedLeastSquares:
        """A strictly convex quadratic model of the objective at a point, with all constraints."""


@dataclass(frozen=True)
class LogCholeskyLeastSquares(ConsistentLeastSquares):
    """Weighted least squares with a log-det divergence to the prior, inside of hard bounds.

    Args:
        prior_strength: Weight s of the prior as in the entropic estimator: a body at twice its
            prior inertia costs 1.2 of it, in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        max_iterations: Most Newton steps.
        tolerance: How far the objective may be from its minimum, in units of the prior.
    """

    prior_strength: float = 0.1
    tolerance: float = 1e-8

    name: ClassVar[str] = 'log_cholesky'
    near_bounds: ClassVar[str] = (
        'Intervals take bounds for no information, so they are too wide rather than too narrow.'
    )

    def minimise(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The steps with the smallest objective; see :class:`ConsistentLeastSquares`.

        Raises:
            ConfigurationError: The prior is not strictly inside of what is allowed.
        """
        objective = self.objective(directions, allowed, self.prior_strength)
        return self._minimise_from(objective.start, objective)

    def minimise_each(
        self, directions: DataDirections, allowed: FeasibleSet, strengths: Sequence[float]
    ) -> Iterator[tuple[np.ndarray, Status]]:
        """Minima for falling strengths of the prior, each starting from the one before."""
        z: np.ndarray | None = None
        for strength in strengths:
            objective = self.objective(directions, allowed, strength)
            z, status, _ = self._minimise_from(objective.start if z is None else z, objective)
            yield verified(allowed, z, status)

    def prior_curvature(
        self, directions: DataDirections, allowed: FeasibleSet, z: np.ndarray
    ) -> np.ndarray:
        """Hessian of the weighted divergence, ``(f, f)``; see :class:`ConsistentLeastSquares`."""
        return self.objective(directions, allowed, self.prior_strength).prior_curvature(z)

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {**super().describe(), 'tolerance': self.tolerance}

    def objective(
        self, directions: DataDirections, allowed: FeasibleSet, strength: float
    ) -> SmoothObjective:
        """What is minimised inside of the constraints.

        Args:
            directions: What the weighted rows tell.
            allowed: What physics allows.
            strength: Weight of the prior.
        """
        return LogDetObjective(directions, allowed, self.plausibility.margin, strength)

    def _minimise_from(
        self, z: np.ndarray, objective: SmoothObjective
    ) -> tuple[np.ndarray, Status, int]:
        """Newton's method inside of the constraints, with a line search.

        Args:
            z: A point strictly inside, shape ``(f,)``.
            objective: What is minimised.

        Returns:
            As :meth:`minimise`.
        """
        value = objective.value(z)
        for iteration in range(1, self.max_iterations + 1):
            accuracy = max(
                self.tolerance * objective.strength, MISFIT_TOLERANCE * objective.misfit(z))
            model = objective.model(z)
            nearest, inner, _ = model.minimise(
                objective.inside, barrier=0.0, accuracy=_INNER_ACCURACY * accuracy,
                max_iterations=_INNER_ITERATIONS)
            step = nearest - z
            slope, decrease = objective.predicted(z, step)
            if decrease <= accuracy:
                return z, Status.CONVERGED if inner.ok else Status.INACCURATE, iteration
            length = 1.0
            while not objective.value(z + length * step) <= value + _ARMIJO * length * slope:
                length *= 0.5
                if length < _SHORTEST_STEP:
                    return z, Status.INACCURATE, iteration
            z = z + length * step
            value = objective.value(z)
        return z, Status.ITERATION_LIMIT, self.max_iterations
