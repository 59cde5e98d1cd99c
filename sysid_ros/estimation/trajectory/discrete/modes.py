"""Compiled: which contacts push, which drives stick, which way impulses point; and the solution.

With the right modes, a step is a linear problem. They are found by trying: each solution says
which modes contradict it. Neighbouring steps mostly have the same ones, so that the first attempt
is right. Where none is, a step is solved as one complementarity problem
(:func:`~sysid_ros.estimation.trajectory.discrete.stepper.complement`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.estimation.trajectory.discrete.dense import decompose, solve
from sysid_ros.estimation.trajectory.discrete.machine import Machine, Room

# Parts of the largest impulse or speed below which a contradiction is rounding.
_ROUNDING = 1e-12
# Most attempts to find the modes: changing all that are contradicted, then, as that may go round
# in circles, the first of them only.
_ATTEMPTS, _ONE_BY_ONE = 10, 60
# Part of what an impulse of a drive does to its own speed by which it gives way where it sticks.
# Without it, more friction than sticks to something, as at the corners of a box, is no problem with
# one solution. It is far above rounding, and the creeping far below what anybody sees.
_GIVE = 1e-8
# Part of the largest impulse below which sticking friction is not too much: what rounding leaves
# open of how such corners share it.
_SHARED = 1e-7


@njit(**INSIDE)
def reach(room: Room) -> None:
    """Directions times the inverse of either factor of the mass matrix, and how drives give."""
    n, m, mass = len(room.velocity), len(room.gap), room.mass
    for k in range(len(room.pushed)):
        for r in range(n):
            pushed, felt = room.whole[k, r], room.whole[k, r]
            for c in range(r):
                pushed -= mass[r, c] * room.pushed[k, c]
                felt -= mass[c, r] * room.felt[k, c]
            room.pushed[k, r], room.felt[k, r] = pushed, felt / mass[r, r]
    for k in range(m, len(room.pushed)):
        own = 0.0
        for r in range(n):
            own += room.felt[k, r] * room.pushed[k, r]
        room.stable[1, k] = _GIVE * own


@njit(**INSIDE)
def settle(machine: Machine, room: Room) -> bool:
    """Find the modes, beginning with those that are there, and the solution.

    Args:
        machine: The bodies and constraints.
        room: As :func:`prepare` and :func:`reach` filled it; modes, impulses and the next
            velocity are filled.

    Returns:
        False where trying did not find the modes, or the problem is singular.
    """
    for attempt in range(_ATTEMPTS + _ONE_BY_ONE):
        if not in_modes(machine, room):
            return False
        if not contradict(machine, room, attempt >= _ATTEMPTS):
            return True
    return False


@njit(**INSIDE)
def in_modes(machine: Machine, room: Room) -> bool:
    """Solve the problem in the modes that are there; False if it is singular."""
    m, f, n = len(room.gap), len(room.slip), len(room.velocity)
    count = activate(machine, room)
    # The part of the impulses that is known: friction without load.
    for r in range(n):
        room.left[r] = room.momentum[r]
    for j in range(f):
        if machine.dry[j] and room.slip[j] != 0.0:
            for r in range(n):
                room.left[r] -= room.slip[j] * room.bound[j, 0] * room.whole[m + j, r]
    for r in range(n):
        for c in range(r):
            room.left[r] -= room.mass[r, c] * room.left[c]
    _schur(machine, room, count)
    for a in range(count):
        k, rest = room.active[a], 0.0
        for r in range(n):
            rest += room.felt[k, r] * room.left[r]
        room.left[n + a] = room.right[k] - rest
    if not decompose(room.schur, room.pivot, count):
        return False
    solve(room.schur, room.pivot, count, room.left, n)
    _impulses(machine, room, count)
    return True


@njit(**INSIDE)
def activate(machine: Machine, room: Room) -> int:
    """List the rows that push and the drives that stick."""
    m, count = len(room.gap), 0
    for k in range(m):
        if not machine.one_sided[k] or room.pushing[k]:
            room.active[count] = k
            count += 1
    for j in range(len(room.slip)):
        if machine.dry[j] and room.slip[j] == 0.0:
            room.active[count] = m + j
            count += 1
    return count


@njit(**INSIDE)
def _schur(machine: Machine, room: Room, count: int) -> None:
    r"""What is left of the problem for the impulses.

    :math:`G \tilde M^{-1} (G - \sum_j d_j \mu_j (s \rho) \hat G_j)^\top + \Sigma`.
    """
    m, n = len(room.gap), len(room.velocity)
    for a in range(count):
        for b in range(count):
            total = 0.0
            for r in range(n):
                total += room.felt[room.active[a], r] * room.pushed[room.active[b], r]
            room.schur[a, b] = total
        room.schur[a, a] += room.stable[1, room.active[a]]
    for j in range(len(room.slip)):
        if not machine.dry[j] or room.slip[j] == 0.0 or room.bound[j, 1] == 0.0:
            continue
        for a in range(count):
            along = 0.0
            for r in range(n):
                along += room.felt[room.active[a], r] * room.pushed[m + j, r]
            for b in range(count):
                room.schur[a, b] -= along * room.slip[j] * pressed(machine, room, j, b)


@njit(**INSIDE)
def pressed(machine: Machine, room: Room, j: int, b: int) -> float:
    """Friction of a drive per impulse of an active row."""
    k = room.active[b]
    if k < machine.loaded[j, 0] or k >= machine.loaded[j, 1]:
        return 0.0
    return room.bound[j, 1] * room.sign[k] * machine.arms[k]


@njit(**INSIDE)
def _impulses(machine: Machine, room: Room, count: int) -> None:
    """All impulses and the next velocity, from those of the linear problem."""
    m, f, n = len(room.gap), len(room.slip), len(room.velocity)
    for k in range(m + f):
        room.impulse[k] = 0.0
    for a in range(count):
        room.impulse[room.active[a]] = room.left[n + a]
    for j in range(f):
        if machine.dry[j] and room.slip[j] != 0.0:
            room.impulse[m + j] = -room.slip[j] * bound(machine, room, j)
    for r in range(n):
        rest = 0.0
        for k in range(m + f):
            rest += room.whole[k, r] * room.impulse[k]
        room.velocity[r] = room.momentum[r] + rest
    for r in range(n):
        for c in range(r):
            room.velocity[r] -= room.mass[r, c] * room.velocity[c]
    for r in range(n - 1, -1, -1):
        rest = room.velocity[r]
        for c in range(r + 1, n):
            rest -= room.mass[r, c] * room.velocity[c]
        room.velocity[r] = rest / room.mass[r, r]


@njit(**INSIDE)
def bound(machine: Machine, room: Room, j: int) -> float:
    """The most that dry friction of a drive can do."""
    return room.bound[j, 0] + room.bound[j, 1] * pressure(machine, room, j)


@njit(**INSIDE)
def pressure(machine: Machine, room: Room, j: int) -> float:
    """What impulses press on the friction of a drive."""
    total = 0.0
    for k in range(machine.loaded[j, 0], machine.loaded[j, 1]):
        total += machine.arms[k] * np.abs(room.impulse[k])
    return total


@njit(**INSIDE)
def contradict(machine: Machine, room: Room, single: bool) -> bool:
    """Change modes that the solution contradicts, or the first only; whether there were any."""
    largest, fastest = 0.0, 0.0
    for k in range(len(room.impulse)):
        largest = max(largest, np.abs(room.impulse[k]))
    for r in range(len(room.velocity)):
        fastest = max(fastest, np.abs(room.velocity[r]))
    small, slow, changed = _ROUNDING * largest, _ROUNDING * fastest, False
    for k in range(len(room.gap)):
        changed |= _change_row(machine, room, k, small, slow)
        if changed and single:
            return True
    for j in range(len(room.slip)):
        changed |= machine.dry[j] and _change_drive(machine, room, j, largest, slow)
        if changed and single:
            return True
    return changed


@njit(**INSIDE)
def _change_row(machine: Machine, room: Room, k: int, small: float, slow: float) -> bool:
    """Change whether a contact pushes, or which way a row does, if that is contradicted."""
    if not machine.one_sided[k]:
        if room.sign[k] * room.impulse[k] >= -small:
            return False
        room.sign[k] = -room.sign[k]
        return True
    if room.pushing[k]:
        wrong = room.impulse[k] < -small
    else:
        wrong = speed_along(room, k, room.velocity) < room.right[k] - slow
    if wrong:
        room.pushing[k] = not room.pushing[k]
    return wrong


@njit(**INSIDE)
def _change_drive(machine: Machine, room: Room, j: int, largest: float, slow: float) -> bool:
    """Change whether a drive slips, if that is contradicted."""
    k = len(room.gap) + j
    if room.slip[j] != 0.0:
        if room.slip[j] * speed_along(room, k, room.velocity) >= -slow:
            return False
        room.slip[j] = 0.0
        return True
    if np.abs(room.impulse[k]) <= bound(machine, room, j) + _SHARED * largest:
        return False
    room.slip[j] = -np.sign(room.impulse[k])
    return True


@njit(**INSIDE)
def speed_along(room: Room, k: int, velocity: np.ndarray) -> float:
    """Speed of a row, or of a drive, at a velocity of all bodies."""
    total = 0.0
    for r in range(len(velocity)):
        total += room.whole[k, r] * velocity[r]
    return total
