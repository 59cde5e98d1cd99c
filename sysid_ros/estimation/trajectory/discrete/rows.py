r"""Compiled: elementary constraints between two rigid bodies, and their derivatives.

A row has a value g (but a turn, which no angle is needed of) and a direction G with
:math:`\dot g = G\,(v_i, \omega_i, v_j, \omega_j)`. Bodies are moved by
:math:`r + \delta r,\ \exp(\delta\varphi) R`, so the derivative of g is G again, and what is left
to derive is the slope :math:`T = \partial G^\top / \partial(\delta r_i, \delta\varphi_i, \delta
r_j, \delta\varphi_j)`. All vectors are in the world's axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Vector, cross, dot, plus

#: Kinds of rows: a point's place along an axis of the world, the cosine between two axes, a
#: point's place along an axis of the second body, the distance of two points, and the turn about
#: an axis of the second body, which has no value.
PLACE, COSINE, SLIDE, DISTANCE, TURN = range(5)
#: Stands for the world where a row names a body.
WORLD = -1

class Rows(NamedTuple):
    """Elementary constraints, m of them.

    Attributes:
        kind: Shape ``(m,)``.
        first: Body i of each, never the world, shape ``(m,)``.
        second: Body j of each, or the world, shape ``(m,)``.
        here: A point of body i, or its axis, in its own frame, shape ``(m, 3)``.
        there: A point of body j, or its axis, in its own frame, shape ``(m, 3)``.
        axis: Axis of a place, a slide or a turn, of unit length, shape ``(m, 3)``.
        offset: What is taken off the value, shape ``(m,)``.
    """

    kind: np.ndarray
    first: np.ndarray
    second: np.ndarray
    here: np.ndarray
    there: np.ndarray
    axis: np.ndarray
    offset: np.ndarray


@njit(**INSIDE)
def evaluate_row(
    rows: Rows, k: int, positions: np.ndarray, rotations: np.ndarray, direction: np.ndarray
) -> float:
    """Evaluate a row: its value and Jacobian.

    Args:
        rows: All rows.
        k: Which one.
        positions: Of the bodies in [m], shape ``(b, 3)``.
        rotations: From their frames to the world's, shape ``(b, 3, 3)``.
        direction: Row k is filled, shape ``(m, 12)``.

    Returns:
        The value in [m], or without unit.
    """
    i, j, kind = rows.first[k], rows.second[k], rows.kind[k]
    p, s = _turned(rotations, i, rows.here, k), _turned(rotations, j, rows.there, k)
    none = (0.0, 0.0, 0.0)
    if kind == COSINE:
        c = cross(p, s)
        _put(direction, k, 0, 1.0, none)
        _put(direction, k, 3, 1.0, c)
        _put(direction, k, 6, 1.0, none)
        _put(direction, k, 9, -1.0, c)
        return dot(p, s) - rows.offset[k]
    if kind == PLACE:
        a = (rows.axis[k, 0], rows.axis[k, 1], rows.axis[k, 2])
    else:
        a = _turned(rotations, j, rows.axis, k)
    if kind == TURN:
        _put(direction, k, 0, 1.0, none)
        _put(direction, k, 3, 1.0, a)
        _put(direction, k, 6, 1.0, none)
        _put(direction, k, 9, -1.0, a)
        return 0.0
    # From body j's origin to body i's point, and from its own point.
    long = _from_to(positions, j, i, p)
    d = plus(long, s, -1.0)
    value = dot(a, d)
    arm = s
    if kind == DISTANCE:
        value = np.sqrt(dot(d, d))
        a = (d[0] / value, d[1] / value, d[2] / value)
    elif kind == SLIDE:
        arm = long
    _put(direction, k, 0, 1.0, a)
    _put(direction, k, 3, 1.0, cross(p, a))
    _put(direction, k, 6, -1.0, a)
    _put(direction, k, 9, -1.0, cross(arm, a))
    return value - rows.offset[k]


@njit(**INSIDE)
def row_second_derivative(
    rows: Rows, k: int, positions: np.ndarray, rotations: np.ndarray, slope: np.ndarray
) -> None:
    r"""Second derivative of a row by the poses of its bodies.

    Args:
        rows: All rows.
        k: Which one.
        positions: Of the bodies in [m], shape ``(b, 3)``.
        rotations: From their frames to the world's, shape ``(b, 3, 3)``.
        slope: T of row k is filled, shape ``(m, 12, 12)``.
    """
    for r in range(12):
        for c in range(12):
            slope[k, r, c] = 0.0
    i, j, kind = rows.first[k], rows.second[k], rows.kind[k]
    p, s = _turned(rotations, i, rows.here, k), _turned(rotations, j, rows.there, k)
    if kind == COSINE:
        for row, sign in ((3, 1.0), (9, -1.0)):
            _add_two(slope, k, row, 3, sign, s, p)
            _add_two(slope, k, row, 9, -sign, p, s)
        return
    if kind == PLACE:
        a = (rows.axis[k, 0], rows.axis[k, 1], rows.axis[k, 2])
        _add_two(slope, k, 3, 3, 1.0, a, p)
        _add_two(slope, k, 9, 9, -1.0, a, s)
        return
    if kind == DISTANCE:
        _distance_second_derivative(slope, k, p, s, plus(_from_to(positions, j, i, p), s, -1.0))
        return
    a = _turned(rotations, j, rows.axis, k)
    if kind == TURN:
        _add_one(slope, k, 3, 9, -1.0, a)
        _add_one(slope, k, 9, 9, 1.0, a)
        return
    long = _from_to(positions, j, i, p)
    _add_one(slope, k, 0, 9, -1.0, a)
    _add_two(slope, k, 3, 3, 1.0, a, p)
    _add_two(slope, k, 3, 9, -1.0, p, a)
    _add_one(slope, k, 6, 9, 1.0, a)
    _add_one(slope, k, 9, 0, 1.0, a)
    _add_two(slope, k, 9, 3, -1.0, a, p)
    _add_one(slope, k, 9, 6, -1.0, a)
    _add_two(slope, k, 9, 9, 1.0, long, a)


@njit(**INSIDE)
def second_derivative_along(
    rows: Rows, k: int, positions: np.ndarray, rotations: np.ndarray,
    speeds: tuple[Vector, Vector, Vector, Vector], moved: tuple[Vector, Vector, Vector, Vector],
) -> float:
    """Directional second derivative of a row along a motion of its bodies.

    Args:
        rows: All rows.
        k: Which one.
        positions: Of the bodies in [m], shape ``(b, 3)``.
        rotations: From their frames to the world's, shape ``(b, 3, 3)``.
        speeds: Velocity and angular velocity of body i, then of body j; zeros of the world.
        moved: What they are moved and turned by.
    """
    i, j, kind = rows.first[k], rows.second[k], rows.kind[k]
    p, s = _turned(rotations, i, rows.here, k), _turned(rotations, j, rows.there, k)
    v, omega = plus(speeds[0], speeds[2], -1.0), plus(speeds[1], speeds[3], -1.0)
    x, phi, y, psi = moved
    if kind == COSINE:
        return dot(omega, plus(cross(s, cross(p, phi)), cross(p, cross(s, psi)), -1.0))
    if kind == PLACE:
        a = (rows.axis[k, 0], rows.axis[k, 1], rows.axis[k, 2])
        return dot(speeds[1], cross(a, cross(p, phi))) - dot(
            speeds[3], cross(a, cross(s, psi)))
    if kind == DISTANCE:
        d = plus(_from_to(positions, j, i, p), s, -1.0)
        length = np.sqrt(dot(d, d))
        n = (d[0] / length, d[1] / length, d[2] / length)
        turn = plus(plus(plus(x, cross(phi, p), 1.0), y, -1.0), cross(psi, s), -1.0)
        turn = plus(turn, n, -dot(n, turn))
        swept = plus(plus(v, cross(speeds[1], p), 1.0), cross(speeds[3], s), -1.0)
        return dot(swept, turn) / length + dot(speeds[1], cross(n, cross(p, phi))) - dot(
            speeds[3], cross(n, cross(s, psi)))
    a = _turned(rotations, j, rows.axis, k)
    carried = cross(a, psi)
    if kind == TURN:
        return -dot(omega, carried)
    # The axis turns with body j; what body i's point has moved turns its lever.
    long, roll = _from_to(positions, j, i, p), cross(a, cross(p, phi))
    return (
        dot(omega, roll) - dot(v, carried) - dot(speeds[1], cross(p, carried))
        + dot(speeds[3], plus(cross(a, plus(x, y, -1.0)), cross(long, carried), 1.0)))


@njit(**INSIDE)
def _distance_second_derivative(
    slope: np.ndarray, k: int, p: Vector, s: Vector, d: Vector
) -> None:
    """The slope of a distance; d leads from the point of body j to that of body i."""
    length = np.sqrt(dot(d, d))
    n = (d[0] / length, d[1] / length, d[2] / length)
    # Columns of the derivative of n by d, then of p × n and s × n.
    for c in range(3):
        for part in range(4):
            unit = (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2))
            moved = unit if part == 0 else cross(unit, p) if part == 1 else (
                (-unit[0], -unit[1], -unit[2]) if part == 2 else cross(s, unit))
            moved = plus(moved, n, -dot(n, moved))
            moved = (moved[0] / length, moved[1] / length, moved[2] / length)
            column = 3 * part + c
            _add(slope, k, 0, column, 1.0, moved)
            _add(slope, k, 3, column, 1.0, cross(p, moved))
            _add(slope, k, 6, column, -1.0, moved)
            _add(slope, k, 9, column, -1.0, cross(s, moved))
    _add_two(slope, k, 3, 3, 1.0, n, p)
    _add_two(slope, k, 9, 9, -1.0, n, s)


@njit(**INSIDE)
def _turned(rotations: np.ndarray, body: int, vectors: np.ndarray, k: int) -> Vector:
    """A body's vector in the axes of the world."""
    x, y, z = vectors[k, 0], vectors[k, 1], vectors[k, 2]
    if body == WORLD:
        return (x, y, z)
    return (
        rotations[body, 0, 0] * x + rotations[body, 0, 1] * y + rotations[body, 0, 2] * z,
        rotations[body, 1, 0] * x + rotations[body, 1, 1] * y + rotations[body, 1, 2] * z,
        rotations[body, 2, 0] * x + rotations[body, 2, 1] * y + rotations[body, 2, 2] * z)


