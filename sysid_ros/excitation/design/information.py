r"""Information that a motion would give on the base parameters, and criteria to judge it by.

With rows of the base regressor :math:`Y_b` and torque noise :math:`\sigma` the information is
:math:`F = F_0 + \sum_t Y_b^T \Sigma^{-1} Y_b`, where :math:`F_0` is what the prior and the
recordings at hand tell already; the covariance of an efficient estimate is its inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.base_parameters import BaseParameters, base_parameters
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import log_det_divergence

# A term that takes this part of the effort limit in typical motion has its usual size.
_USUAL_SHARE = 0.1
_SAMPLES, _SEED = 200, 0
# Torque noise in parts of the effort, where nothing is known of it.
_USUAL_NOISE = 0.01
# Effort limits count up to so many times the largest torque that usual motion takes: descriptions
# have 1000 N·m for fingers, beside whose hundredth no motion would tell anything. Accelerations of
# usual motion are at most those of a swing through the range in a second.
_MOST_EFFORT, _SWING = 10.0, (2.0 * np.pi) ** 2


@dataclass(frozen=True, eq=False)
class Information:
    """Information of rows of the regressor about the r base parameters.

    Attributes:
        model: The torque model.
        base: Its base parameters.
        noise: Torque noise of a row per joint in [N·m] or [N], shape ``(n,)``.
        known: The information F₀ that is there already, shape ``(r, r)``.
        steps: Usual changes L of the base parameters, with their covariance
            :math:`L L^T`, shape ``(r, r)``.
    """

    model: TorqueModel
    base: BaseParameters
    noise: np.ndarray
    known: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(
        cls, model: TorqueModel, limits: MotionLimits, *, noise: np.ndarray | None = None,
        data_information: np.ndarray | None = None, prior_weight: float = 1e-3,
        free: np.ndarray | None = None,
    ) -> Information:
        """Information before a motion: of the prior, and of recordings at hand.

        Args:
            model: The torque model.
            limits: Limits of the joints.
            noise: Torque noise per joint in [N·m] or [N], shape ``(n,)``; by default
                that of :func:`usual_noise`.
            data_information: Information on all p parameters from recordings, the weighted normal
                matrix of their rows, shape ``(p, p)``.
            prior_weight: Weight of the prior: 1 counts it as a measurement with a standard
                deviation of 100 %; the default lets nearly everything be worth learning.
            free: True for parameters that are to be learned, shape ``(p,)``; all by default.

        Raises:
            ConfigurationError: Noise or weight is not above zero, or of the wrong shape.
        """
        base = base_parameters(model, free=free)
        joints = len(limits.joint_names)
        noise = usual_noise(model, limits) if noise is None else np.array(noise, dtype=float)
        if noise.shape != (joints,) or not ((noise > 0.0) & np.isfinite(noise)).all():
            raise ConfigurationError(
                'the torque noise cannot be used', where='noise', found=noise.tolist(),
                allowed=f'{joints} finite numbers above 0',
                fix='Give the standard deviation of each joint, as torque_noise: {joint_1: 0.05}, '
                'or leave it out',
            )
        if not 0.0 < prior_weight < np.inf:
            raise ConfigurationError(
                'the prior needs some weight', where='prior_weight', found=prior_weight,
                allowed='a number above 0',
                fix='Leave prior_weight out for its default',
            )
        steps = np.linalg.cholesky(prior_covariance(model, base, limits))
        inverse = scipy.linalg.solve_triangular(steps, np.eye(base.rank), lower=True)
        known = prior_weight * inverse.T @ inverse
        if data_information is not None:
            known = known + data_information[np.ix_(base.independent, base.independent)]
        return cls(model, base, noise, known, steps)

    def matrix(self, regressor: np.ndarray, rows: float = 1.0) -> np.ndarray:
        """Information of a motion with what is known, shape ``(r, r)``.

        Args:
            regressor: Full regressor of the motion, shape ``(T, n, p)``.
            rows: Independent rows that each sample stands for.
        """
        weighted = self._weighted(regressor)
        return self.known + rows * (weighted.T @ weighted)

    def weights(self, regressor: np.ndarray, slope: np.ndarray, rows: float = 1.0) -> np.ndarray:
        """Derivative of a function of the information with respect to the regressor.

        Args:
            regressor: As for :meth:`matrix`.
            slope: Derivative with respect to the information, symmetric, shape ``(r, r)``.
            rows: As for :meth:`matrix`.

        Returns:
            Shape ``(T, n, p)``.
        """
        product = (2.0 * rows) * (self._weighted(regressor) @ slope)
        weights = np.zeros_like(regressor)
        weights[:, :, self.base.independent] = (
            product.reshape(*regressor.shape[:2], -1) / self.noise[:, None]
        )
        return weights

    def _weighted(self, regressor: np.ndarray) -> np.ndarray:
        rows = regressor[:, :, self.base.independent] / self.noise[:, None]
        return rows.reshape(-1, rows.shape[-1])


def usual_noise(model: TorqueModel, limits: MotionLimits) -> np.ndarray:
    """Torque noise where nobody knows it, shape ``(n,)``.

    A hundredth of the effort limits, and no more than a tenth of the largest torque that the prior
    takes at any joint in usual motion: limits may be far beyond what a robot of its masses needs.

    Args:
        model: The torque model.
        limits: Limits of the joints.
    """
    return _USUAL_NOISE * _usual_effort(model, limits)


def _usual_effort(model: TorqueModel, limits: MotionLimits) -> np.ndarray:
    """Effort limits, as far as the masses of the prior make them likely, shape ``(n,)``."""
    q, _, a = _typical_motion(model, limits)
    swing = _SWING * limits.reach
    torque = np.abs(model.torque(
        model.parameters.prior, q, np.zeros_like(q), np.clip(a, -swing, swing))).max()
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1.0)
    return np.minimum(effort, _MOST_EFFORT * torque) if torque > 0.0 else effort


def prior_covariance(
    model: TorqueModel, base: BaseParameters, limits: MotionLimits
) -> np.ndarray:
    r"""Covariance of the base parameters when the prior may be 100 % off, shape ``(r, r)``.

    For a body 100 % is a unit in the metric of the log-det divergence at the prior. A joint
    term, whose prior is often zero, may take a tenth of the effort limit in typical motion.
    """
    parameters = model.parameters
    covariance = np.zeros((len(parameters), len(parameters)))
    for body in parameters.bodies:
        block = parameters.body_slice(body)
        prior = parameters.prior[block]
        covariance[block, block] = np.linalg.inv(log_det_divergence(prior, prior)[2])
    first = 10 * len(parameters.bodies)
    terms = np.arange(first, len(parameters))
    covariance[terms, terms] = _term_steps(model, limits)[first:] ** 2
    return base.matrix @ covariance @ base.matrix.T


def _term_steps(model: TorqueModel, limits: MotionLimits) -> np.ndarray:
    """Size at which each parameter takes its usual share of the effort, shape ``(p,)``."""
    motion = _typical_motion(model, limits)
    columns = np.sqrt(np.mean(model.regressor(*motion) ** 2, axis=0))
    share = (columns / _usual_effort(model, limits)[:, None]).max(axis=0)
    return _USUAL_SHARE / np.where(share > 0.0, share, _USUAL_SHARE)


def _typical_motion(
    model: TorqueModel, limits: MotionLimits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a up to half of the limits, shape ``(T, n)`` each."""
    random = np.random.default_rng(_SEED).uniform(-0.5, 0.5, (3, _SAMPLES, len(limits.velocity)))
    q = limits.centre + limits.reach * random[0]
    if model.robot.loops is not None:
        positions = np.random.default_rng(_SEED)
        q = closed_chain(model.robot).random_positions(_SAMPLES, positions)
    return q, limits.velocity * random[1], limits.acceleration * random[2]


