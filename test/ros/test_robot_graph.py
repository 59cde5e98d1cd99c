"""A running system is looked at: what a fake node says of it, and real nodes by the command."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import yaml
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.nodes.node import LATCHED
from sysid_ros.nodes.robot_graph import GraphObserver
from sysid_ros.runs.robot_graph import ARRAY, FOLLOW_JOINT_TRAJECTORY, JOINT_TRAJECTORY

CONTROLLER = '/arm_controller'
FEEDBACK = f'{FOLLOW_JOINT_TRAJECTORY}_FeedbackMessage'


class FakeNode:
    """A node in a graph that is written down; joint states come as it is spun."""

    publishers = {
        '/joint_states': ['/driver'], '/empty': ['/driver'],
        '/robot_description': ['/robot_state_publisher'],
        f'{CONTROLLER}/follow_joint_trajectory/_action/feedback': [CONTROLLER]}
    subscriptions = {
        f'{CONTROLLER}/joint_trajectory': [CONTROLLER], '/forward/commands': ['/forward']}
    parameters = {
        CONTROLLER: {'joints': ['a', 'b']}, '/forward': {'interface_name': 'effort'},
        '/robot_state_publisher': {'frame_prefix': 'left/'}}

    def __init__(self):
        self.heard, self.clients = {}, []

    def get_name(self):
        return '_sysid_init'

    def get_namespace(self):
        return '/'

    def get_topic_names_and_types(self):
        return [
            ('/joint_states', ['sensor_msgs/msg/JointState']),
            ('/empty', ['sensor_msgs/msg/JointState']),
            ('/nobody', ['sensor_msgs/msg/JointState']),
            ('/robot_description', ['std_msgs/msg/String']),
            ('/chatter', ['std_msgs/msg/String']),
            (f'{CONTROLLER}/follow_joint_trajectory/_action/feedback', [FEEDBACK]),
            (f'{CONTROLLER}/joint_trajectory', [JOINT_TRAJECTORY]),
            ('/forward/commands', [ARRAY])]

    def get_node_names_and_namespaces(self):
        return [('driver', '/'), ('_sysid_init', '/'), ('monitor_node', '/robot')]

    def _endpoints(self, nodes):
        return [SimpleNamespace(
            node_name=node.lstrip('/'), node_namespace='/',
            qos_profile=SimpleNamespace(reliability=ReliabilityPolicy.RELIABLE)) for node in nodes]

    def get_publishers_info_by_topic(self, topic):
        return self._endpoints(self.publishers.get(topic, ()))

    def get_subscriptions_info_by_topic(self, topic):
        return self._endpoints(self.subscriptions.get(topic, ()))

    def create_subscription(self, kind, topic, callback, qos):
        assert kind is JointState and qos.reliability == ReliabilityPolicy.BEST_EFFORT
        self.heard[topic] = callback

    def spin(self, seconds):
        if '/joint_states' in self.heard:
            self.heard['/joint_states'](JointState(
                name=['a', 'b'], position=[0.1, 0.2], effort=[0.0, float('nan')]))
            self.heard['/joint_states'](JointState(
                name=['b', 'c'], position=[0.1, 0.2], effort=[1.0, 0.0]))

    def create_client(self, _, name):
        own = self.parameters.get(name.rpartition('/')[0])
        self.clients.append(name)

        def answered(request):
            values = [own.get(key, '') for key in request.names]
            return SimpleNamespace(done=lambda: True, result=lambda: SimpleNamespace(values=[
                SimpleNamespace(
                    string_value=value if isinstance(value, str) else '',
                    string_array_value=value if isinstance(value, list) else [])
                for value in values]))

        return SimpleNamespace(service_is_ready=lambda: own is not None, call_async=answered)

    def destroy_client(self, _):
        self.clients.pop()


def test_all_that_matters_of_a_graph_is_seen():
    node = FakeNode()
    graph = GraphObserver(node, node.spin).observe(0.05)
    assert graph.nodes == ('/driver', '/robot/monitor_node')
    empty, states = graph.joint_states
    assert (empty.name, empty.rate, empty.positions) == ('/empty', 0.0, False)
    assert states.joints == ('a', 'b', 'c') and states.publishers == ('/driver',)
    assert states.positions and states.efforts and states.reliable and states.rate > 0.0
    action, forward = (
        one for one in graph.commands if one.kind in (FOLLOW_JOINT_TRAJECTORY, ARRAY))
    assert (action.name, action.node) == (f'{CONTROLLER}/follow_joint_trajectory', CONTROLLER)
    assert action.joints == ('a', 'b')
    assert forward.interface == 'effort' and not forward.joints
    (description,) = graph.descriptions
    assert description.frame_prefix == 'left/'
    assert not node.clients


def test_the_command_writes_the_parameters_of_a_system_that_runs(ros):
    """A driver, a controller that takes trajectories, and a description."""
    client = ros.client
    states = client.create_publisher(JointState, 'robot/joint_states', 10)
    client.create_subscription(JointTrajectory, 'robot/joint_trajectory', lambda _: None, 10)
    client.create_subscription(Float64MultiArray, 'robot/commands', lambda _: None, 10)
    description = client.create_publisher(String, 'robot/robot_description', LATCHED)
    description.publish(String(data='<robot name="r"/>'))
    client.create_timer(0.01, lambda: states.publish(JointState(
        name=['j1', 'j2'], position=[0.1, 0.2], velocity=[0.0, 0.0], effort=[1.0, -1.0])))
    command = subprocess.Popen(
        ['timeout', '-k', '5', '120', sys.executable, '-m', 'sysid_ros.cli.main', 'init', 'nodes',
         '--listen', '5'],
        cwd=ros.folder, env=node_environment(ros.domain), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ros.wait(lambda: command.poll() is not None)
    said, _ = command.communicate(timeout=30.0)
    assert command.returncode == 0, said
    assert 'namespace:=robot' in said
    written = yaml.safe_load((ros.folder / 'nodes.yaml').read_text())
    excitation = written['/**/excitation_node']['ros__parameters']
    assert excitation['output'] == 'trajectory'
    assert excitation['command'] == '/robot/joint_trajectory'
    assert excitation['rate'] == pytest.approx(100.0, abs=30.0)
    assert written['/**/identification_node']['ros__parameters'] == {
        'topic': '/robot/joint_states'}
