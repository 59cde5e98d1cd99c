r"""The objective of a fit in a chart, with the quadratic models that a solver steps by.

.. math::
    \tfrac12\|W^{1/2}(\Gamma\,\theta(x) - \tau)\|^2 + s \Big(
        \sum_i D(\phi_i \| \phi_{0,i}) + \tfrac12 \sum_k z_k^2 \Big)
        + \text{augmented Lagrangian}

The prior is the log-det divergence D of bodies and, of joint terms, the squared distance in their
steps: near the prior what the other estimators use, so that strengths compare. All this is
convex in :math:`\theta`, so however the chart bends it, there is one minimum. What is no box in
the chart, ranges of masses and fixed parameters of a body that is free otherwise, are constraints
on :math:`\theta` for an augmented Lagrangian (Nocedal and Wright 2006, chapter 17).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg

from sysid_ros.errors import ParameterError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.parameter_chart import ParameterChart
from sysid_ros.robot.inertia import log_det_divergence

# How much stiffer than the objective the constraints are.
_STIFFNESS = 1e3
# By how much stiffer they become where multipliers settle slowly.
_STIFFER = 10.0
# Most corrections of a step, and how much each must take off the miss.
_CORRECTIONS = 8
_SHRINKING = 0.5
# Rounding of a sum of products, as part of the sum of their sizes.
_ROUNDING = 1e-15
# Part of the prior's weight below which a curvature is rounding. Coordinates on their way to a
# boundary have one that falls like the square of the distance; a larger floor would stop them.
_LEAST_CURVATURE = 1e-10


@dataclass(frozen=True, eq=False)
class Multipliers:
    """State of the augmented Lagrangian for c constraints.

    Attributes:
        force: Lagrange multipliers, shape ``(c,)``.
        stiffness: Penalties, shape ``(c,)``; zero for a constraint that does not act.
    """

    force: np.ndarray
    stiffness: np.ndarray

    def stiffer(self) -> Multipliers:
        """The same forces with larger penalties."""
        return replace(self, stiffness=_STIFFER * self.stiffness)


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    r"""The objective about a point, :math:`\tfrac12\|R\,\delta - b\|^2` up to a constant.

    Attributes:
        triangle: R, shape ``(m, m)``.
        target: b, shape ``(m,)``.
        linear: Rows of the residuals that are linear in the parameters, shape ``(r, p)``.
        slopes: Derivatives of the parameters by the coordinates, shape ``(p, m)``.
        orthonormal: Their part Q of the factors ``linear @ slopes = Q R``, shape ``(r, m)``.
    """

    triangle: np.ndarray
    target: np.ndarray
    linear: np.ndarray
    slopes: np.ndarray
    orthonormal: np.ndarray

    @cached_property
    def gradient(self) -> np.ndarray:
        """Gradient of the objective, shape ``(m,)``."""
        return -self.triangle.T @ self.target

    @cached_property
    def step(self) -> np.ndarray:
        """Step to the model's minimum, shape ``(m,)``."""
        with np.errstate(divide='ignore', invalid='ignore'):
            return scipy.linalg.solve_triangular(self.triangle, self.target, check_finite=False)

    @property
    def decrement(self) -> float:
        """Twice the decrease of the model by its step."""
        return float(self.target @ self.target)

    def least_squares_step(self, change: np.ndarray) -> np.ndarray:
        """Least-squares step ``(m,)`` that changes the linear residuals by this, shape ``(r,)``.

        Solved with Q: normal equations would square weights that exceed the prior's already by
        ten orders.
        """
        return scipy.linalg.solve_triangular(
            self.triangle, self.orthonormal.T @ change, check_finite=False)

    def solve(self, right: np.ndarray) -> np.ndarray:
        r"""Solution of :math:`R^T R\,x = right`, shape ``(m, ...)``."""
        return scipy.linalg.cho_solve((self.triangle, False), right, check_finite=False)


