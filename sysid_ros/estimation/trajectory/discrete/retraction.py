r"""Compiled: steps of states along which constraints stay as violated as the step says.

Bodies that are moved one by one leave a curved constraint at second order, and where missing
impulses weigh much, nothing but tiny steps would be accepted. So what a step changes of gaps and
of their speeds at first order is what it changes: the rest is taken back across the constraints.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.spatial_vectors import Vector
from sysid_ros.estimation.trajectory.discrete.dense import decompose, solve
from sysid_ros.estimation.trajectory.discrete.machine import Machine, Room
from sysid_ros.estimation.trajectory.discrete.poses import carry
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, bent_along, look
from sysid_ros.estimation.trajectory.discrete.step import speed_of, spread, turn

# Corrections, all with the matrix of the first: what is left then is of fourth order.
_ROUNDS = 2
# Part of the mean of what constraints feel of themselves that is added, for redundant ones.
_REDUNDANT = 1e-12


@njit(**INSIDE)
def move(
    machine: Machine, light: np.ndarray, state: np.ndarray, step: np.ndarray, after: np.ndarray,
    room: Room, wanted: np.ndarray,
) -> None:
    """A state after a step.

    Args:
        machine: The bodies and constraints.
        light: Inverse masses and moments of inertia by which bodies are moved back, ``(n,)``.
        state: Before the step, shape ``(13 b,)``.
        step: The step, shape ``(12 b,)``.
        after: Is filled.
        room: Room.
        wanted: Room, shape ``(2, m)``.
    """
    m = len(room.gap)
    _want(machine, state, step, room, wanted)
    for body in range(len(room.positions)):
        for c in range(6):
            room.velocity[6 * body + c] = step[12 * body + c]
            room.momentum[6 * body + c] = (
                state[13 * body + 7 + c] + step[12 * body + 6 + c])
    _shift(1.0, state, room, after)
    _look(machine, after, room)
    count = _factorise(machine, light, room)
    for turn_back in range(_ROUNDS + 1):
        last = turn_back == _ROUNDS
        for k in range(m):
            room.left[k] = room.gap[k] - wanted[0, k]
            if last:
                room.left[k] = speed_of(room.whole, k, after) - wanted[1, k]
        _across(light, count, room)
        if last:
            break
        _shift(-1.0, after, room, after)
        _look(machine, after, room)
    for body in range(len(room.positions)):
        for c in range(6):
            after[13 * body + 7 + c] -= room.velocity[6 * body + c]


@njit(**INSIDE)
def _shift(way: float, state: np.ndarray, room: Room, after: np.ndarray) -> None:
    """Poses by ``room.velocity``, forwards or backwards, with velocities of ``room.momentum``."""
    carry(way, state, room.velocity, after)
    for body in range(len(room.positions)):
        for c in range(6):
            after[13 * body + 7 + c] = room.momentum[6 * body + c]


@njit(**INSIDE)
def _want(
    machine: Machine, state: np.ndarray, step: np.ndarray, room: Room, wanted: np.ndarray
) -> None:
    """Gaps after a step and their speeds, at first order."""
    _look(machine, state, room)
    for k in range(len(room.gap)):
        i, j = machine.rows.first[k], machine.rows.second[k]
        moved = _two(step, 12, 0, i) + _two(step, 12, 0, j)
        speeds = _two(state, 13, 7, i) + _two(state, 13, 7, j)
        faster = _two(step, 12, 6, i) + _two(step, 12, 6, j)
        wanted[0, k] = room.gap[k] + _along(room.direction, k, moved)
        wanted[1, k] = (
            _along(room.direction, k, speeds) + _along(room.direction, k, faster)
            + bent_along(machine.rows, k, room.positions, room.rotations, speeds, moved))


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
def _look(machine: Machine, state: np.ndarray, room: Room) -> None:
    """Gaps and directions of constraints."""
    for body in range(len(room.positions)):
        turn(state, body, room)
    for k in range(len(room.gap)):
        room.gap[k] = look(machine.rows, k, room.positions, room.rotations, room.direction)
        spread(machine.rows, k, room)


@njit(**INSIDE)
def _factorise(machine: Machine, light: np.ndarray, room: Room) -> int:
    """Factors of what constraints of joints feel of each other, and how many there are."""
    n, count, mean = len(light), 0, 0.0
    for k in range(len(room.gap)):
        # Contacts may open and close.
        if not machine.one_sided[k]:
            room.active[count] = k
            count += 1
    for a in range(count):
        for b in range(count):
            total = 0.0
            for r in range(n):
                total += room.whole[room.active[a], r] * light[r] * room.whole[room.active[b], r]
            room.schur[a, b] = total
        mean += room.schur[a, a] / count
    for a in range(count):
        room.schur[a, a] += _REDUNDANT * mean
    return count if decompose(room.schur, room.pivot, count) else 0


@njit(**INSIDE)
def _across(light: np.ndarray, count: int, room: Room) -> None:
    """The least motion of bodies that changes gaps by what is in ``room.left``.

    It is left in ``room.velocity``.
    """
    for a in range(count):
        room.left[a] = room.left[room.active[a]]
    solve(room.schur, room.pivot, count, room.left, 0)
    for r in range(len(light)):
        room.velocity[r] = 0.0
        for a in range(count):
            room.velocity[r] += light[r] * room.whole[room.active[a], r] * room.left[a]
