r"""Compiled: derivatives of a step by the state before and by parameters.

A step solves :math:`F(z, x, \theta) = 0` with

.. math:: F_1 = \tilde M u - \tilde M_0 v - h f - G^\top \lambda - \hat G^\top \varphi, \qquad
          F_2 = G u + \Sigma \lambda + \tfrac{4}{h} \Upsilon g - \Upsilon G v,

so that :math:`\mathrm{d}z = -(\partial F / \partial z)^{-1}\, \mathrm{d}F` in modes that stay
(Discrete multibody dynamics, Appendix D).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.body_terms import (
    angular_momentum,
    angular_velocity,
    change,
    first_moments,
    gyroscopic,
)
from sysid_ros.estimation.trajectory.discrete.contact_modes import pressed, pressure, speed_along
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    ARMATURE,
    GAIN,
    OFFSET,
    BodyParameters,
    FreeParameterMap,
    MechanismArrays,
    Workspace,
)
from sysid_ros.estimation.trajectory.discrete.parameter_slopes import by_parameters
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, row_second_derivative
from sysid_ros.estimation.trajectory.discrete.step import damping_shares, drive_law_value
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, law_slope
from sysid_ros.mechanics.joint_terms.law import VELOCITY
from sysid_ros.numerics.dense import (
    solve_lu_columns,
    solve_unit_lower_columns,
    solve_upper_columns,
    subtract_row,
)
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Vector, cross, plus


@njit(**INSIDE)
def differentiate(
    arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
    state: np.ndarray, torque: np.ndarray, u: np.ndarray, ahead: np.ndarray, count: int,
    work: Workspace, table: np.ndarray,
) -> None:
    r"""Minus the derivatives of F by the state and the parameters that are sought.

    Args:
        arrays: The bodies and constraints.
        parameters: Parameter values.
        free_map: The parameters to differentiate by.
        h: Length of the step in [s].
        state: The state before, shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        u: Velocity at which F is meant, shape ``(6 b,)``.
        ahead: That at which its derivatives by parameters are meant, shape ``(6 b,)``.
        count: Active rows.
        work: With the problem, modes and impulses.
        table: Is filled: :math:`F_1`, then the active rows of :math:`F_2`; by pose and
            velocity of one body after the other, then by parameters, shape ``(., 12 b + k)``.
    """
    n, m = len(u), len(work.gap)
    for r in range(n + count):
        for c in range(table.shape[1]):
            table[r, c] = 0.0
    for body in range(len(work.positions)):
        _by_motion(arrays, parameters, h, state, body, u, work, table)
    for k in range(m + len(work.slip)):
        row_second_derivative(arrays.rows, k, work.positions, work.rotations, work.slope)
    for k in range(m):
        _add_geometric_stiffness(arrays, k, work.impulse[k], work, table)
    for j in range(len(work.slip)):
        _by_drive(arrays, parameters, h, state, torque, j, u, work, table)
    for a in range(count):
        _by_row(arrays, state, u, a, work, table)
    by_parameters(arrays, parameters, free_map, h, state, torque, ahead, work, table)


@njit(**INSIDE)
def respond(arrays: MechanismArrays, work: Workspace, count: int, table: np.ndarray) -> None:
    """From minus the derivatives of F to those of the next velocity and of active impulses.

    Args:
        arrays: The bodies and constraints.
        work: With factors of the problem.
        count: Active rows.
        table: As :func:`differentiate` filled it, shape ``(., w)``.
    """
    n, m = len(work.velocity), len(work.gap)
    solve_unit_lower_columns(work.mass, table[:n])
    for a in range(count):
        for r in range(n):
            subtract_row(table, n + a, work.by_upper[work.active[a], r], r)
    solve_lu_columns(work.schur, work.pivot, table[n:n + count])
    for a in range(count):
        for r in range(n):
            factor = work.by_lower[work.active[a], r]
            for j in range(len(work.slip)):
                if arrays.dry[j] and work.slip[j] != 0.0:
                    factor -= work.slip[j] * pressed(arrays, work, j, a) * work.by_lower[m + j, r]
            subtract_row(table, r, -factor, n + a)
    solve_upper_columns(work.mass, table[:n])


@njit(**INSIDE)
def _by_motion(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray, body: int,
    u: np.ndarray, work: Workspace, table: np.ndarray,
) -> None:
    r"""Of a body: :math:`M (u - v) - h\,(mg, mc \times g)` and its gyroscopic forces.

    By its rotation, velocity and angular velocity.
    """
    own, column, m = 6 * body, 12 * body, parameters.bodies[body, 0]
    mc, omega = first_moments(work, body), angular_velocity(state, body)
    linear, angular = change(u, state, own, 0), change(u, state, own, 3)
    g = (parameters.gravity[0], parameters.gravity[1], parameters.gravity[2])
    lifted = plus(linear, g, -h)
    ahead, often = omega, 2.0
    if arrays.averaged:
        ahead, often = (u[own + 3], u[own + 4], u[own + 5]), 1.0
    force, moment = gyroscopic(work, body, omega, ahead)
    turned_momentum = angular_momentum(work, body, angular)
    for c in range(3):
        e = (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2))
        # Gyroscopic forces turn with the body and both velocities, less these.
        before, after = gyroscopic(work, body, cross(e, omega), ahead), gyroscopic(
            work, body, omega, cross(e, ahead))
        moved = cross(e, mc)
        rolled = plus(plus(cross(e, force), before[0], -1.0), after[0], -1.0)
        _take(table, own, column + 3 + c, plus(cross(angular, moved), rolled, h))
        tilted = plus(cross(e, turned_momentum), angular_momentum(work, body, cross(e, angular)),
            -1.0)
        rolled = plus(plus(cross(e, moment), before[1], -1.0), after[1], -1.0)
        _take(table, own + 3, column + 3 + c, plus(
            plus(cross(moved, lifted), tilted, 1.0), rolled, h))
        _take(table, own, column + 6 + c, (-m * e[0], -m * e[1], -m * e[2]))
        _take(table, own + 3, column + 6 + c, cross(e, mc))
        faster = gyroscopic(work, body, e, ahead)
        inert = angular_momentum(work, body, e)
        _take(table, own, column + 9 + c, plus(cross(mc, e), faster[0], often * h))
        _take(table, own + 3, column + 9 + c, plus(
            (-inert[0], -inert[1], -inert[2]), faster[1], often * h))


@njit(**INSIDE)
def _add_geometric_stiffness(
    arrays: MechanismArrays, k: int, factor: float, work: Workspace, table: np.ndarray
) -> None:
    """Add geometric stiffness: an impulse times the second derivative of its row."""
    if factor == 0.0:
        return
    bodies = (arrays.rows.first[k], arrays.rows.second[k])
    for p in range(2):
        for q in range(2):
            if bodies[p] != WORLD and bodies[q] != WORLD:
                for r in range(6):
                    for c in range(6):
                        table[6 * bodies[p] + r, 12 * bodies[q] + c] += (
                            factor * work.slope[k, 6 * p + r, 6 * q + c])


@njit(**INSIDE)
def _turned(
    arrays: MechanismArrays, k: int, u: np.ndarray, ahead: float, state: np.ndarray, before: float,
    work: Workspace,
) -> None:
    """What multiples of a row's speed at u and of that before change by with its bodies' poses.

    It is left in the first twelve numbers of ``work.left``.
    """
    bodies = (arrays.rows.first[k], arrays.rows.second[k])
    for c in range(12):
        work.left[c] = 0.0
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        for r in range(6):
            speed = ahead * u[6 * bodies[p] + r] + before * state[13 * bodies[p] + 7 + r]
            for c in range(12):
                work.left[c] += speed * work.slope[k, 6 * p + r, c]


@njit(**INSIDE)
def _by_row(
    arrays: MechanismArrays, state: np.ndarray, u: np.ndarray, a: int, work: Workspace,
    table: np.ndarray,
) -> None:
    """Of an active row of F, or of a drive that sticks."""
    row, k = len(u) + a, work.active[a]
    softness, closing = work.stable[0, k], work.stable[2, k]
    _turned(arrays, k, u, 1.0, state, -softness, work)
    bodies = (arrays.rows.first[k], arrays.rows.second[k])
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        column = 12 * bodies[p]
        for c in range(6):
            along = work.direction[k, 6 * p + c]
            table[row, column + c] -= work.left[6 * p + c] + closing * along
            table[row, column + 6 + c] += softness * along


@njit(**INSIDE)
def _by_drive(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray,
    torque: np.ndarray, j: int, u: np.ndarray, work: Workspace, table: np.ndarray,
) -> None:
    """Of what a drive does to the bodies, by poses and velocities."""
    k, own = len(work.gap) + j, parameters.drives
    ahead, behind = damping_shares(arrays, parameters, h, j)
    shaft, heavy = own[j, ARMATURE] - behind, own[j, ARMATURE] + ahead
    thrust = heavy * speed_along(work, k, u) - shaft * work.speed[j] - work.impulse[k] - h * (
        own[j, GAIN] * torque[j] - own[j, OFFSET])
    before = -shaft
    for e in range(len(parameters.amplitudes)):
        if arrays.drive_laws.drive[e] == j:
            value, amplitude = drive_law_value(arrays, e, work), h * parameters.amplitudes[e]
            thrust += amplitude * value
            if arrays.drive_laws.laws.code[e, VARIABLE] == VELOCITY:
                before += amplitude * law_slope(arrays.drive_laws.laws, e, work.speed[j], value)
    _add_geometric_stiffness(arrays, k, -thrust, work, table)
    if arrays.dry[j] and work.slip[j] != 0.0:
        # Stribeck's part of friction changes with the speed before.
        before += work.slip[j] * (
            work.bound[j, 2] + work.bound[j, 3] * pressure(arrays, work, j))
    _turned(arrays, k, u, heavy, state, before, work)
    bodies = (arrays.rows.first[k], arrays.rows.second[k])
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        column = 12 * bodies[p]
        for r in range(len(u)):
            along = work.whole[k, r]
            if along != 0.0:
                for c in range(6):
                    table[r, column + c] -= along * work.left[6 * p + c]
                    table[r, column + 6 + c] -= along * before * work.direction[k, 6 * p + c]


@njit(**INSIDE)
def _take(table: np.ndarray, row: int, column: int, a: Vector) -> None:
    """Take a vector off a column."""
    for r in range(3):
        table[row + r, column] -= a[r]
