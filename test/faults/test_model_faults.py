"""FAULTS 20 to 24: descriptions that must not be believed, or not even be read."""

from __future__ import annotations

import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.description import safe_xml
from sysid_ros.robot.description.checks.preflight import (
    Severity,
    check_description,
    require_loadable,
)
from sysid_ros.robot.description.urdf import load_description
from sysid_ros.robot.model import RobotModel

LINK = (
    '<link name="{}"><inertial><mass value="{}"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="{}"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="{}"/>'
    '<limit lower="{}" upper="{}" effort="1" velocity="1"/></joint>'
)


def description(*parts: str):
    return load_description(f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>')


def test_20_negative_mass_broken_triangle_and_nan_are_listed_link_by_link():
    checked = description(
        LINK.format('a', '-1', '1'), JOINT.format('ja', 'revolute', 'base', 'a', '1 0 0', -1, 1),
        LINK.format('b', '1', '5'), JOINT.format('jb', 'revolute', 'a', 'b', '1 0 0', -1, 1),
        LINK.format('c', 'nan', '1'), JOINT.format('jc', 'revolute', 'b', 'c', '1 0 0', -1, 1),
    )
    found = require_loadable(checked)
    assert [(f.severity, f.element) for f in found] == [
        (Severity.PRIOR, 'link "a"'), (Severity.PRIOR, 'link "b"'), (Severity.PRIOR, 'link "c"')]


def test_20_every_fatal_fault_is_in_the_one_error():
    checked = description(
        LINK.format('a', '1', '1'), JOINT.format('ja', 'revolute', 'base', 'a', '0 0 0', -1, 1),
        LINK.format('b', '1', '1'), JOINT.format('jb', 'revolute', 'a', 'b', '0 x 0', -1, 1),
    )
    with pytest.raises(ModelError, match='2 fatal faults.*"ja".*axis is zero.*"jb".*"0 x 0"'):
        require_loadable(checked)


def test_21_swapped_limits_are_reported_and_fitting_stays_possible():
    checked = description(
        LINK.format('a', '1', '1'), JOINT.format('ja', 'revolute', 'base', 'a', '1 0 0', 1, -1))
    found = require_loadable(checked)
    assert [f.code for f in found] == ['limits-swapped']
    assert 'not be excited' in found[0].message


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_22_joints_of_several_freedoms_are_refused_by_name(kind):
    checked = description(
        LINK.format('a', '1', '1'), JOINT.format('ja', kind, 'base', 'a', '1 0 0', -1, 1))
    with pytest.raises(ModelError, match=f'joint "ja": {kind} joints are not supported'):
        require_loadable(checked)


def test_23_external_entities_are_refused(tmp_path):
    secret = tmp_path / 'secret'
    secret.write_text('<link name="secret"/>')
    text = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]><robot name="r">&x;</robot>'
    with pytest.raises(ModelError, match='declares a document type'):
        load_description(text)


def test_23_entities_that_multiply_are_refused_in_urdf_and_in_xacro_and_its_includes(tmp_path):
    bomb = (
        '<!DOCTYPE robot [<!ENTITY a "0123456789"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        '<robot name="r"><link name="&b;"/></robot>'
    )
    for name in ('bomb.urdf', 'bomb.xacro'):
        (tmp_path / name).write_text(bomb)
        with pytest.raises(ModelError, match='declares a document type'):
            load_description(tmp_path / name)
    outer = tmp_path / 'outer.xacro'
    outer.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="bomb.xacro"/></robot>'
    )
    with pytest.raises(ModelError, match=r'bomb\.xacro: declares a document type'):
        load_description(outer)


def test_23_very_deep_xml_is_refused():
    deep = '<robot name="r">' + '<a>' * 5000 + '</a>' * 5000 + '</robot>'
    with pytest.raises(ModelError, match='nested too deeply.*allowed 200 levels'):
        load_description(deep)


def test_23_very_large_xml_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / 'large.urdf'
    with path.open('wb') as file:
        file.truncate(safe_xml.MAX_BYTES + 1)
    with pytest.raises(ModelError, match=r'too large \(found 20000001 bytes; allowed 20000000'):
        load_description(path)


def test_23_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(safe_xml, 'MAX_ELEMENTS', 10)
    with pytest.raises(ModelError, match='too many elements'):
        load_description('<robot name="r">' + '<a/>' * 10 + '</robot>')


def test_23_malformed_xml_names_the_line():
    with pytest.raises(ModelError, match=r'line 2, column \d+: is not well-formed XML: mismatched'):
        load_description('<robot name="r">\n<link></robot>')


def test_24_a_mesh_path_that_climbs_out_is_reported_and_not_followed():
    checked = description(
        '<link name="a"><visual><geometry><mesh filename="package://x/../../../etc/passwd"/>'
        '</geometry></visual></link>', JOINT.format('ja', 'fixed', 'base', 'a', '1 0 0', 0, 0))
    found = check_description(checked)
    assert [(f.severity, f.code) for f in found] == [(Severity.WARNING, 'mesh-path')]


def test_a_ros_package_that_is_not_found_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    path = tmp_path / 'r.xacro'
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="$(find absent_description)/urdf/a.xacro"/></robot>'
    )
    with pytest.raises(ModelError, match='ROS package is not found: absent_description'):
        load_description(path)


@pytest.mark.parametrize('joint', [
    '<joint name="j" type="ball"/>', '<joint name="k"/><freejoint name="j"/>',
])
def test_22_joints_of_several_freedoms_in_an_mjcf_are_refused_by_name(joint):
    text = f'<mujoco><worldbody><body name="b">{joint}<geom size="1"/></body></worldbody></mujoco>'
    with pytest.raises(ModelError, match='joint "j": its type|more than 6 dofs in body .b.'):
        RobotModel.from_description(text)


def test_24_meshes_that_tell_no_mass_are_not_opened_and_includes_need_a_folder():
    asset = '<asset><mesh name="m" file="../../etc/passwd"/></asset>'
    body = (
        '<body name="b"><joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<geom type="mesh" mesh="m"/>{}</body>'
    )
    text = f'<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>'
    assert RobotModel.from_description(text.format('')).joint_names == ('j',)
    with pytest.raises(ModelError, match='not known where it lies.*Give the path'):
        RobotModel.from_description(text.format('<include file="other.xml"/>'))
