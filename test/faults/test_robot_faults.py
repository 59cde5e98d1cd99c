"""FAULTS 77 and 78: descriptions with odd but harmless names, mimics, includes and xacro."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.description import xacro_expansion
from sysid_ros.robot.description.checks.finding import Severity
from sysid_ros.robot.description.urdf import load_description
from sysid_ros.robot.model import RobotModel

LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0 0.05"/><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="0 0 0.2"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>{}</joint>'
)


def chain(*joints, names=('a', 'b', 'c')):
    links = LINK.format(names[0]) + LINK.format(names[1]) + LINK.format(names[2])
    return f'<robot name="r"><link name="base"/>{links}{"".join(joints)}</robot>'


def repeated():
    """Links a, b and c on joints a, b and c."""
    return chain(
        JOINT.format('a', 'revolute', 'base', 'a', ''),
        JOINT.format('b', 'revolute', 'a', 'b', ''),
        JOINT.format('c', 'revolute', 'b', 'c', ''))


def test_77_a_link_and_a_joint_of_one_name_are_told_apart_with_and_without_locks():
    other = repeated()
    for name in 'abc':
        other = other.replace(f'joint name="{name}"', f'joint name="j{name}"')
    for locked in ({}, {'b': 0.3}):
        robot = RobotModel.from_urdf(repeated(), locked_joints=locked)
        same = RobotModel.from_urdf(
            other, locked_joints={f'j{name}': at for name, at in locked.items()})
        assert robot.body_names == same.body_names
        assert [f'j{name}' for name in robot.joint_names] == list(same.joint_names)
        np.testing.assert_array_equal(robot.inertial_prior, same.inertial_prior)
        q, v, a = np.random.default_rng(0).normal(size=(3, len(robot.joint_names)))
        np.testing.assert_array_equal(*(
            pin.rnea(one.pinocchio_model, one.pinocchio_model.createData(), q, v, a)
            for one in (robot, same)))


def test_77_the_export_gives_a_joint_its_friction_and_the_link_of_its_name_its_mass():
    robot = RobotModel.from_urdf(repeated())
    parameters = TorqueModel(robot, [ViscousFriction()]).parameters.with_values(
        {'b.mass': 1.5, 'b.viscous_friction': 0.7})
    export = export_description(robot, parameters)
    assert (export.links, export.joints, export.notes) == (('b',), ('b',), ())
    assert verify_export(robot, parameters, export) < 1e-9


def test_77_two_links_of_one_name_stay_refused_by_name():
    text = chain(JOINT.format('j', 'revolute', 'base', 'a', ''), names=('a', 'a', 'c'))
    with pytest.raises(ModelError, match='link "a": 2 links have this name'):
        RobotModel.from_urdf(text)


def test_77_a_mimic_on_a_fixed_joint_means_nothing_and_is_said():
    robot = RobotModel.from_urdf(chain(
        JOINT.format('ja', 'revolute', 'base', 'a', ''),
        JOINT.format('jb', 'fixed', 'a', 'b', '<mimic joint="ja" multiplier="-1"/>'),
        JOINT.format('jc', 'revolute', 'b', 'c', '')))
    assert robot.joint_names == ('ja', 'jc')
    assert [(f.severity, f.code, f.element) for f in robot.findings] == [
        (Severity.WARNING, 'mimic-fixed', 'joint "jb"')]


def test_77_a_joint_that_mimics_a_fixed_one_is_held_at_its_offset():
    text = chain(
        JOINT.format('ja', 'revolute', 'base', 'a', '<mimic joint="jb" offset="0.4"/>'),
        JOINT.format('jb', 'fixed', 'a', 'b', ''),
        JOINT.format('jc', 'revolute', 'b', 'c', ''))
    robot = RobotModel.from_urdf(text)
    assert dict(robot.locked_joints) == {'ja': 0.4}
    free = text.replace('<mimic joint="jb" offset="0.4"/>', '')
    locked = RobotModel.from_urdf(free, locked_joints={'ja': 0.4})
    np.testing.assert_array_equal(robot.tree.rotation, locked.tree.rotation)


def xacro_file(folder, body):
    path = folder / 'robot.xacro'
    path.write_text(
        f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{body}</robot>')
    return path


def test_78_an_expansion_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_expansion, 'SECONDS', 1)
    path = xacro_file(tmp_path, '<link name="${len(str(10**10**8))}"/>')
    with pytest.raises(ModelError, match=r'robot\.xacro: the expansion by xacro does not end'):
        load_description(path)


def test_78_an_expansion_that_takes_all_memory_is_stopped(tmp_path):
    doubled = ''.join(
        f'<xacro:property name="p{k + 1}" value="${{p{k} + p{k}}}"/>' for k in range(40))
    path = xacro_file(
        tmp_path, f'<xacro:property name="p0" value="abcdefghij"/>{doubled}<link name="${{p40}}"/>')
    with pytest.raises(ModelError, match='does not end .found more than 20 s .* or 1000 MB'):
        load_description(path)


def test_78_xacro_sees_nothing_of_the_environment_but_where_packages_are(tmp_path, monkeypatch):
    monkeypatch.setenv('SYSID_SECRET', 'hidden')
    path = xacro_file(tmp_path, '<link name="$(optenv SYSID_SECRET none)"/>')
    assert load_description(path).root.find('link').get('name') == 'none'
    path = xacro_file(tmp_path, '<link name="$(env SYSID_SECRET)"/>')
    with pytest.raises(ModelError, match='SYSID_SECRET. is not set.*Make it a <xacro:arg>'):
        load_description(path)
