r"""Compiled: steps of states along which constraints stay as violated as the step says.

Bodies that are moved one by one leave a curved constraint at second order, and where missing
impulses weigh much, nothing but tiny steps would be accepted. So what a step changes of gaps and
of their speeds at first order is what it changes: the rest is taken back across the constraints.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import MechanismArrays, Workspace
from sysid_ros.estimation.trajectory.discrete.poses import integrate_poses
from sysid_ros.estimation.trajectory.discrete.rows import (
    WORLD,
    evaluate_row,
    second_derivative_along,
)
from sysid_ros.estimation.trajectory.discrete.step import speed_of, spread, turn
from sysid_ros.numerics.dense import lu, solve_lu
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Vector

# Corrections, all with the matrix of the first: what is left then is of fourth order.
_ROUNDS = 2
# Part of the mean of what constraints feel of themselves that is added, for redundant ones.
_REDUNDANT = 1e-12


@njit(**INSIDE)
def move(
    arrays: MechanismArrays, light: np.ndarray, state: np.ndarray, step: np.ndarray,
    after: np.ndarray, work: Workspace, wanted: np.ndarray,
) -> None:
    """A state after a step.

    Args:
        arrays: The bodies and constraints.
        light: Inverse masses and moments of inertia by which bodies are moved back, ``(n,)``.
        state: Before the step, shape ``(13 b,)``.
        step: The step, shape ``(12 b,)``.
        after: Is filled.
        work: Workspace.
        wanted: Workspace, shape ``(2, m)``.
    """
    m = len(work.gap)
    _want(arrays, state, step, work, wanted)
    for body in range(len(work.positions)):
        for c in range(6):
            work.velocity[6 * body + c] = step[12 * body + c]
            work.momentum[6 * body + c] = (
                state[13 * body + 7 + c] + step[12 * body + 6 + c])
    _shift(1.0, state, work, after)
    _evaluate_constraints(arrays, after, work)
    count = _delassus_factors(arrays, light, work)
    for turn_back in range(_ROUNDS + 1):
        last = turn_back == _ROUNDS
        for k in range(m):
            work.left[k] = work.gap[k] - wanted[0, k]
            if last:
                work.left[k] = speed_of(work.whole, k, after) - wanted[1, k]
        _across(light, count, work)
        if last:
            break
        _shift(-1.0, after, work, after)
        _evaluate_constraints(arrays, after, work)
    for body in range(len(work.positions)):
        for c in range(6):
            after[13 * body + 7 + c] -= work.velocity[6 * body + c]


@njit(**INSIDE)
def _shift(way: float, state: np.ndarray, work: Workspace, after: np.ndarray) -> None:
    """Poses by ``work.velocity``, forwards or backwards, with velocities of ``work.momentum``."""
    integrate_poses(way, state, work.velocity, after)
    for body in range(len(work.positions)):
        for c in range(6):
            after[13 * body + 7 + c] = work.momentum[6 * body + c]


@njit(**INSIDE)
def _want(
    arrays: MechanismArrays, state: np.ndarray, step: np.ndarray, work: Workspace,
    wanted: np.ndarray
) -> None:
    """Gaps after a step and their speeds, at first order."""
    _evaluate_constraints(arrays, state, work)
    for k in range(len(work.gap)):
        i, j = arrays.rows.first[k], arrays.rows.second[k]
        moved = _two(step, 12, 0, i) + _two(step, 12, 0, j)
        speeds = _two(state, 13, 7, i) + _two(state, 13, 7, j)
        faster = _two(step, 12, 6, i) + _two(step, 12, 6, j)
        wanted[0, k] = work.gap[k] + _along(work.direction, k, moved)
        wanted[1, k] = (
            _along(work.direction, k, speeds) + _along(work.direction, k, faster)
            + second_derivative_along(arrays.rows, k, work.positions, work.rotations, speeds,
                moved))


@njit(**INSIDE)
def _two(table: np.ndarray, width: int, first: int, body: int) -> tuple[Vector, Vector]:
    """Six numbers of a body, zeros of the world."""
    if body == WORLD:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    c = width * body + first
    return (
        (table[c], table[c + 1], table[c + 2]), (table[c + 3], table[c + 4], table[c + 5]))


@njit(**INSIDE)
def _along(
    direction: np.ndarray, k: int, moved: tuple[Vector, Vector, Vector, Vector]
) -> float:
    """A row's direction times the motion of its bodies."""
    total = 0.0
    for part in range(4):
        for c in range(3):
            total += direction[k, 3 * part + c] * moved[part][c]
    return total


@njit(**INSIDE)
def _evaluate_constraints(arrays: MechanismArrays, state: np.ndarray, work: Workspace) -> None:
    """Gaps and directions of constraints."""
    for body in range(len(work.positions)):
        turn(state, body, work)
    for k in range(len(work.gap)):
        work.gap[k] = evaluate_row(arrays.rows, k, work.positions, work.rotations, work.direction)
        spread(arrays.rows, k, work)


@njit(**INSIDE)
def _delassus_factors(arrays: MechanismArrays, light: np.ndarray, work: Workspace) -> int:
    """Factors of what constraints of joints feel of each other, and how many there are."""
    n, count, mean = len(light), 0, 0.0
    for k in range(len(work.gap)):
        # Contacts may open and close.
        if not arrays.one_sided[k]:
            work.active[count] = k
            count += 1
    for a in range(count):
        for b in range(count):
            total = 0.0
            for r in range(n):
                total += work.whole[work.active[a], r] * light[r] * work.whole[work.active[b], r]
            work.schur[a, b] = total
        mean += work.schur[a, a] / count
    for a in range(count):
        work.schur[a, a] += _REDUNDANT * mean
    return count if lu(work.schur, work.pivot[:count], 0.0) else 0


@njit(**INSIDE)
def _across(light: np.ndarray, count: int, work: Workspace) -> None:
    """The least motion of bodies that changes gaps by what is in ``work.left``.

    It is left in ``work.velocity``.
    """
    for a in range(count):
        work.left[a] = work.left[work.active[a]]
    solve_lu(work.schur, work.pivot, work.left[:count])
    for r in range(len(light)):
        work.velocity[r] = 0.0
        for a in range(count):
            work.velocity[r] += light[r] * work.whole[work.active[a], r] * work.left[a]
