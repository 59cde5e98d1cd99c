"""Compiled: how an iterate lies to the constraints, scaled so that both sides look alike.

Compiled with :func:`~sysid_ros.estimation.regression.consistent.interior_point.path.iterate`, whose
cache knows of this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.consistent.interior_point.state import (
    BODY,
    DIAGONAL,
    Point,
    Program,
    Step,
)
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.symmetric_4 import (
    cholesky_4,
    clear_4,
    congruence_4,
    flatten_4,
    invert_triangle_4,
    multiply_4,
    nesterov_todd_4,
    step_length_4,
    unflatten_4,
)


@njit(**INSIDE)
def initialise(
    program: Program, point: Point, step: Step, weight: float, barrier: float
) -> tuple[bool, float, float, float]:
    """Initialise slacks, multipliers and scalings at a start, with equal products.

    Args:
        program: The problem.
        point: z is given.
        step: Its workspace.
        weight: What slack times multiplier is.
        barrier: Weight of the barrier at the solution.

    Returns:
        What :func:`evaluate_residuals` says.
    """
    for i in range(len(point.slack)):
        product = 0.0
        for f in range(program.span[i, 0], program.span[i, 1]):
            product += program.matrix[i, f] * point.z[f]
        point.slack[i] = program.bound[i] - product
        point.y[i] = weight / point.slack[i]
    matrix, factor = step.squares[0], step.squares[1]
    clear_4(factor)
    inside = weight > 0.0
    for g in range(len(program.body)):
        c, start, stop = program.body[g], program.groups[g], program.groups[g + 1]
        if c < 0 or not inside:
            continue
        for i in range(4):
            for j in range(4):
                matrix[i, j] = program.constant[c, i, j]
                for f in range(start, stop):
                    matrix[i, j] += program.slopes[c, f, i, j] * point.z[f]
        inside = cholesky_4(matrix, factor)
        if inside:
            # The multiplier is a multiple of the inverse: the factor scales both alike.
            invert_triangle_4(factor, point.inverse[c])
            for i in range(4):
                point.values[c, i] = np.sqrt(weight)
                for j in range(4):
                    point.inverse[c, i, j] *= np.sqrt(np.sqrt(weight))
            _scale_slopes(program, point, g, matrix)
    return evaluate_residuals(program, point, barrier, inside)


@njit(**INSIDE)
def evaluate_residuals(
    program: Program, point: Point, barrier: float, inside: bool
) -> tuple[bool, float, float, float]:
    """Evaluate residuals, complementarity and duality gap of a point with slacks and scalings.

    Args:
        program: The problem.
        point: The point.
        barrier: Weight of the barrier at the solution.
        inside: Whether its matrices are positive definite.

    Returns:
        Whether it is strictly inside, and then: the mean of slack times multiplier; the duality
        gap, zero when every product equals the barrier's weight; half the squared weighted
        residual.
    """
    for i in range(len(point.slack)):
        inside = inside and point.slack[i] > 0.0 and point.y[i] > 0.0
    if not inside:
        return False, 0.0, 0.0, 0.0
    misfit, rows = 0.0, len(program.goal)
    for b in range(rows):
        point.residual[b] = -program.goal[b]
    for f in range(len(point.z)):
        for b in range(rows):
            point.residual[b] += program.rows[f, b] * point.z[f]
    for b in range(rows):
        misfit += 0.5 * point.residual[b] ** 2 / point.spread[b]
    mean, gap = _complementarity(point, barrier)
    return True, mean, gap, misfit


@njit(**INSIDE)
def _scale_slopes(program: Program, point: Point, group: int, scratch: np.ndarray) -> None:
    """Fill the slopes of a body's matrix as its scaling shows them."""
    for f in range(program.groups[group], program.groups[group + 1]):
        congruence_4(
            point.inverse[program.body[group]], program.slopes[program.body[group], f], scratch)
        flatten_4(scratch, point.scaled[f])


@njit(**INSIDE)
def _complementarity(point: Point, barrier: float) -> tuple[float, float]:
    """Mean of slack times multiplier, and the duality gap."""
    total, count = 0.0, len(point.slack) + 4 * len(point.values)
    for i in range(len(point.slack)):
        total += point.slack[i] * point.y[i]
    for c in range(len(point.values)):
        for i in range(4):
            total += point.values[c, i] ** 2
    mean = total / max(count, 1)
    if not barrier > 0.0:
        return mean, total
    logarithms = 0.0
    for i in range(len(point.slack)):
        logarithms += np.log(point.slack[i] * point.y[i] / barrier)
    for c in range(len(point.values)):
        for i in range(4):
            logarithms += np.log(point.values[c, i] ** 2 / barrier)
    return mean, total - barrier * (count + logarithms)


