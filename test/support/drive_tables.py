"""An arm with a slide, and drives that were identified on it."""

from __future__ import annotations

from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.drive_table import DriveTable

ARM = """<robot name="arm"><link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="3"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="upper">{0}</link><link name="fore">{0}</link><link name="rod">{0}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0.1 -0.2 0.3" rpy="0.3 -1.5707963267948966 0.8"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" velocity="3" effort="50"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
<origin xyz="0.4 0.02 0" rpy="1 0.2 -0.4"/><axis xyz="0.6 0 0.8"/></joint>
<joint name="slide" type="prismatic"><parent link="fore"/><child link="rod"/>
<origin xyz="0 0.03 0.2"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.3" velocity="1" effort="80"/></joint>{1}</robot>"""
LINK = """<inertial><origin xyz="0.02 -0.01 0.15" rpy="0.1 0.2 0.3"/><mass value="1.3"/>
<inertia ixx="0.03" iyy="0.025" izz="0.01" ixy="0.001" ixz="-0.002" iyz="0.0005"/></inertial>"""
FRICTION = {'shoulder': (0.3, 0.5), 'elbow': (0.1, 0.2), 'slide': (4.0, 2.0)}


def table_of(robot):
    """Identified drives and links that are not those of the description."""
    actuators = Actuators((
        JointActuator('shoulder', kind_named('position_servo'), (40.0, 1.5), torque_limit=20.0),),
        0.006)
    parameters = TorqueModel(
        robot, [ViscousFriction(), CoulombFriction(), Armature(), actuators]).parameters
    values = parameters.values.copy()
    for body, factor in zip(robot.body_names, (1.1, 0.8, 1.3), strict=True):
        values[parameters.body_slice(body)] *= factor
    for joint, pair in FRICTION.items():
        for field, value in zip(('viscous_friction', 'coulomb_friction'), pair, strict=True):
            values[parameters.index(f'{joint}.{field}')] = value
    values[parameters.index('elbow.armature')] = 0.07
    return DriveTable.of(
        robot, parameters.with_values(values), 'by the estimator shooting, run 7', {}, actuators)
