"""Drives of a simulated robot: they follow, brake, hold, and do not go on by themselves."""

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.robot.model import RobotModel

pytest.importorskip('mujoco')

from sysid_ros.demo.mujoco_plant import Plant  # noqa: E402
from sysid_ros.demo.servo import DriveMode, Drives, DriveSettings  # noqa: E402
from sysid_ros.demo.true_robot import Deviations  # noqa: E402

EFFORT = np.array([40.0, 40.0, 20.0, 8.0])
DECELERATION = np.array([10.0, 10.0, 12.0, 20.0])
START = np.array([0.3, -0.5, 0.4, 0.1])


@pytest.fixture(scope='module')
def robot(project):
    return RobotModel.from_urdf(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')


@pytest.fixture
def plant(robot):
    truth = Deviations.drawn(
        robot, np.random.default_rng(5), np.array([0.12, 0.12, 0.05, 0.01])).of(robot)
    plant = Plant.of(robot, truth)
    plant.reset(START)
    return plant


@pytest.fixture
def drives(plant):
    return Drives(plant, DriveSettings(EFFORT, DECELERATION))


def run(drives, seconds):
    for _ in range(round(seconds / 1e-3)):
        drives.step()


def test_without_a_command_the_robot_is_held(plant, drives):
    run(drives, 1.0)
    np.testing.assert_allclose(plant.q, START, atol=1e-3)
    assert drives.at_rest


def test_torques_are_applied_after_the_delay(plant):
    drives = Drives(plant, DriveSettings(EFFORT, DECELERATION, delay=0.01))
    push = plant.torque_for(np.zeros(4)) + [5.0, 0.0, 0.0, 0.0]
    drives.take_torque(push)
    applied = np.array([drives.step() for _ in range(20)])
    assert drives.mode is DriveMode.TORQUE
    np.testing.assert_array_equal(applied[10:], np.tile(push, (10, 1)))
    assert np.abs(applied[:10] - push)[:, 0].min() > 4.0


def pushed(drives, plant, seconds=0.3):
    """Moved by a stream of torques."""
    for _ in range(round(seconds / 0.002)):
        drives.take_torque(plant.torque_for(np.array([14.0, 4.0, 16.0, 50.0])))
        run(drives, 0.002)
    return plant.v


def test_a_silent_stream_of_torques_ends_in_braking_and_holding(plant, drives):
    speed = pushed(drives, plant)
    assert (speed > 0.2).all()
    run(drives, 0.02)
    assert drives.mode is DriveMode.TORQUE
    run(drives, 0.02)
    assert drives.mode is DriveMode.BRIDGING
    run(drives, 0.07)
    assert drives.mode is DriveMode.BRAKING
    longest = float((speed / DECELERATION).max())
    run(drives, longest + 0.1)
    assert drives.at_rest
    assert 'no command' in drives.reason


@pytest.mark.parametrize('silence', [0.05, 0.09])
def test_torques_that_stay_out_throw_nothing_and_are_taken_up_again(plant, drives, silence):
    speed = pushed(drives, plant)
    run(drives, 0.03)
    fastest = plant.v
    run(drives, silence - 0.03)
    assert drives.mode is DriveMode.BRIDGING
    assert drives.counts['bridged'] == 1
    # Thirty milliseconds of the last torque, and the rest of the time braking.
    slowed = np.maximum(fastest - DECELERATION * (silence - 0.032), 0.0)
    assert (plant.v < slowed + 0.05 * fastest).all()
    drives.take_torque(plant.torque_for(np.array([14.0, 4.0, 16.0, 50.0])))
    assert drives.mode is DriveMode.TORQUE
    assert (pushed(drives, plant, 0.2) > speed).all()
    assert drives.reason == ''


def test_a_bridge_may_outlast_the_motion(plant):
    drives = Drives(plant, DriveSettings(EFFORT, DECELERATION, timeout=2.0))
    pushed(drives, plant)
    run(drives, 1.5)
    assert drives.mode is DriveMode.BRIDGING
    place = plant.q
    assert (np.abs(plant.v) < 5e-3).all()
    run(drives, 0.4)
    np.testing.assert_allclose(plant.q, place, atol=1e-3)
    run(drives, 0.2)
    assert drives.at_rest


def test_braking_decelerates_as_it_was_told(plant, drives):
    pushed(drives, plant, 0.4)
    q, v = plant.q, plant.v
    drives.stop('test')
    run(drives, 1.0)
    way = 0.5 * v**2 / DECELERATION
    np.testing.assert_allclose(plant.q - q, way, rtol=0.1, atol=2e-3)


def test_after_a_stop_the_same_stream_is_ignored_until_it_begins_anew(plant, drives):
    pushed(drives, plant)
    drives.stop('test')
    # The commander takes no notice.
    for _ in range(500):
        drives.take_torque(np.zeros(4))
        run(drives, 0.002)
    assert drives.at_rest
    assert drives.counts['ignored'] == 500
    run(drives, 0.11)
    drives.take_torque(plant.torque_for(np.zeros(4)))
    assert drives.mode is DriveMode.TORQUE


def test_a_stream_that_pauses_while_the_robot_stands_still_may_go_on(plant, drives):
    def hold(seconds):
        for _ in range(round(seconds / 0.002)):
            drives.take_torque(plant.torque_for(np.zeros(4)))
            run(drives, 0.002)

    hold(0.5)
    run(drives, 0.15)
    assert drives.mode is DriveMode.HOLDING
    assert 'no command' in drives.reason
    hold(0.01)
    assert drives.mode is DriveMode.TORQUE


def test_while_the_stop_is_asked_for_what_begins_is_stopped_again(plant, drives):
    pushed(drives, plant)
    drives.stop('test')
    run(drives, 0.5)
    place = plant.q
    for _ in range(5):
        drives.take_torque(plant.torque_for(np.zeros(4)))
        run(drives, 0.05)
        drives.stop('again')
        run(drives, 0.11)
        assert drives.at_rest
    np.testing.assert_allclose(plant.q, place, atol=5e-3)


def test_a_stream_of_positions_is_followed_from_where_the_robot_is(plant, drives):
    with pytest.raises(SysidError, match='where the robot is'):
        drives.take_position(START + 0.2)
    for k in range(500):
        drives.take_position(START + 0.2 * np.sin(0.004 * k))
        run(drives, 0.002)
    assert drives.mode is DriveMode.POSITION
    # The filter lags 2 / 60 s behind.
    late = START + 0.2 * np.sin(0.004 * 500 - 2.0 * 2.0 / 60.0)
    np.testing.assert_allclose(plant.q, late, atol=4e-3)
    run(drives, 0.8)
    assert drives.at_rest


def test_a_trajectory_is_followed_to_its_end(plant, drives):
    goal, still = START + 0.3, np.zeros(4)
    drives.take_trajectory([1.0, 1.5], [
        [START + 0.15, np.full(4, 0.4), still], [goal, still, still]])
    run(drives, 1.0)
    np.testing.assert_allclose(plant.q, START + 0.15, atol=4e-3)
    run(drives, 0.7)
    np.testing.assert_allclose(plant.q, goal, atol=4e-3)
    assert drives.at_rest


@pytest.mark.parametrize('reach', [-0.02, 0.003])
def test_a_trajectory_that_is_replaced_on_its_way_is_followed_without_a_kick(
    plant, drives, rng, reach
):
    begun, end = 0.3, 1.5

    def point(t):
        angle, still = 3.0 * min(t, end), np.zeros(4)
        parts = [START + 0.4 * np.sin(angle), still + 1.2 * np.cos(angle)]
        return [*parts, still - 3.6 * np.sin(angle)] if t < end else [parts[0], still, still]

    def points_from(t):
        return np.arange(t, end + 0.02, 0.01)

    drives.take_trajectory([0.0, *(begun + points_from(0.0))], [
        [START, np.zeros(4), np.zeros(4)], *(point(t) for t in points_from(0.0))])
    torques, replaced = [], begun + 0.1
    while drives.t < 1.4:
        torques.append(drives.step())
        if drives.t > replaced:
            now = drives.t - begun
            due = points_from(now + reach)
            drives.take_trajectory((due - now).tolist(), [point(t) for t in due])
            replaced += rng.uniform(0.05, 0.15)
    # A kick goes to the limit of 40 N·m.
    assert np.abs(np.diff(torques[320:], axis=0)).max() < 0.5
    np.testing.assert_allclose(plant.q, point(drives.t - begun)[0], atol=4e-3)


def test_a_trajectory_of_positions_alone_is_followed_too(plant, drives):
    drives.take_trajectory([2.0], [[START + 0.3]])
    run(drives, 1.0)
    np.testing.assert_allclose(plant.q, START + 0.15, atol=4e-3)


def test_an_empty_trajectory_brakes(plant, drives):
    still = np.zeros(4)
    drives.take_trajectory([1.0], [[START + 0.3, still, still]])
    run(drives, 0.5)
    drives.take_trajectory([], [])
    run(drives, 0.5)
    assert drives.at_rest
    assert (plant.q < START + 0.25).all()


@pytest.mark.parametrize(('times', 'points', 'said'), [
    ([1.0, 0.5], [[START], [START]], 'rise'),
    ([0.0], [[START]], 'is over'),
    ([-2.0, -1.0], [[START], [START]], 'is over'),
    ([0.0, 1.0], [[START + 0.3], [START]], 'where the robot is'),
    ([1.0], [[START, np.ones(4)]], 'end at rest'),
    ([1.0, 2.0], [[START, np.zeros(4)], [START]], 'same quantities'),
    ([1.0], [[np.full(4, np.nan)]], 'finite'),
    ([1.0], [[START[:3]]], '4 finite numbers'),
])
def test_trajectories_that_cannot_be_followed_are_refused(drives, times, points, said):
    with pytest.raises(SysidError, match=said):
        drives.take_trajectory(times, points)
    assert drives.mode is DriveMode.HOLDING


def test_one_stream_does_not_take_over_from_another(plant, drives):
    for _ in range(10):
        drives.take_torque(plant.torque_for(np.zeros(4)))
        drives.take_position(plant.q)
        run(drives, 0.002)
    assert drives.mode is DriveMode.TORQUE
    with pytest.raises(SysidError, match='now'):
        drives.take_trajectory([1.0], [[START]])


@pytest.mark.parametrize('torque', [np.full(4, np.nan), np.zeros(3)])
def test_malformed_torques_are_refused_and_counted(drives, torque):
    with pytest.raises(SysidError, match='finite'):
        drives.take_torque(torque)
    assert drives.counts['malformed'] == 1


def test_torques_beyond_the_limits_are_counted(plant, drives):
    drives.take_torque(np.array([100.0, 0.0, 0.0, 0.0]))
    assert drives.step()[0] == 40.0
    assert drives.counts['saturated'] == 1


def test_drives_without_a_limit_are_refused():
    with pytest.raises(ConfigurationError, match='limit'):
        DriveSettings(np.array([1.0, np.nan]), np.ones(2))


def test_position_servos_give_way_to_their_load_and_keep_their_command(plant, robot):
    stiffness, damping = np.full(4, 150.0), np.full(4, 8.0)
    drives = Drives(plant, DriveSettings(
        EFFORT, DECELERATION, delay=0.01, gains=np.stack([stiffness, damping])))
    run(drives, 3.0)
    load = plant.torque_for(np.zeros(4))
    # At rest the spring carries the weight, less what dry friction holds.
    np.testing.assert_allclose(stiffness * (START - plant.q), load, atol=1.3)
    assert np.abs(load).max() > 3.0
    wanted = START + [0.04, 0.0, 0.03, 0.0]
    drives.take_position(wanted)
    torques = np.array([drives.step() for _ in range(12)])
    q, v = plant.q, plant.v
    # The command takes effect after the delay, at once and as a whole.
    assert np.abs(np.diff(torques[:, 0]))[:9].max() < 0.1
    np.testing.assert_allclose(
        drives.step(), np.clip(stiffness * (wanted - q) - damping * v, -EFFORT, EFFORT))
    run(drives, 2.0)
    assert drives.mode is DriveMode.HOLDING and drives.at_rest
    load = plant.torque_for(np.zeros(4))
    np.testing.assert_allclose(stiffness * (wanted - plant.q), load, atol=1.3)
