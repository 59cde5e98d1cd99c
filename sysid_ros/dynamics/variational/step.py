r"""One step of a variational integrator, whether it can be trusted, and its derivatives, compiled.

With the momentum p at a node, constraints h with the Jacobian H and multipliers :math:`\lambda`,
which are impulses at the node where the step begins,

.. math:: p_0 + D_1 L_d + F^- + H_0^\top \lambda = 0, \qquad h(q_1) = 0, \qquad
          p_1 = D_2 L_d + F^+.

Newton's method solves the first two for the end and the multipliers, whose matrix
:math:`[N\ H_0^\top;\ H_1\ 0]` also makes the derivatives of the step (Caldwell, Coleman and
Correll, eqs. 5-8, with the state at its beginning held for those by parameters).

Since the multipliers act at nodes, the stiffness :math:`-Q/h` that they bring, where
:math:`Q = \partial(H^\top\lambda)/\partial q`, is integrated explicitly: motions within
the constraints are stable as long as it stays below :math:`4M/h^2`, to which damping adds
:math:`2D/h` where all forces act at the beginning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics.sample_regressor import VELOCITY
from sysid_ros.dynamics.spatial_vectors import COMPILED
from sysid_ros.dynamics.tree_dynamics import TreeValues
from sysid_ros.dynamics.tree_terms import factorise
from sysid_ros.dynamics.variational.balance import (
    NEWTON,
    BalanceRoom,
    Drive,
    Quadrature,
    balance,
    balance_room,
)
from sysid_ros.dynamics.variational.closures import ClosureRoom, close, closure_room, stiffen
from sysid_ros.dynamics.variational.lagrangian import (
    LagrangianRoom,
    lagrangian_room,
    push_square,
    stand,
)
from sysid_ros.dynamics.variational.linear_solve import decompose, solve_columns
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: How a step ended.
DONE, UNSOLVED, SINGULAR, UNSTABLE, RAN_AWAY = range(5)

# Newton's method doubles its digits: after a step this small in [rad] or [m] it is at rounding.
_LAST, _MOST_STEPS = 1e-9, 20
#: Largest gap in [m] or [rad] that a step may end with.
CLOSED = 1e-10
# Positions in [rad] or [m] and speeds beyond this are on no recording: the motion has run away.
_RUNAWAY = 1e6
# Weight of the constraints, in units of the inertia, by which only motions within them count.
_WALL = 1e7


class StepRoom(NamedTuple):
    """Room for one step from a state to the next.

    Attributes:
        balance: Room for its balance.
        frames: Room for the bodies at a node.
        closures: Room for the closures there.
        p: Momenta at the beginning and the end, shape ``(2, n)``.
        speed: Velocities of the last two steps, shape ``(2, n)``.
        held: Jacobian of the constraints at the beginning, shape ``(r, n)``.
        multipliers: Impulses there, shape ``(r,)``.
        matrix: Of the equations, shape ``(n + r, n + r)``.
        order: Exchanges of its rows, shape ``(n + r,)``.
        right: Right-hand side, shape ``(n + r, 1)``.
        columns: Right-hand sides of derivatives, shape ``(n + r, w)``.
        trial: What has to be positive definite, shape ``(n, n)``.
        slopes: Derivatives of positions and momenta at the state, shape ``(2, n, w)``.
    """

    balance: BalanceRoom
    frames: LagrangianRoom
    closures: ClosureRoom
    p: np.ndarray
    speed: np.ndarray
    held: np.ndarray
    multipliers: np.ndarray
    matrix: np.ndarray
    order: np.ndarray
    right: np.ndarray
    columns: np.ndarray
    trial: np.ndarray
    slopes: np.ndarray


def step_room(system: DiscreteSystem, columns: int, width: int) -> StepRoom:
    """Room for the steps of a system.

    Args:
        system: The system.
        columns: How many parameters to differentiate by.
        width: How many derivatives there are in all; the parameters are the last.
    """
    joints, rows = system.tree.coupling.shape[1], system.rows
    both = joints + rows
    return StepRoom(
        balance_room(system, columns), lagrangian_room(system), closure_room(system),
        np.zeros((2, joints)), np.zeros((2, joints)), np.zeros((rows, joints)), np.zeros(rows),
        np.zeros((both, both)), np.zeros(both, dtype=np.int64), np.zeros((both, 1)),
        np.zeros((both, width)), np.zeros((joints, joints)), np.zeros((2, joints, width)))


@njit(**COMPILED)
def close_at(system: DiscreteSystem, room: StepRoom, end: int) -> None:
    """Gaps and their Jacobian at the beginning (0) or the end (1) of the step."""
    stand(system, room.frames, room.balance.q[end])
    close(system, room.frames, room.closures)


@njit(**COMPILED)
def fill_matrix(room: StepRoom) -> None:
    """The matrix of Newton's method, the constraints being at the end of the step."""
    joints, matrix = room.balance.newton.shape[0], room.matrix
    for i in range(joints):
        for j in range(joints):
            matrix[i, j] = room.balance.newton[i, j]
    for k in range(len(room.multipliers)):
        for j in range(joints):
            matrix[j, joints + k] = room.held[k, j]
            matrix[joints + k, j] = room.closures.jacobian[k, j]
        for m in range(len(room.multipliers)):
            matrix[joints + k, joints + m] = 0.0


