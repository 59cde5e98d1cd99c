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

from sysid_ros.mechanics.regressor.sample_regressor import SampleModel, body_columns
from sysid_ros.mechanics.tree.forward_kinematics import body_forward_kinematics
from sysid_ros.mechanics.tree.loaded_gears import (
    GEAR,
    LOAD,
    MOST_CHANGES,
    divide_gears,
    multiply_gears,
    set_gears,
    signs_are_right,
)
from sysid_ros.mechanics.tree.tree_arrays import TreeValues, TreeWorkspace
from sysid_ros.mechanics.tree.tree_terms import (
    add_joint_terms,
    differentiate_joint_terms,
    project_to_joints,
)
from sysid_ros.numerics.dense import cholesky, solve_cholesky, solve_cholesky_columns
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import (
    Spatial,
    axis_times_coriolis,
    coriolis_times,
    cross,
    dot,
    force_cross,
    inertia_times,
    motion_cross,
    plus,
    power,
    put,
    six,
    spatial_plus,
    three,
)
from sysid_ros.numerics.tables import negate


@njit(**INSIDE)
def forward_dynamics(
    model: SampleModel, values: TreeValues, work: TreeWorkspace, q: np.ndarray, v: np.ndarray,
    torque: np.ndarray,
) -> bool:
    """Forward dynamics by CRBA and Cholesky, M a = tau - bias; whether M is positive definite.

    ABA would not form M, whose factor all derivatives of the acceleration are solved with: by 2n
    states and p parameters that takes n^2 (2n + p) multiplications, the factorisation n^3 / 6.

    Args:
        model: The model.
        values: Its parameter values.
        work: Is filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        torque: Joint torques in [N·m] or [N], shape ``(n,)``.
    """
    if values.loaded:
        return _loaded_forward_dynamics(model, values, work, q, v, torque)
    mass_matrix_and_bias(model, values, work, q, v, torque)
    if not cholesky(work.mass):
        return False
    solve_cholesky(work.mass, work.acceleration)
    return True


@njit(**INSIDE)
def _loaded_forward_dynamics(
    model: SampleModel, values: TreeValues, work: TreeWorkspace, q: np.ndarray, v: np.ndarray,
    torque: np.ndarray,
) -> bool:
    """Forward dynamics with friction by load: signs of loads are changed until they are right."""
    for change in range(MOST_CHANGES):
        mass_matrix_and_bias(model, values, work, q, v, torque)
        divide_gears(work.gear, work.mass)
        if not cholesky(work.mass):
            return False
        for j in range(len(q)):
            work.acceleration[j] /= work.gear[GEAR, j]
        solve_cholesky(work.mass, work.acceleration)
        if signs_are_right(
            model.terms, values.amplitudes, q, v, work.acceleration, torque, work.gear, change
        ):
            return True
    return False


