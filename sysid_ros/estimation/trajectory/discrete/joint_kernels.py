"""Compiled: positions and velocities of joints at many states, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import (
    body_terms,
    mechanism_arrays,
    rows,
    step,
)
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import Workspace
from sysid_ros.estimation.trajectory.discrete.rows import (
    WORLD,
    Rows,
    evaluate_row,
    row_second_derivative,
)
from sysid_ros.estimation.trajectory.discrete.step import turn
from sysid_ros.mechanics.joint_terms import dispatch, stribeck
from sysid_ros.numerics import dense, spatial_vectors
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :data:`read_joints`.
SOURCES = (
    body_terms, compiled, *dispatch.SOURCES, stribeck, dense, mechanism_arrays, rows,
    spatial_vectors, step)

_ENTRY = ENTRY | MAKES_ARRAYS | {'fastmath': False}
_PART = INSIDE | MAKES_ARRAYS | {'fastmath': False}


def _joint_reading(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def read_joints(
        rows: Rows, turning: np.ndarray, states: np.ndarray, work: Workspace, motion: np.ndarray,
        by_state: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        count, direction = len(turning), work.direction
        for k in range(len(states)):
            for body in range(len(work.positions)):
                turn(states[k], body, work)
            for j in range(count):
                motion[k, j] = evaluate_row(rows, j, work.positions, work.rotations, direction)
                _move_joint(rows, j, states[k], work, motion[k], by_state[k])
                if turning[j]:
                    c, s = count + 2 * j, count + 2 * j + 1
                    cosine = evaluate_row(rows, c, work.positions, work.rotations, direction)
                    sine = evaluate_row(rows, s, work.positions, work.rotations, direction)
                    motion[k, j] = np.arctan2(sine, cosine)
                    square = cosine * cosine + sine * sine
                    for q in range(12):
                        direction[j, q] = (
                            cosine * direction[s, q] - sine * direction[c, q]) / square
                for q in range(12):
                    body = rows.first[j] if q < 6 else rows.second[j]
                    if body != WORLD:
                        by_state[k, j, 12 * body + q % 6] = direction[j, q]

    return read_joints


@njit(**_PART)
def _move_joint(
    rows: Rows, j: int, state: np.ndarray, work: Workspace, motion: np.ndarray, by_state: np.ndarray
) -> None:
    """Velocity of a joint, and its derivatives."""
    count = len(motion) // 2
    row_second_derivative(rows, j, work.positions, work.rotations, work.slope)
    total, bodies = 0.0, (rows.first[j], rows.second[j])
    for p in range(2):
        if bodies[p] == WORLD:
            continue
        for c in range(6):
            along, speed = work.direction[j, 6 * p + c], state[13 * bodies[p] + 7 + c]
            total += along * speed
            by_state[count + j, 12 * bodies[p] + 6 + c] = along
            for q in range(12):
                if bodies[q // 6] != WORLD:
                    by_state[count + j, 12 * bodies[q // 6] + q % 6] += (
                        speed * work.slope[j, 6 * p + c, q])
    motion[count + j] = total


#: Positions and velocities of j joints at K states ``(K, 2 j)``, and their derivatives by the steps
#: of states ``(K, 2 j, 12 b)``, zero before; their directions of motion come first among rows, then
#: of each the two cosines that tell its angle, if it turns.
read_joints = _joint_reading(digest(*SOURCES))
