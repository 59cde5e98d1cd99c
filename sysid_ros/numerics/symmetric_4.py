"""Compiled: symmetric 4×4 matrices, as pseudo-inertias and their multipliers are.

Loops of a known length are unrolled: :func:`cholesky_4` takes a third of the time of
:func:`~sysid_ros.numerics.dense.cholesky`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE

_ROOT_TWO = np.sqrt(2.0)
# Cyclic sweeps after which a 4×4 matrix is diagonal in double precision.
_SWEEPS = 12
_OFF_DIAGONAL = 1e-32
# Most steps of Laguerre's iteration, of which five suffice, and the part of the eigenvalue
# after which the next, smaller by its cube, is beyond rounding.
_STEPS = 50
_CLOSE = 1e-9
# Part of a matrix' size that bounds of its eigenvalues may be off by rounding.
_EIGENVALUE_TOLERANCE = 1e-9


@njit(**INSIDE)
def clear_4(matrix: np.ndarray) -> None:
    """Fill a 4×4 matrix with zeros."""
    for i in range(4):
        for j in range(4):
            matrix[i, j] = 0.0


@njit(**INSIDE)
def nesterov_todd_4(
    primal: np.ndarray, dual: np.ndarray, inverse: np.ndarray, values: np.ndarray, work: np.ndarray
) -> bool:
    r"""Scaling in which a matrix and its multiplier are the same diagonal matrix.

    Args:
        primal: Positive definite L, shape ``(4, 4)``.
        dual: Its multiplier Z.
        inverse: Filled with :math:`R^{-1}`, where
            :math:`R^{-1} L R^{-T} = R^T Z R = \mathrm{diag}(\lambda)`.
        values: Filled with :math:`\lambda`, shape ``(4,)``.
        work: Workspace, shape ``(3, 4, 4)``.

    Returns:
        False unless both are positive definite.

    References:
        Nesterov and Todd 1997; Todd, Toh and Tütüncü 1998, section 4.1.
    """
    factor, vectors, product = work[0], work[1], work[2]
    clear_4(factor)
    if not cholesky_4(primal, factor):
        return False
    # A transposed view would be another type, for which all of this is compiled once more.
    for i in range(4):
        for j in range(4):
            vectors[i, j] = factor[j, i]
    congruence_4(vectors, dual, product)
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


@njit(**INSIDE)
def step_length_4(values: np.ndarray, step: np.ndarray, most: float, work: np.ndarray) -> float:
    """Longest multiple of a step, up to ``most``, that keeps ``diag(values)`` positive definite.

    Args:
        values: Shape ``(4,)``.
        step: Symmetric, shape ``(4, 4)``.
        most: The multiple that is long enough.
        work: Workspace, shape ``(3, 4, 4)``.
    """
    moved, shifted, scratch = work[0], work[1], work[2]
    clear_4(scratch)
    for i in range(4):
        for j in range(4):
            moved[i, j] = most * step[i, j]
        moved[i, i] += values[i]
    if cholesky_4(moved, scratch):
        return most
    for i in range(4):
        for j in range(4):
            moved[i, j] = step[i, j] / np.sqrt(values[i] * values[j])
    smallest = smallest_eigenvalue_4(moved, shifted, scratch)
    return most if smallest >= 0.0 else min(most, -1.0 / smallest)


@njit(**INSIDE)
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


@njit(**INSIDE)
def smallest_eigenvalue_4(
    matrix: np.ndarray, shifted: np.ndarray, factor: np.ndarray
) -> float:
    """Smallest eigenvalue of a symmetric 4×4 matrix; a little less if it is a multiple one.

    Laguerre's iteration on the characteristic polynomial: as all its roots are real, it climbs
    from below the smallest without passing it. Takes half as long as all eigenvalues.

    Args:
        matrix: The matrix.
        shifted: Overwritten.
        factor: Overwritten, zero above its diagonal.
    """
    trace, size = 0.0, 0.0
    for i in range(4):
        trace += matrix[i, i]
        for j in range(4):
            size += matrix[i, j] * matrix[i, j]
    # No eigenvalue is below this (Samuelson's inequality); a hair less, for rounding.
    value = 0.25 * trace - np.sqrt(0.75 * max(size - 0.25 * trace * trace, 0.0))
    value -= _EIGENVALUE_TOLERANCE * np.sqrt(size)
    for _ in range(_STEPS):
        for i in range(4):
            for j in range(4):
                shifted[i, j] = matrix[i, j]
            shifted[i, i] -= value
        if not cholesky_4(shifted, factor):
            return value
        first, second = _inverse_traces_4(factor, shifted)
        step = 4.0 / (first + np.sqrt(max(3.0 * (4.0 * second - first * first), 0.0)))
        value += step
        if not step > _CLOSE * abs(value):
            return value
    return value


@njit(**INSIDE)
def invert_triangle_4(factor: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of a lower triangular 4×4 matrix."""
    for j in range(4):
        for i in range(j):
            inverse[i, j] = 0.0
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, 4):
            rest = 0.0
            for k in range(j, i):
                rest -= factor[i, k] * inverse[k, j]
            inverse[i, j] = rest / factor[i, i]


@njit(**INSIDE)
def _inverse_traces_4(factor: np.ndarray, inverse: np.ndarray) -> tuple[float, float]:
    r"""Traces of :math:`A^{-1}` and :math:`A^{-2}` from the Cholesky factor of A.

    Args:
        factor: The factor L.
        inverse: Filled with the inverse of L.
    """
    first, second = 0.0, 0.0
    invert_triangle_4(factor, inverse)
    for i in range(4):
        for j in range(i + 1):
            product = 0.0
            for k in range(i, 4):
                product += inverse[k, i] * inverse[k, j]
            second += product * product * (1.0 if i == j else 2.0)
            if i == j:
                first += product
    return first, second


@njit(**INSIDE)
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


@njit(**INSIDE)
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


@njit(**INSIDE)
def multiply_4(first: np.ndarray, second: np.ndarray, result: np.ndarray) -> None:
    """Write the product of two 4×4 matrices."""
    for i in range(4):
        for j in range(4):
            total = 0.0
            for k in range(4):
                total += first[i, k] * second[k, j]
            result[i, j] = total


@njit(**INSIDE)
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


@njit(**INSIDE)
def flatten_4(matrix: np.ndarray, flat: np.ndarray) -> None:
    """The ten numbers of a symmetric 4×4 matrix, written so that products are kept."""
    k = 0
    for i in range(4):
        for j in range(i):
            flat[k] = _ROOT_TWO * matrix[i, j]
            k += 1
        flat[k] = matrix[i, i]
        k += 1


@njit(**INSIDE)
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
