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

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.spatial_vectors import Vector, cross, dot, plus, six, three
from sysid_ros.dynamics.tables import clear
from sysid_ros.dynamics.tree_terms import gather
from sysid_ros.dynamics.variational.lagrangian import Frames
from sysid_ros.dynamics.variational.system import FRAME, ROD, Closures, DiscreteSystem


class ClosureWorkspace(NamedTuple):
    """Workspace for the closures of one configuration.

    Attributes:
        gap: Shape ``(r,)``.
        bodies: Jacobian body by body, shape ``(r, b)``.
        jacobian: The same at the joints, shape ``(r, n)``; the same memory unless coupled.
        ends: The two places of a closure and their distance, shape ``(3, 3)``.
        rod_jacobian: How that distance grows with each body's joint, shape ``(b, 3)``.
        pairs: Geometric stiffness, body by body, shape ``(b, b)``.
        stiffness: The same at the joints, shape ``(n, n)``; the same memory unless coupled.
    """

    gap: np.ndarray
    bodies: np.ndarray
    jacobian: np.ndarray
    ends: np.ndarray
    rod_jacobian: np.ndarray
    pairs: np.ndarray
    stiffness: np.ndarray


def closure_workspace(system: DiscreteSystem) -> ClosureWorkspace:
    """Workspace for the closures of a system."""
    (bodies, joints), rows = system.tree.coupling.shape, system.rows
    own, pairs = np.zeros((rows, bodies)), np.zeros((bodies, bodies))
    jacobian, stiffness = own, pairs
    if system.coupled:
        jacobian, stiffness = np.zeros((rows, joints)), np.zeros((joints, joints))
    return ClosureWorkspace(
        np.zeros(rows), own, jacobian, np.zeros((3, 3)), np.zeros((bodies, 3)), pairs, stiffness)


@njit(**INSIDE)
def _end_positions(closures: Closures, pose: np.ndarray, ends: np.ndarray, c: int) -> None:
    """Where the places of a closure are in the world."""
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
def _in_world(pose: np.ndarray, body: int, x: Vector) -> Vector:
    """A direction in the frame of a body, seen from the world."""
    if body < 0:
        return x
    return (
        dot(three(pose, body, 0), x), dot(three(pose, body, 3), x), dot(three(pose, body, 6), x))


@njit(**INSIDE)
def _angular_gap(closures: Closures, pose: np.ndarray, c: int) -> Vector:
    gap, turn = (0.0, 0.0, 0.0), closures.turn
    first, second = closures.ends[c, 0], closures.ends[c, 1]
    for k in range(3):
        here = _in_world(pose, first, (turn[c, 0, 0, k], turn[c, 0, 1, k], turn[c, 0, 2, k]))
        there = _in_world(pose, second, (turn[c, 1, 0, k], turn[c, 1, 1, k], turn[c, 1, 2, k]))
        gap = plus(gap, cross(here, there), 0.5)
    return gap


@njit(**INSIDE)
def close(system: DiscreteSystem, frames: Frames, work: ClosureWorkspace) -> None:
    """Gaps and their Jacobian where the bodies have been placed.

    Args:
        system: What moves.
        frames: After :func:`~sysid_ros.dynamics.variational.lagrangian.forward_kinematics`.
        work: Its ``gap`` and ``jacobian`` are filled.
    """
    closures, parent, coupling = system.closures, system.tree.parent, system.tree.coupling
    pose, axis, coupled, place = frames.pose, frames.axis, system.coupled, system.closures.place
    ends, gaps, bodies, jacobian = work.ends, work.gap, work.bodies, work.jacobian
    clear(bodies)
    for c in range(len(closures.kind)):
        _end_positions(closures, pose, ends, c)
        row, kind, gap = closures.row[c], closures.kind[c], three(ends, 2, 0)
        if kind == ROD:
            size = closures.length[c]
            if place[row] >= 0:
                gaps[place[row]] = 0.5 * (dot(gap, gap) - size * size) / size
        else:
            _set(place, gaps, row, gap)
        if kind == FRAME:
            _set(place, gaps, row + 3, _angular_gap(closures, pose, c))
        for end in range(2):
            _rows(closures, parent, axis, ends, bodies, c, end)
    if coupled:
        for k in range(len(jacobian)):
            for j in range(jacobian.shape[1]):
                total = 0.0
                for i in range(len(parent)):
                    total += bodies[k, i] * coupling[i, j]
                jacobian[k, j] = total


@njit(**INSIDE)
def _set(place: np.ndarray, out: np.ndarray, row: int, values: Vector) -> None:
    """Write three numbers that begin at a row, as far as these are kept."""
    if place[row] >= 0:
        out[place[row]] = values[0]
    if place[row + 1] >= 0:
        out[place[row + 1]] = values[1]
    if place[row + 2] >= 0:
        out[place[row + 2]] = values[2]


@njit(**INSIDE)
def _add(
    place: np.ndarray, table: np.ndarray, row: int, body: int, values: Vector, sign: float
) -> None:
    """Add three numbers to a body's column from a row on, as far as these are kept."""
    if place[row] >= 0:
        table[place[row], body] += sign * values[0]
    if place[row + 1] >= 0:
        table[place[row + 1], body] += sign * values[1]
    if place[row + 2] >= 0:
        table[place[row + 2], body] += sign * values[2]