@njit(**COMPILED)
def _improve(system: DiscreteSystem, room: StepRoom) -> float:
    """One step of Newton's method; its size, negative where the matrix is singular."""
    joints, right = room.balance.newton.shape[0], room.right
    close_at(system, room, 1)
    fill_matrix(room)
    for j in range(joints):
        right[j, 0] = -room.p[0, j] - room.balance.momentum[0, j]
        for k in range(len(room.multipliers)):
            right[j, 0] -= room.held[k, j] * room.multipliers[k]
    for k in range(len(room.multipliers)):
        right[joints + k, 0] = -room.closures.gap[k]
    if not decompose(room.matrix, room.order):
        return -1.0
    solve_columns(room.matrix, room.order, right)
    size = 0.0
    for j in range(joints):
        room.balance.q[1, j] += right[j, 0]
        if not abs(right[j, 0]) < _RUNAWAY:
            return np.inf
        size = max(size, abs(right[j, 0]))
    for k in range(len(room.multipliers)):
        room.multipliers[k] += right[joints + k, 0]
    return size


@njit(**COMPILED)
def advance(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, room: StepRoom,
    node: int, begin: float, part: float, h: float, level: int,
) -> int:
    """Find the end of a step; how that ended.

    Args:
        system: What moves.
        values: Its parameter values.
        drive: What drives it.
        rule: The quadrature.
        room: With the state at the beginning, and the constraints' Jacobian there; the state at
            the end is filled in.
        node: As for :func:`~sysid_ros.dynamics.variational.balance.balance`, like the rest.
        begin: As there.
        part: As there.
        h: As there.
        level: ``ALL`` where derivatives will be asked for, else ``VALUES``.
    """
    inner, joints = room.balance, len(room.balance.v)
    for j in range(joints):
        guess = 2.0 * room.speed[0, j] - room.speed[1, j]
        inner.q[1, j] = inner.q[0, j] + h * guess
    size = np.inf
    for _ in range(_MOST_STEPS):
        balance(system, values, drive, rule, inner, node, begin, part, h, NEWTON)
        size = _improve(system, room)
        if size < 0.0:
            return SINGULAR
        if not size < _RUNAWAY:
            return UNSOLVED
        if size < _LAST:
            break
    if not size < _LAST:
        return UNSOLVED
    balance(system, values, drive, rule, inner, node, begin, part, h, level)
    for j in range(joints):
        room.p[1, j] = inner.momentum[1, j]
        if not (abs(inner.q[1, j]) < _RUNAWAY and abs(inner.v[j]) < _RUNAWAY):
            return RAN_AWAY
    if system.rows:
        stand(system, room.frames, inner.q[0])
        stiffen(system, room.frames, room.closures, room.multipliers)
    close_at(system, room, 1)
    for k in range(system.rows):
        if not abs(room.closures.gap[k]) <= CLOSED:
            return UNSOLVED
    return DONE


