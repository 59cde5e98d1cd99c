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

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.integrators.variational.closures import (
    ConstraintWorkspace,
    constraint_workspace,
    fill_closures,
    fill_geometric_stiffness,
)
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import (
    NEWTON,
    VALUES,
    Drive,
    EulerLagrangeWorkspace,
    Quadrature,
    discrete_euler_lagrange,
    euler_lagrange_workspace,
)
from sysid_ros.mechanics.integrators.variational.lagrangian import (
    Frames,
    forward_kinematics,
    frames_of,
)
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms.dispatch import NUMBER, PROPORTIONAL, VARIABLE, TermArrays
from sysid_ros.mechanics.joint_terms.law import VELOCITY
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.mechanics.tree.tree_terms import add_outer_product
from sysid_ros.numerics.dense import PIVOT_TOLERANCE, cholesky, lu, solve_lu_rows
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.tables import clear

#: How a step ended; the last is taken again with a matrix of its own.
DONE, UNSOLVED, SINGULAR, UNSTABLE, RAN_AWAY, RETRY = range(6)

# An error that is left in [rad] or [m], a step that is rounding, and one below which steps that
# do not shrink any more are.
_EXACT, _STEP_TOLERANCE, _LAST = 1e-13, 1e-13, 1e-10
# A matrix that leaves more than this part of the error is made anew.
_SLOW, _MOST_STEPS = 0.05, 30
#: Largest gap in [m] or [rad] that a step may end with.
CLOSED = 1e-10
# Positions in [rad] or [m] and speeds beyond this are on no recording: the motion has run away.
_RUNAWAY = 1e6
# Weight of the constraints, in units of the inertia, by which only motions within them count.
_WALL = 1e7


class StepWorkspace(NamedTuple):
    """Workspace for one step from a state to the next.

    Attributes:
        lagrangian: Workspace for its discrete Euler-Lagrange equations.
        frames: Workspace for the bodies at a node.
        closures: Workspace for the closures there.
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
        state: All that a step begins with in one piece: the same memory as ``lagrangian.q``, ``p``,
            ``speed``, ``held``, ``multipliers`` and ``slopes``.
    """

    lagrangian: EulerLagrangeWorkspace
    frames: Frames
    closures: ConstraintWorkspace
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
    state: np.ndarray


def step_workspace(system: DiscreteSystem, columns: int, width: int) -> StepWorkspace:
    """Workspace for the steps of a system.

    Args:
        system: The system.
        columns: How many parameters to differentiate by.
        width: How many derivatives there are in all; the parameters are the last.
    """
    joints, rows = system.tree.coupling.shape[1], system.rows
    both = joints + rows
    shapes = ((2, joints), (2, joints), (2, joints), (rows, joints), (rows,), (2, width, joints))
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    state = np.zeros(ends[-1])
    q, p, speed, held, multipliers, slopes = (
        part.reshape(shape) for part, shape in zip(np.split(state, ends[:-1]), shapes, strict=True))
    return StepWorkspace(
        euler_lagrange_workspace(system, columns)._replace(q=q), frames_of(system),
        constraint_workspace(system), p, speed, held, multipliers, np.zeros((both, both)),
        np.zeros(both, dtype=np.int64), np.zeros(1), np.zeros((1, both)), np.zeros((width, both)),
        np.zeros((joints, joints)), slopes, state)


@njit(**INSIDE)
def evaluate_closures(
    system: DiscreteSystem, frames: Frames, closures: ConstraintWorkspace, q: np.ndarray
) -> None:
    """Place the bodies at positions ``(n,)``, and find gaps and their Jacobian there."""
    forward_kinematics(system, frames, q)
    fill_closures(system, frames, closures)


@njit(**INSIDE)
def fill_newton_matrix(
    newton: np.ndarray, before: np.ndarray, after: np.ndarray, matrix: np.ndarray
) -> None:
    """The matrix of Newton's method, from Jacobians at the beginning and the end of the step."""
    joints, rows = len(newton), len(before)
    for i in range(joints):
        for j in range(joints):
            matrix[i, j] = newton[i, j]
    for k in range(rows):
        for j in range(joints):
            matrix[j, joints + k] = before[k, j]
            matrix[joints + k, j] = after[k, j]
        for m in range(rows):
            matrix[joints + k, joints + m] = 0.0