@njit(**INSIDE)
def mehrotra_corrector(point: Point, step: Step, barrier: float, mean: float) -> float:
    """Centring target and second-order corrections from an affine step (Mehrotra 1992).

    Args:
        point: The point.
        step: A step computed without correction.
        barrier: Weight of the barrier at the solution.
        mean: Mean of slack times multiplier, at least the barrier's weight.

    Returns:
        The product to aim at: the further the step gets, the closer to the solution's
        (Mehrotra 1992).
    """
    length, target = _step_length(point, step, 1.0), barrier
    if mean > barrier:
        left = max(_complementarity_after(point, step, length) - barrier, 0.0) / (mean - barrier)
        target = max(barrier, min(1.0, left) ** 3 * mean)
    # The correction for a step that could not be made in full is trusted in part.
    _second_order_correction(point, step, length)
    return target


@njit(**INSIDE)
def clear_correction(step: Step) -> None:
    """Clear the second-order corrections, so that the next step is an affine one."""
    step.second_order[:] = 0.0
    step.twisted[:] = 0.0


@njit(**INSIDE)
def take_step(
    program: Program, point: Point, step: Step, fraction: float, least: float
) -> tuple[float, bool]:
    """Take the longest multiple of a step, at most 1, unless it is shorter than ``least``.

    Slacks and matrices move by their own steps: computed from z anew they would be small
    differences beside a boundary, and lose the digits that the multipliers need.

    Args:
        program: The problem.
        point: Moved, with its scalings.
        step: The step.
        fraction: Part of the way to the boundary that it may go.
        least: Shortest multiple that is taken.

    Returns:
        The multiple, and whether all matrices and multipliers are positive definite.
    """
    length, inside = _step_length(point, step, fraction), True
    if length < least:
        return length, inside
    for f in range(len(point.z)):
        point.z[f] += length * step.z[f]
    for i in range(len(point.y)):
        point.y[i] += length * step.y[i]
        point.slack[i] += length * step.slack[i]
    for g in range(len(program.body)):
        if program.body[g] >= 0:
            inside = inside and _rescale(program, point, step, g, length)
    return length, inside


@njit(**INSIDE)
def _rescale(program: Program, point: Point, step: Step, group: int, length: float) -> bool:
    """Scaling of a body after a step, from the one before; False where nothing can be scaled.

    References:
        Vandenberghe 2010, section 6.4.
    """
    c = program.body[group]
    primal, dual, further, before = (
        step.squares[0], step.squares[1], step.squares[2], step.squares[3])
    for i in range(4):
        for j in range(4):
            before[i, j] = point.inverse[c, i, j]
    unflatten_4(step.primal[c], primal)
    unflatten_4(step.dual[c], dual)
    for i in range(4):
        for j in range(4):
            primal[i, j] *= length
            dual[i, j] *= length
        primal[i, i] += point.values[c, i]
        dual[i, i] += point.values[c, i]
    if not nesterov_todd_4(primal, dual, further, point.values[c], step.squares[4:]):
        return False
    multiply_4(further, before, point.inverse[c])
    _scale_slopes(program, point, group, primal)
    return True


@njit(**INSIDE)
def take_step_and_evaluate(
    program: Program, point: Point, step: Step, fraction: float, least: float, barrier: float
) -> tuple[float, tuple[bool, float, float, float]]:
    """Take a step as :func:`take_step` does and, if it is taken, measure where it leads.

    Args:
        program: The problem.
        point: Moved.
        step: The step.
        fraction: Part of the way to the boundary that it may go.
        least: Shortest multiple that is taken.
        barrier: Weight of the barrier at the solution.

    Returns:
        The multiple, and what :func:`evaluate_residuals` says.
    """
    length, inside = take_step(program, point, step, fraction, least)
    if length < least:
        return length, (inside, 0.0, 0.0, 0.0)
    return length, evaluate_residuals(program, point, barrier, inside)


@njit(**INSIDE)
def _step_length(point: Point, step: Step, fraction: float) -> float:
    """Longest multiple of a step, at most 1, that goes this part of the way to the boundary."""
    reach = 1.0 / fraction
    for i in range(len(point.slack)):
        if step.slack[i] < 0.0:
            reach = min(reach, -point.slack[i] / step.slack[i])
        if step.y[i] < 0.0:
            reach = min(reach, -point.y[i] / step.y[i])
    matrix, work = step.squares[0], step.squares[4:]
    for c in range(len(point.values)):
        unflatten_4(step.primal[c], matrix)
        reach = step_length_4(point.values[c], matrix, reach, work)
        unflatten_4(step.dual[c], matrix)
        reach = step_length_4(point.values[c], matrix, reach, work)
    return fraction * reach


@njit(**INSIDE)
def _complementarity_after(point: Point, step: Step, length: float) -> float:
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


@njit(**INSIDE)
def _second_order_correction(point: Point, step: Step, share: float) -> None:
    """Mehrotra's correction: a share of the products that a step neglects."""
    for i in range(len(point.slack)):
        step.second_order[i] = share * step.slack[i] * step.y[i]
    primal, dual, product = step.squares[0], step.squares[1], step.squares[2]
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
