"""Compiled: how an iterate lies to the constraints, scaled so that both sides look alike.

Every function that is called from here is in this file. The compiler's cache looks at no
other: a change elsewhere would leave old code in use.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.interior_point.state import (
    BODY,
    DIAGONAL,
    Point,
    Program,
    Step,
)

# Sums may be reordered, but a value that is not a number must stay one; what is divided by zero
# is found by what comes of it.
_COMPILED = {
    'cache': True, 'error_model': 'numpy', 'fastmath': {'reassoc', 'contract', 'arcp', 'nsz'},
}
_ROOT_TWO = np.sqrt(2.0)
# Cyclic sweeps after which a 4×4 matrix is diagonal in double precision.
_SWEEPS = 12
_OFF_DIAGONAL = 1e-32


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
def forget_correction(step: Step) -> None:
    """Let the next step be a plain one."""
    step.bent[:] = 0.0
    step.twisted[:] = 0.0


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
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


@njit(**_COMPILED)
def nesterov_todd_4(
    primal: np.ndarray, dual: np.ndarray, inverse: np.ndarray, values: np.ndarray
) -> bool:
    r"""Scaling in which a matrix and its multiplier are the same diagonal matrix.

    Args:
        primal: Positive definite L, shape ``(4, 4)``.
        dual: Its multiplier Z.
        inverse: Filled with :math:`R^{-1}`, where
            :math:`R^{-1} L R^{-T} = R^T Z R = \mathrm{diag}(\lambda)`.
        values: Filled with :math:`\lambda`, shape ``(4,)``.

    Returns:
        False unless both are positive definite.

    References:
        Nesterov and Todd 1997; Todd, Toh and Tütüncü 1998, section 4.1.
    """
    factor, vectors, product = np.zeros((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    if not cholesky_4(primal, factor):
        return False
    congruence_4(factor.T, dual, product)
    eigen_4(product, vectors)
    for i in range(4):
        if not product[i, i] > 0.0:
            return False
        values[i] = np.sqrt(product[i, i])
        # Row i of V^T L1^{-1}, by back substitution in L1^T.
        for k in range(3, -1, -1):
            rest = vectors[k, i]
            for j in range(k + 1, 4):
                rest -= factor[j, k] * inverse[i, j]
            inverse[i, k] = rest / factor[k, k]
        for k in range(4):
            inverse[i, k] *= np.sqrt(values[i])
    return True


@njit(**_COMPILED)
def reach_4(values: np.ndarray, step: np.ndarray, most: float) -> float:
    """Longest multiple of a step, up to ``most``, that keeps ``diag(values)`` positive definite."""
    moved, scratch = np.empty((4, 4)), np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            moved[i, j] = most * step[i, j]
        moved[i, i] += values[i]
    if cholesky_4(moved, scratch):
        return most
    for i in range(4):
        for j in range(4):
            moved[i, j] = step[i, j] / np.sqrt(values[i] * values[j])
    eigen_4(moved, scratch)
    smallest = min(moved[0, 0], moved[1, 1], moved[2, 2], moved[3, 3])
    return most if smallest >= 0.0 else min(most, -1.0 / smallest)


@njit(**_COMPILED)
def cholesky_4(matrix: np.ndarray, factor: np.ndarray) -> bool:
    """Lower Cholesky factor of a 4×4 matrix; False unless it is positive definite."""
    for i in range(4):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = rest / factor[j, j]
            elif rest > 0.0:
                factor[i, i] = np.sqrt(rest)
            else:
                return False
    return True


@njit(**_COMPILED)
def eigen_4(matrix: np.ndarray, vectors: np.ndarray) -> None:
    """Diagonalise a symmetric 4×4 matrix in place by Jacobi rotations.

    Args:
        matrix: The matrix; its diagonal holds the eigenvalues afterwards.
        vectors: Filled with the eigenvectors, as columns.
    """
    for i in range(4):
        for j in range(4):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        off, size = 0.0, 0.0
        for i in range(4):
            size += matrix[i, i] ** 2
            for j in range(i):
                off += matrix[i, j] ** 2
        if off <= _OFF_DIAGONAL * size:
            return
        for p in range(3):
            for q in range(p + 1, 4):
                _rotate_4(matrix, vectors, p, q)


@njit(**_COMPILED)
def _rotate_4(matrix: np.ndarray, vectors: np.ndarray, p: int, q: int) -> None:
    """One Jacobi rotation (Golub and Van Loan, algorithm 8.5.1)."""
    if matrix[p, q] == 0.0:
        return
    ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    t = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        t = -t
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = t * c
    for k in range(4):
        a, b = matrix[k, p], matrix[k, q]
        matrix[k, p], matrix[k, q] = c * a - s * b, s * a + c * b
    for k in range(4):
        a, b = matrix[p, k], matrix[q, k]
        matrix[p, k], matrix[q, k] = c * a - s * b, s * a + c * b
        a, b = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * a - s * b, s * a + c * b


@njit(**_COMPILED)
def congruence_4(factor: np.ndarray, matrix: np.ndarray, result: np.ndarray) -> None:
    """Write ``factor @ matrix @ factor.T``, the matrix symmetric."""
    for i in range(4):
        f0, f1, f2, f3 = factor[i, 0], factor[i, 1], factor[i, 2], factor[i, 3]
        r0 = f0 * matrix[0, 0] + f1 * matrix[1, 0] + f2 * matrix[2, 0] + f3 * matrix[3, 0]
        r1 = f0 * matrix[0, 1] + f1 * matrix[1, 1] + f2 * matrix[2, 1] + f3 * matrix[3, 1]
        r2 = f0 * matrix[0, 2] + f1 * matrix[1, 2] + f2 * matrix[2, 2] + f3 * matrix[3, 2]
        r3 = f0 * matrix[0, 3] + f1 * matrix[1, 3] + f2 * matrix[2, 3] + f3 * matrix[3, 3]
        for j in range(i + 1):
            value = (
                r0 * factor[j, 0] + r1 * factor[j, 1] + r2 * factor[j, 2] + r3 * factor[j, 3]
            )
            result[i, j] = value
            result[j, i] = value


@njit(**_COMPILED)
def flatten_4(matrix: np.ndarray, flat: np.ndarray) -> None:
    """The ten numbers of a symmetric 4×4 matrix, written so that products are kept."""
    k = 0
    for i in range(4):
        for j in range(i):
            flat[k] = _ROOT_TWO * matrix[i, j]
            k += 1
        flat[k] = matrix[i, i]
        k += 1


@njit(**_COMPILED)
def unflatten_4(flat: np.ndarray, matrix: np.ndarray) -> None:
    """The inverse of :func:`flatten_4`."""
    k = 0
    for i in range(4):
        for j in range(i):
            matrix[i, j] = flat[k] / _ROOT_TWO
            matrix[j, i] = matrix[i, j]
            k += 1
        matrix[i, i] = flat[k]
        k += 1
