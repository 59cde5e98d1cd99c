"""The kinds of actuators there are; a new one is a file of this folder and a line here.

Settings and compiled rollouts follow from these lines.
"""

from __future__ import annotations

from sysid_ros.mechanics.actuators.current import CurrentDrive
from sysid_ros.mechanics.actuators.dc_motor import DcMotor
from sysid_ros.mechanics.actuators.kind import ActuatorKind
from sysid_ros.mechanics.actuators.position_servo import PositionServo
from sysid_ros.mechanics.actuators.torque import TorqueDrive
from sysid_ros.mechanics.actuators.velocity_servo import VelocityServo

#: In the order of their numbers in compiled functions.
KINDS: tuple[type[ActuatorKind], ...] = (
    TorqueDrive, PositionServo, VelocityServo, CurrentDrive, DcMotor)


def kind_named(name: str) -> type[ActuatorKind]:
    """The kind that settings call so.

    Raises:
        KeyError: There is none.
    """
    return {kind.name: kind for kind in KINDS}[name]
