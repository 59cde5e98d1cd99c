"""What sensors read between nodes: states in between, and readings' derivatives by the nodes'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.dynamics.acceleration import Acceleration
from sysid_ros.estimation.trajectory.problem import Stretch
from sysid_ros.estimation.trajectory.sensors import Sensor
from sysid_ros.robot.model import RobotModel

# A stamp this near to a node, as a part of the step, is on it.
_ON = 1e-6

_Slopes = tuple[np.ndarray, np.ndarray | None, np.ndarray]


@dataclass(frozen=True, eq=False)
class Between:
    """Where K stamps lie among the nodes of a stretch.

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
    def of(cls, stretch: Stretch, t: np.ndarray) -> Between:
        """The places of stamps, in [s], shape ``(K,)``, within a stretch."""
        place = (t - stretch.t[0]) / stretch.step
        nearest = np.rint(place)
        place = np.where(np.abs(place - nearest) <= _ON, nearest, place)
        if (place == nearest).all():
            return cls(nearest.astype(np.int64), np.zeros(len(t)), stretch.step)
        node = np.minimum(np.floor(place), len(stretch.t) - 2).astype(np.int64)
        return cls(node, place - node, stretch.step)

    @property
    def on_nodes(self) -> bool:
        """Whether all are on nodes."""
        return not self.part.any()

    def read(
        self, sensor: Sensor, robot: RobotModel, states: np.ndarray,
        nodes: Acceleration | None, parameters: int,
    ) -> tuple[np.ndarray, _Slopes]:
        """Readings, and their derivatives by the states before and after and by parameters.

        Args:
            sensor: The sensor, of m numbers.
            robot: The robot.
            states: Positions and velocities at the nodes, shape ``(N + 1, 2 n)``.
            nodes: Accelerations there, where the sensor needs them.
            parameters: Number k of parameters.

        Returns:
            Shape ``(K, m)``, and derivatives of shape ``(K, m, 2 n)``, the same or None on
            nodes, and ``(K, m, k)``.
        """
        joints = states.shape[1] // 2
        if self.on_nodes:
            at = states[self.node]
            a = None if nodes is None else nodes.value[self.node]
            reading = sensor.read(robot, at[:, :joints], at[:, joints:], a)
            here = np.concatenate([reading.by_position, reading.by_velocity], axis=2)
            by_values = np.zeros((*reading.value.shape, parameters))
            if nodes is not None and reading.by_acceleration is not None:
                here = here + reading.by_acceleration @ _by_state(nodes, self.node)
                by_values += reading.by_acceleration @ nodes.by_parameters[self.node]
            return reading.value, (here, None, by_values)
        return self._read_between(sensor, robot, states, nodes, parameters)

    def _read_between(
        self, sensor: Sensor, robot: RobotModel, states: np.ndarray,
        nodes: Acceleration | None, parameters: int,
    ) -> tuple[np.ndarray, _Slopes]:
        joints, s, h, after = states.shape[1] // 2, self.part, self.step, self.node + 1
        # Of position and velocity before, then after: what they weigh in the position between,
        # and in the velocity.
        place = np.array([
            2.0 * s**3 - 3.0 * s**2 + 1.0, h * (s**3 - 2.0 * s**2 + s),
            3.0 * s**2 - 2.0 * s**3, h * (s**3 - s**2)])[..., None]
        speed = np.array([
            6.0 * (s**2 - s) / h, 3.0 * s**2 - 4.0 * s + 1.0,
            6.0 * (s - s**2) / h, 3.0 * s**2 - 2.0 * s])[..., None]
        ends = np.array([
            states[self.node, :joints], states[self.node, joints:],
            states[after, :joints], states[after, joints:]])
        q, v = np.sum(place * ends, axis=0), np.sum(speed * ends, axis=0)
        s = s[:, None]
        a = None if nodes is None else (
            (1.0 - s) * nodes.value[self.node] + s * nodes.value[after])
        reading = sensor.read(robot, q, v, a)
        slopes = [
            place[k][..., None] * reading.by_position + speed[k][..., None] * reading.by_velocity
            for k in range(4)]
        here = np.concatenate(slopes[:2], axis=2)
        beyond = np.concatenate(slopes[2:], axis=2)
        by_values = np.zeros((*reading.value.shape, parameters))
        if nodes is not None and reading.by_acceleration is not None:
            s = s[..., None]
            before, behind = (1.0 - s) * reading.by_acceleration, s * reading.by_acceleration
            here = here + before @ _by_state(nodes, self.node)
            beyond = beyond + behind @ _by_state(nodes, after)
            by_values += before @ nodes.by_parameters[self.node]
            by_values += behind @ nodes.by_parameters[after]
        return reading.value, (here, beyond, by_values)


def _by_state(nodes: Acceleration, chosen: np.ndarray) -> np.ndarray:
    """Derivatives of accelerations by positions and velocities, shape ``(K, n, 2 n)``."""
    return np.concatenate([nodes.by_position[chosen], nodes.by_velocity[chosen]], axis=2)
