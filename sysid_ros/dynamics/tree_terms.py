"""Joint terms in the motion of a tree, and the joints' equations, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.sample_regressor import (
    ACCELERATION,
    BACKWARD,
    FORWARD,
    ONE,
    POSITION,
    SIGN,
    SampleModel,
)


@njit(**INSIDE)
def act(
    model: SampleModel, k: int, amplitude: float, q: np.ndarray, v: np.ndarray,
    mass: np.ndarray, torque: np.ndarray,
) -> None:
    """Let a joint term act on a tree.

    Args:
        model: The model.
        k: Column of the term among those of all terms.
        amplitude: Its parameter.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        mass: Mass matrix, to which the inertia of a drive is added, shape ``(n, n)``.
        torque: Torques that accelerate, of which the others are taken off, shape ``(n,)``.
    """
    if model.signal[k] == ACCELERATION:
        _add_square(model.weights, k, amplitude, mass)
        return
    signal = _signal(model, k, q, v, v)[0]
    for j in range(len(torque)):
        torque[j] -= amplitude * signal * model.weights[k, j]


@njit(**INSIDE)
def differentiate_term(
    model: SampleModel, k: int, amplitude: float, slot: int, q: np.ndarray, v: np.ndarray,
    a: np.ndarray, by_position: np.ndarray, by_velocity: np.ndarray, by_parameters: np.ndarray,
) -> None:
    """Add the derivatives of a joint term's torque.

    Args:
        model: The model.
        k: Column of the term among those of all terms.
        amplitude: Its parameter.
        slot: Column of the parameter in ``by_parameters``, -1 for none.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        a: Joint accelerations, shape ``(n,)``.
        by_position: Is added to, shape ``(n, n)``.
        by_velocity: Likewise.
        by_parameters: Shape ``(n, k)``.
    """
    kind = model.signal[k]
    signal, slope = _signal(model, k, q, v, a)
    if kind == POSITION:
        _add_square(model.weights, k, amplitude, by_position)
    elif kind not in (ONE, ACCELERATION):
        _add_square(model.weights, k, amplitude * slope, by_velocity)
    if slot >= 0:
        for j in range(len(q)):
            by_parameters[j, slot] = model.weights[k, j] * signal


@njit(**INSIDE)
def _signal(
    model: SampleModel, k: int, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[float, float]:
    """What a term's column is made of, and its slope over what it depends on."""
    kind, along = model.signal[k], 0.0
    if kind == ONE:
        return 1.0, 0.0
    for j in range(len(q)):
        moved = q[j] if kind == POSITION else a[j] if kind == ACCELERATION else v[j]
        along += model.weights[k, j] * moved
    if kind < SIGN:
        return along, 1.0
    smoothing = model.smoothing[k]
    sign = np.tanh(along / smoothing)
    if (kind == FORWARD and along <= 0.0) or (kind == BACKWARD and along > 0.0):
        return 0.0, 0.0
    return sign, (1.0 - sign * sign) / smoothing


@njit(**INSIDE)
def _add_square(weights: np.ndarray, k: int, factor: float, table: np.ndarray) -> None:
    """Add a factor times the outer square of a term's direction."""
    for r in range(len(table)):
        if weights[k, r] != 0.0:
            for c in range(len(table)):
                table[r, c] += factor * weights[k, r] * weights[k, c]


@njit(**INSIDE)
def gather(
    coupling: np.ndarray, coupled: bool, pairs: np.ndarray, table: np.ndarray
) -> None:
    """What belongs to pairs of bodies, as seen at the joints.

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


@njit(**INSIDE)
def factorise(matrix: np.ndarray) -> bool:
    """Replace the lower half of a matrix by its Cholesky factor; False where it has none."""
    for c in range(len(matrix)):
        for r in range(c, len(matrix)):
            rest = matrix[r, c]
            for k in range(c):
                rest -= matrix[r, k] * matrix[c, k]
            if r == c:
                if not rest > 0.0:
                    return False
                matrix[c, c] = np.sqrt(rest)
            else:
                matrix[r, c] = rest / matrix[c, c]
    return True


@njit(**INSIDE)
def solve(factor: np.ndarray, right: np.ndarray) -> None:
    """Solve with a matrix that was factorised, in place."""
    joints = len(right)
    for r in range(joints):
        rest = right[r]
        for k in range(r):
            rest -= factor[r, k] * right[k]
        right[r] = rest / factor[r, r]
    for r in range(joints - 1, -1, -1):
        rest = right[r]
        for k in range(r + 1, joints):
            rest -= factor[k, r] * right[k]
        right[r] = rest / factor[r, r]


@njit(**INSIDE)
def solve_negative(factor: np.ndarray, table: np.ndarray) -> None:
    """Solve with a matrix that was factorised for the columns of a table less than zero."""
    joints, columns = table.shape
    for c in range(columns):
        for r in range(joints):
            rest = -table[r, c]
            for k in range(r):
                rest -= factor[r, k] * table[k, c]
            table[r, c] = rest / factor[r, r]
        for r in range(joints - 1, -1, -1):
            rest = table[r, c]
            for k in range(r + 1, joints):
                rest -= factor[k, r] * table[k, c]
            table[r, c] = rest / factor[r, r]
