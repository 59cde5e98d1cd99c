r"""One linear system of the interior-point method: scaled, factored and solved.

With the curvature :math:`D` of prior and constraints, block by group, and the force
:math:`u` that the data exerts, a step solves

.. math::
    \begin{bmatrix} D & B^T \\ B & -E \end{bmatrix}
    \begin{bmatrix} dz \\ u \end{bmatrix} = -\begin{bmatrix} r \\ e \end{bmatrix}

where B are the rows of the data and of inequalities that couple groups, E their inverse
squared weights and e the residual over the weight. D is eliminated first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.interior_point.factors import (
    add_square,
    cholesky,
    divide_rows,
    solve_cholesky,
    triangle_of,
)
from sysid_ros.estimation.regression.interior_point.matrices import (
    congruence_4,
    flatten_4,
    nesterov_todd_4,
    unflatten_4,
)
from sysid_ros.estimation.regression.interior_point.state import BODY, Point, Program, Step

# Sums may be reordered, but a value that is not a number must stay one.
_REORDERING = {'reassoc', 'contract', 'arcp', 'nsz'}


@njit(cache=True)
def linearise(program: Program, point: Point) -> bool:
    """Fill residual, slacks and scalings at a point; False unless it is strictly inside."""
    _measure(program, point)
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


@njit(cache=True, fastmath=_REORDERING)
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


@njit(cache=True)
def factor(program: Program, point: Point, proximal: float) -> bool:
    """Factor the system at a point that is made linear; False when it is singular.

    Args:
        program: The problem.
        point: The point.
        proximal: Curvature added to steps that nothing bends, which keeps D well
            conditioned while the barrier still outweighs everything.
    """
    stack = np.empty((BODY, 2 * BODY + len(program.owner)))
    for g in range(len(program.body)):
        start, stop = program.groups[g], program.groups[g + 1]
        triangle = point.triangles[g, :stop - start, :stop - start]
        count = _curvature(program, point, g, proximal, stack)
        if not triangle_of(stack, count, triangle):
            return False
        divide_rows(triangle, program.rows[start:stop], point.whitened[start:stop])
    last = len(program.goal)
    for i in range(len(program.owner)):
        if program.owner[i] < 0:
            point.spread[last] = point.slack[i] / point.y[i]
            last += 1
    for a in range(len(point.spread)):
        for b in range(len(point.spread)):
            point.schur[a, b] = point.spread[a] if a == b else 0.0
    add_square(point.whitened, point.schur)
    return cholesky(point.schur)


@njit(cache=True)
def _curvature(
    program: Program, point: Point, group: int, proximal: float, stack: np.ndarray
) -> int:
    """Fill a matrix whose square, transposed, is a group's block of D; returns its columns."""
    start, stop = program.groups[group], program.groups[group + 1]
    count = BODY if program.body[group] >= 0 else 0
    for f in range(start, stop):
        for k in range(count):
            stack[f - start, k] = point.scaled[f, k]
    for i in range(len(program.owner)):
        if program.owner[i] == group:
            root = np.sqrt(point.y[i] / point.slack[i])
            for f in range(start, stop):
                stack[f - start, count] = root * program.matrix[i, f]
            count += 1
    for f in range(start, stop):
        for k in range(start, stop):
            stack[f - start, count + k - start] = 0.0
        stack[f - start, count + f - start] = np.sqrt(
            program.quadratic[f] + proximal * program.unbent[f])
    return count + stop - start


@njit(cache=True)
def direction(program: Program, point: Point, target: float, step: Step) -> float:
    """Fill a step towards the point of the central path at ``target``.

    Args:
        program: The problem.
        point: The point, its system factored.
        target: Product of slack and multiplier to aim at.
        step: Its corrections are taken into account, the rest is filled.

    Returns:
        The squared Newton decrement: about twice what the objective would fall by.
    """
    right = np.empty(len(point.z))
    _right_side(program, point, target, step, right)
    decrement = _eliminate(point, right)
    for g in range(len(program.body)):
        start, stop = program.groups[g], program.groups[g + 1]
        triangle = point.triangles[g]
        for f in range(stop - 1, start - 1, -1):
            rest = -right[f]
            for i in range(f + 1, stop):
                rest -= triangle[f - start, i - start] * step.z[i]
            step.z[f] = rest / triangle[f - start, f - start]
    _recover(program, point, step)
    return decrement


