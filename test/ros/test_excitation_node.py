"""The excitation node as a process of its own, before an ideal robot. FAULTS 18, 28, 30 to 45."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: F401 (loads its type support early)
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from support import ideal_robot
from support.excitation_bench import PATIENT, Bench
from support.ros_session import ros_session
from sysid_ros.msg import ExcitationStatus, Heartbeat, StopRequest


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    with ros_session(tmp_path_factory.mktemp('excitation')) as ros:
        made = Bench(ros, ros.folder)
        try:
            yield made.begin()
        finally:
            made.close()


@pytest.fixture
def bench(session):
    """The same node for all tests that leave it running."""
    session.calm()
    return session


def test_an_armed_motion_is_played_and_its_end_is_told(bench):
    feedback = []
    assert bench.arm().success
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.ARMED)
    begin = bench.ros.client.get_clock().now().nanoseconds * 1e-9
    answer = bench.result(bench.excite(feedback=lambda message: feedback.append(message.feedback)))
    end = bench.ros.client.get_clock().now().nanoseconds * 1e-9
    result = answer.result
    assert answer.status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert (result.success, result.code, result.motion) == (True, 'ok', 'wave')
    assert result.progress == 1.0 and 0.0 <= result.tracking_error < 0.05
    stamps = [stamp.sec + 1e-9 * stamp.nanosec for stamp in (result.begin, result.end)]
    assert begin < stamps[0] < stamps[1] < end
    assert stamps[1] - stamps[0] == pytest.approx(2.0, abs=0.1)
    assert {message.phase for message in feedback} >= {
        ExcitationStatus.ARMED, ExcitationStatus.BLENDING, ExcitationStatus.PLAYING}
    margins = [message.margin for message in feedback]
    assert 0.0 < min(margins) < max(margins) <= 0.5
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.DONE)
    q, v = (np.array(values) for values in zip(*bench.robot.told, strict=True))
    assert np.abs(np.diff(q, axis=0)).max() < 0.1
    assert not v[-1].any() and len(q) > 100
    playing = [message for message in bench.statuses if message.phase == ExcitationStatus.PLAYING]
    assert tuple(playing[-1].joint_names) == bench.joints
    assert all(len(playing[-1].position) == len(getattr(playing[-1], name))
               for name in ('velocity', 'acceleration'))


def test_a_motion_may_come_with_the_goal(bench):
    text = (bench.folder / 'motions' / 'wave.yaml').read_text()
    bench.arm()
    result = bench.result(bench.excite('', motion_yaml=text)).result
    assert result.success and result.motion == 'inline'


@pytest.mark.parametrize(('goal', 'code', 'words'), [
    ({'motion': 'nothing'}, 'unknown_id', 'no such motion'),
    ({'motion': '../plan'}, 'invalid_request', 'not an id'),
    ({'motion': ''}, 'invalid_request', 'a goal is one motion'),
    ({'motion': 'wave', 'motion_yaml': 'a: 1'}, 'invalid_request', 'a goal is one motion'),
    ({'motion': '', 'motion_yaml': '!!python/object:os.system {}'}, 'invalid_request', 'plain'),
    ({'speed': 0.0}, 'invalid_request', 'speed'), ({'speed': np.nan}, 'invalid_request', 'speed'),
    ({'speed': 1.1}, 'invalid_request', 'speed'),
], ids=lambda value: str(value)[:20])
def test_a_goal_that_means_nothing_is_refused(bench, goal, code, words):
    bench.arm()
    result = bench.refusal(**goal)
    assert result.code == code and words in result.message


def test_30_a_motion_beyond_the_limits_is_refused_before_anything_is_sent(bench):
    bench.arm()
    result = bench.refusal('wild')
    assert result.code == 'not_safe' and 'is allowed' in result.message
    assert not bench.robot.told


def test_without_arming_nothing_moves_and_arming_is_for_one_motion(bench):
    assert bench.refusal().code == 'not_armed'
    bench.arm()
    assert bench.refusal('wild').code == 'not_safe'
    assert bench.refusal().code == 'not_armed'
    bench.arm()
    bench.arm(False)
    assert bench.refusal().code == 'not_armed'


def test_33_a_second_start_is_refused_with_the_running_id_and_nothing_is_queued(bench):
    handle = bench.play('long')
    answer = bench.arm()
    assert not answer.success and 'long' in answer.message
    result = bench.refusal()
    assert result.code == 'busy' and 'long' in result.message
    bench.stop()
    assert bench.result(handle).result.code == 'stopped'
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.HOLDING)
    bench.require_quiet()


def test_28_parameters_changed_while_moving_are_refused_and_at_rest_they_hold(bench):
    def change(value):
        parameter = Parameter('tracking_error', value=value).to_parameter_msg()
        return bench.ros.call(
            SetParameters, 'excitation_node/set_parameters', parameters=[parameter]).results[0]

    handle = bench.play('long')
    refused = change(0.5)
    assert not refused.successful and 'long is under way' in refused.reason
    bench.stop()
    bench.result(handle)
    bench.calm()
    assert change(0.01).successful
    handle = bench.play('long')
    bench.robot.offset = np.full(3, 0.02)
    bench.fault('0.01 is allowed', handle)
    bench.calm()
    assert change(0.1).successful


def test_40_a_stop_is_accepted_in_every_state_and_once_is_enough(bench):
    assert bench.stop().message == 'The robot is at rest.'
    bench.arm()
    assert bench.stop().success
    assert bench.refusal().code == 'not_armed'
    handle = bench.play('long')
    times = []
    for _ in range(5):
        before = time.monotonic()
        assert bench.stop().success
        times.append(time.monotonic() - before)
    result = bench.result(handle).result
    assert (result.code, result.success) == ('stopped', False)
    assert 'A stop was asked for' in result.message and 0.0 < result.progress < 1.0
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.HOLDING)
    assert np.median(times) < 0.1


def test_40_a_stop_has_not_succeeded_while_the_robot_is_measured_to_move(bench):
    handle = bench.play('long')
    bench.robot.drift = np.full(3, 0.5)
    bench.stop()
    bench.ros.spin(1.5)
    assert bench.phase() == ExcitationStatus.STOPPING
    bench.robot.drift = np.zeros(3)
    assert bench.result(handle).result.code == 'stopped'
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.HOLDING)


def test_a_goal_that_is_taken_back_stops_the_robot(bench):
    handle = bench.play('long')
    future = handle.cancel_goal_async()
    bench.ros.wait(future.done)
    assert len(future.result().goals_canceling) == 1
    answer = bench.result(handle)
    assert answer.status == GoalStatus.STATUS_CANCELED
    assert answer.result.code == 'cancelled'
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.HOLDING)


def test_18_two_publishers_of_joint_states_refuse_a_start_and_stop_a_motion(bench):
    handle = bench.play('long')
    other = ideal_robot.IdealRobot(bench.ros, bench.joints, 'other_robot', listens=False)
    other.silent = True
    other.begin()
    try:
        bench.fault('2 publishers send joint states', handle)
        bench.arm()
        result = bench.refusal()
        assert result.code == 'not_safe' and '2 publishers' in result.message
    finally:
        other.end()
    bench.ros.wait(lambda: bench.ros.client.count_publishers('joint_states') == 1)
    bench.ros.spin(0.3)


def test_37_lost_joint_states_refuse_a_start_and_stop_a_motion(bench):
    handle = bench.play('long')
    bench.robot.silent = True
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.STOPPING)
    assert 'joint state' in bench.statuses[-1].reason
    bench.robot.silent = False
    bench.fault('The last joint state is', handle)
    bench.robot.silent = True
    bench.ros.spin(1.2)
    bench.arm()
    result = bench.refusal()
    assert result.code == 'not_ready', result.message


def test_38_a_robot_that_does_not_follow_is_stopped_and_not_tried_again(bench):
    handle = bench.play('wave')
    bench.robot.numb = True
    bench.robot.v = np.zeros(3)
    result = bench.fault('away from its command; 0.1 is allowed', handle)
    assert result.tracking_error > 0.1


def test_01_12_joint_states_of_nan_or_of_another_time_stop_a_motion(bench):
    handle = bench.play('long')
    bench.robot.offset = np.array([0.0, np.nan, 0.0])
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.STOPPING)
    bench.robot.offset = np.zeros(3)
    bench.fault('joint states in a row have no finite position', handle)
    handle = bench.play('long')
    bench.robot.shift = -20.0
    bench.fault('The clock of the joint states jumped back', handle)


def test_43_without_the_monitor_nothing_starts_and_what_moves_stops(bench):
    handle = bench.play('long')
    bench.monitor.alive = False
    bench.fault('The monitor is silent', handle)
    bench.arm()
    assert 'The monitor is silent' in bench.refusal().message
    bench.calm()
    bench.monitor.state, bench.monitor.message = Heartbeat.ERROR, 'The door is open.'
    bench.ros.spin(0.2)
    bench.arm()
    result = bench.refusal()
    assert result.code == 'not_ready' and 'The door is open.' in result.message


def test_45_a_loop_that_is_held_up_beyond_its_bound_stops_the_motion(bench):
    handle = bench.play('long')
    bench.process.send_signal(signal.SIGSTOP)
    # Robot and monitor go on meanwhile.
    time.sleep(3.0 * PATIENT['overrun'])
    bench.process.send_signal(signal.SIGCONT)
    result = bench.fault('A tick was late by', handle)
    assert '0.1 s is allowed' in result.message


def test_46_what_asks_for_a_stop_is_obeyed_in_motion_and_before(bench):
    handle = bench.play('long')
    request = StopRequest(source='/monitor_node', reasons=['The torque is not explained.'])
    bench.stops.publish(request)
    bench.fault('/monitor_node: The torque is not explained.', handle)
    bench.arm()
    bench.ros.wait(lambda: bench.phase() == ExcitationStatus.ARMED)
    bench.stops.publish(request)
    bench.ros.wait(lambda: bench.phase() != ExcitationStatus.ARMED)
    assert bench.refusal().code == 'not_armed'


def test_34_44_without_a_controller_nothing_starts_and_what_moves_stops(bench):
    handle = bench.play('long')
    bench.robot.deafen()
    result = bench.result(handle).result
    assert result.code == 'failed' and 'Nobody listens to /reference' in result.message
    bench.arm()
    result = bench.refusal()
    assert result.code == 'not_ready' and 'absent or inactive' in result.message
    bench.robot.listen()
    bench.ros.spin(0.3)
    # It does not go on by itself.
    assert not bench.statuses[-1].joint_names


def test_41_at_a_signal_it_comes_to_rest_and_ends(bench):
    for number in (signal.SIGINT, signal.SIGTERM):
        if bench.process.poll() is not None:
            bench.robot.rest()
            bench.statuses.clear()
            bench.process = bench.start()
            bench.calm()
        result = bench.play('long').get_result_async()
        before = time.monotonic()
        assert bench.ros.stop('excitation_node', number) == 0
        assert time.monotonic() - before < 6.0
        bench.ros.wait(result.done)
        assert result.result().result.code == 'stopped'
        assert not bench.robot.told[-1][1].any()
        assert any(v.any() for _, v in bench.robot.told)


def test_without_a_plan_it_says_what_it_needs_and_ends(ros):
    given = {'no_plan': {}, 'another_plan': {'plan': '/nowhere/plan.yaml'}}
    started = [
        ros.start('excitation_node', parameters, name=name) for name, parameters in given.items()]
    for process, name in zip(started, given, strict=True):
        ros.wait(lambda: process.poll() is not None)  # noqa: B023
        assert process.returncode == 1
        assert 'plan' in ros.output(name)
