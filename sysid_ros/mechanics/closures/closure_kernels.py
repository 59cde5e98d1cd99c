r"""Compiled: gaps of closures, their Jacobian and their geometric stiffness.

Rows are in world axes. Of a frame closure the angular gap is the rotation vector between both
places, whose rate is the angular velocity between them where they agree. With joint j, of spatial
axis :math:`(\omega_j, v_j)`, a place p moves by :math:`w_j = \omega_j \times p + v_j`, and for i
between j and the base

.. math:: f \cdot \partial^2 p/\partial q_i \partial q_j = \omega_i \cdot (w_j \times f), \qquad
          n \cdot \partial^2 e/\partial q_i \partial q_j
              = \tfrac12\,\omega_i \cdot (\omega_j \times n),

while for i and j that turn different ends the angular gap e has half of :math:`n \cdot
(\omega_i \times \omega_j)`, i at the first.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closure_arrays import FRAME, ROD, Closures
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Vector, cross, dot, plus, six, three
from sysid_ros.numerics.tables import clear

# A sine of the angle between two frames below which it is the angle.
_SMALL_SINE = 1e-12


class BodyFrames(Protocol):
    """Where b bodies are, by :mod:`~sysid_ros.mechanics.tree.forward_kinematics`."""

    @property
    def pose(self) -> np.ndarray:
        """Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``."""

    @property
    def axis(self) -> np.ndarray:
        """Spatial axes of their joints, shape ``(b, 6)``."""


@njit(**INSIDE)
def end_positions(closures: Closures, pose: np.ndarray, ends: np.ndarray, c: int) -> None:
    """Positions of the two places of closure c in the world, and their difference.

    Args:
        closures: The closures.
        pose: Of all bodies, shape ``(b, 12)``.
        ends: The first three columns are filled, shape ``(3, at least 3)``.
        c: Which closure.
    """
    for end in range(2):
        body = closures.ends[c, end]
        x, y, z = closures.point[c, end, 0], closures.point[c, end, 1], closures.point[c, end, 2]
        if body < 0:
            ends[end, 0], ends[end, 1], ends[end, 2] = x, y, z
        else:
            for i in range(3):
                ends[end, i] = pose[body, 9 + i] + dot(three(pose, body, 3 * i), (x, y, z))
    for i in range(3):
        ends[2, i] = ends[1, i] - ends[0, i]


@njit(**INSIDE)
def point_jacobian_column(axis: np.ndarray, j: int, p: Vector) -> Vector:
    """Jacobian column of a point p on body j or beyond: its velocity per unit of the joint."""
    turn, slide = six(axis, j)
    return plus(cross(turn, p), slide, 1.0)


@njit(**INSIDE)
def _in_world(pose: np.ndarray, body: int, x: Vector) -> Vector:
    """World components of a vector that is given in the frame of a body."""
    if body < 0:
        return x
    return (
        dot(three(pose, body, 0), x), dot(three(pose, body, 3), x), dot(three(pose, body, 6), x))


@njit(**INSIDE)
def _rotation_vector(closures: Closures, pose: np.ndarray, c: int) -> Vector:
    """Rotation from the first frame of a closure to the second, in the world's axes in [rad]."""
    gap, cosine, turn = (0.0, 0.0, 0.0), -0.5, closures.turn
    first, second = closures.ends[c, 0], closures.ends[c, 1]
    for k in range(3):
        here = _in_world(pose, first, (turn[c, 0, 0, k], turn[c, 0, 1, k], turn[c, 0, 2, k]))
        there = _in_world(pose, second, (turn[c, 1, 0, k], turn[c, 1, 1, k], turn[c, 1, 2, k]))
        gap, cosine = plus(gap, cross(here, there), 0.5), cosine + 0.5 * dot(here, there)
    sine = np.sqrt(dot(gap, gap))
    factor = np.arctan2(sine, cosine) / sine if sine > _SMALL_SINE else 1.0
    return (factor * gap[0], factor * gap[1], factor * gap[2])


@njit(**INSIDE)
def fill_gaps_and_jacobian(
    closures: Closures, bodies: BodyFrames, ends: np.ndarray, gap: np.ndarray,
    jacobian: np.ndarray,
) -> None:
    """Write the gaps of all closures, and their Jacobian where they are closed.

    Args:
        closures: The closures.
        bodies: Where the bodies are.
        ends: Workspace, shape ``(3, at least 3)``.
        gap: Is filled, shape ``(r,)``, in [m], and in [rad] times the closure's length.
        jacobian: Is filled, shape ``(r, columns)``.
    """
    pose, axis = bodies.pose, bodies.axis
    clear(jacobian)
    for c in range(len(closures.kind)):
        end_positions(closures, pose, ends, c)
        _fill_gap(closures, pose, ends, gap, c)
        _add_joints(closures, axis, ends, jacobian, c)


