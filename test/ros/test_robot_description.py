"""Nodes whose settings file names no description take it from the topic of the running robot."""

from __future__ import annotations

import time

import pytest
import yaml
from std_msgs.msg import String

from support.golden_problems import arm_urdf
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.nodes.node import LATCHED
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.runs.sources import load_without_recording


@pytest.fixture
def nameless(tmp_path):
    """A settings file that says of the robot only what its description does not."""
    file = tmp_path / 'plan.yaml'
    file.write_text(yaml.safe_dump({'robot': {'terms': {'viscous_friction': 'all'}}}))
    return file


def publish(ros, text):
    publisher = ros.client.create_publisher(String, 'robot_description', LATCHED)
    publisher.publish(String(data=text))
    return publisher


def test_a_description_is_taken_that_was_published_before(ros, node, nameless):
    publish(ros, arm_urdf())
    text = published_description(node, nameless)
    assert text == arm_urdf()
    plan = ExcitationPlan.load(nameless, text)
    model = plan.settings.robot.build(plan.base)
    assert model.robot.joint_names == ('waist', 'elbow', 'wrist')
    assert load_without_recording(nameless, text).model().robot.joint_names[0] == 'waist'


def test_without_a_description_it_says_what_to_name_or_to_start(node, nameless):
    began = time.monotonic()
    with pytest.raises(ConfigurationError) as said:
        published_description(node, nameless, patience=0.3)
    assert 0.3 <= time.monotonic() - began < 3.0
    message = str(said.value)
    assert 'nothing on /robot_description within 0.3 s' in message
    assert 'robot: {urdf: robot.urdf}' in message and 'robot_state_publisher' in message


def test_a_description_that_the_file_names_is_not_waited_for(node, tmp_path):
    file = tmp_path / 'plan.yaml'
    file.write_text('robot: {urdf: arm.urdf}\n')
    assert published_description(node, file) == ''


def test_a_node_is_configured_by_what_the_robot_publishes(ros, nameless):
    publish(ros, arm_urdf())
    ros.start('monitor_node', {'plan': str(nameless)})
    ros.wait(lambda: 'Watching' in ros.output('monitor_node'))
