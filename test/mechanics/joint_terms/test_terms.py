"""Joint terms: each column against its formula, units, priors, and that friction brakes."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.mechanics.joint_terms.coulomb import smooth_sign
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

JOINT = (
    '<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
    '<child link="{child}"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" '
    'velocity="1"/>{extra}</joint>'
)


def robot_of(*joints):
    """A chain of joints: pairs of type and further elements."""
    parts = [
        JOINT.format(name=f'j{k}', kind=kind, parent=f'l{k}', child=f'l{k + 1}', extra=extra)
        for k, (kind, extra) in enumerate(joints)
    ]
    return RobotModel.from_urdf(f'<robot name="r"><link name="l0"/>{"".join(parts)}</robot>')


@pytest.fixture
def robot():
    return robot_of(
        ('revolute', '<dynamics damping="0.5" friction="0.2"/>'),
        ('prismatic', '<dynamics damping="7"/>'),
        ('continuous', ''),
    )


@pytest.fixture
def motion(rng):
    return rng.normal(size=(3, 6, 3))


@pytest.mark.parametrize(('term', 'signal'), [
    (ViscousFriction, lambda q, v, a: v),
    (CoulombFriction, lambda q, v, a: np.sign(v)),
    (TorqueOffset, lambda q, v, a: np.ones_like(q)),
    (Armature, lambda q, v, a: a),
    (Stiffness, lambda q, v, a: q),
])
def test_each_joint_has_one_column_that_acts_on_it_alone(robot, motion, term, signal):
    columns = term().columns(robot, *motion)
    assert columns.shape == (6, 3, 3)
    expected = np.zeros((6, 3, 3))
    for j in range(3):
        expected[:, j, j] = signal(*motion)[:, j]
    np.testing.assert_array_equal(columns, expected)


def test_a_term_may_be_on_some_joints_in_any_order(robot, motion):
    term = ViscousFriction(('j2', 'j0'))
    assert [p.name for p in term.parameters(robot)] == [
        'j2.viscous_friction', 'j0.viscous_friction']
    columns = term.columns(robot, *motion)
    np.testing.assert_array_equal(columns[:, 2, 0], motion[1][:, 2])
    np.testing.assert_array_equal(columns[:, 0, 1], motion[1][:, 0])
    assert np.count_nonzero(columns) == 12


def test_a_term_on_no_joint_has_no_column(robot, motion):
    assert Armature(()).parameters(robot) == []
    assert Armature(()).columns(robot, *motion).shape == (6, 3, 0)


@pytest.mark.parametrize(('term', 'field', 'angular', 'linear', 'lower'), [
    (ViscousFriction, 'viscous_friction', 'N·m·s/rad', 'N·s/m', 0.0),
    (CoulombFriction, 'coulomb_friction', 'N·m', 'N', 0.0),
    (TorqueOffset, 'torque_offset', 'N·m', 'N', -np.inf),
    (Armature, 'armature', 'kg·m²', 'kg', 0.0),
    (Stiffness, 'stiffness', 'N·m/rad', 'N/m', 0.0),
])
def test_names_units_and_bounds_suit_the_kind_of_joint(robot, term, field, angular, linear, lower):
    parameters = term().parameters(robot)
    assert [p.name for p in parameters] == [f'j{k}.{field}' for k in range(3)]
    assert [p.unit for p in parameters] == [angular, linear, angular]
    assert all(p.lower == lower and np.isposinf(p.upper) and p.free for p in parameters)


def test_the_prior_of_friction_is_what_the_description_says(robot):
    assert [p.prior for p in ViscousFriction().parameters(robot)] == [0.5, 7.0, 0.0]
    assert [p.prior for p in CoulombFriction().parameters(robot)] == [0.2, 0.0, 0.0]
    assert [p.prior for p in Armature().parameters(robot)] == [0.0, 0.0, 0.0]


def test_negative_friction_in_a_description_counts_as_none():
    robot = robot_of(('revolute', '<dynamics damping="-0.5" friction="-1"/>'))
    assert ViscousFriction().parameters(robot)[0].prior == 0.0
    assert CoulombFriction().parameters(robot)[0].prior == 0.0


def test_friction_of_mimic_joints_is_felt_at_their_source_by_power():
    robot = robot_of(
        ('revolute', '<dynamics damping="0.5" friction="0.2"/>'),
        ('prismatic', '<mimic joint="j0" multiplier="-3"/><dynamics damping="2" friction="4"/>'),
        ('revolute', '<dynamics damping="1" friction="1"/>'),
    )
    damping, friction = (described_dynamics(robot, name) for name in ('damping', 'friction'))
    np.testing.assert_allclose(damping, [0.5 + 9.0 * 2.0, 1.0])
    np.testing.assert_allclose(friction, [0.2 + 3.0 * 4.0, 1.0])
    v = np.array([0.7, -0.3])
    tree_v = robot.tree.coupling @ v
    lost = np.array([0.5, 2.0, 1.0]) @ tree_v**2 + np.array([0.2, 4.0, 1.0]) @ np.abs(tree_v)
    assert damping @ v**2 + friction @ np.abs(v) == pytest.approx(lost)


def test_rotors_bring_no_friction_of_the_description(robot):
    geared = robot.with_rotors([GearedRotor('rotor', 'j0', 50.0, 'l0')])
    np.testing.assert_array_equal(
        described_dynamics(geared, 'damping'), described_dynamics(robot, 'damping'))


def test_the_smooth_sign_is_the_sign_away_from_standstill():
    v = np.array([-2.0, -1e-3, 0.0, 1e-3, 2.0])
    np.testing.assert_array_equal(smooth_sign(v, (0.0,)), [-1.0, -1.0, 0.0, 1.0, 1.0])
    smooth = smooth_sign(v, (0.01,))
    np.testing.assert_allclose(smooth, np.tanh(v / 0.01))
    np.testing.assert_allclose(smooth, -smooth[::-1])
    np.testing.assert_allclose(smooth[[0, -1]], [-1.0, 1.0], atol=1e-15)
    assert abs(smooth[1]) == pytest.approx(0.1, rel=0.01)


def test_smoothing_reaches_the_columns(robot, motion):
    columns = CoulombFriction(smoothing=0.5).columns(robot, *motion)
    np.testing.assert_allclose(columns[:, 1, 1], np.tanh(motion[1][:, 1] / 0.5))


@pytest.mark.parametrize('smoothing', [-0.1, np.nan, np.inf])
def test_smoothing_that_is_no_velocity_is_refused(smoothing):
    with pytest.raises(ConfigurationError, match='smoothing.*a velocity, zero or more'):
        CoulombFriction(smoothing=smoothing)
    with pytest.raises(ConfigurationError, match='smoothing'):
        CoupledAxis('motor', (('j0', 1.0),), smoothing)


WRIST = CoupledAxis('motor', (('j0', 1.0), ('j2', -2.0)))


def test_a_coupled_axis_acts_on_each_of_its_joints_by_its_weight(robot, motion):
    q, v, a = motion
    speed, acceleration = v[:, 0] - 2.0 * v[:, 2], a[:, 0] - 2.0 * a[:, 2]
    columns = WRIST.columns(robot, q, v, a)
    assert columns.shape == (6, 3, 3)
    for k, along in enumerate((acceleration, speed, np.sign(speed))):
        np.testing.assert_allclose(columns[:, 0, k], along)
        np.testing.assert_array_equal(columns[:, 1, k], 0.0)
        np.testing.assert_allclose(columns[:, 2, k], -2.0 * along)
    assert [p.name for p in WRIST.parameters(robot)] == [
        'motor.armature', 'motor.viscous_friction', 'motor.coulomb_friction']
    assert all(p.lower == 0.0 for p in WRIST.parameters(robot))


@pytest.mark.parametrize('term', [
    ViscousFriction(), CoulombFriction(), CoulombFriction(smoothing=0.3), WRIST,
    CoupledAxis('motor', (('j0', 0.4), ('j1', 1.0), ('j2', -1.0)), smoothing=0.2),
])
def test_friction_never_gives_power(robot, rng, term):
    q, v, a = rng.normal(size=(3, 200, 3))
    columns = term.columns(robot, q, v, np.zeros_like(a))
    for parameter, column in zip(term.parameters(robot), np.moveaxis(columns, -1, 0), strict=True):
        power = np.einsum('tj,tj->t', v, column)
        assert power.min() >= 0.0, parameter.name
        assert power.max() > 0.0 or parameter.name == 'motor.armature'


def test_the_armature_of_a_coupled_axis_is_kinetic_energy(robot, rng):
    q, v, a = rng.normal(size=(3, 50, 3))
    torque = WRIST.columns(robot, q, v, a)[:, :, 0]
    w = np.array([1.0, 0.0, -2.0])
    # d/dt ½ (w·v)² = (w·v)(w·a)
    np.testing.assert_allclose(np.einsum('tj,tj->t', v, torque), (v @ w) * (a @ w), atol=1e-12)


def test_joints_that_do_not_exist_are_refused(robot, motion):
    for term in (ViscousFriction(('j0', 'j9')), CoupledAxis('motor', (('j9', 1.0),))):
        with pytest.raises(ModelError, match="no such moving joint .*'j9'; allowed j0, j1, j2"):
            term.parameters(robot)
        with pytest.raises(ModelError, match='j9'):
            term.columns(robot, *motion)


def test_a_coupled_axis_without_weights_is_refused(robot):
    with pytest.raises(ConfigurationError, match='motor: the axis has no weights'):
        CoupledAxis('motor', (('j0', 0.0),)).parameters(robot)
