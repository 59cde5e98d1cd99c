r"""Compiled: the linear system of a step, factored and solved.

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

from sysid_ros.estimation.regression.consistent.interior_point.products import (
    add_product,
    add_square,
    product,
)
from sysid_ros.estimation.regression.consistent.interior_point.state import (
    BODY,
    DIAGONAL,
    ORTHOGONAL,
    REFINEMENTS,
    Point,
    Program,
    Step,
)
from sysid_ros.numerics.dense import (
    cholesky,
    qr_triangle,
    solve_cholesky,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_columns,
)
from sysid_ros.numerics.jit import INSIDE

# Solutions are refined so often ...
_REFINEMENTS = 2
# ... where a diagonal entry of the factor is below this part of the largest.
_REGULAR = 1e-4


@njit(**INSIDE)
def predictor(
    program: Program, point: Point, proximal: float, barrier: float, step: Step
) -> tuple[bool, float]:
    """Factor the system at a point that is made linear, and fill a plain step to the solution.

    One call, since to hand all these arrays over takes as long as a small product of matrices.

    Args:
        program: The problem.
        point: The point.
        proximal: As for :func:`factor`.
        barrier: Weight of the barrier at the solution.
        step: Filled, its corrections forgotten.

    Returns:
        Whether the system is regular, and the squared Newton decrement.
    """
    step.second_order[:] = 0.0
    step.twisted[:] = 0.0
    if not factor(program, point, step, proximal):
        return False, 0.0
    return True, direction(program, point, barrier, step)


@njit(**INSIDE)
def factor(program: Program, point: Point, step: Step, proximal: float) -> bool:
    """Factor the system at a point that is made linear; False when it is singular.

    Args:
        program: The problem.
        point: The point; how often solutions are to be refined is filled, and once Cholesky's
            method fails, all further systems are factored by orthogonalisation.
        step: Its workspace.
        proximal: Curvature added to steps that nothing bends, which keeps D well
            conditioned while the barrier still outweighs everything.
    """
    for g in range(len(program.body)):
        start, stop = program.groups[g], program.groups[g + 1]
        triangle = point.triangles[g, :stop - start, :stop - start]
        count = _curvature(program, point, g, proximal, step.block)
        if not qr_triangle(step.block, count, triangle):
            return False
        _whiten(program, point, g, step.rows[:stop - start])
    last = len(program.goal)
    for i in range(len(program.owner)):
        if program.owner[i] < 0:
            point.spread[last] = point.slack[i] / point.y[i]
            last += 1
    if point.effort[ORTHOGONAL] == 0:
        point.effort[ORTHOGONAL] = 0 if _cholesky_schur(point) else 1
    if point.effort[ORTHOGONAL] == 1:
        point.effort[REFINEMENTS] = _REFINEMENTS
        return _qr_schur(point, step.stack)
    smallest, largest = np.inf, 0.0
    for b in range(len(point.schur)):
        smallest = min(smallest, point.schur[b, b])
        largest = max(largest, point.schur[b, b])
    point.effort[REFINEMENTS] = 0 if smallest > _REGULAR * largest else _REFINEMENTS
    return True


@njit(**INSIDE)
def _whiten(program: Program, point: Point, group: int, scratch: np.ndarray) -> None:
    """Write the rows of the data over the factor of a group's block of D, transposed."""
    start, (size, width) = program.groups[group], scratch.shape
    for f in range(size):
        for b in range(width):
            scratch[f, b] = program.rows[start + f, b]
    solve_upper_transposed_columns(point.triangles[group], scratch)
    for f in range(size):
        for b in range(width):
            point.whitened[b, start + f] = scratch[f, b]


@njit(**INSIDE)
def _cholesky_schur(point: Point) -> bool:
    """Factor the Schur complement by Cholesky's method; False where rounding forbids it."""
    for a in range(len(point.spread)):
        for b in range(len(point.spread)):
            point.schur[a, b] = point.spread[a] if a == b else 0.0
    add_square(point.whitened, point.schur)
    return cholesky(point.schur)


@njit(**INSIDE)
def _qr_schur(point: Point, stack: np.ndarray) -> bool:
    """The same factor, at three times the work but for numbers of twice as many digits.

    The complement is a square; it has a triangular factor even where it is singular itself once
    it is rounded.
    """
    rows, steps = point.whitened.shape
    for b in range(rows):
        for a in range(rows):
            stack[b, a] = 0.0
        stack[b, b] = np.sqrt(point.spread[b])
        for f in range(steps):
            stack[b, rows + f] = point.whitened[b, f]
    # As a part of itself, for which the function is compiled already.
    return qr_triangle(stack, rows + steps, point.schur[:rows, :rows])


