"""Limits of motions: from the description, completed, drawn in, and heeding what follows."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.robot.model import RobotModel

_LINK = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
         'ixy="0" ixz="0" iyz="0"/></inertial></link>')


def robot(kind: str = 'revolute', limit: str = 'lower="-1" upper="2"', ratio: float = -2.0,
          follower: str = 'lower="-1.5" upper="1"') -> RobotModel:
    """A joint, and one that follows it at a ratio with an offset of 0.5."""
    joint = ('<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/>'
             '<axis xyz="0 0 1"/><limit {3} velocity="{4}" effort="9"/>{5}</joint>')
    mimic = f'<mimic joint="first" multiplier="{ratio}" offset="0.5"/>'
    return RobotModel.from_urdf(
        '<robot name="r"><link name="base"/>' + _LINK.format('first_link')
        + _LINK.format('second_link')
        + joint.format('first', kind, 'base', limit, 3.0, '')
        + joint.format('second', 'revolute', 'first_link', follower, 1.0, mimic) + '</robot>')


def test_a_joint_keeps_the_limits_of_what_follows_it() -> None:
    limits = MotionLimits.of(robot())
    # -1.5 <= -2 q + 0.5 <= 1, and |2 v| <= 1.
    assert (limits.lower[0], limits.upper[0]) == pytest.approx((-0.25, 1.0))
    assert limits.velocity[0] == 0.5
    q = np.random.default_rng(0).uniform(limits.lower[0], limits.upper[0], 100)
    followed = -2.0 * q + 0.5
    assert (followed >= -1.5).all() and (followed <= 1.0).all()


def test_what_is_given_goes_before_what_is_described() -> None:
    limits = MotionLimits.of(robot(), {'first': {'upper': 0.4, 'velocity': 0.2}})
    assert (limits.lower[0], limits.upper[0]) == (-0.25, 0.4)
    assert limits.velocity[0] == 0.2 and limits.acceleration[0] == pytest.approx(0.4)


def test_a_follower_that_leaves_no_room_is_named() -> None:
    with pytest.raises(ConfigurationError, match='leave no room to move'):
        MotionLimits.of(robot(follower='lower="4" upper="5"', limit='lower="-1" upper="-0.5"',
                              ratio=1.0))


def test_a_joint_without_a_range_that_does_not_turn_freely_is_refused() -> None:
    bare = RobotModel.from_urdf(
        '<robot name="r"><link name="base"/>' + _LINK.format('arm')
        + '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>'
        '<axis xyz="0 0 1"/></joint></robot>')
    speeds = {'j': {'velocity': 1.0, 'effort': 5.0}}
    with pytest.raises(ConfigurationError, match='position limit of j .*limits: {j: {lower: -1'):
        MotionLimits.of(bare, speeds)
    whole = MotionLimits.of(bare, {'j': {**speeds['j'], 'lower': -1.0, 'upper': 1.0}})
    assert whole.reach[0] == 1.0


def test_margins_are_kept_on_the_side_that_has_an_end() -> None:
    inf = np.inf
    limits = MotionLimits(('a', 'b'), np.array([-1.0, -inf]), np.array([inf, 2.0]),
                          *np.ones((4, 2)))
    within = limits.within(0.1, 0.0)
    assert within.lower[0] > -1.0 and within.upper[0] == inf
    assert within.upper[1] < 2.0 and within.lower[1] == -inf


@pytest.mark.parametrize(('limit', 'words'), [
    ('lower="1" upper="-1" velocity="1" effort="9"', 'no room to move.*found 1.0 to -1.0'),
    ('lower="0" upper="0" velocity="1" effort="9"', 'no room to move.*lower: -1.0, upper: 1.0'),
    ('velocity="1" effort="9"', 'no room to move.*limits: {j: {lower: -1.0, upper: 1.0}}'),
    ('lower="-1" upper="1" velocity="0" effort="9"', 'j: velocity: .*limits: {j: {velocity: 1.0}}'),
    ('lower="-1" upper="1" velocity="1" effort="0"', 'j: effort: .*limits: {j: {effort: 1.0}}'),
    ('lower="-1" upper="1" effort="9"', 'j: velocity: .*limits: {j: {velocity: 1.0}}'),
])
def test_21_limits_that_are_swapped_zero_or_missing_refuse_to_excite_with_the_line_to_paste(
    limit: str, words: str
) -> None:
    described = RobotModel.from_urdf(
        '<robot name="r"><link name="base"/>' + _LINK.format('arm')
        + '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>'
        f'<axis xyz="0 0 1"/><limit {limit}/></joint></robot>')
    with pytest.raises(ConfigurationError, match=words):
        MotionLimits.of(described)