class ChartObjective:
    """The objective in the coordinates x of a chart.

    Args:
        problem: The problem.
        directions: What its weighted rows tell.
        allowed: What physics allows.
        margin: Smallest consistency margin of a body.

    Raises:
        ConfigurationError: The prior is not strictly inside of what is allowed.
    """

    def __init__(
        self, problem: RegressionProblem, directions: DataDirections, allowed: FeasibleSet,
        margin: float,
    ) -> None:
        self.chart = ParameterChart(problem, margin)
        self._reference, self._entries = problem.reference, self.chart.entries
        self._prior, self._scale = problem.parameters.prior[self._entries], problem.scale
        weights, principal, self._target = directions.principal_rows
        # Steps of the prior from parameters: z = back (theta - theta_0).
        free = np.flatnonzero(problem.free)
        self._back = np.zeros((len(free), len(problem.reference)))
        self._back[:, free] = scipy.linalg.inv(problem.scale[free])
        self._matrix = weights[:, None] * principal @ self._back
        self._terms = np.searchsorted(free, [term.index for term in self.chart.terms])
        self._collect_constraints(problem, allowed)

    def _collect_constraints(self, problem: RegressionProblem, allowed: FeasibleSet) -> None:
        """Inequalities that the chart does not hold, then fixed parameters of free bodies."""
        of_masses = ~allowed.matrix[:, self._terms].any(axis=1)
        inequalities = allowed.matrix[of_masses] @ self._back
        rows, unit = [], np.eye(len(problem.reference))
        for body in self.chart.bodies:
            for k in np.arange(body.block.start, body.block.stop)[~problem.free[body.block]]:
                rows.append(unit[k] / np.linalg.norm(body.matrix[k - body.block.start]))
        equations = np.reshape(rows, (-1, len(unit)))
        self._constraints = np.vstack([inequalities, equations])
        self._limits = np.concatenate([allowed.bound[of_masses], np.zeros(len(equations))])
        self._equation = np.arange(len(self._limits)) >= len(inequalities)

    def steps(self, theta: np.ndarray) -> np.ndarray:
        """Steps of the prior z, shape ``(f,)``, of parameters ``(p,)``."""
        return self._back @ (theta - self._reference)

    def prior_curvature(self, theta: np.ndarray, strength: float) -> np.ndarray:
        """Hessian of the prior in its steps z, shape ``(f, f)``.

        Args:
            theta: Parameters, consistent, shape ``(p,)``.
            strength: Weight of the prior.
        """
        hessian = np.zeros((self._scale.shape[1],) * 2)
        hessian[self._terms, self._terms] = 1.0
        of_bodies = log_det_divergence(theta[self._entries], self._prior)[2]
        for body, of_body in zip(self.chart.bodies, of_bodies, strict=True):
            slopes = self._scale[body.block]
            hessian += slopes.T @ of_body @ slopes
        return strength * hessian

    def misfit(self, x: np.ndarray) -> float:
        """Half the squared weighted residual."""
        residual = self._residual(self.chart.theta(x))
        return float(0.5 * residual @ residual)

    def _residual(self, theta: np.ndarray) -> np.ndarray:
        return self._matrix @ (theta - self._reference) - self._target

    def value(self, x: np.ndarray, strength: float, multipliers: Multipliers) -> float:
        """Objective at a strength of the prior; infinite where rounding leaves the chart."""
        theta = self.chart.theta(x)
        residual, z = self._residual(theta), self._back[self._terms] @ (theta - self._reference)
        prior = 0.5 * float(z @ z)
        try:
            prior += float(log_det_divergence(theta[self._entries], self._prior)[0].sum())
        except ParameterError:
            return np.inf
        force, stiffness = self._force(theta, multipliers), multipliers.stiffness
        acting = stiffness > 0.0
        held = float(np.sum(force[acting] ** 2 / stiffness[acting]))
        return 0.5 * float(residual @ residual) + strength * prior + 0.5 * held

    def model(self, x: np.ndarray, strength: float, multipliers: Multipliers) -> QuadraticModel:
        """Newton's model of the objective, made convex body by body."""
        theta, slopes = self.chart.theta(x), self.chart.jacobian(x)
        force, stiffness = self._force(theta, multipliers), multipliers.stiffness
        acting = (stiffness > 0.0) & (self._equation | (force > 0.0))
        root = np.sqrt(stiffness[acting])
        linear = np.vstack([self._matrix, root[:, None] * self._constraints[acting]])
        misfit = np.concatenate([self._residual(theta), force[acting] / root])
        rounding = _ROUNDING * (np.abs(linear) @ np.abs(theta) + np.abs(misfit))
        roots, right = self._prior_roots(
            x, theta, slopes, linear.T @ misfit, np.abs(linear).T @ rounding, strength)
        rows = np.vstack([linear @ slopes, roots])
        right = -np.concatenate([misfit, right])
        orthogonal, triangle = scipy.linalg.qr(rows, mode='economic')
        return QuadraticModel(
            triangle, orthogonal.T @ right, linear, slopes, orthogonal[:len(linear)])

    def _prior_roots(
        self, x: np.ndarray, theta: np.ndarray, slopes: np.ndarray, pull: np.ndarray,
        rounding: np.ndarray, strength: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Prior and curvature of the chart as least squares, block by block.

        Args:
            x: Coordinates, shape ``(m,)``.
            theta: Parameters there, shape ``(p,)``.
            slopes: Their derivatives, shape ``(p, m)``.
            pull: Gradient of all the rest by the parameters, shape ``(p,)``.
            rounding: How far rounding may put that off, shape ``(p,)``.
            strength: Weight of the prior.

        Returns:
            Rows R ``(m, m)`` and y ``(m,)``, so that the Hessian gains R^T R and the prior's
            gradient is R^T y.
        """
        roots, right = np.zeros((len(x), len(x))), np.zeros(len(x))
        _, gradients, hessians = log_det_divergence(theta[self._entries], self._prior)
        for k, (body, gradient, hessian) in enumerate(
            zip(self.chart.bodies, gradients, hessians, strict=True)
        ):
            own = slice(10 * k, 10 * k + 10)
            along = slopes[body.block, own]
            force = _soft_threshold(
                pull[body.block] + strength * gradient, rounding[body.block])
            bend = body.curvature(x[own], force)
            values, vectors = np.linalg.eigh(strength * along.T @ hessian @ along + bend)
            # Where the chart bends the other way, steps as long as if it bent this way are safe.
            values = np.sqrt(np.maximum(np.abs(values), _LEAST_CURVATURE * strength))
            roots[own, own] = values[:, None] * vectors.T
            right[own] = strength * (vectors.T @ (along.T @ gradient)) / values
        first = 10 * len(self.chart.bodies)
        for k, (term, row) in enumerate(zip(self.chart.terms, self._terms, strict=True), first):
            step = self._back[row, term.index]
            gradient = strength * step**2 * (theta[term.index] - self._reference[term.index])
            slope = slopes[term.index, k]
            force = _soft_threshold(pull[term.index] + gradient, rounding[term.index])
            bend = force * term.value(x[k])[2]
            # On the way to a bound, or back, half of it makes steps of two; inside it vanishes.
            roots[k, k] = np.sqrt(np.maximum(
                strength * (step * slope) ** 2 + 0.5 * abs(bend), _LEAST_CURVATURE * strength))
            right[k] = gradient * slope / roots[k, k]
        return roots, right

    def corrected(self, x: np.ndarray, step: np.ndarray, model: QuadraticModel) -> np.ndarray:
        """A step whose effect on the data is what it would be if the chart were straight.

        Where data is nearly exact its level sets are narrow curved valleys, along which straight
        steps get nowhere (second-order correction; Nocedal and Wright 2006, section 18.3).

        Args:
            x: Coordinates, shape ``(m,)``.
            step: A part of the model's step, shape ``(m,)``.
            model: The quadratic model at x.

        Returns:
            Coordinates after the step, shape ``(m,)``.
        """
        wanted = self.chart.theta(x) + model.slopes @ step
        smallest = np.inf
        for _ in range(_CORRECTIONS):
            miss = model.linear @ (self.chart.theta(x + step) - wanted)
            size = float(np.linalg.norm(miss))
            if not size < _SHRINKING * smallest:
                break
            smallest, best = size, step
            step = step - model.least_squares_step(miss)
        return x + best

    def unconstrained(self) -> Multipliers:
        """Constraints that do not act."""
        none = np.zeros(len(self._limits))
        return Multipliers(none, none)

    def stiffened(self, multipliers: Multipliers, x: np.ndarray, strength: float) -> Multipliers:
        """Penalties that are stiff against what each constraint works against at x."""
        model = self.model(x, strength, self.unconstrained())
        across = self._constraints @ model.slopes
        yielding = np.einsum('cm,mc->c', across, model.solve(across.T))
        yielding = np.maximum(yielding, np.finfo(float).tiny)
        return replace(multipliers, stiffness=_STIFFNESS / yielding)

    def updated(self, multipliers: Multipliers, x: np.ndarray) -> tuple[Multipliers, float]:
        """Multipliers after a minimisation, and by how much the worst constraint is missed."""
        force = self._force(self.chart.theta(x), multipliers)
        miss = np.abs(force - multipliers.force) / multipliers.stiffness
        return replace(multipliers, force=force), float(miss.max(initial=0.0))

    def _force(self, theta: np.ndarray, multipliers: Multipliers) -> np.ndarray:
        """First-order estimate of the multipliers, none for constraints that are slack."""
        excess = self._constraints @ (theta - self._reference) - self._limits
        force = multipliers.force + multipliers.stiffness * excess
        return np.where(self._equation, force, np.maximum(force, 0.0))


def _soft_threshold(force: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Soft threshold of forces: their rounding would bend the model more than a weak prior."""
    return np.sign(force) * np.maximum(np.abs(force) - rounding, 0.0)
