"""The controller moves the simulated robot, by the revision that it was told, and stops it."""

import time

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.msg import IdentifiedParameters, StopRequest
from sysid_ros.nodes.conversions import parameters_message
from sysid_ros.nodes.node import LATCHED
from sysid_ros.srv import AcknowledgeRevision

pytest.importorskip('mujoco')

START = np.array([0.2, -0.4, 0.3, 0.0])
JOINTS = ['base_yaw', 'shoulder_pitch', 'elbow_pitch', 'wrist_roll']
WAVE = 2.0
# So patient that a busy machine does not end a stream.
PATIENT = 1.0


@pytest.fixture
def settings(project, tmp_path):
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump({
        'robot': {
            'urdf': str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'),
            'terms': {'armature': 'all', 'coulomb_smoothing': 0.02},
        },
    }))
    return file


class Loop:
    """Robot, controller, and a client that streams references."""

    def __init__(self, ros, project, settings, **parameters):
        self.ros = ros
        self.states = ros.hear(JointState, 'joint_states', 100)
        self.efforts = ros.hear(Float64MultiArray, 'effort_commands', 100)
        self.diagnostics = ros.hear(DiagnosticArray, '/diagnostics')
        ros.start('simulated_robot', {
            'description': str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'),
            'initial_position': START.tolist(), 'publish_rate': 250.0, 'command_timeout': 0.3,
            'realtime_priority': 40,
        })
        ros.start('computed_torque_controller', {
            'plan': str(settings), 'rate': 250.0, 'reference_timeout': PATIENT,
            'state_timeout': PATIENT, 'realtime_priority': 30, **parameters})
        self.references = ros.client.create_publisher(JointTrajectory, 'reference', 10)
        ros.wait(lambda: self.references.get_subscription_count() and self.efforts and self.states)
        ros.go_first()
        self.began = None

    @property
    def q(self):
        return np.array(self.states[-1].position)

    def at_rest(self):
        speeds = [message.velocity for message in self.states[-20:]]
        return np.abs(np.array(speeds)).max() < 0.04

    def refer(self):
        """Send the reference of now; False, to be waited with."""
        if self.began is None:
            self.began, self.start = time.monotonic(), self.q
        t = time.monotonic() - self.began
        self.wanted = self.start + 0.2 * (1.0 - np.cos(WAVE * t))
        point = JointTrajectoryPoint(
            positions=self.wanted.tolist(), velocities=[0.2 * WAVE * np.sin(WAVE * t)] * 4,
            accelerations=[0.2 * WAVE**2 * np.cos(WAVE * t)] * 4)
        self.references.publish(JointTrajectory(joint_names=JOINTS, points=[point]))
        return False

    def move(self):
        """Until it moves fast."""
        self.ros.wait(lambda: self.refer() or abs(self.states[-1].velocity[0]) > 0.3)

    def said(self, text):
        return any(
            text in value.value or text in status.message
            for array in self.diagnostics for status in array.status for value in status.values)


@pytest.fixture
def loop(ros, project, settings):
    return Loop(ros, project, settings)