@njit(**INSIDE)
def _get(place: np.ndarray, values: np.ndarray, row: int) -> Vector:
    """Three numbers that begin at a row, zero where they are not kept."""
    x, y, z = place[row], place[row + 1], place[row + 2]
    return (
        values[x] if x >= 0 else 0.0, values[y] if y >= 0 else 0.0, values[z] if z >= 0 else 0.0)


@njit(**INSIDE)
def _rows(
    closures: Closures, parent: np.ndarray, axis: np.ndarray, ends: np.ndarray,
    table: np.ndarray, c: int, end: int,
) -> None:
    """What one end of a closure adds to the Jacobian."""
    place, row, kind, j = closures.place, closures.row[c], closures.kind[c], closures.ends[c, end]
    sign, p, length = 2.0 * end - 1.0, three(ends, end, 0), closures.length[c]
    while j >= 0:
        turn, slide = six(axis, j)
        move = plus(cross(turn, p), slide, 1.0)
        if kind == ROD:
            if place[row] >= 0:
                table[place[row], j] += sign * dot(three(ends, 2, 0), move) / length
        else:
            _add(place, table, row, j, move, sign)
        if kind == FRAME:
            _add(place, table, row + 3, j, turn, sign)
        j = parent[j]


@njit(**INSIDE)
def stiffen(
    system: DiscreteSystem, frames: Frames, work: ClosureWorkspace, multipliers: np.ndarray
) -> None:
    r"""Derivative of :math:`H^\top\lambda` by positions, where the loops are closed.

    Args:
        system: What moves.
        frames: After :func:`~sysid_ros.dynamics.variational.lagrangian.forward_kinematics`.
        work: Its ``stiffness`` is filled.
        multipliers: Shape ``(r,)``.
    """
    closures, parent, coupling = system.closures, system.tree.parent, system.tree.coupling
    pose, axis, coupled, place = frames.pose, frames.axis, system.coupled, system.closures.place
    ends, rod_jacobian, pairs, stiffness = work.ends, work.rod_jacobian, work.pairs, work.stiffness
    clear(pairs)
    for c in range(len(closures.kind)):
        _end_positions(closures, pose, ends, c)
        row, kind = closures.row[c], closures.kind[c]
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if kind == ROD:
            if place[row] >= 0:
                pull = multipliers[place[row]] / closures.length[c]
                force = plus(force, three(ends, 2, 0), pull)
                _add_rod_rotation(closures.ends, parent, axis, ends, rod_jacobian, pairs, c, pull)
        else:
            force = _get(place, multipliers, row)
        if kind == FRAME:
            moment = _get(place, multipliers, row + 3)
            _twist_ends(closures.ends, parent, axis, pairs, c, moment)
        for end in range(2):
            _add_second_derivatives(closures.ends[c, end], parent, axis, ends, pairs, end, force,
                moment)
    if coupled:
        gather(coupling, True, pairs, stiffness)


@njit(**INSIDE)
def _add_second_derivatives(
    body: int, parent: np.ndarray, axis: np.ndarray, ends: np.ndarray, pairs: np.ndarray,
    end: int, force: Vector, moment: Vector,
) -> None:
    """Add second derivatives of one end's position and rotation, times force and moment."""
    sign, p, j = 2.0 * end - 1.0, three(ends, end, 0), body
    while j >= 0:
        turn, slide = six(axis, j)
        arm = cross(plus(cross(turn, p), slide, 1.0), force)
        pairs[j, j] += sign * dot(turn, arm)
        arm = plus(arm, cross(turn, moment), 0.5)
        i = parent[j]
        while i >= 0:
            value = sign * dot(three(axis, i, 0), arm)
            pairs[i, j] += value
            pairs[j, i] += value
            i = parent[i]
        j = parent[j]


@njit(**INSIDE)
def _twist_ends(
    bodies: np.ndarray, parent: np.ndarray, axis: np.ndarray, pairs: np.ndarray, c: int,
    moment: Vector,
) -> None:
    """Second derivatives of the angular gap where both ends turn."""
    i = bodies[c, 0]
    while i >= 0:
        arm = cross(moment, three(axis, i, 0))
        j = bodies[c, 1]
        while j >= 0:
            value = 0.5 * dot(arm, three(axis, j, 0))
            pairs[i, j] += value
            pairs[j, i] += value
            j = parent[j]
        i = parent[i]


@njit(**INSIDE)
def _add_rod_rotation(
    bodies: np.ndarray, parent: np.ndarray, axis: np.ndarray, ends: np.ndarray,
    rod_jacobian: np.ndarray, pairs: np.ndarray, c: int, pull: float,
) -> None:
    """Add what the rotation of a rod adds to its geometric stiffness."""
    clear(rod_jacobian)
    for end in range(2):
        p, j, sign = three(ends, end, 0), bodies[c, end], 2.0 * end - 1.0
        while j >= 0:
            turn, slide = six(axis, j)
            move = plus(cross(turn, p), slide, 1.0)
            for k in range(3):
                rod_jacobian[j, k] += sign * move[k]
            j = parent[j]
    for i in range(len(rod_jacobian)):
        for j in range(len(rod_jacobian)):
            pairs[i, j] += pull * dot(three(rod_jacobian, i, 0), three(rod_jacobian, j, 0))
