r"""Compiled: forward dynamics with gears whose dry friction grows with the load they transmit.

With the load L, the rigid-body torque of a joint, other joint terms r and the drive's inertia
:math:`I_a`, the torque of the drive is

.. math:: \tau_j = L_j + f_j(v_j)\,|L_j| + r_j + I_{a,j}\,a_j = g_j L_j + r_j + I_{a,j}\,a_j,
          \qquad g_j = 1 + f_j\,\mathrm{sign}\,L_j, \qquad L = M a + b

(Hamon, Gautier and Garrec 2010). Where the signs of the loads are known, the acceleration solves
:math:`(M + \mathrm{diag}(I_a / g))\,a = (\tau - r) / g - b`, whose matrix is symmetric and positive
definite. They are those that the loads then have: since every principal minor of the map from
loads to torques is positive for :math:`|f_j| < 1`, there is one solution for all torques, and
changing one wrong sign at a time, always that of the first joint, reaches it (Murty 1974).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.mechanics.joint_terms.dispatch import (
    BY_LOAD,
    END,
    FIRST,
    TermArrays,
    law_value,
)
from sysid_ros.mechanics.tree.tree_terms import motion_variable
from sysid_ros.numerics.jit import INSIDE

#: Rows of the workspace ``gear``, each of all joints: the load L in [N·m] or [N], the sign that it
#: is taken to have, the friction f per size of the load, and the torque g per load.
LOAD, SIGN, FRICTION, GEAR = range(4)
# All wrong signs change at once so many times, which nearly always ends it; then one at a time.
_AT_ONCE = 8
#: Changes of signs after which there is no solution: parameters are beyond what gears have.
MOST_CHANGES = 200
# Part of the torques that make up a load below which its sign is rounding, and does not matter.
_ROUNDING = 1e-10


@njit(**INSIDE)
def set_gears(
    terms: TermArrays, amplitudes: np.ndarray, v: np.ndarray, gear: np.ndarray
) -> None:
    """Friction per size of the load, and torque per load with the signs that loads had.

    Args:
        terms: The t columns of joint terms.
        amplitudes: Their parameters, shape ``(t,)``.
        v: Joint velocities in [rad/s] or [m/s], shape ``(n,)``.
        gear: Is filled, shape ``(4, n)``.
    """
    for j in range(len(v)):
        gear[FRICTION, j] = 0.0
    for k in range(len(amplitudes)):
        if terms.laws.code[k, BY_LOAD] != 0:
            j = terms.laws.code[k, FIRST]
            gear[FRICTION, j] += amplitudes[k] * law_value(terms.laws, k, v[j])
    for j in range(len(v)):
        if gear[SIGN, j] == 0.0:
            gear[SIGN, j] = 1.0
        gear[GEAR, j] = 1.0 + gear[FRICTION, j] * gear[SIGN, j]


@njit(**INSIDE)
def signs_are_right(
    terms: TermArrays, amplitudes: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    torque: np.ndarray, gear: np.ndarray, change: int,
) -> bool:
    """Loads at an acceleration; whether they have the signs it was computed with, else changed.

    Args:
        terms: The t columns of joint terms.
        amplitudes: Their parameters, shape ``(t,)``.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        a: Joint accelerations, shape ``(n,)``.
        torque: Torques of the drives in [N·m] or [N], shape ``(n,)``.
        gear: Loads, signs and torques per load are written, shape ``(4, n)``.
        change: How often signs were changed.
    """
    right = True
    for j in range(len(q)):
        load, parts = torque[j], abs(torque[j])
        for k in range(len(amplitudes)):
            code = terms.laws.code[k]
            if code[BY_LOAD] == 0 and code[FIRST] <= j < code[END]:
                part = amplitudes[k] * terms.weights[k, j] * law_value(
                    terms.laws, k, motion_variable(terms, k, q, v, a))
                load, parts = load - part, parts + abs(part)
        wrong = load * gear[SIGN, j] < -_ROUNDING * parts
        if wrong and gear[FRICTION, j] != 0.0 and (right or change < _AT_ONCE):
            gear[SIGN, j] = -gear[SIGN, j]
            right = False
        gear[LOAD, j] = load / gear[GEAR, j]
    return right


@njit(**INSIDE)
def multiply_gears(gear: np.ndarray, table: np.ndarray) -> None:
    """Multiply the rows of derivatives of loads by torques per load, shape ``(n, w)``."""
    for j in range(table.shape[0]):
        for c in range(table.shape[1]):
            table[j, c] *= gear[GEAR, j]


@njit(**INSIDE)
def divide_gears(gear: np.ndarray, table: np.ndarray) -> None:
    """Divide the rows of derivatives of torques by torques per load, shape ``(n, w)``."""
    for j in range(table.shape[0]):
        for c in range(table.shape[1]):
            table[j, c] /= gear[GEAR, j]
