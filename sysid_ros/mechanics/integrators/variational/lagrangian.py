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

from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, law_slope, law_value
from sysid_ros.mechanics.joint_terms.law import ACCELERATION, POSITION
from sysid_ros.mechanics.tree.forward_kinematics import body_forward_kinematics, spatial_axis
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.mechanics.tree.tree_dynamics import add_to_parent, body_inertia_in_world
from sysid_ros.mechanics.tree.tree_terms import (
    add_direction,
    add_outer_product,
    along,
    project_to_joints,
)
from sysid_ros.numerics import spatial_vectors as vectors
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Spatial, Vector
from sysid_ros.numerics.tables import clear_tables


class Frames(NamedTuple):
    """Workspace for where bodies and their joints are.

    Attributes:
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``.
        screw: The joint's axis in the world, shape ``(b, 3)``.
        axis: Spatial axes S, shape ``(b, 6)``.
    """

    pose: np.ndarray
    screw: np.ndarray
    axis: np.ndarray


class LagrangianWorkspace(NamedTuple):
    """Workspace for one configuration: what happens there, and what is found.

    Attributes:
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``.
        screw: The joint's axis in the world, shape ``(b, 3)``.
        own: Mass, first and second moments of each body in the world, shape ``(b, 10)``.
        composite: The same of all that a joint carries.
        axis: Spatial axes S, shape ``(b, 6)``, as the next three.
        change: The vectors U.
        twist: Of the bodies.
        momenta: Momentum of all that a joint carries.
        bodies: Momentum and slope of the Lagrangian, body by body, shape ``(2, b)``.
        joints: The same at the joints, shape ``(2, n)``; the same memory unless coupled.
        pairs: Mass matrix, W and the Lagrangian's second derivative by positions, body by body,
            shape ``(3, b, b)``.
        tables: The same at the joints, shape ``(3, n, n)``; the same memory unless coupled.
    """

    pose: np.ndarray
    screw: np.ndarray
    own: np.ndarray
    composite: np.ndarray
    axis: np.ndarray
    change: np.ndarray
    twist: np.ndarray
    momenta: np.ndarray
    bodies: np.ndarray
    joints: np.ndarray
    pairs: np.ndarray
    tables: np.ndarray


def frames_of(system: DiscreteSystem) -> Frames:
    """Workspace for the frames of a system."""
    bodies = len(system.tree.parent)
    return Frames(np.zeros((bodies, 12)), np.zeros((bodies, 3)), np.zeros((bodies, 6)))


def lagrangian_workspace(system: DiscreteSystem) -> LagrangianWorkspace:
    """Workspace for the configurations of a system."""
    bodies, joints = system.tree.coupling.shape
    own, pairs = np.zeros((2, bodies)), np.zeros((3, bodies, bodies))
    shared, tables = own, pairs
    if system.coupled:
        shared, tables = np.zeros((2, joints)), np.zeros((3, joints, joints))
    six_each = [np.zeros((bodies, 6)) for _ in range(4)]
    return LagrangianWorkspace(
        np.zeros((bodies, 12)), np.zeros((bodies, 3)), np.zeros((bodies, 10)),
        np.zeros((bodies, 10)), six_each[0], six_each[1], six_each[2], six_each[3],
        own, shared, pairs, tables)


# Functions below are handed the arrays that they use: a field of what comes by reference is read
# from memory wherever it is named.


