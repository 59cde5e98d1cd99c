"""The monitor and the excitation node as processes of their own. FAULTS 37, 38, 42, 43 and 46."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from support.guarded_robot import Guarded
from support.ros_session import ros_session
from sysid_ros.action import Excite
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.msg import ExcitationStatus, Heartbeat, IdentifiedParameters
from sysid_ros.nodes.conversions import parameters_message
from sysid_ros.nodes.node import LATCHED
from sysid_ros.srv import AcknowledgeRevision


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    with ros_session(tmp_path_factory.mktemp('monitor')) as ros:
        made = Guarded(ros, ros.folder)
        try:
            yield made.begin()
        finally:
            made.robot.end()


@pytest.fixture
def guarded(session):
    session.calm()
    return session


def test_a_motion_under_a_monitor_is_not_disturbed_and_a_stop_on_request_is_no_finding(guarded):
    guarded.play()
    guarded.ros.spin(1.0)
    guarded.ros.call(Trigger, 'excitation_node/stop')
    guarded.ros.wait(guarded.ended.done)
    assert guarded.ended.result().result.code == 'stopped'
    assert not guarded.requests
    guarded.ros.wait(lambda: guarded.reset().message == 'There was nothing to reset.')


def test_42_when_the_excitation_is_killed_everything_is_stopped_until_a_reset(guarded):
    guarded.play()
    guarded.ros.stop('excitation_node', signal.SIGKILL)
    # The robot's own controller brakes it; see the simulated robot.
    guarded.robot.v = np.full(3, 0.3)
    guarded.require_found('/excitation_node is silent')
    answer = guarded.reset()
    assert not answer.success and 'not at rest' in answer.message
    count = len(guarded.requests)
    guarded.ros.wait(lambda: len(guarded.requests) > count + 5)
    guarded.robot.v = np.zeros(3)
    guarded.ros.spin(0.5)
    count = len(guarded.requests)
    guarded.ros.spin(0.3)
    assert len(guarded.requests) == count
    assert guarded.state('monitor_node') == Heartbeat.ERROR
    # Nothing starts until a person has looked.
    guarded.start('excitation_node')
    guarded.wait_for_words('/excitation_node is silent')
    guarded.ros.call(SetBool, 'excitation_node/arm', data=True)
    handle = guarded.ros.send_goal(
        Excite, 'excitation_node/excite', motion='long', speed_scale=1.0)
    refused = guarded.ros.result(handle)
    assert refused.code == 'not_ready' and 'is silent' in refused.message
    assert guarded.reset().success
    guarded.ros.wait(lambda: guarded.state('monitor_node') == Heartbeat.ACTIVE)


def test_43_when_the_monitor_is_killed_the_excitation_stops(guarded):
    guarded.play()
    guarded.ros.stop('monitor_node', signal.SIGKILL)
    guarded.require_stopped('The monitor is silent')
    assert not guarded.robot.told[-1][1].any()


def test_38_a_robot_that_is_pushed_aside_is_stopped_by_the_one_who_sees_it_first(guarded):
    guarded.play()
    guarded.robot.offset = np.array([0.3, 0.0, 0.0])
    guarded.require_stopped('away from its command')
    assert not guarded.robot.told[-1][1].any()


def test_46_torque_that_is_not_explained_stops_everything(guarded):
    guarded.play()
    guarded.robot.effort = np.array([0.0, 95.0, 0.0])
    guarded.require_found('Contact, a payload')
    guarded.require_stopped('Contact, a payload')


class Server:
    """Hands out revisions of the description, and hears who runs them."""

    def __init__(self, guarded):
        self.model = RobotSettings(urdf='arm.urdf').build(guarded.folder)
        self.publisher = guarded.ros.client.create_publisher(
            IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
        self.heard = []
        guarded.ros.client.create_service(
            AcknowledgeRevision, 'model_server/acknowledge', self.acknowledge)

    def acknowledge(self, request, response):
        self.heard.append((request.consumer, request.revision))
        response.success = True
        return response

    def hand_out(self, revision):
        self.publisher.publish(
            parameters_message(self.model.robot, self.model.parameters, revision=revision))


def test_05_a_joint_that_falls_silent_in_motion_stops_the_robot(guarded):
    guarded.play()
    guarded.robot.mute = frozenset({guarded.joints[1]})
    guarded.ros.wait(guarded.ended.done)
    result = guarded.ended.result().result
    assert result.code == 'failed'
    assert 'The last joint state is' in result.message
    guarded.require_found('The last joint state is')


def test_39_a_joint_that_could_soon_not_be_braked_before_its_limit_is_found(guarded):
    """Nobody plays a motion: who drives the robot there is stopped before it is beyond 3 rad."""
    joint, robot = guarded.joints[0], guarded.robot
    robot.q = np.array([2.9, 0.0, 0.0])
    for speed in (0.0, -1.0):
        robot.v = np.array([speed, 0.0, 0.0])
        guarded.ros.spin(0.5)
        assert not guarded.requests
    robot.v = np.array([1.0, 0.0, 0.0])
    guarded.require_found(f'{joint} at 2.9 rad cannot stop before')
    robot.v, robot.q = np.zeros(3), np.zeros(3)


def test_46_torques_are_predicted_by_the_revision_that_holds(guarded):
    server = Server(guarded)
    server.hand_out('7-ab')
    guarded.ros.wait(lambda: ('/monitor_node', '7-ab') in server.heard)
    guarded.ros.wait(lambda: any(
        value.key == 'revision' and value.value == '7-ab'
        for array in guarded.reports for status in array.status for value in status.values))


def test_80_the_monitor_goes_on_predicting_by_the_newer_revision(guarded):
    server = Server(guarded)
    server.hand_out('8-ab')
    guarded.ros.wait(lambda: ('/monitor_node', '8-ab') in server.heard)
    server.hand_out('6-cd')
    guarded.reports.clear()

    def warned():
        return [status for array in guarded.reports for status in array.status
                if 'an older revision is handed out' in status.message]

    guarded.ros.wait(warned)
    said = warned()[-1]
    assert said.level == DiagnosticStatus.WARN
    assert {value.value for value in said.values if value.key == 'revision'} == {'8-ab'}
    assert ('/monitor_node', '6-cd') not in server.heard
    # It is no reason to stop the robot.
    assert guarded.state('monitor_node') == Heartbeat.ACTIVE
    server.hand_out('9-ab')
    guarded.ros.wait(lambda: ('/monitor_node', '9-ab') in server.heard)


def test_how_late_a_check_was_is_in_its_diagnostics(guarded):
    def longest():
        return max((float(value.value) for array in guarded.reports for status in array.status
                    for value in status.values if value.key == 'longest time between checks [s]'),
                   default=0.0)

    guarded.ros.wait(lambda: longest() > 0.0)
    process, held = guarded.ros.processes['monitor_node'], longest() + 0.3
    process.send_signal(signal.SIGSTOP)
    guarded.ros.spin(held)
    process.send_signal(signal.SIGCONT)
    guarded.ros.wait(lambda: longest() >= held - 0.05)


def test_goals_of_trajectory_controllers_are_taken_back(guarded):
    taken = []

    def answer(request, response):
        taken.append(request)
        return response

    # What a controller offers, as far as the monitor looks: it needs no control_msgs for that.
    service = guarded.ros.client.create_service(
        CancelGoal, '/controller/follow_joint_trajectory/_action/cancel_goal', answer)
    guarded.play()
    guarded.robot.effort = np.array([0.0, 95.0, 0.0])
    guarded.require_found('Contact')
    guarded.ros.wait(lambda: taken)
    assert not any(taken[0].goal_info.goal_id.uuid)
    guarded.ros.client.destroy_service(service)


def test_46_trajectories_are_held_when_the_excitation_has_braked(guarded):
    guarded.play()
    guarded.robot.effort = np.array([0.0, 95.0, 0.0])
    guarded.ros.wait(lambda: guarded.trajectories)
    phases = [status.phase for status in guarded.statuses]
    # It says what it does a hundred times a second, and was asked to stop by then.
    assert phases.count(ExcitationStatus.STOPPING) > 5
    assert len(guarded.requests) > 1
    guarded.require_stopped('Contact')


def test_02_an_effort_that_is_nan_in_motion_stops_it_or_is_warned_of(guarded):
    guarded.play()
    guarded.robot.effort = np.array([0.0, np.nan, 0.0])
    guarded.require_found('The effort of elbow is no longer given')
    guarded.require_stopped('lost_effort: warn')
    guarded.calm()
    set_lost_effort(guarded, 'warn')
    try:
        guarded.play()
        guarded.robot.effort = np.array([0.0, np.nan, 0.0])
        guarded.ros.wait(lambda: any(
            report.level == DiagnosticStatus.WARN and 'The effort of elbow' in report.message
            and any(value.key == 'joint states since the last effort of elbow'
                    and int(value.value) > 0 for value in report.values)
            for array in guarded.reports for report in array.status
            if report.name == '/monitor_node'))
        assert not guarded.requests
        # The other joints are still watched.
        guarded.robot.effort = np.array([95.0, np.nan, 0.0])
        guarded.require_found('The torque of waist')
        guarded.require_stopped('Contact')
    finally:
        guarded.calm()
        set_lost_effort(guarded, 'stop')


def test_diagnostics_name_the_robot(guarded):
    guarded.ros.wait(lambda: {
        report.name: report.hardware_id for array in guarded.reports for report in array.status
    } == dict.fromkeys(('/monitor_node', '/excitation_node'), 'arm'))


def set_lost_effort(guarded, value):
    answer = guarded.ros.call(SetParameters, 'monitor_node/set_parameters', parameters=[
        Parameter('lost_effort', value=value).to_parameter_msg()])
    assert answer.results[0].successful, answer.results[0].reason


class PaperController:
    """A trajectory action as far as a monitor looks, in a namespace of its own.

    Attributes:
        taken: Requests to take all goals back.
    """

    def __init__(self, ros, namespace):
        from control_msgs.action import FollowJointTrajectory

        action = f'{namespace}/arm_controller/follow_joint_trajectory/_action'
        self.taken = []
        self.node = Node('arm_controller', namespace=namespace or '/', context=ros.context)
        self.node.create_service(
            FollowJointTrajectory.Impl.SendGoalService, f'{action}/send_goal', lambda _, r: r)
        self.node.create_service(CancelGoal, f'{action}/cancel_goal', self._answer)
        self.node.create_publisher(GoalStatusArray, f'{action}/status', 10)
        ros.executor.add_node(self.node)

    def _answer(self, request, response):
        self.taken.append(request)
        return response


def test_goals_of_other_namespaces_are_left_alone(guarded, control_msgs):
    own, other = PaperController(guarded.ros, ''), PaperController(guarded.ros, '/other_robot')
    guarded.ros.spin(2.5)
    guarded.play()
    guarded.robot.effort = np.array([0.0, 95.0, 0.0])
    guarded.require_found('Contact')
    guarded.ros.wait(lambda: own.taken)
    guarded.ros.spin(0.5)
    assert not other.taken
    for controller in (own, other):
        guarded.ros.executor.remove_node(controller.node)
        controller.node.destroy_node()


def test_joint_states_of_an_idle_robot_may_pause(guarded):
    guarded.robot.silent = True
    guarded.ros.spin(2.5)
    guarded.robot.silent = False
    guarded.ros.spin(0.5)
    assert not guarded.requests
    assert guarded.state('monitor_node') == Heartbeat.ACTIVE


def test_37_joint_states_that_pause_while_anything_moves_stop_it(guarded):
    guarded.robot.v = np.full(3, 0.3)
    guarded.ros.spin(0.5)
    assert not guarded.requests
    guarded.robot.silent = True
    guarded.require_found('The last joint state is')
    guarded.robot.rest()


def change(guarded, name, value):
    parameter = Parameter(name, value=value).to_parameter_msg()
    return guarded.ros.call(
        SetParameters, 'monitor_node/set_parameters', parameters=[parameter]).results[0]


def test_28_a_parameter_of_the_monitor_takes_effect_or_is_refused(guarded):
    refused = change(guarded, 'plan', 'other.yaml')
    assert not refused.successful and 'ros2 lifecycle set /monitor_node' in refused.reason
    assert change(guarded, 'first_residual', 0.2).successful
    guarded.play()
    guarded.robot.effort = np.array([0.0, 95.0, 0.0])
    guarded.require_found('; 20 is allowed (first_residual). Contact')
    guarded.calm()
    assert change(guarded, 'first_residual', 0.3).successful


def test_at_a_signal_the_monitor_ends(guarded):
    assert guarded.ros.stop('monitor_node', signal.SIGINT) == 0
