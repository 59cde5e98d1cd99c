"""Sensor models: what a sensor would measure of a motion, and the derivatives of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sysid_ros.robot.model import RobotModel


class Reading(NamedTuple):
    """Predicted readings at S samples, and their derivatives.

    Attributes:
        value: In the sensor's units, shape ``(S, m)``.
        by_position: Shape ``(S, m, n)``.
        by_velocity: Shape ``(S, m, n)``.
        by_acceleration: Shape ``(S, m, n)``; None where it does not matter.
        by_parameters: With respect to k parameters, shape ``(S, m, k)``; None where they do
            not matter.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_acceleration: np.ndarray | None = None
    by_parameters: np.ndarray | None = None


class Sensor(Protocol):
    """What a problem needs to know about a sensor."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""

    @property
    def width(self) -> int:
        """How many numbers it measures at a time."""

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """What it would measure.

        Args:
            robot: The robot.
            q: Joint positions in [rad] or [m], shape ``(S, n)``.
            v: Joint velocities, shape ``(S, n)``.
            a: Joint accelerations, shape ``(S, n)``; given where :attr:`needs_acceleration`.
            values: Parameter values of the robot's torque model, bodies first, shape ``(p,)``;
                given where :attr:`needs_parameters`.
            columns: Indices of the k parameters to differentiate by, shape ``(k,)``; given where
                :attr:`needs_parameters`.

        Raises:
            ModelError: As for :meth:`require_robot`.
        """

    def require_robot(self, robot: RobotModel) -> None:
        """Refuse a robot that lacks what the sensor is mounted on.

        Raises:
            ModelError: What there is no such thing as, and what there is.
        """

    @property
    def needs_acceleration(self) -> bool:
        """Whether what it measures depends on accelerations."""

    @property
    def needs_parameters(self) -> bool:
        """Whether what it measures depends on parameters."""


@dataclass(frozen=True)
class Encoder:
    """Positions of some joints, or combinations of them, as absolute angles are.

    Args:
        weights: What each number is made of: joint names with their weights.
    """

    weights: tuple[tuple[tuple[str, float], ...], ...]

    needs_acceleration = False
    needs_parameters = False

    @classmethod
    def of(cls, joints: Sequence[str]) -> Encoder:
        """One encoder at each of some joints."""
        return cls(tuple(((joint, 1.0),) for joint in joints))

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'encoder of {", ".join("+".join(j for j, _ in row) for row in self.weights)}'

    @property
    def width(self) -> int:
        """How many numbers it measures at a time."""
        return len(self.weights)

    def matrix(self, robot: RobotModel) -> np.ndarray:
        """What it measures per joint position, shape ``(m, n)``.

        Raises:
            ModelError: The robot has no such joint.
        """
        matrix = np.zeros((self.width, len(robot.joint_names)))
        for row, weights in enumerate(self.weights):
            for joint, weight in weights:
                matrix[row, robot.joint_index(joint)] += weight
        return matrix

    def require_robot(self, robot: RobotModel) -> None:
        """Refuse a robot without one of the joints; see :class:`Sensor`."""
        self.matrix(robot)

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """Positions; see :class:`Sensor`."""
        matrix = self.matrix(robot)
        shape = (len(q), *matrix.shape)
        return Reading(q @ matrix.T, np.broadcast_to(matrix, shape), np.zeros(shape))


@dataclass(frozen=True)
class Tachometer(Encoder):
    """Velocities of some joints, or combinations of them."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return super().name.replace('encoder', 'tachometer', 1)

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """Velocities; see :class:`Sensor`."""
        matrix = self.matrix(robot)
        shape = (len(q), *matrix.shape)
        return Reading(v @ matrix.T, np.zeros(shape), np.broadcast_to(matrix, shape))
