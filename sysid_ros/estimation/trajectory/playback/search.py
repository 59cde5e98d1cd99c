"""Searches for the parameters of a playback: Gauss-Newton, L-BFGS, and steepest descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.trajectory.playback.problem import PlaybackProblem, Point
from sysid_ros.numerics.least_squares.bordered import Bordered
from sysid_ros.numerics.least_squares.damped import DampedGaussNewton, DampedStep, Iteration

# Damping: first, what counts as free, and the part that it falls to, at most, in a step.
_FIRST, _FREE, _RELIEF = 1e-4, 1e-2, 0.1
# A logarithm within this of its bound is at it.
_AT_BOUND = 1e-9
# Halvings of a step of a line search before it is given up.
_MOST_HALVINGS = 60


class SearchStatus(Enum):
    """How a search ended; the value is the sentence for people."""

    CONVERGED = 'The search converged.'
    AT_BOUND = 'The search converged, but with a parameter at its bound.'
    ITERATION_LIMIT = 'The search ran out of iterations.'
    STALLED = 'No step along the search direction made the fit better.'

    @property
    def ok(self) -> bool:
        """Whether a minimum was found inside of the bounds."""
        return self is SearchStatus.CONVERGED


@dataclass(frozen=True, eq=False)
class Step:
    """One line of a search's log.

    Attributes:
        values: The sought parameters after it, shape ``(k,)``.
        cost: Half the sum of squares there.
        gradient: Norm of the gradient by logarithms where it began.
        simulations: How many motions were simulated for it.
    """

    values: np.ndarray
    cost: float
    gradient: float
    simulations: int


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes:
        status: How it ended.
        problem: The problem, with the schedule of steps that was used.
        point: The best place.
        steps: The log.
    """

    status: SearchStatus
    problem: PlaybackProblem
    point: Point
    steps: tuple[Step, ...]

    @property
    def values(self) -> np.ndarray:
        """The sought parameters, shape ``(k,)``."""
        return np.exp(self.point.logs)

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Names of parameters that lie at a bound."""
        lower, upper = self.problem.bounds
        near = (self.point.logs - lower < _AT_BOUND) | (upper - self.point.logs < _AT_BOUND)
        return tuple(
            entry.name for entry, at in zip(self.problem.free_parameters, near, strict=True) if at)


#: Told of every step.
Progress = Callable[[Step], None]


def _begin(problem: PlaybackProblem, derivatives: bool) -> tuple[PlaybackProblem, Point]:
    """The first point, and the problem with its schedule.

    Raises:
        EstimationError: The motion cannot be simulated there.
    """
    point = problem.evaluate(problem.first, derivatives=derivatives)
    if not np.isfinite(point.cost):
        raise EstimationError(
            'the recording cannot be played back with the values that the search begins at',
            found=problem.ended(point), fix='Hold the arm more firmly to what was measured, begin '
            'elsewhere, or allow more substeps')
    return problem.scheduled(point), point


def _ended(found: Found) -> Found:
    if found.status is SearchStatus.CONVERGED and found.at_bound:
        return Found(SearchStatus.AT_BOUND, found.problem, found.point, found.steps)
    return found


def gauss_newton(
    problem: PlaybackProblem, *, max_iterations: int = 50, tolerance: float = 1e-8,
    progress: Progress | None = None,
) -> Found:
    """Damped Gauss-Newton steps by sensitivities; a motion that blows up raises the damping.

    Args:
        problem: The problem.
        max_iterations: Most simulations with sensitivities.
        tolerance: Decrease of the cost, in parts of it, that ends the search.
        progress: Told of every step.

    Raises:
        EstimationError: The motion cannot be simulated where the search begins.
    """
    begun, log = _Linearised(*_begin(problem, True)), list[Step]()

    def logged(_: Iteration) -> None:
        nonlocal begun
        here, gradient = search.point, begun.equations.gradient
        log.append(_logged_step(here.problem, here.point, gradient, progress))
        begun = here

    search = DampedGaussNewton(
        begun, max_iterations, tolerance, 0.0, _FIRST, _RELIEF, free=_FREE, confirmed=False,
        progress=logged)
    status = SearchStatus[search.run().name]
    return _ended(Found(status, search.point.problem, search.point.point, tuple(log)))


@dataclass(frozen=True, eq=False)
class _Linearised:
    """A place with its normal equations, see :mod:`~sysid_ros.numerics.least_squares.damped`.

    Attributes:
        problem: The problem, with the steps that it took there.
        point: Where it is, with derivatives.
    """

    problem: PlaybackProblem
    point: Point
    linearised: ClassVar[None] = None

    @property
    def cost(self) -> float:
        """Half the sum of the squared residuals."""
        return self.point.cost

    @cached_property
    def equations(self) -> Bordered:
        """Normal equations of the logarithms."""
        hessian, gradient = normal_equations(self.problem, self.point)
        return Bordered.of(hessian[None], gradient[None], 0)

    def damped_step(self, damping: float, scale: Any) -> DampedStep:
        """Damped Gauss-Newton step within the bounds."""
        return self.equations.damped_step(damping, *self._bounds)

    @property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self.problem.bounds
        return lower - self.point.logs, upper - self.point.logs

    def steepness(self) -> float:
        """Largest part of the gradient over the scale, but for what bounds forbid to follow."""
        return self.equations.steepness(*self._bounds)

    def moved(self, step: DampedStep) -> _Linearised:
        """The point after a step, played back again."""
        logs = np.clip(self.point.logs + step.values, *self.problem.bounds)
        trial = self.problem.evaluate(logs, derivatives=True)
        found = np.isfinite(trial.cost)
        return _Linearised(self.problem.scheduled(trial) if found else self.problem, trial)


def normal_equations(problem: PlaybackProblem, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Newton's Hessian ``(k, k)`` and the gradient ``(k,)`` by logarithms."""
    count = len(problem.free_parameters)
    hessian, gradient = np.zeros((count, count)), np.zeros(count)
    for values, slopes in problem.rows(point):
        rows, right = slopes.reshape(-1, count), values.reshape(-1)
        hessian += rows.T @ rows
        gradient += right @ rows
    return hessian, gradient


