"""Ordinary and weighted least squares on the base parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.conditioning import require_conditioned
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.noise import noise_level


@dataclass(frozen=True)
class OrdinaryLeastSquares:
    """All joints weigh the same: the plain baseline.

    Of the many standard parameters with the smallest residual it takes the ones nearest
    to the prior in the prior's own metric, never those of minimum norm. The bodies need
    not be physically consistent.
    """

    name: ClassVar[str] = 'ols'

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate, with a sandwich covariance for the noise of each joint.

        Raises:
            EstimationError: There are too few rows, or they are ill-conditioned.
        """
        problem.require_rows()
        sigma = np.ones(problem.torque.shape[1])
        directions = DataDirections(problem, sigma)
        require_conditioned(problem)
        theta = problem.reference + problem.scale @ directions.solve()
        return assess(problem, theta, sigma, estimator=self.name, settings=asdict(self))


@dataclass(frozen=True)
class WeightedLeastSquares:
    """Joints weigh by their own noise, found from the residuals and iterated.

    Args:
        tolerance: Relative change of the noise levels at which the iteration ends.
        max_iterations: Most iterations.
    """

    tolerance: float = 1e-6
    max_iterations: int = 200

    name: ClassVar[str] = 'wls'

    def __post_init__(self) -> None:
        if not (self.tolerance > 0.0 and self.max_iterations >= 1):
            raise ConfigurationError(
                'the iteration cannot end', where=self.name,
                found=f'tolerance {self.tolerance}, max_iterations {self.max_iterations}',
                allowed='tolerance above 0 and at least one iteration',
                fix='Leave both out for their defaults',
            )

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate; ``ITERATION_LIMIT`` when the noise levels did not settle.

        Raises:
            EstimationError: There are too few rows, or they are ill-conditioned.
        """
        theta, sigma, iterations = self.iterate(problem)
        require_conditioned(problem)
        status = Status.ITERATION_LIMIT if iterations > self.max_iterations else Status.CONVERGED
        return assess(
            problem, theta, sigma, estimator=self.name, settings=asdict(self), status=status,
            iterations=min(iterations, self.max_iterations),
        )

    def iterate(self, problem: RegressionProblem) -> tuple[np.ndarray, np.ndarray, int]:
        """Parameters ``(p,)``, noise per joint ``(n,)``, and iterations used.

        The number of iterations is above ``max_iterations`` when they were not enough.
        """
        problem.require_rows()
        sigma = np.ones(problem.torque.shape[1])
        for iteration in range(1, self.max_iterations + 1):
            theta = problem.reference + problem.scale @ DataDirections(problem, sigma).solve()
            updated = noise_level(problem, theta)
            if np.max(np.abs(updated / sigma - 1.0)) < self.tolerance:
                return theta, sigma, iteration
            sigma = updated
        return theta, sigma, self.max_iterations + 1