@njit(**INSIDE)
def mass_matrix_and_bias(
    model: SampleModel, values: TreeValues, work: TreeWorkspace, q: np.ndarray, v: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Mass matrix M by CRBA and, as ``acceleration``, tau - bias by RNEA without acceleration.

    With friction by load, both are those of the signs that loads are taken to have. Arguments are
    those of :func:`forward_dynamics`.
    """
    for j in range(len(q)):
        work.acceleration[j] = torque[j]
    for i in range(len(model.parent)):
        position, speed = model.coupling_offset[i], 0.0
        for j in range(len(q)):
            share = model.coupling[i, j]
            position, speed = position + share * q[j], speed + share * v[j]
        body_forward_kinematics(model, work.pose, work.screw, i, position)
        body_inertia_in_world(values.bodies, work.pose, work.own, work.composite, i)
        _rnea_forward(model, work, i, speed)
    for i in range(len(model.parent) - 1, -1, -1):
        _rnea_crba_backward(model, work, i)
    project_to_joints(model.coupling, values.coupled, work.pairs[0], work.mass)
    if values.loaded:
        set_gears(model.terms, values.amplitudes, v, work.gear)
        multiply_gears(work.gear, work.mass)
        for j in range(len(q)):
            bias = torque[j] - work.acceleration[j]
            work.acceleration[j] = torque[j] - work.gear[GEAR, j] * bias
    add_joint_terms(model.terms, values.amplitudes, q, v, work.mass, work.acceleration)


@njit(**INSIDE)
def solve_derivatives(values: TreeValues, work: TreeWorkspace) -> None:
    """Derivatives of the acceleration from those of the torque: -M^-1 times them, in place."""
    for table in (work.by_position, work.by_velocity, work.by_parameters):
        negate(table)
        if values.loaded:
            divide_gears(work.gear, table)
        solve_cholesky_columns(work.mass, table)


@njit(**INSIDE)
def rnea_derivatives(
    model: SampleModel, values: TreeValues, work: TreeWorkspace, q: np.ndarray, v: np.ndarray
) -> None:
    """Derivatives of the torque at ``work.acceleration``, after :func:`mass_matrix_and_bias`.

    They are written where those of the acceleration would be. Arguments are those of
    :func:`forward_dynamics`.
    """
    for i in range(len(model.parent)):
        _rnea_derivatives_forward(model, work, i)
        _momentum_and_coriolis(work, i)
    for i in range(len(model.parent) - 1, -1, -1):
        _rnea_derivatives_backward(model, work, i)
        add_to_parent(work.load, model.parent[i], i)
        add_to_parent(work.momenta, model.parent[i], i)
    project_to_joints(model.coupling, values.coupled, work.pairs[1], work.by_position)
    project_to_joints(model.coupling, values.coupled, work.pairs[2], work.by_velocity)
    for r in range(work.by_parameters.shape[0]):
        for c in range(work.by_parameters.shape[1]):
            work.by_parameters[r, c] = 0.0
    for i in range(len(model.parent)):
        if values.free_bodies[i]:
            _inertial_columns(model, values.slots, work, i)
    if values.loaded:
        for table in (work.by_position, work.by_velocity, work.by_parameters):
            multiply_gears(work.gear, table)
    differentiate_joint_terms(
        model.terms, values.amplitudes, values.slots, q, v, work.acceleration, work.gear[LOAD],
        work.by_position, work.by_velocity, work.by_parameters)


@njit(**INSIDE)
def body_inertia_in_world(
    bodies: np.ndarray, pose: np.ndarray, own: np.ndarray, composite: np.ndarray, i: int
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
        composite[i, k] = own[i, k]


@njit(**INSIDE)
def _rnea_forward(model: SampleModel, work: TreeWorkspace, i: int, speed: float) -> None:
    """RNEA, forward pass: twist, bias acceleration and force of body i."""
    before, z, nought = model.parent[i], three(work.screw, i, 0), (0.0, 0.0, 0.0)
    axis = (nought, z)
    if model.revolute[i]:
        axis = (z, cross(three(work.pose, i, 9), z))
    twist, rate = (nought, nought), base_acceleration(model)
    if before >= 0:
        twist, rate = six(work.twist, before), six(work.rate, before)
    axis_rate = motion_cross(twist, axis)
    twist, rate = spatial_plus(twist, axis, speed), spatial_plus(rate, axis_rate, speed)
    force = inertia_times(work.own, i, rate)
    force = spatial_plus(force, force_cross(twist, inertia_times(work.own, i, twist)), 1.0)
    put(work.axis, i, axis)
    put(work.axis_rate, i, axis_rate)
    put(work.twist, i, twist)
    put(work.rate, i, rate)
    put(work.wrench, i, force)
    put(work.load, i, force)


@njit(**INSIDE)
def base_acceleration(model: SampleModel) -> Spatial:
    """Acceleration of the base, as which gravity counts."""
    g = model.gravity
    return ((0.0, 0.0, 0.0), (-g[0], -g[1], -g[2]))


@njit(**INSIDE)
def _rnea_crba_backward(model: SampleModel, work: TreeWorkspace, i: int) -> None:
    """RNEA and CRBA, backward pass: torque of joint i, and its rows of the mass matrix."""
    axis, j = six(work.axis, i), i
    force, weight = power(axis, six(work.load, i)), inertia_times(work.composite, i, axis)
    for k in range(len(work.acceleration)):
        work.acceleration[k] -= model.coupling[i, k] * force
    while j >= 0:
        work.pairs[0, i, j] = work.pairs[0, j, i] = power(six(work.axis, j), weight)
        j = model.parent[j]
    add_to_parent(work.composite, model.parent[i], i)
    add_to_parent(work.load, model.parent[i], i)


@njit(**INSIDE)
def add_to_parent(table: np.ndarray, parent: int, i: int) -> None:
    """Add the row of body i to that of its parent."""
    if parent >= 0:
        for k in range(table.shape[1]):
            table[parent, k] += table[i, k]


@njit(**INSIDE)
def _rnea_derivatives_forward(model: SampleModel, work: TreeWorkspace, i: int) -> None:
    """RNEA derivatives, forward pass: acceleration and force of body i, second rate of its axis."""
    before, rate, nought = model.parent[i], 0.0, (0.0, 0.0, 0.0)
    for j in range(len(work.acceleration)):
        rate += model.coupling[i, j] * work.acceleration[j]
    joint_rate, twist, there = (nought, nought), (nought, nought), base_acceleration(model)
    if before >= 0:
        joint_rate, twist = six(work.joint_rate, before), six(work.twist, before)
        there = spatial_plus(six(work.rate, before), joint_rate, 1.0)
    axis = six(work.axis, i)
    axis_second_rate = spatial_plus(
        motion_cross(there, axis), motion_cross(twist, six(work.axis_rate, i)), 1.0)
    joint_rate = spatial_plus(joint_rate, axis, rate)
    put(work.axis_second_rate, i, axis_second_rate)
    put(work.joint_rate, i, joint_rate)
    put(work.load, i, spatial_plus(
        six(work.wrench, i), inertia_times(work.own, i, joint_rate), 1.0))


@njit(**INSIDE)
def _momentum_and_coriolis(work: TreeWorkspace, i: int) -> None:
    """Momentum of body i, and its matrix D for Coriolis terms."""
    own, momenta, (spin, slide) = work.own, work.momenta, six(work.twist, i)
    x, y, z = three(own, i, 1)
    rows = (
        plus(cross(spin, (x, y, z)), slide, own[i, 0]),
        plus(cross(spin, (own[i, 4], own[i, 5], own[i, 7])), slide, x),
        plus(cross(spin, (own[i, 5], own[i, 6], own[i, 8])), slide, y),
        plus(cross(spin, (own[i, 7], own[i, 8], own[i, 9])), slide, z))
    for r in range(4):
        momenta[i, 3 * r], momenta[i, 3 * r + 1], momenta[i, 3 * r + 2] = rows[r]


@njit(**INSIDE)
def _rnea_derivatives_backward(model: SampleModel, work: TreeWorkspace, i: int) -> None:
    """RNEA derivatives, backward pass: torques of bodies i and j by q and v of each other."""
    axis, axis_rate, composite = six(work.axis, i), six(work.axis_rate, i), work.composite
    weight, row = inertia_times(composite, i, axis), axis_times_coriolis(work.momenta, i, axis)
    by_q = spatial_plus(
        coriolis_times(work.momenta, i, axis_rate[0]),
        inertia_times(composite, i, six(work.axis_second_rate, i)), 1.0)
    by_q = spatial_plus(by_q, force_cross(axis, six(work.load, i)), 1.0)
    by_v = spatial_plus(
        coriolis_times(work.momenta, i, axis[0]), inertia_times(composite, i, axis_rate), 2.0)
    j = i
    while j >= 0:
        other, other_rate = six(work.axis, j), six(work.axis_rate, j)
        work.pairs[1, j, i] = power(other, by_q)
        work.pairs[2, j, i] = power(other, by_v)
        work.pairs[1, i, j] = dot(row, other_rate[0]) + power(
            six(work.axis_second_rate, j), weight)
        work.pairs[2, i, j] = dot(row, other[0]) + 2.0 * power(other_rate, weight)
        j = model.parent[j]


@njit(**INSIDE)
def _inertial_columns(model: SampleModel, slots: np.ndarray, work: TreeWorkspace, i: int) -> None:
    """Torque per unit of the sought inertial parameters of body i."""
    pose, own, ten, first = work.pose, work.inward, work.ten, model.column[i]
    (spin, slide), p = six(work.twist, i), three(work.pose, i, 9)
    turn, rise = spatial_plus(six(work.rate, i), six(work.joint_rate, i), 1.0)
    # Spatial acceleration is that of what streams through the origin, not of a point.
    streaming = cross(spin, plus(slide, cross(spin, p), 1.0))
    point = plus(plus(rise, cross(turn, p), 1.0), streaming, 1.0)
    for k in range(3):
        column = (pose[i, k], pose[i, 3 + k], pose[i, 6 + k])
        own[k], own[3 + k], own[6 + k] = dot(column, spin), dot(column, turn), dot(column, point)
    j = i
    while j >= 0:
        body_columns(pose[i], own, pose[j], work.screw[j], model.revolute[j], ten)
        for k in range(10):
            slot = slots[first + k]
            if slot >= 0:
                for joint in range(len(work.acceleration)):
                    work.by_parameters[joint, slot] += model.coupling[j, joint] * ten[k]
        j = model.parent[j]
