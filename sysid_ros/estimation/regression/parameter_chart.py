r"""A chart of all parameters physics allows: numbers x without constraints.

Every body with a free parameter gets the ten log-Cholesky parameters of its pseudo-inertia
less the margin, seen from its prior, :math:`U_0^{-1} (L - \epsilon L_0)\, U_0^{-T}` with
:math:`L_0 = U_0 U_0^T`; since such factors form a group this is the chart of Rucker and Wensing
(2022) with the prior near its origin, and all coordinates are relative changes. A joint term
with one bound gets the logarithm of its distance from it, one with two bounds the logistic
function between them, and one without is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, inertial_from_pseudo
from sysid_ros.robot.log_cholesky import (
    from_log_cholesky,
    log_cholesky,
    log_cholesky_curvature,
    log_cholesky_jacobian,
    upper_cholesky,
)

# A value on a bound begins inside, this part of its step, or of its range, away from it.
_INSIDE = 0.1
# The mass distribution whose pseudo-inertia is the identity.
_UNIT = inertial_from_pseudo(np.eye(4))


@dataclass(frozen=True, eq=False)
class BodyChart:
    r"""Log-Cholesky chart of one body: :math:`\phi = B\,(\epsilon\,\phi_1 + \phi(\eta))`.

    :math:`\phi_1` is the body whose pseudo-inertia is the identity, :math:`\epsilon` the margin.

    Attributes:
        block: Where the body's parameters lie.
        matrix: The map B from parameters seen from the prior to the parameters, ``(10, 10)``.
        start: Chart coordinates of the reference, shape ``(10,)``.
    """

    block: slice
    matrix: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, problem: RegressionProblem, body: str, margin: float) -> BodyChart:
        """The chart of a body of a problem.

        Raises:
            ConfigurationError: The reference is not inside of the margin.
        """
        block = problem.parameters.body_slice(body)
        U = upper_cholesky(problem.parameters.prior[block])
        matrix = inertial_from_pseudo(U @ PSEUDO_INERTIA_BASIS @ U.T).T
        seen = np.linalg.solve(matrix, problem.reference[block])
        try:
            start = log_cholesky(seen - margin * _UNIT)
        except ParameterError as error:
            raise ConfigurationError(
                'the prior is not strictly inside what is allowed', where=body,
                fix='Widen the margin of plausibility, or mend the prior or the fixed values',
            ) from error
        return cls(block, matrix, start)

    def curvature(self, eta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """What the chart adds to the Hessian of a function with this gradient, ``(10, 10)``."""
        return log_cholesky_curvature(eta, self.matrix.T @ gradient)


@dataclass(frozen=True)
class TermChart:
    """Chart of one joint term.

    Attributes:
        index: Where it lies in the parameters.
        lower: Lower bound, or minus infinity.
        upper: Upper bound, or infinity.
        reference: Value at which a fit begins.
        step: One step of the prior.
    """

    index: int
    lower: float
    upper: float
    reference: float
    step: float

    @property
    def start(self) -> float:
        """Coordinate at which a fit begins, inside of the bounds."""
        inside = _INSIDE * min(self.step, self.upper - self.lower)
        value = min(max(self.reference, self.lower + inside), self.upper - inside)
        below, above = value - self.lower, self.upper - value
        if np.isfinite(below) and np.isfinite(above):
            return float(np.log(below / above))
        if np.isfinite(below):
            return float(np.log(below / self.step))
        return float(np.log(above / self.step)) if np.isfinite(above) else 0.0

    def value(self, x: float) -> tuple[float, float, float]:
        """The parameter, and its first and second derivative by the coordinate."""
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            # The logistic function without overflow on either side.
            part = 0.5 * (1.0 + np.tanh(0.5 * x))
            slope = (self.upper - self.lower) * part * (1.0 - part)
            return self.lower + (self.upper - self.lower) * part, slope, slope * (1.0 - 2.0 * part)
        grown = self.step * np.exp(x)
        if np.isfinite(self.lower):
            return self.lower + grown, grown, grown
        if np.isfinite(self.upper):
            return self.upper - grown, -grown, -grown
        return self.reference + self.step * x, self.step, 0.0


class ParameterChart:
    """The chart of all free parameters of a problem, m coordinates.

    A body some of whose parameters are fixed has all ten coordinates: that the fixed ones
    stay is left to the solver.

    Args:
        problem: The problem.
        margin: Smallest consistency margin of a body.

    Raises:
        ConfigurationError: The reference is not strictly inside of what is allowed.
    """

    def __init__(self, problem: RegressionProblem, margin: float) -> None:
        parameters, free = problem.parameters, problem.free
        inertial = np.zeros(len(parameters), dtype=bool)
        self.bodies: list[BodyChart] = []
        for body in parameters.bodies:
            block = parameters.body_slice(body)
            inertial[block] = True
            if free[block].any():
                self.bodies.append(BodyChart.of(problem, body, margin))
        step = np.zeros(len(parameters))
        step[free] = np.linalg.norm(problem.scale[free], axis=1)
        self.terms = [
            TermChart(
                int(k), float(parameters.lower[k]), float(parameters.upper[k]),
                float(problem.reference[k]), float(step[k]),
            ) for k in np.flatnonzero(free & ~inertial)
        ]
        self._reference = problem.reference
        #: Where the parameters of the b bodies lie, shape ``(b, 10)``.
        self.entries = np.reshape(
            [np.arange(body.block.start, body.block.stop) for body in self.bodies], (-1, 10)
        ).astype(int)
        self._matrices = np.reshape([body.matrix for body in self.bodies], (-1, 10, 10))
        self._margin = margin * _UNIT
        self.start = np.concatenate(
            [body.start for body in self.bodies] + [[term.start] for term in self.terms]
        )
        #: True for coordinates in which the parameters are not linear, shape ``(m,)``.
        self.curved = np.array([True] * (10 * len(self.bodies)) + [
            bool(np.isfinite(term.lower) or np.isfinite(term.upper)) for term in self.terms
        ])

    def theta(self, x: np.ndarray) -> np.ndarray:
        """Parameters ``(p,)`` of coordinates ``(m,)``."""
        theta = self._reference.copy()
        seen = self._margin + from_log_cholesky(self._etas(x))
        theta[self.entries] = np.einsum('bij,bj->bi', self._matrices, seen)
        for term, coordinate in zip(self.terms, x[10 * len(self.bodies):], strict=True):
            theta[term.index] = term.value(coordinate)[0]
        return theta

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Derivatives of the parameters by the coordinates, shape ``(p, m)``."""
        jacobian = np.zeros((len(self._reference), len(x)))
        blocks = self._matrices @ log_cholesky_jacobian(self._etas(x))
        for k, body in enumerate(self.bodies):
            jacobian[body.block, 10 * k:10 * k + 10] = blocks[k]
        for column, term in enumerate(self.terms, start=10 * len(self.bodies)):
            jacobian[term.index, column] = term.value(x[column])[1]
        return jacobian

    def _etas(self, x: np.ndarray) -> np.ndarray:
        """Log-Cholesky parameters of the b bodies, shape ``(b, 10)``."""
        return x[:10 * len(self.bodies)].reshape(-1, 10)
