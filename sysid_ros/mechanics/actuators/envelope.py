r"""Torque-speed envelope of a drive: what torque it has left at a speed.

.. math:: \tau_{\max}(v) = \min\!\big(\tau_l,\ \max(\tau_s (1 - v / v_0),\ -\tau_l)\big), \qquad
          \tau_{\min}(v) = -\tau_{\max}(-v)

with the torque limit :math:`\tau_l`, the stall torque :math:`\tau_s` and the no-load speed
:math:`v_0`: what a motor under a voltage that it cannot exceed has left beside its back-EMF.
Beyond the no-load speed it brakes. Without a limit :math:`\tau_l` is infinite, without a fall with
speed :math:`\tau_s` and :math:`v_0` are. These are effort_limit, saturation_effort and
velocity_limit of Isaac Lab's ``DCMotorCfg``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_ros.mechanics.actuators.kind import Constant, actuator_function

#: Torque limit, stall torque and no-load speed, infinite where there is none.
LIMITS: tuple[Constant, Constant, Constant] = (
    Constant('torque_limit', 'N·m', 'N', 'largest torque'),
    Constant('stall_torque', 'N·m', 'N', 'torque that the voltage of the drive makes at rest'),
    Constant('no_load_speed', 'rad/s', 'm/s', 'speed at which that voltage makes no torque'))
#: Values of these.
Limits = tuple[float, float, float]
# Nearer to its limits than this part of them a torque is at them, in spite of rounding.
_AT = 1e-9


@actuator_function
def largest_torque(v: Any, limits: Limits) -> Any:
    """Largest torque of a drive at a velocity; the smallest is minus that at the opposite one.

    Args:
        v: Velocity in [rad/s] or [m/s], a number or an array.
        limits: Torque limit, stall torque and no-load speed.
    """
    return np.minimum(limits[0], np.maximum(limits[1] * (1.0 - v / limits[2]), -limits[0]))


@actuator_function
def clipped_torque(
    torque: float, v: float, limits: Limits
) -> tuple[float, bool, float, Limits]:
    """Torque within the envelope at a velocity, and its derivatives where it is at its edge.

    Args:
        torque: In [N·m] or [N].
        v: Velocity in [rad/s] or [m/s].
        limits: Torque limit, stall torque and no-load speed.

    Returns:
        The torque; whether the envelope leaves it as it is; its derivatives by the velocity and
        by the limits, zero where it is left so.
    """
    highest, lowest = largest_torque(v, limits), -largest_torque(-v, limits)
    # What is no number stays none.
    if not (torque > highest or torque < lowest):
        return torque, True, 0.0, (0.0, 0.0, 0.0)
    # Of torques below the smallest the mirror image.
    sign = 1.0 if torque > highest else -1.0
    part = 1.0 - sign * v / limits[2]
    left = limits[1] * part
    if left >= limits[0]:
        return sign * limits[0], False, 0.0, (sign, 0.0, 0.0)
    if left <= -limits[0]:
        return -sign * limits[0], False, 0.0, (-sign, 0.0, 0.0)
    fall = limits[1] / limits[2]
    return sign * left, False, -fall, (0.0, sign * part, fall * v / limits[2])


def at_limits(torque: np.ndarray, v: np.ndarray, limits: Limits) -> np.ndarray:
    """Whether torques are at the edge of the envelope, shape ``(T,)``.

    Args:
        torque: Torques within it in [N·m] or [N], shape ``(T,)``.
        v: Velocities in [rad/s] or [m/s], shape ``(T,)``.
        limits: Torque limit, stall torque and no-load speed.
    """
    near = _AT * min(limits[0], limits[1])
    if not np.isfinite(near):
        return np.zeros(len(torque), dtype=bool)
    return np.asarray((torque >= largest_torque(v, limits) - near)
                      | (torque <= -largest_torque(-v, limits) + near))
