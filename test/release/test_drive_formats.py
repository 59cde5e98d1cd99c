"""Drives as Isaac Lab and ros2_control read them, and what is said of what they cannot hold."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.joint_terms.closest_friction import ClosestFriction
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.drive_formats import DRIVE_FORMATS
from sysid_ros.release.drive_table import DriveTable
from sysid_ros.robot.model import RobotModel

URDF = """<robot name="arm"><link name="base"/>{}</robot>"""
LINK = """
<link name="{0}_link"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/><axis xyz="0 1 0"/>
{3}</joint>"""
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="50"/>'
# By joint: viscous friction, dry friction, armature and offset.
VALUES = {'lift': (0.3, 0.5, 0.02, 0.1), 'turn.1': (0.1, 0.2, 0.01, 0.0)}


@pytest.fixture
def robot(tmp_path):
    """Two joints that turn, one without limits."""
    (tmp_path / 'arm.urdf').write_text(URDF.format(
        LINK.format('lift', 'revolute', 'base', LIMIT)
        + LINK.format('turn.1', 'continuous', 'lift_link', '')))
    return RobotModel.from_urdf(tmp_path / 'arm.urdf')


def table_of(robot, actuators=None, closest=None, **changed):
    """The drives of the robot with the values above, and those of parameters that are changed."""
    terms = [ViscousFriction(), CoulombFriction(), Armature(), TorqueOffset()]
    parameters = TorqueModel(robot, [*terms, *([actuators] if actuators else [])]).parameters
    values = parameters.values.copy()
    fields = ('viscous_friction', 'coulomb_friction', 'armature', 'torque_offset')
    named = {f'{joint}.{field}': value for joint, row in VALUES.items()
             for field, value in zip(fields, row, strict=True)} | changed
    for name, value in named.items():
        values[parameters.index(name)] = value
    return DriveTable.of(
        robot, parameters.with_values(values), 'run 7', closest or {}, actuators)


def servos(delay=0.006):
    return Actuators((
        JointActuator('lift', kind_named('position_servo'), (40.0, 1.5), torque_limit=20.0),
        JointActuator('turn.1', kind_named('position_servo'), (10.0, 0.2))), delay)


def written(name, table):
    """What a format holds, and its comments in one line."""
    text = DRIVE_FORMATS[name](table)
    comments = ' '.join(line[2:].strip() for line in text.splitlines() if line.startswith('# '))
    assert max(map(len, text.splitlines())) <= 200
    return yaml.safe_load(text), comments


def test_isaac_lab_gets_gains_armature_frictions_and_limits_by_joint(robot):
    content, comments = written('isaac_lab', table_of(robot, servos()))
    group = content['actuators']['identified']
    assert [re.fullmatch(pattern, joint) is not None for pattern, joint in zip(
        group['joint_names_expr'], VALUES, strict=True)] == [True, True]
    turn = re.escape('turn.1')
    assert group['stiffness'] == {'lift': 40.0, turn: 10.0}
    assert group['damping'] == {'lift': 1.5, turn: 0.2}
    assert group['armature'] == {'lift': 0.02, turn: 0.01}
    assert group['friction'] == group['dynamic_friction'] == {'lift': 0.5, turn: 0.2}
    assert group['viscous_friction'] == {'lift': 0.3, turn: 0.1}
    # That of the actuator goes before that of the description; the other joint has neither.
    assert group['effort_limit'] == {'lift': 20.0}
    assert group['velocity_limit'] == {'lift': 3.0}
    assert 'lift.torque_offset: 0.1 N·m' in comments and 'command.delay: 0.006 s' in comments
    assert 'turn.1.torque_offset' not in comments


def test_ros2_control_gets_limits_and_gains_and_says_the_rest(robot):
    content, comments = written('ros2_control', table_of(robot, servos()))
    parameters = content['/**']['ros__parameters']
    assert parameters['gains'] == {
        'lift': {'p': 40.0, 'i': 0.0, 'd': 1.5}, 'turn.1': {'p': 10.0, 'i': 0.0, 'd': 0.2}}
    assert parameters['joint_limits']['lift'] == {
        'has_position_limits': True, 'min_position': -1.0, 'max_position': 2.0,
        'has_velocity_limits': True, 'max_velocity': 3.0,
        'has_effort_limits': True, 'max_effort': 20.0,
        'has_acceleration_limits': False, 'has_jerk_limits': False}
    assert not any(parameters['joint_limits']['turn.1'].values())
    for text in ('lift: armature: 0.02', 'turn.1: coulomb_friction: 0.2', 'command.delay: 0.006'):
        assert text in comments


def test_a_motor_without_feedback_has_the_damping_of_its_back_emf_and_no_gains(robot):
    motors = Actuators(tuple(
        JointActuator(joint, kind_named('dc_motor'), (0.05, 2.0, 0.05, 10.0, 24.0))
        for joint in VALUES))
    group = written('isaac_lab', table_of(robot, motors))[0]['actuators']['identified']
    # N² kt ke / R.
    assert group['damping']['lift'] == pytest.approx(100.0 * 0.05 * 0.05 / 2.0)
    assert group['stiffness']['lift'] == 0.0
    comments = written('isaac_lab', table_of(robot, motors))[1]
    assert 'lift: torque of a command (voltage or duty cycle): 6 per V' in comments
    content, comments = written('ros2_control', table_of(robot, motors))
    assert 'gains' not in content['/**']['ros__parameters']
    assert 'no actuator holds a position' in comments


def test_a_drive_that_holds_a_velocity_has_damping_and_no_stiffness(robot):
    drives = Actuators(tuple(
        JointActuator(joint, kind_named('velocity_servo'), (1.4,)) for joint in VALUES))
    content, comments = written('isaac_lab', table_of(robot, drives))
    group = content['actuators']['identified']
    assert group['damping']['lift'] == 1.4 and group['stiffness']['lift'] == 0.0
    # Isaac Lab is told velocities, as the drive is.
    assert 'torque of a command' not in comments
    assert 'gains' not in written('ros2_control', table_of(robot, drives))[0]['/**'][
        'ros__parameters']


def test_a_robot_of_which_torques_were_measured_has_no_gains(robot):
    group = written('isaac_lab', table_of(robot))[0]['actuators']['identified']
    assert 'stiffness' not in group and 'damping' not in group
    assert group['effort_limit'] == {'lift': 50.0}
    assert 'gains' not in written('ros2_control', table_of(robot))[0]['/**']['ros__parameters']


def test_of_another_friction_law_the_closest_friction_is_written(robot):
    closest = {'lift': ClosestFriction(0.7, 0.9, 0.02)}
    table = table_of(robot, closest=closest)
    group = written('isaac_lab', table)[0]['actuators']['identified']
    assert (group['viscous_friction']['lift'], group['friction']['lift']) == (0.7, 0.9)
    assert group['friction'][re.escape('turn.1')] == 0.2


def falling(stalls=(30.0, 20.0)):
    """Drives of both joints whose torque falls with speed; None for one whose torque does not."""
    return Actuators(tuple(
        JointActuator(joint, kind_named('position_servo'), (40.0, 1.5), 25.0, (), *limits)
        for joint, stall in zip(VALUES, stalls, strict=True)
        for limits in [() if stall is None else (stall, 8.0)]))


def test_torque_that_falls_with_speed_is_a_motor_of_isaac_lab_one_for_each_stall_torque(robot):
    content, comments = written('isaac_lab', table_of(robot, falling()))
    assert list(content['actuators']) == ['dc_motors_1', 'dc_motors_2']
    first, second = content['actuators'].values()
    assert (first['saturation_effort'], second['saturation_effort']) == (30.0, 20.0)
    # Not the limit of the description, which is 3 rad/s.
    assert first['velocity_limit'] == {'lift': 8.0} and first['effort_limit'] == {'lift': 25.0}
    assert first['joint_names_expr'] == ['lift'] and first['stiffness'] == {'lift': 40.0}
    assert "DCMotorCfg(**content['actuators']['dc_motors_2'])" in comments
    assert 'ImplicitActuatorCfg' not in comments and 'falls with speed' not in comments
    content, comments = written('isaac_lab', table_of(robot, falling((30.0, 30.0))))
    assert list(content['actuators']) == ['dc_motors_1']
    assert len(content['actuators']['dc_motors_1']['velocity_limit']) == 2
    content, comments = written('isaac_lab', table_of(robot, falling((None, 30.0))))
    assert list(content['actuators']) == ['identified', 'dc_motors_1']
    assert content['actuators']['identified']['velocity_limit'] == {'lift': 3.0}


def test_other_formats_say_that_torque_falls_with_speed(robot):
    for name in ('ros2_control', 'sdf'):
        text = ' '.join(DRIVE_FORMATS[name](table_of(robot, falling())).replace('#', '').split())
        assert 'lift: torque that falls with speed, from 30 N·m at rest to none at 8 rad/s' in text


def test_negative_friction_is_refused(robot):
    with pytest.raises(ReleaseError, match='lift: viscous_friction is negative'):
        table_of(robot, **{'lift.viscous_friction': -0.1})


def test_numbers_come_back_exactly(robot):
    value = float(np.nextafter(0.3, 1.0))
    table = table_of(robot, **{'lift.viscous_friction': value})
    group = written('isaac_lab', table)[0]['actuators']['identified']
    assert group['viscous_friction']['lift'] == value