@njit(**INSIDE)
def evaluate_lagrangian(
    system: DiscreteSystem, values: TreeValues, work: LagrangianWorkspace, q: np.ndarray,
    v: np.ndarray,
) -> None:
    """First derivatives of the Lagrangian: momenta dL/dv and forces dL/dq.

    Args:
        system: What moves.
        values: Its parameter values.
        work: Is filled, but for ``pairs`` and ``tables``.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
    """
    tree, terms, coupled, inertias = system.tree, system.terms, system.coupled, values.bodies
    parent, revolute, gravity = tree.parent, tree.revolute, tree.gravity
    coupling, offset, amplitudes = tree.coupling, tree.coupling_offset, values.amplitudes
    pose, screw, own, composite = work.pose, work.screw, work.own, work.composite
    axis, change, twist, momenta = work.axis, work.change, work.twist, work.momenta
    bodies, joints = work.bodies, work.joints
    for i in range(len(parent)):
        position, speed = q[i] if not coupled else offset[i], v[i] if not coupled else 0.0
        if coupled:
            for j in range(len(q)):
                share = coupling[i, j]
                position, speed = position + share * q[j], speed + share * v[j]
        body_forward_kinematics(tree, pose, screw, i, position)
        body_inertia_in_world(inertias, pose, own, composite, i)
        spatial_axis(revolute[i], pose, screw, axis, i)
        _body_velocity_and_momentum(parent[i], own, axis, change, twist, momenta, i, speed)
    for i in range(len(parent) - 1, -1, -1):
        _joint_momentum_and_force(gravity, composite, axis, change, momenta, bodies, i)
        add_to_parent(composite, parent[i], i)
        add_to_parent(momenta, parent[i], i)
    if coupled:
        _to_joints(coupling, bodies, joints)
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == POSITION:
            pull = law_value(terms.laws, k, along(terms, k, q))
            add_direction(terms, k, -amplitudes[k] * pull, joints[1])
        elif terms.laws.code[k, VARIABLE] == ACCELERATION:
            add_direction(terms, k, amplitudes[k] * along(terms, k, v), joints[0])


@njit(**INSIDE)
def lagrangian_second_derivatives(
    system: DiscreteSystem, amplitudes: np.ndarray, work: LagrangianWorkspace, q: np.ndarray
) -> None:
    """Second derivatives of the Lagrangian: mass matrix, W and d²L/dq².

    Args:
        system: What moves.
        amplitudes: Of the columns of joint terms, shape ``(t,)``.
        work: Its ``pairs`` and ``tables`` are filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
    """
    terms, parent, coupling = system.terms, system.tree.parent, system.tree.coupling
    gravity, coupled = system.tree.gravity, system.coupled
    composite, axis, change, momenta = work.composite, work.axis, work.change, work.momenta
    pairs, tables = work.pairs, work.tables
    clear_tables(pairs)
    for i in range(len(parent)):
        _second_derivatives_backward(parent, gravity, composite, axis, change, momenta, pairs, i)
    if coupled:
        for k in range(3):
            project_to_joints(coupling, True, pairs[k], tables[k])
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == POSITION:
            x = along(terms, k, q)
            slope = law_slope(terms.laws, k, x, law_value(terms.laws, k, x))
            add_outer_product(terms, k, -amplitudes[k] * slope, tables[2])
        elif terms.laws.code[k, VARIABLE] == ACCELERATION:
            add_outer_product(terms, k, amplitudes[k], tables[0])


@njit(**INSIDE)
def forward_kinematics(system: DiscreteSystem, frames: Frames, q: np.ndarray) -> None:
    """Forward kinematics: poses of all bodies and spatial axes of their joints.

    Args:
        system: What moves.
        frames: Are filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
    """
    tree, coupled = system.tree, system.coupled
    revolute, coupling, offset = tree.revolute, tree.coupling, tree.coupling_offset
    pose, screw, axis = frames.pose, frames.screw, frames.axis
    for i in range(len(revolute)):
        position = q[i] if not coupled else offset[i]
        if coupled:
            for j in range(len(q)):
                position += coupling[i, j] * q[j]
        body_forward_kinematics(tree, pose, screw, i, position)
        spatial_axis(revolute[i], pose, screw, axis, i)


@njit(**INSIDE)
def _to_joints(coupling: np.ndarray, bodies: np.ndarray, joints: np.ndarray) -> None:
    for r in range(2):
        for j in range(joints.shape[1]):
            total = 0.0
            for i in range(bodies.shape[1]):
                total += coupling[i, j] * bodies[r, i]
            joints[r, j] = total


@njit(**INSIDE)
def _body_velocity_and_momentum(
    before: int, own: np.ndarray, axis: np.ndarray, change: np.ndarray, twist: np.ndarray,
    momenta: np.ndarray, i: int, speed: float,
) -> None:
    """Twist and momentum of body i, and how its axis changes."""
    nought, screw = (0.0, 0.0, 0.0), vectors.six(axis, i)
    moving = (nought, nought)
    if before >= 0:
        moving = vectors.six(twist, before)
    moving = vectors.spatial_plus(moving, screw, speed)
    vectors.put(twist, i, moving)
    vectors.put(change, i, vectors.motion_cross(moving, screw))
    vectors.put(momenta, i, vectors.inertia_times(own, i, moving))


