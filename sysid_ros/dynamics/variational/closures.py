r"""Closures as holonomic constraints: gaps, derivatives and geometric stiffness, compiled.

Of a frame closure the angular gap is half the sum of the vector products of both places' axes:
zero where they agree, with the angular velocity between them as its rate there. A place p of a
body moves by :math:`w_j = \omega_j \times p + v_j` with joint j, and for i between j and the base

.. math:: f \cdot \partial^2 p/\partial q_i \partial q_j = \omega_i \cdot (w_j \times f), \qquad
          n \cdot \partial^2 e/\partial q_i \partial q_j
              = \tfrac12\,\omega_i \cdot (\omega_j \times n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics.spatial_vectors import COMPILED, Vector, cross, dot, plus, six, three
from sysid_ros.dynamics.tree_terms import gather
from sysid_ros.dynamics.variational.lagrangian import LagrangianRoom
from sysid_ros.dynamics.variational.system import FRAME, ROD, DiscreteSystem


class ClosureRoom(NamedTuple):
    """Room for the closures of one configuration.

    Attributes:
        gap: Shape ``(r,)``.
        jacobian: Shape ``(r, n)``.
        ends: The two places of a closure and their distance, shape ``(3, 3)``.
        reach: How that distance grows with each body's joint, shape ``(b, 3)``.
        pairs: Geometric stiffness, body by body, shape ``(b, b)``.
        stiffness: The same at the joints, shape ``(n, n)``; the same memory unless coupled.
    """

    gap: np.ndarray
    jacobian: np.ndarray
    ends: np.ndarray
    reach: np.ndarray
    pairs: np.ndarray
    stiffness: np.ndarray


def closure_room(system: DiscreteSystem) -> ClosureRoom:
    """Room for the closures of a system."""
    bodies, joints = system.tree.coupling.shape
    pairs = np.zeros((bodies, bodies))
    return ClosureRoom(
        np.zeros(system.rows), np.zeros((system.rows, joints)), np.zeros((3, 3)),
        np.zeros((bodies, 3)), pairs, np.zeros((joints, joints)) if system.coupled else pairs)


@njit(**COMPILED)
def _find_ends(system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, c: int) -> None:
    """Where the places of a closure are in the world."""
    closures, ends = system.closures, room.ends
    for end in range(2):
        body, x = closures.ends[c, end], closures.point[c, end]
        for i in range(3):
            ends[end, i] = x[i] if body < 0 else (
                tree.pose[body, 9 + i] + tree.pose[body, 3 * i] * x[0]
                + tree.pose[body, 3 * i + 1] * x[1] + tree.pose[body, 3 * i + 2] * x[2])
    for i in range(3):
        ends[2, i] = ends[1, i] - ends[0, i]


@njit(**COMPILED)
def _axis_of(
    system: DiscreteSystem, tree: LagrangianRoom, c: int, end: int, k: int
) -> Vector:
    """An axis of a place of a closure in the world."""
    body, turn = system.closures.ends[c, end], system.closures.turn
    x = (turn[c, end, 0, k], turn[c, end, 1, k], turn[c, end, 2, k])
    if body < 0:
        return x
    return (
        dot(three(tree.pose, body, 0), x), dot(three(tree.pose, body, 3), x),
        dot(three(tree.pose, body, 6), x))


@njit(**COMPILED)
def _angular_gap(system: DiscreteSystem, tree: LagrangianRoom, c: int) -> Vector:
    gap = (0.0, 0.0, 0.0)
    for k in range(3):
        gap = plus(
            gap, cross(_axis_of(system, tree, c, 0, k), _axis_of(system, tree, c, 1, k)), 0.5)
    return gap


@njit(**COMPILED)
def close(system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom) -> None:
    """Gaps and their Jacobian where the bodies have been placed.

    Args:
        system: What moves.
        tree: After :func:`~sysid_ros.dynamics.variational.lagrangian.look`.
        room: Is filled.
    """
    room.jacobian[:] = 0.0
    closures = system.closures
    for c in range(len(closures.kind)):
        _find_ends(system, tree, room, c)
        row, kind, gap = closures.row[c], closures.kind[c], three(room.ends, 2, 0)
        if kind == ROD:
            size = closures.length[c]
            _set(system, room.gap, row, 0.5 * (dot(gap, gap) - size * size) / size)
        else:
            for i in range(3):
                _set(system, room.gap, row + i, gap[i])
        if kind == FRAME:
            turn = _angular_gap(system, tree, c)
            for i in range(3):
                _set(system, room.gap, row + 3 + i, turn[i])
        for end in range(2):
            _rows(system, tree, room, c, end)


@njit(**COMPILED)
def _set(system: DiscreteSystem, out: np.ndarray, row: int, value: float) -> None:
    place = system.closures.place[row]
    if place >= 0:
        out[place] = value


@njit(**COMPILED)
def _rows(
    system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, c: int, end: int
) -> None:
    """What one end of a closure adds to the Jacobian."""
    closures, sign, p = system.closures, 2.0 * end - 1.0, three(room.ends, end, 0)
    row, kind, j = closures.row[c], closures.kind[c], closures.ends[c, end]
    while j >= 0:
        turn, slide = six(tree.axis, j)
        move = plus(cross(turn, p), slide, 1.0)
        if kind == ROD:
            along = dot(three(room.ends, 2, 0), move) / closures.length[c]
            _add(system, room.jacobian, row, j, sign * along)
        else:
            for i in range(3):
                _add(system, room.jacobian, row + i, j, sign * move[i])
        if kind == FRAME:
            for i in range(3):
                _add(system, room.jacobian, row + 3 + i, j, sign * turn[i])
        j = system.tree.parent[j]


@njit(**COMPILED)
def _add(system: DiscreteSystem, table: np.ndarray, row: int, body: int, value: float) -> None:
    place = system.closures.place[row]
    if place < 0:
        return
    if not system.coupled:
        table[place, body] += value
        return
    for j in range(table.shape[1]):
        table[place, j] += system.tree.coupling[body, j] * value


@njit(**COMPILED)
def stiffen(
    system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, multipliers: np.ndarray
) -> None:
    r"""Derivative of :math:`H^\top\lambda` by positions, where the loops are closed.

    Args:
        system: What moves.
        tree: After :func:`~sysid_ros.dynamics.variational.lagrangian.look`.
        room: Its ``stiffness`` is filled.
        multipliers: Shape ``(r,)``.
    """
    room.pairs[:] = 0.0
    closures = system.closures
    for c in range(len(closures.kind)):
        _find_ends(system, tree, room, c)
        row = closures.row[c]
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if closures.kind[c] == ROD:
            pull = _get(system, multipliers, row) / closures.length[c]
            force = plus(force, three(room.ends, 2, 0), pull)
            _stretch(system, tree, room, c, pull)
        else:
            force = (
                _get(system, multipliers, row), _get(system, multipliers, row + 1),
                _get(system, multipliers, row + 2))
        if closures.kind[c] == FRAME:
            moment = (
                _get(system, multipliers, row + 3), _get(system, multipliers, row + 4),
                _get(system, multipliers, row + 5))
            _twist_ends(system, tree, room, c, moment)
        for end in range(2):
            _bend(system, tree, room, c, end, force, moment)
    if system.coupled:
        gather(system.tree.coupling, True, room.pairs, room.stiffness)


@njit(**COMPILED)
def _get(system: DiscreteSystem, multipliers: np.ndarray, row: int) -> float:
    place = system.closures.place[row]
    return multipliers[place] if place >= 0 else 0.0


@njit(**COMPILED)
def _bend(
    system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, c: int, end: int,
    force: Vector, moment: Vector,
) -> None:
    """Second derivatives of one end."""
    sign, p, j = 2.0 * end - 1.0, three(room.ends, end, 0), system.closures.ends[c, end]
    while j >= 0:
        turn, slide = six(tree.axis, j)
        arm = cross(plus(cross(turn, p), slide, 1.0), force)
        room.pairs[j, j] += sign * dot(turn, arm)
        arm = plus(arm, cross(turn, moment), 0.5)
        i = system.tree.parent[j]
        while i >= 0:
            value = sign * dot(three(tree.axis, i, 0), arm)
            room.pairs[i, j] += value
            room.pairs[j, i] += value
            i = system.tree.parent[i]
        j = system.tree.parent[j]


@njit(**COMPILED)
def _twist_ends(
    system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, c: int, moment: Vector
) -> None:
    """Second derivatives of the angular gap where both ends turn."""
    i = system.closures.ends[c, 0]
    while i >= 0:
        arm = cross(moment, three(tree.axis, i, 0))
        j = system.closures.ends[c, 1]
        while j >= 0:
            value = 0.5 * dot(arm, three(tree.axis, j, 0))
            room.pairs[i, j] += value
            room.pairs[j, i] += value
            j = system.tree.parent[j]
        i = system.tree.parent[i]


@njit(**COMPILED)
def _stretch(
    system: DiscreteSystem, tree: LagrangianRoom, room: ClosureRoom, c: int, pull: float
) -> None:
    """What a rod's turning adds."""
    room.reach[:] = 0.0
    for end in range(2):
        p, j, sign = three(room.ends, end, 0), system.closures.ends[c, end], 2.0 * end - 1.0
        while j >= 0:
            turn, slide = six(tree.axis, j)
            move = plus(cross(turn, p), slide, 1.0)
            for k in range(3):
                room.reach[j, k] += sign * move[k]
            j = system.tree.parent[j]
    for i in range(len(room.reach)):
        for j in range(len(room.reach)):
            room.pairs[i, j] += pull * dot(three(room.reach, i, 0), three(room.reach, j, 0))