@njit(**INSIDE)
def _newton_step(system: DiscreteSystem, work: StepWorkspace, h: float) -> float:
    """One step towards the solution; its size, negative where the matrix is singular."""
    q, p, momentum, newton = (
        work.lagrangian.q, work.p, work.lagrangian.momentum, work.lagrangian.newton)
    matrix, order, right, made_for = work.matrix, work.order, work.right, work.made_for
    held, multipliers, jacobian = work.held, work.multipliers, work.closures.jacobian
    gap, joints = work.closures.gap, len(newton)
    evaluate_closures(system, work.frames, work.closures, q[1])
    if made_for[0] != h:
        fill_newton_matrix(newton, held, jacobian, matrix)
        if not lu(matrix, order, PIVOT_TOLERANCE):
            return -1.0
        made_for[0] = h
    for j in range(joints):
        right[0, j] = -p[0, j] - momentum[0, j]
    for k in range(len(multipliers)):
        for j in range(joints):
            right[0, j] -= held[k, j] * multipliers[k]
        right[0, joints + k] = -gap[k]
    solve_lu_rows(matrix, order, right)
    size = 0.0
    for j in range(joints):
        q[1, j] += right[0, j]
        if not abs(right[0, j]) < _RUNAWAY:
            return np.inf
        size = max(size, abs(right[0, j]))
    for k in range(len(multipliers)):
        multipliers[k] += right[0, joints + k]
    return size


@njit(**INSIDE)
def _solve_step(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, work: StepWorkspace,
    node: int, begin: float, part: float, h: float,
) -> int:
    """Find the end of a step and its multipliers, from a guess; how that ended.

    The matrix of an earlier step is used as long as it brings the error down fast.
    """
    made_for, inner, before = work.made_for, work.lagrangian, 0.0
    chord = made_for[0] == h
    for k in range(_MOST_STEPS):
        level = VALUES if made_for[0] == h else NEWTON
        discrete_euler_lagrange(system, values, drive, rule, inner, node, begin, part, h, level)
        size = _newton_step(system, work, h)
        if size < 0.0:
            return SINGULAR
        if not size < _RUNAWAY:
            if not chord:
                return UNSOLVED
            return RETRY
        rate = min(size / before, 1.0) if k else 1.0
        if size * rate < _EXACT or size < _STEP_TOLERANCE or (size < _LAST and rate > 0.3):
            return DONE
        if k and rate > _SLOW:
            made_for[0] = 0.0
        before = size
    return UNSOLVED


@njit(**INSIDE)
def advance(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, work: StepWorkspace,
    node: int, begin: float, part: float, h: float, level: int,
) -> int:
    """Find the end of a step; how that ended.

    Args:
        system: What moves.
        values: Its parameter values.
        drive: What drives it.
        rule: The quadrature.
        work: With the state at the beginning, and the constraints' Jacobian there; the state at
            the end is filled in.
        node: See :func:`~.discrete_lagrangian.discrete_euler_lagrange`.
        begin: See :func:`~.discrete_lagrangian.discrete_euler_lagrange`.
        part: See :func:`~.discrete_lagrangian.discrete_euler_lagrange`.
        h: See :func:`~.discrete_lagrangian.discrete_euler_lagrange`.
        level: ``ALL`` where derivatives will be asked for, else ``VALUES``.
    """
    inner, frames, closures, made_for = work.lagrangian, work.frames, work.closures, work.made_for
    q, v, p, speed, momentum = inner.q, inner.v, work.p, work.speed, inner.momentum
    gap, multipliers, joints, ended = closures.gap, work.multipliers, len(inner.v), RETRY
    for _ in range(2):
        for j in range(joints):
            q[1, j] = q[0, j] + h * (2.0 * speed[0, j] - speed[1, j])
        ended = _solve_step(system, values, drive, rule, work, node, begin, part, h)
        if ended != RETRY:
            break
        made_for[0] = 0.0
    if ended != DONE:
        made_for[0] = 0.0
        return ended
    # The mass matrix is needed to see whether the step is stable.
    if len(gap) and level < NEWTON:
        level = NEWTON
    discrete_euler_lagrange(system, values, drive, rule, inner, node, begin, part, h, level)
    for j in range(joints):
        p[1, j] = momentum[1, j]
        if not (abs(q[1, j]) < _RUNAWAY and abs(v[j]) < _RUNAWAY):
            return RAN_AWAY
    if len(gap):
        forward_kinematics(system, frames, q[0])
        fill_geometric_stiffness(system, frames, closures, multipliers)
    evaluate_closures(system, frames, closures, q[1])
    for k in range(len(gap)):
        if not abs(gap[k]) <= CLOSED:
            return UNSOLVED
    return DONE


