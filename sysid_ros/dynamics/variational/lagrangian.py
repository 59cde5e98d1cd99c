r"""The Lagrangian of a tree with springs, and its derivatives in closed form, compiled.

With world-frame screws S of the joints, twists V and :math:`U_j = V_j \times S_j`, and of all
that joint j carries the inertia :math:`I_j`, the momentum :math:`H_j`, the mass m and the first
moment h, kinetic energy T and potential energy of gravity V have

.. math:: (Mv)_j = S_j \cdot H_j, \qquad \partial T/\partial q_j = U_j \cdot H_j, \qquad
          \partial V/\partial q_j = -g \cdot (\omega_j \times h + m v_j),

and with :math:`D_j = S_j \times^* H_j + I_j U_j`, for i at j or between j and the base,

.. math:: M_{ij} = S_i \cdot I_j S_j, \qquad
          W_{ij} = S_i \cdot D_j, \quad W_{ji} = U_i \cdot I_j S_j, \qquad
          T_{ij} = U_i \cdot D_j, \qquad
          V_{ij} = -g \cdot (\omega_i \times (\omega_j \times h + m v_j)),

where W is the derivative of the momenta Mv by positions. They follow from
:math:`\partial S_i/\partial q_j = S_j \times S_i` and
:math:`\partial V_i/\partial q_j = S_j \times (V_i - V_j)` for j between i and the base.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics.sample_regressor import ACCELERATION, POSITION
from sysid_ros.dynamics.spatial_vectors import (
    COMPILED,
    Spatial,
    both,
    cross,
    dot,
    inertia_times,
    moved,
    plus,
    power,
    put,
    six,
    three,
    turned,
)
from sysid_ros.dynamics.tree_dynamics import TreeValues, hand_over, place, place_inertia
from sysid_ros.dynamics.tree_terms import gather
from sysid_ros.dynamics.variational.system import DiscreteSystem


class LagrangianRoom(NamedTuple):
    """Room for one configuration: what happens there, and what is found.

    Attributes:
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``.
        screw: The joint's axis in the world, shape ``(b, 3)``.
        own: Mass, first and second moments of each body in the world, shape ``(b, 10)``.
        carried: The same of all that a joint carries.
        axis: Spatial axes S, shape ``(b, 6)``, as the next three.
        change: The vectors U.
        twist: Of the bodies.
        flow: Momentum of all that a joint carries.
        bodies: Momentum and slope of the Lagrangian, body by body, shape ``(2, b)``.
        joints: The same at the joints, shape ``(2, n)``; the same memory unless coupled.
        pairs: Mass matrix, W and the Lagrangian's second derivative by positions, body by body,
            shape ``(3, b, b)``.
        tables: The same at the joints, shape ``(3, n, n)``; the same memory unless coupled.
    """

    pose: np.ndarray
    screw: np.ndarray
    own: np.ndarray
    carried: np.ndarray
    axis: np.ndarray
    change: np.ndarray
    twist: np.ndarray
    flow: np.ndarray
    bodies: np.ndarray
    joints: np.ndarray
    pairs: np.ndarray
    tables: np.ndarray


def lagrangian_room(system: DiscreteSystem) -> LagrangianRoom:
    """Room for the configurations of a system."""
    bodies, joints = system.tree.coupling.shape
    own, pairs = np.zeros((2, bodies)), np.zeros((3, bodies, bodies))
    shared, tables = own, pairs
    if system.coupled:
        shared, tables = np.zeros((2, joints)), np.zeros((3, joints, joints))
    six_each = [np.zeros((bodies, 6)) for _ in range(4)]
    return LagrangianRoom(
        np.zeros((bodies, 12)), np.zeros((bodies, 3)), np.zeros((bodies, 10)),
        np.zeros((bodies, 10)), six_each[0], six_each[1], six_each[2], six_each[3],
        own, shared, pairs, tables)


@njit(**COMPILED)
def look(
    system: DiscreteSystem, values: TreeValues, room: LagrangianRoom, q: np.ndarray,
    v: np.ndarray, curved: bool,
) -> None:
    """Momentum and slope of the Lagrangian at a configuration, and their derivatives.

    Args:
        system: What moves.
        values: Its parameter values.
        room: Is filled; ``pairs`` and ``tables`` only if asked for.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        curved: Whether to find the derivatives.
    """
    tree = system.tree
    if curved:
        room.pairs[:] = 0.0
    for i in range(len(tree.parent)):
        position, speed = tree.coupling_offset[i], 0.0
        if system.coupled:
            for j in range(len(q)):
                share = tree.coupling[i, j]
                position, speed = position + share * q[j], speed + share * v[j]
        else:
            position, speed = q[i], v[i]
        place(tree, room, i, position)
        place_inertia(values.bodies, room, i)
        _move(system, room, i, speed)
    for i in range(len(tree.parent) - 1, -1, -1):
        _feel(system, room, i)
        if curved:
            _pair(system, room, i)
        hand_over(room.carried, tree.parent[i], i)
        hand_over(room.flow, tree.parent[i], i)
    if system.coupled:
        _to_joints(tree.coupling, room.bodies, room.joints)
        if curved:
            for k in range(3):
                gather(tree.coupling, True, room.pairs[k], room.tables[k])
    for k in range(len(tree.signal)):
        _add_term(system, k, values.amplitudes[k], room, q, v, curved)


@njit(**COMPILED)
def stand(system: DiscreteSystem, room: LagrangianRoom, q: np.ndarray) -> None:
    """Place all bodies and their joints' axes, for what depends on nothing else.

    Args:
        system: What moves.
        room: Its ``pose``, ``screw`` and ``axis`` are filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
    """
    tree, nought = system.tree, (0.0, 0.0, 0.0)
    for i in range(len(tree.parent)):
        position = tree.coupling_offset[i]
        if system.coupled:
            for j in range(len(q)):
                position = position + tree.coupling[i, j] * q[j]
        else:
            position = q[i]
        place(tree, room, i, position)
        z = three(room.screw, i, 0)
        if tree.revolute[i]:
            put(room.axis, i, (z, cross(three(room.pose, i, 9), z)))
        else:
            put(room.axis, i, (nought, z))


@njit(**COMPILED)
def _to_joints(coupling: np.ndarray, bodies: np.ndarray, joints: np.ndarray) -> None:
    for r in range(2):
        for j in range(joints.shape[1]):
            total = 0.0
            for i in range(bodies.shape[1]):
                total += coupling[i, j] * bodies[r, i]
            joints[r, j] = total


@njit(**COMPILED)
def _move(system: DiscreteSystem, room: LagrangianRoom, i: int, speed: float) -> None:
    """Axis, twist and momentum of body i."""
    before, z, nought = system.tree.parent[i], three(room.screw, i, 0), (0.0, 0.0, 0.0)
    axis = (nought, z)
    if system.tree.revolute[i]:
        axis = (z, cross(three(room.pose, i, 9), z))
    twist = (nought, nought)
    if before >= 0:
        twist = six(room.twist, before)
    twist = both(twist, axis, speed)
    put(room.axis, i, axis)
    put(room.twist, i, twist)
    put(room.change, i, moved(twist, axis))
    put(room.flow, i, inertia_times(room.own, i, twist))


@njit(**COMPILED)
def _feel(system: DiscreteSystem, room: LagrangianRoom, i: int) -> None:
    """Momentum and slope of joint i by all that it carries."""
    g, flow = system.tree.gravity, six(room.flow, i)
    axis, change = six(room.axis, i), six(room.change, i)
    shift = _shift(room, i, axis)
    room.bodies[0, i] = power(axis, flow)
    room.bodies[1, i] = power(change, flow) + dot((g[0], g[1], g[2]), shift)


@njit(**COMPILED)
def _shift(
    room: LagrangianRoom, i: int, axis: Spatial
) -> tuple[float, float, float]:
    """How the mass that joint i carries moves with it."""
    return plus(cross(axis[0], three(room.carried, i, 1)), axis[1], room.carried[i, 0])


@njit(**COMPILED)
def _pair(system: DiscreteSystem, room: LagrangianRoom, i: int) -> None:
    """Derivatives that belong to bodies i and j, j being i or between it and the base."""
    g = system.tree.gravity
    axis = six(room.axis, i)
    weight = inertia_times(room.carried, i, axis)
    drift = both(
        turned(axis, six(room.flow, i)), inertia_times(room.carried, i, six(room.change, i)), 1.0)
    fall = cross(_shift(room, i, axis), (g[0], g[1], g[2]))
    j, pairs = i, room.pairs
    while j >= 0:
        other, change = six(room.axis, j), six(room.change, j)
        pairs[0, i, j] = pairs[0, j, i] = power(other, weight)
        pairs[1, i, j] = power(change, weight)
        pairs[1, j, i] = power(other, drift)
        pairs[2, i, j] = pairs[2, j, i] = power(change, drift) + dot(other[0], fall)
        j = system.tree.parent[j]


@njit(**COMPILED)
def along(system: DiscreteSystem, k: int, x: np.ndarray) -> float:
    """What a joint term sees of positions or velocities, shape ``(n,)``."""
    total = 0.0
    for j in range(system.span[k, 0], system.span[k, 1]):
        total += system.tree.weights[k, j] * x[j]
    return total


@njit(**COMPILED)
def push(system: DiscreteSystem, k: int, factor: float, out: np.ndarray) -> None:
    """Add a factor times a term's direction to a vector, shape ``(n,)``."""
    for j in range(system.span[k, 0], system.span[k, 1]):
        out[j] += factor * system.tree.weights[k, j]


