r"""Compiled: the linear system of a step, factored and solved.

With the curvature :math:`D` of prior and constraints, block by group, and the force
:math:`u` that the data exerts, a step solves

.. math::
    \begin{bmatrix} D & B^T \\ B & -E \end{bmatrix}
    \begin{bmatrix} dz \\ u \end{bmatrix} = -\begin{bmatrix} r \\ e \end{bmatrix}

where B are the rows of the data and of inequalities that couple groups, E their inverse
squared weights and e the residual over the weight. D is eliminated first.

Called through BLAS with several threads, matrices of less than a hundred rows wait longer than
they compute. So the factors are loops over contiguous rows, which the compiler turns into
vector instructions; those that begin anywhere count in unsigned numbers, as it would not, if it
had to test for negative indices.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.estimation.regression.interior_point.state import (
    BODY,
    DIAGONAL,
    ORTHOGONAL,
    PART,
    REFINEMENTS,
    Point,
    Program,
    Step,
)

# Solutions are refined so often ...
_REFINEMENTS = 2
# ... where a diagonal entry of the factor is below this part of the largest.
_REGULAR = 1e-4


@njit(**PART)
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
    step.bent[:] = 0.0
    step.twisted[:] = 0.0
    if not factor(program, point, proximal):
        return False, 0.0
    return True, direction(program, point, barrier, step)


@njit(**PART)
def factor(program: Program, point: Point, proximal: float) -> bool:
    """Factor the system at a point that is made linear; False when it is singular.

    Args:
        program: The problem.
        point: The point; how often solutions are to be refined is filled, and once Cholesky's
            method fails, all further systems are factored by orthogonalisation.
        proximal: Curvature added to steps that nothing bends, which keeps D well
            conditioned while the barrier still outweighs everything.
    """
    stack = np.empty((BODY, 2 * BODY + len(program.owner)))
    scratch = np.empty((BODY, program.rows.shape[1]))
    for g in range(len(program.body)):
        start, stop = program.groups[g], program.groups[g + 1]
        triangle = point.triangles[g, :stop - start, :stop - start]
        count = _curvature(program, point, g, proximal, stack)
        if not triangle_of(stack, count, triangle):
            return False
        divide(triangle, program.rows[start:stop], scratch, point.whitened[:, start:stop])
    last = len(program.goal)
    for i in range(len(program.owner)):
        if program.owner[i] < 0:
            point.spread[last] = point.slack[i] / point.y[i]
            last += 1
    if point.effort[ORTHOGONAL] == 0:
        point.effort[ORTHOGONAL] = 0 if _squared(point) else 1
    if point.effort[ORTHOGONAL] == 1:
        point.effort[REFINEMENTS] = _REFINEMENTS
        return _orthogonalised(point)
    smallest, largest = np.inf, 0.0
    for b in range(len(point.schur)):
        smallest = min(smallest, point.schur[b, b])
        largest = max(largest, point.schur[b, b])
    point.effort[REFINEMENTS] = 0 if smallest > _REGULAR * largest else _REFINEMENTS
    return True


@njit(**PART)
def _squared(point: Point) -> bool:
    """Factor the Schur complement by Cholesky's method; False where rounding forbids it."""
    for a in range(len(point.spread)):
        for b in range(len(point.spread)):
            point.schur[a, b] = point.spread[a] if a == b else 0.0
    add_square(point.whitened, point.schur)
    return cholesky(point.schur)


@njit(**PART)
def _orthogonalised(point: Point) -> bool:
    """The same factor, at three times the work but for numbers of twice as many digits.

    The complement is a square; it has a triangular factor even where it is singular itself once
    it is rounded.
    """
    rows, steps = point.whitened.shape
    stack = np.zeros((rows, rows + steps))
    for b in range(rows):
        stack[b, b] = np.sqrt(point.spread[b])
        for f in range(steps):
            stack[b, rows + f] = point.whitened[b, f]
    return triangle_of(stack, rows + steps, point.schur)


@njit(**PART)
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
        bend = program.quadratic[f] + proximal * program.unbent[f]
        if bend > 0.0:
            for k in range(start, stop):
                stack[k - start, count] = 0.0
            stack[f - start, count] = np.sqrt(bend)
            count += 1
    return count


@njit(**PART)
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
    right = np.zeros(point.whitened.shape[1])
    _right_side(program, point, target, step, right)
    decrement = _eliminate(point, right, step.residual)
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


@njit(**PART)
def _right_side(
    program: Program, point: Point, target: float, step: Step, right: np.ndarray
) -> None:
    """Fill r over the factor of D, and the multipliers that slacks as they are would have."""
    for f in range(len(point.z)):
        right[f] = program.linear[f] + program.quadratic[f] * point.z[f]
    for i in range(len(point.slack)):
        step.y[i] = (target - step.bent[i]) / point.slack[i]
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
        triangle = point.triangles[g]
        for f in range(start, stop):
            for i in range(start, f):
                right[f] -= triangle[i - start, f - start] * right[i]
            right[f] /= triangle[f - start, f - start]


