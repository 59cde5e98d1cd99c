"""A drive that makes the torque it is told to."""

from __future__ import annotations

from sysid_ros.mechanics.actuators.kind import (
    ActuatorKind,
    Constants,
    TorqueAndSlopes,
    actuator_function,
)


@actuator_function
def commanded_torque(u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
    """Torque u in [N·m] or [N] with its derivatives."""
    return u, 1.0, 0.0, 0.0, (0.0, 0.0, 0.0, 0.0, 0.0)


class TorqueDrive(ActuatorKind):
    """A drive with a torque loop of its own: tau = u."""

    name = 'torque'
    command = 'torque'
    units = ('N·m', 'N')
    law = staticmethod(commanded_torque)
