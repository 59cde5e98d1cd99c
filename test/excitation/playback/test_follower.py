"""What a controller lets a robot do: it holds, follows, brakes, and does not go on by itself."""

from contextlib import nullcontext

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, ExcitationError
from sysid_ros.excitation.playback.follower import Follower, FollowerPhase, Reference
from sysid_ros.excitation.safety.limits import MotionLimits

LIMITS = MotionLimits(
    ('a', 'b'), *(np.full(2, x) for x in (-3.0, 3.0, 2.0, 10.0, 100.0, 50.0)))
START = np.array([0.3, -0.2])
ZERO = np.zeros(2)
STEP = 0.002


class Robot:
    """Tracks perfectly, and holds where nothing is commanded."""

    def __init__(self):
        self.follower = Follower(LIMITS)
        self.q, self.v, self.now = START.copy(), ZERO.copy(), 100.0
        self.targets = []

    def run(self, seconds, reference=None):
        """Tick; with references of the time since the begin where they are given."""
        begin = self.now
        while self.now < begin + seconds - 1e-9:
            self.now += STEP
            if reference is not None:
                self.follower.refer(self.now, reference(self.now - begin))
            target = self.follower.tick(self.now, self.q, self.v)
            self.targets.append(target)
            self.q, self.v = (self.q, ZERO) if target is None else (target.q, target.v)


@pytest.fixture
def robot():
    return Robot()


def wave(t):
    return Reference(
        START + 0.3 * (1.0 - np.cos(3.0 * t)), np.full(2, 0.9 * np.sin(3.0 * t)),
        np.full(2, 2.7 * np.cos(3.0 * t)))


def test_it_begins_by_holding_the_measured_pose(robot):
    robot.run(0.1)
    assert robot.follower.phase is FollowerPhase.HOLDING
    np.testing.assert_array_equal(robot.q, START)


def test_a_robot_that_moves_is_brought_to_rest_first(robot):
    robot.v = np.array([0.5, 0.0])
    robot.run(STEP)
    assert robot.follower.phase is FollowerPhase.BRAKING
    robot.run(0.5)
    assert robot.follower.phase is FollowerPhase.HOLDING
    assert robot.q[0] > START[0]


def test_references_are_followed_to_their_end(robot):
    robot.run(0.1)
    robot.run(1.0, wave)
    assert robot.follower.phase is FollowerPhase.FOLLOWING
    np.testing.assert_allclose(robot.q, wave(1.0).q)
    robot.run(0.02, lambda t: Reference.still(wave(1.0).q))
    robot.run(0.2)
    assert robot.follower.phase is FollowerPhase.HOLDING


