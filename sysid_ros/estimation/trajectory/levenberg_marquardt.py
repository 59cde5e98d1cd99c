r"""Nonlinear least squares on a chain: damped Gauss-Newton steps on manifolds, within bounds.

The damping is in units of the diagonal of the Hessian at its largest so far (Moré 1978), the
search :mod:`~sysid_ros.numerics.least_squares.damped`. Parameters stay within their bounds: the
states are eliminated, and the small problem that is left is solved inside the box.

Equations that must hold exactly are no heavy weights, which would spoil the arithmetic, but have
multipliers y: :math:`\tfrac{\rho}{2}\|c + y / \rho\|^2` is minimised and y moved by
:math:`\rho c` until c is zero (augmented Lagrangian; Nocedal and Wright 2006, chapter 17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.solution import STATUS
from sysid_ros.numerics.least_squares.chain import (
    ChainPart,
    Eliminated,
    Linearised,
    NormalEquations,
    Residuals,
)
from sysid_ros.numerics.least_squares.damped import (
    NO_STEP,
    DampedGaussNewton,
    DampedStep,
    Ended,
    Iteration,
)
from sysid_ros.numerics.noise import correlated_squares

# Multipliers are moved until equations hold; unless they got four times better, they weigh more.
_BETTER = 0.25
_HEAVIER = 10.0


class Space(Protocol):
    """Where states live: a :class:`~.state_space.StateSpace`, or where equations hold."""

    @property
    def dimension(self) -> int:
        """Numbers of a step."""

    def moved(self, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """States ``(N, size)`` after steps ``(N, dimension)``."""


class ChainProblem(Protocol):
    """A chain of states with parameters."""

    @property
    def space(self) -> Space:
        """Where states live."""

    def residuals(self, states: np.ndarray, values: np.ndarray) -> Iterable[ChainPart]:
        """Weighted residuals with their derivatives.

        Args:
            states: Shape ``(N, size)``.
            values: Parameters, shape ``(p,)``.
        """

    def equations(self, states: np.ndarray, values: np.ndarray) -> Iterable[Residuals]:
        """What has to be zero, always in the same parts, in units in which 1 is large."""


@dataclass(frozen=True, eq=False)
class ChainSolution:
    """The minimum of a chain's cost.

    Attributes:
        states: Shape ``(N, size)``.
        values: Parameters, shape ``(p,)``.
        status: How the method ended.
        iterations: Its log.
        equations: The solution, linearised.
        eliminated: Its normal equations without the states, undamped; None where the states are
            not determined, or steps were not found by normal equations.
        open: The largest residual of the equations that must hold.
    """

    states: np.ndarray
    values: np.ndarray
    status: Status
    iterations: tuple[Iteration, ...]
    equations: Linearised
    eliminated: Eliminated | None
    open: float


@dataclass(frozen=True)
class LevenbergMarquardt:
    """The method and its settings.

    Args:
        max_iterations: Most steps tried, refused ones included.
        tolerance: Relative decrease of the cost, promised and achieved, below which it ends.
        gradient_tolerance: Cosine between the residuals and any of their derivatives below
            which it ends.
        closed: How far equations that must hold may be off.
        damping: The first damping.
        weight: The first weight of equations that must hold.
        relief: Part that damping falls to, at most, after a step that came true.
        most_damping: Damping beyond which the search has stalled.
        floor: Cost below which all is rounding, where that is known.
        parameter_tolerance: Part of a standard deviation of the parameters below which a step ends
            it.
        freedom: Residuals less what is fitted to them, by which their variance is known; 0 where
            it is not, and parameters do not end it.
    """

    max_iterations: int = 200
    tolerance: float = 1e-10
    gradient_tolerance: float = 1e-12
    closed: float = 1e-9
    damping: float = 1e-4
    weight: float = 1e4
    relief: float = 1.0 / 3.0
    most_damping: float = NO_STEP
    floor: float = 0.0
    parameter_tolerance: float = 0.0
    freedom: int = 0

    def minimise(
        self, problem: ChainProblem, states: np.ndarray, values: np.ndarray,
        lower: np.ndarray, upper: np.ndarray,
        progress: Callable[[Iteration], None] | None = None,
        linearise: Callable[[np.ndarray, np.ndarray], Linearised] | None = None,
        predict: Callable[[np.ndarray, np.ndarray], Linearised] | None = None,
    ) -> ChainSolution:
        """Minimise the cost.

        Args:
            problem: The chain.
            states: Where to begin, shape ``(N, size)``.
            values: Parameters to begin with, shape ``(p,)``.
            lower: Their lower bounds, shape ``(p,)``.
            upper: Their upper bounds, shape ``(p,)``.
            progress: Told of every step that was tried.
            linearise: Linearises all residuals at states and parameters, in place of adding up
                normal equations; for problems without equations.
            predict: The same for the first step, by what reaches farther than slopes; if this
                step is refused, it is left at that.
        """
        fixed = _Chain(problem, lower, upper, self.weight, linearise)
        values = np.clip(values, lower, upper)
        first = fixed.point(states, values) if predict is None else _Point(
            fixed, states, values, predict(states, values), lambda: fixed.point(states, values))
        search = DampedGaussNewton(
            first, self.max_iterations, self.tolerance, self.gradient_tolerance, self.damping,
            self.relief, self.floor, most_damping=self.most_damping,
            parameter_tolerance=self.parameter_tolerance,
            variance=self._variance if self.freedom > 0 else None, progress=progress)
        ended, gap = self._closed(fixed, search)
        point = search.point
        found = point.equations
        return ChainSolution(
            point.states, point.values, STATUS[ended], tuple(search.log), found,
            found.eliminated() if isinstance(found, NormalEquations) else None, gap)

    def _variance(self, point: _Point) -> float:
        """Mean square of the residuals at a point, those of equations that must hold left out."""
        return point.squares / self.freedom

    def _closed(self, fixed: _Chain, search: DampedGaussNewton[_Point]) -> tuple[Ended, float]:
        """Search until equations hold that have to; how it ended, and how far they are off."""
        gap = fixed.gap(search.point.states, search.point.values)
        while True:
            ended, before = search.run(), gap
            states, values = search.point.states, search.point.values
            gap = fixed.gap(states, values)
            if ended is not Ended.CONVERGED or gap <= self.closed:
                return ended, gap
            for index, part in enumerate(fixed.problem.equations(states, values)):
                fixed.multiplier(index, part)[:] += fixed.weight * part.values
            if gap > _BETTER * before:
                fixed.weight *= _HEAVIER
            search.point = fixed.point(states, values)


@dataclass
class _Chain:
    """What the points of a search have in common."""

    problem: ChainProblem
    lower: np.ndarray
    upper: np.ndarray
    weight: float
    linearise: Callable[[np.ndarray, np.ndarray], Linearised] | None
    multipliers: list[np.ndarray] = field(default_factory=list)

    def point(self, states: np.ndarray, values: np.ndarray) -> _Point:
        """All residuals to first order."""
        found = NormalEquations.of(
            len(states), self.problem.space.dimension, len(values), self._all(states, values),
        ) if self.linearise is None else self.linearise(states, values)
        return _Point(self, states, values, found)

    def _all(self, states: np.ndarray, values: np.ndarray) -> Iterator[ChainPart]:
        yield from self.problem.residuals(states, values)
        root = np.sqrt(self.weight)
        for index, part in enumerate(self.problem.equations(states, values)):
            rows = root * part.rows
            rows[:, :, -1] += self.multiplier(index, part) / root
            yield replace(part, rows=rows)

    def multiplier(self, index: int, part: Residuals) -> np.ndarray:
        """Multipliers of a part of the equations, zero at first."""
        if index == len(self.multipliers):
            self.multipliers.append(np.zeros(part.values.shape))
        return self.multipliers[index]

    def gap(self, states: np.ndarray, values: np.ndarray) -> float:
        """How far the equations are off that have to hold."""
        parts = self.problem.equations(states, values)
        return max((float(np.max(np.abs(part.values), initial=0.0)) for part in parts), default=0.0)


@dataclass(frozen=True, eq=False)
class _Point:
    """States and parameters with their residuals to first order, or a model that reaches farther.

    See :class:`~sysid_ros.numerics.least_squares.damped.Point`.
    """

    fixed: _Chain
    states: np.ndarray
    values: np.ndarray
    equations: Linearised
    linearised: Callable[[], _Point] | None = None

    @property
    def cost(self) -> float:
        """Half the sum of the squared residuals."""
        return self.equations.cost

    @property
    def squares(self) -> float:
        """Squares of the residuals, those that are correlated counted as such.

        Where equations must hold exactly, what the model lacks is in the residuals, and is alike
        for long. Otherwise states follow it.
        """
        if not self.fixed.multipliers:
            return 2.0 * self.cost
        parts = self.fixed.problem.residuals(self.states, self.values)
        return correlated_squares(part.reweighted().rows[:, :, -1] for part in parts)[0]

    def damped_step(self, damping: float, scale: Any) -> DampedStep | None:
        """Damped Gauss-Newton step within the bounds; None where the equations are singular."""
        return self.equations.damped_step(
            damping, scale, self.fixed.lower - self.values, self.fixed.upper - self.values)

    def steepness(self) -> float:
        """That of a parameter at its bound counts only where it leads inside."""
        return self.equations.steepness(
            self.values <= self.fixed.lower, self.values >= self.fixed.upper)

    def moved(self, step: DampedStep) -> _Point:
        """The point after a step."""
        states, values = self.fixed.problem.space.moved(
            self.states, step.states), self.values + step.values
        try:
            return self.fixed.point(states, values)
        except np.linalg.LinAlgError:
            # Bodies that cannot be accelerated, as a long step may make them.
            return _Point(self.fixed, states, values, _Unsolvable())


@dataclass(frozen=True)
class _Unsolvable:
    """What stands for residuals that cannot be computed: a step there is refused."""

    cost: float = np.inf

    def damped_step(
        self, damping: float, scale: Any, lower: np.ndarray, upper: np.ndarray
    ) -> DampedStep | None:
        """None."""
        return None

    def steepness(self, lowest: np.ndarray, highest: np.ndarray) -> float:
        """Infinite."""
        return np.inf
