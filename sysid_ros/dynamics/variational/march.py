"""Motion by variational integrators: whole simulations and adjoints as compiled calls."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics import (
    sample_regressor,
    spatial_vectors,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.dynamics.spatial_vectors import COMPILED, INSIDE
from sysid_ros.dynamics.tree_arrays import TreeValues
from sysid_ros.dynamics.variational import balance as balance_module
from sysid_ros.dynamics.variational import (
    closures,
    lagrangian,
    linear_solve,
    step,
    system,
)
from sysid_ros.dynamics.variational.balance import ALL, VALUES, Drive, Quadrature, balance
from sysid_ros.dynamics.variational.closures import stiffen
from sysid_ros.dynamics.variational.linear_solve import solve_transposed
from sysid_ros.dynamics.variational.step import (
    DONE,
    SINGULAR,
    UNSTABLE,
    StepRoom,
    advance,
    carry,
    close_at,
    damp,
    prepare,
    sound,
)
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: Files that are compiled into these calls.
SOURCES = (
    sample_regressor, spatial_vectors, tree_arrays, tree_dynamics, tree_terms, balance_module,
    closures, lagrangian, linear_solve, step, system)
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


class Saved(NamedTuple):
    """A state to return to; as in :class:`~sysid_ros.dynamics.variational.step.StepRoom`.

    Attributes:
        state: Positions and momenta, shape ``(2, n)``.
        speed: Shape ``(2, n)``.
        held: Shape ``(r, n)``.
        multipliers: Shape ``(r,)``.
        slopes: Shape ``(2, w, n)``.
    """

    state: np.ndarray
    speed: np.ndarray
    held: np.ndarray
    multipliers: np.ndarray
    slopes: np.ndarray


@njit(**INSIDE)
def _save(room: StepRoom, saved: Saved) -> None:
    _copy(room.balance.q[0], saved.state[0])
    _copy(room.p[0], saved.state[1])
    _copy_table(room.speed, saved.speed)
    _copy_table(room.held, saved.held)
    _copy(room.multipliers, saved.multipliers)
    _copy_table(room.slopes[0], saved.slopes[0])
    _copy_table(room.slopes[1], saved.slopes[1])


@njit(**INSIDE)
def _restore(room: StepRoom, saved: Saved) -> None:
    _copy(saved.state[0], room.balance.q[0])
    _copy(saved.state[1], room.p[0])
    _copy_table(saved.speed, room.speed)
    _copy_table(saved.held, room.held)
    _copy(saved.multipliers, room.multipliers)
    _copy_table(saved.slopes[0], room.slopes[0])
    _copy_table(saved.slopes[1], room.slopes[1])


@njit(**INSIDE)
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for j in range(len(source)):
        target[j] = source[j]


@njit(**INSIDE)
def _copy_table(source: np.ndarray, target: np.ndarray) -> None:
    # Where no derivatives are asked for there is no room for them on one side.
    for i in range(min(source.shape[0], target.shape[0])):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit(inline='always', **INSIDE)
def _interval(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature, room: StepRoom,
    steps: Steps, first: int, node: int, count: int, h: float, last: float, margin: float,
    level: int,
) -> int:
    """Take the steps of one interval; how that ended."""
    part, inner, terms, amplitudes = 1.0 / count, room.balance, system.terms, values.amplitudes
    q, v, p, speed, tables = inner.q, inner.v, room.p, room.speed, inner.tree.tables
    held, stiffness, trial = room.held, room.closures.stiffness, room.trial
    jacobian, multipliers = room.closures.jacobian, room.multipliers
    for k in range(count):
        ended = advance(
            system, values, drive, rule, room, node, k * part, part, h * part, level)
        if ended != DONE:
            return ended
        if len(held):
            damp(terms, amplitudes, drive, rule, node, h * part, trial)
            if not sound(tables[0], stiffness, held, trial, h * part, 0.5 * (last + h * part),
                         margin):
                return UNSTABLE
        last = h * part
        _copy(multipliers, steps.multipliers[first + k])
        if level == ALL:
            if not prepare(room, h * part):
                return SINGULAR
            carry(inner, room.matrix, room.order, room.columns, room.slopes)
        _copy(q[1], q[0])
        _copy(p[1], p[0])
        _copy(speed[0], speed[1])
        _copy(v, speed[0])
        _copy_table(jacobian, held)
        _copy(q[0], steps.q[first + k + 1])
    return DONE


def _simulation(sources: str) -> Callable[..., tuple[int, int, int]]:
    """Simulation as one call; the digest stands for the files whose functions are called."""

    @njit(cache=True, **COMPILED)
    def simulate(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        room: StepRoom, saved: Saved, steps: Steps, h: float, most: int, margin: float,
        states: np.ndarray, slopes: np.ndarray,
    ) -> tuple[int, int, int]:
        sources  # noqa: B018
        level = ALL if slopes.shape[3] else VALUES
        total, current, last = 0, 1, 0.0
        held, stiffness, trial = room.held, room.closures.stiffness, room.trial
        tables, q, p, own = room.balance.tree.tables, room.balance.q, room.p, room.slopes
        terms, amplitudes = system.terms, values.amplitudes
        room.made_for[0] = 0.0
        close_at(system, room.frames, room.closures, q[0])
        _copy_table(room.closures.jacobian, held)
        _copy(q[0], steps.q[0])
        for node in range(len(steps.taken)):
            _save(room, saved)
            _write(q, p, own, states[node], slopes[node])
            count = max(steps.taken[node], current)
            while True:
                ended = _interval(
                    system, values, drive, rule, room, steps, total, node, count, h, last,
                    margin, level)
                if ended == DONE:
                    break
                _restore(room, saved)
                if 2 * count > most:
                    return ended, node, total
                count *= 2
            steps.taken[node] = count
            total, current, last = total + count, count, h / count
            if count > 1:
                calm = True
                if len(held):
                    damp(terms, amplitudes, drive, rule, node, 2.0 * last, trial)
                    calm = sound(
                        tables[0], stiffness, held, trial, 2.0 * last, last, _CALM * margin)
                if calm:
                    current = count // 2
        _write(q, p, own, states[len(steps.taken)], slopes[len(steps.taken)])
        return DONE, len(steps.taken), total

    return simulate


@njit(**INSIDE)
def _write(
    q: np.ndarray, p: np.ndarray, own: np.ndarray, state: np.ndarray, slopes: np.ndarray
) -> None:
    """Keep the state and its derivatives."""
    _copy(q[0], state[0])
    _copy(p[0], state[1])
    for k in range(2):
        for i in range(slopes.shape[1]):
            for c in range(slopes.shape[2]):
                slopes[k, i, c] = own[k, c, i]


def _adjoint(sources: str) -> Callable[..., bool]:
    """The adjoint as one call; see :func:`_simulation`."""

    @njit(cache=True, **COMPILED)
    def adjoint(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        room: StepRoom, steps: Steps, h: float, by_states: np.ndarray, right: np.ndarray,
        state: np.ndarray, gradient: np.ndarray, by_torque: np.ndarray, by_push: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        inner, frames, closed, multipliers = (
            room.balance, room.frames, room.closures, room.multipliers)
        q, matrix, order, index = inner.q, room.matrix, room.order, 0
        second, mixed, first = inner.second_by_end, inner.second_by_start, inner.first_by_start
        by_parameters = inner.by_parameters
        # Any number, not the one that is known here, or all would be compiled once more for it.
        level = max(index, ALL)
        for node in range(len(steps.taken)):
            index += steps.taken[node]
        gradient[:] = 0.0
        state[:] = 0.0
        by_torque[:] = 0.0
        by_push[:] = 0.0
        for node in range(len(steps.taken) - 1, -1, -1):
            _add_to(by_states[node + 1], state)
            count = steps.taken[node]
            for k in range(count - 1, -1, -1):
                index -= 1
                _copy(steps.q[index], q[0])
                _copy(steps.q[index + 1], q[1])
                _copy(steps.multipliers[index], multipliers)
                balance(
                    system, values, drive, rule, inner, node, k / count, 1.0 / count, h / count,
                    level)
                close_at(system, frames, closed, q[0])
                _copy_table(closed.jacobian, room.held)
                stiffen(system, frames, closed, multipliers)
                close_at(system, frames, closed, q[1])
                if not prepare(room, h / count):
                    return False
                _solve_back(second, matrix, order, right, state)
                _push_back(
                    rule, node, k / count, 1.0 / count, h / count, right, state, by_torque,
                    by_push)
                _step_back(first, mixed, by_parameters, right, state, gradient)
        _add_to(by_states[0], state)
        return True

    return adjoint


@njit(**INSIDE)
def _add_to(source: np.ndarray, target: np.ndarray) -> None:
    for k in range(2):
        for j in range(target.shape[1]):
            target[k, j] += source[k, j]


@njit(**INSIDE)
def _solve_back(
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
    solve_transposed(matrix, order, right)


@njit(**INSIDE)
def _push_back(
    rule: Quadrature, node: int, begin: float, part: float, h: float, right: np.ndarray,
    state: np.ndarray, by_torque: np.ndarray, by_push: np.ndarray,
) -> None:
    """Add what torques do in a step: at the nodes around, and in the whole interval."""
    for k in range(len(rule.place)):
        at = begin + rule.place[k] * part
        for j in range(state.shape[1]):
            push = rule.weight[k] * h * (
                rule.after[k] * state[1, j] - rule.before[k] * right[j])
            by_torque[node, j] += (1.0 - at) * push
            by_torque[node + 1, j] += at * push
            by_push[node, j] += push


@njit(**INSIDE)
def _step_back(
    first_by_start: np.ndarray, second_by_start: np.ndarray, by_parameters: np.ndarray,
    right: np.ndarray, state: np.ndarray, gradient: np.ndarray,
) -> None:
    """Carry the adjoint of the state over a step, from its end to its beginning."""
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


_DIGEST = hashlib.sha256(b''.join(
    Path(str(module.__file__)).read_bytes() for module in SOURCES)).hexdigest()
#: Simulate from the state in the room; fills states ``(N + 1, 2, n)``, positions before momenta,
#: their derivatives ``(N + 1, 2, n, w)``, and the steps. How it ended, at which node, and after
#: how many steps.
simulate: Callable[..., Any] = _simulation(_DIGEST)
#: Carry derivatives of a cost by the states ``(N + 1, 2, n)`` back over the steps; fills its
#: gradient by the parameters ``(k,)``, by the first state ``(2, n)``, by torques at the nodes
#: ``(N + 1, n)`` and by a torque that lasts an interval ``(N, n)``. False where singular.
adjoint: Callable[..., Any] = _adjoint(_DIGEST)