@njit(**INSIDE)
def _from_to(positions: np.ndarray, start: int, body: int, p: Vector) -> Vector:
    """From the origin of a body, or the world, to a point p from the origin of another."""
    if start == WORLD:
        return (positions[body, 0] + p[0], positions[body, 1] + p[1], positions[body, 2] + p[2])
    return (
        positions[body, 0] + p[0] - positions[start, 0],
        positions[body, 1] + p[1] - positions[start, 1],
        positions[body, 2] + p[2] - positions[start, 2])


@njit(**INSIDE)
def _put(table: np.ndarray, k: int, first: int, sign: float, a: Vector) -> None:
    for c in range(3):
        table[k, first + c] = sign * a[c]


@njit(**INSIDE)
def _add(table: np.ndarray, k: int, row: int, column: int, sign: float, a: Vector) -> None:
    for r in range(3):
        table[k, row + r, column] += sign * a[r]


@njit(**INSIDE)
def _add_one(table: np.ndarray, k: int, row: int, column: int, sign: float, a: Vector) -> None:
    """Add the matrix of a vector product, a × ."""
    x, y, z = sign * a[0], sign * a[1], sign * a[2]
    table[k, row, column + 1] -= z
    table[k, row, column + 2] += y
    table[k, row + 1, column] += z
    table[k, row + 1, column + 2] -= x
    table[k, row + 2, column] -= y
    table[k, row + 2, column + 1] += x


@njit(**INSIDE)
def _add_two(
    table: np.ndarray, k: int, row: int, column: int, sign: float, a: Vector, b: Vector
) -> None:
    """Add the matrix of two vector products, a × (b × .)."""
    along = dot(a, b)
    for r in range(3):
        for c in range(3):
            table[k, row + r, column + c] += sign * b[r] * a[c]
        table[k, row + r, column + r] -= sign * along
