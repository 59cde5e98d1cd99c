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
    VALUES,
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
from sysid_ros.dynamics.variational.linear_solve import decompose, solve
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: How a step ended; the last is taken again with a matrix of its own.
DONE, UNSOLVED, SINGULAR, UNSTABLE, RAN_AWAY, RETRY = range(6)

# An error that is left in [rad] or [m], a step that is rounding, and one below which steps that
# do not shrink any more are.
_EXACT, _ROUNDING, _LAST = 1e-13, 1e-13, 1e-10
# A matrix that leaves more than this part of the error is made anew.
_SLOW, _MOST_STEPS = 0.05, 30
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
        made_for: Duration of the step in [s] whose matrix is decomposed, zero for none, ``(1,)``.
        right: Right-hand side, shape ``(1, n + r)``.
        columns: Right-hand sides of derivatives, shape ``(w, n + r)``.
        trial: What has to be positive definite, shape ``(n, n)``.
        slopes: Derivatives of positions and momenta at the state, shape ``(2, w, n)``.
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
    made_for: np.ndarray
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
        np.zeros((both, both)), np.zeros(both, dtype=np.int64), np.zeros(1),
        np.zeros((1, both)), np.zeros((width, both)), np.zeros((joints, joints)),
        np.zeros((2, width, joints)))


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


@njit(inline='always', **COMPILED)
def _improve(system: DiscreteSystem, room: StepRoom, h: float) -> float:
    """One step towards the solution; its size, negative where the matrix is singular."""
    joints, right = room.balance.newton.shape[0], room.right
    close_at(system, room, 1)
    if room.made_for[0] != h:
        fill_matrix(room)
        if not decompose(room.matrix, room.order):
            return -1.0
        room.made_for[0] = h
    for j in range(joints):
        right[0, j] = -room.p[0, j] - room.balance.momentum[0, j]
    for k in range(len(room.multipliers)):
        for j in range(joints):
            right[0, j] -= room.held[k, j] * room.multipliers[k]
        right[0, joints + k] = -room.closures.gap[k]
    solve(room.matrix, room.order, right)
    size = 0.0
    for j in range(joints):
        room.balance.q[1, j] += right[0, j]
        if not abs(right[0, j]) < _RUNAWAY:
            return np.inf
        size = max(size, abs(right[0, j]))
    for k in range(len(room.multipliers)):
        room.multipliers[k] += right[0, joints + k]
    return size


@njit(inline='always', **COMPILED)
def _solve_step(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, room: StepRoom,
    node: int, begin: float, part: float, h: float,
) -> int:
    """Find the end of a step and its multipliers, from a guess; how that ended.

    The matrix of an earlier step is used as long as it brings the error down fast.
    """
    before, chord = 0.0, room.made_for[0] == h
    for k in range(_MOST_STEPS):
        level = VALUES if room.made_for[0] == h else NEWTON
        balance(system, values, drive, rule, room.balance, node, begin, part, h, level)
        size = _improve(system, room, h)
        if size < 0.0:
            return SINGULAR
        if not size < _RUNAWAY:
            if not chord:
                return UNSOLVED
            return RETRY
        rate = min(size / before, 1.0) if k else 1.0
        if size * rate < _EXACT or size < _ROUNDING or (size < _LAST and rate > 0.3):
            return DONE
        if k and rate > _SLOW:
            room.made_for[0] = 0.0
        before = size
    return UNSOLVED


@njit(inline='always', **COMPILED)
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
    ended = RETRY
    for _ in range(2):
        for j in range(joints):
            guess = 2.0 * room.speed[0, j] - room.speed[1, j]
            inner.q[1, j] = inner.q[0, j] + h * guess
        ended = _solve_step(system, values, drive, rule, room, node, begin, part, h)
        if ended != RETRY:
            break
        room.made_for[0] = 0.0
    if ended != DONE:
        room.made_for[0] = 0.0
        return ended
    # The mass matrix is needed to see whether the step is stable.
    if system.rows and level < NEWTON:
        level = NEWTON
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


@njit(inline='always', **COMPILED)
def prepare(system: DiscreteSystem, room: StepRoom, h: float) -> bool:
    """Decompose the matrix of the derivatives of a step; whether it is regular."""
    inner = room.balance
    if system.rows:
        for i in range(len(inner.v)):
            for j in range(len(inner.v)):
                inner.first_by_start[i, j] += room.closures.stiffness[i, j]
    fill_matrix(room)
    regular = decompose(room.matrix, room.order)
    room.made_for[0] = h if regular else 0.0
    return regular


@njit(**COMPILED)
def carry(room: StepRoom) -> None:
    """Carry the derivatives of the state over a step, after :func:`prepare`."""
    inner, slopes, columns = room.balance, room.slopes, room.columns
    width, joints = slopes.shape[1], slopes.shape[2]
    first = width - inner.by_parameters.shape[1]
    for c in range(width):
        for i in range(joints):
            total = slopes[1, c, i]
            for j in range(joints):
                total += inner.first_by_start[i, j] * slopes[0, c, j]
            columns[c, i] = -total
        for k in range(joints, columns.shape[1]):
            columns[c, k] = 0.0
    for c in range(first, width):
        for i in range(joints):
            columns[c, i] -= inner.by_parameters[0, c - first, i]
    solve(room.matrix, room.order, columns)
    for c in range(width):
        for i in range(joints):
            total = 0.0
            for j in range(joints):
                total += (
                    inner.second_by_end[i, j] * columns[c, j]
                    + inner.second_by_start[i, j] * slopes[0, c, j])
            slopes[1, c, i] = total
        for i in range(joints):
            slopes[0, c, i] = columns[c, i]
    for c in range(first, width):
        for i in range(joints):
            slopes[1, c, i] += inner.by_parameters[1, c - first, i]
