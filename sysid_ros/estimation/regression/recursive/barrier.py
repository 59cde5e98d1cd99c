r"""Compiled: value, gradient and curvature of the divergence to a prior.

A body's part is minus the logarithm of the determinant of its pseudo-inertia P (Cho, Lee and Shin
2023, eq. (23), (26) and (27)): its gradient has the entries :math:`-\mathrm{tr}(P^{-1} E_m)`, its
curvature :math:`\mathrm{tr}(P^{-1} E_m P^{-1} E_n)`, where :math:`E_m` is what the m-th of the ten
parameters adds to P. A body is a few dozen numbers, so all is written out in scalars: loops over
so few cost more than what they compute.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.regression.recursive.state import Prior, Workspace
from sysid_ros.numerics.jit import CACHED

# Arrays come in and none is made: counting references to them would take longer than the
# mathematics.
_Four = tuple[float, float, float, float]
_Ten = tuple[float, float, float, float, float, float, float, float, float, float]


@njit(**CACHED)
def add_barrier_derivatives(
    prior: Prior, theta: np.ndarray, work: Workspace, alpha: float, damping: float, first: int
) -> None:
    r"""Add the Hessian of R to the matrix, and subtract its gradient from the right-hand side.

    Args:
        prior: The divergence.
        theta: Where, strictly inside, shape ``(f,)``.
        work: Holds the matrix and the right-hand side.
        alpha: Weight of the gradient.
        damping: Weight of the curvature.
        first: Parameters before this one, of which R is quadratic, have theirs already.
    """
    matrix, right = work.system.matrix, work.right
    for k in range(len(theta)):
        away = prior.quadratic_weight[k] * (theta[k] - prior.reference[k])
        right[k] -= alpha * (away - prior.slope[k])
    for k in range(first, len(theta)):
        matrix[k, k] += damping * prior.quadratic_weight[k]
    for i in range(len(prior.bound)):
        start, stop, row = prior.span[i, 0], prior.span[i, 1], prior.matrix[i]
        pull = 1.0 / _gap(prior, i, theta)
        for j in range(start, stop):
            if row[j] != 0.0:
                right[j] -= alpha * pull * row[j]
                for k in range(j, stop):
                    matrix[j, k] += damping * pull * pull * row[j] * row[k]
    for c, place in enumerate(prior.place):
        _barrier_derivatives(prior, c, theta, work)
        for m, i in enumerate(place):
            if i >= 0:
                right[i] -= alpha * work.gradient[m]
                for n in range(m, 10):
                    k = place[n]
                    if k >= 0:
                        matrix[min(i, k), max(i, k)] += damping * work.hessian[m, n]


@njit(**CACHED)
def barrier(prior: Prior, theta: np.ndarray, inside_only: bool) -> float:
    """Sum of all logarithms, with the other sign; infinite outside.

    Args:
        prior: The divergence.
        theta: Where, shape ``(f,)``.
        inside_only: Zero will do inside.
    """
    value = 0.0
    for c in range(len(prior.place)):
        determinant = _determinant(_pivots(prior, c, theta))
        if not determinant > 0.0:
            return np.inf
        value -= 0.0 if inside_only else np.log(determinant)
    for i in range(len(prior.bound)):
        gap = _gap(prior, i, theta)
        if not gap > 0.0:
            return np.inf
        value -= 0.0 if inside_only else np.log(gap)
    return value


@njit(**CACHED)
def _gap(prior: Prior, i: int, theta: np.ndarray) -> float:
    """Distance to a linear bound."""
    gap = prior.bound[i]
    for k in range(prior.span[i, 0], prior.span[i, 1]):
        gap -= prior.matrix[i, k] * theta[k]
    return gap


@njit(**CACHED)
def _value(prior: Prior, c: int, m: int, theta: np.ndarray) -> float:
    """A parameter of a body, less its floor."""
    i = prior.place[c, m]
    return theta[i] - prior.floor[c, m] if i >= 0 else prior.held[c, m]


@njit(**CACHED)
def _pivots(prior: Prior, c: int, theta: np.ndarray) -> tuple[_Four, tuple[float, ...]]:
    """The factors of a body's pseudo-inertia L D L^T: D, and L below its ones, column by column.

    It is positive exactly if all of D is; otherwise L may be anything.
    """
    mass, x, y = _value(prior, c, 0, theta), _value(prior, c, 1, theta), _value(prior, c, 2, theta)
    z, xx, xy = _value(prior, c, 3, theta), _value(prior, c, 4, theta), _value(prior, c, 5, theta)
    yy, xz = _value(prior, c, 6, theta), _value(prior, c, 7, theta)
    yz, zz = _value(prior, c, 8, theta), _value(prior, c, 9, theta)
    half = 0.5 * (xx + yy + zz)
    d0 = half - xx
    scale = 1.0 / d0
    l10, l20, l30 = -xy * scale, -xz * scale, x * scale
    d1, u21, u31 = half - yy + l10 * xy, -yz + l10 * xz, y - l10 * x
    scale = 1.0 / d1
    l21, l31 = u21 * scale, u31 * scale
    d2, u32 = half - zz + l20 * xz - l21 * u21, z - l20 * x - l21 * u31
    l32 = u32 / d2
    d3 = mass - l30 * x - l31 * u31 - l32 * u32
    return (d0, d1, d2, d3), (l10, l20, l30, l21, l31, l32)


@njit(**CACHED)
def _determinant(factors: tuple[_Four, tuple[float, ...]]) -> float:
    """Determinant of a body's pseudo-inertia, or zero if it is not positive definite."""
    a, b, c, d = factors[0]
    return a * b * c * d if a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0 else 0.0


