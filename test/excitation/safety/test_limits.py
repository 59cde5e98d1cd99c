"""Limits of motions: from the description, completed, drawn in, and heeding what follows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_the_line_completes_all_that_is_missing_of_all_joints() -> None:
    zeros, ones = np.zeros(3), np.ones(3)
    speeds = np.array([0.0, 1.0, 2.0])
    with pytest.raises(ConfigurationError) as refused:
        MotionLimits(('a', 'b', 'c'), np.array([-1.0, 0.0, -1.0]), np.array([1.0, 0.0, 1.0]),
                     speeds, 2.0 * speeds, ones, np.array([1.0, 0.0, 1.0]))
    assert str(refused.value).endswith(
        'limits: {a: {velocity: 1.0}, b: {lower: -1.0, upper: 1.0, effort: 1.0}}.')
    MotionLimits(('a', 'b', 'c'), zeros - 1.0, ones, ones, ones, ones, ones)


NUMBERS = st.floats(-10.0, 10.0) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0])


@given(st.lists(NUMBERS, min_size=6, max_size=6))
@settings(max_examples=300, deadline=None)
def test_limits_are_a_range_and_positive_bounds_or_refused_by_the_joint(
    values: list[float]
) -> None:
    lower, upper, *bounds = values
    usable = lower < upper and all(bound > 0.0 for bound in bounds)
    if usable:
        limits = MotionLimits(('j',), *np.array(values)[:, None])
        assert (limits.lower[0], limits.upper[0]) == (lower, upper)
        return
    with pytest.raises(ConfigurationError, match='j.*(has no limit|no room to move)') as refused:
        MotionLimits(('j',), *np.array(values)[:, None])
    assert refused.value.fix and 'limits: {j: {' in refused.value.fix


@given(
    st.floats(-3.0, 3.0), st.floats(0.01, 6.0), st.floats(0.0, 0.99), st.floats(0.0, 0.99))
@settings(max_examples=200, deadline=None)
def test_margins_draw_in_and_never_widen(
    lower: float, width: float, margin: float, effort_margin: float
) -> None:
    limits = MotionLimits(('j',), *np.array([lower, lower + width, 2.0, 3.0, 4.0, 5.0])[:, None])
    within = limits.within(margin, effort_margin)
    assert within.lower[0] - lower == pytest.approx(0.5 * margin * width, abs=1e-12)
    assert lower + width - within.upper[0] == pytest.approx(0.5 * margin * width, abs=1e-12)
    for name in ('velocity', 'acceleration', 'jerk'):
        assert getattr(within, name)[0] == pytest.approx((1.0 - margin) * getattr(limits, name)[0])
    assert within.effort[0] == pytest.approx(5.0 * (1.0 - effort_margin))


@given(st.floats() | st.sampled_from([1.0, -1e-9]))
def test_a_margin_that_is_no_part_is_refused_by_its_name(value: float) -> None:
    limits = MotionLimits(('j',), *np.array([-1.0, 1.0, 2.0, 3.0, 4.0, 5.0])[:, None])
    if 0.0 <= value < 1.0:
        limits.within(value, value)
        return
    for name, margins in (('margin', (value, 0.0)), ('effort_margin', (0.0, value))):
        with pytest.raises(ConfigurationError, match=f'^{name}: is not a part'):
            limits.within(*margins)
