"""Torques of actuators at many samples at once, for motion that NumPy integrates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.actuators import dispatch
from sysid_ros.mechanics.actuators.actuators import ActuatedModel
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.dispatch import (
    BY_COMMAND,
    BY_CONSTANTS,
    BY_POSITION,
    BY_VELOCITY,
    NONE,
    SLOPES,
    ActuatorArrays,
    add_actuator_torque,
)
from sysid_ros.numerics.jit import ENTRY, digest


class ActuatorTorques(NamedTuple):
    """Torques at S samples, what was given among them, and their derivatives.

    Attributes:
        value: In [N·m] or [N], shape ``(S, n)``.
        by_position: Of each joint by its own position, shape ``(S, n)``.
        by_velocity: By its own velocity, shape ``(S, n)``.
        by_parameters: By k parameters, shape ``(S, n, k)``.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_parameters: np.ndarray

    def along(self, state_by: np.ndarray, starts: int) -> np.ndarray:
        """Derivatives by what states depend on, shape ``(S, n, w)``.

        Args:
            state_by: Of the states, shape ``(S, 2, n, w)``.
            starts: How many of the w are by starts; the others are the parameters.
        """
        found = self.by_position[..., None] * state_by[:, 0]
        found += self.by_velocity[..., None] * state_by[:, 1]
        found[:, :, starts:] += self.by_parameters
        return np.asarray(found)


def actuator_torques(
    actuators: ActuatorArrays, torque: np.ndarray, command: np.ndarray, command_by: np.ndarray,
    state: np.ndarray, columns: int,
) -> ActuatorTorques:
    """Torques that commands make, on top of given ones.

    Args:
        actuators: The actuators.
        torque: Given torques in [N·m] or [N], shape ``(S, n)``.
        command: Commands, shape ``(S, n)``.
        command_by: Derivatives of these by the delay and by the time constant of their filter,
            shape ``(2, S, n)``.
        state: Positions and velocities, shape ``(S, 2, n)``.
        columns: How many parameters k to differentiate by.
    """
    samples, joints = torque.shape
    found = ActuatorTorques(
        np.array(torque, dtype=float, order='C'), np.zeros((samples, joints)),
        np.zeros((samples, joints)), np.zeros((samples, joints, columns)))
    _fill(
        actuators, np.ascontiguousarray(command), np.ascontiguousarray(command_by),
        np.ascontiguousarray(state), np.zeros((joints, SLOPES)), *found)
    return found


def torques_along(
    actuated: ActuatedModel, values: np.ndarray, commands: HeldCommand, t: np.ndarray,
    q: np.ndarray, v: np.ndarray, *, limited: bool = True,
) -> np.ndarray:
    """Torques that commands make along a measured motion, in [N·m] or [N], shape ``(T, n)``.

    Args:
        actuated: The actuators.
        values: Of all parameters of the torque model, shape ``(p,)``.
        commands: What they were told.
        t: Times in [s] on the clock of the commands, shape ``(T,)``.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities, shape ``(T, n)``.
        limited: Whether the drives make no more than they can; otherwise what commands ask for.
    """
    arrays = actuated.arrays(values, np.full(len(values), -1))
    if not limited:
        arrays = arrays._replace(limits=np.full_like(arrays.limits, np.inf))
    command = actuated.commands(commands, values).at(t - actuated.delay(values))
    return actuator_torques(
        arrays, np.zeros_like(q), command, np.zeros((2, *q.shape)), np.stack([q, v], axis=1), 0
    ).value


def _compiled(sources: str) -> Callable[..., None]:
    """Many samples as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def fill(
        actuators: ActuatorArrays, command: np.ndarray, command_by: np.ndarray, state: np.ndarray,
        slopes: np.ndarray, value: np.ndarray, by_position: np.ndarray, by_velocity: np.ndarray,
        by_parameters: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for s in range(len(value)):
            for j in range(value.shape[1]):
                if actuators.kind[j] == NONE:
                    continue
                add_actuator_torque(
                    actuators, j, command[s, j], state[s, 0, j], state[s, 1, j], value[s],
                    slopes)
                by_position[s, j] = slopes[j, BY_POSITION]
                by_velocity[s, j] = slopes[j, BY_VELOCITY]
                for k in range(actuators.slots.shape[1]):
                    if actuators.slots[j, k] >= 0:
                        by_parameters[s, j, actuators.slots[j, k]] += slopes[j, BY_CONSTANTS + k]
                if actuators.delay_slot >= 0:
                    by_parameters[s, j, actuators.delay_slot] += (
                        slopes[j, BY_COMMAND] * command_by[0, s, j])
                if actuators.filter_slot >= 0:
                    by_parameters[s, j, actuators.filter_slot] += (
                        slopes[j, BY_COMMAND] * command_by[1, s, j])

    return fill


SOURCES = (dispatch, *dispatch.SOURCES)
_fill = _compiled(digest(*SOURCES))
