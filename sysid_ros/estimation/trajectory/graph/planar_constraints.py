r"""Compiled: constraints and accelerations of planar mechanisms in natural coordinates.

Every constraint is a function of two difference vectors of points and at most one angle,
:math:`\phi(d_1, d_2, \vartheta)` with :math:`d_1 = p_b - p_a`, :math:`d_2 = p_d - p_c`. With its
gradient, its Hessian and how a quadratic form of the Hessian changes, all that velocities,
accelerations and multipliers need follows, and the chain rule is signs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    ANGLE,
    COMPILED,
    DISTANCE,
    LINE,
    RIGID_X,
    RIGID_Y,
    ConstraintArrays,
)


@njit(**COMPILED)
def _derivatives(
    kind: int, y: np.ndarray, p: float, r: float, g: np.ndarray, h: np.ndarray
) -> float:
    """Value of a constraint at (d1, d2, angle), its gradient and its Hessian.

    A distance has its length as constant, a line the inverse of one, a point of a body its place
    along d1 and across it in units of that, an angle the inverse of both lengths.
    """
    g[:] = 0.0
    h[:] = 0.0
    if kind == DISTANCE:
        for i in range(2):
            g[i] = y[i] / p
            h[i, i] = 1.0 / p
        return 0.5 * (y[0] * y[0] + y[1] * y[1] - p * p) / p
    if kind == LINE:
        g[0], g[1], g[2], g[3] = p * y[3], -p * y[2], -p * y[1], p * y[0]
        h[0, 3] = h[3, 0] = p
        h[1, 2] = h[2, 1] = -p
        return p * (y[0] * y[3] - y[1] * y[2])
    if kind == RIGID_X:
        g[0], g[1], g[2] = -p, r, 1.0
        return y[2] - p * y[0] + r * y[1]
    if kind == RIGID_Y:
        g[0], g[1], g[3] = -r, -p, 1.0
        return y[3] - r * y[0] - p * y[1]
    cosine, sine = p * np.cos(y[4]), p * np.sin(y[4])
    cross, dot = y[0] * y[3] - y[1] * y[2], y[0] * y[2] + y[1] * y[3]
    _bilinear(y, cosine, -sine, g)
    value = cosine * cross - sine * dot
    g[4] = -sine * cross - cosine * dot
    h[0, 2] = h[2, 0] = h[1, 3] = h[3, 1] = -sine
    h[0, 3] = h[3, 0] = cosine
    h[1, 2] = h[2, 1] = -cosine
    # The gradient's own derivative by the angle has the same form.
    _bilinear(y, -sine, -cosine, h[4])
    for i in range(4):
        h[i, 4] = h[4, i]
    h[4, 4] = -value
    return value


@njit(**COMPILED)
def _bilinear(y: np.ndarray, cross: float, dot: float, out: np.ndarray) -> None:
    """Gradient of ``cross * (d1 x d2) + dot * (d1 . d2)`` by both vectors."""
    out[0] = cross * y[3] + dot * y[2]
    out[1] = -cross * y[2] + dot * y[3]
    out[2] = -cross * y[1] + dot * y[0]
    out[3] = cross * y[0] + dot * y[1]


@njit(**COMPILED)
def _third(
    kind: int, y: np.ndarray, vy: np.ndarray, p: float, out: np.ndarray
) -> None:
    """Gradient of the Hessian's quadratic form in a velocity; only angles have one."""
    out[:] = 0.0
    if kind != ANGLE:
        return
    cosine, sine, w = p * np.cos(y[4]), p * np.sin(y[4]), vy[4]
    # 2 w times the mixed Hessian's derivative by the angle, less w^2 times the gradient.
    _bilinear(vy, -2.0 * w * sine, -2.0 * w * cosine, out)
    cross, dot = y[0] * y[3] - y[1] * y[2], y[0] * y[2] + y[1] * y[3]
    out[0] -= w * w * (cosine * y[3] - sine * y[2])
    out[1] -= w * w * (-cosine * y[2] - sine * y[3])
    out[2] -= w * w * (-cosine * y[1] - sine * y[0])
    out[3] -= w * w * (cosine * y[0] - sine * y[1])
    own = vy[0] * vy[3] - vy[1] * vy[2]
    along = vy[0] * vy[2] + vy[1] * vy[3]
    first = (vy[0] * y[3] - vy[1] * y[2]) + (y[0] * vy[3] - y[1] * vy[2])
    second = (vy[0] * y[2] + vy[1] * y[3]) + (y[0] * vy[2] + y[1] * vy[3])
    out[4] = (
        2.0 * (-sine * own - cosine * along) - 2.0 * w * (cosine * first - sine * second)
        + w * w * (sine * cross + cosine * dot))


