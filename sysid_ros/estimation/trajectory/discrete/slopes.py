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

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.spatial_vectors import Vector, cross, plus
from sysid_ros.estimation.trajectory.discrete.body_terms import (
    angular_momentum,
    angular_velocity,
    change,
    first_moments,
    gyroscopic,
)
from sysid_ros.estimation.trajectory.discrete.machine import (
    ARMATURE,
    GAIN,
    OFFSET,
    VISCOUS,
    Amounts,
    Machine,
    Room,
    Sought,
)
from sysid_ros.estimation.trajectory.discrete.modes import pressed, pressure, speed_along
from sysid_ros.estimation.trajectory.discrete.parameter_slopes import by_parameters
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, bend


@njit(**INSIDE)
def differentiate(
    machine: Machine, amounts: Amounts, sought: Sought, h: float, state: np.ndarray,
    torque: np.ndarray, u: np.ndarray, ahead: np.ndarray, count: int, room: Room,
    table: np.ndarray,
) -> None:
    r"""Minus the derivatives of F by the state and the parameters that are sought.

    Args:
        machine: The bodies and constraints.
        amounts: Parameter values.
        sought: The parameters to differentiate by.
        h: Length of the step in [s].
        state: The state before, shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        u: Velocity at which F is meant, shape ``(6 b,)``.
        ahead: That at which its derivatives by parameters are meant, shape ``(6 b,)``.
        count: Active rows.
        room: With the problem, modes and impulses.
        table: Is filled: :math:`F_1`, then the active rows of :math:`F_2`; by pose and
            velocity of one body after the other, then by parameters, shape ``(., 12 b + k)``.
    """
    n, m = len(u), len(room.gap)
    for r in range(n + count):
        for c in range(table.shape[1]):
            table[r, c] = 0.0
    for body in range(len(room.positions)):
        _by_motion(machine, amounts, h, state, body, u, room, table)
    for k in range(m + len(room.slip)):
        bend(machine.rows, k, room.positions, room.rotations, room.slope)
    for k in range(m):
        _bend_force(machine, k, room.impulse[k], room, table)
    for j in range(len(room.slip)):
        _by_drive(machine, amounts, h, state, torque, j, u, room, table)
    for a in range(count):
        _by_row(machine, state, u, a, room, table)
    by_parameters(machine, amounts, sought, h, state, torque, ahead, room, table)


@njit(**INSIDE)
def respond(machine: Machine, room: Room, count: int, table: np.ndarray) -> None:
    """From minus the derivatives of F to those of the next velocity and of active impulses.

    Args:
        machine: The bodies and constraints.
        room: With factors of the problem.
        count: Active rows.
        table: As :func:`differentiate` filled it, shape ``(., w)``.
    """
    n, m, width = len(room.velocity), len(room.gap), table.shape[1]
    for r in range(n):
        for c in range(r):
            _take_row(table, r, room.mass[r, c], c)
    for a in range(count):
        for r in range(n):
            _take_row(table, n + a, room.felt[room.active[a], r], r)
    _solve_rows(room, count, n, table)
    for a in range(count):
        for r in range(n):
            factor = room.pushed[room.active[a], r]
            for j in range(len(room.slip)):
                if machine.dry[j] and room.slip[j] != 0.0:
                    factor -= room.slip[j] * pressed(machine, room, j, a) * room.pushed[m + j, r]
            _take_row(table, r, -factor, n + a)
    for r in range(n - 1, -1, -1):
        for c in range(r + 1, n):
            _take_row(table, r, room.mass[r, c], c)
        inverse = 1.0 / room.mass[r, r]
        for i in range(width):
            table[r, i] *= inverse


@njit(**INSIDE)
def _take_row(table: np.ndarray, row: int, factor: float, other: int) -> None:
    """Take a multiple of another row off a row."""
    if factor != 0.0:
        for i in range(table.shape[1]):
            table[row, i] -= factor * table[other, i]


@njit(**INSIDE)
def _solve_rows(room: Room, count: int, first: int, table: np.ndarray) -> None:
    """Solve with the LU factors of what is left of the problem, for all columns."""
    width = table.shape[1]
    for c in range(count):
        other = room.pivot[c]
        if other != c:
            for i in range(width):
                table[first + c, i], table[first + other, i] = (
                    table[first + other, i], table[first + c, i])
    for c in range(count):
        for r in range(c + 1, count):
            _take_row(table, first + r, room.schur[r, c], first + c)
    for r in range(count - 1, -1, -1):
        for c in range(r + 1, count):
            _take_row(table, first + r, room.schur[r, c], first + c)
        inverse = 1.0 / room.schur[r, r]
        for i in range(width):
            table[first + r, i] *= inverse


