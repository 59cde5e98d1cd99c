"""Joints are locked by name, by pattern, or all that are not recorded."""

from __future__ import annotations

import pytest

from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 1 0"/>'
    '<limit lower="{}" upper="{}" effort="9" velocity="9"/>{}</joint>'
)
HAND = (
    '<robot name="hand"><link name="base"/>'
    + ''.join(LINK.format(name) for name in ('arm', 'thumb', 'index', 'tip'))
    + JOINT.format('shoulder', 'base', 'arm', -1, 1, '')
    + JOINT.format('finger_thumb', 'arm', 'thumb', 0.2, 1, '')
    + JOINT.format('finger_index', 'arm', 'index', -1, 1, '')
    + JOINT.format('finger_tip', 'index', 'tip', -1, 1, '<mimic joint="finger_index"/>')
    + '</robot>'
)


def locked(locks, moving=None):
    robot = RobotModel.from_urdf(HAND, locked_joints=locks, moving_joints=moving)
    return robot.joint_names, dict(robot.locked_joints)


def test_a_pattern_locks_at_zero_or_at_the_limit_next_to_it():
    assert locked(['finger_*']) == (('shoulder',), {'finger_thumb': 0.2, 'finger_index': 0.0})


def test_a_name_is_stronger_than_a_pattern_whatever_the_order():
    for locks in ({'finger_index': 0.3, 'finger_*': 0.5}, {'finger_*': 0.5, 'finger_index': 0.3}):
        assert locked(locks)[1] == {'finger_thumb': 0.5, 'finger_index': 0.3}


def test_the_rest_is_what_was_not_recorded_and_follows_nothing_recorded():
    assert locked('rest', ['shoulder']) == (
        ('shoulder',), {'finger_thumb': 0.2, 'finger_index': 0.0})
    assert locked('rest', ['shoulder', 'finger_tip']) == (
        ('shoulder', 'finger_index'), {'finger_thumb': 0.2})


def test_a_pattern_that_nothing_matches_and_a_rest_of_nothing_are_refused():
    with pytest.raises(ModelError, match="no such moving joint to lock .found 'wrist_.'"):
        locked(['wrist_*'])
    with pytest.raises(ModelError, match='not said which joints move .found rest'):
        locked('rest')


def test_settings_say_it_in_all_three_ways(tmp_path):
    (tmp_path / 'hand.urdf').write_text(HAND)
    for given in ('rest', ['finger_*'], {'finger_*': 0.4}):
        settings = parse_settings(
            RobotSettings, {'urdf': 'hand.urdf', 'locked_joints': given}, 'settings')
        assert settings.build(tmp_path, ['shoulder']).robot.joint_names == ('shoulder',)
    with pytest.raises(ConfigurationError, match='locked_joints'):
        parse_settings(RobotSettings, {'urdf': 'hand.urdf', 'locked_joints': 'all'}, 'settings')
