r"""Nonlinear least squares on a chain: Levenberg and Marquardt's method on manifolds.

Steps solve :math:`(H + \lambda D)\, d = -g` with H of Gauss and Newton, D its diagonal, at its
largest so far (Marquardt 1963; Moré 1978), and :math:`\lambda` after Nielsen (1999) from how
much of the promised decrease came true. Parameters stay within their bounds: the states are
eliminated, and the small problem that is left is solved inside the box.

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
from sysid_ros.estimation.trajectory.chain import (
    ChainPart,
    DampedStep,
    Eliminated,
    Linearised,
    NormalEquations,
    Residuals,
)
from sysid_ros.estimation.trajectory.solution import Iteration

# A step is taken when at least this part of the promised decrease came true.
_WORTHWHILE = 1e-4
# Damping beyond which no step is left, and by how much it rises where nothing can be solved.
_STUCK = 1e16
_RAISED = 10.0
# Damping up to which a step is mostly that of Gauss and Newton.
_FREE = 1.0
# Multipliers are moved until equations hold; unless they got four times better, they weigh more.
_BETTER = 0.25
_HEAVIER = 10.0
# Part of the first cost below which all is rounding.
_ROUNDING = 1e-28


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
        floor: Cost below which all is rounding, where that is known.
    """

    max_iterations: int = 200
    tolerance: float = 1e-10
    gradient_tolerance: float = 1e-12
    closed: float = 1e-9
    damping: float = 1e-4
    weight: float = 1e4
    relief: float = 1.0 / 3.0
    floor: float = 0.0

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
        search = _Search(
            self, problem, lower, upper, states, np.clip(values, lower, upper), self.weight,
            self.damping, progress, linearise, predict)
        status, found = search.run(), search.equations
        return ChainSolution(
            search.states, search.values, status, tuple(search.log), found,
            found.eliminated() if isinstance(found, NormalEquations) else None, search.open)


@dataclass
class _Search:
    """Where the method stands."""

    settings: LevenbergMarquardt
    problem: ChainProblem
    lower: np.ndarray
    upper: np.ndarray
    states: np.ndarray
    values: np.ndarray
    weight: float
    damping: float
    progress: Callable[[Iteration], None] | None
    linearise: Callable[[np.ndarray, np.ndarray], Linearised] | None
    predict: Callable[[np.ndarray, np.ndarray], Linearised] | None
    raised: float = 2.0
    scale: Any = None
    log: list[Iteration] = field(default_factory=list)
    multipliers: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self._linearised if self.predict is None else self.predict
        self.equations = first(self.states, self.values)
        self.least = max(_ROUNDING * self.equations.cost, self.settings.floor)
        self.open = self._open()

    def run(self) -> Status:
        """To the minimum, with equations that hold."""
        while True:
            status = self._descend()
            before, self.open = self.open, self._open()
            if status is not Status.CONVERGED or self.open <= self.settings.closed:
                return status
            parts = self.problem.equations(self.states, self.values)
            for index, part in enumerate(parts):
                self._multiplier(index, part)[:] += self.weight * part.values
            if self.open > _BETTER * before:
                self.weight *= _HEAVIER
            self.equations = self._linearised(self.states, self.values)

    def _descend(self) -> Status:
        """To the minimum of the cost with multipliers as they are."""
        while len(self.log) < self.settings.max_iterations:
            if self.predict is None and self._steepness() <= self.settings.gradient_tolerance:
                return Status.CONVERGED
            found = self.equations.damped_step(
                self.damping, self.scale, self.lower - self.values, self.upper - self.values)
            if found is None and self.predict is not None:
                self._look_again()
            elif found is None:
                self.damping *= _RAISED
            elif self._try(found):
                return Status.CONVERGED
            if self.damping > _STUCK:
                return Status.INACCURATE
        return Status.ITERATION_LIMIT

    def _try(self, found: DampedStep) -> bool:
        """Take a step if it is worthwhile; whether it was too small to go on."""
        promised, self.scale = found.promised, found.scale
        moved = self.problem.space.moved(self.states, found.states), self.values + found.values
        trial = self._linearised(*moved)
        cost = self.equations.cost
        decrease = cost - trial.cost if np.isfinite(trial.cost) else -np.inf
        gain = decrease / promised if promised > 0.0 else -np.inf
        taken = gain > _WORTHWHILE
        line = Iteration(
            trial.cost if taken else cost, decrease, gain, self.damping, found.size,
            self._steepness())
        self.log.append(line)
        if self.progress is not None:
            self.progress(line)
        # Under strong damping little is promised anywhere.
        least = self.settings.tolerance * cost + self.least
        small = promised <= least and self.damping <= _FREE and self.predict is None
        if not taken and self.predict is not None:
            self._look_again()
            return False
        self.predict = None
        if taken:
            (self.states, self.values), self.equations = moved, trial
            self.damping *= max(self.settings.relief, 1.0 - (2.0 * gain - 1.0)**3)
            self.raised = 2.0
            return small and decrease <= least
        self.damping *= self.raised
        self.raised *= 2.0
        # Where hardly anything was promised, refusal is rounding.
        return small

    def _look_again(self) -> None:
        """Slopes where the search begins, in place of what reaches farther."""
        self.predict, self.scale = None, None
        self.equations = self._linearised(self.states, self.values)

    def _steepness(self) -> float:
        """Largest cosine between the residuals and one of their derivatives.

        That of a parameter at its bound counts only where it leads inside.
        """
        return self.equations.steepness(self.values <= self.lower, self.values >= self.upper)

    def _linearised(self, states: np.ndarray, values: np.ndarray) -> Linearised:
        if self.linearise is not None:
            return self.linearise(states, values)
        return NormalEquations.of(
            len(states), self.problem.space.dimension, len(values), self._all(states, values))

    def _all(self, states: np.ndarray, values: np.ndarray) -> Iterator[ChainPart]:
        yield from self.problem.residuals(states, values)
        root = np.sqrt(self.weight)
        for index, part in enumerate(self.problem.equations(states, values)):
            rows = root * part.rows
            rows[:, :, -1] += self._multiplier(index, part) / root
            yield replace(part, rows=rows)

    def _multiplier(self, index: int, part: Residuals) -> np.ndarray:
        """Multipliers of a part of the equations, zero at first."""
        if index == len(self.multipliers):
            self.multipliers.append(np.zeros(part.values.shape))
        return self.multipliers[index]

    def _open(self) -> float:
        parts = self.problem.equations(self.states, self.values)
        return max((float(np.max(np.abs(part.values), initial=0.0)) for part in parts), default=0.0)
