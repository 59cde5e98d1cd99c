"""Descriptions are read byte for byte, and reduced without changing the robot."""

from __future__ import annotations

import hashlib

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.numbers import unrounded_angle
from sysid_ros.robot.description.urdf import UNLIMITED, kinematic_description, load_description

INERTIAL = (
    '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)


def arm(joint_type: str = 'revolute', extra: str = '', link: str = INERTIAL) -> str:
    return (
        f'<robot name="arm"><link name="base"/><link name="upper">{link}</link>'
        f'<joint name="elbow" type="{joint_type}"><parent link="base"/><child link="upper"/>'
        f'<axis xyz="0 1 0"/>{extra}</joint></robot>'
    )


def loaded(xml: str) -> pin.Model:
    return pin.buildModelFromXML(kinematic_description(load_description(xml)))


def test_a_urdf_file_is_kept_byte_for_byte(tmp_path):
    content = b"<?xml version='1.0'?>\r\n<!-- note --><robot name='a' ><link name='b'  /></robot>\n"
    path = tmp_path / 'a.urdf'
    path.write_bytes(content)
    description = load_description(path)
    assert description.xml == content
    assert description.sha256 == hashlib.sha256(content).hexdigest()
    assert description.path == path
    assert not description.expanded_from_xacro


def test_every_access_to_the_tree_gives_a_fresh_one():
    description = load_description(arm())
    description.root.clear()
    assert len(description.root) == 3


def test_text_is_encoded_as_it_declares():
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><robot name="Käfer"><link name="a"/></robot>'
    description = load_description(text)
    assert description.xml == text.encode('latin-1')
    assert description.root.get('name') == 'Käfer'


def test_a_default_namespace_does_not_hide_the_links():
    text = arm().replace('<robot', '<robot xmlns="http://www.ros.org"')
    assert len(load_description(text).root.findall('link')) == 2
    assert loaded(text).nv == 1


def test_a_root_other_than_robot_is_refused():
    with pytest.raises(ModelError, match=r'found root element <sdf>; allowed <robot>'):
        load_description('<sdf version="1.7"/>')


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r'nowhere\.urdf: cannot be read'):
        load_description(tmp_path / 'nowhere.urdf')


def test_xacro_arguments_for_a_urdf_are_refused():
    with pytest.raises(ModelError, match='not a xacro file.*found gain'):
        load_description(arm(), {'gain': '1'})


def test_xacro_is_expanded_with_its_arguments(tmp_path):
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="m" default="1.0"/><link name="a"><inertial>'
        '<mass value="${2 * $(arg m)}"/></inertial></link></robot>'
    )
    description = load_description(path, {'m': '1.5'})
    assert description.expanded_from_xacro
    assert description.root.find('link/inertial/mass').get('value') == '3.0'
    assert load_description(path).root.find('link/inertial/mass').get('value') == '2.0'


def test_a_misspelt_xacro_argument_names_the_nearest(tmp_path):
    path = tmp_path / 'arm.xacro'
    path.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="use_sim" default="true"/><link name="a"/></robot>'
    )
    with pytest.raises(ModelError, match="Did you mean 'use_sim'"):
        load_description(path, {'use_sin': 'false'})


def test_an_xacro_mistake_is_one_clear_error(tmp_path):
    path = tmp_path / 'arm.xacro'
    path.write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<link name="${nix}"/></robot>'
    )
    with pytest.raises(ModelError, match=r"arm\.xacro: xacro cannot expand.*'nix' is not defined"):
        load_description(path)


@pytest.mark.parametrize('folder', ['.', '../macros'])
def test_relative_xacro_includes_are_found_whether_or_not_there_is_a_ros_package(tmp_path, folder):
    expansions = set()
    for home in (tmp_path / 'first', tmp_path / 'second'):
        (home / 'urdf').mkdir(parents=True)
        included = (home / 'urdf' / folder).resolve() / 'link.xacro'
        included.parent.mkdir(exist_ok=True)
        included.write_text('<robot><link name="included"/></robot>')
        path = home / 'urdf' / 'arm.xacro'
        path.write_text(
            '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            f'<xacro:include filename="{folder}/link.xacro"/></robot>'
        )
        assert load_description(path).root.find('link').get('name') == 'included'
        expansions.add(load_description(path).sha256)
    assert len(expansions) == 1, 'the same robot in another folder has another digest'


@pytest.mark.parametrize('limit', ['', '<limit lower="-1" upper="1" effort="1" velocity="2"/>'])
def test_a_continuous_joint_has_one_coordinate_without_limits(limit):
    model = loaded(arm('continuous', limit))
    assert (model.nq, model.nv) == (1, 1)
    assert model.lowerPositionLimit[0] == -UNLIMITED
    assert model.upperPositionLimit[0] == UNLIMITED
    assert model.velocityLimit[0] == (2.0 if limit else UNLIMITED)


