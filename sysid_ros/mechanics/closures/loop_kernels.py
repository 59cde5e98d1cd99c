r"""Kernels behind closed loops: one sample after the other, since each begins at the one before.

Rows of the closures are in world axes. The columns of a step come in this order: the u passive
joints, the driven joints that any loop depends on, and one more for what is to be solved with.
Only the bodies between a closure's places and their common ancestor are walked; all else moves
both places alike, and that ancestor counts as the world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures import (
    closure_arrays,
    closure_kernels,
    closure_motion,
    loop_arrays,
)
from sysid_ros.mechanics.closures.closure_kernels import fill_gaps_and_jacobian, fill_jacobian
from sysid_ros.mechanics.closures.closure_motion import fill_bias
from sysid_ros.mechanics.closures.loop_arrays import LoopArrays
from sysid_ros.mechanics.tree import forward_kinematics
from sysid_ros.mechanics.tree.forward_kinematics import body_forward_kinematics, spatial_axis
from sysid_ros.numerics import householder, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.householder import householder_least_squares
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest
from sysid_ros.numerics.spatial_vectors import motion_cross, put, six, spatial_plus

#: Files that are compiled into what Python calls.
SOURCES = (
    closure_arrays, closure_kernels, closure_motion, compiled, forward_kinematics, householder,
    loop_arrays, spatial_vectors, tables)

#: How a move ended: at its target, where the loops do not close, or where they are singular.
CLOSED, OUT_OF_REACH, SINGULAR = range(3)

# Newton's steps double their digits: after one this small the next would be below rounding.
_LAST_STEP = 1e-8
_MOST_STEPS = 12
# The tangent must tell where a step ends, up to this fraction of the step: else it is halved.
_TRUST = 0.3
_TANGENT_TOLERANCE = 1e-7
_SHORTEST = 1e-7
# Steps above this size, and pivots below, are checked for a singular configuration on the way.
_LARGE_STEP = 0.05
_SMALL_PIVOT = 0.1
_PART = INSIDE | MAKES_ARRAYS


class LoopWorkspace(NamedTuple):
    """Workspace for the b bodies of the loops.

    Attributes:
        pose: Axes of every body, row by row, then its origin, shape ``(b, 12)``.
        screw: Axes of their joints, shape ``(b, 3)``.
        axis: The same as spatial vectors, shape ``(b, 6)``.
        twist: Twists of the bodies, shape ``(b, 6)``.
        rate: Their spatial accelerations while no joint accelerates, shape ``(b, 6)``.
        ends: Of a closure, shape ``(3, 15)``.
    """

    pose: np.ndarray
    screw: np.ndarray
    axis: np.ndarray
    twist: np.ndarray
    rate: np.ndarray
    ends: np.ndarray


@njit(**_PART)
def _workspace(loops: LoopArrays) -> LoopWorkspace:
    bodies = len(loops.parent)
    return LoopWorkspace(
        np.zeros((bodies, 12)), np.zeros((bodies, 3)), np.zeros((bodies, 6)),
        np.zeros((bodies, 6)), np.zeros((bodies, 6)), np.zeros((3, 15)))


@njit(**INSIDE)
def _forward_kinematics(loops: LoopArrays, q: np.ndarray, work: LoopWorkspace) -> None:
    """Poses of the bodies and spatial axes of their joints."""
    for k in range(len(loops.parent)):
        position = loops.ratio[k] * q[loops.source[k]] + loops.offset[k]
        body_forward_kinematics(loops, work.pose, work.screw, k, position)
        spatial_axis(loops.revolute[k], work.pose, work.screw, work.axis, k)


@njit(**INSIDE)
def _bias(loops: LoopArrays, v: np.ndarray, work: LoopWorkspace, bias: np.ndarray) -> None:
    r"""Write the bias acceleration :math:`\dot J v` of the closures."""
    rest = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for k in range(len(loops.parent)):
        before, speed, axis = loops.parent[k], loops.ratio[k] * v[loops.source[k]], six(
            work.axis, k)
        twist, rate = rest, rest
        if before >= 0:
            twist, rate = six(work.twist, before), six(work.rate, before)
        put(work.twist, k, spatial_plus(twist, axis, speed))
        put(work.rate, k, spatial_plus(rate, motion_cross(twist, axis), speed))
    fill_bias(loops.closures, work, rest, work.ends, bias)


@njit(**_PART)
def _same_branch(size: int, before: np.ndarray, after: np.ndarray) -> bool:
    r"""Whether Jacobians of the passive joints have one orientation, det :math:`J^\top J'` > 0.

    Then no singular configuration lies between them.
    """
    product = np.zeros((size, size))
    for i in range(len(before)):
        for j in range(size):
            for k in range(size):
                product[j, k] += before[i, j] * after[i, k]
    return bool(np.linalg.det(product) > 0.0)


@njit(**_PART)
def _close_loops(
    loops: LoopArrays, unknowns: int, tolerance: float, q: np.ndarray, solution: np.ndarray,
    jacobian: np.ndarray,
) -> tuple[int, float, float]:
    """Newton's method for the passive joints that close the loops.

    Args:
        loops: The loops.
        unknowns: The number u of passive joints.
        tolerance: Largest gap in [m] that counts as closed.
        q: Positions of all joints, shape ``(m,)``; passive ones are written.
        solution: Written: minus the passive joints' motion per driven one, ``(u, d + 1)``.
        jacobian: Written: the Jacobian of the last step, shape ``(rows, u + d)``.

    Returns:
        How it ended, the smallest pivot, and the largest gap in [m].
    """
    closures, work = loops.closures, _workspace(loops)
    count, columns = closures.row[-1], len(loops.coordinate)
    rows, gap = np.empty((count, columns + 1)), np.empty(count)
    pivot, largest = 0.0, np.inf
    for _ in range(_MOST_STEPS):
        _forward_kinematics(loops, q, work)
        fill_gaps_and_jacobian(closures, work, work.ends, gap, jacobian)
        rows[:, :columns] = jacobian
        rows[:, columns] = gap
        largest = np.max(np.abs(gap))
        pivot = householder_least_squares(rows, unknowns, solution)
        if pivot == 0.0:
            return SINGULAR, pivot, largest
        step = 0.0
        for k in range(unknowns):
            q[loops.coordinate[k]] -= solution[k, columns - unknowns]
            step = max(step, abs(solution[k, columns - unknowns]))
        if not step < 1e3:
            break
        if step < _LAST_STEP:
            return (CLOSED if largest <= tolerance else OUT_OF_REACH), pivot, largest
    return OUT_OF_REACH, pivot, largest


@njit(**INSIDE)
def _tangent_predictor(
    loops: LoopArrays, unknowns: int, tangent: np.ndarray, here: np.ndarray, trial: np.ndarray
) -> float:
    """Predict the passive joints of ``trial`` along the tangent; length of the step."""
    size = 0.0
    for j in range(unknowns, len(loops.coordinate)):
        change = trial[loops.coordinate[j]] - here[loops.coordinate[j]]
        size += change * change
        for k in range(unknowns):
            trial[loops.coordinate[k]] -= tangent[k, j - unknowns] * change
    for k in range(unknowns):
        size += (trial[loops.coordinate[k]] - here[loops.coordinate[k]]) ** 2
    return float(np.sqrt(size))


@njit(**_PART)
def _track_path(
    loops: LoopArrays, unknowns: int, tolerance: float, start: np.ndarray, driven: np.ndarray,
    targets: np.ndarray, q: np.ndarray, status: np.ndarray,
) -> None:
    """Predictor-corrector continuation along straight lines of the driven joints, on one branch.

    After a sample that cannot be reached it goes on from the last configuration on the way there.

    Args:
        loops: As for :func:`_close_loops`, like the next two.
        unknowns: The number u of passive joints.
        tolerance: Largest gap in [m].
        start: A closed configuration, shape ``(m,)``.
        driven: Indices of the n driven joints.
        targets: Where they go, one sample after the other, shape ``(T, n)``.
        q: Written: positions of all joints, shape ``(T, m)``.
        status: Written: how the way to each sample ended, shape ``(T,)``.
    """
    count, columns = loops.closures.row[-1], len(loops.coordinate)
    here, trial = start.copy(), start.copy()
    tangent, old = np.empty((unknowns, columns - unknowns + 1)), np.empty((count, columns))
    solution, new = np.empty_like(tangent), np.empty_like(old)
    pivot = _close_loops(loops, unknowns, tolerance, here, tangent, old)[1]
    for t in range(len(targets)):
        done, step, begin = 0.0, 1.0, here.copy()
        status[t] = CLOSED
        while done < 1.0 and status[t] == CLOSED:
            part = min(done + step, 1.0)
            trial[:] = here
            for k, joint in enumerate(driven):
                trial[joint] = begin[joint] + part * (targets[t, k] - begin[joint])
            size = _tangent_predictor(loops, unknowns, tangent, here, trial)
            predicted = trial.copy()
            ended, found, _ = _close_loops(loops, unknowns, tolerance, trial, solution, new)
            if ended == CLOSED:
                risky = size > _LARGE_STEP or min(found, pivot) < _SMALL_PIVOT
                if not np.linalg.norm(trial - predicted) <= _TRUST * size + _TANGENT_TOLERANCE:
                    ended = OUT_OF_REACH
                elif risky and not _same_branch(unknowns, old, new):
                    ended = SINGULAR
            if ended == CLOSED:
                here[:], tangent[:], old[:] = trial, solution, new
                pivot, done, step = found, part, 2.0 * step
            else:
                step *= 0.5
                status[t] = ended if step < _SHORTEST else CLOSED
        q[t] = here


@njit(**_PART)
def _passive_joint_motion(
    loops: LoopArrays, unknowns: int, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    coupling: np.ndarray,
) -> int:
    """Velocities and accelerations of the passive joints from those of the driven ones.

    Writes them into v and a, shape ``(T, m)``, and the passive joints' motion per driven column
    into ``coupling``, shape ``(T, u, d)``. Returns the first singular sample, T for none.
    """
    closures, work = loops.closures, _workspace(loops)
    count, columns = closures.row[-1], len(loops.coordinate)
    rows, bias = np.empty((count, columns + 1)), np.empty(count)
    solution = np.empty((unknowns, columns - unknowns + 1))
    jacobian = np.empty((count, columns))
    for t in range(len(q)):
        _forward_kinematics(loops, q[t], work)
        fill_jacobian(closures, work, work.ends, jacobian)
        rows[:, :columns] = jacobian
        rows[:, columns] = 0.0
        if householder_least_squares(rows, unknowns, solution) == 0.0:
            return t
        for k in range(unknowns):
            joint = loops.coordinate[k]
            v[t, joint] = 0.0
            for j in range(columns - unknowns):
                coupling[t, k, j] = -solution[k, j]
                v[t, joint] -= solution[k, j] * v[t, loops.coordinate[unknowns + j]]
        _bias(loops, v[t], work, bias)
        rows[:, :columns] = jacobian
        rows[:, columns] = bias
        householder_least_squares(rows, unknowns, solution)
        for k in range(unknowns):
            joint = loops.coordinate[k]
            a[t, joint] = -solution[k, columns - unknowns]
            for j in range(columns - unknowns):
                a[t, joint] -= solution[k, j] * a[t, loops.coordinate[unknowns + j]]
    return len(q)


@njit(**_PART)
def _closure_equations(
    loops: LoopArrays, q: np.ndarray, gap: np.ndarray, rows: np.ndarray
) -> None:
    """Write gaps ``(T, r)`` and Jacobians ``(T, r, u + d)``."""
    work = _workspace(loops)
    for t in range(len(q)):
        _forward_kinematics(loops, q[t], work)
        fill_gaps_and_jacobian(loops.closures, work, work.ends, gap[t], rows[t])


def _compiled(sources: str) -> tuple[Callable[..., Any], ...]:
    """Entries from Python; a digest of the files is part of what is compiled."""

    @njit(**ENTRY | MAKES_ARRAYS)
    def close_loops(
        loops: LoopArrays, unknowns: int, tolerance: float, q: np.ndarray, solution: np.ndarray,
        jacobian: np.ndarray,
    ) -> tuple[int, float, float]:
        sources  # noqa: B018
        return _close_loops(loops, unknowns, tolerance, q, solution, jacobian)

    @njit(**ENTRY | MAKES_ARRAYS)
    def track_path(
        loops: LoopArrays, unknowns: int, tolerance: float, start: np.ndarray, driven: np.ndarray,
        targets: np.ndarray, q: np.ndarray, status: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        _track_path(loops, unknowns, tolerance, start, driven, targets, q, status)

    @njit(**ENTRY | MAKES_ARRAYS)
    def passive_joint_motion(
        loops: LoopArrays, unknowns: int, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        coupling: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        return _passive_joint_motion(loops, unknowns, q, v, a, coupling)

    @njit(**ENTRY | MAKES_ARRAYS)
    def closure_equations(
        loops: LoopArrays, q: np.ndarray, gap: np.ndarray, rows: np.ndarray
    ) -> None:
        sources  # noqa: B018
        _closure_equations(loops, q, gap, rows)

    return close_loops, track_path, passive_joint_motion, closure_equations


#: See :func:`_close_loops`, :func:`_track_path`, :func:`_passive_joint_motion` and
#: :func:`_closure_equations`.
close_loops, track_path, passive_joint_motion, closure_equations = _compiled(digest(*SOURCES))
