"""Joint terms in the motion of a tree, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.mechanics.joint_terms.dispatch import (
    BY_LOAD,
    END,
    FIRST,
    VARIABLE,
    TermArrays,
    law_slope,
    law_value,
)
from sysid_ros.mechanics.joint_terms.law import ACCELERATION, CONSTANT, POSITION, VELOCITY
from sysid_ros.numerics.jit import INSIDE


@njit(**INSIDE)
def add_joint_terms(
    terms: TermArrays, amplitudes: np.ndarray, q: np.ndarray, v: np.ndarray, mass: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Add drive inertias to the mass matrix M, and subtract other joint terms from tau - bias.

    Friction that grows with the load is not among them.

    Args:
        terms: Their t columns.
        amplitudes: Their parameters, shape ``(t,)``.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        mass: Mass matrix, to which the inertia of drives is added, shape ``(n, n)``.
        torque: Torques that accelerate, of which the others are taken off, shape ``(n,)``.
    """
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == ACCELERATION:
            add_outer_product(terms, k, amplitudes[k], mass)
        elif terms.laws.code[k, BY_LOAD] == 0:
            value = law_value(terms.laws, k, motion_variable(terms, k, q, v, v))
            add_direction(terms, k, -amplitudes[k] * value, torque)


@njit(**INSIDE)
def differentiate_joint_terms(
    terms: TermArrays, amplitudes: np.ndarray, slots: np.ndarray, q: np.ndarray, v: np.ndarray,
    a: np.ndarray, load: np.ndarray, by_position: np.ndarray, by_velocity: np.ndarray,
    by_parameters: np.ndarray,
) -> None:
    """Add the derivatives of the torques of joint terms, where they stand at loads.

    Args:
        terms: Their t columns.
        amplitudes: Their parameters, shape ``(t,)``.
        slots: Columns in ``by_parameters`` of all parameters, those of joint terms last, -1 for
            none, shape ``(p,)``.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        a: Joint accelerations, shape ``(n,)``.
        load: Loads of joints whose friction grows with them in [N·m] or [N], shape ``(n,)``.
        by_position: Is added to, shape ``(n, n)``.
        by_velocity: Is added to, shape ``(n, n)``.
        by_parameters: Is added to, shape ``(n, k)``.
    """
    first = len(slots) - len(amplitudes)
    for k in range(len(amplitudes)):
        variable, x = terms.laws.code[k, VARIABLE], motion_variable(terms, k, q, v, a)
        value, size = law_value(terms.laws, k, x), 1.0
        if terms.laws.code[k, BY_LOAD] != 0:
            size = abs(load[terms.laws.code[k, FIRST]])
        if variable == POSITION:
            slope = amplitudes[k] * law_slope(terms.laws, k, x, value)
            add_outer_product(terms, k, slope, by_position)
        elif variable == VELOCITY:
            slope = amplitudes[k] * law_slope(terms.laws, k, x, value)
            add_outer_product(terms, k, size * slope, by_velocity)
        slot = slots[first + k]
        if slot >= 0:
            for j in range(len(q)):
                by_parameters[j, slot] = terms.weights[k, j] * size * value


@njit(**INSIDE)
def motion_variable(
    terms: TermArrays, k: int, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> float:
    """Motion variable of a column: position, velocity or acceleration along its direction."""
    variable = terms.laws.code[k, VARIABLE]
    if variable == CONSTANT:
        return 1.0
    # An array that is chosen takes longer than what is done with it.
    if variable == POSITION:
        return along(terms, k, q)
    return along(terms, k, v) if variable == VELOCITY else along(terms, k, a)


@njit(**INSIDE)
def along(terms: TermArrays, k: int, x: np.ndarray) -> float:
    """Part of positions, velocities or accelerations ``(n,)`` along a column's direction."""
    total = 0.0
    for j in range(terms.laws.code[k, FIRST], terms.laws.code[k, END]):
        total += terms.weights[k, j] * x[j]
    return total


@njit(**INSIDE)
def add_direction(terms: TermArrays, k: int, factor: float, out: np.ndarray) -> None:
    """Add a factor times a column's direction to a vector, shape ``(n,)``."""
    for j in range(terms.laws.code[k, FIRST], terms.laws.code[k, END]):
        out[j] += factor * terms.weights[k, j]


@njit(**INSIDE)
def add_outer_product(terms: TermArrays, k: int, factor: float, table: np.ndarray) -> None:
    """Add a factor times the outer square of a column's direction, shape ``(n, n)``."""
    first, end = terms.laws.code[k, FIRST], terms.laws.code[k, END]
    for r in range(first, end):
        for c in range(first, end):
            table[r, c] += factor * terms.weights[k, r] * terms.weights[k, c]


@njit(**INSIDE)
def project_to_joints(
    coupling: np.ndarray, coupled: bool, pairs: np.ndarray, table: np.ndarray
) -> None:
    r"""Projection :math:`G^\top P G` of a table of pairs of bodies to the joints.

    Args:
        coupling: Shape ``(b, n)``.
        coupled: False where it is the identity.
        pairs: Shape ``(b, b)``, zero for bodies of which neither carries the other.
        table: Is filled, shape ``(n, n)``.
    """
    bodies, joints = coupling.shape
    if not coupled:
        for r in range(joints):
            for c in range(joints):
                table[r, c] = pairs[r, c]
        return
    table[:] = 0.0
    for i in range(bodies):
        for j in range(bodies):
            if pairs[i, j] != 0.0:
                for r in range(joints):
                    for c in range(joints):
                        table[r, c] += coupling[i, r] * pairs[i, j] * coupling[j, c]