@pytest.mark.parametrize(
    'extra', ['', '<limit lower="-1" upper="1"/>', '<limit effort="3" velocity="2"/>']
)
def test_missing_limits_do_not_prevent_loading(extra):
    assert loaded(arm('revolute', extra)).nv == 1


def test_mimic_joints_become_independent_ones():
    xml = arm().replace('</robot>', (
        '<link name="tip"/><joint name="wrist" type="revolute"><parent link="upper"/>'
        '<child link="tip"/><mimic joint="elbow" multiplier="2"/></joint></robot>'
    ))
    assert 'mimic' not in kinematic_description(load_description(xml))
    assert loaded(xml).nv == 2


def test_what_the_dynamics_do_not_need_is_left_out():
    xml = arm(link=INERTIAL + '<visual><geometry><mesh filename="x.stl"/></geometry></visual>')
    xml = xml.replace('</robot>', '<gazebo/><transmission/><ros2_control/><material/></robot>')
    xml = xml.replace('<robot', '<robot version="1.2"')
    text = kinematic_description(load_description(xml))
    for word in ('visual', 'gazebo', 'transmission', 'ros2_control', 'material', 'version'):
        assert word not in text


@pytest.mark.parametrize(('written', 'meant'), [
    ('3.1416', np.pi), ('-1.5708', -np.pi / 2), ('1.570796327', np.pi / 2),
    ('1.570796325', np.pi / 2), ('4.71238', 1.5 * np.pi), ('+3.14159', np.pi),
    # Too few decimals, calibrated, no angle of 90°, or exact already.
    ('1.57', 1.57), ('1.5712', 1.5712), ('1.5703964', 1.5703964), ('0.0001', 1e-4), ('2', 2.0),
    ('-9.53145e-17', -9.53145e-17), ('0.7854', 0.7854), ('1.5707963267948966', np.pi / 2),
])
def test_right_angles_of_joints_that_were_rounded_count_as_what_they_mean(written, meant):
    assert float(unrounded_angle(written)) == meant
    model = loaded(arm(extra=f'<origin xyz="0 0 1" rpy="0 {written} 0"/>'))
    np.testing.assert_allclose(
        model.jointPlacements[1].rotation, pin.rpy.rpyToMatrix(0.0, meant, 0.0), atol=1e-15)


def test_an_inertial_that_cannot_be_read_is_left_out_as_a_whole():
    # The loader alone would keep the mass and drop the inertia.
    assert loaded(arm(link=INERTIAL.replace('ixx="1"', 'ixx="nan"'))).inertias[1].mass == 0.0
    assert loaded(arm()).inertias[1].mass == 2.0


def test_tabs_and_newlines_between_numbers_are_read():
    model = loaded(arm().replace('0 1 0', '0&#9;1\n 0'))
    assert model.joints[1].shortname() == 'JointModelRY'


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), joints=st.integers(1, 8))
def test_the_reduced_description_has_the_same_kinematics_and_inertias(random_urdf, seed, joints):
    # Independent: Pinocchio's own loader on the unchanged text, continuous joints excepted.
    xml = random_urdf(seed, joints).replace('"continuous"', '"revolute"')
    ours, theirs = loaded(xml), pin.buildModelFromXML(xml)
    assert list(ours.names) == list(theirs.names)
    for mine, other in zip(ours.inertias, theirs.inertias, strict=True):
        np.testing.assert_array_equal(mine.toDynamicParameters(), other.toDynamicParameters())
    q, v, a = np.random.default_rng(seed).normal(size=(3, ours.nv))
    np.testing.assert_array_equal(
        pin.rnea(ours, ours.createData(), q, v, a), pin.rnea(theirs, theirs.createData(), q, v, a)
    )


@pytest.mark.parametrize('name', [
    'kuka_lwr4/kuka_lwr4.urdf', 'staubli_tx40/tx40_mdh_modified.urdf',
])
def test_real_descriptions_load_as_the_original_does(shared_data, name):
    ours = pin.buildModelFromXML(kinematic_description(load_description(shared_data / name)))
    theirs = pin.buildModelFromUrdf(str(shared_data / name))
    for mine, other in zip(ours.inertias, theirs.inertias, strict=True):
        np.testing.assert_array_equal(mine.toDynamicParameters(), other.toDynamicParameters())
    for mine, other in zip(ours.jointPlacements, theirs.jointPlacements, strict=True):
        # Right angles are written with eleven decimals in one of them.
        np.testing.assert_allclose(mine.homogeneous, other.homogeneous, rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(ours.upperPositionLimit, theirs.upperPositionLimit)
