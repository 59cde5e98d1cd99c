"""Compiled: how an iterate lies to the constraints, scaled so that both sides look alike.

Compiled with :func:`~sysid_ros.estimation.regression.interior_point.path.iterate`, whose cache
knows of this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.interior_point.matrices import (
    congruence_4,
    flatten_4,
    nesterov_todd_4,
    reach_4,
    unflatten_4,
)
from sysid_ros.estimation.regression.interior_point.state import (
    BODY,
    DIAGONAL,
    PART,
    Point,
    Program,
    Step,
)


@njit(**PART)
def linearise(
    program: Program, point: Point, barrier: float
) -> tuple[bool, float, float, float]:
    """Fill residual, slacks and scalings at a point.

    Args:
        program: The problem.
        point: z and multipliers are given.
        barrier: Weight of the barrier at the solution.

    Returns:
        Whether it is strictly inside, and then: the mean of slack times multiplier; the duality
        gap, zero when every product equals the barrier's weight; half the squared weighted
        residual.
    """
    _measure(program, point)
    inside = _scale(program, point)
    mean, gap = _products(point, barrier) if inside else (0.0, 0.0)
    misfit = 0.0
    for b in range(len(point.residual)):
        misfit += 0.5 * point.residual[b] ** 2 / point.spread[b]
    return inside, mean, gap, misfit


@njit(**PART)
def _scale(program: Program, point: Point) -> bool:
    """Scalings of all bodies; False unless the point is strictly inside."""
    for i in range(len(point.slack)):
        if not (point.slack[i] > 0.0 and point.y[i] > 0.0):
            return False
    matrix = np.empty((4, 4))
    for g in range(len(program.body)):
        c, start, stop = program.body[g], program.groups[g], program.groups[g + 1]
        if c < 0:
            continue
        for i in range(4):
            for j in range(4):
                matrix[i, j] = program.constant[c, i, j]
                for f in range(start, stop):
                    matrix[i, j] += program.slopes[c, f, i, j] * point.z[f]
        inverse = point.inverse[c]
        if not nesterov_todd_4(matrix, point.dual[c], inverse, point.values[c]):
            return False
        for f in range(start, stop):
            congruence_4(inverse, program.slopes[c, f], matrix)
            flatten_4(matrix, point.scaled[f])
    return True


@njit(**PART)
def _measure(program: Program, point: Point) -> None:
    """Residual of the data and slack of the inequalities."""
    rows = len(program.goal)
    for b in range(rows):
        point.residual[b] = -program.goal[b]
    for f in range(len(point.z)):
        for b in range(rows):
            point.residual[b] += program.rows[f, b] * point.z[f]
    for i in range(len(point.slack)):
        product = 0.0
        for f in range(program.span[i, 0], program.span[i, 1]):
            product += program.matrix[i, f] * point.z[f]
        point.slack[i] = program.bound[i] - product


@njit(**PART)
def _products(point: Point, barrier: float) -> tuple[float, float]:
    """Mean of slack times multiplier, and the duality gap."""
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


@njit(**PART)
def predict(point: Point, step: Step, barrier: float, mean: float) -> float:
    """Turn a step for the solution into the corrections for a step along the central path.

    Args:
        point: The point.
        step: A step computed without correction.
        barrier: Weight of the barrier at the solution.
        mean: Mean of slack times multiplier, at least the barrier's weight.

    Returns:
        The product to aim at: the further the step gets, the closer to the solution's
        (Mehrotra 1992).
    """
    length, target = _length(point, step, 1.0), barrier
    if mean > barrier:
        left = max(_mean_after(point, step, length) - barrier, 0.0) / (mean - barrier)
        target = max(barrier, min(1.0, left) ** 3 * mean)
    # The correction for a step that could not be made in full is trusted in part.
    _correct(point, step, length)
    return target


@njit(**PART)
def forget_correction(step: Step) -> None:
    """Let the next step be a plain one."""
    step.bent[:] = 0.0
    step.twisted[:] = 0.0


@njit(**PART)
def move(point: Point, step: Step, fraction: float, least: float) -> float:
    """Take the longest multiple of a step, at most 1, unless it is shorter than ``least``.

    Args:
        point: Moved.
        step: The step.
        fraction: Part of the way to the boundary that it may go.
        least: Shortest multiple that is taken.

    Returns:
        The multiple.
    """
    length = _length(point, step, fraction)
    if length < least:
        return length
    for f in range(len(point.z)):
        point.z[f] += length * step.z[f]
    for i in range(len(point.y)):
        point.y[i] += length * step.y[i]
    scaled, change = np.empty((4, 4)), np.empty((4, 4))
    for c in range(len(point.values)):
        unflatten_4(step.dual[c], scaled)
        congruence_4(point.inverse[c].T, scaled, change)
        for i in range(4):
            for j in range(4):
                point.dual[c, i, j] += length * change[i, j]
    return length


@njit(**PART)
def advance(
    program: Program, point: Point, step: Step, fraction: float, least: float, barrier: float
) -> tuple[float, tuple[bool, float, float, float]]:
    """Take a step as :func:`move` does and, if it is taken, make the problem linear there.

    Args:
        program: The problem.
        point: Moved.
        step: The step.
        fraction: Part of the way to the boundary that it may go.
        least: Shortest multiple that is taken.
        barrier: Weight of the barrier at the solution.

    Returns:
        The multiple, and what :func:`linearise` says.
    """
    length = move(point, step, fraction, least)
    if length < least:
        return length, (False, 0.0, 0.0, 0.0)
    return length, linearise(program, point, barrier)


@njit(**PART)
def _length(point: Point, step: Step, fraction: float) -> float:
    """Longest multiple of a step, at most 1, that goes this part of the way to the boundary."""
    reach = 1.0 / fraction
    for i in range(len(point.slack)):
        if step.slack[i] < 0.0:
            reach = min(reach, -point.slack[i] / step.slack[i])
        if step.y[i] < 0.0:
            reach = min(reach, -point.y[i] / step.y[i])
    matrix = np.empty((4, 4))
    for c in range(len(point.values)):
        unflatten_4(step.primal[c], matrix)
        reach = reach_4(point.values[c], matrix, reach)
        unflatten_4(step.dual[c], matrix)
        reach = reach_4(point.values[c], matrix, reach)
    return fraction * reach


@njit(**PART)
def _mean_after(point: Point, step: Step, length: float) -> float:
    """Mean of slack times multiplier after a step."""
    total = 0.0
    for i in range(len(point.slack)):
        total += (point.slack[i] + length * step.slack[i]) * (point.y[i] + length * step.y[i])
    for c in range(len(point.values)):
        for k in range(BODY):
            total += length * length * step.primal[c, k] * step.dual[c, k]
        for i in range(4):
            value, k = point.values[c, i], DIAGONAL[i]
            total += value * (value + length * (step.primal[c, k] + step.dual[c, k]))
    return total / max(len(point.slack) + 4 * len(point.values), 1)


@njit(**PART)
def _correct(point: Point, step: Step, share: float) -> None:
    """Mehrotra's correction: a share of the products that a step neglects."""
    for i in range(len(point.slack)):
        step.bent[i] = share * step.slack[i] * step.y[i]
    primal, dual, product = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for c in range(len(point.values)):
        unflatten_4(step.primal[c], primal)
        unflatten_4(step.dual[c], dual)
        for i in range(4):
            for j in range(i + 1):
                total = 0.0
                for k in range(4):
                    total += primal[i, k] * dual[k, j] + dual[i, k] * primal[k, j]
                product[i, j] = share * total / (point.values[c, i] + point.values[c, j])
        flatten_4(product, step.twisted[c])
