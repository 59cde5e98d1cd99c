r"""Distribution of the parameters of robots of one type, by expectation and maximisation.

Robot i has coordinates :math:`x_i \sim N(\mu, \Lambda)` (:mod:`fleet_coordinates
<sysid_ros.estimation.regression.consistent.fleet_coordinates>`), of which its fits tell
:math:`\hat\beta_i = K \theta(x_i) + \epsilon_i` with :math:`\epsilon_i \sim N(0, \Sigma_i)`. The
posterior of each robot is that of Laplace, by steps of Gauss and Newton in every round; then
:math:`\mu` is the mean of the robots, and :math:`\Lambda` their scatter and uncertainty (Dempster,
Laird and Rubin 1977). :math:`\Lambda` has
a block for each body and for each kind of term. A few robots cannot tell a block, so each is shrunk
to a multiple of the unit matrix, which in these coordinates depends on no frame, as an inverse
Wishart prior does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.regression.consistent.fleet_coordinates import FleetCoordinates
from sysid_ros.estimation.regression.consistent.fleet_prior import FleetPriorSettings
from sysid_ros.fleet.observations import FleetObservations

#: Fewest robots that make a distribution.
LEAST = 3
# Standard deviation of a coordinate before the first round: a relative change of 50 %.
_START = 0.5
# Robots that the common multiple of a block counts as, for each of its dimensions.
_PSEUDO_ROBOTS = 0.5
# Least standard deviation of a coordinate, so that no round divides by nothing.
_FLOOR = 1e-4
_ROUNDS, _ACCURACY = 100, 5e-3
# Largest change of a coordinate in one step of Gauss and Newton.
_LONGEST = 1.0


@dataclass(frozen=True, eq=False)
class FleetDistribution:
    r"""Normal distribution of the coordinates of a fleet.

    Attributes:
        coordinates: What they mean.
        mean: :math:`\mu`, shape ``(c,)``.
        covariance: :math:`\Lambda`, shape ``(c, c)``.
        mean_covariance: How well the mean is known, shape ``(c, c)``.
    """

    coordinates: FleetCoordinates
    mean: np.ndarray
    covariance: np.ndarray
    mean_covariance: np.ndarray

    @classmethod
    def wide(cls, coordinates: FleetCoordinates) -> FleetDistribution:
        """The distribution before anything is known: around the reference."""
        count = coordinates.count
        wide = _START**2 * np.eye(count)
        return cls(coordinates, np.zeros(count), wide, wide)

    @cached_property
    def theta(self) -> np.ndarray:
        """Parameters at the mean, shape ``(p,)``."""
        return self.coordinates.parameters(self.mean[None])[0][0]

    @property
    def predictive(self) -> np.ndarray:
        """Covariance of a robot that the distribution was not estimated with, ``(c, c)``."""
        return self.covariance + self.mean_covariance

    @property
    def spread(self) -> np.ndarray:
        """Standard deviations of the coordinates, shape ``(c,)``: relative changes, or steps."""
        return np.sqrt(np.diag(self.covariance))

    def as_prior(self, robots: int) -> FleetPriorSettings:
        """The distribution around its mean as the ``fleet:`` section of a fit of a new robot.

        Args:
            robots: Number of robots that it was estimated with.
        """
        own, theta = self.coordinates, self.theta
        names = own.reference.names
        around = own.recentred(theta)
        inertial = [own.reference.body_slice(body) for body in own.bodies]
        rows = np.concatenate([*(np.arange(each.start, each.stop) for each in inertial), own.terms])
        slopes = [coordinates.parameters(x[None])[1][0][rows] for coordinates, x in (
            (around, np.zeros(own.count)), (own, self.mean))]
        change = np.linalg.solve(*slopes)
        covariance = change @ self.predictive @ change.T
        return FleetPriorSettings(
            robots=robots, bodies=own.bodies,
            terms={names[k]: float(theta[k]) for k in own.terms},
            steps={names[k]: float(own.steps[k]) for k in own.terms if own.steps[k]},
            covariance=tuple(
                tuple(float(f'{value:.9g}') for value in row[:k])
                for k, row in enumerate(0.5 * (covariance + covariance.T), start=1)))

    def posterior(
        self, observed: FleetObservations, start: np.ndarray | None = None, steps: int = 30, *,
        members: bool = False,
    ) -> FleetPosterior:
        """Coordinates of robots with this distribution as their prior.

        Args:
            observed: What their fits know, N robots.
            start: Where the steps of Gauss and Newton begin, shape ``(N, c)``; the mean by
                default.
            steps: How many at most.
            members: Whether the distribution was estimated with them; its mean then counts as
                known.
        """
        x = np.repeat(self.mean[None], len(observed.robots), axis=0) if start is None else start
        prior = np.linalg.inv(self.covariance if members else self.predictive)
        for _ in range(steps):
            theta, slope = self.coordinates.parameters(x)
            slope = observed.grouping @ slope
            weights = np.swapaxes(slope, 1, 2) @ observed.information
            known = np.einsum('nij,nj->ni', observed.information, theta @ observed.grouping.T)
            gradient = np.einsum('nri,nr->ni', slope, observed.weighted - known)
            covariance = np.linalg.inv(weights @ slope + prior)
            step = np.einsum('nij,nj->ni', covariance, gradient - (x - self.mean) @ prior)
            size = np.abs(step).max(axis=1, initial=0.0)
            x = x + step * np.minimum(1.0, _LONGEST / np.maximum(size, _LONGEST))[:, None]
            if size.max(initial=0.0) < _ACCURACY * _FLOOR:
                break
        return FleetPosterior(x, covariance)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            'coordinates': self.coordinates.to_json(), 'mean': self.mean.tolist(),
            'covariance': self.covariance.tolist(),
            'mean_covariance': self.mean_covariance.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FleetDistribution:
        """The inverse of :meth:`to_json`.

        Raises:
            ValueError: A part is not of as many coordinates as the others.
        """
        coordinates = FleetCoordinates.from_json(data['coordinates'])
        count = coordinates.count
        mean, *covariances = (
            np.array(data[name], dtype=float) for name in ('mean', 'covariance', 'mean_covariance'))
        if mean.shape != (count,) or any(each.shape != (count, count) for each in covariances):
            raise ValueError(f'a distribution is not one of {count} coordinates')
        return cls(coordinates, mean, *covariances)


@dataclass(frozen=True, eq=False)
class FleetPosterior:
    """Coordinates of N robots, and how sure they are.

    Attributes:
        mean: Shape ``(N, c)``.
        covariance: Shape ``(N, c, c)``.
    """

    mean: np.ndarray
    covariance: np.ndarray


def estimate_distribution(
    observed: FleetObservations, coordinates: FleetCoordinates,
    start: FleetDistribution | None = None, rounds: int = _ROUNDS,
) -> tuple[FleetDistribution, FleetPosterior]:
    """Estimate the distribution of a fleet and, with it as their prior, its robots.

    Args:
        observed: What the fits know of N robots.
        coordinates: Coordinates of the parameters.
        start: Where to begin.
        rounds: How many at most.

    Returns:
        The distribution, and the robots.

    Raises:
        EstimationError: There are fewer than :data:`LEAST` robots.
    """
    if len(observed.robots) < LEAST:
        raise EstimationError(
            'there are too few robots for what they have in common',
            found=f'{len(observed.robots)} that can be used: {", ".join(observed.robots)}',
            allowed=f'{LEAST} or more of one type', fix='Fit more robots')
    fleet = start or FleetDistribution.wide(coordinates)
    posterior = fleet.posterior(observed, members=True)
    for _ in range(rounds):
        before, fleet = fleet, _updated(posterior, coordinates)
        posterior = fleet.posterior(observed, posterior.mean, steps=1, members=True)
        moved = np.abs(fleet.mean - before.mean) / fleet.spread
        grown = np.abs(np.log(fleet.spread / before.spread))
        if max(moved.max(initial=0.0), grown.max(initial=0.0)) < _ACCURACY:
            break
    return replace(fleet, mean_covariance=_mean_covariance(fleet, posterior)), posterior


def _updated(posterior: FleetPosterior, coordinates: FleetCoordinates) -> FleetDistribution:
    """The distribution that robots, each known so well, are most likely of."""
    count = len(posterior.mean)
    covariance = _covariance(posterior, coordinates)
    inverse = np.linalg.inv(covariance)
    # The mean is sought around the reference, as wide as the first round begins.
    wide = np.eye(coordinates.count) / _START**2
    mean = np.linalg.solve(
        count * inverse + wide, count * inverse @ posterior.mean.mean(axis=0))
    return FleetDistribution(coordinates, mean, covariance, np.linalg.inv(wide))


def _mean_covariance(fleet: FleetDistribution, posterior: FleetPosterior) -> np.ndarray:
    """Covariance of the mean, by what the robots' data determines of their coordinates."""
    inverse = np.linalg.inv(fleet.covariance)
    shared = (fleet.covariance - posterior.covariance).sum(axis=0)
    known = inverse @ shared @ inverse
    return np.linalg.inv(0.5 * (known + known.T) + np.eye(len(known)) / _START**2)


def _covariance(posterior: FleetPosterior, coordinates: FleetCoordinates) -> np.ndarray:
    """Scatter of the robots about their mean, and their uncertainty, shrunk in each block."""
    count = len(posterior.mean)
    away = posterior.mean - posterior.mean.mean(axis=0)
    scatter = away.T @ away + posterior.covariance.sum(axis=0) * (count - 1) / count
    covariance = np.zeros_like(scatter)
    for indices, independent in coordinates.blocks:
        inner = np.ix_(indices, indices)
        block = scatter[inner]
        common = np.trace(block) / (len(indices) * (count - 1))
        if independent:
            block = np.diag(np.diag(block))
        pseudo = _PSEUDO_ROBOTS * len(indices)
        unit = (pseudo * common + _FLOOR**2) * np.eye(len(indices))
        covariance[inner] = (block + unit) / (count - 1 + pseudo)
    return covariance
