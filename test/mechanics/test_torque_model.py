"""The torque model: bodies first, then terms, all linear in one vector."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ModelError, ParameterError
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import INERTIAL_FIELDS, is_consistent
from sysid_ros.robot.model import RobotModel


@pytest.fixture
def robot(random_urdf):
    return RobotModel.from_urdf(random_urdf(11, 5))


def test_parameters_are_bodies_then_terms_in_order(robot):
    model = TorqueModel(robot, [ViscousFriction(), Armature((robot.joint_names[0],))])
    expected = [f'{body}.{field}' for body in robot.body_names for field in INERTIAL_FIELDS]
    expected += [f'{joint}.viscous_friction' for joint in robot.joint_names]
    assert model.parameters.names == (*expected, f'{robot.joint_names[0]}.armature')
    assert model.parameters.bodies == robot.body_names


def test_the_regressor_is_the_inertial_one_beside_the_terms(robot, rng):
    terms = [ViscousFriction(), CoulombFriction(), TorqueOffset()]
    model = TorqueModel(robot, terms)
    motion = rng.normal(size=(3, 7, len(robot.joint_names)))
    regressor = model.regressor(*motion)
    inertial = inertial_regressor(robot, *motion)
    assert regressor.shape == (7, len(robot.joint_names), len(model.parameters))
    np.testing.assert_array_equal(regressor[..., :inertial.shape[-1]], inertial)
    start = inertial.shape[-1]
    for term in terms:
        columns = term.columns(robot, *motion)
        np.testing.assert_array_equal(
            regressor[..., start:start + columns.shape[-1]], columns)
        start += columns.shape[-1]
    assert start == len(model.parameters)


def test_the_torque_is_the_sum_of_its_parts(robot, rng):
    model = TorqueModel(robot, [ViscousFriction(), TorqueOffset()])
    q, v, a = rng.normal(size=(3, 7, len(robot.joint_names)))
    inertial = inertial_regressor(robot, q, v, a) @ robot.inertial_prior.reshape(-1)
    values = model.parameters.with_values(
        {f'{joint}.torque_offset': 0.25 for joint in robot.joint_names}).values
    # random_urdf writes damping="0.5" for every joint.
    np.testing.assert_allclose(
        model.torque(values, q, v, a), inertial + 0.5 * v + 0.25, atol=1e-12)


def test_the_prior_of_an_impossible_body_is_its_neighbour():
    robot = RobotModel.from_urdf(
        '<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.9"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>'
    )
    parameters = TorqueModel(robot).parameters
    assert not is_consistent(robot.inertial_prior)
    assert is_consistent(parameters.inertial('a'))
    assert list(robot.replaced_priors) == ['a']


def test_a_term_that_does_not_fit_is_refused_when_the_model_is_made(robot):
    with pytest.raises(ModelError, match="'elbow'"):
        TorqueModel(robot, [ViscousFriction(('elbow',))])


def test_a_term_that_is_given_twice_is_refused(robot):
    with pytest.raises(ParameterError, match='not unique .*viscous_friction'):
        TorqueModel(robot, [ViscousFriction(), ViscousFriction()])


def test_the_terms_of_a_model_cannot_be_changed_from_outside(robot):
    terms = [ViscousFriction()]
    model = TorqueModel(robot, terms)
    terms.append(Armature())
    assert model.terms == (ViscousFriction(),)
    assert not any(name.endswith('.armature') for name in model.parameters.names)