@njit(**COMPILED)
def _differences(
    arrays: ConstraintArrays, q: np.ndarray, v: np.ndarray, a: np.ndarray, r: int,
    y: np.ndarray, vy: np.ndarray, ay: np.ndarray,
) -> None:
    """The vectors d1 and d2 and the angle of a constraint, with their derivatives by time."""
    for i in range(5):
        y[i], vy[i], ay[i] = arrays.origin[r, i], 0.0, 0.0
    for k in range(arrays.touched[r]):
        slot, part, sign = arrays.slot[r, k], arrays.part[r, k], arrays.sign[r, k]
        y[part] += sign * q[slot]
        vy[part] += sign * v[slot]
        ay[part] += sign * a[slot]


@njit(**COMPILED)
def constrain(
    arrays: ConstraintArrays, q: np.ndarray, v: np.ndarray, a: np.ndarray, gap: np.ndarray,
    jacobian: np.ndarray, rate: np.ndarray, bias: np.ndarray, slope: np.ndarray,
) -> None:
    """Constraints of S samples with what their first and second derivatives by time need.

    Args:
        arrays: The constraints.
        q: Coordinates, shape ``(S, n)``.
        v: Velocities, shape ``(S, n)``.
        a: Accelerations, shape ``(S, n)``.
        gap: Filled with the constraints, shape ``(S, m)``.
        jacobian: Filled with their derivatives J, shape ``(S, m, n)``.
        rate: Filled with the derivative of J v by q, which is that of J by time.
        bias: Filled with the product of that and v, shape ``(S, m)``.
        slope: Filled with the derivative of bias + J a by q.
    """
    y, vy, ay = np.empty(5), np.empty(5), np.empty(5)
    g, third, hessian_v, h = np.empty(5), np.empty(5), np.empty(5), np.empty((5, 5))
    for s in range(len(q)):
        jacobian[s, :, :] = 0.0
        rate[s, :, :] = 0.0
        slope[s, :, :] = 0.0
        for r in range(len(arrays.kind)):
            kind, p = arrays.kind[r], arrays.constants[r, 0]
            _differences(arrays, q[s], v[s], a[s], r, y, vy, ay)
            gap[s, r] = _derivatives(kind, y, p, arrays.constants[r, 1], g, h)
            _third(kind, y, vy, p, third)
            total = 0.0
            for i in range(5):
                hessian_v[i] = 0.0
                for j in range(5):
                    hessian_v[i] += h[i, j] * vy[j]
                    third[i] += h[i, j] * ay[j]
                total += vy[i] * hessian_v[i]
            bias[s, r] = total
            for k in range(arrays.touched[r]):
                slot, part, sign = arrays.slot[r, k], arrays.part[r, k], arrays.sign[r, k]
                jacobian[s, r, slot] += sign * g[part]
                rate[s, r, slot] += sign * hessian_v[part]
                slope[s, r, slot] += sign * third[part]


@njit(**COMPILED)
def add_curvature(
    arrays: ConstraintArrays, q: np.ndarray, multipliers: np.ndarray, target: np.ndarray
) -> None:
    """Add the derivative of the constraint forces by q, multipliers held, shape ``(n, n)``."""
    y, vy, ay = np.empty(5), np.empty(5), np.empty(5)
    g, h = np.empty(5), np.empty((5, 5))
    for r in range(len(arrays.kind)):
        _differences(arrays, q, q, q, r, y, vy, ay)
        _derivatives(arrays.kind[r], y, arrays.constants[r, 0], arrays.constants[r, 1], g, h)
        for i in range(arrays.touched[r]):
            row, factor = arrays.slot[r, i], multipliers[r] * arrays.sign[r, i]
            for j in range(arrays.touched[r]):
                target[row, arrays.slot[r, j]] += (
                    factor * arrays.sign[r, j] * h[arrays.part[r, i], arrays.part[r, j]])