#: A criterion: from information and steps, ``(r, r)`` each, to a cost and its derivative with
#: respect to the information.
Criterion = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def determinant(information: np.ndarray, steps: np.ndarray) -> tuple[float, np.ndarray]:
    r"""D-optimality, :math:`-\log\det F`: the volume of the confidence ellipsoid."""
    factor = scipy.linalg.cho_factor(information, lower=True)
    cost = -2.0 * float(np.log(np.diag(factor[0])).sum())
    return cost, -scipy.linalg.cho_solve(factor, np.eye(len(information)))


def smallest_eigenvalue(information: np.ndarray, steps: np.ndarray) -> tuple[float, np.ndarray]:
    r"""E-optimality, :math:`-\log\lambda_{min}(L^T F L)`: the least known usual change."""
    # The largest of the inverse, from triangular factors: eigenvalues of the information itself
    # differ by so much that the smallest would drown in the rounding of the largest.
    factor = np.linalg.cholesky(information)
    inverse = scipy.linalg.solve_triangular(factor, np.eye(len(information)), lower=True)
    spread = scipy.linalg.solve_triangular(steps, inverse.T, lower=True)
    last = len(information) - 1
    values, vectors = scipy.linalg.eigh(spread @ spread.T, subset_by_index=[last, last])
    direction = steps @ vectors[:, 0]
    return float(np.log(values[0])), -values[0] * np.outer(direction, direction)


def condition_number(information: np.ndarray, steps: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Logarithm of the condition number of the regressor with columns of equal size.

    Of all scalings of columns that one comes within a factor of the square root of their
    number of the best (van der Sluis 1969).
    """
    size = np.sqrt(np.diag(information))
    correlation = information / np.outer(size, size)
    values, vectors = scipy.linalg.eigh(correlation)
    low, high = vectors[:, 0], vectors[:, -1]
    slope = 0.5 * (np.outer(high, high) / values[-1] - np.outer(low, low) / values[0])
    # Each column's size stands in its row and column of the correlation.
    own = np.sum(slope * correlation, axis=1) / size**2
    return (
        0.5 * float(np.log(values[-1] / values[0])),
        slope / np.outer(size, size) - np.diag(own),
    )


CRITERIA: dict[str, Criterion] = {
    'determinant': determinant, 'condition': condition_number, 'eigenvalue': smallest_eigenvalue,
}


def criterion_of(name: str) -> Criterion:
    """A criterion by name.

    Raises:
        ConfigurationError: There is no such criterion.
    """
    if name not in CRITERIA:
        raise ConfigurationError(
            'there is no such criterion', found=repr(name), allowed=', '.join(CRITERIA),
            fix=did_you_mean(name, CRITERIA),
        )
    return CRITERIA[name]


def expected_deviations(information: Information, total: np.ndarray) -> np.ndarray:
    """Standard deviations of the base parameters in parts of their usual changes, ``(r,)``.

    Args:
        information: What rows tell.
        total: Information with what is known, shape ``(r, r)``.
    """
    covariance = scipy.linalg.cho_solve(
        scipy.linalg.cho_factor(total, lower=True), np.eye(len(total))
    )
    usual = np.sqrt(np.sum(information.steps**2, axis=1))
    return np.sqrt(np.diag(covariance)) / usual
