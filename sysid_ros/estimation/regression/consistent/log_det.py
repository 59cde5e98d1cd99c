r"""Least squares with the log-det divergence to a prior: consistent by construction.

.. math::
    \min_\theta \; \tfrac12\|W^{1/2}(\Gamma\theta - \tau)\|^2 + \alpha\,
        D_F(\theta \,\|\, \theta_0)

The divergence is the Bregman divergence of the log barrier F of everything physics
allows: the log-determinants of the pseudo-inertias (Lee, Wensing and Park 2020; Kulis,
Sustik and Dhillon 2009) and the logarithms of the distances to the bounds of friction,
armature and masses. It is finite only inside, so the solution never touches a boundary.
Directions without any bound (offsets) get half the squared distance in its place.

Intervals are those of the posterior whose prior is the divergence, after Laplace: its Hessian
at the solution counts as information. Near a boundary they are narrower than in its midst, and
cover as often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.directions import DataDirections


class PrincipalRows(Protocol):
    """Rows of a least-squares problem in the prior's steps, orthogonal to each other."""

    @property
    def principal_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights w ``(k,)``, rows V ``(k, f)`` and target t ``(k,)`` of ‖diag(w) V z - t‖²."""


@dataclass(frozen=True)
class EntropicLeastSquares(ConsistentLeastSquares):
    """Weighted least squares regularised by the log-det divergence to the prior.

    Args:
        prior_strength: The weight alpha: a body at twice its prior inertia costs
            1.2 alpha, in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        max_iterations: Most iterations of the interior-point method.
        tolerance: How far the objective may be from its minimum, in units of alpha.
    """

    prior_strength: float = 0.1
    tolerance: float = 1e-8

    name: ClassVar[str] = 'entropic'
    near_bounds: ClassVar[str] = 'Their intervals count on the bounds as far as on the prior.'

    def minimise(
        self, directions: PrincipalRows, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The steps with the smallest objective; see :class:`ConsistentLeastSquares`.

        Raises:
            ConfigurationError: The prior is not strictly inside of what is allowed.
        """
        prior = allowed.require_interior()
        # The divergence is the barrier less its tangent at the prior.
        unbounded = allowed.unbounded.astype(float)
        slope = -(allowed.barrier_gradient(prior) + unbounded * prior)
        weights, known, target = directions.principal_rows
        objective = ConstrainedLeastSquares(
            weights, known, target, self.prior_strength * unbounded, self.prior_strength * slope,
            allowed,
        )
        return objective.minimise(
            prior, barrier=self.prior_strength, accuracy=self.tolerance * self.prior_strength,
            max_iterations=self.max_iterations,
        )

    def prior_curvature(
        self, directions: DataDirections, allowed: FeasibleSet, z: np.ndarray
    ) -> np.ndarray:
        """Hessian of the weighted divergence, ``(f, f)``; see :class:`ConsistentLeastSquares`."""
        return self.prior_strength * (allowed.barrier_hessian(z) + np.diag(allowed.unbounded))

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {**super().describe(), 'tolerance': self.tolerance}
