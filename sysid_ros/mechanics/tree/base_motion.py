"""Measured motion of a base that floats, as the dynamics of the robot see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.robot.model import STANDARD_GRAVITY, RobotModel


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """How the base moves, in the axes of the base frame.

    Position and orientation do not enter the dynamics; of gravity all that matters is that
    the base, held still, accelerates against it.

    Args:
        angular_velocity: Angular velocity in [rad/s], shape ``(T, 3)``.
        angular_acceleration: Its derivative in [rad/s²], shape ``(T, 3)``.
        proper_acceleration: Acceleration of the origin of the base frame less gravity in
            [m/s²], which is what an accelerometer there shows, shape ``(T, 3)``.

    Raises:
        ParameterError: The shapes differ, or a number is not finite.
    """

    angular_velocity: np.ndarray
    angular_acceleration: np.ndarray
    proper_acceleration: np.ndarray

    def __post_init__(self) -> None:
        for name in ('angular_velocity', 'angular_acceleration', 'proper_acceleration'):
            array = np.array(getattr(self, name), dtype=float)
            if array.ndim != 2 or array.shape != (len(self.angular_velocity), 3):
                raise ParameterError(
                    'the motion of the base has the wrong shape', where=name,
                    found=array.shape, allowed='(samples, 3), as many for all',
                )
            if not np.isfinite(array).all():
                raise ParameterError('the motion of the base is not finite', where=name)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_world(
        cls, orientation: np.ndarray, angular_velocity: np.ndarray,
        angular_acceleration: np.ndarray, linear_acceleration: np.ndarray,
        gravity: tuple[float, float, float] = STANDARD_GRAVITY,
    ) -> BaseMotion:
        """Motion that is given in the axes of the world.

        Args:
            orientation: Rotation from base to world axes, shape ``(T, 3, 3)``.
            angular_velocity: In world axes in [rad/s], shape ``(T, 3)``.
            angular_acceleration: In world axes in [rad/s²], shape ``(T, 3)``.
            linear_acceleration: Of the origin of the base frame, in world axes in [m/s²],
                without gravity: zero for a base at rest, shape ``(T, 3)``.
            gravity: In world axes in [m/s²].

        Raises:
            ParameterError: The shapes do not fit, or a matrix is not a rotation.
        """
        orientation = np.asarray(orientation, dtype=float)
        samples = len(np.asarray(angular_velocity))
        if orientation.shape != (samples, 3, 3) or not np.allclose(
            np.einsum('tji,tjk->tik', orientation, orientation), np.eye(3), atol=1e-6
        ):
            raise ParameterError(
                'the orientation of the base cannot be used', where='orientation',
                found=orientation.shape, allowed=f'{samples} rotation matrices',
                fix='Give unit quaternions (x, y, z, w)',
            )
        turned = (
            np.einsum('tji,tj->ti', orientation, np.asarray(vector, dtype=float))
            for vector in (
                angular_velocity, angular_acceleration,
                np.asarray(linear_acceleration, dtype=float) - np.asarray(gravity),
            )
        )
        return cls(*turned)

    @classmethod
    def from_imu(
        cls, gyroscope: np.ndarray, angular_acceleration: np.ndarray,
        accelerometer: np.ndarray, pose: np.ndarray,
    ) -> BaseMotion:
        """Motion that an inertial measurement unit on the base shows.

        Args:
            gyroscope: Angular velocity in the axes of the unit in [rad/s], shape ``(T, 3)``.
            angular_acceleration: Its derivative in [rad/s²], shape ``(T, 3)``.
            accelerometer: Proper acceleration in its axes in [m/s²]; 9.81 upwards at rest,
                shape ``(T, 3)``.
            pose: Pose of the unit in the base frame, shape ``(4, 4)``.

        Raises:
            ParameterError: The shapes differ, or a number is not finite.
        """
        omega, alpha, there = (
            np.asarray(x, dtype=float) @ pose[:3, :3].T
            for x in (gyroscope, angular_acceleration, accelerometer)
        )
        arm = np.broadcast_to(pose[:3, 3], there.shape)
        turning = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        return cls(omega, alpha, there - turning)

    def __len__(self) -> int:
        return len(self.angular_velocity)

    def with_joints(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Motion of all joints of a robot with a floating base, ``(T, 6 + n)`` each.

        The three turning joints in front give :math:`\alpha = \sum_i a_i e_i +
        \omega_1 e_1 \times \omega_2 e_2 + (\omega_1 e_1 + \omega_2 e_2) \times \omega_3 e_3`
        at position zero, so their accelerations are the rest.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.

        Raises:
            ParameterError: There are not as many samples.
        """
        for name, array in zip('qva', (q, v, a), strict=True):
            if np.ndim(array) != 2 or len(array) != len(self):
                raise ParameterError(
                    'joints and base have other samples', where=name, found=np.shape(array),
                    allowed=f'({len(self)}, joints)',
                )
        x, y, z = self.angular_velocity.T
        spin = self.angular_acceleration - np.column_stack([y * z, -x * z, x * y])
        zeros = np.zeros_like(spin)
        return (
            np.hstack([zeros, zeros, q]),
            np.hstack([zeros, self.angular_velocity, v]),
            np.hstack([self.proper_acceleration, spin, a]),
        )


def floating_base_regressor(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray, base: BaseMotion
) -> np.ndarray:
    r"""Regressor of the base's force and moment and of the joint torques.

    Args:
        robot: What :func:`~sysid_ros.robot.floating_base.with_floating_base` gave, with b
            bodies (the base first) and n joints beside the base's.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.
        base: Motion of the base.

    Returns:
        Shape ``(T, 6 + n, 10 b)``. The first six rows give the force in [N] and the moment
        about the origin of the base frame in [N·m], in base axes, that all external wrenches
        together exert; the others the joint torques. Joint torques are those of motors and
        of external wrenches: :math:`Y\phi = [0, \tau] + \sum J^T f`.

    Raises:
        ParameterError: The robot has no floating base, or the shapes do not fit.

    References:
        Ayusawa, Venture and Nakamura 2014, "Identifiability and identification of inertial
        parameters using the underactuated base-link dynamics for legged multibody systems".
    """
    if not robot.base_joints:
        raise ParameterError(
            'the base of the robot does not float', where=robot.name,
            fix='Use with_floating_base(robot)',
        )
    return inertial_regressor(robot, *base.with_joints(q, v, a))