@njit(**INSIDE)
def _by_motion(
    machine: Machine, amounts: Amounts, h: float, state: np.ndarray, body: int, u: np.ndarray,
    room: Room, table: np.ndarray,
) -> None:
    r"""Of a body: :math:`M (u - v) - h\,(mg, mc \times g)` and its gyroscopic forces.

    By its rotation, velocity and angular velocity.
    """
    own, column, m = 6 * body, 12 * body, amounts.bodies[body, 0]
    mc, omega = first_moments(room, body), angular_velocity(state, body)
    linear, angular = change(u, state, own, 0), change(u, state, own, 3)
    g = (amounts.gravity[0], amounts.gravity[1], amounts.gravity[2])
    lifted = plus(linear, g, -h)
    ahead, often = omega, 2.0
    if machine.averaged:
        ahead, often = (u[own + 3], u[own + 4], u[own + 5]), 1.0
    force, moment = gyroscopic(room, body, omega, ahead)
    felt = angular_momentum(room, body, angular)
    for c in range(3):
        e = (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2))
        # Gyroscopic forces turn with the body and both velocities, less these.
        before, after = gyroscopic(room, body, cross(e, omega), ahead), gyroscopic(
            room, body, omega, cross(e, ahead))
        moved = cross(e, mc)
        rolled = plus(plus(cross(e, force), before[0], -1.0), after[0], -1.0)
        _take(table, own, column + 3 + c, plus(cross(angular, moved), rolled, h))
        tilted = plus(cross(e, felt), angular_momentum(room, body, cross(e, angular)), -1.0)
        rolled = plus(plus(cross(e, moment), before[1], -1.0), after[1], -1.0)
        _take(table, own + 3, column + 3 + c, plus(
            plus(cross(moved, lifted), tilted, 1.0), rolled, h))
        _take(table, own, column + 6 + c, (-m * e[0], -m * e[1], -m * e[2]))
        _take(table, own + 3, column + 6 + c, cross(e, mc))
        faster = gyroscopic(room, body, e, ahead)
        inert = angular_momentum(room, body, e)
        _take(table, own, column + 9 + c, plus(cross(mc, e), faster[0], often * h))
        _take(table, own + 3, column + 9 + c, plus(
            (-inert[0], -inert[1], -inert[2]), faster[1], often * h))


@njit(**INSIDE)
def _bend_force(
    machine: Machine, k: int, factor: float, room: Room, table: np.ndarray
) -> None:
    """Add an impulse times the slope of its direction, as minus the derivative of F has it."""
    if factor == 0.0:
        return
    bodies = (machine.rows.first[k], machine.rows.second[k])
    for p in range(2):
        for q in range(2):
            if bodies[p] != WORLD and bodies[q] != WORLD:
                for r in range(6):
                    for c in range(6):
                        table[6 * bodies[p] + r, 12 * bodies[q] + c] += (
                            factor * room.slope[k, 6 * p + r, 6 * q + c])


@njit(**INSIDE)
def _turned(
    machine: Machine, k: int, u: np.ndarray, ahead: float, state: np.ndarray, before: float,
    room: Room,
) -> None:
    """What multiples of a row's speed at u and of that before change by with its bodies' poses.

    It is left in the first twelve numbers of ``room.left``.
    """
    bodies = (machine.rows.first[k], machine.rows.second[k])
    for c in range(12):
        room.left[c] = 0.0
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        for r in range(6):
            speed = ahead * u[6 * bodies[p] + r] + before * state[13 * bodies[p] + 7 + r]
            for c in range(12):
                room.left[c] += speed * room.slope[k, 6 * p + r, c]


@njit(**INSIDE)
def _by_row(
    machine: Machine, state: np.ndarray, u: np.ndarray, a: int, room: Room, table: np.ndarray,
) -> None:
    """Of an active row of F, or of a drive that sticks."""
    row, k = len(u) + a, room.active[a]
    softness, closing = room.stable[0, k], room.stable[2, k]
    _turned(machine, k, u, 1.0, state, -softness, room)
    bodies = (machine.rows.first[k], machine.rows.second[k])
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        column = 12 * bodies[p]
        for c in range(6):
            along = room.direction[k, 6 * p + c]
            table[row, column + c] -= room.left[6 * p + c] + closing * along
            table[row, column + 6 + c] += softness * along


@njit(**INSIDE)
def _by_drive(
    machine: Machine, amounts: Amounts, h: float, state: np.ndarray, torque: np.ndarray, j: int,
    u: np.ndarray, room: Room, table: np.ndarray,
) -> None:
    """Of what a drive does to the bodies, by poses and velocities."""
    k, own = len(room.gap) + j, amounts.drives
    shaft, heavy = own[j, ARMATURE], own[j, ARMATURE] + h * own[j, VISCOUS]
    push = heavy * speed_along(room, k, u) - shaft * room.speed[j] - room.impulse[k] - h * (
        own[j, GAIN] * torque[j] - own[j, OFFSET])
    _bend_force(machine, k, -push, room, table)
    before = -shaft
    if machine.dry[j] and room.slip[j] != 0.0:
        # Stribeck's part of friction changes with the speed before.
        before += room.slip[j] * (
            room.bound[j, 2] + room.bound[j, 3] * pressure(machine, room, j))
    _turned(machine, k, u, heavy, state, before, room)
    bodies = (machine.rows.first[k], machine.rows.second[k])
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        column = 12 * bodies[p]
        for r in range(len(u)):
            along = room.whole[k, r]
            if along != 0.0:
                for c in range(6):
                    table[r, column + c] -= along * room.left[6 * p + c]
                    table[r, column + 6 + c] -= along * before * room.direction[k, 6 * p + c]


@njit(**INSIDE)
def _take(table: np.ndarray, row: int, column: int, a: Vector) -> None:
    """Take a vector off a column."""
    for r in range(3):
        table[row + r, column] -= a[r]
