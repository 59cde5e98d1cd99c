"""A velocity controller in the drive."""

from __future__ import annotations

from sysid_ros.mechanics.actuators.kind import (
    ActuatorKind,
    Constant,
    Constants,
    TorqueAndSlopes,
    actuator_function,
)


@actuator_function
def velocity_servo_torque(u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
    """Torque kv (u - v) with its derivatives; p holds kv."""
    kv = p[0]
    return kv * (u - v), kv, 0.0, -kv, (u - v, 0.0, 0.0, 0.0, 0.0)


class VelocityServo(ActuatorKind):
    """Proportional control to a commanded velocity: tau = kv (u - v)."""

    name = 'velocity_servo'
    command = 'velocity'
    units = ('rad/s', 'm/s')
    constants = (
        Constant('kv', 'N·m·s/rad', 'N·s/m', 'gain of the velocity controller'),)
    gains = ('kv',)
    law = staticmethod(velocity_servo_torque)
    regulates = True
