"""The ``robot:`` section: what it builds, and what it refuses by name."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, ModelError, ParameterError
from sysid_ros.mechanics.configuration import (
    RobotSettings,
    names_description,
    with_description,
)
from sysid_ros.settings import parse_settings

URDF = (
    '<robot name="two"><link name="base"/><link name="a"/><link name="b"/>'
    '<joint name="ja" type="continuous"><parent link="base"/><child link="a"/>'
    '<axis xyz="0 1 0"/></joint>'
    '<joint name="jb" type="continuous"><parent link="a"/><child link="b"/>'
    '<axis xyz="0 1 0"/></joint></robot>'
)
ROTOR = {
    'name': 'rotor', 'joint': 'jb', 'ratio': 50, 'link': 'a', 'origin': [0.1, 0, 0],
    'axis': [0, 1, 0], 'inertial': [0.2, 0, 0, 0, 1e-4, 0, 1e-4, 0, 0, 1e-4],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'two.urdf').write_text(URDF)
    return tmp_path


def settings(**keys):
    return parse_settings(RobotSettings, {'urdf': 'two.urdf', **keys}, 'robot.yaml')


def test_a_file_name_is_enough(folder):
    model = settings().build(folder)
    assert model.robot.joint_names == ('ja', 'jb')
    np.testing.assert_array_equal(model.robot.gravity, [0.0, 0.0, -9.81])
    terms = [name for name in model.parameters.names if name.startswith('j')]
    assert terms == [
        'ja.viscous_friction', 'jb.viscous_friction', 'ja.coulomb_friction',
        'jb.coulomb_friction', 'ja.torque_offset', 'jb.torque_offset',
    ]


def test_every_key_reaches_the_model(folder):
    model = settings(
        gravity=[9.81, 0, 0],
        rotors=[ROTOR],
        terms={
            'viscous_friction': ['jb'], 'coulomb_friction': [], 'torque_offset': [],
            'armature': 'all', 'stiffness': ['ja'], 'coulomb_smoothing': 0.05,
            'coupled_axes': [{'name': 'motor', 'weights': {'ja': 1, 'jb': -2}}],
        },
    ).build(folder)
    assert model.robot.body_names == ('a', 'b', 'rotor')
    assert model.robot.tree.coupling[2].tolist() == [0.0, 50.0]
    np.testing.assert_array_equal(model.robot.gravity, [9.81, 0.0, 0.0])
    assert model.parameters.names[30:] == (
        'jb.viscous_friction', 'ja.armature', 'jb.armature', 'ja.stiffness',
        'motor.armature', 'motor.viscous_friction', 'motor.coulomb_friction',
    )
    assert model.terms[-1].weights == (('ja', 1.0), ('jb', -2.0))
    assert model.terms[-1].smoothing == 0.05


def test_locked_joints_reach_the_model(folder):
    model = settings(locked_joints={'ja': 0.5}).build(folder)
    assert model.robot.joint_names == ('jb',)
    assert dict(model.robot.locked_joints) == {'ja': 0.5}


def test_xacro_arguments_reach_xacro(tmp_path):
    (tmp_path / 'two.urdf.xacro').write_text(URDF.replace(
        '<robot name="two">', '<robot name="two" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="tip" default="b"/>').replace('"jb"', '"$(arg tip)_joint"'))
    model = settings(urdf='two.urdf.xacro', xacro_arguments={'tip': 'hand'}).build(tmp_path)
    assert model.robot.joint_names == ('ja', 'hand_joint')


def test_no_term_at_all_leaves_the_rigid_bodies(folder):
    none = {'viscous_friction': [], 'coulomb_friction': [], 'torque_offset': []}
    assert settings(terms=none).build(folder).terms == ()


@pytest.mark.parametrize('change', [
    {'terms': {'viscous_friction': ['ja', 'elbow']}},
    {'terms': {'coupled_axes': [{'name': 'motor', 'weights': {'elbow': 1}}]}},
    {'locked_joints': {'elbow': 0}},
    {'rotors': [ROTOR | {'joint': 'elbow'}]},
    {'rotors': [ROTOR | {'link': 'elbow'}]},
])
def test_what_the_robot_does_not_have_is_refused_with_what_it_has(folder, change):
    with pytest.raises(ModelError, match="no such .*'elbow'; allowed .*(ja, jb|base, a, b)"):
        settings(**change).build(folder)


def test_a_description_that_is_not_there_is_refused(folder):
    with pytest.raises(ModelError, match='absent.urdf: cannot be read'):
        settings(urdf='absent.urdf').build(folder)


def test_a_joint_that_is_listed_twice_is_refused(folder):
    with pytest.raises(ParameterError, match=r'not unique \(found ja.viscous_friction\)'):
        settings(terms={'viscous_friction': ['ja', 'ja']}).build(folder)


@pytest.mark.parametrize(('change', 'message'), [
    ({'gravity_vector': [0, 0, 1]}, "unknown key 'gravity_vector'.*Did you mean 'gravity'"),
    ({'terms': {'viscus_friction': 'all'}}, 'Did you mean .viscous_friction'),
    ({'rotors': [ROTOR | {'rato': 3}]}, r"unknown key 'rotors.0.rato'.*Did you mean 'ratio'"),
    ({'terms': {'viscous_friction': 'ja'}}, r"terms.viscous_friction: .*allowed 'all', or a list"),
    ({'terms': {'coulomb_smoothing': -1}}, 'terms.coulomb_smoothing: .*at least 0'),
    ({'terms': {'coupled_axes': [{'name': 'motor'}]}}, 'coupled_axes.0.weights. is missing'),
    ({'locked_joints': {'ja': 'closed'}}, r"locked_joints.ja: .*not a number.*'closed'"),
])
def test_settings_that_do_not_fit_are_refused_with_their_place(change, message):
    with pytest.raises(ConfigurationError, match=f'^robot.yaml.*{message}'):
        settings(**change)


def test_a_section_without_its_file_is_refused():
    with pytest.raises(ConfigurationError, match='robot.yaml: robot: .*allowed the key urdf or d'):
        parse_settings(RobotSettings, {}, 'robot.yaml')


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match='frozen'):
        settings().urdf = 'other.urdf'


def test_a_description_as_text_stands_for_a_file_where_none_is_named(tmp_path):
    given = with_description({'robot': {'terms': {'coulomb_friction': ()}}}, '\n' + URDF)
    model = parse_settings(RobotSettings, given['robot'], 'robot.yaml').build(tmp_path)
    assert model.robot.joint_names == ('ja', 'jb')
    assert 'ja.coulomb_friction' not in model.parameters.names
    assert with_description({}, URDF)['robot'] == {'description': URDF}


@pytest.mark.parametrize('data', [
    {'robot': {'urdf': 'two.urdf'}}, {'robot': {'description': 'two.urdf'}}, {'robot': ['two']}])
def test_a_file_that_names_a_description_keeps_it(data):
    assert names_description(data) and with_description(data, URDF) is data
    assert not names_description({}) and with_description({}, '') == {}