@njit(**INSIDE)
def fill_jacobian(
    closures: Closures, bodies: BodyFrames, ends: np.ndarray, jacobian: np.ndarray
) -> None:
    """Write the Jacobian alone; arguments are those of :func:`fill_gaps_and_jacobian`."""
    pose, axis = bodies.pose, bodies.axis
    clear(jacobian)
    for c in range(len(closures.kind)):
        end_positions(closures, pose, ends, c)
        _add_joints(closures, axis, ends, jacobian, c)


@njit(**INSIDE)
def _fill_gap(
    closures: Closures, pose: np.ndarray, ends: np.ndarray, gap: np.ndarray, c: int
) -> None:
    """Write the gap of closure c."""
    place, row, size, way = closures.place, closures.row[c], closures.length[c], three(ends, 2, 0)
    if closures.kind[c] == ROD:
        if place[row] >= 0:
            gap[place[row]] = 0.5 * (dot(way, way) - size * size) / size
        return
    _set(place, gap, row, way, 1.0)
    if closures.kind[c] == FRAME:
        _set(place, gap, row + 3, _rotation_vector(closures, pose, c), size)


@njit(**INSIDE)
def _add_joints(
    closures: Closures, axis: np.ndarray, ends: np.ndarray, table: np.ndarray, c: int
) -> None:
    """Add the rows of closure c to the Jacobian."""
    place, kind, row, size = closures.place, closures.kind[c], closures.row[c], closures.length[c]
    body, side, column, weight = closures.body, closures.end, closures.column, closures.weight
    for entry in range(closures.first[c], closures.first[c + 1]):
        j = body[entry]
        move, turn = point_jacobian_column(axis, j, three(ends, side[entry], 0)), three(axis, j, 0)
        add_column(
            place, (kind, row, size), ends, table, column[entry], weight[entry], move, turn)


@njit(**INSIDE)
def add_column(
    place: np.ndarray, closure: tuple[int, int, float], ends: np.ndarray, table: np.ndarray,
    column: int, weight: float, move: Vector, turn: Vector,
) -> None:
    """Add to the rows of a closure what one of its ends does per unit of a joint.

    Args:
        place: As in :class:`~sysid_ros.mechanics.closures.closure_arrays.Closures`.
        closure: Kind, first row and length of the closure.
        ends: Its ends, shape ``(3, at least 3)``.
        table: Shape ``(r, columns)``.
        column: The joint's column.
        weight: The joint's weight.
        move: How the end moves.
        turn: How it turns.
    """
    kind, row, size = closure
    if kind == ROD:
        if place[row] >= 0:
            table[place[row], column] += weight * dot(three(ends, 2, 0), move) / size
        return
    _add(place, table, row, column, move, weight)
    if kind == FRAME:
        _add(place, table, row + 3, column, turn, weight * size)


@njit(**INSIDE)
def _set(place: np.ndarray, out: np.ndarray, row: int, values: Vector, factor: float) -> None:
    """Write three numbers times a factor from a row on, as far as these are kept."""
    x, y, z = place[row], place[row + 1], place[row + 2]
    if x >= 0:
        out[x] = factor * values[0]
    if y >= 0:
        out[y] = factor * values[1]
    if z >= 0:
        out[z] = factor * values[2]


@njit(**INSIDE)
def _add(
    place: np.ndarray, table: np.ndarray, row: int, column: int, values: Vector, factor: float
) -> None:
    """Add three numbers times a factor to a column from a row on, as far as these are kept."""
    x, y, z = place[row], place[row + 1], place[row + 2]
    if x >= 0:
        table[x, column] += factor * values[0]
    if y >= 0:
        table[y, column] += factor * values[1]
    if z >= 0:
        table[z, column] += factor * values[2]


@njit(**INSIDE)
def _get(place: np.ndarray, values: np.ndarray, row: int, factor: float) -> Vector:
    """Three numbers that begin at a row times a factor, zero where they are not kept."""
    x, y, z = place[row], place[row + 1], place[row + 2]
    return (
        factor * values[x] if x >= 0 else 0.0, factor * values[y] if y >= 0 else 0.0,
        factor * values[z] if z >= 0 else 0.0)


