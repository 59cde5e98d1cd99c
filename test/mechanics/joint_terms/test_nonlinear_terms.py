"""Nonlinear joint terms: their curves by formula, all derivatives by differences, settings."""

from __future__ import annotations

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.terms import (
    AsymmetricCoulombFriction,
    CoulombFriction,
    PowerLawFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

AXIS = (('both', (('waist', 1.0), ('wrist', -0.5))),)


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(arm_urdf())


@pytest.fixture
def motion(rng):
    return rng.normal(size=(3, 60, 3))


def torque_of(model, values, motion):
    """Torque with some parameters given by name, and only those."""
    theta = np.where(np.isfinite(model.parameters.upper), model.parameters.prior, 0.0)
    theta = model.parameters.with_values(theta).with_values(values)
    return model.torque(theta.values, *motion)


def test_stribeck_friction_is_its_formula(robot, motion):
    model = TorqueModel(robot, [
        SmoothCoulombFriction(('elbow',)),
        StribeckFriction(('elbow',), smoothing=None, identify_exponent=True),
    ])
    tau = torque_of(model, {
        'elbow.coulomb_friction': 0.7, 'elbow.coulomb_smoothing': 0.05,
        'elbow.stribeck_friction': 0.4, 'elbow.stribeck_velocity': 0.3,
        'elbow.stribeck_exponent': 1.3,
    }, motion)
    v = motion[1][:, 1]
    expected = np.tanh(v / 0.05) * (0.7 + 0.4 * np.exp(-np.abs(v / 0.3) ** 1.3))
    np.testing.assert_allclose(tau[:, 1], expected, atol=1e-13)
    assert not tau[:, [0, 2]].any()


def test_friction_of_an_axis_acts_on_all_its_joints(robot, motion):
    model = TorqueModel(robot, [PowerLawFriction((), AXIS)])
    tau = torque_of(model, {'both.power_friction': 2.0, 'both.power_exponent': 0.4}, motion)
    weights = np.array([1.0, 0.0, -0.5])
    speed = motion[1] @ weights
    expected = 2.0 * np.sign(speed) * np.abs(speed) ** 0.4
    np.testing.assert_allclose(tau, expected[:, None] * weights, atol=1e-13)


def test_load_friction_is_a_part_of_the_rigid_body_torque(robot, motion):
    model = TorqueModel(robot, [LoadFriction(('waist', 'elbow'), smoothing=0.2)])
    bodies = 1.1 * model.parameters.prior[:30]
    values = np.concatenate([bodies, [0.1, 0.3]])
    load = inertial_regressor(robot, *motion) @ bodies
    part = np.array([0.1, 0.3, 0.0])
    expected = load + part * np.abs(load) * np.tanh(motion[1] / 0.2)
    np.testing.assert_allclose(model.torque(values, *motion), expected, atol=1e-12)


def test_a_drive_gain_divides_everything_that_its_joint_does(robot, motion):
    plain = TorqueModel(robot, [ViscousFriction(), CoulombFriction()])
    geared = TorqueModel(robot, [ViscousFriction(), CoulombFriction(), DriveGain(('elbow',))])
    theta = plain.parameters.prior + 0.3
    true = plain.torque(theta, *motion)
    recorded = geared.torque(np.append(theta, 1.6), *motion)
    np.testing.assert_allclose(recorded * [1.0, 1.6, 1.0], true, rtol=1e-12)


def test_friction_by_direction_is_coulomb_friction_with_an_offset(robot, motion):
    model = TorqueModel(robot, [AsymmetricCoulombFriction(('elbow',))])
    tau = torque_of(model, {
        'elbow.coulomb_friction_forward': 0.9, 'elbow.coulomb_friction_backward': 0.5}, motion)
    other = TorqueModel(robot, [CoulombFriction(('elbow',)), TorqueOffset(('elbow',))])
    same = torque_of(other, {'elbow.coulomb_friction': 0.7, 'elbow.torque_offset': 0.2}, motion)
    np.testing.assert_allclose(tau, same - torque_of(other, {}, motion), atol=1e-13)


def test_the_jacobian_is_the_derivative_by_every_parameter(robot, motion, rng):
    model = TorqueModel(robot, [
        ViscousFriction(), SmoothCoulombFriction(axes=AXIS),
        StribeckFriction(axes=AXIS, smoothing=None, identify_exponent=True), PowerLawFriction(),
        LoadFriction(smoothing=None), DriveGain(),
    ])
    parameters = model.parameters
    theta = parameters.prior * rng.uniform(0.7, 1.3, len(parameters))
    theta += np.where(parameters.lower == 0.0, 0.3, 0.0)
    found = model.jacobian(theta, *(0.3 * motion))
    steps = 1e-6 * np.maximum(np.abs(theta), 0.1)
    for k, step in enumerate(steps):
        moved = np.zeros_like(theta)
        moved[k] = step
        after = model.torque(theta + moved, *(0.3 * motion))
        before = model.torque(theta - moved, *(0.3 * motion))
        np.testing.assert_allclose(
            found[:, :, k], (after - before) / (2.0 * step), rtol=1e-6, atol=1e-7,
            err_msg=parameters.names[k])


def test_a_model_moves_only_where_values_differ(robot):
    model = TorqueModel(robot, [SmoothCoulombFriction(), DriveGain()])
    assert not model.is_linear
    there = model.at(model.parameters.prior)
    assert there.at(model.parameters.prior) is there
    moved = there.at(model.parameters.with_values({'waist.drive_gain': 2.0}).values)
    assert moved.terms[0] is there.terms[0]
    np.testing.assert_array_equal(moved.gains, [2.0, 1.0, 1.0])
    linear = TorqueModel(robot, [CoulombFriction()])
    assert linear.is_linear
    assert linear.at(linear.parameters.prior) is linear


def test_settings_make_the_terms_they_name(robot):
    terms = parse_settings(TermSettings, {
        'coulomb_smoothing': 'identified', 'stribeck_friction': ['waist', 'both'],
        'stribeck_exponent': 'identified', 'power_friction': ['wrist'], 'load_friction': 'all',
        'drive_gain': ['elbow'],
        'coupled_axes': [{'name': 'both', 'weights': {'waist': 1, 'wrist': -0.5}}],
    }, 'terms').build(robot)
    names = TorqueModel(robot, terms).parameters.names[30:]
    assert {name for name in names if name.startswith('both.')} == {
        'both.armature', 'both.viscous_friction', 'both.coulomb_friction',
        'both.coulomb_smoothing', 'both.stribeck_friction', 'both.stribeck_velocity',
        'both.stribeck_exponent',
    }
    for name in ('waist.stribeck_velocity', 'wrist.power_exponent', 'elbow.load_friction',
                 'elbow.drive_gain', 'waist.coulomb_smoothing'):
        assert name in names


def test_a_joint_with_friction_by_direction_has_no_other_dry_friction(robot):
    terms = parse_settings(TermSettings, {'asymmetric_coulomb': ['elbow']}, 'terms').build(robot)
    names = TorqueModel(robot, terms).parameters.names
    assert 'elbow.coulomb_friction_forward' in names
    assert 'elbow.coulomb_friction' not in names
    assert 'elbow.torque_offset' not in names
    assert 'wrist.coulomb_friction' in names


@pytest.mark.parametrize(('settings', 'message'), [
    ({'coulomb_smoothing': -0.1}, 'coulomb_smoothing'),
    ({'coulomb_smoothing': 'found'}, 'coulomb_smoothing'),
    ({'stribeck_exponent': 0.0}, 'stribeck_exponent'),
    ({'stribek_friction': 'all'}, "Did you mean 'stribeck_friction'"),
    ({'coulomb_smoothing': 'identified', 'asymmetric_coulomb': ['elbow']},
     'has no identified smoothing'),
    ({'coulomb_smoothing': 'identified', 'coulomb_friction': ['waist'], 'load_friction': 'all'},
     r'load_friction.*found elbow, wrist.*Add it to coulomb_friction'),
    ({'coulomb_smoothing': 'identified', 'coulomb_friction': [], 'stribeck_friction': ['waist']},
     'stribeck_friction.*found waist'),
])
def test_settings_that_contradict_themselves_are_refused(robot, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_settings(TermSettings, settings, 'terms').build(robot)


@pytest.mark.parametrize('term', [
    StribeckFriction(('knee',)), LoadFriction(('knee',)), DriveGain(('knee',)),
    AsymmetricCoulombFriction(('knee',)), PowerLawFriction((), (('a', (('knee', 1.0),)),)),
], ids=lambda term: type(term).__name__)
def test_a_joint_that_the_robot_does_not_have_is_refused(robot, term):
    with pytest.raises(ModelError, match='knee'):
        TorqueModel(robot, [term])


def test_an_axis_without_weights_is_refused(robot):
    with pytest.raises(ConfigurationError, match='no weights'):
        TorqueModel(robot, [SmoothCoulombFriction((), (('idle', (('waist', 0.0),)),))])
