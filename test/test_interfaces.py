"""The generated messages: their fields are a contract with the programs that read them."""

import math
from pathlib import Path

import pytest
from geometry_msgs.msg import Inertia
from rclpy.serialization import deserialize_message, serialize_message

from sysid_ros import action, srv
from sysid_ros.msg import FasterMotion, IdentifiedParameters, JointDynamics, JointRange

FIELDS = {
    JointDynamics: {
        'name': 'string',
        'viscous_friction': 'double',
        'coulomb_friction': 'double',
        'torque_offset': 'double',
        'armature': 'double',
        'stiffness': 'double',
    },
    JointRange: {
        'name': 'string',
        'position_min': 'double',
        'position_max': 'double',
        'speed': 'double',
        'acceleration': 'double',
        'effort': 'double',
    },
    FasterMotion: {
        'relative_error': 'double',
        'standard_error': 'double',
        'joint_names': 'sequence<string>',
        'speed_factors': 'sequence<double>',
    },
    IdentifiedParameters: {
        'stamp': 'builtin_interfaces/Time',
        'robot_name': 'string',
        'revision': 'string',
        'estimate': 'string',
        'description_sha256': 'string',
        'recording_sha256': 'string',
        'link_names': 'sequence<string>',
        'link_inertias': 'sequence<geometry_msgs/Inertia>',
        'joints': 'sequence<sysid_ros/JointDynamics>',
        'fitted_range': 'sequence<sysid_ros/JointRange>',
        'held_out_relative_error': 'double',
        'prior_relative_error': 'double',
        'consistency_margin': 'double',
        'condition_number': 'double',
        'judged_range': 'sequence<sysid_ros/JointRange>',
        'faster_motion': 'sysid_ros/FasterMotion',
    },
}


def identified_arm():
    message = IdentifiedParameters(robot_name='arm', revision='r1', link_names=['upper', 'fore'])
    message.stamp.sec, message.stamp.nanosec = 12, 34
    for mass in (2.5, 1.25):
        inertia = Inertia(m=mass, ixx=0.5, iyy=0.25, izz=0.125, ixy=-0.0625)
        inertia.com.z = 0.375
        message.link_inertias.append(inertia)
    message.joints = [
        JointDynamics(name='shoulder', viscous_friction=1.5, armature=0.75, stiffness=math.nan),
        JointDynamics(name='elbow', coulomb_friction=0.5, torque_offset=-0.25),
    ]
    message.fitted_range = [JointRange(name='elbow', position_min=-0.5, speed=1.5)]
    message.judged_range = [JointRange(name='elbow', position_max=0.25, acceleration=3.5)]
    message.faster_motion = FasterMotion(
        relative_error=0.0625, joint_names=['elbow'], speed_factors=[2.5])
    message.held_out_relative_error = 0.0225
    message.condition_number = math.inf
    return message


@pytest.mark.parametrize('interface', FIELDS, ids=lambda interface: interface.__name__)
def test_a_message_has_exactly_the_agreed_fields(interface):
    assert interface.get_fields_and_field_types() == FIELDS[interface]


@pytest.mark.parametrize('interface', FIELDS, ids=lambda interface: interface.__name__)
def test_an_empty_message_survives_serialisation(interface):
    assert deserialize_message(serialize_message(interface()), interface) == interface()


def test_identified_parameters_survive_serialisation():
    sent = identified_arm()
    received = deserialize_message(serialize_message(sent), IdentifiedParameters)
    # NaN differs from itself, so the one term that is not in the model is compared apart.
    assert math.isnan(received.joints[0].stiffness)
    for message in (sent, received):
        message.joints[0].stiffness = 0.0
    assert received == sent


DEFINITIONS = [
    path for folder in ('msg', 'srv', 'action')
    for path in sorted((Path(__file__).resolve().parents[1] / folder).iterdir())
]


@pytest.mark.parametrize('path', DEFINITIONS, ids=lambda path: path.name)
def test_every_number_says_its_unit(path):
    lines = path.read_text(encoding='utf-8').splitlines()
    numbers = [line for line in lines if line.startswith('float64')]
    assert not [line for line in numbers if '[' not in line.partition('#')[2]]


@pytest.mark.parametrize('path', DEFINITIONS, ids=lambda path: path.name)
def test_every_answer_says_success_and_why(path):
    parts = path.read_text(encoding='utf-8').split('---\n')
    if len(parts) > 1:
        answer = [line.split()[:2] for line in parts[1].splitlines() if line[:1].isalpha()]
        assert answer[:3] == [['bool', 'success'], ['string', 'code'], ['string', 'message']]


def test_there_is_a_definition_of_every_kind():
    assert {path.suffix for path in DEFINITIONS} == {'.msg', '.srv', '.action'}


@pytest.mark.parametrize('name', ['CommitParameters', 'IdentifyPayload'])
def test_an_action_beside_a_service_has_its_fields(name):
    asked, carried_out = getattr(srv, name), getattr(action, name)
    for own, other in (
            (carried_out.Goal, asked.Request), (carried_out.Result, asked.Response)):
        assert own.get_fields_and_field_types() == other.get_fields_and_field_types()
    assert set(carried_out.Feedback.get_fields_and_field_types()) == {'stage', 'progress'}