@njit(**INSIDE)
def fill_stiffness(
    closures: Closures, bodies: BodyFrames, ends: np.ndarray, rod_jacobian: np.ndarray,
    multipliers: np.ndarray, stiffness: np.ndarray,
) -> None:
    r"""Write the derivative of :math:`J^\top\lambda` by positions, where the loops are closed.

    Args:
        closures: The closures.
        bodies: Where the bodies are.
        ends: Workspace, shape ``(3, at least 3)``.
        rod_jacobian: Workspace, shape ``(e, 3)``.
        multipliers: Shape ``(r,)``.
        stiffness: Is filled, shape ``(columns, columns)``.
    """
    pose, axis, place, first = bodies.pose, bodies.axis, closures.place, closures.first
    clear(stiffness)
    for c in range(len(closures.kind)):
        end_positions(closures, pose, ends, c)
        row, kind, size = closures.row[c], closures.kind[c], closures.length[c]
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if kind == ROD:
            if place[row] >= 0:
                pull = multipliers[place[row]] / size
                force = plus(force, three(ends, 2, 0), pull)
                _add_rod_rotation(closures, axis, ends, rod_jacobian, stiffness, c, pull)
        else:
            force = _get(place, multipliers, row, 1.0)
        if kind == FRAME:
            moment = _get(place, multipliers, row + 3, size)
            _add_relative_rotation(closures, axis, stiffness, c, moment)
        for entry in range(first[c], first[c + 1]):
            _add_second_derivatives(closures, axis, ends, stiffness, entry, first[c + 1],
                force, moment)


@njit(**INSIDE)
def _add_second_derivatives(
    closures: Closures, axis: np.ndarray, ends: np.ndarray, stiffness: np.ndarray, entry: int,
    last: int, force: Vector, moment: Vector,
) -> None:
    """Add second derivatives of one end's position and rotation, times force and moment.

    They are those by an entry's joint, and by this and the joints before it, whose entries come
    later.
    """
    body, side, columns, weights = closures.body, closures.end, closures.column, closures.weight
    j, end, column, turn = body[entry], side[entry], columns[entry], three(axis, body[entry], 0)
    factor = (2.0 * end - 1.0) * weights[entry]
    arm = cross(point_jacobian_column(axis, j, three(ends, end, 0)), force)
    stiffness[column, column] += factor * weights[entry] * dot(turn, arm)
    arm = plus(arm, cross(turn, moment), 0.5)
    for other in range(entry + 1, last):
        if side[other] != end:
            return
        value = factor * weights[other] * dot(three(axis, body[other], 0), arm)
        stiffness[column, columns[other]] += value
        stiffness[columns[other], column] += value


@njit(**INSIDE)
def _add_relative_rotation(
    closures: Closures, axis: np.ndarray, stiffness: np.ndarray, c: int, moment: Vector
) -> None:
    """Add second derivatives of the angular gap by joints that turn different ends."""
    body, side, columns, weights = closures.body, closures.end, closures.column, closures.weight
    first, last = closures.first[c], closures.first[c + 1]
    for entry in range(first, last):
        arm, column = cross(moment, three(axis, body[entry], 0)), columns[entry]
        for other in range(entry + 1, last):
            if side[other] != side[entry]:
                # Weights of the ends have opposite signs.
                value = -0.5 * weights[entry] * weights[other] * dot(
                    arm, three(axis, body[other], 0))
                stiffness[column, columns[other]] += value
                stiffness[columns[other], column] += value


@njit(**INSIDE)
def _add_rod_rotation(
    closures: Closures, axis: np.ndarray, ends: np.ndarray, rod_jacobian: np.ndarray,
    stiffness: np.ndarray, c: int, pull: float,
) -> None:
    """Add what the rotation of a rod adds to the second derivatives of its length."""
    body, side, column, weight = closures.body, closures.end, closures.column, closures.weight
    first, last = closures.first[c], closures.first[c + 1]
    for entry in range(first, last):
        move = point_jacobian_column(axis, body[entry], three(ends, side[entry], 0))
        for i in range(3):
            rod_jacobian[entry, i] = weight[entry] * move[i]
    for entry in range(first, last):
        for other in range(first, last):
            stiffness[column[entry], column[other]] += pull * dot(
                three(rod_jacobian, entry, 0), three(rod_jacobian, other, 0))
