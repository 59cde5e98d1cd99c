"""Outputs one by one, before listeners of topics. FAULTS 34 and 40."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from support import ideal_robot
from support.golden_problems import arm_urdf
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Phase, Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.nodes.conversions import to_nanoseconds
from sysid_ros.nodes.excitation_outputs import control_law
from sysid_ros.nodes.excitation_settings import ExcitationNodeSettings
from sysid_ros.nodes.motion_outputs import (
    effort_stream,
    position_stream,
    reference_stream,
    trajectory_message,
)
from sysid_ros.nodes.node import LATCHED
from sysid_ros.nodes.rolling_trajectory import RollingTrajectory, TopicTrajectory

JOINTS = ('a', 'b')
POINT = Setpoint(np.array([0.1, 0.2]), np.array([1.0, 2.0]), np.array([3.0, 4.0]), Phase.PLAYING,
                 0.5)
SEEN = Observation(np.array([0.1, 0.2]), np.array([1.0, 2.0]), np.zeros(2), 0.0)


def stop() -> BrakingStop:
    ones = np.ones(2)
    limits = MotionLimits(JOINTS, -3.0 * ones, 3.0 * ones, 3.0 * ones, 10.0 * ones, 100.0 * ones,
                          ones)
    return BrakingStop(limits, SEEN.q, SEEN.v, np.zeros(2))


def path(seconds: float = 1.0, samples: int = 11) -> Motion:
    t = np.linspace(0.0, seconds, samples)
    q = np.outer(t, [0.1, 0.2])
    return Motion(t, q, np.gradient(q, t, axis=0), np.zeros_like(q), np.zeros_like(q))


def test_set_points_go_out_as_messages_of_the_kind_that_was_chosen(ros, node):
    outputs = [
        reference_stream(node, JOINTS, 'reference'), position_stream(node, 'position_commands'),
        effort_stream(node, 'effort_commands', lambda point, seen: 10.0 * point.q + seen.v),
    ]
    heard = [ros.hear(JointTrajectory, 'reference'),
             ros.hear(Float64MultiArray, 'position_commands'),
             ros.hear(Float64MultiArray, 'effort_commands')]
    ros.wait(lambda: not any(output.problem() for output in outputs))
    # A tick that is late says so.
    asked, clock = time.monotonic() - 0.5, time.time()
    for output in outputs:
        output.begin(0.0, path())
        assert output.streams and output.begun() and output.finished()
        output.send(asked, POINT, SEEN)
        output.stop(0.0, stop())
        assert not output.failure(0.0)
    ros.wait(lambda: all(heard))
    point, = heard[0][0].points
    assert heard[0][0].joint_names == list(JOINTS)
    assert [list(point.positions), list(point.velocities), list(point.accelerations)] == [
        [0.1, 0.2], [1.0, 2.0], [3.0, 4.0]]
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, 0)
    assert abs(1e-9 * to_nanoseconds(heard[0][0].header.stamp) - (clock - 0.5)) < 0.1
    assert list(heard[1][0].data) == [0.1, 0.2]
    assert list(heard[2][0].data) == [2.0, 4.0]
    # Only torques have to go on while the robot rests.
    assert [output.holds for output in outputs] == [False, False, True]


def test_34_who_does_not_hear_is_told_apart(ros, node):
    output = reference_stream(node, JOINTS, 'reference')
    assert 'absent or inactive' in output.problem()
    wrong = ros.client.create_subscription(String, 'reference', print, 10)
    ros.wait(lambda: 'takes std_msgs/msg/String; trajectory_msgs/msg/JointTrajectory is sent'
             in output.problem())
    ros.client.destroy_subscription(wrong)
    ros.wait(lambda: 'absent' in output.problem())
    strict = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
    right = ros.client.create_subscription(JointTrajectory, 'reference', print, strict)
    ros.wait(lambda: not output.problem())
    ros.client.destroy_subscription(right)
    ros.wait(lambda: 'absent' in output.failure(0.0))
    ros.client.create_subscription(JointTrajectory, 'reference', print, LATCHED)
    ros.wait(lambda: 'has a quality of service that does not match' in output.problem())


def test_no_torque_is_made_for_a_state_that_is_long_past(ros, node):
    output = effort_stream(node, 'effort_commands', lambda point, seen: np.full(2, seen.age))
    heard = ros.hear(Float64MultiArray, 'effort_commands')
    ros.wait(lambda: not output.problem())
    # Of joint states at 10 Hz the newest is up to a period old.
    for age, rate in ((0.06, 250.0), (np.inf, np.nan), (0.04, 250.0), (0.3, 10.0), (0.2, 10.0)):
        output.send(0.0, POINT, replace(SEEN, age=age, rate=rate))
    ros.wait(lambda: len(heard) == 2)
    assert [message.data[0] for message in heard] == [0.04, 0.2]


def test_torques_are_made_for_where_the_robot_is_by_now(tmp_path):
    _, designer = ideal_robot.write_plan(tmp_path, arm_urdf())
    law = control_law(designer, ExcitationNodeSettings())
    q, v, a = np.array([0.1, 0.2, -0.3]), np.array([1.0, -2.0, 0.5]), np.array([3.0, 4.0, -5.0])
    point = Setpoint(q, v, a, Phase.PLAYING, 0.5)

    def torque(q, v, age):
        return law(point, Observation(q, v, np.zeros(3), age))

    late, here = torque(q, v, 0.02), torque(q + 0.02 * v + 0.0002 * a, v + 0.02 * a, 0.0)
    np.testing.assert_allclose(late, here, rtol=1e-12)
    assert np.abs(late - torque(q, v, 0.0)).max() > 1.0


LIMITS = MotionLimits(
    JOINTS, *(sign * np.full(2, 3.0) for sign in (-1.0, 1.0)), *(
        np.full(2, value) for value in (3.0, 10.0, 100.0, 1.0)))


def times_of(message):
    return np.array([
        point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
        for point in message.points])


@pytest.mark.parametrize('horizon', [0.0, 0.4])
def test_40_a_trajectory_is_replaced_by_one_that_brakes_from_where_the_robot_is(
    ros, node, horizon
):
    output = RollingTrajectory(
        node, LIMITS, TopicTrajectory(node, 'joint_trajectory'), horizon)
    heard = ros.hear(JointTrajectory, 'joint_trajectory')
    ros.wait(lambda: not output.problem())
    output.begin(0.0, path())
    ros.wait(lambda: len(heard) == 1)
    if horizon == 0.0:
        assert len(heard[0].points) == 11
        assert list(heard[0].points[-1].positions) == [0.1, 0.2]
        # Whenever it comes, it begins.
        assert heard[0].header.stamp.sec == 0
    for _ in range(3):
        output.stop(0.5, stop())
        output.send(0.9, POINT, SEEN)
    ros.wait(lambda: len(heard) == 2)
    braking = heard[1].points
    assert list(braking[-1].velocities) == [0.0, 0.0]
    np.testing.assert_allclose(braking[-1].positions, stop().rest)
    assert times_of(heard[1])[-1] == pytest.approx(stop().duration)
    ros.spin(0.1)
    assert len(heard) == 2 and not output.streams


def test_pieces_of_a_trajectory_overlap_end_at_rest_and_lead_to_its_end(ros, node):
    output = RollingTrajectory(
        node, LIMITS, TopicTrajectory(node, 'joint_trajectory'), 0.4)
    heard = ros.hear(JointTrajectory, 'joint_trajectory', 100)
    ros.wait(lambda: not output.problem())
    whole = path(2.0, 401)
    output.begin(10.0, whole)
    for now in 10.0 + np.arange(0.0, 2.0, 0.005):
        output.send(now, POINT, SEEN)
        # Of a burst the publisher keeps ten.
        ros.spin(0.001)
    ros.wait(lambda: heard and times_of(heard[-1])[-1] == pytest.approx(2.0))
    stamp = heard[0].header.stamp
    assert stamp.sec > 0 and all(message.header.stamp == stamp for message in heard)
    # Renewed four times in its length, as long as there is more to come.
    assert len(heard) == pytest.approx((2.0 - 0.4) / 0.1, abs=2)
    for number, message in enumerate(heard[:-1]):
        times = times_of(message)
        # What is due when it comes is in it.
        begun = times[0] + 0.02 if number else 0.0
        assert begun == pytest.approx(0.1 * number, abs=0.015 * number)
        assert times[-1] < begun + 0.4 + 0.1
        assert (np.diff(times) > 0.0).all()
        last = message.points[-1]
        assert not any(last.velocities) and not any(last.accelerations)
        # Until it brakes, it is the motion.
        held = times <= begun + 0.2
        np.testing.assert_allclose(
            [message.points[k].positions for k in np.flatnonzero(held)],
            np.outer(times[held], [0.1, 0.2]), atol=1e-12)
    assert list(heard[-1].points[-1].positions) == [0.2, 0.4]


def test_40_pieces_are_not_renewed_where_nobody_knows_where_the_robot_is(ros, node):
    output = RollingTrajectory(
        node, LIMITS, TopicTrajectory(node, 'joint_trajectory'), 0.4)
    heard = ros.hear(JointTrajectory, 'joint_trajectory')
    ros.wait(lambda: not output.problem())
    output.begin(0.0, path())
    output.stop(0.2, None)
    output.send(0.3, POINT, SEEN)
    ros.wait(lambda: len(heard) == 1)
    ros.spin(0.2)
    assert len(heard) == 1


def test_times_are_exact_to_the_nanosecond():
    motion = Motion(np.array([0.0, 1.999999999, 70.5]), *(np.zeros((3, 2)) for _ in range(4)))
    times = [point.time_from_start for point in trajectory_message(JOINTS, motion).points]
    assert [(time.sec, time.nanosec) for time in times] == [(0, 0), (1, 999999999), (70, 500000000)]
