"""Rollouts of variational integrators and their discrete adjoints as compiled calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures import closure_arrays, closure_kernels
from sysid_ros.mechanics.integrators.variational import (
    closures,
    discrete_lagrangian,
    lagrangian,
    step,
    system,
)
from sysid_ros.mechanics.integrators.variational.closures import fill_geometric_stiffness
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import (
    ALL,
    VALUES,
    Drive,
    Quadrature,
    differentiate_state,
    discrete_euler_lagrange,
)
from sysid_ros.mechanics.integrators.variational.step import (
    DONE,
    SINGULAR,
    UNSTABLE,
    StepWorkspace,
    advance,
    damping_inertia,
    evaluate_closures,
    factorise_step,
    is_stable,
    propagate_derivatives,
)
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.tree import (
    forward_kinematics,
    loaded_gears,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.numerics import by_reference, dense, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.dense import solve_lu_transposed
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.numerics.tables import copy, copy_row, copy_table

#: Files that are compiled into these calls.
SOURCES = (
    by_reference, closure_arrays, closure_kernels, compiled, dense, forward_kinematics,
    loaded_gears, sample_regressor, *dispatch.SOURCES, spatial_vectors, tree_arrays,
    tree_dynamics, tree_terms, discrete_lagrangian, closures, lagrangian, step, system, tables)
# Twice as long steps are taken again when they would need less than this part of the margin.
_CALM = 0.5


class Steps(NamedTuple):
    """All steps of a motion over N intervals, S of them at most.

    Attributes:
        q: Positions between steps, shape ``(S + 1, n)``.
        multipliers: Impulses of the constraints at the beginning of each, shape ``(S, r)``.
        taken: Steps of each interval: at least so many, then those that were taken, ``(N,)``.
    """

    q: np.ndarray
    multipliers: np.ndarray
    taken: np.ndarray


@njit(**INSIDE)
def _interval(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, work: StepWorkspace,
    steps: Steps, first: int, node: int, count: int, h: float, last: float, margin: float,
    level: int,
) -> int:
    """Take the steps of one interval; how that ended."""
    part, inner, terms, amplitudes = 1.0 / count, work.lagrangian, system.terms, values.amplitudes
    q, v, p, speed, tables = inner.q, inner.v, work.p, work.speed, inner.tree.tables
    held, stiffness, trial = work.held, work.closures.stiffness, work.trial
    jacobian, multipliers = work.closures.jacobian, work.multipliers
    for k in range(count):
        ended = advance(
            system, values, drive, rule, work, node, k * part, part, h * part, level)
        if ended != DONE:
            return ended
        if len(held):
            damping_inertia(terms, amplitudes, drive, rule, node, h * part, trial)
            if not is_stable(tables[0], stiffness, held, trial, h * part, 0.5 * (last + h * part),
                         margin):
                return UNSTABLE
        last, done = h * part, first + k
        for j in range(len(multipliers)):
            steps.multipliers[done, j] = multipliers[j]
        if level == ALL:
            if not factorise_step(work, h * part):
                return SINGULAR
            propagate_derivatives(inner, work.matrix, work.order, work.columns, work.slopes)
        for j in range(len(v)):
            q[0, j], p[0, j] = q[1, j], p[1, j]
            speed[1, j], speed[0, j] = speed[0, j], v[j]
        copy_table(jacobian, held)
        copy_row(q, 0, steps.q, done + 1)
    return DONE


@njit(**INSIDE)
def _evaluate_state(system: DiscreteSystem, values: TreeValues, work: StepWorkspace) -> None:
    """Lagrangian, closures and geometric stiffness at the state in the workspace."""
    inner, frames, closures = work.lagrangian, work.frames, work.closures
    q, speed, at, v = inner.q, work.speed, inner.at, inner.v
    for j in range(len(v)):
        at[j], v[j] = q[0, j], speed[0, j]
    differentiate_state(system, values, inner)
    evaluate_closures(system, frames, closures, at)
    fill_geometric_stiffness(system, frames, closures, work.multipliers)
    copy_table(closures.jacobian, work.held)


@njit(**INSIDE)
def _write(work: StepWorkspace, node: int, states: np.ndarray, slopes: np.ndarray) -> None:
    """Keep the state and its derivatives."""
    q, p, own = work.lagrangian.q, work.p, work.slopes
    for j in range(states.shape[2]):
        states[node, 0, j], states[node, 1, j] = q[0, j], p[0, j]
        for c in range(slopes.shape[3]):
            for k in range(2):
                slopes[node, k, j, c] = own[k, c, j]


@njit(**INSIDE)
def _simulate(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, work: StepWorkspace,
    saved: np.ndarray, steps: Steps, h: float, most: int, margin: float, states: np.ndarray,
    slopes: np.ndarray,
) -> tuple[int, int, int]:
    """Rollout: evaluate the state in the workspace, and simulate from it."""
    level = ALL if slopes.shape[3] else VALUES
    # No number that is known here, or the steps would be compiled once more for it.
    total, current, last = min(most, 0), 1, 0.0
    held, stiffness, trial = work.held, work.closures.stiffness, work.trial
    terms, amplitudes, tables = system.terms, values.amplitudes, work.lagrangian.tree.tables
    work.made_for[0] = 0.0
    _evaluate_state(system, values, work)
    copy_row(work.lagrangian.q, 0, steps.q, 0)
    for node in range(len(steps.taken)):
        copy(work.state, saved)
        _write(work, node, states, slopes)
        count = max(steps.taken[node], current)
        while True:
            ended = _interval(
                system, values, drive, rule, work, steps, total, node, count, h, last,
                margin, level)
            if ended == DONE:
                break
            copy(saved, work.state)
            if 2 * count > most:
                return ended, node, total
            count *= 2
        steps.taken[node] = count
        total, current, last = total + count, count, h / count
        if count > 1:
            calm = True
            if len(held):
                damping_inertia(terms, amplitudes, drive, rule, node, 2.0 * last, trial)
                calm = is_stable(
                    tables[0], stiffness, held, trial, 2.0 * last, last, _CALM * margin)
            if calm:
                current = count // 2
    _write(work, len(steps.taken), states, slopes)
    return DONE, len(steps.taken), total


def _simulation(sources: str) -> Callable[..., tuple[int, int, int]]:
    """Simulation as one call; the digest stands for the files whose functions are called."""

    @njit(**ENTRY)
    def simulate(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        work: StepWorkspace, saved: np.ndarray, steps: Steps, h: float, most: int, margin: float,
        states: np.ndarray, slopes: np.ndarray,
    ) -> tuple[int, int, int]:
        sources  # noqa: B018
        return _simulate(
            system, values, drive, rule, work, saved, steps, h, most, margin, states, slopes)

    return simulate


@njit(**INSIDE)
def _adjoint_pass(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, work: StepWorkspace,
    steps: Steps, h: float, by_states: np.ndarray, right: np.ndarray, state: np.ndarray,
    gradient: np.ndarray, by_torque: np.ndarray, by_interval_torque: np.ndarray,
) -> bool:
    """Discrete adjoint: gradient of a cost, step by step backwards; False where singular."""
    inner, frames, closed, multipliers = (
        work.lagrangian, work.frames, work.closures, work.multipliers)
    q, matrix, order, index = inner.q, work.matrix, work.order, 0
    second, mixed, first = inner.second_by_end, inner.second_by_start, inner.first_by_start
    by_parameters = inner.by_parameters
    # Any number, not the one that is known here, or all would be compiled once more for it.
    level = max(index, ALL)
    for node in range(len(steps.taken)):
        index += steps.taken[node]
    gradient[:] = 0.0
    state[:] = 0.0
    by_torque[:] = 0.0
    by_interval_torque[:] = 0.0
    for node in range(len(steps.taken) - 1, -1, -1):
        _add_to(by_states[node + 1], state)
        count = steps.taken[node]
        for k in range(count - 1, -1, -1):
            index -= 1
            copy_row(steps.q, index, q, 0)
            copy_row(steps.q, index + 1, q, 1)
            copy(steps.multipliers[index], multipliers)
            discrete_euler_lagrange(
                system, values, drive, rule, inner, node, k / count, 1.0 / count, h / count,
                level)
            evaluate_closures(system, frames, closed, q[0])
            copy_table(closed.jacobian, work.held)
            fill_geometric_stiffness(system, frames, closed, multipliers)
            evaluate_closures(system, frames, closed, q[1])
            if not factorise_step(work, h / count):
                return False
            _adjoint_solve(second, matrix, order, right, state)
            _torque_gradient(
                rule, node, k / count, 1.0 / count, h / count, right, state, by_torque,
                by_interval_torque)
            _adjoint_step(first, mixed, by_parameters, right, state, gradient)
    _add_to(by_states[0], state)
    return True


def _adjoint(sources: str) -> Callable[..., bool]:
    """The adjoint as one call; see :func:`_simulation`."""

    @njit(**ENTRY)
    def adjoint(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        work: StepWorkspace, steps: Steps, h: float, by_states: np.ndarray, right: np.ndarray,
        state: np.ndarray, gradient: np.ndarray, by_torque: np.ndarray,
        by_interval_torque: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        return _adjoint_pass(
            system, values, drive, rule, work, steps, h, by_states, right, state, gradient,
            by_torque, by_interval_torque)

    return adjoint


@njit(**INSIDE)
def _add_to(source: np.ndarray, target: np.ndarray) -> None:
    for k in range(2):
        for j in range(target.shape[1]):
            target[k, j] += source[k, j]


@njit(**INSIDE)
def _adjoint_solve(
    second_by_end: np.ndarray, matrix: np.ndarray, order: np.ndarray, right: np.ndarray,
    state: np.ndarray,
) -> None:
    """Adjoint of a step's first equation, from that of the state at its end."""
    joints = state.shape[1]
    right[:] = 0.0
    for j in range(joints):
        right[j] = state[0, j]
    for i in range(joints):
        for j in range(joints):
            right[j] += second_by_end[i, j] * state[1, i]
    solve_lu_transposed(matrix, order, right)


