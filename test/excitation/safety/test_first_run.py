"""First motions of a robot whose description is wrong: let go on, and still stopped by contact."""

from __future__ import annotations

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.excitation.playback.checks import Observation, PlaybackTolerances
from sysid_ros.excitation.safety.first_run import MissedTorque, allowed_residual
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.monitor import Command, MotionMonitor, Pulse
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

# The robot is heavier than its description by 30 %, and rubs five times as much.
HEAVIER, ROUGHER = 1.3, 5.0
RATE = 50.0


def torque_model(mass: float, friction: float) -> TorqueModel:
    urdf = arm_urdf(mass).replace(
        'velocity="5"/>',
        f'velocity="5"/><dynamics damping="{0.4 * friction}" friction="{1.5 * friction}"/>')
    terms = [ViscousFriction(), CoulombFriction(smoothing=0.05), Armature()]
    return TorqueModel(RobotModel.from_urdf(urdf), terms)


@pytest.fixture(scope='module')
def robot() -> TorqueModel:
    return torque_model(HEAVIER, ROUGHER)


@pytest.fixture
def monitor() -> MotionMonitor:
    model = torque_model(1.0, 1.0)
    return MotionMonitor(model, MotionLimits.of(model.robot), ('/node',), PlaybackTolerances())


class Player:
    """Plays motions before a monitor, each later than the last, and gives what it finds."""

    def __init__(self, monitor: MotionMonitor, robot: TorqueModel) -> None:
        self.monitor, self.robot, self.now = monitor, robot, 100.0

    def play(
        self, speed: float, push: np.ndarray | None = None, *, done: bool = True, part: float = 1.0
    ) -> tuple[str, ...]:
        """Findings of a motion of 5 s at full speed, pushed in its second half.

        Args:
            speed: Of the motion; 1 for peaks of 1.5 rad/s.
            push: Torques that something else exerts in [N·m].
            done: Whether its node says that it was played to its end.
            part: Part of it that is played.
        """
        seconds, found = 5.0 / speed, ()
        t = np.arange(0.0, part * seconds, 1.0 / RATE)
        w = speed * 2.0 * np.pi * np.array([0.3, 0.4, 0.5])
        q, v, a = (0.5 * w**k * wave(np.outer(t, w))
                   for k, wave in enumerate((np.sin, np.cos, lambda x: -np.sin(x))))
        effort = self.robot.torque(self.robot.parameters.prior, q, v, a)
        if push is not None:
            effort[t > 0.5 * seconds] += push
        for k in range(len(t)):
            found = found or self.findings(
                Observation(q[k], v[k], effort[k], 0.001, RATE),
                Command(True, self.now, q[k], a[k]))
            self.now += 1.0 / RATE
        rest = Observation(q[-1], np.zeros(3), effort[-1], 0.001, RATE)
        self.findings(rest, Command(False, self.now, done=done))
        self.now += 10.0
        return found

    def findings(self, seen: Observation, command: Command) -> tuple[str, ...]:
        return self.monitor.findings(
            self.now, seen, command, {'/node': Pulse(self.now, command.moving)})


@pytest.fixture
def player(monitor, robot) -> Player:
    return Player(monitor, robot)


def test_46_a_robot_with_a_wrong_description_plays_its_motions_slowly_and_at_full_speed(
    player,
) -> None:
    assert [player.play(speed) for speed in (0.25, 0.5, 1.0, 1.0)] == [(), (), (), ()]


def test_46_contact_after_a_slow_motion_stops_what_the_description_alone_would_not(
    player,
) -> None:
    push = np.array([0.0, 55.0, 0.0])
    # Below 0.8 of the effort limit: before anything is known of the robot, it is no contact.
    assert not player.play(0.25, push, done=False)
    assert not player.play(0.25)
    found, = player.play(0.5, push)
    assert 'The torque of elbow is' in found
    assert 'is allowed (first_run), 3 times the' in found and 'Contact' in found
    # What was found is not learned.
    assert player.play(0.5, push)


def test_46_contact_in_the_first_motion_is_found_by_the_effort_limit(player) -> None:
    found, = player.play(0.25, np.array([0.0, 110.0, 0.0]))
    assert '80 is allowed (first_residual)' in found


def test_46_joints_that_miss_little_are_held_to_what_is_allowed_of_an_identified_model(
    player,
) -> None:
    assert not player.play(0.25)
    found, = player.play(0.25, np.array([0.0, 0.0, 45.0]))
    assert 'The torque of wrist is' in found and '30 is allowed (residual)' in found


@pytest.mark.parametrize('change', [{'done': False}, {'part': 0.02}], ids=['stopped', 'cut short'])
def test_of_a_motion_that_was_not_played_nothing_is_learned(player, change) -> None:
    player.play(0.25, **change)
    found, = player.play(0.25, np.array([0.0, 110.0, 0.0]))
    assert '(first_residual)' in found


def test_without_a_multiple_the_part_of_the_effort_limit_holds_throughout(robot) -> None:
    model = torque_model(1.0, 1.0)
    limits = MotionLimits.of(model.robot)
    player = Player(
        MotionMonitor(model, limits, ('/node',), PlaybackTolerances(), first_run=0.0), robot)
    push = np.array([0.0, 55.0, 0.0])
    assert not player.play(0.25)
    assert not player.play(0.5, push)


def test_what_the_description_misses_no_longer_matters_when_the_robot_is_identified(
    player, robot
) -> None:
    assert not player.play(0.25)
    player.monitor.predict_by(robot, robot.parameters.prior, identified=True)
    assert not player.play(1.0)
    found, = player.play(1.0, np.array([0.0, 35.0, 0.0]))
    assert 'what the model predicts; 30 is allowed (residual)' in found


def test_a_joint_is_known_that_moved_in_both_directions() -> None:
    missed, slow = MissedTorque(3), np.full(3, 0.1)
    missed.update(np.array([5.0, -6.0, 7.0]), np.array([1.0, 1.0, 0.0]), slow)
    missed.update(np.array([-8.0, 1.0, 0.0]), np.array([-1.0, 0.5, 0.05]), slow)
    missed.end(done=True)
    np.testing.assert_equal(missed.level, [8.0, np.nan, np.nan])
    # The level is the largest of all motions.
    for v in (1.0, -1.0):
        missed.update(np.array([2.0, 3.0, 0.0]), np.full(3, v), slow)
    missed.end(done=True)
    np.testing.assert_equal(missed.level, [8.0, 3.0, 0.0])


@pytest.mark.parametrize(('level', 'allowed', 'name'), [
    (np.nan, 80.0, 'first_residual'), (5.0, 30.0, 'residual'), (15.0, 45.0, 'first_run'),
    (40.0, 80.0, 'first_residual'), (0.0, 30.0, 'residual')])
def test_what_is_allowed_is_between_that_of_a_model_and_that_of_an_unknown_robot(
    level, allowed, name
) -> None:
    found, names = allowed_residual(
        np.array([level]), np.array([100.0]), multiple=3.0, least=0.3, most=0.8)
    assert (found[0], names[0]) == (pytest.approx(allowed), name)
