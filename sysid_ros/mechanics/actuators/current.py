"""A motor whose current is controlled."""

from __future__ import annotations

from sysid_ros.mechanics.actuators.kind import (
    ActuatorKind,
    Constant,
    Constants,
    TorqueAndSlopes,
    actuator_function,
)


@actuator_function
def current_torque(u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
    """Torque N kt u of a current u in [A] with its derivatives; p holds kt and N."""
    kt, gear = p[0], p[1]
    return gear * kt * u, gear * kt, 0.0, 0.0, (gear * u, kt * u, 0.0, 0.0, 0.0)


class CurrentDrive(ActuatorKind):
    """A motor with a current loop behind a gear: tau = N kt i."""

    name = 'current'
    command = 'current'
    units = ('A',)
    constants = (
        Constant('torque_constant', 'N·m/A', 'N/A', 'torque of the motor per current'),
        Constant('gear', '1', '1', 'turns of the motor per turn of the joint', 1.0,
                 positive=False))
    gains = ('torque_constant',)
    law = staticmethod(current_torque)
