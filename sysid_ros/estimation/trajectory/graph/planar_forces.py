"""Compiled: masses, gravity, friction and springs of planar mechanisms, linear in parameters."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    ARMATURE,
    COMPILED,
    COULOMB,
    STIFFNESS,
    VISCOUS,
    ForceArrays,
)


@njit(**COMPILED)
def regress(
    arrays: ForceArrays, q: np.ndarray, v: np.ndarray, a: np.ndarray, rows: np.ndarray
) -> None:
    r"""What each parameter's unit takes of generalised force at one sample, added to rows.

    Mass m, first moment h and moment of inertia I about the first point of a body, in axes along
    its two first points, make :math:`T = \tfrac12 (m |v_1|^2 + I |\dot e|^2) + h_x v_1 \cdot
    \dot e + h_y v_1 \cdot R \dot e` with :math:`e = (p_2 - p_1) / L` and a quarter turn R.

    Args:
        arrays: The mechanism.
        q: Coordinates, shape ``(n,)``.
        v: Velocities.
        a: Accelerations.
        rows: Shape ``(n, 4 b + t)``; four columns a body, then one each force.
    """
    bodies, gravity = len(arrays.length), arrays.gravity
    pull, end = np.empty(2), np.empty(2)
    for b in range(bodies):
        scale = 1.0 / arrays.length[b]
        for axis in range(2):
            place = arrays.place[b, axis]
            pull[axis] = (a[place] if place >= 0 else 0.0) - gravity[axis]
            place = arrays.place[b, 2 + axis]
            end[axis] = (a[place] if place >= 0 else 0.0) - gravity[axis]
        for axis in range(2):
            other = 1 - axis
            # The quarter turn of a vector, and back.
            turn = 1.0 if axis else -1.0
            change = (end[axis] - pull[axis]) * scale
            place = arrays.place[b, axis]
            if place >= 0:
                rows[place, 4 * b] += pull[axis]
                rows[place, 4 * b + 1] += change - pull[axis] * scale
                rows[place, 4 * b + 2] += turn * end[other] * scale
                rows[place, 4 * b + 3] -= change * scale
            place = arrays.place[b, 2 + axis]
            if place >= 0:
                rows[place, 4 * b + 1] += pull[axis] * scale
                rows[place, 4 * b + 2] -= turn * pull[other] * scale
                rows[place, 4 * b + 3] += change * scale
    for k in range(len(arrays.kind)):
        rows[arrays.along[k], 4 * bodies + k] += _felt(arrays, k, q, v, a)


@njit(**COMPILED)
def _felt(arrays: ForceArrays, k: int, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """What a unit of the parameter of a force takes along its coordinate."""
    kind, c = arrays.kind[k], arrays.along[k]
    if kind == VISCOUS:
        return v[c]
    if kind == COULOMB:
        return np.tanh(v[c] / arrays.shape[k])
    if kind == STIFFNESS:
        return q[c] - arrays.shape[k]
    if kind == ARMATURE:
        return a[c]
    return 1.0


@njit(**COMPILED)
def fill_inertia(
    arrays: ForceArrays, values: np.ndarray, mass: np.ndarray, rest: np.ndarray
) -> None:
    """The mass matrix, which is constant in natural coordinates, and the weight of all bodies.

    Args:
        arrays: The mechanism.
        values: Its parameters, shape ``(p,)``.
        mass: Filled, shape ``(n, n)``.
        rest: Filled with the forces of gravity, shape ``(n,)``.
    """
    n, bodies = len(mass), len(arrays.length)
    unit, still = np.zeros(n), np.zeros(n)
    rows, none = np.empty((n, len(values))), np.zeros((n, len(values)))
    regress(arrays, still, still, still, none)
    mass[:, :] = 0.0
    rest[:] = 0.0
    for i in range(n):
        for k in range(4 * bodies):
            rest[i] -= none[i, k] * values[k]
    for j in range(n):
        unit[j] = 1.0
        rows[:, :] = 0.0
        regress(arrays, still, still, unit, rows)
        for i in range(n):
            for k in range(len(values)):
                if k < 4 * bodies or arrays.kind[k - 4 * bodies] == ARMATURE:
                    mass[i, j] += (rows[i, k] - none[i, k]) * values[k]
        unit[j] = 0.0


@njit(**COMPILED)
def add_forces(
    arrays: ForceArrays, values: np.ndarray, q: np.ndarray, v: np.ndarray, right: np.ndarray,
    by_q: np.ndarray, by_v: np.ndarray,
) -> None:
    """Add friction, springs and offsets to a right-hand side, and their diagonal derivatives."""
    first = 4 * len(arrays.length)
    for k in range(len(arrays.kind)):
        kind, c, value = arrays.kind[k], arrays.along[k], values[first + k]
        if kind == ARMATURE:
            continue
        right[c] -= value * _felt(arrays, k, q, v, v)
        if kind == VISCOUS:
            by_v[c] -= value
        elif kind == COULOMB:
            by_v[c] -= value / (arrays.shape[k] * np.cosh(v[c] / arrays.shape[k])**2)
        elif kind == STIFFNESS:
            by_q[c] -= value
