r"""Rows that a contact or a spike spoiled, left out in rounds around any linear estimator.

Each row weighs by the hard redescender

.. math:: w_{tj} \leftarrow \min(w_{tj}, \psi(r_{tj} / s_j)), \qquad
    \psi(u) = 1 \text{ where } |u| \le c, \text{ else } 0,

so that a row once given up stays so and the rounds must end (Han, Wu, Liu and Xiong 2020,
figure 5). The spread :math:`s_j` that rows are judged by is the median of the absolute residuals
and not their root mean square: outliers inflate the latter until, above :math:`1/c^2` of the
rows, none exceeds c times of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import noise_level, residual_deviation
from sysid_ros.numerics.arrays import runs

# What is left of a joint must be the larger part, or it is not clear which part is sound.
_MOST = 0.5
# More than this part given up is worth a word on the model.
_MANY = 0.1
# Below this cut-off the rows given up are mostly sound ones.
_SMALLEST_CUTOFF = 2.0


class Solution(NamedTuple):
    """Solution of one round: values, noise, and how the fit ended.

    Attributes:
        theta: Parameters, shape ``(p,)``.
        sigma: Noise per joint that weighs the rows in [N·m] or [N], shape ``(n,)``.
        status: How it ended; the rounds go on unless it is ``FAILED``.
    """

    theta: np.ndarray
    sigma: np.ndarray
    status: Status


@dataclass(frozen=True)
class OutlierRounds:
    """Rounds of solving and of leaving rows out.

    Args:
        estimator: Name of the estimator, for messages.
        cutoff: Residuals beyond this many standard deviations of their joint are outliers.
        max_iterations: Most rounds.

    Raises:
        ConfigurationError: Outliers cannot be told by these.
    """

    estimator: str
    cutoff: float
    max_iterations: int

    def __post_init__(self) -> None:
        if not (self.cutoff >= _SMALLEST_CUTOFF and self.max_iterations >= 1):
            raise ConfigurationError(
                'outliers cannot be told by this', where=self.estimator,
                found=f'cutoff {self.cutoff}, max_iterations {self.max_iterations}',
                allowed=f'a cutoff of {_SMALLEST_CUTOFF} or more, and at least one iteration',
                fix='Leave both out for their defaults',
            )

    def run(
        self, problem: RegressionProblem, solve: Callable[[RegressionProblem], Solution]
    ) -> tuple[RegressionProblem, Solution, int]:
        """Solve and leave out until no row changes.

        Args:
            problem: Rows and prior.
            solve: Solves the rows of one round.

        Returns:
            The rows that count; what was found in them, whose status is ``ITERATION_LIMIT`` when
            the rounds were not enough, and ``FAILED`` when a joint lost the larger part of its
            rows; and the rounds used.
        """
        inliers = problem
        for iteration in range(1, self.max_iterations + 1):
            found = solve(inliers)
            residual = np.abs(inliers.residuals(found.theta))
            sound = inliers.usable & (residual <= self.cutoff * self._spread(inliers, found.theta))
            if (sound.sum(axis=0) < _MOST * problem.counts).any():
                return inliers, found._replace(status=Status.FAILED), iteration
            if (sound == inliers.usable).all() or found.status is Status.FAILED:
                return inliers, found, iteration
            inliers = inliers.with_usable(sound)
        return inliers, found._replace(status=Status.ITERATION_LIMIT), self.max_iterations

    def completed(
        self, estimate: Estimate, problem: RegressionProblem, usable: np.ndarray
    ) -> Estimate:
        """The estimate of the rows kept, with what the tails cut off would have added to it.

        Args:
            estimate: The estimate of the rows kept.
            problem: All rows.
            usable: Those that were kept, shape ``(T, n)``.
        """
        inflation, lost = covariance_inflation(self.cutoff), problem.usable & ~usable
        names = problem.model.robot.joint_names
        return replace(
            estimate, base_covariance=inflation * estimate.base_covariance,
            standard_deviation=np.sqrt(inflation) * estimate.standard_deviation,
            notes=(*estimate.notes, *_left_out(problem, lost.sum(axis=0))),
            outliers={name: runs(lost[:, joint]) for joint, name in enumerate(names)},
        )

    def _spread(self, problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
        """Standard deviation of the sound residuals of each joint, shape ``(n,)``."""
        spread = noise_level(problem, theta)
        # Where all residuals are rounding, none of them is an outlier.
        noisy = (spread <= residual_deviation(problem, theta)) & (problem.counts > 0)
        # Median of the absolute value of a normal variable cut off on both sides.
        inside = 2.0 * ndtr(self.cutoff) - 1.0
        median = ndtri(0.5 + 0.25 * inside)
        residual = np.abs(problem.residuals(theta))
        for joint in np.flatnonzero(noisy):
            spread[joint] = np.median(residual[problem.usable[:, joint], joint]) / median
        return spread


def covariance_inflation(cutoff: float) -> float:
    r"""How much wider than that of the rows kept the true covariance is.

    The rows kept look less noisy than they are, since the tails of sound noise were cut off as
    well, and each estimate decides itself where. For normal noise an M-estimator with
    :math:`\psi(u) = u\,1_{|u| \le c}` has the variance
    :math:`\sigma^2 / (N\,\mathrm{E}\psi')` with
    :math:`\mathrm{E}\psi' = \mathrm{E}\psi^2 = P - 2c\varphi(c)`, where
    :math:`P = 2\Phi(c) - 1` is the part kept (Huber 1981, section 3.2); the rows kept alone
    say :math:`\sigma^2\,\mathrm{E}\psi^2 / (N P^2)`.

    Args:
        cutoff: The cut-off c in standard deviations.

    Returns:
        The ratio :math:`(P / \mathrm{E}\psi')^2`, above 1.
    """
    inside = 2.0 * ndtr(cutoff) - 1.0
    density = np.exp(-0.5 * cutoff**2) / np.sqrt(2.0 * np.pi)
    return float((inside / (inside - 2.0 * cutoff * density)) ** 2)


def _left_out(problem: RegressionProblem, lost: np.ndarray) -> tuple[str, ...]:
    """How many rows of which joint do not count, in words; ``lost`` has the shape ``(n,)``."""
    rows = [
        f'{name} {count} of {total} ({count / total:.1%})'
        for name, count, total in zip(
            problem.model.robot.joint_names, lost, problem.counts, strict=True
        ) if count
    ]
    if not rows:
        return ('No row was left out as an outlier.',)
    many = [
        name for name, part in zip(
            problem.model.robot.joint_names, lost / np.maximum(problem.counts, 1), strict=True
        ) if part > _MANY
    ]
    note = f'Rows left out as outliers: {", ".join(rows)}.'
    return (note, *((
        f'So many outliers of {", ".join(many)} are either disturbances, such as contacts, or '
        'something that the model lacks, such as a friction term.',
    ) if many else ()))


