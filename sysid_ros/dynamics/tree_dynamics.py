r"""Accelerations of a tree and their derivatives, one sample at a time, compiled.

Motions and forces are spatial vectors at the world's origin. With the axis S of a joint, the
twist V and the acceleration A of the body before it (gravity counts as acceleration of the
base), the inertia I and force F of all that a joint carries,

.. math:: \dot\psi_j = V \times S_j, \qquad
          \ddot\psi_j = A \times S_j + V \times \dot\psi_j,

.. math:: \partial\tau_i/\partial q_j = S_i \cdot (2B_i\dot\psi_j + I_i\ddot\psi_j), \qquad
          \partial\tau_j/\partial q_i
              = S_j \cdot (2B_i\dot\psi_i + I_i\ddot\psi_i + S_i \times^* F_i),

.. math:: \partial\tau_i/\partial v_j = S_i \cdot (2B_iS_j + 2I_i\dot\psi_j), \qquad
          \partial\tau_j/\partial v_i = S_j \cdot (2B_iS_i + 2I_i\dot\psi_i),

for j between i and the base (Singh, Russell and Wensing 2022). Of the masses at r that make up a
body, :math:`2B\,x = 2\sum m\,(r \times (\alpha \times \dot r),\ \alpha \times \dot r)` looks at
the angular part of x only, so that :math:`D = \sum m\,r\,\dot r^\top` and the momentum are all
that has to be summed for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.sample_regressor import SampleModel, body_columns
from sysid_ros.dynamics.spatial_vectors import (
    Spatial,
    axis_times_coriolis,
    both,
    coriolis_times,
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
from sysid_ros.dynamics.tree_arrays import TreeRoom, TreeValues
from sysid_ros.dynamics.tree_terms import (
    act,
    differentiate_term,
    factorise,
    gather,
    solve,
    solve_negative,
)


@njit(**INSIDE)
def accelerate(
    model: SampleModel, values: TreeValues, room: TreeRoom, q: np.ndarray, v: np.ndarray,
    torque: np.ndarray,
) -> bool:
    """Find the acceleration of one sample; whether the mass matrix is positive definite.

    Args:
        model: The model.
        values: Its parameter values.
        room: Is filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        torque: Joint torques in [N·m] or [N], shape ``(n,)``.
    """
    weigh(model, values, room, q, v, torque)
    if not factorise(room.mass):
        return False
    solve(room.mass, room.acceleration)
    return True


@njit(**INSIDE)
def weigh(
    model: SampleModel, values: TreeValues, room: TreeRoom, q: np.ndarray, v: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Find the mass matrix, and as ``acceleration`` the torque that is left to accelerate it.

    Arguments are those of :func:`accelerate`.
    """
    for j in range(len(q)):
        room.acceleration[j] = torque[j]
    for i in range(len(model.parent)):
        position, speed = model.coupling_offset[i], 0.0
        for j in range(len(q)):
            share = model.coupling[i, j]
            position, speed = position + share * q[j], speed + share * v[j]
        place(model, room.pose, room.screw, i, position)
        place_inertia(values.bodies, room.pose, room.own, room.carried, i)
        _move(model, room, i, speed)
    for i in range(len(model.parent) - 1, -1, -1):
        _carry(model, room, i)
    gather(model.coupling, values.coupled, room.pairs[0], room.mass)
    for k in range(len(model.signal)):
        act(model, k, values.amplitudes[k], q, v, room.mass, room.acceleration)


@njit(**INSIDE)
def differentiate(
    model: SampleModel, values: TreeValues, room: TreeRoom, q: np.ndarray, v: np.ndarray
) -> None:
    """Derivatives of the acceleration that was found just before; arguments as there."""
    differentiate_torque(model, values, room, q, v)
    for table in (room.by_position, room.by_velocity, room.by_parameters):
        solve_negative(room.mass, table)


@njit(**INSIDE)
def differentiate_torque(
    model: SampleModel, values: TreeValues, room: TreeRoom, q: np.ndarray, v: np.ndarray
) -> None:
    """Derivatives of the torque at the acceleration that is in the room, after :func:`weigh`.

    They are written where those of the acceleration would be. Arguments are those of
    :func:`accelerate`.
    """
    for i in range(len(model.parent)):
        _speed_up(model, room, i)
        _flow(room, i)
    for i in range(len(model.parent) - 1, -1, -1):
        _pair(model, room, i)
        hand_over(room.load, model.parent[i], i)
        hand_over(room.flow, model.parent[i], i)
    gather(model.coupling, values.coupled, room.pairs[1], room.by_position)
    gather(model.coupling, values.coupled, room.pairs[2], room.by_velocity)
    for r in range(room.by_parameters.shape[0]):
        for c in range(room.by_parameters.shape[1]):
            room.by_parameters[r, c] = 0.0
    for i in range(len(model.parent)):
        if values.sought[i]:
            _inertial_columns(model, values.slots, room, i)
    first = len(values.slots) - len(model.signal)
    for k in range(len(model.signal)):
        differentiate_term(
            model, k, values.amplitudes[k], values.slots[first + k], q, v, room.acceleration,
            room.by_position, room.by_velocity, room.by_parameters)


