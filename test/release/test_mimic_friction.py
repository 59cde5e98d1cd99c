"""Friction of a joint and of the joints that follow it, through the export and back."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.model import RobotModel

FINGER = (
    '<link name="{link}"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" '
    'iyy="0.01" iyz="0" izz="0.01"/></inertial></link>'
    '<joint name="{name}" type="revolute"><parent link="base"/><child link="{link}"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{more}</joint>'
)


@pytest.fixture
def gripper():
    return RobotModel.from_urdf(
        '<robot name="gripper"><link name="base"/>'
        + FINGER.format(link='left', name='grip', more='<dynamics damping="0.5" friction="0.2"/>')
        + FINGER.format(link='right', name='other', more='<mimic joint="grip" multiplier="-2"/>'
                        '<dynamics damping="0.25" friction="0.1"/>')
        + '</robot>'
    )


def test_friction_at_the_prior_is_left_as_it_is_written(gripper):
    model = TorqueModel(gripper, [ViscousFriction(), CoulombFriction()])
    assert model.parameters['grip.viscous_friction'] == 0.5 + 4 * 0.25
    assert model.parameters['grip.coulomb_friction'] == 0.2 + 2 * 0.1
    exported = export_description(gripper, model.parameters)
    assert exported.xml == gripper.description.xml
    assert exported.joints == ()


def test_identified_friction_is_written_once_and_not_again_for_the_follower(gripper):
    model = TorqueModel(gripper, [ViscousFriction(), CoulombFriction()])
    identified = model.parameters.with_values({'grip.viscous_friction': 0.8})
    exported = export_description(gripper, identified)
    assert set(exported.joints) == {'grip', 'other'}
    reloaded = RobotModel.from_urdf(exported.xml.decode())
    np.testing.assert_array_equal(described_dynamics(reloaded, 'damping'), [0.8])
    np.testing.assert_array_equal(described_dynamics(reloaded, 'friction'), [0.2 + 2 * 0.1])
    verify_export(gripper, identified, exported)


def test_friction_of_the_wrong_sign_is_written_anew():
    text = '<robot name="r"><link name="base"/>' + FINGER.format(
        link='a', name='j', more='<dynamics damping="-1" friction="-2"/>') + '</robot>'
    robot = RobotModel.from_urdf(text)
    exported = export_description(robot, TorqueModel(robot, [ViscousFriction()]).parameters)
    assert '<dynamics damping="0.0" friction="0.0"/>' in exported.xml.decode()


def test_a_joint_whose_friction_was_identified_has_nothing_else_of_it_as_described(gripper):
    model = TorqueModel(gripper, [CoulombFriction()])
    exported = export_description(gripper, model.parameters)
    reloaded = RobotModel.from_urdf(exported.xml.decode())
    np.testing.assert_array_equal(described_dynamics(reloaded, 'damping'), [0.0])
    np.testing.assert_array_equal(described_dynamics(reloaded, 'friction'), [0.2 + 2 * 0.1])
    verify_export(gripper, model.parameters, exported)
