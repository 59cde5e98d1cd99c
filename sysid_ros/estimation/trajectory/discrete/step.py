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

Laws of drives that are none of these are taken at the speed before.

Published steps have gyroscopic forces of the velocity before, and viscous friction of the next, as
above; either is off by half a step and makes errors of first order. Here they are means of both
ends, :math:`\tfrac12 (\omega \times I u + u \times I \omega)`, linear in u, and
:math:`\tfrac12 b\,\hat G (u + v)`, unless those are asked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.body_terms import angular_velocity, gyroscopic
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    ARMATURE,
    BEARING,
    COULOMB,
    GAIN,
    OFFSET,
    STRIBECK,
    STRIBECK_BEARING,
    STRIBECK_EXPONENT,
    STRIBECK_VELOCITY,
    VISCOUS,
    BodyParameters,
    MechanismArrays,
    Workspace,
)
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, Rows, evaluate_row
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, law_value
from sysid_ros.mechanics.joint_terms.law import CONSTANT
from sysid_ros.mechanics.joint_terms.stribeck import decay, decay_slope
from sysid_ros.numerics.dense import eliminate
from sysid_ros.numerics.jit import INSIDE


@njit(**INSIDE)
def prepare(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray,
    torque: np.ndarray, work: Workspace,
) -> bool:
    """Everything of a step's problem that does not depend on its modes.

    Args:
        arrays: The bodies and constraints.
        parameters: Parameter values.
        h: Length of the step in [s].
        state: Position, quaternion (x, y, z, w), velocity and angular velocity of each body in
            the world's axes, one after the other, shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        work: Is filled.

    Returns:
        False if the mass matrix is not positive definite.
    """
    bodies, m = len(work.rotations), len(work.gap)
    n = 6 * bodies
    for i in range(n):
        work.momentum[i] = 0.0
        for j in range(n):
            work.mass[i, j] = 0.0
    for body in range(bodies):
        turn(state, body, work)
        _mass_matrix_and_momentum(parameters, h, state, body, work)
        _turn_along(arrays, h, state, body, work)
    for k in range(m + len(work.speed)):
        gap = evaluate_row(arrays.rows, k, work.positions, work.rotations, work.direction)
        spread(arrays.rows, k, work)
        work.right[k] = 0.0
        if k < m:
            softness = 1.0 / (1.0 + 4.0 * arrays.damping[k] / h)
            work.gap[k] = gap
            work.stable[0, k], work.stable[2, k] = softness, 4.0 / h * softness
            work.stable[1, k] = 4.0 / (h * h) * arrays.compliance[k] * softness
            if arrays.one_sided[k] and gap > 0.0:
                work.stable[0, k], work.stable[2, k] = 0.0, 1.0 / h
            work.right[k] = (
                work.stable[0, k] * speed_of(work.whole, k, state) - work.stable[2, k] * gap)
    for j in range(len(work.speed)):
        _drive(arrays, parameters, h, state, torque, j, work)
    for e in range(len(parameters.amplitudes)):
        _drive_law(arrays, parameters, h, e, work)
    return eliminate(work.mass, n, 0.0)


@njit(**INSIDE)
def turn(state: np.ndarray, body: int, work: Workspace) -> None:
    """Position and rotation of a body."""
    for c in range(3):
        work.positions[body, c] = state[13 * body + c]
    x, y, z, w = (
        state[13 * body + 3], state[13 * body + 4], state[13 * body + 5], state[13 * body + 6])
    table = work.rotations
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
def _mass_matrix_and_momentum(
    parameters: BodyParameters, h: float, state: np.ndarray, body: int, work: Workspace
) -> None:
    """Mass matrix of a body, and its momentum plus the impulse of gravity."""
    own, first = parameters.bodies, 6 * body
    m = own[body, 0]
    rotate, world = work.rotations, work.inertia
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
    mass = work.mass
    for r in range(3):
        mass[first + r, first + r] += m
        for s in range(3):
            mass[first + 3 + r, first + 3 + s] += world[body, 1 + r, s]
    # Minus the matrix of mc × , below the diagonal its transpose.
    for r, s, value in ((0, 1, hz), (0, 2, -hy), (1, 0, -hz), (1, 2, hx), (2, 0, hy), (2, 1, -hx)):
        mass[first + r, first + 3 + s] += value
        mass[first + 3 + s, first + r] += value
    thrust = work.momentum
    start = 13 * body + 7
    for r in range(6):
        for s in range(6):
            thrust[first + r] += mass[first + r, first + s] * state[start + s]
    gx, gy, gz = parameters.gravity[0], parameters.gravity[1], parameters.gravity[2]
    thrust[first] += h * m * gx
    thrust[first + 1] += h * m * gy
    thrust[first + 2] += h * m * gz
    thrust[first + 3] += h * (hy * gz - hz * gy)
    thrust[first + 4] += h * (hz * gx - hx * gz)
    thrust[first + 5] += h * (hx * gy - hy * gx)


