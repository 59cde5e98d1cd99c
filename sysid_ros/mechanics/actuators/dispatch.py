"""Actuators as compiled kernels call them: one function for all kinds, by their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.actuators import envelope
from sysid_ros.mechanics.actuators.envelope import LIMITS, clipped_torque
from sysid_ros.mechanics.actuators.kind import MOST_CONSTANTS, Constants, TorqueAndSlopes
from sysid_ros.mechanics.actuators.kinds import KINDS
from sysid_ros.numerics.jit import INSIDE

#: Number of a joint without an actuator, whose torque is given.
NONE = -1
#: Files that are compiled into what calls :func:`add_actuator_torque`.
SOURCES = tuple(dict.fromkeys(
    [sys.modules[__name__], envelope] + [sys.modules[kind.law.__module__] for kind in KINDS]))
#: Columns of slopes: by command, position and velocity; then those by constants and limits.
BY_COMMAND, BY_POSITION, BY_VELOCITY, BY_CONSTANTS = range(4)
BY_LIMITS = BY_CONSTANTS + MOST_CONSTANTS
#: How many columns these are.
SLOPES = BY_LIMITS + len(LIMITS)


class ActuatorArrays(NamedTuple):
    """Actuators of n joints as arrays.

    Attributes:
        kind: Number of the kind of each in :data:`~.kinds.KINDS`, :data:`NONE` without one,
            shape ``(n,)``.
        constants: Their constants, shape ``(n, 5)``.
        limits: Torque limit in [N·m] or [N], stall torque and no-load speed in [rad/s] or [m/s],
            infinite where there is none, shape ``(n, 3)``.
        slots: Place of each constant, then of each limit, among the parameters to differentiate
            by, -1 for none, shape ``(n, 8)``.
        delay_slot: Place of the delay of the commands among these, -1 for none.
        filter_slot: Place of the time constant of their filter, -1 for none.
    """

    kind: np.ndarray
    constants: np.ndarray
    limits: np.ndarray
    slots: np.ndarray
    delay_slot: int
    filter_slot: int


def no_actuators(joints: int) -> ActuatorArrays:
    """Arrays of joints whose torques are given.

    Args:
        joints: How many.
    """
    return ActuatorArrays(
        np.full(joints, NONE), np.zeros((joints, MOST_CONSTANTS)),
        np.full((joints, len(LIMITS)), np.inf), np.full((joints, SLOPES - BY_CONSTANTS), -1),
        delay_slot=-1, filter_slot=-1)


def _law_or(number: int, law: Callable[..., Any], other: Callable[..., Any] | None) -> Any:
    """The law of one kind, or what others give; the last kind is not asked for its number."""
    if other is None:
        @njit(**INSIDE)
        def only(kind: int, u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
            return law(u, q, v, p)

        return only

    @njit(**INSIDE)
    def choose(kind: int, u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
        if kind == number:
            return law(u, q, v, p)
        return other(kind, u, q, v, p)

    return choose


_law: Any = None
for _number, _kind in reversed(list(enumerate(KINDS))):
    _law = _law_or(_number, _kind.law, _law)


@njit(**INSIDE)
def add_actuator_torque(
    actuators: ActuatorArrays, j: int, u: float, q: float, v: float, torque: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Add the torque that a command makes at joint j, within its envelope, and write its slopes.

    Args:
        actuators: The actuators, one of them at this joint.
        j: The joint.
        u: Its command.
        q: Its position in [rad] or [m].
        v: Its velocity in [rad/s] or [m/s].
        torque: Is added to, shape ``(n,)``.
        slopes: Its row is filled; those by command, position and constants are zero where the
            torque is at the edge of the envelope, shape ``(n, 11)``.
    """
    c, limits = actuators.constants, actuators.limits
    value, by_command, by_position, by_velocity, by_constants = _law(
        actuators.kind[j], u, q, v, (c[j, 0], c[j, 1], c[j, 2], c[j, 3], c[j, 4]))
    value, is_free, edge_by_velocity, by_limits = clipped_torque(
        value, v, (limits[j, 0], limits[j, 1], limits[j, 2]))
    torque[j] += value
    slopes[j, BY_LIMITS], slopes[j, BY_LIMITS + 1] = by_limits[0], by_limits[1]
    slopes[j, BY_LIMITS + 2] = by_limits[2]
    if not is_free:
        for k in range(BY_LIMITS):
            slopes[j, k] = 0.0
        slopes[j, BY_VELOCITY] = edge_by_velocity
        return
    slopes[j, BY_COMMAND], slopes[j, BY_POSITION] = by_command, by_position
    slopes[j, BY_VELOCITY] = by_velocity
    slopes[j, BY_CONSTANTS], slopes[j, BY_CONSTANTS + 1] = by_constants[0], by_constants[1]
    slopes[j, BY_CONSTANTS + 2], slopes[j, BY_CONSTANTS + 3] = by_constants[2], by_constants[3]
    slopes[j, BY_CONSTANTS + 4] = by_constants[4]
