"""Along the central path to a solution: predictor, corrector, and when to stop."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.interior_point.newton import direction, factor
from sysid_ros.estimation.regression.interior_point.scaling import (
    correct,
    length_of,
    linearise,
    mean_after,
    misfit,
    move,
    products,
)
from sysid_ros.estimation.regression.interior_point.state import Point, Program, Step

# Part of the way to the boundary that a step may go.
_FRACTION = 0.98
# A step shorter than this was misled by its correction; shorter than the second, it is stuck.
_MISLED = 0.1
_STUCK = 1e-8
# Iterations without the error halved after which rounding has the last word.
_PATIENCE = 15
# Errors below this part of the misfit are rounding.
_ROUNDING = 1e-10


def iterate(
    program: Program, point: Point, step: Step, barrier: float, accuracy: float, most: int
) -> tuple[Status, int]:
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
            return Status.FAILED, iteration
        mean, gap = products(point, barrier)
        mean = max(mean, barrier)
        if not factor(program, point, mean - barrier):
            return Status.FAILED, iteration
        correct(point, step, 0.0)
        error = gap + direction(program, point, barrier, step)
        if error <= max(accuracy, _ROUNDING * misfit(point)):
            move(point, step, length_of(point, step, _FRACTION))
            return Status.CONVERGED, iteration
        since = 0 if error < 0.5 * best else since + 1
        best = min(best, error)
        length = _advance(program, point, step, barrier, mean)
        if since > _PATIENCE or not length > _STUCK:
            return Status.INACCURATE, iteration
    return Status.ITERATION_LIMIT, most


def _advance(
    program: Program, point: Point, step: Step, barrier: float, mean: float
) -> float:
    """Follow a predictor by a corrected step; returns the step's length."""
    length = length_of(point, step, 1.0)
    target = barrier
    if mean > barrier:
        left = max(mean_after(point, step, length) - barrier, 0.0) / (mean - barrier)
        target = max(barrier, min(1.0, left) ** 3 * mean)
    # The correction for a step that could not be made in full is trusted in part.
    correct(point, step, length)
    direction(program, point, target, step)
    length = length_of(point, step, _FRACTION)
    if length < _MISLED:
        correct(point, step, 0.0)
        direction(program, point, mean, step)
        length = length_of(point, step, _FRACTION)
    move(point, step, length)
    return length
