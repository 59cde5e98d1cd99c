"""What sensors read between nodes: states in between, and readings' derivatives by the nodes'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.trajectory.problem import Segment
from sysid_ros.estimation.trajectory.sensors import Sensor
from sysid_ros.mechanics.tree.acceleration import Acceleration
from sysid_ros.robot.model import RobotModel

# A stamp this near to a node, as a part of the step, is on it.
_ON = 1e-6

_Slopes = tuple[np.ndarray, np.ndarray | None, np.ndarray]
#: Of a node's position and velocity in positions and in velocities, (2, K, 1, 1) each, and of its
#: acceleration in accelerations, (K, 1, 1).
Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Between:
    """Where K stamps lie among the nodes of a segment.

    Positions in between follow the cubic polynomial that has the positions and velocities of
    both nodes (Hermite), velocities its derivative, accelerations a straight line.

    Attributes:
        node: The node before each, shape ``(K,)``.
        part: How far it is to the next, from 0 to 1, shape ``(K,)``.
        step: Time between nodes in [s].
    """

    node: np.ndarray
    part: np.ndarray
    step: float

    @classmethod
    def of(cls, segment: Segment, t: np.ndarray) -> Between:
        """The places of stamps, in [s], shape ``(K,)``, within a segment."""
        place = (t - segment.t[0]) / segment.step
        nearest = np.rint(place)
        place = np.where(np.abs(place - nearest) <= _ON, nearest, place)
        if (place == nearest).all():
            return cls(nearest.astype(np.int64), np.zeros(len(t)), segment.step)
        node = np.minimum(np.floor(place), len(segment.t) - 2).astype(np.int64)
        return cls(node, place - node, segment.step)

    @property
    def on_nodes(self) -> bool:
        """Whether all are on nodes."""
        return not self.part.any()

    def read(
        self, sensor: Sensor, robot: RobotModel, states: np.ndarray,
        nodes: Acceleration | None, values: np.ndarray, columns: np.ndarray,
    ) -> tuple[np.ndarray, _Slopes]:
        """Readings, and their derivatives by the states before and after and by parameters.

        Args:
            sensor: The sensor, of m numbers.
            robot: The robot.
            states: Positions and velocities at the nodes, shape ``(N + 1, 2 n)``.
            nodes: Accelerations there, where the sensor needs them.
            values: All parameter values, shape ``(p,)``.
            columns: Indices of the k parameters to differentiate by, shape ``(k,)``.

        Returns:
            Shape ``(K, m)``, and derivatives of shape ``(K, m, 2 n)``, the same or None on
            nodes, and ``(K, m, k)``.
        """
        motion, weights = self._motion(states, nodes)
        reading = sensor.read(robot, *motion, values=values, columns=columns)
        by_values = np.zeros((*reading.value.shape, len(columns)))
        if reading.by_parameters is not None:
            by_values += reading.by_parameters
        slopes = []
        for node, (place, speed, rate) in zip((self.node, self.node + 1), weights, strict=False):
            slope = np.concatenate([
                place[k] * reading.by_position + speed[k] * reading.by_velocity
                for k in (0, 1)], axis=2)
            if nodes is not None and reading.by_acceleration is not None:
                felt = rate * reading.by_acceleration
                slope += felt @ np.concatenate(
                    [nodes.by_position[node], nodes.by_velocity[node]], axis=2)
                by_values += felt @ nodes.by_parameters[node]
            slopes.append(slope)
        return reading.value, (slopes[0], slopes[1] if len(slopes) > 1 else None, by_values)

    def _motion(
        self, states: np.ndarray, nodes: Acceleration | None
    ) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray | None], list[Weights]]:
        """Positions, velocities and accelerations at the stamps, and what nodes weigh in them."""
        joints, ends = states.shape[1] // 2, self._weights()
        q, v = np.zeros((2, len(self.node), joints))
        a = None if nodes is None else np.zeros_like(q)
        for node, (place, speed, rate) in zip((self.node, self.node + 1), ends, strict=False):
            for k, part in enumerate((states[node, :joints], states[node, joints:])):
                q += place[k][..., 0] * part
                v += speed[k][..., 0] * part
            if nodes is not None and a is not None:
                a += rate[..., 0] * nodes.value[node]
        return (q, v, a), ends

    def _weights(self) -> list[Weights]:
        """Weights of the node before and, unless all stamps are on nodes, of that after."""
        s, h = self.part[:, None, None], self.step
        one, none = np.ones_like(s), np.zeros_like(s)
        if self.on_nodes:
            return [(np.array([one, none]), np.array([none, one]), one)]
        return [
            (np.array([2.0 * s**3 - 3.0 * s**2 + 1.0, h * (s**3 - 2.0 * s**2 + s)]),
             np.array([6.0 * (s**2 - s) / h, 3.0 * s**2 - 4.0 * s + 1.0]), 1.0 - s),
            (np.array([3.0 * s**2 - 2.0 * s**3, h * (s**3 - s**2)]),
             np.array([6.0 * (s - s**2) / h, 3.0 * s**2 - 2.0 * s]), s),
        ]
