"""The motion of a two-joint robot, whose parameters are not those of its description."""

import numpy as np

from sysid_ros.dynamics.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

JOINTS = ('swing', 'slide')
DURATION = 20.0


def truth(model):
    """True values of the model's parameters."""
    values = model.parameters.with_values({
        'swing.viscous_friction': 0.6, 'slide.coulomb_friction': 1.6, 'swing.torque_offset': 0.1,
    }).values.copy()
    values[:10] = inertial_parameters(
        1.8, np.array([0.0, 0.01, 0.14]), np.diag([0.014, 0.013, 0.003]))
    return values


def motion(urdf, rate, load=0.0):
    """Positions, velocities and torques over whole periods, so that they can be repeated.

    The load in [kg] hangs at the origin of the last joint.
    """
    model = TorqueModel(
        RobotModel.from_urdf(urdf), [ViscousFriction(), CoulombFriction(), TorqueOffset()])
    rng = np.random.default_rng(1)
    t = np.arange(round(DURATION * rate)) / rate
    pace = 2.0 * np.pi * rng.integers(2, 16, (4, 2)) / DURATION
    angle = pace * t[:, None, None] + rng.uniform(0.0, 6.0, (4, 2))
    size = np.array([0.4, 0.03])
    q = (size * np.sin(angle)).sum(1) + [0.0, 0.15]
    v = (size * pace * np.cos(angle)).sum(1)
    a = -(size * pace**2 * np.sin(angle)).sum(1)
    carried = truth(model)
    carried[10] += load
    tau = model.torque(carried, q, v, a)
    return q, v, tau + rng.normal(0.0, 0.05, q.shape)