@njit(**INSIDE)
def is_stable(
    mass: np.ndarray, stiffness: np.ndarray, held: np.ndarray, trial: np.ndarray, h: float,
    span: float, margin: float,
) -> bool:
    """Whether the geometric stiffness at the beginning of a step leaves it stable.

    Args:
        mass: Mass matrix, shape ``(n, n)``.
        stiffness: Derivative of the constraints' impulses by positions, shape ``(n, n)``.
        held: Jacobian of the constraints, shape ``(r, n)``.
        trial: What damping adds to the inertia, shape ``(n, n)``; is overwritten.
        h: Duration of the step in [s].
        span: Time over which the multipliers at its beginning act in [s].
        margin: Part of what would still be stable that is allowed.
    """
    joints, bound, largest, wall = len(mass), 4.0 * margin / (h * h), 0.0, 0.0
    for i in range(joints):
        for j in range(joints):
            trial[i, j] = margin * trial[i, j] + bound * mass[i, j] + stiffness[i, j] / span
        largest = max(largest, bound * mass[i, i])
        square = 0.0
        for k in range(len(held)):
            square += held[k, i] * held[k, i]
        wall = max(wall, square)
    weight = _WALL * largest / wall
    for k in range(len(held)):
        for i in range(joints):
            pull = weight * held[k, i]
            if pull != 0.0:
                for j in range(joints):
                    trial[i, j] += pull * held[k, j]
    return cholesky(trial)


@njit(**INSIDE)
def damping_inertia(
    terms: TermArrays, amplitudes: np.ndarray, drive: Drive, rule: Quadrature, node: int,
    h: float, trial: np.ndarray,
) -> None:
    """What damping adds to the inertia of a step that has to be stable.

    Args:
        terms: Joint terms.
        amplitudes: Of their columns, shape ``(t,)``.
        drive: What drives the motion.
        rule: The quadrature.
        node: Number of the interval.
        h: Duration of the step in [s].
        trial: Is filled, shape ``(n, n)``; zero unless all forces act at the beginning.
    """
    clear(trial)
    if rule.before[0] != 1.0 or rule.after[0] != 0.0:
        return
    factor, held, damping = 2.0 / h, drive.joints, drive.damping
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == VELOCITY and terms.laws.code[k, NUMBER] == PROPORTIONAL:
            add_outer_product(terms, k, factor * amplitudes[k], trial)
    gains = min(node, len(damping) - 1)
    for r in range(len(held)):
        for c in range(len(held)):
            trial[held[r], held[c]] += factor * damping[gains, r, c]


@njit(**INSIDE)
def factorise_step(work: StepWorkspace, h: float) -> bool:
    """Decompose the matrix of the derivatives of a step; whether it is regular."""
    first, stiffness, made_for = (
        work.lagrangian.first_by_start, work.closures.stiffness, work.made_for)
    if len(work.held):
        for i in range(len(first)):
            for j in range(len(first)):
                first[i, j] += stiffness[i, j]
    fill_newton_matrix(work.lagrangian.newton, work.held, work.closures.jacobian, work.matrix)
    regular = lu(work.matrix, work.order, PIVOT_TOLERANCE)
    made_for[0] = h if regular else 0.0
    return regular


@njit(**INSIDE)
def propagate_derivatives(
    inner: EulerLagrangeWorkspace, matrix: np.ndarray, order: np.ndarray, columns: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Propagate forward sensitivities of the state over a step, after :func:`factorise_step`.

    Args:
        inner: Workspace for its discrete Euler-Lagrange equations.
        matrix: Of the equations, decomposed, shape ``(n + r, n + r)``.
        order: Exchanges of its rows, shape ``(n + r,)``.
        columns: Workspace for right-hand sides, shape ``(w, n + r)``.
        slopes: Derivatives of positions and momenta, shape ``(2, w, n)``.
    """
    first, second, mixed = inner.first_by_start, inner.second_by_end, inner.second_by_start
    parameters, width, joints = inner.by_parameters, slopes.shape[1], slopes.shape[2]
    begin = width - parameters.shape[1]
    for c in range(width):
        for i in range(joints):
            total = slopes[1, c, i]
            for j in range(joints):
                total += first[i, j] * slopes[0, c, j]
            columns[c, i] = -total
            if c >= begin:
                columns[c, i] -= parameters[0, c - begin, i]
        for k in range(joints, columns.shape[1]):
            columns[c, k] = 0.0
    solve_lu_rows(matrix, order, columns)
    for c in range(width):
        for i in range(joints):
            total = parameters[1, c - begin, i] if c >= begin else 0.0
            for j in range(joints):
                total += second[i, j] * columns[c, j] + mixed[i, j] * slopes[0, c, j]
            slopes[1, c, i] = total
        for i in range(joints):
            slopes[0, c, i] = columns[c, i]
