r"""Compiled: steps of states along which constraints stay as violated as the step says.

Bodies that are moved one by one leave a curved constraint at second order, and where missing
impulses weigh much, nothing but tiny steps would be accepted. So what a step changes of gaps and
of their speeds at first order is what it changes: the rest is taken back across the constraints.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.dynamics.spatial_vectors import COMPILED
from sysid_ros.estimation.trajectory.discrete.dense import decompose, solve
from sysid_ros.estimation.trajectory.discrete.machine import Machine, Room
from sysid_ros.estimation.trajectory.discrete.poses import carry
from sysid_ros.estimation.trajectory.discrete.rows import WORLD, bend, look
from sysid_ros.estimation.trajectory.discrete.step import speed_of, spread, turn

# Newton's steps back to a gap: steps that are accepted leave less than rounding after two.
_ROUNDS = 3
# Part of the mean of what constraints feel of themselves that is added, for redundant ones.
_REDUNDANT = 1e-12


@njit(**COMPILED)
def keep_gaps(
    machine: Machine, light: np.ndarray, state: np.ndarray, step: np.ndarray, after: np.ndarray,
    room: Room, wanted: np.ndarray,
) -> None:
    """Take back across the constraints what a step has too much.

    Args:
        machine: The bodies and constraints.
        light: Inverse masses and moments of inertia by which bodies are moved back, ``(n,)``.
        state: Before the step, shape ``(13 b,)``.
        step: The step, shape ``(12 b,)``.
        after: The state after it; is changed.
        room: Room.
        wanted: Room, shape ``(2, m)``.
    """
    m = len(room.gap)
    _want(machine, state, step, room, wanted)
    for _ in range(_ROUNDS):
        _look(machine, after, room)
        for k in range(m):
            room.left[k] = room.gap[k] - wanted[0, k]
        if not _across(machine, light, room):
            return
        for body in range(len(room.positions)):
            for c in range(6):
                # Velocities are kept in place while the pose is carried.
                room.momentum[6 * body + c] = after[13 * body + 7 + c]
        carry(-1.0, after, room.velocity, after)
        for body in range(len(room.positions)):
            for c in range(6):
                after[13 * body + 7 + c] = room.momentum[6 * body + c]
    _look(machine, after, room)
    for k in range(m):
        room.left[k] = speed_of(room.whole, k, after) - wanted[1, k]
    if _across(machine, light, room):
        for body in range(len(room.positions)):
            for c in range(6):
                after[13 * body + 7 + c] -= room.velocity[6 * body + c]


@njit(**COMPILED)
def _want(
    machine: Machine, state: np.ndarray, step: np.ndarray, room: Room, wanted: np.ndarray
) -> None:
    """Gaps after a step and their speeds, at first order."""
    _look(machine, state, room)
    for k in range(len(room.gap)):
        bend(machine.rows, k, room.positions, room.rotations, room.slope)
        wanted[0, k] = room.gap[k]
        wanted[1, k] = speed_of(room.whole, k, state)
        bodies = (machine.rows.first[k], machine.rows.second[k])
        for q in range(2):
            if bodies[q] == WORLD:
                continue
            for c in range(6):
                moved = step[12 * bodies[q] + c]
                wanted[0, k] += room.direction[k, 6 * q + c] * moved
                wanted[1, k] += room.direction[k, 6 * q + c] * step[12 * bodies[q] + 6 + c]
                for p in range(2):
                    if bodies[p] != WORLD:
                        for r in range(6):
                            wanted[1, k] += moved * room.slope[k, 6 * p + r, 6 * q + c] * (
                                state[13 * bodies[p] + 7 + r])


@njit(**COMPILED)
def _look(machine: Machine, state: np.ndarray, room: Room) -> None:
    """Gaps and directions of constraints."""
    for body in range(len(room.positions)):
        turn(state, body, room)
    for k in range(len(room.gap)):
        room.gap[k] = look(machine.rows, k, room.positions, room.rotations, room.direction)
        spread(machine.rows, k, room)


@njit(**COMPILED)
def _across(machine: Machine, light: np.ndarray, room: Room) -> bool:
    """The least motion of bodies that changes the gaps of joints by what is in ``room.left``.

    It is left in ``room.velocity``; contacts may open and close.
    """
    m, n, count, mean = len(room.gap), len(light), 0, 0.0
    for k in range(m):
        if not machine.one_sided[k]:
            room.active[count] = k
            count += 1
    for a in range(count):
        room.left[a] = room.left[room.active[a]]
        for b in range(count):
            total = 0.0
            for r in range(n):
                total += room.whole[room.active[a], r] * light[r] * room.whole[room.active[b], r]
            room.schur[a, b] = total
        mean += room.schur[a, a] / count
    for a in range(count):
        room.schur[a, a] += _REDUNDANT * mean
    if not decompose(room.schur, room.pivot, count):
        return False
    solve(room.schur, room.pivot, count, room.left, 0)
    for r in range(n):
        room.velocity[r] = 0.0
        for a in range(count):
            room.velocity[r] += light[r] * room.whole[room.active[a], r] * room.left[a]
    return True
