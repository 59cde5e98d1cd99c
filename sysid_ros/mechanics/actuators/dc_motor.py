r"""A direct current motor whose voltage, or duty cycle, is commanded.

The current follows from the voltage that the turning motor leaves, its inductance being neglected:

.. math:: \tau = N k_t\, i, \qquad R\, i = U u - k_e N v,

with the gear ratio N, the torque constant kt, the resistance R, the back-EMF constant ke and the
voltage U of a full command, which is 1 V where the command u is a voltage.
"""

from __future__ import annotations

from sysid_ros.mechanics.actuators.kind import (
    ActuatorKind,
    Constant,
    Constants,
    TorqueAndSlopes,
    actuator_function,
)


@actuator_function
def motor_torque(u: float, q: float, v: float, p: Constants) -> TorqueAndSlopes:
    """Torque N kt (U u - ke N v) / R with its derivatives; p holds kt, R, ke, N and U."""
    kt, resistance, ke, gear, supply = p[0], p[1], p[2], p[3], p[4]
    left = supply * u - ke * gear * v
    scale = gear * kt / resistance
    torque = scale * left
    return torque, scale * supply, 0.0, -scale * ke * gear, (
        gear * left / resistance, -torque / resistance, -scale * gear * v,
        kt * (left - ke * gear * v) / resistance, scale * u)


class DcMotor(ActuatorKind):
    """A DC motor behind a gear, told a voltage or a duty cycle."""

    name = 'dc_motor'
    command = 'voltage or duty cycle'
    units = ('V', '1')
    constants = (
        Constant('torque_constant', 'N·m/A', 'N/A', 'torque of the motor per current'),
        Constant('resistance', 'Ω', 'Ω', 'resistance of the windings'),
        Constant('back_emf', 'V·s/rad', 'V·s/m', 'voltage of the turning motor per speed',
                 same_as='torque_constant'),
        Constant('gear', '1', '1', 'turns of the motor per turn of the joint', 1.0,
                 positive=False),
        Constant('supply_voltage', 'V', 'V', 'voltage of a full duty cycle', 1.0))
    law = staticmethod(motor_torque)
    damping = 'back_emf'
    slows_itself = True
