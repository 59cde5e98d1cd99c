"""The examples do what they say, with nothing of the package but its interfaces."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rclpy.action import ActionServer
from sensor_msgs.msg import JointState

from sysid_ros.action import Identify
from sysid_ros.demo.node_processes import node_environment
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.msg import IdentifiedParameters
from sysid_ros.nodes.conversions import parameters_message
from sysid_ros.nodes.node import LATCHED
from sysid_ros.robot.model import RobotModel
from sysid_ros.srv import (
    AcknowledgeRevision,
    CommitParameters,
    StartIdentification,
    StopIdentification,
)

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
LONGEST_LINES = 90


@pytest.fixture
def example(ros):
    """Starts an example beside the client."""
    running = []

    def start(name, *arguments):
        running.append(subprocess.Popen(
            [sys.executable, str(EXAMPLES / name), *arguments], env=node_environment(ros.domain),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


class Nodes:
    """Answers as the identification node and the model server do."""

    def __init__(self, client, *, committable=True):
        self.heard, self.committable = [], committable
        for kind, name, fields in (
            (StartIdentification, 'identification_node/start', {'recording': 'one'}),
            (StopIdentification, 'identification_node/stop',
             {'recording': 'one', 'samples': 500, 'duration': 1.0}),
            (CommitParameters, 'model_server/commit', {'message': 'It is revision 2 now.'}),
        ):
            client.create_service(kind, name, self.answer(name, fields))
        self.action = ActionServer(
            client, Identify, 'identification_node/identify', self.identify)

    def answer(self, name, fields):
        def answered(request, response):
            self.heard.append((name, getattr(request, 'estimate', '')))
            if len(self.heard) == 1:
                response.code, response.message = 'not_ready', 'It still loads.'
                return response
            for field, value in fields.items():
                setattr(response, field, value)
            response.success = True
            return response

        return answered

    def identify(self, goal):
        self.heard.append(('identify', goal.request.recording))
        goal.publish_feedback(Identify.Feedback(stage='fitting'))
        goal.succeed()
        return Identify.Result(
            success=True, estimate='estimate-1', committable=self.committable,
            reasons=['The robot hardly moved.'], next_steps=['Move more.'])


@pytest.mark.parametrize('committable', [True, False])
def test_another_package_identifies_and_commits(ros, example, committable):
    nodes = Nodes(ros.client, committable=committable)
    process = example('identify_from_another_package.py', '0.1')
    ros.wait(lambda: process.poll() is not None)
    nodes.action.destroy()
    said = process.stdout.read()
    start = 'identification_node/start'
    asked = [start, start, 'identification_node/stop', 'identify']
    assert [name for name, _ in nodes.heard][:4] == asked
    assert ('identify', 'one') in nodes.heard
    if committable:
        assert nodes.heard[-1] == ('model_server/commit', 'estimate-1')
        assert process.returncode == 0
        assert 'revision 2' in said
    else:
        assert process.returncode == 1
        assert 'Move more.' in said


def test_a_controller_carries_the_robot_by_the_revision_it_was_given(ros, example, project):
    pytest.importorskip('mujoco')
    description = project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'
    (ros.folder / 'as_described.yaml').write_text('{}\n')
    states, acknowledged = ros.hear(JointState, 'joint_states', 100), []
    start = [0.0, 0.9, 0.3, 0.0]
    ros.start('simulated_robot', {
        'description': str(description), 'initial_position': start, 'publish_rate': 200.0,
        'truth': str(ros.folder / 'as_described.yaml'), 'command_timeout': 1.0,
        'realtime_priority': 30})

    def acknowledge(request, response):
        acknowledged.append((request.consumer, request.revision))
        response.success = True
        return response

    model = TorqueModel(RobotModel.from_urdf(description))
    publisher = ros.client.create_publisher(
        IdentifiedParameters, 'model_server/identified_parameters', LATCHED)
    publisher.publish(parameters_message(model.robot, model.parameters, revision='3'))
    example('gravity_compensation.py', str(description))
    # It may have parameters before it finds the service.
    ros.wait(publisher.get_subscription_count)
    ros.spin(1.0)
    ros.client.create_service(AcknowledgeRevision, 'model_server/acknowledge', acknowledge)
    ros.wait(lambda: acknowledged)
    assert acknowledged == [('/gravity_compensation', '3')]
    ros.wait(lambda: states)
    ros.spin(2.0)
    # Without it, the arm would have fallen in half a second; with dry friction it stays.
    np.testing.assert_allclose(states[-1].position, start, atol=0.05)


# Those of ROS: what another package needs to be a client has to fit on a page.
@pytest.mark.parametrize('name', ['gravity_compensation.py', 'identify_from_another_package.py'])
def test_an_example_is_short(name):
    file = EXAMPLES / name
    assert len(file.read_text().splitlines()) < LONGEST_LINES
