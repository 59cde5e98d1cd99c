r"""Damped Gauss-Newton steps to a minimum of nonlinear least squares.

Steps solve :math:`(H + \lambda D)\, d = -g` with H of Gauss and Newton and D its diagonal
(Levenberg 1944; Marquardt 1963), and :math:`\lambda` follows Nielsen's rule (1999): the more of
the promised decrease came true, the less the next step is damped. What the residuals are, how
their normal equations are solved, and where a step leads, is a point's own.

A search ends where the cost can fall no further, or where parameters stand still: with the
residuals' variance :math:`s^2` and the information I of the parameters, states adapted, the step d
of Gauss and Newton is at most a part :math:`\epsilon` of a standard deviation long,
:math:`d^\top I d \le \epsilon^2 s^2`. Then it moves no parameter, and no combination of them, by
more than that part of its own deviation, and what is left of the cost tells nothing: be it rough
by rounding or by joints that stick, more steps would follow the roughness. The whole step, states
and all, has to be below one deviation, so that the model that says so is a good one. Where a step
from there did not come true, the cost is rougher than what is left to gain, and a quarter of a
deviation is as little: damped steps would gain what is noise as well, and an interval that is off
by so much still holds the truth 94 % of the time where it should 95 %.

"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

#: Damping beyond which no step is left.
NO_STEP = 1e16
# A step is taken when at least this part of the promised decrease came true.
_WORTHWHILE = 1e-4
# By how much damping rises where nothing can be solved.
_RAISED = 10.0
# Part of the first cost below which all is rounding.
_COST_TOLERANCE = 1e-28
# Damping that is none, but for directions that nothing determines; and squared length of a whole
# step, in squared deviations, up to which its model is good.
_UNDAMPED, _LINEAR = 1e-12, 1.0
# Part of a deviation that is nothing where a step did not come true; and so many steps in a row
# get nowhere if together they come to less. Fewer may only wait for damping to fall.
_REFUSED, _IDLE = 0.25, 20


class Ended(Enum):
    """How a search ended."""

    CONVERGED = 'steps, or the gradient, promise no decrease that counts'
    STALLED = 'steps no longer decrease the cost by anything that counts'
    ITERATION_LIMIT = 'the search ran out of iterations'


def deviations_of(information: np.ndarray, values: np.ndarray) -> float:
    """Length of a step of parameters in standard deviations, for residuals of unit variance.

    Args:
        information: Of the parameters, shape ``(p, p)``.
        values: The step, shape ``(p,)``.
    """
    return float(np.sqrt(max(values @ information @ values, 0.0)))


class DampedStep(NamedTuple):
    """A step to the minimum of a damped quadratic model.

    Attributes:
        states: Of the states, which belong to parts of the data, such as ``(N, n)`` of a chain.
        values: Of the parameters that all share, shape ``(p,)``.
        promised: What it takes off the model without damping.
        size: Largest part of the parameters' step, in units of their scale.
        deviations: Length of the parameters' step in the metric of their information, states
            adapted: in standard deviations, for residuals of unit variance.
        scale: What steps are damped in units of, for the next one; None for the curvature there.
    """

    states: np.ndarray
    values: np.ndarray
    promised: float
    size: float
    deviations: float
    scale: Any


@dataclass(frozen=True)
class Iteration:
    """One line of a search's log.

    Attributes:
        cost: Half the sum of squared weighted residuals after it.
        decrease: How much of the cost it took off; negative for a step that was refused.
        gain: That over what the linear model promised.
        damping: Marquardt's parameter it was made with.
        step: Size of the parameters' step, in units of their scale.
        gradient: Largest cosine between the residuals and one of their derivatives.
        accepted: Whether the step was taken.
        seconds: How long it took to compute and to try, in [s]; says nothing of what was found.
        stage: The search that it belongs to, where one comes after another.
    """

    cost: float
    decrease: float
    gain: float
    damping: float
    step: float
    gradient: float
    accepted: bool
    seconds: float = field(compare=False)
    stage: str = ''


class Point(Protocol):
    """Residuals to first order at a place."""

    @property
    def cost(self) -> float:
        """Half the sum of squared residuals; not finite where they cannot be computed."""

    @property
    def linearised(self) -> Callable[[], Self] | None:
        """Of a model that reaches farther than slopes, which is good for one step: by slopes."""

    def damped_step(self, damping: float, scale: Any) -> DampedStep | None:
        """The step to the minimum of the damped quadratic model; None where there is none.

        Args:
            damping: Marquardt's parameter.
            scale: That of the step before, or None.
        """

    def steepness(self) -> float:
        """Largest cosine between the residuals and one of their derivatives."""

    def moved(self, step: DampedStep) -> Self:
        """The point that a step leads to, linearised."""


P = TypeVar('P', bound=Point)


@dataclass
class DampedGaussNewton(Generic[P]):
    """A search, and where it stands.

    Attributes:
        point: The best point so far.
        max_iterations: Most steps tried, refused ones included.
        tolerance: Relative decrease of the cost, promised and achieved, below which it ends.
        gradient_tolerance: Steepness below which it ends.
        damping: Marquardt's parameter.
        relief: Part that damping falls to, at most, after a step that came true.
        floor: Cost below which all is rounding, where that is known.
        free: Damping up to which a step is mostly that of Gauss and Newton.
        most_damping: Damping beyond which a search has stalled.
        confirmed: Whether a last step is tried that promises no more than the tolerance, which
            is worth it where evaluating a point costs little.
        parameter_tolerance: Part of a standard deviation of the parameters; a search ends where the
            next step moves them by less. 0 for never.
        variance: Of the residuals at a point, by which deviations are known; None where it is not
            known, and parameters end no search.
        progress: Called with every step that was tried, once :attr:`point` is where it led.
        log: Every step that was tried.
    """

    point: P
    max_iterations: int
    tolerance: float
    gradient_tolerance: float
    damping: float
    relief: float = 1.0 / 3.0
    floor: float = 0.0
    free: float = 1.0
    most_damping: float = NO_STEP
    confirmed: bool = True
    parameter_tolerance: float = 0.0
    variance: Callable[[P], float] | None = None
    progress: Callable[[Iteration], None] | None = None
    log: list[Iteration] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._least = max(_COST_TOLERANCE * self.point.cost, self.floor)
        self._raised, self._scale, self._begun = 2.0, None, 0.0
        self._examined: P | None = None
        self._deviations = np.inf
        self._refused: P | None = None
        self._ways = list[float]()

    def run(self) -> Ended:
        """Step until the search ends; may be called again from another point."""
        first = len(self.log)
        while len(self.log) < self.max_iterations:
            self._begun = time.perf_counter()
            steepness = self.point.steepness()
            if self.point.linearised is None and steepness <= self.gradient_tolerance:
                return Ended.CONVERGED
            step = self.point.damped_step(self.damping, self._scale)
            if step is None and self.point.linearised is not None:
                self.point, self._scale = self.point.linearised(), None
            elif step is None:
                self.damping *= _RAISED
            elif (len(self.log) > first and self._stands_still(step)) or self._try(
                    step, steepness):
                return Ended.CONVERGED
            if self.damping > self.most_damping or self._gets_nowhere(first):
                return Ended.STALLED
        return Ended.ITERATION_LIMIT

    def _stands_still(self, step: DampedStep) -> bool:
        """Whether an undamped step would move parameters by less than counts."""
        if not (self.parameter_tolerance > 0.0 and len(step.values)):
            return False
        refused = self._refused is self.point
        tolerance = max(self.parameter_tolerance, _REFUSED if refused else 0.0)
        return self._step_in_deviations(step) <= tolerance

    def _step_in_deviations(self, step: DampedStep) -> float:
        """Length of the undamped step of parameters; infinite where it is not known, or too long.

        A point is examined once, however often it is left, and only where a damped step, which
        promises less, is short.
        """
        if self.variance is None or self.point.linearised is not None:
            return np.inf
        if self._examined is not self.point:
            variance = self.variance(self.point)
            if 2.0 * step.promised > _LINEAR * variance:
                return np.inf
            free = self.point.damped_step(_UNDAMPED, self._scale)
            good = free is not None and 2.0 * free.promised <= _LINEAR * variance
            self._examined = self.point
            # No variance is left where all is told exactly: then costs decide.
            self._deviations = (
                free.deviations / float(np.sqrt(variance))
                if free is not None and good and variance > 0.0 else np.inf)
        return self._deviations

    def _gets_nowhere(self, first: int) -> bool:
        """Whether the last steps of a run, which began with its first, brought nothing."""
        if (self.variance is None or not self.parameter_tolerance > 0.0
                or len(self.log) - first < _IDLE):
            return False
        last = [line for line in self.log[-_IDLE:] if line.accepted]
        gained = 2.0 * sum(line.decrease for line in last)
        nothing = _REFUSED * float(np.sqrt(self.variance(self.point)))
        return gained <= nothing**2 and sum(self._ways[-_IDLE:]) <= nothing

    def _try(self, step: DampedStep, steepness: float) -> bool:
        """Take a step if it is worthwhile; whether it was too small to go on."""
        cost, linearised = self.point.cost, self.point.linearised
        least = self.tolerance * cost + self._least
        # Under strong damping little is promised anywhere.
        small = step.promised <= least and self.damping <= self.free and linearised is None
        if small and not self.confirmed:
            return True
        self._scale = step.scale
        trial = self.point.moved(step)
        decrease = cost - trial.cost if np.isfinite(trial.cost) else -np.inf
        gain = decrease / step.promised if step.promised > 0.0 else -np.inf
        taken = gain > _WORTHWHILE
        self.log.append(Iteration(
            trial.cost if taken else cost, decrease, gain, self.damping, step.size, steepness,
            taken, time.perf_counter() - self._begun))
        self._ways.append(0.0 if not taken else step.deviations if len(step.values) else np.inf)
        if taken:
            self.point = trial
        if self.progress is not None:
            self.progress(self.log[-1])
        if taken:
            self.damping *= max(self.relief, 1.0 - (2.0 * gain - 1.0)**3)
            self._raised = 2.0
            return small and decrease <= least
        if linearised is not None:
            self.point, self._scale = linearised(), None
            return False
        self._refused = self.point
        self.damping *= self._raised
        self._raised *= 2.0
        # Where hardly anything was promised, refusal is rounding.
        return small
