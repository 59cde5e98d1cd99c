"""A two-joint robot whose parameters are not those of its description: its motion, recordings."""

from pathlib import Path

import numpy as np

from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import inertial_parameters
from sysid_ros.robot.model import RobotModel

JOINTS = ('swing', 'slide')
DURATION = 20.0
URDF = """\
<robot name="two_joints">
  <link name="base"/>
  <joint name="swing" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="4" effort="30"/>
    <dynamics damping="0.4" friction="0.3"/>
  </joint>
  <link name="upper"><inertial><origin xyz="0.02 0 0.12"/><mass value="1.5"/>
    <inertia ixx="0.012" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.002"/></inertial></link>
  <joint name="slide" type="prismatic">
    <parent link="upper"/><child link="tool"/><origin xyz="0 0 0.25"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.3" velocity="1" effort="60"/>
    <dynamics damping="3" friction="1"/>
  </joint>
  <link name="tool"><inertial><origin xyz="0 0.01 0.05"/><mass value="0.7"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.001"/></inertial></link>
</robot>
"""
SETTINGS = """\
robot: {{urdf: robot.urdf}}
recording:
  format: csv
  file: {name}.csv
  joints: [swing, slide]
  time: {{column: t}}
  position: {{columns: [q1, q2], unit: [rad, m]}}
  velocity: {{columns: [v1, v2], unit: [rad/s, m/s]}}
  acceleration: {{columns: [a1, a2], unit: [rad/s2, m/s2]}}
  effort: {{columns: [f1, f2], unit: [N·m, N]}}
processing: {{differentiation: measured}}
"""


def model_of(urdf=URDF):
    """The description with viscous and Coulomb friction and offsets."""
    return TorqueModel(
        RobotModel.from_urdf(urdf), [ViscousFriction(), CoulombFriction(), TorqueOffset()])


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
    model = model_of(urdf)
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


def write_recording(folder: Path, name: str, seed: int, noise: float = 0.05) -> Path:
    """Write the description, a table of 15 s at 100 Hz, and its settings; returns their file."""
    (folder / 'robot.urdf').write_text(URDF)
    model = model_of()
    rng = np.random.default_rng(seed)
    t = np.arange(1500) / 100.0
    pace = 2.0 * np.pi * rng.uniform(0.1, 0.8, (4, 2))
    phase = rng.uniform(0.0, 6.0, (4, 2))
    size = np.array([0.4, 0.03])
    angle = pace * t[:, None, None] + phase
    q = (size * np.sin(angle)).sum(1) + [0.0, 0.15]
    v = (size * pace * np.cos(angle)).sum(1)
    a = -(size * pace**2 * np.sin(angle)).sum(1)
    tau = model.torque(truth(model), q, v, a) + rng.normal(0.0, noise, q.shape)
    header = 't,q1,q2,v1,v2,a1,a2,f1,f2'
    np.savetxt(folder / f'{name}.csv', np.column_stack([t, q, v, a, tau]), delimiter=',',
               header=header, comments='')
    settings = folder / f'{name}.yaml'
    settings.write_text(SETTINGS.format(name=name))
    return settings
