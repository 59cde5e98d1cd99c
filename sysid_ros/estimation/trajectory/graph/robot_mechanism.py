"""Any robot as a mechanism of factor graphs, in the coordinates of its driven joints.

Closed loops are eliminated beforehand: driven joints determine the passive ones, so that these
coordinates are independent and there are no constraints left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.factors import Declared, SensorFactor, Sigma
from sysid_ros.estimation.trajectory.graph.mechanism import Constrained, Mechanism, Response
from sysid_ros.estimation.trajectory.graph.variables import Point
from sysid_ros.estimation.trajectory.sensors import Sensor
from sysid_ros.mechanics.closures.closed_chain import neutral_configuration
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations, require_smooth
from sysid_ros.robot.parameters import ParameterSet


@dataclass(frozen=True, eq=False)
class RobotMechanism:
    """A robot with its joint terms as a mechanism; see the module.

    Attributes:
        model: Torque model of the robot, without jumps.

    Raises:
        ModelError: Its torque jumps.
    """

    model: TorqueModel

    constraints: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 0

    def __post_init__(self) -> None:
        require_smooth(self.model)

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return self.model.robot.name

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The driven joints."""
        return tuple(self.model.robot.joint_names)

    @property
    def torques(self) -> tuple[str, ...]:
        """Names of the actuated joints, whose torques are variables."""
        return self.coordinates

    @property
    def independent(self) -> np.ndarray:
        """All of them, shape ``(n,)``."""
        return np.arange(len(self.coordinates))

    @property
    def parameters(self) -> ParameterSet:
        """All p parameters of the model."""
        return self.model.parameters

    @cached_property
    def assembly(self) -> np.ndarray:
        """Positions the robot can surely be in, shape ``(n,)``."""
        return neutral_configuration(self.model.robot)

    def constrained(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Constrained:
        """No constraints; see :class:`~.mechanism.Mechanism`."""
        flat, wide = np.zeros((len(q), 0)), np.zeros((len(q), 0, q.shape[1]))
        return Constrained(flat, wide, wide, flat, wide)

    def response(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
        columns: np.ndarray,
    ) -> Response:
        """How torques accelerate it; see :class:`~.mechanism.Mechanism`."""
        # Only parameters that a sought one moves have derivatives that are wanted.
        chosen = np.flatnonzero(columns.any(axis=1))
        try:
            found = linearised_accelerations(self.model, values, q, v, torque, chosen)
        except np.linalg.LinAlgError as error:
            raise EstimationError(
                'masses do not determine the motion', where=self.name,
                fix='Begin with bodies that are physically consistent') from error
        return Response(
            found.value, found.by_position, found.by_velocity, found.by_torque,
            found.by_parameters @ columns[chosen])


@dataclass(frozen=True, eq=False)
class RobotReading(SensorFactor):
    """What a sensor of a robot read at steps.

    Attributes:
        sensor: The sensor, of m numbers.
        value: Readings, NaN where they are missing, shape ``(N, m)``.
        sigma: Standard deviations of its noise, shape ``(m,)``.
    """

    sensor: Sensor
    value: np.ndarray
    sigma: Sigma
    at: None = None

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return self.sensor.name

    @property
    def tells_parameters(self) -> bool:  # type: ignore[override]
        """Whether what it reads depends on parameters."""
        return self.sensor.needs_parameters

    @property
    def variables(self) -> tuple[str, ...]:
        """Positions, velocities and, where they matter, accelerations."""
        return ('q', 'v', 'a') if self.sensor.needs_acceleration else ('q', 'v')

    def width(self, mechanism: Mechanism) -> int:
        """Numbers of the sensor."""
        return self.sensor.width

    def data(self, declared: Declared) -> np.ndarray:
        """The readings, shape ``(N, m)``; see ``SensorFactor``.

        Raises:
            EstimationError: They do not fit the sensor or the steps, or the mechanism is no robot.
        """
        if not isinstance(declared.mechanism, RobotMechanism):
            raise EstimationError(
                'a sensor of robots is not one of planar mechanisms', where=self.name,
                fix='Use Prior, Gyroscope, Accelerometer or LoadCell')
        return super().data(declared)

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what readings are off by; see ``NodeFactor``."""
        mechanism, places = point.mechanism, point.layout.places
        assert data is not None and isinstance(mechanism, RobotMechanism)
        chosen = np.flatnonzero(point.free_parameters.matrix.any(axis=1))
        reading = self.sensor.read(
            mechanism.model.robot, point['q'], point['v'],
            point['a'] if self.sensor.needs_acceleration else None,
            values=point.free_parameters.values(point.values), columns=chosen)
        rows[:, :, places['q']] = reading.by_position
        rows[:, :, places['v']] = reading.by_velocity
        if reading.by_acceleration is not None:
            rows[:, :, places['a']] = reading.by_acceleration
        if reading.by_parameters is not None and len(point.values):
            rows[:, :, point.layout.size:-1] = (
                reading.by_parameters @ point.free_parameters.matrix[chosen])
        rows[:, :, -1] = reading.value - data
