"""FAULTS 1 to 15, as far as joint states that are coming in meet them."""

import itertools

import numpy as np
import pytest

from support.joint_state_stream import JOINTS, START, STEP, Robot, pose
from sysid_ros.recording.live.joint_states import LiveJointStates, LiveSettings


@pytest.fixture
def robot():
    return Robot()


def test_00_a_healthy_stream_is_what_was_said(robot):
    live = robot.move().deliver()
    assert live.latest.stamp == START + 199 * STEP
    np.testing.assert_array_equal(live.latest.q, pose(199))
    np.testing.assert_array_equal(live.latest.tau, [1.0, 2.0])
    assert (live.samples, live.dropped, live.missing, live.unknown) == (200, 0, (), ())
    assert not live.counts
    assert live.rate == pytest.approx(100.0)
    assert live.age(1.99 + 0.5) == pytest.approx(0.5)
    t, q, v, tau = live.window(0.5)
    np.testing.assert_allclose(t, np.arange(-50, 1) * 0.01, atol=1e-12)
    np.testing.assert_array_equal(q, [pose(k) for k in range(149, 200)])
    assert np.isnan(v).all()
    assert tau.shape == (51, 2)


def test_00_joint_states_that_come_one_at_a_time_say_what_many_at_once_do():
    def heard(together):
        robot = Robot()
        robot.together = together
        robot.move(0, 60)
        robot.say(60, [np.nan, 0.0])
        live = robot.move(62, 70).move(80, 120).deliver()
        return live.latest, live.window(1.0), live.counts, live.dropped, live.rate

    (one, one_window, *one_said), (many, many_window, *many_said) = heard(1), heard(50)
    assert one.stamp == many.stamp and one_said == many_said
    for name in ('q', 'v', 'tau'):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    for alone, at_once in zip(one_window, many_window, strict=True):
        np.testing.assert_array_equal(alone, at_once)


def test_00_history_is_bounded():
    live = LiveJointStates(JOINTS, settings=LiveSettings(history=0.3))
    Robot(live).move().deliver()
    assert len(live.window(100.0)[0]) < 31 + 7


@pytest.mark.parametrize('together', [1, 7, 50])
def test_02_efforts_that_a_joint_gives_no_more_are_counted_until_they_come_back(together):
    robot = Robot()
    robot.together = together
    live = robot.move(0, 50).deliver()
    assert live.lost_efforts == {}
    for k in range(50, 80):
        robot.say(k, pose(k), effort=[np.nan, 2.0])
    live = robot.deliver()
    assert live.lost_efforts == {JOINTS[0]: 30}
    assert live.counts['samples without an effort that was given before'] == 30
    assert robot.move(80, 90).deliver().lost_efforts == {}


def test_02_a_joint_that_never_gave_an_effort_has_none_to_lose(robot):
    for k in range(50):
        robot.say(k, pose(k), effort=[np.nan, 2.0])
    live = robot.deliver()
    assert live.lost_efforts == {} and live.without_effort == JOINTS[:1]
    assert not live.counts


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_01_a_nan_or_inf_position_is_dropped_and_counted(robot, bad):
    robot.move(0, 50)
    for k in range(50, 53):
        robot.say(k, [0.0, bad])
    live = robot.deliver()
    assert live.bad_in_a_row == 3
    assert live.counts['samples with a NaN position dropped'] == live.dropped == 3
    np.testing.assert_array_equal(live.latest.q, pose(49))
    assert robot.move(53, 60).deliver().bad_in_a_row == 0


def test_01_bad_positions_in_a_row_are_counted_over_many_polls(robot):
    robot.together = 1
    robot.move(0, 5)
    for k in range(5, 25):
        robot.say(k, [np.nan, np.nan])
    assert robot.live.bad_in_a_row == 20


@pytest.mark.parametrize('velocity', [None, (np.nan, np.nan)])
def test_02_velocities_that_are_not_given_are_differentiated_from_positions(robot, velocity):
    live = robot.move(velocity=velocity).deliver()
    assert np.isnan(live.latest.v).all()
    # The slope over 50 ms is that of their middle.
    expected = [np.cos(1.965), -np.sin(1.965)]
    np.testing.assert_allclose(live.velocities(), expected, atol=1e-3)