@njit(**INSIDE)
def _joint_momentum_and_force(
    gravity: np.ndarray, composite: np.ndarray, axis: np.ndarray, change: np.ndarray,
    momenta: np.ndarray, bodies: np.ndarray, i: int,
) -> None:
    """Momentum dL/dv and force dL/dq of joint i, from its composite body."""
    momentum, screw = vectors.six(momenta, i), vectors.six(axis, i)
    shift = _shift(composite, i, screw)
    bodies[0, i] = vectors.power(screw, momentum)
    bodies[1, i] = vectors.power(vectors.six(change, i), momentum) + vectors.dot(
        (gravity[0], gravity[1], gravity[2]), shift)


@njit(**INSIDE)
def _shift(composite: np.ndarray, i: int, axis: Spatial) -> Vector:
    """How the mass that joint i carries moves with it."""
    moment = vectors.three(composite, i, 1)
    return vectors.plus(vectors.cross(axis[0], moment), axis[1], composite[i, 0])


@njit(**INSIDE)
def _second_derivatives_backward(
    parent: np.ndarray, gravity: np.ndarray, composite: np.ndarray, axis: np.ndarray,
    change: np.ndarray, momenta: np.ndarray, pairs: np.ndarray, i: int,
) -> None:
    """Derivatives that belong to bodies i and j, j being i or between it and the base."""
    screw = vectors.six(axis, i)
    weight = vectors.inertia_times(composite, i, screw)
    force_change = vectors.spatial_plus(
        vectors.force_cross(screw, vectors.six(momenta, i)),
        vectors.inertia_times(composite, i, vectors.six(change, i)), 1.0)
    fall = vectors.cross(_shift(composite, i, screw), (gravity[0], gravity[1], gravity[2]))
    j = i
    while j >= 0:
        other, other_change = vectors.six(axis, j), vectors.six(change, j)
        pairs[0, i, j] = pairs[0, j, i] = vectors.power(other, weight)
        pairs[1, i, j] = vectors.power(other_change, weight)
        pairs[1, j, i] = vectors.power(other, force_change)
        pairs[2, i, j] = pairs[2, j, i] = (
            vectors.power(other_change, force_change) + vectors.dot(other[0], fall))
        j = parent[j]


@njit(**INSIDE)
def inertial_column(
    gravity: np.ndarray, pose: np.ndarray, twist: np.ndarray, i: int, k: int
) -> tuple[Spatial, Spatial]:
    """Momentum of body i and weight on it per unit of its k-th inertial parameter.

    Args:
        gravity: In [m/s²], shape ``(3,)``.
        pose: Of all bodies, after :func:`evaluate_lagrangian`, shape ``(b, 12)``.
        twist: Of all bodies, shape ``(b, 6)``.
        i: Which body.
        k: Which of mass, first moments x, y, z and inertias xx, xy, yy, xz, yz, zz.
    """
    (spin, slide), p = vectors.six(twist, i), vectors.three(pose, i, 9)
    fall, nought = (gravity[0], gravity[1], gravity[2]), (0.0, 0.0, 0.0)
    velocity = vectors.plus(slide, vectors.cross(spin, p), 1.0)
    if k == 0:
        return (vectors.cross(p, velocity), velocity), (vectors.cross(p, fall), fall)
    if k < 4:
        e = (pose[i, k - 1], pose[i, 2 + k], pose[i, 5 + k])
        linear = vectors.cross(spin, e)
        angular = vectors.plus(vectors.cross(e, velocity), vectors.cross(p, linear), 1.0)
        return (angular, linear), (vectors.cross(e, fall), nought)
    # Rows and columns of the six inertias; off the diagonal they count twice.
    a = 0 if k == 4 or k == 5 or k == 7 else 1 if k == 6 or k == 8 else 2
    b = 0 if k == 4 else 1 if k < 7 else 2
    first = (pose[i, a], pose[i, 3 + a], pose[i, 6 + a])
    second = (pose[i, b], pose[i, 3 + b], pose[i, 6 + b])
    angular = vectors.plus(nought, first, vectors.dot(second, spin))
    if a != b:
        angular = vectors.plus(angular, second, vectors.dot(first, spin))
    return (angular, nought), (nought, nought)
