"""A position controller with damping in the drive."""

from __future__ import annotations

from sysid_ros.mechanics.actuators.kind import (
    ActuatorKind,
    Constant,
    Constants,
    TorqueAndSlopes,
    actuator_function,
)


@actuator_function
def servo_torque(u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
    """Torque kp (u - q) - kd v with its derivatives; p holds kp and kd."""
    kp, kd = p[0], p[1]
    return (
        kp * (u - q) - kd * v, kp, -kp, -kd, (u - q, -v, 0.0, 0.0, 0.0))


class PositionServo(ActuatorKind):
    """Proportional control to a commanded position, damped: tau = kp (u - q) - kd v."""

    name = 'position_servo'
    command = 'position'
    units = ('rad', 'm')
    constants = (
        Constant('kp', 'N·m/rad', 'N/m', 'stiffness of the position controller'),
        Constant('kd', 'N·m·s/rad', 'N·s/m', 'damping of the position controller', 0.0))
    gains = ('kp', 'kd')
    law = staticmethod(servo_torque)
    damping = 'kd'
    feedback = True
    regulates = True