def _free(
    logs: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Parameters that the gradient does not press against their bounds."""
    held = ((logs <= lower) & (gradient > 0.0)) | ((logs >= upper) & (gradient < 0.0))
    return np.flatnonzero(~held)


def _logged_step(
    problem: PlaybackProblem, point: Point, gradient: np.ndarray, progress: Progress | None,
    simulations: int = 1,
) -> Step:
    step = Step(
        np.exp(point.logs), point.cost, float(np.linalg.norm(gradient)),
        simulations * len(problem.playbacks))
    if progress is not None:
        progress(step)
    return step


@dataclass(frozen=True)
class LineSearch:
    """Armijo's rule.

    Attributes:
        slope: Part of the slope that a step has to make true.
        shorter: Factor from one trial to the next.

    Raises:
        ConfigurationError: A number is not between zero and one.
    """

    slope: float = 0.4
    shorter: float = 0.4

    def __post_init__(self) -> None:
        for name in ('slope', 'shorter'):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigurationError(
                    "the setting of Armijo's rule cannot be used", where=name,
                    found=getattr(self, name), allowed='between zero and one')

    def along(
        self, problem: PlaybackProblem, point: Point, gradient: np.ndarray,
        direction: np.ndarray, first: float,
    ) -> tuple[Point | None, float, int]:
        """A point that is better, None if there is none, its step, and how many were tried."""
        lower, upper = problem.bounds
        length, fall = first, gradient @ direction
        for tried in range(1, _MOST_HALVINGS + 1):
            trial = problem.evaluate(np.clip(point.logs + length * direction, lower, upper))
            if trial.cost <= point.cost + self.slope * length * fall:
                return trial, length, tried
            length *= self.shorter
        return None, length, _MOST_HALVINGS


def steepest_descent(
    problem: PlaybackProblem, *, max_iterations: int = 75, tolerance: float = 1e-6,
    line: LineSearch | None = None, progress: Progress | None = None,
) -> Found:
    """Steepest descent with Armijo's rule, as in the paper, by the adjoint gradient.

    The first step is one over the norm of the first gradient; each line search begins a step
    longer than the last one ended.

    Args:
        problem: The problem.
        max_iterations: Most gradients.
        tolerance: Norm of the gradient, in parts of the cost, that ends the search.
        line: The line search.
        progress: Told of every step.

    Raises:
        EstimationError: The motion cannot be simulated where the search begins.
    """
    return _descend(problem, 0, max_iterations, tolerance, line or LineSearch(), progress)


def lbfgs(
    problem: PlaybackProblem, *, memory: int = 8, max_iterations: int = 75,
    tolerance: float = 1e-6, line: LineSearch | None = None, progress: Progress | None = None,
) -> Found:
    """Limited-memory BFGS with Armijo's rule (Nocedal 1980), by the adjoint gradient.

    It remembers the last ``memory`` steps; for the rest see :func:`steepest_descent`.

    Raises:
        ConfigurationError: It remembers nothing.
    """
    if memory < 1:
        raise ConfigurationError('L-BFGS remembers nothing', where='memory', found=memory)
    line = line or LineSearch(1e-4, 0.5)
    return _descend(problem, memory, max_iterations, tolerance, line, progress)


def _descend(
    problem: PlaybackProblem, memory: int, max_iterations: int, tolerance: float,
    line: LineSearch, progress: Progress | None,
) -> Found:
    problem, point = _begin(problem, False)
    gradient, pairs = problem.gradient(point), list[tuple[np.ndarray, np.ndarray]]()
    log, length = list[Step](), 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    status = SearchStatus.ITERATION_LIMIT
    for _ in range(max_iterations):
        held = np.setdiff1d(
            np.arange(len(gradient)), _free(point.logs, gradient, *problem.bounds))
        slope = gradient.copy()
        slope[held] = 0.0
        if np.linalg.norm(slope) <= tolerance * point.cost:
            status = SearchStatus.CONVERGED
            break
        direction = -_inverse_times(pairs, slope)
        direction[held] = 0.0
        if not slope @ direction < 0.0:
            direction, pairs = -slope, []
        trial, length, tried = line.along(
            problem, point, slope, direction, 1.0 if pairs else length)
        if trial is None:
            if pairs:
                pairs, length = [], 1.0 / float(np.linalg.norm(gradient))
                continue
            status = SearchStatus.STALLED
            break
        after = problem.gradient(trial)
        if memory:
            _remember(pairs, trial.logs - point.logs, after - gradient, memory)
        log.append(_logged_step(problem, trial, gradient, progress, tried + 1))
        point, gradient, length = trial, after, length / line.shorter
        problem = problem.scheduled(point)
    return _ended(Found(status, problem, point, tuple(log)))


def _remember(
    pairs: list[tuple[np.ndarray, np.ndarray]], step: np.ndarray, change: np.ndarray, memory: int
) -> None:
    """Keep a pair whose curvature is positive."""
    if step @ change > 1e-12 * np.linalg.norm(step) * np.linalg.norm(change):
        pairs.append((step, change))
        del pairs[:-memory]


def _inverse_times(
    pairs: list[tuple[np.ndarray, np.ndarray]], gradient: np.ndarray
) -> np.ndarray:
    """The remembered inverse Hessian times a gradient: Nocedal's two loops."""
    result, weights = gradient.copy(), []
    for step, change in reversed(pairs):
        weight = (step @ result) / (step @ change)
        weights.append(weight)
        result = result - weight * change
    if pairs:
        step, change = pairs[-1]
        result = result * (step @ change) / (change @ change)
    for (step, change), weight in zip(pairs, reversed(weights), strict=True):
        result = result + step * (weight - (change @ result) / (step @ change))
    return result
