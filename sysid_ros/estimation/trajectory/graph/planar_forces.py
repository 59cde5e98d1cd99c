"""Compiled: masses, gravity, friction and springs of planar mechanisms, linear in parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph import planar_arrays
from sysid_ros.estimation.trajectory.graph.planar_arrays import COMPILED, ForceArrays
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, law_slope, law_value
from sysid_ros.mechanics.joint_terms.law import ACCELERATION, CONSTANT, POSITION, VELOCITY
from sysid_ros.numerics.jit import INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :func:`fill_inertia`.
SOURCES = (planar_arrays, *dispatch.SOURCES)
# What calls functions of other files is not cached by itself, where changes there were not seen.
_INSIDE = INSIDE | MAKES_ARRAYS


@njit(**_INSIDE)
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
    for k in range(len(arrays.along)):
        rows[arrays.along[k], 4 * bodies + k] += law_value(
            arrays.laws, k, _variable(arrays, k, q, v, a))


@njit(**_INSIDE)
def _variable(arrays: ForceArrays, k: int, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """What the law of a force looks at."""
    variable, c = arrays.laws.code[k, VARIABLE], arrays.along[k]
    if variable == CONSTANT:
        return 1.0
    return q[c] if variable == POSITION else v[c] if variable == VELOCITY else a[c]


@njit(**_INSIDE)
def add_forces(
    arrays: ForceArrays, values: np.ndarray, q: np.ndarray, v: np.ndarray, right: np.ndarray,
    by_q: np.ndarray, by_v: np.ndarray,
) -> None:
    """Add friction, springs and offsets to a right-hand side, and their diagonal derivatives."""
    first = 4 * len(arrays.length)
    for k in range(len(arrays.along)):
        variable, c, amplitude = arrays.laws.code[k, VARIABLE], arrays.along[k], values[first + k]
        if variable == ACCELERATION:
            continue
        x = _variable(arrays, k, q, v, v)
        value = law_value(arrays.laws, k, x)
        right[c] -= amplitude * value
        if variable == VELOCITY:
            by_v[c] -= amplitude * law_slope(arrays.laws, k, x, value)
        elif variable == POSITION:
            by_q[c] -= amplitude * law_slope(arrays.laws, k, x, value)


def _compiled(sources: str) -> Callable[..., None]:
    """Inertia as one call; a digest of the files is part of what is compiled."""

    @njit(**COMPILED)
    def fill_inertia(
        arrays: ForceArrays, values: np.ndarray, mass: np.ndarray, rest: np.ndarray
    ) -> None:
        sources  # noqa: B018
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
                    if k < 4 * bodies or arrays.laws.code[k - 4 * bodies, VARIABLE] == ACCELERATION:
                        mass[i, j] += (rows[i, k] - none[i, k]) * values[k]
            unit[j] = 0.0

    return fill_inertia


#: Fill the mass matrix ``(n, n)``, which is constant in natural coordinates, and the forces of
#: gravity ``(n,)`` of a mechanism with parameters of shape ``(p,)``.
fill_inertia = _compiled(digest(*SOURCES))