@njit(**COMPILED)
def sound(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, room: StepRoom,
    node: int, h: float, span: float, margin: float,
) -> bool:
    """Whether the geometric stiffness at the beginning of a step leaves it stable.

    Args:
        system: What moves.
        values: Its parameter values.
        drive: What drives it.
        rule: The quadrature.
        room: After :func:`advance`.
        node: Number of the interval.
        h: Duration of the step in [s].
        span: Time over which the multipliers at its beginning act in [s].
        margin: Part of what would still be stable that is allowed.
    """
    mass, trial, joints = room.balance.tree.tables[0], room.trial, len(room.trial)
    bound, largest, wall = 4.0 * margin / (h * h), 0.0, 0.0
    for i in range(joints):
        for j in range(joints):
            trial[i, j] = bound * mass[i, j] + room.closures.stiffness[i, j] / span
        largest = max(largest, bound * mass[i, i])
        square = 0.0
        for k in range(system.rows):
            square += room.held[k, i] * room.held[k, i]
        wall = max(wall, square)
    # Forces that act at the beginning alone: half of damping adds to inertia.
    if rule.before[0] == 1.0 and rule.after[0] == 0.0:
        _add_damping(system, values, drive, room, node, 2.0 * margin / h)
    weight = _WALL * largest / wall
    for k in range(system.rows):
        for i in range(joints):
            pull = weight * room.held[k, i]
            if pull != 0.0:
                for j in range(joints):
                    trial[i, j] += pull * room.held[k, j]
    return factorise(trial)


@njit(**COMPILED)
def _add_damping(
    system: DiscreteSystem, values: TreeValues, drive: Drive, room: StepRoom, node: int,
    factor: float,
) -> None:
    for k in range(len(system.tree.signal)):
        if system.tree.signal[k] == VELOCITY:
            push_square(system, k, factor * values.amplitudes[k], room.trial)
    gains = min(node, len(drive.damping) - 1)
    for r in range(len(drive.joints)):
        for c in range(len(drive.joints)):
            room.trial[drive.joints[r], drive.joints[c]] += factor * drive.damping[gains, r, c]


@njit(**COMPILED)
def prepare(system: DiscreteSystem, room: StepRoom) -> bool:
    """Decompose the matrix of the derivatives after :func:`advance`; whether it is regular."""
    inner = room.balance
    if system.rows:
        for i in range(len(inner.v)):
            for j in range(len(inner.v)):
                inner.first_by_start[i, j] += room.closures.stiffness[i, j]
    fill_matrix(room)
    return decompose(room.matrix, room.order)


@njit(**COMPILED)
def carry(room: StepRoom) -> None:
    """Carry the derivatives of the state over a step, after :func:`prepare`."""
    inner, slopes, columns = room.balance, room.slopes, room.columns
    joints, width = slopes.shape[1], slopes.shape[2]
    first = width - inner.by_parameters.shape[2]
    columns[:] = 0.0
    for i in range(joints):
        for j in range(joints):
            factor = inner.first_by_start[i, j]
            for c in range(width):
                columns[i, c] -= factor * slopes[0, j, c]
        for c in range(width):
            columns[i, c] -= slopes[1, i, c]
        for c in range(first, width):
            columns[i, c] -= inner.by_parameters[0, i, c - first]
    solve_columns(room.matrix, room.order, columns)
    for i in range(joints):
        for c in range(width):
            slopes[1, i, c] = 0.0
        for c in range(first, width):
            slopes[1, i, c] = inner.by_parameters[1, i, c - first]
        for j in range(joints):
            by_end, by_start = inner.second_by_end[i, j], inner.second_by_start[i, j]
            for c in range(width):
                slopes[1, i, c] += by_end * columns[j, c] + by_start * slopes[0, j, c]
    for i in range(joints):
        for c in range(width):
            slopes[0, i, c] = columns[i, c]