@njit(**INSIDE)
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
        hessian = program.quadratic[f] + proximal * program.unbounded[f]
        if hessian > 0.0:
            for k in range(start, stop):
                stack[k - start, count] = 0.0
            stack[f - start, count] = np.sqrt(hessian)
            count += 1
    return count


@njit(**INSIDE)
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
    right = step.right
    _right_hand_side(program, point, target, step, right)
    decrement = _eliminate(point, right, step)
    for g in range(len(program.body)):
        start, stop = program.groups[g], program.groups[g + 1]
        for f in range(start, stop):
            step.z[f] = -right[f]
        solve_upper(point.triangles[g], step.z[start:stop])
    _recover(program, point, step)
    return decrement


@njit(**INSIDE)
def _right_hand_side(
    program: Program, point: Point, target: float, step: Step, right: np.ndarray
) -> None:
    """Fill r over the factor of D, and the multipliers that slacks as they are would have."""
    for f in range(len(right)):
        right[f] = 0.0
    for f in range(len(point.z)):
        right[f] = program.linear[f] + program.quadratic[f] * point.z[f]
    for i in range(len(point.slack)):
        step.y[i] = (target - step.second_order[i]) / point.slack[i]
        for f in range(program.span[i, 0], program.span[i, 1]):
            right[f] += program.matrix[i, f] * step.y[i]
    for g in range(len(program.body)):
        c, start, stop = program.body[g], program.groups[g], program.groups[g + 1]
        if c >= 0:
            for k in range(BODY):
                step.dual[c, k] = -step.twisted[c, k]
            for i in range(4):
                step.dual[c, DIAGONAL[i]] += target / point.values[c, i]
            for f in range(start, stop):
                for k in range(BODY):
                    right[f] -= point.scaled[f, k] * step.dual[c, k]
        solve_upper_transposed(point.triangles[g], right[start:stop])


@njit(**INSIDE)
def _eliminate(point: Point, right: np.ndarray, step: Step) -> float:
    """From the right side to the negative step, both over the factor of D, and new residuals.

    What the second line of the system leaves over is solved for again (iterative refinement):
    beside a boundary, forces of very different size have to balance.
    """
    size, residual = len(point.spread), step.residual
    error, force, rest = step.forces[0], step.forces[1], step.forces[2]
    for b in range(size):
        error[b] = 0.0
        force[b] = 0.0
    for b in range(len(point.residual)):
        error[b] = point.residual[b]
    for _ in range(1 + point.effort[REFINEMENTS]):
        product(point.whitened, right, rest)
        for b in range(size):
            rest[b] = error[b] - point.spread[b] * force[b] - rest[b]
        solve_cholesky(point.schur, rest)
        add_product(point.whitened, rest, right)
        for b in range(size):
            force[b] += rest[b]
    decrement = 0.0
    for b in range(size):
        # What the step changes in the rows, by the second line of the system.
        moved = error[b] - point.spread[b] * force[b]
        decrement += moved * moved / point.spread[b]
    for b in range(len(residual)):
        residual[b] = point.spread[b] * force[b]
    for f in range(len(right)):
        decrement += right[f] * right[f]
    return decrement


@njit(**INSIDE)
def _recover(program: Program, point: Point, step: Step) -> None:
    """Steps of slacks, matrices and multipliers that belong to a step of z."""
    for i in range(len(point.slack)):
        change = 0.0
        for f in range(program.span[i, 0], program.span[i, 1]):
            change += program.matrix[i, f] * step.z[f]
        step.slack[i] = -change
        step.y[i] += point.y[i] * (change / point.slack[i] - 1.0)
    for g in range(len(program.body)):
        c = program.body[g]
        if c < 0:
            continue
        for k in range(BODY):
            step.primal[c, k] = 0.0
        for f in range(program.groups[g], program.groups[g + 1]):
            for k in range(BODY):
                step.primal[c, k] += point.scaled[f, k] * step.z[f]
        for k in range(BODY):
            step.dual[c, k] -= step.primal[c, k]
        for i in range(4):
            step.dual[c, DIAGONAL[i]] -= point.values[c, i]
