"""What a recursion knows: its prior, the sums over samples, the estimate and how sure it is."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.recursive.recursion_settings import RecursionSettings
from sysid_ros.estimation.regression.recursive.recursive_prior import (
    curvature,
    divergence,
    elimination_order,
    header_of,
    inverse_root,
    reordered,
)
from sysid_ros.estimation.regression.recursive.state import (
    FAILED,
    ITERATIONS,
    SAMPLES,
    SKIPPED,
    STRENGTH,
    State,
    state_for,
)
from sysid_ros.mechanics.base_parameters import BaseParameters
from sysid_ros.robot.inertia import consistency_margin
from sysid_ros.robot.parameters import ParameterSet


class RecursivePosterior:
    """Parameters after some samples, which are not kept.

    Args:
        settings: How steps are done.
        problem: Its model, parameters and prior; rows are not kept.
        noise: Torque noise per joint in [N·m] or [N], shape ``(n,)``.
    """

    def __init__(
        self, settings: RecursionSettings, problem: RegressionProblem, noise: np.ndarray
    ) -> None:
        self.settings, self.header = settings, header_of(problem)
        self.model, self.prior_parameters = problem.model, problem.parameters
        self.noise = np.array(noise, dtype=float)
        joints = len(problem.model.robot.joint_names)
        if self.noise.shape != (joints,) or not (self.noise > 0.0).all():
            raise EstimationError(
                'the torque noise cannot be used', found=self.noise.tolist(),
                allowed=f'{joints} numbers above zero',
            )
        self.free = np.flatnonzero(problem.free)
        if not len(self.free):
            raise EstimationError('no parameter is free', fix='Free some in fit.fixed')
        self.fixed = np.where(problem.free, 0.0, problem.reference)
        self.prior = divergence(
            problem, settings.regulariser, settings.plausibility, settings.rest_weight)
        order = elimination_order(problem, self.prior)
        self._prior, self._columns = reordered(self.prior, order), self.free[order]
        self._place = np.argsort(order)
        self.weights = self.noise ** -2.0
        self._state: State = state_for(self._prior.reference, joints)

    @property
    def theta(self) -> np.ndarray:
        """The estimate of all parameters, shape ``(p,)``."""
        return self._whole(self._state.theta)

    @property
    def parameters(self) -> ParameterSet:
        """The parameters at the estimate."""
        return self.prior_parameters.with_values(self.theta)

    @property
    def information(self) -> np.ndarray:
        """Information of the samples about the free parameters, shape ``(f, f)``."""
        upper = np.triu((self._state.information + self._state.recent)[:-1])
        return (upper + np.triu(upper, 1).T)[np.ix_(self._place, self._place)]

    @property
    def vector(self) -> np.ndarray:
        """The vector b, shape ``(f,)``."""
        return (self._state.information[-1] + self._state.recent[-1])[self._place]

    @property
    def strength(self) -> float:
        """The strength of the prior at the last step."""
        last = float(self._state.outcome[STRENGTH])
        return last if last > 0.0 else float(self.settings.prior_strength)

    def posterior_information(self) -> np.ndarray:
        """Information of samples and prior about the free parameters, shape ``(f, f)``."""
        return self.information + self.strength * curvature(self.prior, self.theta[self.free])

    def covariance(self) -> np.ndarray:
        """Covariance after Laplace, zero for fixed parameters, shape ``(p, p)``.

        It takes the noise of the samples as white and of the size that was given.
        """
        root = inverse_root(self.posterior_information())
        covariance = np.zeros((len(self.fixed),) * 2)
        covariance[np.ix_(self.free, self.free)] = root.T @ root
        return covariance

    def base_covariance(self, base: BaseParameters) -> np.ndarray:
        r"""Covariance of base parameters :math:`\beta = K\theta`, shape ``(r, r)``.

        Args:
            base: Base parameters of the free parameters.
        """
        # Of the covariance itself it would be a small difference of large numbers.
        root = inverse_root(self.posterior_information()) @ base.matrix[:, self.free].T
        return root.T @ root

    def standard_deviation(self) -> np.ndarray:
        """Posterior deviations, shape ``(p,)``."""
        return np.sqrt(np.diag(self.covariance()))

    def margins(self, theta: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Consistency margin of every body against its prior.

        Args:
            theta: Estimates, shape ``(..., p)``; by default the present one.

        Returns:
            Margins by body, shape ``(...)``; positive exactly for real bodies.
        """
        theta = self.theta if theta is None else theta
        blocks = {b: self.prior_parameters.body_slice(b) for b in self.prior_parameters.bodies}
        prior = self.prior_parameters.prior
        return {
            body: consistency_margin(
                theta[..., block], np.broadcast_to(prior[block], (*theta.shape[:-1], 10)))
            for body, block in blocks.items()
        }

    @property
    def samples(self) -> int:
        """Samples taken in."""
        return int(self._state.counts[SAMPLES])

    @property
    def skipped(self) -> int:
        """Samples left out because a value was not finite."""
        return int(self._state.counts[SKIPPED])

    @property
    def failed(self) -> int:
        """Steps that left the estimate as it was."""
        return int(self._state.counts[FAILED])

    @property
    def iterations(self) -> int:
        """Newton iterations so far."""
        return int(self._state.counts[ITERATIONS])

    @property
    def tally(self) -> np.ndarray:
        """Usable samples, squared torques and squared innovations per joint, ``(3, n)``."""
        return self._state.tally.copy()

    def _whole(self, free: np.ndarray) -> np.ndarray:
        """All parameters from the free ones, shape ``(..., p)``."""
        whole = np.broadcast_to(self.fixed, (*free.shape[:-1], len(self.fixed))).copy()
        whole[..., self._columns] = free
        return whole
