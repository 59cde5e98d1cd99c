"""Compiled: which contacts push, which drives stick, which way impulses point; and the solution.

With the right modes, a step is a linear problem. They are found by trying: each solution says
which modes contradict it. Neighbouring steps mostly have the same ones, so that the first attempt
is right. Where none is, a step is solved as one complementarity problem
(:func:`~sysid_ros.estimation.trajectory.discrete.stepper.complement`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import MechanismArrays, Workspace
from sysid_ros.numerics.dense import (
    lu,
    solve_lu,
    solve_unit_lower,
    solve_upper,
    solve_upper_transposed,
)
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.tables import copy_row

# Parts of the largest impulse or speed below which a contradiction is rounding.
_CONTRADICTION_TOLERANCE = 1e-12
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
def delassus_factors(work: Workspace) -> None:
    """Factors of the Delassus matrix G M^-1 G^T for M = L U, and the compliance of drives."""
    n, m = len(work.velocity), len(work.gap)
    for k in range(len(work.by_lower)):
        copy_row(work.whole, k, work.by_lower, k)
        copy_row(work.whole, k, work.by_upper, k)
        solve_unit_lower(work.mass, work.by_lower[k])
        solve_upper_transposed(work.mass, work.by_upper[k])
    for k in range(m, len(work.by_lower)):
        own = 0.0
        for r in range(n):
            own += work.by_upper[k, r] * work.by_lower[k, r]
        work.stable[1, k] = _GIVE * own


@njit(**INSIDE)
def solve_contact_modes(arrays: MechanismArrays, work: Workspace) -> bool:
    """Contact modes by active-set iteration from those that are there, and the solution.

    Args:
        arrays: The bodies and constraints.
        work: As :func:`prepare` and :func:`delassus_factors` filled it; modes, impulses and the
            next velocity are filled.

    Returns:
        False where trying did not find the modes, or the problem is singular.
    """
    for attempt in range(_ATTEMPTS + _ONE_BY_ONE):
        if not solve_in_modes(arrays, work):
            return False
        if not contradict(arrays, work, attempt >= _ATTEMPTS):
            return True
    return False


@njit(**INSIDE)
def solve_in_modes(arrays: MechanismArrays, work: Workspace) -> bool:
    """Solve the problem in the modes that are there; False if it is singular."""
    m, f, n = len(work.gap), len(work.slip), len(work.velocity)
    count = activate(arrays, work)
    # The part of the impulses that is known: friction without load.
    for r in range(n):
        work.left[r] = work.momentum[r]
    for j in range(f):
        if arrays.dry[j] and work.slip[j] != 0.0:
            for r in range(n):
                work.left[r] -= work.slip[j] * work.bound[j, 0] * work.whole[m + j, r]
    solve_unit_lower(work.mass, work.left[:n])
    _schur(arrays, work, count)
    for a in range(count):
        k, rest = work.active[a], 0.0
        for r in range(n):
            rest += work.by_upper[k, r] * work.left[r]
        work.left[n + a] = work.right[k] - rest
    if not lu(work.schur, work.pivot[:count], 0.0):
        return False
    solve_lu(work.schur, work.pivot, work.left[n:n + count])
    _impulses(arrays, work, count)
    return True


@njit(**INSIDE)
def activate(arrays: MechanismArrays, work: Workspace) -> int:
    """List the rows that push and the drives that stick."""
    m, count = len(work.gap), 0
    for k in range(m):
        if not arrays.one_sided[k] or work.pushing[k]:
            work.active[count] = k
            count += 1
    for j in range(len(work.slip)):
        if arrays.dry[j] and work.slip[j] == 0.0:
            work.active[count] = m + j
            count += 1
    return count


@njit(**INSIDE)
def _schur(arrays: MechanismArrays, work: Workspace, count: int) -> None:
    r"""Delassus matrix of the active rows, with friction by load and compliance.

    :math:`G \tilde M^{-1} (G - \sum_j d_j \mu_j (s \rho) \hat G_j)^\top + \Sigma`.
    """
    m, n = len(work.gap), len(work.velocity)
    for a in range(count):
        for b in range(count):
            total = 0.0
            for r in range(n):
                total += work.by_upper[work.active[a], r] * work.by_lower[work.active[b], r]
            work.schur[a, b] = total
        work.schur[a, a] += work.stable[1, work.active[a]]
    for j in range(len(work.slip)):
        if not arrays.dry[j] or work.slip[j] == 0.0 or work.bound[j, 1] == 0.0:
            continue
        for a in range(count):
            along = 0.0
            for r in range(n):
                along += work.by_upper[work.active[a], r] * work.by_lower[m + j, r]
            for b in range(count):
                work.schur[a, b] -= along * work.slip[j] * pressed(arrays, work, j, b)


@njit(**INSIDE)
def pressed(arrays: MechanismArrays, work: Workspace, j: int, b: int) -> float:
    """Friction of a drive per impulse of an active row."""
    k = work.active[b]
    if k < arrays.loaded[j, 0] or k >= arrays.loaded[j, 1]:
        return 0.0
    return work.bound[j, 1] * work.sign[k] * arrays.arms[k]


@njit(**INSIDE)
def _impulses(arrays: MechanismArrays, work: Workspace, count: int) -> None:
    """All impulses and the next velocity, from those of the linear problem."""
    m, f, n = len(work.gap), len(work.slip), len(work.velocity)
    for k in range(m + f):
        work.impulse[k] = 0.0
    for a in range(count):
        work.impulse[work.active[a]] = work.left[n + a]
    for j in range(f):
        if arrays.dry[j] and work.slip[j] != 0.0:
            work.impulse[m + j] = -work.slip[j] * bound(arrays, work, j)
    for r in range(n):
        rest = 0.0
        for k in range(m + f):
            rest += work.whole[k, r] * work.impulse[k]
        work.velocity[r] = work.momentum[r] + rest
    solve_unit_lower(work.mass, work.velocity)
    solve_upper(work.mass, work.velocity)


@njit(**INSIDE)
def bound(arrays: MechanismArrays, work: Workspace, j: int) -> float:
    """The most that dry friction of a drive can do."""
    return work.bound[j, 0] + work.bound[j, 1] * pressure(arrays, work, j)


@njit(**INSIDE)
def pressure(arrays: MechanismArrays, work: Workspace, j: int) -> float:
    """What impulses press on the friction of a drive."""
    total = 0.0
    for k in range(arrays.loaded[j, 0], arrays.loaded[j, 1]):
        total += arrays.arms[k] * np.abs(work.impulse[k])
    return total


@njit(**INSIDE)
def contradict(arrays: MechanismArrays, work: Workspace, single: bool) -> bool:
    """Change modes that the solution contradicts, or the first only; whether there were any."""
    largest, fastest = 0.0, 0.0
    for k in range(len(work.impulse)):
        largest = max(largest, np.abs(work.impulse[k]))
    for r in range(len(work.velocity)):
        fastest = max(fastest, np.abs(work.velocity[r]))
    small, slow = _CONTRADICTION_TOLERANCE * largest, _CONTRADICTION_TOLERANCE * fastest
    changed = False
    for k in range(len(work.gap)):
        changed |= _change_row(arrays, work, k, small, slow)
        if changed and single:
            return True
    for j in range(len(work.slip)):
        changed |= arrays.dry[j] and _change_drive(arrays, work, j, largest, slow)
        if changed and single:
            return True
    return changed


@njit(**INSIDE)
def _change_row(
    arrays: MechanismArrays, work: Workspace, k: int, small: float, slow: float
) -> bool:
    """Change whether a contact pushes, or which way a row does, if that is contradicted."""
    if not arrays.one_sided[k]:
        if work.sign[k] * work.impulse[k] >= -small:
            return False
        work.sign[k] = -work.sign[k]
        return True
    if work.pushing[k]:
        wrong = work.impulse[k] < -small
    else:
        wrong = speed_along(work, k, work.velocity) < work.right[k] - slow
    if wrong:
        work.pushing[k] = not work.pushing[k]
    return wrong


@njit(**INSIDE)
def _change_drive(
    arrays: MechanismArrays, work: Workspace, j: int, largest: float, slow: float
) -> bool:
    """Change whether a drive slips, if that is contradicted."""
    k = len(work.gap) + j
    if work.slip[j] != 0.0:
        if work.slip[j] * speed_along(work, k, work.velocity) >= -slow:
            return False
        work.slip[j] = 0.0
        return True
    if np.abs(work.impulse[k]) <= bound(arrays, work, j) + _SHARED * largest:
        return False
    work.slip[j] = -np.sign(work.impulse[k])
    return True


@njit(**INSIDE)
def speed_along(work: Workspace, k: int, velocity: np.ndarray) -> float:
    """Speed of a row, or of a drive, at a velocity of all bodies."""
    total = 0.0
    for r in range(len(velocity)):
        total += work.whole[k, r] * velocity[r]
    return total
