r"""Compiled: one step of regularised multibody dynamics with dry friction (SPOOK).

With the bodies' mass matrix, to which the inertia J and the viscous friction b of drives and
gyroscopic forces C are added, :math:`\tilde M = M + \hat G^\top (J + h b)\,\hat G + h C(v)`, and
constraints of compliance :math:`\varepsilon` and damping time :math:`\gamma`, the next velocity u
and the impulses solve

.. math:: \begin{bmatrix} \tilde M & -G^\top & -\hat G^\top \\ G & \Sigma & \end{bmatrix}
          \begin{bmatrix} u \\ \lambda \\ \varphi \end{bmatrix}
          = \begin{bmatrix} \tilde M_0 v + h f \\ -\tfrac{4}{h} \Upsilon g + \Upsilon G v
          \end{bmatrix}, \qquad
          \Sigma = \tfrac{4}{h^2}\, \tfrac{\varepsilon}{1 + 4\gamma / h}, \quad
          \Upsilon = \tfrac{1}{1 + 4\gamma / h}

(Lacoursière 2007; Discrete multibody dynamics, eqs. 2.8-2.18), with dry friction
:math:`|\varphi_j| \le h c_j + \mu_j \sum_r \rho_r |\lambda_r|` against the drive's motion, and
contacts that only push (eq. 2.24). A contact that is open may close within a step, and no more,
:math:`G u + \Sigma \lambda = -g / h` (Stewart and Trinkle 1996): the published row would brake it
before it touches, from a distance of :math:`\gamma` times its speed on.

Published steps have gyroscopic forces of the velocity before, which is off by half a step and
makes errors of first order. Here they are a mean of both ends,
:math:`\tfrac12 (\omega \times I u + u \times I \omega)`, linear in u, unless they are asked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.estimation.trajectory.discrete.body_terms import angular_velocity, gyroscopic
from sysid_ros.estimation.trajectory.discrete.dense import factorise
from sysid_ros.estimation.trajectory.discrete.machine import (
    ARMATURE,
    BEARING,
    COULOMB,
    GAIN,
    OFFSET,
    STRIBECK,
    STRIBECK_BEARING,
    STRIBECK_VELOCITY,
    VISCOUS,
    Amounts,
    Machine,
    Room,
)
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, Rows, look


@njit(**INSIDE)
def prepare(
    machine: Machine, amounts: Amounts, h: float, state: np.ndarray, torque: np.ndarray,
    room: Room,
) -> bool:
    """Everything of a step's problem that does not depend on its modes.

    Args:
        machine: The bodies and constraints.
        amounts: Parameter values.
        h: Length of the step in [s].
        state: Position, quaternion (x, y, z, w), velocity and angular velocity of each body in
            the world's axes, one after the other, shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        room: Is filled.

    Returns:
        False if the mass matrix is not positive definite.
    """
    bodies, m = len(room.rotations), len(room.gap)
    n = 6 * bodies
    for i in range(n):
        room.momentum[i] = 0.0
        for j in range(n):
            room.mass[i, j] = 0.0
    for body in range(bodies):
        turn(state, body, room)
        _weigh(amounts, h, state, body, room)
        _turn_along(machine, h, state, body, room)
    for k in range(m + len(room.speed)):
        gap = look(machine.rows, k, room.positions, room.rotations, room.direction)
        spread(machine.rows, k, room)
        room.right[k] = 0.0
        if k < m:
            softness = 1.0 / (1.0 + 4.0 * machine.damping[k] / h)
            room.gap[k] = gap
            room.stable[0, k], room.stable[2, k] = softness, 4.0 / h * softness
            room.stable[1, k] = 4.0 / (h * h) * machine.compliance[k] * softness
            if machine.one_sided[k] and gap > 0.0:
                room.stable[0, k], room.stable[2, k] = 0.0, 1.0 / h
            room.right[k] = (
                room.stable[0, k] * speed_of(room.whole, k, state) - room.stable[2, k] * gap)
    for j in range(len(room.speed)):
        _drive(amounts, h, state, torque, j, room)
    return factorise(room.mass)


@njit(**INSIDE)
def turn(state: np.ndarray, body: int, room: Room) -> None:
    """Position and rotation of a body."""
    for c in range(3):
        room.positions[body, c] = state[13 * body + c]
    x, y, z, w = (
        state[13 * body + 3], state[13 * body + 4], state[13 * body + 5], state[13 * body + 6])
    table = room.rotations
    table[body, 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    table[body, 0, 1] = 2.0 * (x * y - z * w)
    table[body, 0, 2] = 2.0 * (x * z + y * w)
    table[body, 1, 0] = 2.0 * (x * y + z * w)
    table[body, 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    table[body, 1, 2] = 2.0 * (y * z - x * w)
    table[body, 2, 0] = 2.0 * (x * z - y * w)
    table[body, 2, 1] = 2.0 * (y * z + x * w)
    table[body, 2, 2] = 1.0 - 2.0 * (x * x + y * y)


@njit(**INSIDE)
def _weigh(
    amounts: Amounts, h: float, state: np.ndarray, body: int, room: Room
) -> None:
    """Mass matrix and momentum of a body, with gravity."""
    own, first = amounts.bodies, 6 * body
    m = own[body, 0]
    rotate, world = room.rotations, room.inertia
    for r in range(3):
        world[body, 0, r] = (
            rotate[body, r, 0] * own[body, 1] + rotate[body, r, 1] * own[body, 2]
            + rotate[body, r, 2] * own[body, 3])
    for r in range(3):
        # R times the matrix of second moments, a row of it at a time.
        a, b, c = rotate[body, r, 0], rotate[body, r, 1], rotate[body, r, 2]
        x = a * own[body, 4] + b * own[body, 5] + c * own[body, 7]
        y = a * own[body, 5] + b * own[body, 6] + c * own[body, 8]
        z = a * own[body, 7] + b * own[body, 8] + c * own[body, 9]
        for s in range(3):
            world[body, 1 + r, s] = (
                x * rotate[body, s, 0] + y * rotate[body, s, 1] + z * rotate[body, s, 2])
    hx, hy, hz = world[body, 0, 0], world[body, 0, 1], world[body, 0, 2]
    mass = room.mass
    for r in range(3):
        mass[first + r, first + r] += m
        for s in range(3):
            mass[first + 3 + r, first + 3 + s] += world[body, 1 + r, s]
    # Minus the matrix of mc × , below the diagonal its transpose.
    for r, s, value in ((0, 1, hz), (0, 2, -hy), (1, 0, -hz), (1, 2, hx), (2, 0, hy), (2, 1, -hx)):
        mass[first + r, first + 3 + s] += value
        mass[first + 3 + s, first + r] += value
    push = room.momentum
    start = 13 * body + 7
    for r in range(6):
        for s in range(6):
            push[first + r] += mass[first + r, first + s] * state[start + s]
    gx, gy, gz = amounts.gravity[0], amounts.gravity[1], amounts.gravity[2]
    push[first] += h * m * gx
    push[first + 1] += h * m * gy
    push[first + 2] += h * m * gz
    push[first + 3] += h * (hy * gz - hz * gy)
    push[first + 4] += h * (hz * gx - hx * gz)
    push[first + 5] += h * (hx * gy - hy * gx)


@njit(**INSIDE)
def _turn_along(
    machine: Machine, h: float, state: np.ndarray, body: int, room: Room
) -> None:
    r"""Gyroscopic forces of a body, as they were or as a matrix of the next angular velocity."""
    first, omega = 6 * body, angular_velocity(state, body)
    if not machine.averaged:
        force, moment = gyroscopic(room, body, omega, omega)
        for r in range(3):
            room.momentum[first + r] -= h * force[r]
            room.momentum[first + 3 + r] -= h * moment[r]
        return
    for c in range(3):
        e = (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2))
        force, moment = gyroscopic(room, body, omega, e)
        for r in range(3):
            room.mass[first + r, first + 3 + c] += h * force[r]
            room.mass[first + 3 + r, first + 3 + c] += h * moment[r]


@njit(**INSIDE)
def spread(rows: Rows, k: int, room: Room) -> None:
    """Direction of a row for all bodies."""
    for c in range(room.whole.shape[1]):
        room.whole[k, c] = 0.0
    i, j = rows.first[k], rows.second[k]
    for c in range(6):
        room.whole[k, 6 * i + c] = room.direction[k, c]
        if j != WORLD:
            room.whole[k, 6 * j + c] += room.direction[k, 6 + c]


@njit(**INSIDE)
def speed_of(whole: np.ndarray, k: int, state: np.ndarray) -> float:
    """Speed of a row's value."""
    total = 0.0
    for body in range(whole.shape[1] // 6):
        for c in range(6):
            total += whole[k, 6 * body + c] * state[13 * body + 7 + c]
    return total


@njit(**INSIDE)
def _drive(
    amounts: Amounts, h: float, state: np.ndarray, torque: np.ndarray, j: int, room: Room
) -> None:
    """Inertia, damping and torque of a drive, and the bounds of its dry friction."""
    m, n = len(room.gap), len(room.velocity)
    own, speed = amounts.drives, speed_of(room.whole, m + j, state)
    room.speed[j] = speed
    heavy = own[j, ARMATURE] + h * own[j, VISCOUS]
    push = own[j, ARMATURE] * speed + h * (own[j, GAIN] * torque[j] - own[j, OFFSET])
    for r in range(n):
        along = room.whole[m + j, r]
        if along != 0.0:
            room.momentum[r] += push * along
            for c in range(n):
                room.mass[r, c] += heavy * along * room.whole[m + j, c]
    relative = speed / own[j, STRIBECK_VELOCITY]
    slow = np.exp(-relative * relative)
    steep = -2.0 * relative / own[j, STRIBECK_VELOCITY] * slow
    room.bound[j, 0] = h * (own[j, COULOMB] + own[j, STRIBECK] * slow)
    room.bound[j, 1] = own[j, BEARING] + own[j, STRIBECK_BEARING] * slow
    room.bound[j, 2] = h * own[j, STRIBECK] * steep
    room.bound[j, 3] = own[j, STRIBECK_BEARING] * steep