@njit(**INSIDE)
def place(
    model: SampleModel, pose: np.ndarray, screw: np.ndarray, i: int, position: float
) -> None:
    """Pose and axis of body i, by Rodrigues' formula, from the pose of the one before."""
    before, turns = model.parent[i], model.revolute[i]
    x, y, z = three(model.axis, i, 0)
    shift, frame = three(model.translation, i, 0), model.rotation
    c, s = 1.0, 0.0
    if turns:
        c, s = np.cos(position), np.sin(position)
    for row in range(3):
        # A row of the joint frame's orientation in the world.
        p0, p1, p2 = frame[i, row, 0], frame[i, row, 1], frame[i, row, 2]
        origin = shift[row]
        if before >= 0:
            w = three(pose, before, 3 * row)
            p0 = w[0] * frame[i, 0, 0] + w[1] * frame[i, 1, 0] + w[2] * frame[i, 2, 0]
            p1 = w[0] * frame[i, 0, 1] + w[1] * frame[i, 1, 1] + w[2] * frame[i, 2, 1]
            p2 = w[0] * frame[i, 0, 2] + w[1] * frame[i, 1, 2] + w[2] * frame[i, 2, 2]
            origin = pose[before, 9 + row] + dot(w, shift)
        along = p0 * x + p1 * y + p2 * z
        part = along * (1.0 - c)
        pose[i, 3 * row] = part * x + p0 * c + (p1 * z - p2 * y) * s
        pose[i, 3 * row + 1] = part * y + p1 * c + (p2 * x - p0 * z) * s
        pose[i, 3 * row + 2] = part * z + p2 * c + (p0 * y - p1 * x) * s
        pose[i, 9 + row] = origin if turns else origin + along * position
        screw[i, row] = along


@njit(**INSIDE)
def place_inertia(
    bodies: np.ndarray, pose: np.ndarray, own: np.ndarray, carried: np.ndarray, i: int
) -> None:
    """Mass, first and second moments of body i about the world's origin, in the world's axes."""
    m, h, p = bodies[i, 0], three(bodies, i, 1), three(pose, i, 9)
    first = (
        dot(three(pose, i, 0), h), dot(three(pose, i, 3), h), dot(three(pose, i, 6), h))
    k = 4
    xx, xy, yy, xz, yz, zz = (
        bodies[i, 4], bodies[i, 5], bodies[i, 6], bodies[i, 7], bodies[i, 8], bodies[i, 9])
    own[i, 0] = m
    for r in range(3):
        x, y, z = three(pose, i, 3 * r)
        # A row of orientation times second moments.
        row = (
            x * xx + y * xy + z * xz, x * xy + y * yy + z * yz, x * xz + y * yz + z * zz)
        own[i, 1 + r] = first[r] + m * p[r]
        for c in range(r + 1):
            own[i, k] = (
                dot(row, three(pose, i, 3 * c)) + first[r] * p[c] + p[r] * first[c]
                + m * p[r] * p[c])
            k += 1
    for k in range(10):
        carried[i, k] = own[i, k]


@njit(**INSIDE)
def _move(model: SampleModel, room: TreeRoom, i: int, speed: float) -> None:
    """Twist, acceleration without that of the joints, and force of body i."""
    before, z, nought = model.parent[i], three(room.screw, i, 0), (0.0, 0.0, 0.0)
    axis = (nought, z)
    if model.revolute[i]:
        axis = (z, cross(three(room.pose, i, 9), z))
    twist, rate = (nought, nought), ground(model)
    if before >= 0:
        twist, rate = six(room.twist, before), six(room.rate, before)
    drift = moved(twist, axis)
    twist, rate = both(twist, axis, speed), both(rate, drift, speed)
    force = inertia_times(room.own, i, rate)
    force = both(force, turned(twist, inertia_times(room.own, i, twist)), 1.0)
    put(room.axis, i, axis)
    put(room.drift, i, drift)
    put(room.twist, i, twist)
    put(room.rate, i, rate)
    put(room.wrench, i, force)
    put(room.load, i, force)


@njit(**INSIDE)
def ground(model: SampleModel) -> Spatial:
    """Acceleration of the base, as which gravity counts."""
    g = model.gravity
    return ((0.0, 0.0, 0.0), (-g[0], -g[1], -g[2]))


