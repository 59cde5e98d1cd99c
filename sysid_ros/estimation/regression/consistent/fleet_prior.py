r"""Least squares with the normal distribution of a fleet as the prior of one of its robots.

.. math::
    \min_\theta \; \tfrac12\|W^{1/2}(\Gamma\theta - \tau)\|^2
        + \tfrac{s}{2}\, x(\theta)^T \Lambda^{-1} x(\theta)
    \quad\text{with}\quad L_i(\theta) \succeq \epsilon L_{0,i},

with :math:`x(\theta)` the coordinates of :mod:`fleet_coordinates
<sysid_ros.estimation.regression.consistent.fleet_coordinates>` around the mean of the fleet. Where
the covariance :math:`\Lambda` is a multiple of the unit matrix, the prior is to second order the
log-det divergence of the entropic estimator, of which this is the form for a fleet: it is as sure
of each combination of parameters as the robots of the fleet allow, and no surer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.fleet_coordinates import BODY, FleetCoordinates
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.consistent.log_cholesky import LogCholeskyLeastSquares
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.settings import StrictSettings

# Variance of what the fleet says nothing of: that of the entropic estimator's default.
_WIDE = 10.0
# Curvatures above the least by less than this part of it are no rows of their own.
_NO_CURVATURE = 1e-6


class FleetPriorSettings(StrictSettings):
    r"""The ``fleet:`` section of a fit: the distribution that a robot is expected to be of.

    ``sysid batch --prior`` writes it, beside a description with the mean of the fleet.

    Attributes:
        robots: Number of robots that it was estimated with.
        bodies: Bodies of which it says something, b of them, with ten coordinates each.
        terms: Means of parameters that belong to no body, k of them, each with a coordinate.
        steps: Units of the coordinates of those of them that are not logarithms.
        covariance: Lower triangle of the covariance :math:`\Lambda` of the coordinates, row by
            row, 10 b + k of them.
    """

    robots: Annotated[int, Field(ge=1)]
    bodies: tuple[str, ...] = ()
    terms: dict[str, float] = {}
    steps: dict[str, Annotated[float, Field(gt=0.0)]] = {}
    covariance: tuple[tuple[float, ...], ...]

    @model_validator(mode='after')
    def _check(self) -> FleetPriorSettings:
        count = BODY * len(self.bodies) + len(self.terms)
        if [len(row) for row in self.covariance] != list(range(1, count + 1)):
            raise ConfigurationError(
                'is no lower triangle', where='covariance',
                found=f'{len(self.covariance)} rows, {sum(map(len, self.covariance))} numbers',
                allowed=f'{count} rows of 1, 2 and so on to {count} numbers',
                fix='Make the settings again: sysid batch --prior')
        values = np.linalg.eigvalsh(self.matrix)
        if not values[:1].all() or values.min(initial=1.0) <= 0.0:
            raise ConfigurationError(
                'is no covariance', where='covariance', found=f'an eigenvalue {values[0]:.3g}',
                allowed='a positive definite matrix',
                fix='Make the settings again: sysid batch --prior')
        bad = [name for name, mean in self.terms.items() if mean <= 0.0 and name not in self.steps]
        strange = [name for name in self.steps if name not in self.terms]
        if bad or strange:
            name = (bad + strange)[0]
            raise ConfigurationError(
                'a logarithm needs a positive mean, and a step a mean',
                where=f'terms.{name}', found=self.terms.get(name, 'nothing'),
                allowed='a number above 0, or any number and an entry in steps',
                fix=f'Write terms: {{{name}: 0.1}} with its mean' if name in strange else
                f'Correct the mean, or give the size of a step: steps: {{{name}: 0.1}}')
        return self

    @property
    def matrix(self) -> np.ndarray:
        """The covariance, shape ``(c, c)``."""
        matrix = np.zeros((len(self.covariance),) * 2)
        for k, row in enumerate(self.covariance):
            matrix[k, :k + 1] = matrix[:k + 1, k] = row
        return matrix

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:
        """Body or term of each coordinate and its number there, c of them."""
        return (
            *((body, k) for body in self.bodies for k in range(BODY)),
            *((name, 0) for name in self.terms))


class FleetObjective:
    """Half the squared weighted residual and half the squared distance from a fleet.

    Args:
        directions: What the weighted rows tell.
        allowed: What physics allows.
        fleet: The distribution.
        strength: Weight of its squared distance; 1 takes it as it is.

    Raises:
        ConfigurationError: The distribution is that of other robots.
    """

    def __init__(
        self, directions: DataDirections, allowed: FeasibleSet, fleet: FleetPriorSettings,
        strength: float,
    ) -> None:
        self.allowed, self.strength = allowed, strength
        self._problem = problem = directions.problem
        self._weights, self._rows, self._target = directions.principal_rows
        self._coordinates = _coordinates(problem, fleet)
        self._precision = strength * np.linalg.inv(_covariance(self._coordinates, fleet))

    @cached_property
    def inside(self) -> np.ndarray:
        """A point strictly inside of what is allowed, shape ``(f,)``."""
        return self.allowed.require_interior()

    @property
    def start(self) -> np.ndarray:
        """The mean of the fleet where it is strictly inside, shape ``(f,)``."""
        away = self._coordinates.reference.values - self._problem.reference
        z = np.linalg.lstsq(self._problem.scale, away, rcond=None)[0]
        return z if (self.allowed.slack(z) > 0.0).all() else self.inside

    def misfit(self, z: np.ndarray) -> float:
        """Half the squared weighted residual."""
        residual = self._residual(z)
        return 0.5 * float(residual @ residual)

    def value(self, z: np.ndarray) -> float:
        """The objective; infinite where a body is not consistent or a logarithm is of nothing."""
        x = self._coordinates.at(self._theta(z))
        if not np.isfinite(x).all():
            return float('inf')
        return self.misfit(z) + 0.5 * float(x @ self._precision @ x)

    def prior_curvature(self, z: np.ndarray) -> np.ndarray:
        """Gauss and Newton's Hessian of the weighted prior, shape ``(f, f)``."""
        _, slope = self._linearised(z)
        return slope.T @ self._precision @ slope

    def predicted(self, z: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """Slope of the objective along a step ``(f,)``, and the decrease its model predicts."""
        x, slope = self._linearised(z)
        change, along = self._weights * (self._rows @ step), slope @ step
        steepness = float(self._residual(z) @ change + x @ self._precision @ along)
        bend = float(change @ change + along @ self._precision @ along)
        return steepness, -(steepness + 0.5 * bend)

    def model(self, z: np.ndarray) -> ConstrainedLeastSquares:
        """Gauss and Newton's model of the objective at a consistent point, with all constraints.

        The least curvature of the prior is a weight of all steps, which makes the model strictly
        convex; what exceeds it becomes further rows.
        """
        x, slope = self._linearised(z)
        values, vectors = np.linalg.eigh(slope.T @ self._precision @ slope)
        least = max(float(values[0]), np.finfo(float).eps * float(values[-1]))
        more = values - least > _NO_CURVATURE * least
        scales = np.concatenate([self._weights, np.sqrt(values[more] - least)])
        rows = np.vstack([self._rows, vectors[:, more].T])
        target = scales * (rows @ z)
        target[:len(self._target)] = self._target
        return ConstrainedLeastSquares(
            scales, rows, target, np.full(len(z), least),
            slope.T @ self._precision @ x - least * z, self.allowed)

    def _residual(self, z: np.ndarray) -> np.ndarray:
        return self._weights * (self._rows @ z) - self._target

    def _theta(self, z: np.ndarray) -> np.ndarray:
        return self._problem.reference + self._problem.scale @ z

    def _linearised(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of a point, shape ``(c,)``, and their derivatives, shape ``(c, f)``."""
        x = self._coordinates.at(self._theta(z))
        free = self._problem.free
        change = self._coordinates.parameters(x[None])[1][0]
        return x, np.linalg.solve(change[free], self._problem.scale[free])


@dataclass(frozen=True)
class FleetLeastSquares(LogCholeskyLeastSquares):
    """The entropic estimator with the distribution of a fleet in place of one strength for all.

    Args:
        prior_strength: Weight of the distribution; 1 takes it as it is.
        plausibility: Margins and ranges of masses.
        max_iterations: Most steps of Gauss and Newton.
        tolerance: How far the objective may be from its minimum, in units of the prior.
        fleet: The distribution.
    """

    prior_strength: float = 1.0
    fleet: FleetPriorSettings = field(kw_only=True)

    name: ClassVar[str] = 'entropic'

    def describe(self) -> dict[str, Any]:
        """Settings as plain values; of the distribution the number of robots."""
        return {**super().describe(), 'fleet': self.fleet.robots}

    def objective(
        self, directions: DataDirections, allowed: FeasibleSet, strength: float
    ) -> FleetObjective:
        """What is minimised; see :class:`LogCholeskyLeastSquares`."""
        return FleetObjective(directions, allowed, self.fleet, strength)


def _coordinates(problem: RegressionProblem, fleet: FleetPriorSettings) -> FleetCoordinates:
    """Coordinates of a problem's free parameters around the mean of a fleet.

    Raises:
        ConfigurationError: The fleet is of other robots, or a body is held in part.
    """
    parameters = problem.parameters
    unknown = [name for name in fleet.terms if name not in parameters.names]
    unknown += [body for body in fleet.bodies if body not in parameters.bodies]
    if unknown:
        raise ConfigurationError(
            'the prior is that of other robots, or of other joint terms', where='fit.fleet',
            found=unknown[0], allowed=', '.join(parameters.names[10 * len(parameters.bodies):]),
            fix='Use the robot: section that sysid batch --prior wrote with it')
    for body in parameters.bodies:
        free = problem.free[parameters.body_slice(body)]
        if free.any() and not free.all():
            raise ConfigurationError(
                'a body of the prior of a fleet is free, or fixed, as a whole',
                where='fit.fixed', found=f'some parameters of {body}',
                fix=f"Write {body}.* or none of it, as fixed: ['{body}.*']")
    values, steps = problem.reference.copy(), np.zeros(len(parameters))
    for k in np.flatnonzero(problem.free):
        name = parameters.names[k]
        if name in fleet.terms:
            values[k], steps[k] = fleet.terms[name], fleet.steps.get(name, 0.0)
        elif not parameters.is_inertial(name):
            steps[k] = np.linalg.norm(problem.scale[k])
    return FleetCoordinates(parameters.with_values(values), steps)


def _covariance(coordinates: FleetCoordinates, fleet: FleetPriorSettings) -> np.ndarray:
    """The fleet's covariance of what is free, and a wide one of what it says nothing of."""
    names = coordinates.reference.names
    own = [
        *((body, k) for body in coordinates.bodies for k in range(BODY)),
        *((names[index], 0) for index in coordinates.terms)]
    places = {label: k for k, label in enumerate(fleet.labels)}
    known = np.array([label in places for label in own], dtype=bool)
    chosen = [places[label] for label in own if label in places]
    covariance = _WIDE * np.eye(len(own))
    covariance[np.ix_(known, known)] = fleet.matrix[np.ix_(chosen, chosen)]
    return covariance
