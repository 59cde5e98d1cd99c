"""Sensors on links: what they measure of the motion of a link, and of the load it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin

from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.trajectory.sensors import Reading
from sysid_ros.mechanics.regressor.transmitted_load import load_gradient, load_regressor, with_cut
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.mechanics.tree.link_motion import LinkMotion, angular_velocity, specific_force
from sysid_ros.robot.model import RobotModel

_Vector = tuple[float, float, float]
_ZERO: _Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Mounting:
    """Where a sensor sits.

    Args:
        link: Link it is fixed to.
        origin: Its position in the frame of that link in [m].
        rpy: Its orientation in that frame as roll, pitch, yaw in [rad].

    Raises:
        ModelError: A list is not three finite numbers.
    """

    link: str
    origin: _Vector = _ZERO
    rpy: _Vector = _ZERO

    def __post_init__(self) -> None:
        for name in ('origin', 'rpy'):
            object.__setattr__(
                self, name, _three(getattr(self, name), f'sensor on {self.link}: {name}'))

    def placement(self, robot: RobotModel) -> tuple[int, np.ndarray, np.ndarray]:
        """Body of the link (-1 for the base), and the sensor's axes and origin in its frame.

        Returns:
            The index of the body, shapes ``(3, 3)`` and ``(3,)``.

        Raises:
            ModelError: The robot has no such link.
        """
        body, pose = robot.place_of(self.link)
        turn = pin.rpy.rpyToMatrix(*self.rpy)
        return body, pose[:3, :3] @ turn, pose[:3, :3] @ np.array(self.origin) + pose[:3, 3]


@dataclass(frozen=True)
class _Mounted:
    """What sensors on links have in common."""

    mounting: Mounting

    kind: ClassVar[str]
    needs_parameters: ClassVar[bool] = False
    width: ClassVar[int] = 3

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'{self.kind} on {self.mounting.link}'

    def require_robot(self, robot: RobotModel) -> None:
        """Refuse a robot without the link; see :class:`Sensor`."""
        self.mounting.placement(robot)


@dataclass(frozen=True)
class Gyroscope(_Mounted):
    """Angular velocity of a link in the axes of the sensor, in [rad/s].

    Args:
        mounting: Where it sits; its position does not matter.
    """

    kind: ClassVar[str] = 'gyroscope'
    needs_acceleration: ClassVar[bool] = False

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """Angular velocity; see :class:`Sensor`."""
        body, axes, _ = self.mounting.placement(robot)
        turned = _in_axes(axes, angular_velocity(robot, body, q, v))
        return turned._replace(by_acceleration=None)


@dataclass(frozen=True)
class Accelerometer(_Mounted):
    """Specific force at a point of a link in the axes of the sensor, in [m/s²].

    That is acceleration less gravity: at rest the sensor measures what holds it up.

    Args:
        mounting: Where it sits.
    """

    kind: ClassVar[str] = 'accelerometer'
    needs_acceleration: ClassVar[bool] = True

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """Specific force; see :class:`Sensor`.

        Raises:
            EstimationError: There are no accelerations.
            ModelError: The robot has no such link.
        """
        body, axes, point = self.mounting.placement(robot)
        return _in_axes(axes, specific_force(robot, body, point, q, v, _given(a, self.name)))


@dataclass(frozen=True)
class PlaceTracker(_Mounted):
    """Where a point of a link is in the base frame in [m], as cameras and trackers see it.

    Args:
        mounting: The point; its orientation does not matter.
    """

    kind: ClassVar[str] = 'tracker'
    needs_acceleration: ClassVar[bool] = False

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """The place; see :class:`Sensor`."""
        body, _, point = self.mounting.placement(robot)
        poses, bodies = body_poses(robot, q), np.array([body])
        place = poses.points(bodies, point[None])
        # Forces along each axis of the base, seen at the joints, are the rows of the Jacobian.
        jacobian = np.stack([
            poses.joint_forces(bodies, place, np.broadcast_to(axis, place.shape))
            for axis in np.eye(3)], axis=1)
        return Reading(place[:, 0], jacobian, np.zeros_like(jacobian))


@dataclass(frozen=True)
class LoadCell:
    """Torque in [N·m] or force in [N] that a joint transmits to all that it carries.

    It is positive as the torque of the joint is. Friction, springs and armature of the joint
    itself lie before the cell: it measures what the bodies outside need for their motion, which
    depends on the robot's inertial parameters alone.

    Args:
        joint: Moving joint that the cell sits in.
        axis: Direction of the load in the frame of the joint at position zero, as a description
            gives the axis of a joint; None for the axis of the joint.
        origin: Point of the axis of a torque, in the same frame in [m].
        force: Whether a force is measured; None for a force where the joint slides, a torque
            where it turns.

    Raises:
        ModelError: A list is not three finite numbers, or the axis has no length.
    """

    joint: str
    axis: _Vector | None = None
    origin: _Vector = _ZERO
    force: bool | None = None

    needs_acceleration = True
    needs_parameters = True
    width = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, 'origin', _three(self.origin, f'{self.name}: origin'))
        if self.axis is None:
            return
        object.__setattr__(self, 'axis', _three(self.axis, f'{self.name}: axis'))
        if not any(self.axis):
            raise ModelError('the load cell has no axis', where=self.name, found=self.axis)

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return f'load cell in {self.joint}'

    def require_robot(self, robot: RobotModel) -> None:
        """Refuse a robot without the joint, or with closed loops; see :class:`Sensor`."""
        self._cut(robot)

    def read(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, *,
        values: np.ndarray | None = None, columns: np.ndarray | None = None,
    ) -> Reading:
        """The load; see :class:`Sensor`.

        Raises:
            EstimationError: There are no accelerations or no parameters.
            ModelError: The robot has no such joint, or its loops are closed.
        """
        cut, a = self._cut(robot), _given(a, self.name)
        if values is None or columns is None:
            raise EstimationError(
                'what the sensor measures depends on parameters, and there are none',
                where=self.name, fix='Read it with values and columns')
        size = 10 * len(robot.body_names)
        rows = load_regressor(cut, q, v, a)
        by_q, by_v, by_a = load_gradient(cut, values[:size], q, v, a)
        by_parameters = np.zeros((len(q), len(columns)))
        inertial = columns < size
        by_parameters[:, inertial] = rows[:, columns[inertial]]
        return Reading(*(
            part[:, None] for part in (rows @ values[:size], by_q, by_v, by_a, by_parameters)))

    def _cut(self, robot: RobotModel) -> RobotModel:
        axis = None if self.axis is None else np.array(self.axis)
        return with_cut(robot, self.joint, axis, np.array(self.origin), self.force)


def _three(numbers: object, where: str) -> _Vector:
    """Three finite numbers as plain floats."""
    try:
        x, y, z = np.array(numbers, dtype=float).tolist()
    except (TypeError, ValueError):
        x = y = z = np.nan
    if not np.isfinite((x, y, z)).all():
        raise ModelError(
            'the numbers do not fit', where=where, found=numbers, allowed='three finite numbers')
    return x, y, z


def _given(a: np.ndarray | None, sensor: str) -> np.ndarray:
    if a is None:
        raise EstimationError(
            'what the sensor measures depends on accelerations, and there are none', where=sensor)
    return a


def _in_axes(axes: np.ndarray, motion: LinkMotion) -> Reading:
    """The motion of a body in the axes ``(3, 3)`` of a sensor on it."""
    by_q, by_v, by_a = (
        axes.T @ slope
        for slope in (motion.by_position, motion.by_velocity, motion.by_acceleration))
    return Reading(motion.value @ axes, by_q, by_v, by_a)