@njit(**COMPILED)
def push_square(system: DiscreteSystem, k: int, factor: float, table: np.ndarray) -> None:
    """Add a factor times the outer square of a term's direction, shape ``(n, n)``."""
    first, end = system.span[k, 0], system.span[k, 1]
    for r in range(first, end):
        for c in range(first, end):
            table[r, c] += factor * system.tree.weights[k, r] * system.tree.weights[k, c]


@njit(**COMPILED)
def _add_term(
    system: DiscreteSystem, k: int, amplitude: float, room: LagrangianRoom, q: np.ndarray,
    v: np.ndarray, curved: bool,
) -> None:
    """Add the springs and the drives' inertia, which belong to the Lagrangian."""
    kind = system.tree.signal[k]
    if kind == POSITION:
        push(system, k, -amplitude * along(system, k, q), room.joints[1])
        if curved:
            push_square(system, k, -amplitude, room.tables[2])
    elif kind == ACCELERATION:
        push(system, k, amplitude * along(system, k, v), room.joints[0])
        if curved:
            push_square(system, k, amplitude, room.tables[0])


@njit(**COMPILED)
def inertial_column(
    system: DiscreteSystem, room: LagrangianRoom, i: int, k: int
) -> tuple[Spatial, Spatial]:
    """Momentum of body i and weight on it per unit of its k-th inertial parameter.

    Args:
        system: What moves.
        room: After :func:`look`.
        i: Which body.
        k: Which of mass, first moments x, y, z and inertias xx, xy, yy, xz, yz, zz.
    """
    pose, (spin, slide), p = room.pose, six(room.twist, i), three(room.pose, i, 9)
    g, nought = system.tree.gravity, (0.0, 0.0, 0.0)
    gravity = (g[0], g[1], g[2])
    velocity = plus(slide, cross(spin, p), 1.0)
    if k == 0:
        return (cross(p, velocity), velocity), (cross(p, gravity), gravity)
    if k < 4:
        e = (pose[i, k - 1], pose[i, 2 + k], pose[i, 5 + k])
        linear = cross(spin, e)
        angular = plus(cross(e, velocity), cross(p, linear), 1.0)
        return (angular, linear), (cross(e, gravity), nought)
    # Rows and columns of the six inertias; off the diagonal they count twice.
    a = 0 if k in (4, 5, 7) else 1 if k in (6, 8) else 2
    b = 0 if k == 4 else 1 if k in (5, 6) else 2
    first = (pose[i, a], pose[i, 3 + a], pose[i, 6 + a])
    second = (pose[i, b], pose[i, 3 + b], pose[i, 6 + b])
    angular = plus(nought, first, dot(second, spin))
    if a != b:
        angular = plus(angular, second, dot(first, spin))
    return (angular, nought), (nought, nought)