@njit(**PART)
def _eliminate(point: Point, right: np.ndarray, residual: np.ndarray) -> float:
    """From the right side to the negative step, both over the factor of D, and new residuals.

    What the second line of the system leaves over is solved for again (iterative refinement):
    beside a boundary, forces of very different size have to balance.
    """
    size = len(point.spread)
    error, force, rest = np.zeros(size), np.zeros(size), np.empty(size)
    error[:len(point.residual)] = point.residual
    for _ in range(1 + point.effort[REFINEMENTS]):
        for b in range(size):
            product = 0.0
            for f in range(len(right)):
                product += point.whitened[b, f] * right[f]
            rest[b] = error[b] - point.spread[b] * force[b] - product
        solve_cholesky(point.schur, rest)
        for b in range(size):
            force[b] += rest[b]
            for f in range(len(right)):
                right[f] += point.whitened[b, f] * rest[b]
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


@njit(**PART)
def _recover(program: Program, point: Point, step: Step) -> None:
    """Steps of slacks, matrices and multipliers that belong to a step of z."""
    for i in range(len(point.slack)):
        product = 0.0
        for f in range(program.span[i, 0], program.span[i, 1]):
            product += program.matrix[i, f] * step.z[f]
        step.slack[i] = -product
        step.y[i] += point.y[i] * (product / point.slack[i] - 1.0)
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


@njit(**PART)
def triangle_of(rows: np.ndarray, count: int, triangle: np.ndarray) -> bool:
    r"""Upper triangular R with :math:`R^T R = A^T A`, by modified Gram–Schmidt.

    Squaring A instead would lose the small curvatures beside those at a boundary.

    Args:
        rows: Transposed A, one column of A a row; overwritten.
        count: Rows of A in use.
        triangle: Filled with R.

    Returns:
        False when a column is a combination of those before it.
    """
    size = len(triangle)
    for j in range(size):
        square = 0.0
        for k in range(count):
            square += rows[j, k] * rows[j, k]
        if not square > 0.0:
            return False
        norm = np.sqrt(square)
        triangle[j, j] = norm
        for k in range(count):
            rows[j, k] /= norm
        for i in range(j + 1, size):
            product = 0.0
            for k in range(count):
                product += rows[j, k] * rows[i, k]
            triangle[j, i] = product
            for k in range(count):
                rows[i, k] -= product * rows[j, k]
    return True


@njit(**PART)
def divide(triangle: np.ndarray, rows: np.ndarray, scratch: np.ndarray, result: np.ndarray) -> None:
    r"""Write the transpose of :math:`R^{-T} B` for an upper triangular R.

    Args:
        triangle: R, shape ``(n, n)``.
        rows: B, shape ``(n, k)``.
        scratch: Overwritten, at least ``(n, k)``.
        result: Filled, shape ``(k, n)``.
    """
    size, count = rows.shape
    for j in range(size):
        for k in range(count):
            scratch[j, k] = rows[j, k]
        for i in range(j):
            factor = triangle[i, j]
            for k in range(count):
                scratch[j, k] -= factor * scratch[i, k]
        scale = 1.0 / triangle[j, j]
        for k in range(count):
            scratch[j, k] *= scale
            result[k, j] = scratch[j, k]


@njit(**PART)
def add_square(rows: np.ndarray, result: np.ndarray) -> None:
    r"""Add :math:`U U^T` to the upper triangle of the result, U of shape ``(k, f)``.

    Two by two entries at a time, so that each number is used twice once it is loaded.
    """
    size, count = rows.shape
    even = size - size % 2
    for i in range(0, even, 2):
        x, y = rows[i], rows[i + 1]
        for j in range(i, even, 2):
            u, v = rows[j], rows[j + 1]
            xu, xv, yu, yv = 0.0, 0.0, 0.0, 0.0
            for f in range(count):
                xu += x[f] * u[f]
                xv += x[f] * v[f]
                yu += y[f] * u[f]
                yv += y[f] * v[f]
            result[i, j] += xu
            result[i, j + 1] += xv
            result[i + 1, j] += yu
            result[i + 1, j + 1] += yv
    if even < size:
        for i in range(size):
            product = 0.0
            for f in range(count):
                product += rows[i, f] * rows[even, f]
            result[i, even] += product


@njit(**PART)
def cholesky(matrix: np.ndarray) -> bool:
    r"""Upper factor R of :math:`R^T R` in place of an upper triangle; False unless it exists."""
    size = len(matrix)
    for i in range(size):
        row = matrix[i]
        whole = i - i % 4
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = matrix[k], matrix[k + 1], matrix[k + 2], matrix[k + 3]
            a0, a1, a2, a3 = r0[i], r1[i], r2[i], r3[i]
            for j in range(uint64(i), uint64(size)):
                row[j] -= a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
        for k in range(whole, i):
            factor, other = matrix[k, i], matrix[k]
            for j in range(uint64(i), uint64(size)):
                row[j] -= factor * other[j]
        if not row[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(uint64(i), uint64(size)):
            row[j] *= scale
    return True


@njit(**PART)
def solve_cholesky(factor: np.ndarray, x: np.ndarray) -> None:
    """Solve with the factor of :func:`cholesky`, in place."""
    size = len(x)
    for i in range(size):
        row = factor[i]
        value = x[i] / row[i]
        x[i] = value
        for k in range(uint64(i + 1), uint64(size)):
            x[k] -= row[k] * value
    for i in range(size - 1, -1, -1):
        row, rest = factor[i], x[i]
        for k in range(uint64(i + 1), uint64(size)):
            rest -= row[k] * x[k]
        x[i] = rest / row[i]