def test_references_that_break_off_in_motion_end_in_braking_and_holding(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    robot.run(0.1)
    assert robot.follower.phase is FollowerPhase.FOLLOWING
    robot.run(0.01)
    assert robot.follower.phase is FollowerPhase.BRAKING
    robot.run(0.5)
    assert robot.follower.phase is FollowerPhase.HOLDING
    assert 'no reference' in robot.follower.reason


def test_a_stop_brakes_within_the_limits_and_lets_go(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    count = len(robot.targets)
    robot.follower.stop(robot.now, 'because')
    robot.run(1.0, lambda t: wave(0.5 + t))
    assert robot.follower.phase is FollowerPhase.RELEASED
    assert robot.follower.reason == 'because'
    braking = [target for target in robot.targets[count:] if target is not None]
    v = np.array([wave(0.5).v, *(target.v for target in braking)])
    assert np.abs(np.diff(v, axis=0) / STEP).max() <= 10.0 + 1e-6
    assert len(braking) * STEP < 0.9 / 10.0 + 2.0 * 10.0 / 100.0


def test_after_a_stop_a_stream_that_goes_on_is_ignored_and_a_new_one_begins(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    robot.follower.stop(robot.now, 'because')
    robot.run(1.0, lambda t: wave(0.5 + t))
    assert robot.follower.phase is FollowerPhase.RELEASED
    assert robot.follower.ignored > 400
    robot.run(0.11)
    place = robot.q
    robot.run(0.01, lambda t: Reference.still(place))
    assert robot.follower.phase is FollowerPhase.FOLLOWING


def test_while_the_stop_is_asked_for_what_begins_is_stopped_again(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    robot.follower.stop(robot.now, 'because')
    robot.run(0.7)
    place = robot.q
    for _ in range(5):
        robot.run(0.11)
        robot.run(0.02, lambda t: Reference.still(place))
        assert robot.follower.phase is FollowerPhase.FOLLOWING
        robot.follower.stop(robot.now, 'again')
        robot.run(0.05, lambda t: Reference.still(place))
        assert robot.follower.phase is FollowerPhase.RELEASED
    np.testing.assert_allclose(robot.q, place, atol=1e-9)


def test_it_lets_go_of_a_robot_that_others_hold_elsewhere(robot):
    robot.run(0.1)
    robot.q = START + [0.0, 0.2]
    robot.run(STEP)
    assert robot.follower.phase is FollowerPhase.RELEASED
    assert 'elsewhere' in robot.follower.reason
    robot.run(0.2)
    here = robot.q.copy()
    robot.run(0.1, lambda t: Reference.still(here))
    assert robot.follower.phase is FollowerPhase.FOLLOWING


def test_without_joint_states_it_lets_go(robot):
    robot.run(0.1)
    robot.run(0.3, wave)
    robot.follower.lose('joint states lost')
    assert robot.follower.tick(robot.now, robot.q, robot.v) is None
    robot.run(0.2)
    assert robot.follower.phase is FollowerPhase.RELEASED


def test_a_robot_that_was_only_held_is_held_again_when_joint_states_are_back(robot):
    robot.run(0.1)
    robot.follower.lose('joint states lost')
    assert robot.follower.phase is FollowerPhase.WAITING
    robot.q = START + [0.0, 0.2]
    place = robot.q.copy()
    robot.run(0.1)
    assert robot.follower.phase is FollowerPhase.HOLDING
    np.testing.assert_array_equal(robot.q, place)
    robot.run(0.1, lambda t: Reference.still(place))
    assert robot.follower.phase is FollowerPhase.FOLLOWING


def test_what_cannot_be_reached_is_let_go_of_until_a_new_stream(robot):
    robot.run(0.1)
    robot.follower.release('unreachable')
    robot.run(0.2)
    assert robot.follower.phase is FollowerPhase.RELEASED


def test_a_stream_that_begins_elsewhere_is_refused(robot):
    robot.run(0.1)
    with pytest.raises(ExcitationError, match='where the robot is'):
        robot.follower.refer(robot.now, Reference.still(START + 0.1))
    assert robot.follower.phase is FollowerPhase.HOLDING


def test_a_jump_of_the_reference_ends_in_braking(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    with pytest.raises(ExcitationError, match='jumped'):
        robot.follower.refer(robot.now, Reference.still(START - 1.0))
    assert robot.follower.phase is FollowerPhase.BRAKING


@pytest.mark.parametrize('q', [np.array([np.nan, 0.0]), np.zeros(3)])
def test_references_that_do_not_fit_are_refused(robot, q):
    robot.run(0.1)
    with pytest.raises(ExcitationError, match='fit'):
        robot.follower.refer(robot.now, Reference.still(q))


def test_times_that_cannot_be_are_refused():
    with pytest.raises(ConfigurationError, match='timeout'):
        Follower(LIMITS, timeout=0.0)


@pytest.mark.parametrize('name', ['q', 'v'])
def test_a_robot_of_which_a_joint_is_not_known_is_told_nothing(robot, name):
    """A driver without velocities tells none before its second joint state."""
    unknown = {'q': START, 'v': ZERO, name: np.array([0.0, np.nan])}
    assert robot.follower.tick(robot.now, **unknown) is None
    assert robot.follower.phase is FollowerPhase.WAITING
    robot.run(0.1)
    assert robot.follower.phase is FollowerPhase.HOLDING
    # A robot that was only held is held again.
    assert robot.follower.tick(robot.now, **unknown) is None
    robot.run(STEP)
    assert robot.follower.phase is FollowerPhase.HOLDING
    robot.run(0.5, wave)
    assert robot.follower.phase is FollowerPhase.FOLLOWING
    assert robot.follower.tick(robot.now, **unknown) is None
    assert robot.follower.phase is FollowerPhase.RELEASED
    assert 'is not known' in robot.follower.reason
    # Nor does a motion begin where nobody knows where the robot is, or whether it rests.
    robot.now += 1.0
    refused = pytest.raises(ExcitationError, match='do not begin where the robot is')
    with refused if name == 'q' else nullcontext():
        robot.follower.refer(robot.now, Reference.still(robot.q))
    assert robot.follower.phase is FollowerPhase.RELEASED and robot.follower.ignored == 1


def test_a_motion_is_not_moved_on_when_the_state_comes_back(robot):
    robot.run(0.1)
    robot.run(0.5, wave)
    robot.follower.tick(robot.now, robot.q, np.full(2, np.nan))
    robot.v = ZERO
    robot.run(0.5)
    assert robot.follower.phase is FollowerPhase.RELEASED and robot.targets[-1] is None