@njit(**INSIDE)
def _torque_gradient(
    rule: Quadrature, node: int, begin: float, part: float, h: float, right: np.ndarray,
    state: np.ndarray, by_torque: np.ndarray, by_interval_torque: np.ndarray,
) -> None:
    """Add the gradient by torques in a step: at the nodes around, and in the interval."""
    for k in range(len(rule.point)):
        at = begin + rule.point[k] * part
        for j in range(state.shape[1]):
            torque_part = rule.weight[k] * h * (
                rule.after[k] * state[1, j] - rule.before[k] * right[j])
            by_torque[node, j] += (1.0 - at) * torque_part
            by_torque[node + 1, j] += at * torque_part
            by_interval_torque[node, j] += torque_part


@njit(**INSIDE)
def _adjoint_step(
    first_by_start: np.ndarray, second_by_start: np.ndarray, by_parameters: np.ndarray,
    right: np.ndarray, state: np.ndarray, gradient: np.ndarray,
) -> None:
    """Adjoint of the state at the beginning of a step from that at its end."""
    joints = state.shape[1]
    for j in range(joints):
        state[0, j] = 0.0
    for c in range(len(gradient)):
        for i in range(joints):
            gradient[c] += (
                by_parameters[1, c, i] * state[1, i] - by_parameters[0, c, i] * right[i])
    for i in range(joints):
        for j in range(joints):
            state[0, j] += (
                second_by_start[i, j] * state[1, i] - first_by_start[i, j] * right[i])
    for j in range(joints):
        state[1, j] = -right[j]


_DIGEST = digest(*SOURCES)
# Named tuples come by reference.
#: Simulate from the state in the workspace; fills states ``(N + 1, 2, n)``, positions before
#: momenta, their derivatives ``(N + 1, 2, n, w)``, and the steps. How it ended, at which node, and
#: after how many steps.
simulate: Callable[..., Any] = _simulation(_DIGEST)
#: Carry derivatives of a cost by the states ``(N + 1, 2, n)`` back over the steps; fills its
#: gradient by the parameters ``(k,)``, by the first state ``(2, n)``, by torques at the nodes
#: ``(N + 1, n)`` and by a torque that lasts an interval ``(N, n)``. False where singular.
adjoint: Callable[..., Any] = _adjoint(_DIGEST)