def test_02_joints_without_effort_are_named(robot):
    live = robot.move(effort=(1.0, np.nan)).deliver()
    assert live.without_effort == ('b',)
    assert Robot().move(effort=None).deliver().without_effort == JOINTS


def test_03_messages_whose_lengths_differ_are_dropped_and_counted(robot):
    robot.move(0, 100)
    robot.say(100, [1.0])
    robot.say(101, [1.0, 2.0, 3.0])
    robot.say(102, [1.0, 2.0], velocity=[1.0])
    live = robot.deliver()
    assert live.counts['messages whose lengths differ dropped'] == live.dropped == 3
    assert live.samples == 100


def test_04_joints_in_another_order_are_mapped_by_name_in_every_message(robot):
    for k in range(100):
        if k % 3:
            robot.say(k, pose(k), effort=[1.0, 2.0])
        else:
            robot.say(k, pose(k)[::-1], effort=[2.0, 1.0], names=('b', 'a'))
    live = robot.deliver()
    assert not live.counts
    _, q, _, tau = live.window(1.0)
    np.testing.assert_array_equal(q, [pose(k) for k in range(100)])
    np.testing.assert_array_equal(tau, [[1.0, 2.0]] * 100)


def test_05_joints_split_over_several_messages_are_merged_with_a_stamp_each(robot):
    for k in range(300):
        a, b = pose(k)
        robot.say(k, [a], effort=[1.0], names=('a',))
        if k < 298:
            robot.say(k, [b], effort=[2.0], names=('b',), stamp=START + k * STEP + STEP // 2)
    live = robot.deliver()
    assert not live.counts
    assert live.latest.stamp == START + 297 * STEP + STEP // 2
    np.testing.assert_array_equal(live.latest.q, [pose(299)[0], pose(297)[1]])
    assert live.age(3.0) == pytest.approx(3.0 - 2.97)
    t, q, _, tau = live.window(1.0)
    np.testing.assert_allclose(np.diff(t), 0.01, atol=1e-12)
    np.testing.assert_array_equal(tau, [[1.0, 2.0]] * len(t))
    np.testing.assert_array_equal(q, [pose(k) for k in range(298 - len(t), 298)])


def test_05_joints_that_are_missing_are_named_and_older_than_any_bound(robot):
    for k in range(20):
        robot.say(k, [0.1], effort=[1.0], names=('a',))
    live = robot.deliver()
    assert live.missing == ('b',)
    assert live.latest is None
    assert live.age(1.0) == np.inf


def test_06_unknown_joints_are_ignored_and_listed_once(robot):
    for k in range(20):
        robot.say(k, [9.0, *pose(k)], effort=[9.0, 1.0, 2.0], names=('gripper', *JOINTS))
    live = robot.deliver()
    assert live.unknown == ('gripper',)
    np.testing.assert_array_equal(live.latest.q, pose(19))


def test_06_a_stranger_with_ever_new_names_does_not_fill_the_memory(robot):
    for k in range(400):
        robot.say(k, [9.0, *pose(k)], effort=None, names=(f'stranger{k}', *JOINTS))
    live = robot.deliver()
    assert len(live.unknown) == 100
    assert len(live._layouts) <= 64
    assert live.samples == 400


def test_07_messages_that_name_a_joint_twice_are_rejected(robot):
    robot.move(0, 10)
    robot.say(10, [1.0, 2.0], names=('a', 'a'))
    live = robot.deliver()
    assert live.counts['messages with a joint named twice rejected'] == live.dropped == 1
    assert live.samples == 10


@pytest.mark.parametrize('together', [1, 7])
def test_08_of_samples_with_the_same_stamp_the_first_is_kept(together):
    robot = Robot(together=together).move(0, 50)
    robot.say(49, [5.0, 5.0]).say(49, [6.0, 6.0])
    live = robot.deliver()
    assert live.counts['samples with a repeated stamp dropped'] == live.dropped == 2
    np.testing.assert_array_equal(live.latest.q, pose(49))


@pytest.mark.parametrize('together', [1, 7])
def test_09_samples_whose_stamps_are_out_of_order_are_dropped(together):
    robot = Robot(together=together).move(0, 50)
    robot.say(50, pose(40), stamp=START + 40 * STEP).move(50, 60)
    live = robot.deliver()
    assert live.counts['stamps out of order dropped'] == live.dropped == 1
    assert (live.samples, live.clock_resets) == (60, 0)
    assert (np.diff(live.window(9.0)[0]) > 0).all()


def test_10_messages_with_a_zero_stamp_are_dropped_and_said(robot):
    live = robot.move(0, 20, stamp=0).deliver()
    assert live.zero_stamps
    assert live.counts['messages with a zero stamp dropped'] == live.dropped == 20
    assert live.missing == JOINTS
    assert not robot.move(20, 40).deliver().zero_stamps


@pytest.mark.parametrize('offset', [-3.0, 3.0])
def test_11_stamps_far_from_the_clock_are_counted_and_their_distance_known(robot, offset):
    for k in range(20):
        robot.say(k, pose(k), received=START + k * STEP + round(offset * 1e9))
    live = robot.deliver()
    assert live.counts['stamps far from the time of reception'] == 20
    assert live.clock_distance == pytest.approx(3.0)
    assert live.samples == 20


@pytest.mark.parametrize('together', [1, 7])
def test_12_a_clock_that_jumps_back_closes_the_segment(together):
    robot = Robot(together=together).move(0, 200)
    for k in range(200, 260):
        robot.say(k, pose(k), stamp=START + (k - 150) * STEP)
    live = robot.deliver()
    assert live.clock_resets == 1
    # Four messages look like late ones before it is clear that the clock was reset.
    assert live.dropped == 4
    t, q, _, _ = live.window(9.0)
    np.testing.assert_array_equal(q, [pose(k) for k in range(204, 260)])
    assert (np.diff(t) > 0).all()
    assert live.latest.stamp == START + 109 * STEP


def test_12_one_stamp_far_ahead_is_no_reset(robot):
    robot.move(0, 100)
    robot.say(100, pose(100), stamp=START + 700 * STEP)
    live = robot.move(101, 200).deliver()
    assert live.clock_resets == 0
    assert live.latest.stamp == START + 199 * STEP
    assert live.dropped == 4


def test_12_one_late_message_is_no_reset(robot):
    robot.move(0, 100)
    robot.say(100, pose(10), stamp=START + 10 * STEP)
    live = robot.move(100, 120).deliver()
    assert live.clock_resets == 0
    assert live.samples == 120


def test_13_gaps_are_counted_and_the_rate_is_measured(robot):
    live = robot.move(0, 100).move(130, 200).deliver()
    assert live.counts['gaps'] == 1
    assert live.rate == pytest.approx(70 / 0.99, rel=0.05)
    assert np.isnan(LiveJointStates(JOINTS).rate)


def test_14_a_position_that_stops_dead_while_stamps_advance_is_stuck(robot):
    for k in range(300):
        a, b = pose(2 * k)
        robot.say(k, [a, pose(400)[1] if k >= 200 else b])
    live = robot.deliver()
    assert live.stuck == ('b',)
    assert live.counts['stuck sensors'] == 1
    for k in range(300, 320):
        robot.say(k, pose(2 * k))
    assert robot.deliver().stuck == ()


def test_14_a_joint_that_slows_down_and_rests_is_not_stuck(robot):
    for k in range(500):
        s = min(k, 200) / 200
        robot.say(k, [10 * s ** 3 - 15 * s ** 4 + 6 * s ** 5, 1.0])
    assert robot.deliver().stuck == ()


def test_15_encoders_are_unwrapped_on_continuous_joints_only():
    live = LiveJointStates(JOINTS, continuous={'a'})
    robot = Robot(live)
    turn = itertools.count()
    for k in range(300):
        angle = 0.05 * next(turn)
        wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
        robot.say(k, [wrapped, wrapped])
    robot.deliver()
    assert live.latest.q[0] == pytest.approx(0.05 * 299)
    assert abs(live.latest.q[1]) <= np.pi
    assert live.counts['jumps by a turn of joints with limits'] == 2
    np.testing.assert_allclose(np.diff(live.window(2.0)[1][:, 0]), 0.05, atol=1e-12)


def test_a_message_that_cannot_be_decoded_is_dropped_and_the_others_are_not(robot):
    robot.together = 100
    robot.move(0, 20)
    robot.waiting[7] = (b'\0\1\0\0not a joint state', *robot.waiting[7][1:])
    live = robot.deliver()
    assert live.counts['messages that cannot be decoded dropped'] == live.dropped == 1
    np.testing.assert_array_equal(
        live.window(1.0)[1], [pose(k) for k in range(20) if k != 7])