class Server:
    """Hands out revisions and hears who runs them."""

    def __init__(self, ros, settings, name='demo_arm'):
        self.heard = []
        self.model = RobotSettings.model_validate(
            yaml.safe_load(settings.read_text())['robot']).build(settings.parent)
        self.publisher = ros.client.create_publisher(
            IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
        ros.client.create_service(
            AcknowledgeRevision, 'model_server/acknowledge', self.acknowledge)

    def acknowledge(self, request, response):
        self.heard.append((request.consumer, request.revision))
        response.success = True
        return response

    def hand_out(self, revision, **changes):
        message = parameters_message(
            self.model.robot, self.model.parameters, revision=revision)
        for name, value in changes.items():
            setattr(message, name, value)
        self.publisher.publish(message)


def test_it_holds_the_robot_and_then_follows_references(ros, loop):
    ros.spin(0.5)
    np.testing.assert_allclose(loop.q, START, atol=0.05)
    errors = []

    def follow():
        loop.refer()
        errors.append(np.abs(loop.q - loop.wanted).max())
        return time.monotonic() - loop.began > 2.0

    ros.wait(follow)
    # The description is wrong by 20 %, and the client's clock runs ahead of the joint states.
    assert np.median(errors) < 0.1
    ros.wait(lambda: loop.refer() or loop.said('rms'))


def test_a_revision_that_is_handed_out_is_acknowledged_and_so_is_a_rollback(ros, loop, settings):
    server = Server(ros, settings)
    for revision in ('one', 'two', 'one'):
        server.hand_out(revision)
        ros.wait(lambda: server.heard and server.heard[-1][1] == revision)  # noqa: B023
    assert {name for name, _ in server.heard} == {'/computed_torque_controller'}


def test_parameters_do_not_change_under_a_moving_robot(ros, loop, settings):
    server = Server(ros, settings)
    server.hand_out('one')
    ros.wait(lambda: server.heard)
    loop.move()
    server.hand_out('two')
    until = time.monotonic() + 1.5
    ros.wait(lambda: loop.refer() or (time.monotonic() > until and loop.said('two')))
    assert server.heard[-1][1] == 'one'
    # No more references: it brakes, and then the revision holds.
    ros.wait(lambda: server.heard[-1][1] == 'two')
    assert np.abs(loop.states[-1].velocity).max() < 0.15


def test_80_a_lower_number_than_the_one_that_runs_is_refused_and_said(ros, loop, settings):
    server = Server(ros, settings)
    server.hand_out('3-ab')
    ros.wait(lambda: server.heard and server.heard[-1][1] == '3-ab')
    for older in ('2-cd', '3-cd'):
        server.hand_out(older)
        ros.wait(lambda: loop.said(f'{older}: an older revision is handed out'))  # noqa: B023
    ros.spin(0.3)
    assert {revision for _, revision in server.heard} == {'3-ab'}
    server.hand_out('4-cd')
    ros.wait(lambda: server.heard[-1][1] == '4-cd')


def test_parameters_of_another_robot_are_said_and_not_acknowledged(ros, loop, settings):
    server = Server(ros, settings)
    server.hand_out('other', robot_name='another_arm')
    ros.wait(lambda: 'another robot' in ros.output('computed_torque_controller'))
    ros.spin(0.3)
    assert not server.heard


def test_references_that_break_off_end_in_rest(ros, loop):
    loop.move()
    ros.wait(loop.at_rest)
    assert loop.efforts
    count = len(loop.efforts)
    ros.wait(lambda: len(loop.efforts) > count + 20)


def test_after_a_stop_it_is_silent_until_a_new_stream_begins(ros, loop):
    stops = ros.client.create_publisher(StopRequest, 'sysid/stop', 10)
    loop.move()
    ros.wait(lambda: stops.get_subscription_count() == 2)
    stops.publish(StopRequest(source='test', reasons=['because']))
    ros.wait(lambda: loop.refer() or loop.at_rest())
    ros.wait(lambda: loop.refer() or loop.said('because'))
    # References go on, commands do not: what is still on the way comes in, and then silence.
    counts = []

    def silent():
        loop.refer()
        counts.append(len(loop.efforts))
        return len(counts) > 20 and counts[-1] == counts[-20]

    ros.wait(silent)
    place = loop.q
    ros.spin(PATIENT + 0.3)
    np.testing.assert_allclose(loop.q, place, atol=0.02)
    loop.began = None
    loop.move()


def test_the_true_model_may_be_its_description_and_then_it_takes_no_revision(
        ros, project, settings, tmp_path):
    server = Server(ros, settings)
    server.hand_out('one')
    loop = Loop(ros, project, settings, model_server='')
    ros.wait(lambda: loop.said('the description'))
    ros.spin(0.3)
    assert not server.heard


def test_without_a_robot_it_says_what_is_missing(ros):
    process = ros.start('computed_torque_controller')
    ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert 'sysid excite' in ros.output('computed_torque_controller')
