"""An SDF that is read again moves as the robot that was identified."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest

from support.drive_tables import ARM, FRICTION, LINK, table_of
from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.drive_table import DriveTable
from sysid_ros.release.sdf import sdf_model
from sysid_ros.robot.model import RobotModel


@pytest.fixture
def robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM.format(LINK, ''))
    return RobotModel.from_urdf(tmp_path / 'arm.urdf')


def numbers(element):
    return np.array([float(word) for word in element.text.split()])


def read(text):
    """Pinocchio's model of an SDF, and its joints by name."""
    model, joints = pin.Model(), {}
    found = ElementTree.fromstring(text).find('model')
    links = {link.get('name'): link for link in found.findall('link')}
    frames = {}
    for joint in found.findall('joint'):
        child = joint.find('child').text
        if joint.get('type') == 'fixed':
            assert joint.find('parent').text == 'world'
            frames[child] = 0
            continue
        joints[joint.get('name')] = joint
        assert joint.find('pose').get('relative_to') == joint.find('parent').text
        assert links[child].find('pose').get('relative_to') == joint.get('name')
        pose = numbers(joint.find('pose'))
        axis = numbers(joint.find('axis/xyz'))
        kind = pin.JointModelPrismaticUnaligned if joint.get('type') == 'prismatic' else (
            pin.JointModelRevoluteUnaligned)
        number = model.addJoint(
            frames[joint.find('parent').text], kind(axis), pin.XYZQUATToSE3(pose),
            joint.get('name'))
        frames[child] = number
        inertial = links[child].find('inertial')
        centre = numbers(inertial.find('pose'))
        assert not centre[3:].any()
        xx, xy, xz, yy, yz, zz = (
            float(inertial.find(f'inertia/{word}').text)
            for word in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
        model.appendBodyToJoint(number, pin.Inertia(
            float(inertial.find('mass').text), centre[:3],
            np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])), pin.SE3.Identity())
    return model, joints


def test_torques_of_the_model_that_is_read_again_are_the_identified_ones(robot):
    table = table_of(robot)
    model, _ = read(sdf_model(table))
    expected = pin.Model(robot.pinocchio_model)
    for body in robot.body_names:
        expected.inertias[robot.joint_of_body(body)] = pin.Inertia.FromDynamicParameters(
            table.parameters.inertial(body))
    data, other, rng = model.createData(), expected.createData(), np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.normal(size=(3, 3))
        np.testing.assert_allclose(
            pin.rnea(model, data, q, v, a), pin.rnea(expected, other, q, v, a), atol=1e-11)


def test_friction_and_limits_come_back_exactly(robot):
    _, joints = read(sdf_model(table_of(robot)))
    for name, (damping, friction) in FRICTION.items():
        dynamics = joints[name].find('axis/dynamics')
        assert float(dynamics.find('damping').text) == damping
        assert float(dynamics.find('friction').text) == friction
    limit = {part.tag: float(part.text) for part in joints['shoulder'].find('axis/limit')}
    # The limit of the drive goes before that of the description.
    assert limit == {'lower': -1.0, 'upper': 2.0, 'effort': 20.0, 'velocity': 3.0}
    assert not len(joints['elbow'].find('axis/limit'))


def test_what_an_sdf_cannot_hold_is_said_in_its_head(robot):
    text = sdf_model(table_of(robot))
    head = ' '.join(text[text.index('<!--'):text.index('-->')].split())
    for said in ('elbow.armature: 0.07', 'command.delay: 0.006 s',
                 'shoulder: stiffness 40 and damping 1.5', 'run 7', '0.0 0.0 -9.8'):
        assert said in head
    assert 'viscous_friction' not in head


def test_joints_that_follow_others_are_refused(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM.format(LINK, '').replace(
        '<axis xyz="0.6 0 0.8"/>', '<axis xyz="0.6 0 0.8"/><mimic joint="shoulder"/>'))
    robot = RobotModel.from_urdf(tmp_path / 'arm.urdf')
    table = DriveTable.of(robot, TorqueModel(robot, []).parameters, 'run 7', {})
    with pytest.raises(ReleaseError, match=r'joints that follow others.*sysid export RUN -o'):
        sdf_model(table)


def test_a_body_that_cannot_be_is_refused(robot):
    table = table_of(robot)
    values = table.parameters.values.copy()
    # Less than nothing about the first axis.
    values[table.parameters.body_slice('fore')][4] = -1.0
    broken = DriveTable.of(robot, table.parameters.with_values(values), 'run 7', {})
    with pytest.raises(ReleaseError, match='no real mass distribution'):
        sdf_model(broken)