@njit(**CACHED)
def _barrier_derivatives(prior: Prior, c: int, theta: np.ndarray, work: Workspace) -> None:
    """Gradient and curvature of minus the logarithm of a body's determinant."""
    (d0, d1, d2, d3), (l10, l20, l30, l21, l31, l32) = _pivots(prior, c, theta)
    # First the inverse of the triangular factor, then of the matrix.
    m10, m21, m32 = -l10, -l21, -l32
    m20, m31 = -l20 - l21 * m10, -l31 - l32 * m21
    m30 = -l30 - l31 * m10 - l32 * m20
    r0, r1, r2, r3 = 1.0 / d0, 1.0 / d1, 1.0 / d2, 1.0 / d3
    p03, p13, p23 = r3 * m30, r3 * m31, r3 * m32
    p02, p12, p22 = r2 * m20 + p23 * m30, r2 * m21 + p23 * m31, r2 + p23 * m32
    p01, p11 = r1 * m10 + r2 * m20 * m21 + p13 * m30, r1 + r2 * m21 * m21 + p13 * m31
    p00 = r0 + r1 * m10 * m10 + r2 * m20 * m20 + p03 * m30
    _traces((r3, p03, p13, p23, p00, p01, p11, p02, p12, p22), -1.0, work.gradient)
    x, y, z, w = (p00, p01, p02, p03), (p01, p11, p12, p13), (p02, p12, p22, p23), (
        p03, p13, p23, r3)
    hessian = work.hessian
    _traces(_dyad(w, w), 0.5, hessian[0])
    _traces(_dyad(x, w), 1.0, hessian[1])
    _traces(_dyad(y, w), 1.0, hessian[2])
    _traces(_dyad(z, w), 1.0, hessian[3])
    _traces(_dyad(x, x), 0.5, hessian[4])
    _traces(_dyad(x, y), -1.0, hessian[5])
    _traces(_dyad(y, y), 0.5, hessian[6])
    _traces(_dyad(x, z), -1.0, hessian[7])
    _traces(_dyad(y, z), -1.0, hessian[8])
    _traces(_dyad(z, z), 0.5, hessian[9])
    # A moment of inertia adds half the unit matrix, less its own entry.
    for n in range(10):
        half = 0.5 * (hessian[4, n] + hessian[6, n] + hessian[9, n])
        for m in (4, 6, 9):
            hessian[m, n] = half - hessian[m, n]


@njit(**CACHED)
def _dyad(a: _Four, b: _Four) -> _Ten:
    """The symmetric matrix a b^T + b a^T, in the order of the entries of the ten parameters."""
    return (
        2.0 * a[3] * b[3], a[0] * b[3] + a[3] * b[0], a[1] * b[3] + a[3] * b[1],
        a[2] * b[3] + a[3] * b[2], 2.0 * a[0] * b[0], a[0] * b[1] + a[1] * b[0],
        2.0 * a[1] * b[1], a[0] * b[2] + a[2] * b[0], a[1] * b[2] + a[2] * b[1],
        2.0 * a[2] * b[2],
    )


@njit(**CACHED)
def _traces(s: _Ten, scale: float, out: np.ndarray) -> None:
    """Traces of a scaled symmetric matrix with what each of the ten parameters adds to P."""
    half = 0.5 * scale * (s[4] + s[6] + s[9])
    out[0] = scale * s[0]
    out[1], out[2], out[3] = 2.0 * scale * s[1], 2.0 * scale * s[2], 2.0 * scale * s[3]
    out[4], out[6], out[9] = half - scale * s[4], half - scale * s[6], half - scale * s[9]
    out[5], out[7], out[8] = -2.0 * scale * s[5], -2.0 * scale * s[7], -2.0 * scale * s[8]
