"""Compiled: derivatives of a step's equations by parameters."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import mechanism_arrays as column_of
from sysid_ros.estimation.trajectory.discrete.body_terms import (
    angular_velocity,
    axis_of,
    change,
    dyad,
    first_moments,
)
from sysid_ros.estimation.trajectory.discrete.contact_modes import pressure, speed_along
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    BodyParameters,
    FreeParameterMap,
    MechanismArrays,
    Workspace,
)
from sysid_ros.estimation.trajectory.discrete.step import drive_law_value
from sysid_ros.mechanics.joint_terms.stribeck import (
    decay,
    decay_by_exponent,
    decay_by_velocity,
)
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import cross, plus


@njit(**INSIDE)
def by_parameters(
    arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
    state: np.ndarray, torque: np.ndarray, u: np.ndarray, work: Workspace, table: np.ndarray,
) -> None:
    """Minus the derivatives of F by the parameters that are sought.

    Arguments as for :func:`~sysid_ros.estimation.trajectory.discrete.slopes.differentiate`.
    """
    bodies = len(work.positions)
    for z in range(len(free_map.source)):
        source, factor = free_map.source[z], free_map.factor[z]
        column = 12 * bodies + free_map.column[z]
        if source < 10 * bodies:
            _by_moment(
                arrays, parameters, h, state, source // 10, source % 10, factor, u, work, table,
                column)
            continue
        source -= 10 * bodies
        if source < parameters.drives.size:
            j, width = source // parameters.drives.shape[1], parameters.drives.shape[1]
            turned_momentum = factor * _drive_slope(
                arrays, parameters, h, torque, j, source - width * j, u, work)
            for r in range(len(u)):
                table[r, column] -= turned_momentum * work.whole[len(work.gap) + j, r]
            continue
        source -= parameters.drives.size
        if source < len(parameters.amplitudes):
            thrust = factor * h * drive_law_value(arrays, source, work)
            for r in range(len(u)):
                table[r, column] -= thrust * work.whole[
                    len(work.gap) + arrays.drive_laws.drive[source], r]
            continue
        c = source - len(parameters.amplitudes)
        g = (parameters.gravity_slope[0, c], parameters.gravity_slope[1, c],
             parameters.gravity_slope[2, c])
        for body in range(bodies):
            m = parameters.bodies[body, 0]
            turn = cross(first_moments(work, body), g)
            for r in range(3):
                table[6 * body + r, column] += factor * h * m * g[r]
                table[6 * body + 3 + r, column] += factor * h * turn[r]


@njit(**INSIDE)
def _by_moment(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray, body: int,
    which: int, factor: float, u: np.ndarray, work: Workspace, table: np.ndarray, column: int,
) -> None:
    """By the mass of a body, one of its first moments, or one of its second moments."""
    own, omega = 6 * body, angular_velocity(state, body)
    g = (parameters.gravity[0], parameters.gravity[1], parameters.gravity[2])
    lifted = plus(change(u, state, own, 0), g, -h)
    angular, ahead = change(u, state, own, 3), omega
    if arrays.averaged:
        ahead = (u[own + 3], u[own + 4], u[own + 5])
    linear, turn = lifted, (0.0, 0.0, 0.0)
    if 1 <= which <= 3:
        e = axis_of(work.rotations, body, which - 1)
        gyroscopic = plus(cross(omega, cross(ahead, e)), cross(ahead, cross(omega, e)), 1.0)
        linear, turn = plus(cross(angular, e), gyroscopic, 0.5 * h), cross(e, lifted)
    elif which > 3:
        linear = turn
        # Second moments xx, xy, yy, xz, yz, zz of two axes of the body.
        first = 0 if which in (4, 5, 7) else 1 if which in (6, 8) else 2
        second = 0 if which == 4 else 1 if which in (5, 6) else 2
        a, b = axis_of(work.rotations, body, first), axis_of(work.rotations, body, second)
        gyroscopic = plus(cross(omega, dyad(a, b, ahead)), cross(ahead, dyad(a, b, omega)), 1.0)
        turn = plus(dyad(a, b, angular), gyroscopic, 0.5 * h)
    for r in range(3):
        table[own + r, column] -= factor * linear[r]
        table[own + 3 + r, column] -= factor * turn[r]


@njit(**INSIDE)
def _drive_slope(
    arrays: MechanismArrays, parameters: BodyParameters, h: float, torque: np.ndarray, j: int,
    which: int, u: np.ndarray, work: Workspace,
) -> float:
    """Derivative of what a drive takes off the bodies by one of its parameters."""
    own, before = parameters.drives, work.speed[j]
    ahead, slope = speed_along(work, len(work.gap) + j, u), 0.0
    if which == column_of.VISCOUS:
        slope = 0.5 * h * (ahead + before) if arrays.averaged else h * ahead
    elif which == column_of.ARMATURE:
        slope = ahead - before
    elif which == column_of.GAIN:
        slope = -h * torque[j]
    elif which == column_of.OFFSET:
        slope = h
    elif arrays.dry[j]:
        velocity = own[j, column_of.STRIBECK_VELOCITY]
        exponent = own[j, column_of.STRIBECK_EXPONENT]
        slow = decay(before, velocity, exponent)
        pressed = pressure(arrays, work, j)
        if which == column_of.COULOMB:
            slope = h
        elif which == column_of.STRIBECK:
            slope = h * slow
        elif which == column_of.BEARING:
            slope = pressed
        elif which == column_of.STRIBECK_BEARING:
            slope = slow * pressed
        else:
            slope = decay_by_exponent(before, velocity, exponent)
            if which == column_of.STRIBECK_VELOCITY:
                slope = decay_by_velocity(before, velocity, exponent)
            slope *= h * own[j, column_of.STRIBECK] + own[j, column_of.STRIBECK_BEARING] * pressed
        slope *= work.slip[j]
    return slope
