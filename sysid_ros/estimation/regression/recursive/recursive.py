r"""Recursive least squares with a divergence to the prior: consistent after every sample.

.. math::
    \hat\theta_k = \arg\min_\theta \; \tfrac12 \theta^T \Omega_k \theta - b_k^T \theta
        + \alpha R(\theta), \qquad
    \Omega_k = \sum_j \Gamma_j^T W \Gamma_j, \quad b_k = \sum_j \Gamma_j^T W \tau_j

A step adds a sample to the information and moves the estimate by one or few Newton iterations,
none of which leaves what physics allows. Without forgetting the last estimate is that of the
batch fit with the same weights (:mod:`~sysid_ros.estimation.regression.consistent.log_det`).

References:
    Cho, Lee and Shin 2023, "Recursive least squares with log-determinant divergence
    regularisation for online inertia identification".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.recursive.recursion import Recursion
from sysid_ros.estimation.regression.recursive.recursion_settings import RecursionSettings
from sysid_ros.estimation.regression.recursive.recursive_estimate import estimate_from_sums
from sysid_ros.estimation.regression.recursive.recursive_prior import (
    curvature,
    without_rows,
)
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.parameters import ParameterSet

# Sums of squares carry half the digits of the rows: what the rows tell best must not exceed the
# prior's strength by more than this, or its rounding decides on what they do not tell.
_MOST_INFORMATION = 1e-3 / np.finfo(float).eps


@dataclass(frozen=True)
class RecursiveLeastSquares(RecursionSettings):
    """The recursive estimator; its settings are those of the recursion."""

    # The recursive protocol

    def start(
        self, problem: RegressionProblem | TorqueModel, noise: np.ndarray | None = None,
        parameters: ParameterSet | None = None,
    ) -> Recursion:
        """A recursion that has seen no sample.

        Args:
            problem: A problem, whose rows only tell the noise and the size of joint terms; or a
                torque model, for samples that are still to come.
            noise: Torque noise per joint in [N·m] or [N], shape ``(n,)``; by default that of the
                problem's rows.
            parameters: Prior, bounds and mask in place of the model's own.

        Raises:
            ConfigurationError: The noise is neither given nor told by rows, or the prior is not
                strictly inside of what is allowed.
            EstimationError: Nothing is free, or the model is not linear in all parameters.
        """
        if isinstance(problem, TorqueModel):
            problem = without_rows(problem, parameters)
        elif parameters is not None:
            problem = replace(problem, parameters=parameters)
        if noise is None:
            if not problem.usable.any():
                raise ConfigurationError(
                    'the torque noise is not known', where='noise',
                    fix='Give one number per joint, from an earlier fit for example')
            noise = self._noise(weighted_directions(problem)[0])[0]
        return Recursion(self, problem, noise)

    def update(self, state: Recursion, chunk: RegressionProblem) -> Recursion:
        """A recursion that has taken in further rows, too; the one given stays as it is.

        Args:
            state: Where to go on from.
            chunk: Rows of the same model.

        Raises:
            EstimationError: The rows are of another model.
        """
        state = state.copy()
        state.extend_rows(chunk.regressor, chunk.torque, chunk.usable)
        return state

    def estimate(self, state: Recursion) -> Estimate:
        """Estimate of a recursion at the minimum for all samples so far.

        Args:
            state: A recursion; it stays as it is.
        """
        state = state.copy()
        return estimate_from_sums(state, Status.CONVERGED if state.converge() else
                                  Status.ITERATION_LIMIT)

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem, one step for each sample.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate at the minimum for all rows. Its intervals take their correlation into
            account, as those of the batch estimators do. Forgotten rows count in its
            statistics.
        """
        directions, notes = weighted_directions(problem)
        noise, more = self._noise(directions)
        state = self.update(self.start(problem, noise), problem)
        settled = state.converge()
        if self.regulariser == 'plausible':
            more = (*more, *feasible_set(problem, self.plausibility).notes)
        hessian = state.strength * curvature(state.prior, state.theta[state.free])
        scale = problem.scale[problem.free]
        return assess(
            problem, state.theta, noise, estimator=self.name, settings=self.describe(),
            status=Status.CONVERGED if settled else Status.ITERATION_LIMIT,
            iterations=state.iterations, curvature=scale.T @ hessian @ scale, notes=(*notes, *more),
        )

    def _noise(self, directions: DataDirections) -> tuple[np.ndarray, tuple[str, ...]]:
        """Noise to weigh joints by, raised where sums of squares could not hold its precision."""
        largest = directions.principal_rows[0].max(initial=0.0) ** 2
        raised = np.sqrt(max(largest / (_MOST_INFORMATION * self.prior_strength), 1.0))
        notes = () if raised == 1.0 else (
            f'The rows are so exact, beside so weak a prior, that sums of their squares cannot '
            f'hold both; the rows were weighed as if their noise were {raised:.3g} times larger.',
        )
        return raised * directions.sigma, notes
