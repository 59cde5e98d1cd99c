"""Along the central path to a solution: predictor, corrector, and when to stop."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.interior_point.direction import direction, factor, linearise
from sysid_ros.estimation.regression.interior_point.matrices import congruence_4, reach_4
from sysid_ros.estimation.regression.interior_point.state import Point, Program, Step

#: How the iteration ended.
CONVERGED, ITERATION_LIMIT, INACCURATE, FAILED = 0, 1, 2, 3

# Part of the way to the boundary that a step may go.
_FRACTION = 0.98
# A step shorter than this was misled by its correction; shorter than the second, it is stuck.
_MISLED = 0.1
_STUCK = 1e-8
# Iterations without the error halved after which rounding has the last word.
_PATIENCE = 15
# Errors below this part of the misfit are rounding.
_ROUNDING = 1e-10


@njit(cache=True)
def iterate(
    program: Program, point: Point, step: Step, barrier: float, accuracy: float, most: int
) -> tuple[int, int]:
    """Move a point to the solution.

    Args:
        program: The problem.
        point: z strictly inside and positive multipliers; the rest need not be filled.
        step: Room for a step.
        barrier: Weight of the barrier at the solution, zero for none.
        accuracy: Duality gap and squared decrement, together, at which it ends.
        most: Most iterations.

    Returns:
        How it ended, and the iterations used.
    """
    best, since = np.inf, 0
    for iteration in range(1, most + 1):
        if not linearise(program, point):
            return FAILED, iteration
        mean, gap = _products(point, barrier)
        mean = max(mean, barrier)
        if not factor(program, point, mean - barrier):
            return FAILED, iteration
        _correct(point, step, 0.0)
        error = gap + direction(program, point, barrier, step)
        if error <= max(accuracy, _ROUNDING * _misfit(point)):
            _move(point, step, _length(point, step, _FRACTION))
            return CONVERGED, iteration
        since = 0 if error < 0.5 * best else since + 1
        best = min(best, error)
        length = _advance(program, point, step, barrier, mean)
        if since > _PATIENCE or not length > _STUCK:
            return INACCURATE, iteration
    return ITERATION_LIMIT, most


@njit(cache=True)
def _advance(
    program: Program, point: Point, step: Step, barrier: float, mean: float
) -> float:
    """Follow a predictor by a corrected step; returns the step's length."""
    length = _length(point, step, 1.0)
    target = barrier
    if mean > barrier:
        left = max(_mean_after(point, step, length) - barrier, 0.0) / (mean - barrier)
        target = max(barrier, min(1.0, left**3) * mean)
    # A correction for a step that could not be made in full is trusted in part.
    _correct(point, step, length)
    direction(program, point, target, step)
    length = _length(point, step, _FRACTION)
    if length < _MISLED:
        _correct(point, step, 0.0)
        direction(program, point, mean, step)
        length = _length(point, step, _FRACTION)
    _move(point, step, length)
    return length


@njit(cache=True)
def _length(point: Point, step: Step, fraction: float) -> float:
    """Longest multiple of a step, at most 1, that goes this part of the way to the boundary."""
    reach = 1.0 / fraction
    for i in range(len(point.slack)):
        if step.slack[i] < 0.0:
            reach = min(reach, -point.slack[i] / step.slack[i])
        if step.y[i] < 0.0:
            reach = min(reach, -point.y[i] / step.y[i])
    for c in range(len(point.values)):
        reach = reach_4(point.values[c], step.primal[c], reach)
        reach = reach_4(point.values[c], step.dual[c], reach)
    return fraction * reach


@njit(cache=True)
def _products(point: Point, barrier: float) -> tuple[float, float]:
    """Mean of slack times multiplier, and the duality gap.

    The gap is zero when every product equals the barrier's weight.
    """
    total, logarithms, count = 0.0, 0.0, len(point.slack) + 4 * len(point.values)
    for i in range(len(point.slack)):
        total += point.slack[i] * point.y[i]
        logarithms += np.log(point.slack[i] * point.y[i])
    for c in range(len(point.values)):
        for i in range(4):
            total += point.values[c, i] ** 2
            logarithms += 2.0 * np.log(point.values[c, i])
    mean = total / max(count, 1)
    if barrier > 0.0 and count > 0:
        return mean, total - barrier * (count + logarithms - count * np.log(barrier))
    return mean, total


@njit(cache=True)
def _mean_after(point: Point, step: Step, length: float) -> float:
    """Mean of slack times multiplier after a step."""
    total = 0.0
    for i in range(len(point.slack)):
        total += (point.slack[i] + length * step.slack[i]) * (point.y[i] + length * step.y[i])
    for c in range(len(point.values)):
        for i in range(4):
            for j in range(4):
                value = point.values[c, i] if i == j else 0.0
                total += (value + length * step.primal[c, i, j]) * (
                    value + length * step.dual[c, i, j])
    return total / max(len(point.slack) + 4 * len(point.values), 1)


@njit(cache=True)
def _misfit(point: Point) -> float:
    """Half the squared weighted residual."""
    total = 0.0
    for b in range(len(point.residual)):
        total += point.residual[b] ** 2 / point.spread[b]
    return 0.5 * total


@njit(cache=True)
def _correct(point: Point, step: Step, share: float) -> None:
    """Mehrotra's correction: a share of the products that a step neglects."""
    for i in range(len(point.slack)):
        step.bent[i] = share * step.slack[i] * step.y[i]
    for c in range(len(point.values)):
        for i in range(4):
            for j in range(4):
                total = 0.0
                for k in range(4):
                    total += step.primal[c, i, k] * step.dual[c, k, j]
                    total += step.dual[c, i, k] * step.primal[c, k, j]
                step.twisted[c, i, j] = (
                    share * total / (point.values[c, i] + point.values[c, j]))


@njit(cache=True)
def _move(point: Point, step: Step, length: float) -> None:
    """Take a step."""
    for f in range(len(point.z)):
        point.z[f] += length * step.z[f]
    for i in range(len(point.y)):
        point.y[i] += length * step.y[i]
    change = np.empty((4, 4))
    for c in range(len(point.values)):
        congruence_4(point.inverse[c].T, step.dual[c], change)
        for i in range(4):
            for j in range(4):
                point.dual[c, i, j] += length * change[i, j]
