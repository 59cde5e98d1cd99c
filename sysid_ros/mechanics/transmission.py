"""Transmissions: what motors measure, turned into what joints do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError


@dataclass(frozen=True)
class Transmission:
    r"""Constant gears and couplings between motors and joints.

    Motor positions are :math:`q_m = N q`; since power is kept, joint torques are
    :math:`\tau = N^T \tau_m`. Off-diagonal entries couple axes, as in robot wrists.

    Args:
        motor_per_joint: The matrix N, shape ``(n, n)``, row per motor, column per joint.

    Raises:
        ConfigurationError: The matrix is not square, not finite, or singular.
    """

    motor_per_joint: np.ndarray

    def __post_init__(self) -> None:
        matrix = np.array(self.motor_per_joint, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ConfigurationError(
                'the transmission matrix is not square', where='motor_per_joint',
                found=matrix.shape, allowed='(joints, joints)',
                fix='Write a row for each motor and a column for each joint')
        if not np.isfinite(matrix).all() or np.linalg.matrix_rank(matrix) < len(matrix):
            raise ConfigurationError(
                'the transmission matrix cannot be inverted', where='motor_per_joint',
                found=matrix.tolist(),
                fix='Give every joint a motor with a gear ratio other than 0',
            )
        matrix.setflags(write=False)
        object.__setattr__(self, 'motor_per_joint', matrix)

    def joint_motion(self, motor: np.ndarray) -> np.ndarray:
        """Joint positions, velocities or accelerations from the motors', shape ``(T, n)``.

        Raises:
            ConfigurationError: There is not one column per motor.
        """
        return np.linalg.solve(self.motor_per_joint, self._checked(motor).T).T.copy()

    def joint_torque(self, motor_torque: np.ndarray) -> np.ndarray:
        """Joint torques from motor torques, shape ``(T, n)``.

        Raises:
            ConfigurationError: There is not one column per motor.
        """
        return self._checked(motor_torque) @ self.motor_per_joint

    def _checked(self, motor: np.ndarray) -> np.ndarray:
        motor = np.asarray(motor, dtype=float)
        motors = len(self.motor_per_joint)
        if motor.ndim != 2 or motor.shape[1] != motors:
            raise ConfigurationError(
                'the signals do not fit the transmission', where='motor_per_joint',
                found=motor.shape, allowed=f'(samples, {motors})',
            )
        return motor
