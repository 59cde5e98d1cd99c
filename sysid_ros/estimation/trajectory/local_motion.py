"""Positions and velocities at a time from what sensors measured around it.

A cubic polynomial of every joint is fitted to the readings near that time, whatever the sensors
are: the state that simulation begins with where none was recorded.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.problem import Observation, Segment
from sysid_ros.robot.model import RobotModel

# Readings up to so far away in [s] are used, and at least so many of each sensor.
_WINDOW = 0.04
_FEWEST = 8
_ORDER = 3
# Readings may depend on the motion nonlinearly: so many Gauss-Newton iterations.
_ITERATIONS = 6
_SETTLED = 1e-6
# Directions with singular values below this part of the largest are not measured.
_UNMEASURED = 1e-6


def local_state(robot: RobotModel, segment: Segment, time: float) -> np.ndarray:
    """State at a time, zero in directions that no sensor shows.

    Args:
        robot: The robot, of n joints.
        segment: What was measured, and when.
        time: In [s].

    Returns:
        Positions and velocities, shape ``(2, n)``.
    """
    joints = len(robot.joint_names)
    # Derivatives at that time times powers of the window, so that they count alike.
    coefficients = np.zeros((_ORDER + 1, joints))
    near = [_near(observation, time) for observation in segment.observations]
    for _ in range(_ITERATIONS):
        systems = [_linear(robot, observation, time, coefficients) for observation in near]
        right = np.concatenate([system[0] for system in systems])
        rows = np.concatenate([system[1] for system in systems])
        measured = np.isfinite(right)
        if not measured.any():
            break
        step = np.linalg.lstsq(rows[measured], right[measured], rcond=_UNMEASURED)[0]
        coefficients = coefficients + step.reshape(coefficients.shape)
        if np.linalg.norm(step) <= _SETTLED * np.linalg.norm(coefficients):
            break
    return np.array([coefficients[0], coefficients[1] / _WINDOW])


def _near(observation: Observation, time: float) -> Observation:
    """The samples of an observation that count."""
    measured = np.flatnonzero(np.isfinite(observation.values).any(axis=1))
    distance = np.abs(observation.t[measured] - time)
    order = np.argsort(distance, kind='stable')
    count = max(int(np.count_nonzero(distance <= _WINDOW)), _FEWEST)
    chosen = np.sort(measured[order[:count]])
    return Observation(
        observation.sensor, observation.t[chosen], observation.values[chosen],
        observation.sigma)


def _linear(
    robot: RobotModel, observation: Observation, time: float, coefficients: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted residuals ``(R,)``, NaN where missing, and derivatives ``(R, (d + 1) n)``."""
    basis = _basis((observation.t - time) / _WINDOW)
    q, v, a = np.einsum('xKd,dn->xKn', basis, coefficients)
    sensor = observation.sensor
    reading = sensor.read(robot, q, v, a if sensor.needs_acceleration else None)
    rows = np.zeros((*reading.value.shape, *coefficients.shape))
    parts = (reading.by_position, reading.by_velocity, reading.by_acceleration)
    for shape, part in zip(basis, parts, strict=True):
        if part is not None:
            rows += np.einsum('Kmn,Kd->Kmdn', part, shape)
    residual = (observation.values - reading.value) / observation.sigma
    rows /= observation.sigma[:, None, None]
    return residual.reshape(-1), rows.reshape(residual.size, -1)


def _basis(s: np.ndarray) -> np.ndarray:
    """Powers over factorials of a time in windows, and their derivatives, ``(3, K, d + 1)``."""
    powers = [np.ones_like(s)]
    for k in range(1, _ORDER + 1):
        powers.append(powers[-1] * s / k)
    table = np.zeros((3, len(s), _ORDER + 1))
    for derivative in range(3):
        for k in range(derivative, _ORDER + 1):
            table[derivative, :, k] = powers[k - derivative] / _WINDOW**derivative
    return table
