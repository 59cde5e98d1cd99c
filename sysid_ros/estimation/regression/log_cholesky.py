r"""Nonlinear least squares in a chart of everything physics allows.

Whatever the coordinates of a
:class:`~sysid_ros.estimation.regression.parameter_chart.ParameterChart` are, bodies are
consistent and friction and armature not negative, so the fit is one without constraints
(Rucker and Wensing 2022): Gauss-Newton steps, with the curvature of the chart, and a line search on
:class:`~sysid_ros.estimation.regression.chart_objective.ChartObjective`. Only the ranges of
masses, which are no box in the chart, need multipliers; a result that misses them is refused.

Unlike the barrier of the entropic estimator, whose divergence it shares, the chart lets friction
and armature come to rest on their bounds and masses on the ends of their ranges. Intervals are
those of the posterior of the prior after Laplace; bounds and ranges count as no information.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.chart_objective import ChartObjective, Multipliers
from sysid_ros.estimation.regression.consistent import (
    ConsistentLeastSquares,
    parameters_of,
    verified,
)
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.feasible_set import FeasibleSet

# Sufficient decrease and shortest step of the line search.
_ARMIJO = 1e-4
_SHORTEST_STEP = 1e-10
# No coordinate of the chart, a relative change, moves more than this in one step.
_LONGEST_STEP = 2.0
# Changes of the objective below this part of it are rounding.
_ROUNDING = 1e-11
# Each stage divides the prior's weight by the first and is solved to the second.
_REDUCTION = 10.0
_FOLLOW = 1e-1
# How well constraints are held in the steps of the prior, and most updates of multipliers.
_HELD = 1e-7
# After the first update, what is left to gain is this part of what was.
_FINER = 1e-4
_MAX_UPDATES = 20
# A miss that an update leaves larger than this part of itself wants stiffer penalties
# (Nocedal and Wright 2006, framework 17.3).
_FALLING = 0.25


@dataclass(frozen=True)
class LogCholeskyLeastSquares(ConsistentLeastSquares):
    """Weighted nonlinear least squares in the log-Cholesky chart.

    Args:
        prior_strength: Weight of the prior as in the entropic estimator: a body at twice its
            prior inertia costs 1.2 of it, in squared standard deviations of the torque noise.
        plausibility: Margins and ranges of masses.
        tolerance: Squared Newton decrement, in units of the prior, at which it ends.
        max_iterations: Most Gauss-Newton steps.
    """

    prior_strength: float = 0.1
    max_iterations: int = 500
    tolerance: float = 1e-8

    name: ClassVar[str] = 'log_cholesky'
    near_bounds: ClassVar[str] = (
        'Intervals take bounds for no information, so they are too wide rather than too narrow.'
    )

    def minimise(
        self, directions: DataDirections, allowed: FeasibleSet
    ) -> tuple[np.ndarray, Status, int]:
        """The steps with the smallest objective; see :class:`ConsistentLeastSquares`.

        Raises:
            ConfigurationError: The prior is not strictly inside of what is allowed.
        """
        objective = self._objective(directions, allowed)
        path = _Path.start(objective).down_to(self.prior_strength, self)
        return path.steps, path.status, path.iterations

    def minimise_each(
        self, directions: DataDirections, allowed: FeasibleSet, strengths: Sequence[float]
    ) -> Iterator[tuple[np.ndarray, Status]]:
        """What the estimator finds with falling strengths, each starting from the one before.

        After one that did not converge the weaker ones are not tried, and have its status.
        """
        path = _Path.start(self._objective(directions, allowed))
        for strength in strengths:
            if path.status.ok:
                path = path.down_to(strength, self)
            yield verified(allowed, path.steps, path.status)

    def prior_curvature(
        self, directions: DataDirections, allowed: FeasibleSet, z: np.ndarray
    ) -> np.ndarray:
        """Hessian of the weighted divergence, ``(f, f)``; see :class:`ConsistentLeastSquares`."""
        theta = parameters_of(directions.problem, z)
        return self._objective(directions, allowed).prior_curvature(theta, self.prior_strength)

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {**super().describe(), 'tolerance': self.tolerance}

    def _objective(self, directions: DataDirections, allowed: FeasibleSet) -> ChartObjective:
        return ChartObjective(directions.problem, directions, allowed, self.plausibility.margin)


@dataclass(frozen=True, eq=False)
class _Path:
    """The minimiser on its way from a dominant prior to a weak one.

    Far from the minimum of a weak prior the chart is bent; a stronger prior is near its own,
    and each minimiser starts the next.

    Attributes:
        objective: What is minimised.
        x: Coordinates, shape ``(m,)``.
        multipliers: Forces of the constraints there.
        strength: Weight of the prior that they belong to.
        status: How the last stage ended.
        iterations: Gauss-Newton steps of the way from the last strength that was asked for.
    """

    objective: ChartObjective
    x: np.ndarray
    multipliers: Multipliers
    strength: float
    status: Status = Status.CONVERGED
    iterations: int = 0

    @classmethod
    def start(cls, objective: ChartObjective) -> _Path:
        """The prior, and a strength at which it is near the minimum."""
        x = objective.chart.start.copy()
        return cls(objective, x, objective.unconstrained(), objective.misfit(x) / len(x))

    @property
    def steps(self) -> np.ndarray:
        """Steps of the prior z, shape ``(f,)``."""
        return self.objective.steps(self.objective.chart.theta(self.x))

    def down_to(self, strength: float, settings: LogCholeskyLeastSquares) -> _Path:
        """The minimiser at a strength of the prior."""
        path = replace(self, iterations=0)
        for stage in _strengths(self.strength, strength):
            path = path._stage(stage, stage == strength, settings)
            if not path.status.ok:
                break
        return path

    def _stage(self, strength: float, final: bool, settings: LogCholeskyLeastSquares) -> _Path:
        """The minimiser at one strength, near which the path is; a rough one unless final."""
        objective, x, iterations = self.objective, self.x, self.iterations
        multipliers = objective.stiffened(self.multipliers, x, strength)
        tolerance, last = settings.tolerance if final else _FOLLOW, np.inf
        # As in the interior-point method, what rounding of the misfit hides is no gain.
        accuracy = max(tolerance * strength, _ROUNDING * objective.misfit(x))
        for _ in range(_MAX_UPDATES):
            x, status, used = _gauss_newton(
                objective, multipliers, x, strength, accuracy,
                settings.max_iterations - iterations,
            )
            iterations += used
            if not status.ok:
                break
            multipliers, miss = objective.updated(multipliers, x)
            if not final or miss <= _HELD:
                break
            if miss > _FALLING * last:
                multipliers = multipliers.stiffer()
            if last == np.inf:
                accuracy *= _FINER
            last = miss
        else:
            status = Status.INACCURATE
        return replace(
            self, x=x, multipliers=multipliers, strength=strength, status=status,
            iterations=iterations,
        )


def _strengths(first: float, last: float) -> list[float]:
    """Falling weights of the prior, each a fixed part of the one before."""
    stages = max(int(np.ceil(np.log(max(first / last, 1.0)) / np.log(_REDUCTION))), 1)
    return [last * _REDUCTION**stage for stage in range(stages - 1, -1, -1)]


def _gauss_newton(
    objective: ChartObjective, multipliers: Multipliers, x: np.ndarray, strength: float,
    accuracy: float, most: int,
) -> tuple[np.ndarray, Status, int]:
    """Damped Gauss-Newton steps that follow the curved valley of what the data tells."""
    value = objective.value(x, strength, multipliers)
    for iteration in range(1, most + 1):
        model = objective.model(x, strength, multipliers)
        step, decrement = model.step, model.decrement
        if not np.isfinite(decrement):
            return x, Status.INACCURATE, iteration
        if decrement <= accuracy:
            return x, Status.CONVERGED, iteration
        longest = np.abs(step[objective.chart.curved]).max(initial=0.0)
        length = min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
        while True:
            trial = objective.corrected(x, length * step, model)
            found = objective.value(trial, strength, multipliers)
            if found <= value - _ARMIJO * length * decrement:
                break
            length *= 0.5
            if length < _SHORTEST_STEP:
                # Rounding hides any decrease; that is the end if the step was tiny anyway.
                hidden = decrement <= _ROUNDING * abs(value)
                return x, Status.CONVERGED if hidden else Status.INACCURATE, iteration
        x, value = trial, found
    return x, Status.ITERATION_LIMIT, most
