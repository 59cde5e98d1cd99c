"""Motions through the action of trajectory controllers. FAULTS 34, 35, 36, 40 and 44."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from rclpy.action import ActionServer

from support import ideal_robot
from support.golden_problems import arm_urdf
from support.trajectory_controller import Controller, has_found_a_client
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Phase, Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.nodes.rolling_trajectory import RollingTrajectory

JOINTS = ('a', 'b')
LIMITS = MotionLimits(
    JOINTS, *(sign * np.full(2, 3.0) for sign in (-1.0, 1.0)), *(
        np.full(2, value) for value in (3.0, 10.0, 100.0, 1.0)))
POINT = Setpoint(np.zeros(2), np.zeros(2), np.zeros(2), Phase.PLAYING, 0.5)
SEEN = Observation(np.zeros(2), np.zeros(2), np.zeros(2), 0.0)


def stop() -> BrakingStop:
    return BrakingStop(LIMITS, np.zeros(2), np.ones(2), np.zeros(2))


def path(seconds: float = 1.0, samples: int = 11) -> Motion:
    t = np.linspace(0.0, seconds, samples)
    q = np.outer(t, [0.1, 0.2])
    return Motion(t, q, np.gradient(q, t, axis=0), np.zeros_like(q), np.zeros_like(q))


def make_output(node, name, horizon=0.0):
    from sysid_ros.nodes.trajectory_action import TrajectoryAction

    action = TrajectoryAction(
        node, JOINTS, name, lambda: (np.array([0.1, 0.2]), 0.3), replaces=horizon > 0.0)
    return RollingTrajectory(node, LIMITS, action, horizon)


@pytest.fixture
def action(ros, node, control_msgs, request):
    """An output that sends the whole motion, or pieces of a horizon, and its controller."""
    name = 'arm/follow_joint_trajectory'
    output = make_output(node, name, getattr(request, 'param', 0.0))
    controller = Controller(ros.client, name)
    ros.wait(lambda: not output.problem() and has_found_a_client(ros.client, name))
    yield output, controller
    controller.server.destroy()


pieces = pytest.mark.parametrize('action', [0.4], indirect=True)


def test_a_goal_has_the_motion_and_tolerances_of_its_own(ros, action):
    output, controller = action
    assert not output.streams and not output.holds
    output.begin(10.0, path())
    assert not output.begun() and not output.finished()
    ros.wait(output.begun)
    goal = controller.goals[0].request
    assert len(goal.trajectory.points) == 11
    assert list(goal.trajectory.joint_names) == list(JOINTS)
    for tolerances in (goal.path_tolerance, goal.goal_tolerance):
        assert [(each.name, each.position) for each in tolerances] == [('a', 0.1), ('b', 0.2)]
    assert goal.goal_time_tolerance.nanosec == 300_000_000
    controller.end('succeed')
    ros.wait(output.finished)
    assert not output.failure(10.1)


def test_35_a_rejected_goal_is_said(ros, action):
    output, controller = action
    controller.accepts = False
    output.begin(10.0, path())
    ros.wait(lambda: output.failure(10.0))
    assert 'rejected the motion' in output.failure(10.0) and output.finished()
    assert not output.begun()


@pytest.mark.parametrize(('state', 'code', 'words'), [
    ('abort', -2, 'aborted the motion: INVALID_JOINTS (-2) no such joint'),
    ('abort', -4, 'aborted the motion: PATH_TOLERANCE_VIOLATED (-4) no such joint'),
    ('succeed', -5, 'failed: GOAL_TOLERANCE_VIOLATED (-5) no such joint'),
    ('abort', 77, 'unknown code (77)'),
])
def test_35_44_code_and_text_of_the_controller_are_passed_on(ros, action, state, code, words):
    output, controller = action
    output.begin(10.0, path())
    ros.wait(output.begun)
    controller.end(state, code, 'no such joint')
    ros.wait(output.finished)
    assert words in output.failure(10.0)


def test_36_without_a_result_in_time_and_without_an_answer_it_fails(ros, action):
    output, controller = action
    output.begin(10.0, path())
    assert 'did not answer within 2' in output.failure(12.1)
    ros.wait(output.begun)
    assert not output.failure(11.29)
    assert 'no result within 0.3 s' in output.failure(11.31)
    output.stop(11.31, None)
    ros.wait(lambda: controller.cancels == 1)
    controller.end('canceled')
    ros.wait(output.finished)


def test_40_a_goal_that_is_not_given_up_is_followed_by_all_goals(ros, action):
    output, controller = action
    controller.heeds = False
    output.begin(10.0, path())
    ros.wait(output.begun)
    output.stop(10.5, stop())
    ros.wait(lambda: controller.cancels == 1)
    output.stop(10.6, stop())
    ros.spin(0.1)
    assert controller.cancels == 1
    # Not given up in time: all goals, again and again.
    for attempt in (2, 3):
        output.stop(10.5 + 0.25 * (attempt - 1), stop())
        ros.wait(lambda: controller.cancels == attempt)  # noqa: B023
    controller.heeds = True
    output.stop(11.5, stop())
    ros.wait(lambda: controller.goals[0].is_cancel_requested)
    controller.end('canceled', 0, 'on request')
    ros.wait(output.finished)
    assert 'gave the motion up' in output.failure(11.6)
    output.stop(12.0, stop())
    ros.spin(0.1)
    assert controller.cancels == 4


def test_40_a_stop_before_the_answer_takes_back_all_goals(ros, action):
    output, controller = action
    output.begin(10.0, path())
    output.stop(10.0, None)
    ros.wait(lambda: controller.goals)
    output.stop(10.3, None)
    ros.wait(lambda: controller.goals[0].is_cancel_requested)


@pieces
def test_a_motion_goes_to_the_action_piece_by_piece_and_ends_with_the_last_one(ros, action):
    output, controller = action
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    for now in (10.05, 10.11, 10.22, 10.33):
        output.send(now, POINT, SEEN)
        ros.wait(output.begun)
    # Renewed after a quarter of the horizon, not before.
    assert len(controller.goals) == 4
    # Ends of goals that were replaced are no failures, nor is it one that nothing is told of them.
    controller.end('abort', -1, 'replaced', goal=1)
    for now in (10.44, 10.55, 10.66):
        output.send(now, POINT, SEEN)
        ros.wait(output.begun)
    goals = [handle.request.trajectory for handle in controller.goals]
    assert not output.failure(10.66) and not output.finished()
    assert all(goal.header.stamp == goals[0].header.stamp for goal in goals)
    assert all(not any(goal.points[-1].velocities) for goal in goals[:-1])
    assert list(goals[-1].points[-1].positions) == [0.1, 0.2]
    output.send(10.9, POINT, SEEN)
    ros.spin(0.1)
    assert len(controller.goals) == 7
    controller.end('succeed')
    ros.wait(output.finished)
    assert not output.failure(11.0)


@pieces
def test_35_a_controller_that_refuses_to_replace_a_goal_is_told_what_to_set(ros, action):
    output, controller = action
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    controller.accepts = False
    output.send(10.11, POINT, SEEN)
    ros.wait(lambda: output.failure(10.1))
    assert 'set horizon to 0' in output.failure(10.1)
    # The goal that it has is still under way, and is taken back.
    assert not output.finished()
    output.stop(10.1, None)
    ros.wait(lambda: controller.goals[0].is_cancel_requested)
    controller.end('canceled')
    ros.wait(output.finished)
    assert 'set horizon to 0' in output.failure(10.2)


@pieces
@pytest.mark.parametrize(('state', 'code', 'words'), [
    ('abort', -4, 'aborted the motion: PATH_TOLERANCE_VIOLATED (-4)'),
    ('canceled', 0, 'gave the motion up, since it was taken back'),
])
def test_35_a_goal_that_failed_before_it_was_replaced_is_said(ros, action, state, code, words):
    output, controller = action
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    if state == 'canceled':
        # Somebody else, as a monitor does.
        output._sender.cancel_all()
        ros.wait(lambda: controller.goals[0].is_cancel_requested)
    output.send(10.11, POINT, SEEN)
    ros.wait(output.begun)
    controller.end(state, code, goal=0)
    ros.wait(lambda: output.failure(10.2))
    assert words in output.failure(10.2)
    assert not output.finished()


@pieces
def test_36_a_piece_that_ended_before_the_next_was_sent_is_a_failure(ros, action):
    output, controller = action
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    controller.end('succeed')
    ros.wait(output.finished)
    assert 'before it was sent the next one' in output.failure(10.5)


def begin_pieces(ros, output):
    """A motion whose second piece is under way."""
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    output.send(10.11, POINT, SEEN)
    ros.wait(output.begun)


@pieces
def test_40_a_goal_is_replaced_by_one_that_brakes_from_where_the_robot_is(ros, action):
    output, controller = action
    begin_pieces(ros, output)
    for now in (10.15, 10.16, 10.2):
        output.stop(now, stop())
        output.send(now, POINT, SEEN)
    ros.wait(lambda: len(controller.goals) == 3)
    braking = controller.goals[2].request.trajectory
    assert braking.header.stamp.sec == 0
    assert list(braking.points[-1].velocities) == [0.0, 0.0]
    np.testing.assert_allclose(braking.points[-1].positions, stop().rest)
    last = braking.points[-1].time_from_start
    assert last.sec + 1e-9 * last.nanosec == pytest.approx(stop().duration)
    # That the goal before it ended, in whatever way, is no reason to take this one back.
    controller.end('abort', -1, 'replaced', goal=1)
    ros.spin(0.1)
    output.stop(10.5, stop())
    controller.end('succeed')
    ros.wait(output.finished)
    output.stop(20.0, stop())
    ros.spin(0.1)
    assert (len(controller.goals), controller.cancels) == (3, 0)


@pieces
def test_40_a_goal_that_brakes_and_does_not_end_in_time_is_taken_back(ros, action):
    output, controller = action
    begin_pieces(ros, output)
    output.stop(10.15, stop())
    ros.wait(lambda: len(controller.goals) == 3)
    ros.spin(0.1)
    over = 10.15 + stop().duration + 0.3
    output.stop(over - 0.01, stop())
    ros.spin(0.1)
    assert controller.cancels == 0
    output.stop(over + 0.01, stop())
    ros.wait(lambda: controller.goals[2].is_cancel_requested)


@pieces
def test_40_a_controller_that_refuses_a_goal_that_brakes_has_its_goal_taken_back(ros, action):
    output, controller = action
    begin_pieces(ros, output)
    controller.accepts = False
    output.stop(10.15, stop())
    ros.wait(lambda: output.failure(10.15))
    output.stop(10.16, stop())
    ros.wait(lambda: controller.goals[1].is_cancel_requested)
    assert len(controller.goals) == 2


@pieces
def test_40_where_a_goal_that_brakes_is_not_answered_all_goals_are_taken_back(ros, action):
    output, controller = action
    begin_pieces(ros, output)
    output.stop(10.15, stop())
    # Nobody listens to what the controller says meanwhile.
    output.stop(10.36, stop())
    ros.wait(lambda: controller.cancels)
    ros.wait(lambda: len(controller.goals) == 3 and controller.goals[2].is_cancel_requested)


@pieces
def test_40_a_piece_that_is_accepted_after_a_stop_is_taken_back_at_once(ros, action):
    output, controller = action
    output.begin(10.0, path(1.0, 201))
    ros.wait(output.begun)
    output.send(10.11, POINT, SEEN)
    output.stop(10.1, None)
    output.send(10.3, POINT, SEEN)
    ros.wait(lambda: len(controller.goals) == 2 and controller.goals[1].is_cancel_requested)
    ros.spin(0.1)
    assert len(controller.goals) == 2


def test_34_44_an_action_that_is_absent_goes_away_or_is_another_is_told_apart(
    ros, node, control_msgs
):
    from control_msgs.action import FollowJointTrajectory

    from sysid_ros.action import Excite

    foreign = make_output(node, 'arm/foreign')
    assert 'There is no action /arm/foreign' in foreign.problem()
    other = ActionServer(ros.client, Excite, 'arm/foreign', lambda handle: None)
    ros.wait(lambda: 'has type' in foreign.problem())
    assert 'Excite' in foreign.problem()
    other.destroy()
    output = make_output(node, 'arm/follow')
    server = ActionServer(ros.client, FollowJointTrajectory, 'arm/follow', lambda handle: None,
                          handle_accepted_callback=lambda handle: None)
    ros.wait(lambda: not output.problem() and has_found_a_client(ros.client, 'arm/follow'))
    output.begin(0.0, path())
    ros.wait(output.begun)
    server.destroy()
    ros.wait(lambda: output.failure(0.1))
    assert 'absent or inactive' in output.failure(0.1)


def test_an_output_that_needs_what_is_not_there_says_so(monkeypatch):
    from sysid_ros.errors import ConfigurationError
    from sysid_ros.nodes.trajectory_action import follow_joint_trajectory

    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ConfigurationError, match='Install control_msgs'):
        follow_joint_trajectory()


def test_a_motion_through_the_action_in_a_process_of_its_own(
    ros, control_msgs, tmp_path, monkeypatch
):
    from std_srvs.srv import SetBool, Trigger

    from sysid_ros.action import Excite

    for name, value in control_msgs.items():
        rest = os.environ.get(name)
        monkeypatch.setenv(name, f'{value}{os.pathsep}{rest}' if rest else value)
    plan, designer = ideal_robot.write_plan(tmp_path, arm_urdf())
    robot = ideal_robot.IdealRobot(ros, designer.limits.joint_names).begin()
    monitor = ideal_robot.PaperMonitor(ros).begin()
    controller = Controller(ros.client, 'follow_joint_trajectory')
    try:
        ros.start('excitation_node', {
            'plan': str(plan), 'data_folder': str(tmp_path), 'output': 'follow_joint_trajectory',
            'horizon': 0.0, 'tracking_error': 0.9, 'state_timeout': 1.0, 'heartbeat_timeout': 1.5,
            'overrun': 0.1})
        ros.wait(lambda: ros.call(SetBool, 'excitation_node/arm', data=True).success)
        while not controller.goals:
            # Until all have found one another; the permission holds meanwhile.
            handle = ros.send_goal(Excite, 'excitation_node/excite', motion='wave', speed_scale=1.0)
            ended = handle.get_result_async()
            ros.wait(lambda: controller.goals or ended.done())  # noqa: B023
            message = ended.result().result.message if ended.done() else ''
            assert not ended.done() or ended.result().result.code == 'not_ready', message
        goal = controller.goals[0].request
        assert goal.trajectory.points[-1].time_from_start.sec >= 2
        assert goal.path_tolerance[0].position == 0.9
        assert ros.call(Trigger, 'excitation_node/stop').success
        ros.wait(lambda: controller.goals[0].is_cancel_requested)
        controller.end('canceled')
        ros.wait(ended.done)
        result = ended.result().result
        assert result.code == 'stopped', result.message
    finally:
        robot.end()
        monitor.end()
        controller.server.destroy()