@njit(cache=True, fastmath=_REORDERING)
def _right_side(
    program: Program, point: Point, target: float, step: Step, right: np.ndarray
) -> None:
    """Fill r over the factor of D, and the multipliers that slacks as they are would have."""
    for f in range(len(right)):
        right[f] = program.linear[f] + program.quadratic[f] * point.z[f]
    for i in range(len(point.slack)):
        step.y[i] = (target - step.bent[i]) / point.slack[i]
        for f in range(program.span[i, 0], program.span[i, 1]):
            right[f] += program.matrix[i, f] * step.y[i]
    centre = np.empty(BODY)
    for g in range(len(program.body)):
        c, start, stop = program.body[g], program.groups[g], program.groups[g + 1]
        if c >= 0:
            _multiplier(point.values[c], target, step.twisted[c], step.dual[c])
            flatten_4(step.dual[c], centre)
            for f in range(start, stop):
                for k in range(BODY):
                    right[f] -= point.scaled[f, k] * centre[k]
        triangle = point.triangles[g]
        for f in range(start, stop):
            for i in range(start, f):
                right[f] -= triangle[i - start, f - start] * right[i]
            right[f] /= triangle[f - start, f - start]


@njit(cache=True)
def _multiplier(
    values: np.ndarray, target: float, twisted: np.ndarray, result: np.ndarray
) -> None:
    """The scaled multiplier that the scaled matrix as it is would have."""
    for i in range(4):
        for j in range(4):
            result[i, j] = (target / values[i] if i == j else 0.0) - twisted[i, j]


@njit(cache=True, fastmath=_REORDERING)
def _eliminate(point: Point, right: np.ndarray) -> float:
    """From the right side to the negative step, both over the factor of D."""
    force = np.zeros(len(point.spread))
    for b in range(len(point.residual)):
        force[b] = point.residual[b]
    for f in range(len(right)):
        for b in range(len(force)):
            force[b] -= point.whitened[f, b] * right[f]
    solve_cholesky(point.schur, force)
    moved = np.zeros(len(force))
    decrement = 0.0
    for f in range(len(right)):
        for b in range(len(force)):
            right[f] += point.whitened[f, b] * force[b]
        decrement += right[f] * right[f]
        for b in range(len(force)):
            moved[b] += point.whitened[f, b] * right[f]
    for b in range(len(force)):
        decrement += moved[b] * moved[b] / point.spread[b]
    return decrement


@njit(cache=True, fastmath=_REORDERING)
def _recover(program: Program, point: Point, step: Step) -> None:
    """Steps of slacks, matrices and multipliers that belong to a step of z."""
    for i in range(len(point.slack)):
        product = 0.0
        for f in range(program.span[i, 0], program.span[i, 1]):
            product += program.matrix[i, f] * step.z[f]
        step.slack[i] = -product
        step.y[i] += point.y[i] * (product / point.slack[i] - 1.0)
    flat = np.empty(BODY)
    for g in range(len(program.body)):
        c = program.body[g]
        if c < 0:
            continue
        for k in range(BODY):
            flat[k] = 0.0
        for f in range(program.groups[g], program.groups[g + 1]):
            for k in range(BODY):
                flat[k] += point.scaled[f, k] * step.z[f]
        unflatten_4(flat, step.primal[c])
        for i in range(4):
            for j in range(4):
                step.dual[c, i, j] -= step.primal[c, i, j]
            step.dual[c, i, i] -= point.values[c, i]
