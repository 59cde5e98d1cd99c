"""Iteratively reweighted least squares: rows that a contact or a spike spoiled do not count.

Two loops (Han, Wu, Liu and Xiong 2020, figure 5; used for constrained robots by Zhang et al.
2024, section III). The inner one weighs joints by the noise of their residuals until it
settles. The outer one leaves rows out, see :mod:`~sysid_ros.estimation.regression.robust.outliers`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.conditioning import require_conditioned
from sysid_ros.estimation.regression.consistent.consistent import parameters_of
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.robust.outliers import OutlierRounds, Solution
from sysid_ros.estimation.regression.weighting import weighted_directions


@dataclass(frozen=True)
class ReweightedLeastSquares:
    """Least squares that weighs joints by their noise and leaves outliers out.

    Like the other least-squares estimators it fits the base parameters; bodies need not be
    physically consistent. It copes with some 20 % of spoiled rows.

    Args:
        cutoff: Residuals beyond this many standard deviations of their joint are outliers;
            at least 2. Of clean normal noise 3 gives up 0.3 %.
        max_iterations: Most rounds of leaving rows out.
    """

    cutoff: float = 3.0
    max_iterations: int = 100

    name: ClassVar[str] = 'irls'

    def __post_init__(self) -> None:
        self._rounds()

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate, whose statistics are those of the rows that count. Its status is
            ``ITERATION_LIMIT`` when rows or noise levels did not settle, and ``FAILED``
            when a joint lost the larger part of its rows.

        Raises:
            EstimationError: There are too few rows, or they are ill-conditioned.
        """
        rounds = self._rounds()
        inliers, found, iterations = rounds.run(problem, self._solve)
        require_conditioned(inliers)
        estimate = assess(
            inliers, found.theta, found.sigma, estimator=self.name, settings=asdict(self),
            status=found.status, iterations=iterations)
        return rounds.completed(estimate, problem, inliers.usable)

    def _rounds(self) -> OutlierRounds:
        return OutlierRounds(self.name, self.cutoff, self.max_iterations)

    @staticmethod
    def _solve(problem: RegressionProblem) -> Solution:
        inner = WeightedLeastSquares()
        theta, sigma, used = inner.iterate(problem)
        settled = used <= inner.max_iterations
        return Solution(theta, sigma, Status.CONVERGED if settled else Status.ITERATION_LIMIT)


@dataclass(frozen=True)
class ReweightedSemidefinite:
    """Reweighted least squares with physical consistency: residuals are those of the ``lmi`` fit.

    Args:
        prior_strength: Weight of the prior, as in ``lmi``.
        plausibility: Margins and ranges of masses.
        cutoff: As for :class:`ReweightedLeastSquares`.
        max_iterations: Most rounds of leaving rows out.

    References:
        Zhang, Haugk and Vasudevan 2024, section III (equation 32 in the loop of Han, Wu, Liu and
        Xiong 2020, figure 5).
    """

    prior_strength: float = SemidefiniteLeastSquares.prior_strength
    plausibility: Plausibility = field(default_factory=Plausibility)
    cutoff: float = 3.0
    max_iterations: int = 100

    name: ClassVar[str] = 'irls_lmi'

    def __post_init__(self) -> None:
        self._rounds()
        self._inner()

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate; its status is ``ITERATION_LIMIT`` when the rounds were not enough, and
            ``FAILED`` when a joint lost the larger part of its rows; else as of ``lmi``.

        Raises:
            EstimationError: There are too few rows.
        """
        rounds, inner = self._rounds(), self._inner()
        inliers, found, iterations = rounds.run(problem, self._solve)
        estimate = inner.fit(inliers)
        status = found.status if estimate.status.ok else estimate.status
        if not status.found_values:
            estimate = replace(
                estimate, parameters=problem.parameters.with_values(problem.reference))
        estimate = replace(
            estimate.with_status(status), estimator=self.name, settings=self._settings(),
            iterations=iterations)
        return rounds.completed(estimate, problem, inliers.usable)

    def _solve(self, problem: RegressionProblem) -> Solution:
        inner = self._inner()
        directions, _ = weighted_directions(problem)
        z, status, _ = inner.checked(directions, feasible_set(problem, self.plausibility))
        ended = Status.CONVERGED if status.ok else Status.FAILED
        return Solution(parameters_of(problem, z), directions.sigma, ended)

    def _rounds(self) -> OutlierRounds:
        return OutlierRounds(self.name, self.cutoff, self.max_iterations)

    def _inner(self) -> SemidefiniteLeastSquares:
        return SemidefiniteLeastSquares(self.prior_strength, self.plausibility)

    def _settings(self) -> dict[str, Any]:
        return {
            'prior_strength': self.prior_strength, 'cutoff': self.cutoff,
            'max_iterations': self.max_iterations,
            'plausibility': self.plausibility.model_dump(),
        }