@njit(**INSIDE)
def _turn_along(
    arrays: MechanismArrays, h: float, state: np.ndarray, body: int, work: Workspace
) -> None:
    r"""Gyroscopic forces of a body, as they were or as a matrix of the next angular velocity."""
    first, omega = 6 * body, angular_velocity(state, body)
    if not arrays.averaged:
        force, moment = gyroscopic(work, body, omega, omega)
        for r in range(3):
            work.momentum[first + r] -= h * force[r]
            work.momentum[first + 3 + r] -= h * moment[r]
        return
    for c in range(3):
        e = (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2))
        force, moment = gyroscopic(work, body, omega, e)
        for r in range(3):
            work.mass[first + r, first + 3 + c] += h * force[r]
            work.mass[first + 3 + r, first + 3 + c] += h * moment[r]


@njit(**INSIDE)
def spread(rows: Rows, k: int, work: Workspace) -> None:
    """Direction of a row for all bodies."""
    for c in range(work.whole.shape[1]):
        work.whole[k, c] = 0.0
    i, j = rows.first[k], rows.second[k]
    for c in range(6):
        work.whole[k, 6 * i + c] = work.direction[k, c]
        if j != WORLD:
            work.whole[k, 6 * j + c] += work.direction[k, 6 + c]


@njit(**INSIDE)
def speed_of(whole: np.ndarray, k: int, state: np.ndarray) -> float:
    """Speed of a row's value."""
    total = 0.0
    for body in range(whole.shape[1] // 6):
        for c in range(6):
            total += whole[k, 6 * body + c] * state[13 * body + 7 + c]
    return total


@njit(**INSIDE)
def damping_shares(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, j: int
) -> tuple[float, float]:
    """Impulses of a drive's viscous friction by the next speed and by that before, in [N·m·s²]."""
    whole = h * parameters.drives[j, VISCOUS]
    return (0.5 * whole, 0.5 * whole) if arrays.averaged else (whole, 0.0)


@njit(**INSIDE)
def _drive(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray,
    torque: np.ndarray, j: int, work: Workspace,
) -> None:
    """Inertia, damping and torque of a drive, and the bounds of its dry friction."""
    m, n = len(work.gap), len(work.velocity)
    own, speed = parameters.drives, speed_of(work.whole, m + j, state)
    work.speed[j] = speed
    ahead, before = damping_shares(arrays, parameters, h, j)
    heavy = own[j, ARMATURE] + ahead
    thrust = (own[j, ARMATURE] - before) * speed + h * (own[j, GAIN] * torque[j] - own[j, OFFSET])
    for r in range(n):
        along = work.whole[m + j, r]
        if along != 0.0:
            work.momentum[r] += thrust * along
            for c in range(n):
                work.mass[r, c] += heavy * along * work.whole[m + j, c]
    slow = decay(speed, own[j, STRIBECK_VELOCITY], own[j, STRIBECK_EXPONENT])
    steep = decay_slope(speed, own[j, STRIBECK_VELOCITY], own[j, STRIBECK_EXPONENT])
    work.bound[j, 0] = h * (own[j, COULOMB] + own[j, STRIBECK] * slow)
    work.bound[j, 1] = own[j, BEARING] + own[j, STRIBECK_BEARING] * slow
    work.bound[j, 2] = h * own[j, STRIBECK] * steep
    work.bound[j, 3] = own[j, STRIBECK_BEARING] * steep


@njit(**INSIDE)
def _drive_law(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, e: int, work: Workspace
) -> None:
    """Impulse of a further law of a drive, at the speed before the step."""
    k = len(work.gap) + arrays.drive_laws.drive[e]
    thrust = h * parameters.amplitudes[e] * drive_law_value(arrays, e, work)
    for r in range(len(work.velocity)):
        work.momentum[r] -= thrust * work.whole[k, r]


@njit(**INSIDE)
def drive_law_value(arrays: MechanismArrays, e: int, work: Workspace) -> float:
    """Torque per unit of a further law of a drive, at the speed before the step."""
    further = arrays.drive_laws
    speed = 1.0 if further.laws.code[e, VARIABLE] == CONSTANT else work.speed[further.drive[e]]
    return law_value(further.laws, e, speed)