@njit(**INSIDE)
def _carry(model: SampleModel, room: TreeRoom, i: int) -> None:
    """Torque and mass matrix of joint i by all that it carries."""
    axis, j = six(room.axis, i), i
    force, weight = power(axis, six(room.load, i)), inertia_times(room.carried, i, axis)
    for k in range(len(room.acceleration)):
        room.acceleration[k] -= model.coupling[i, k] * force
    while j >= 0:
        room.pairs[0, i, j] = room.pairs[0, j, i] = power(six(room.axis, j), weight)
        j = model.parent[j]
    hand_over(room.carried, model.parent[i], i)
    hand_over(room.load, model.parent[i], i)


@njit(**INSIDE)
def hand_over(table: np.ndarray, parent: int, i: int) -> None:
    """Add what a body has to what the one before it has."""
    if parent >= 0:
        for k in range(table.shape[1]):
            table[parent, k] += table[i, k]


@njit(**INSIDE)
def _speed_up(model: SampleModel, room: TreeRoom, i: int) -> None:
    """Accelerate body i by the joints; its force, and how its axis swings."""
    before, rate, nought = model.parent[i], 0.0, (0.0, 0.0, 0.0)
    for j in range(len(room.acceleration)):
        rate += model.coupling[i, j] * room.acceleration[j]
    push, twist, there = (nought, nought), (nought, nought), ground(model)
    if before >= 0:
        push, twist = six(room.push, before), six(room.twist, before)
        there = both(six(room.rate, before), push, 1.0)
    axis = six(room.axis, i)
    swing = both(moved(there, axis), moved(twist, six(room.drift, i)), 1.0)
    push = both(push, axis, rate)
    put(room.swing, i, swing)
    put(room.push, i, push)
    put(room.load, i, both(six(room.wrench, i), inertia_times(room.own, i, push), 1.0))


@njit(**INSIDE)
def _flow(room: TreeRoom, i: int) -> None:
    """Momentum and D of body i alone."""
    own, flow, (spin, slide) = room.own, room.flow, six(room.twist, i)
    x, y, z = three(own, i, 1)
    rows = (
        plus(cross(spin, (x, y, z)), slide, own[i, 0]),
        plus(cross(spin, (own[i, 4], own[i, 5], own[i, 7])), slide, x),
        plus(cross(spin, (own[i, 5], own[i, 6], own[i, 8])), slide, y),
        plus(cross(spin, (own[i, 7], own[i, 8], own[i, 9])), slide, z))
    for r in range(4):
        flow[i, 3 * r], flow[i, 3 * r + 1], flow[i, 3 * r + 2] = rows[r]


@njit(**INSIDE)
def _pair(model: SampleModel, room: TreeRoom, i: int) -> None:
    """Derivatives of the torque of bodies i and j by each other's position and velocity."""
    axis, drift, carried = six(room.axis, i), six(room.drift, i), room.carried
    weight, row = inertia_times(carried, i, axis), axis_times_coriolis(room.flow, i, axis)
    by_q = both(
        coriolis_times(room.flow, i, drift[0]), inertia_times(carried, i, six(room.swing, i)), 1.0)
    by_q = both(by_q, turned(axis, six(room.load, i)), 1.0)
    by_v = both(coriolis_times(room.flow, i, axis[0]), inertia_times(carried, i, drift), 2.0)
    j = i
    while j >= 0:
        other, slip, swing = six(room.axis, j), six(room.drift, j), six(room.swing, j)
        room.pairs[1, j, i] = power(other, by_q)
        room.pairs[2, j, i] = power(other, by_v)
        room.pairs[1, i, j] = dot(row, slip[0]) + power(swing, weight)
        room.pairs[2, i, j] = dot(row, other[0]) + 2.0 * power(slip, weight)
        j = model.parent[j]


@njit(**INSIDE)
def _inertial_columns(model: SampleModel, slots: np.ndarray, room: TreeRoom, i: int) -> None:
    """Torque per unit of the sought inertial parameters of body i."""
    pose, own, ten, first = room.pose, room.inward, room.ten, model.column[i]
    (spin, slide), p = six(room.twist, i), three(room.pose, i, 9)
    turn, rise = both(six(room.rate, i), six(room.push, i), 1.0)
    # Spatial acceleration is that of what streams through the origin, not of a point.
    streaming = cross(spin, plus(slide, cross(spin, p), 1.0))
    point = plus(plus(rise, cross(turn, p), 1.0), streaming, 1.0)
    for k in range(3):
        column = (pose[i, k], pose[i, 3 + k], pose[i, 6 + k])
        own[k], own[3 + k], own[6 + k] = dot(column, spin), dot(column, turn), dot(column, point)
    j = i
    while j >= 0:
        body_columns(pose[i], own, pose[j], room.screw[j], model.revolute[j], ten)
        for k in range(10):
            slot = slots[first + k]
            if slot >= 0:
                for joint in range(len(room.acceleration)):
                    room.by_parameters[joint, slot] += model.coupling[j, joint] * ten[k]
        j = model.parent[j]
