"""Laws whose constants are identified, compiled: motion and its derivatives, by NumPy and steps."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    STRIBECK,
    STRIBECK_EXPONENT,
)
from sysid_ros.estimation.trajectory.discrete.robot_mechanism import RobotMechanism
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.integrators.variational.simulator import VariationalSimulator
from sysid_ros.mechanics.joint_terms.terms import (
    CoulombFriction,
    LoadFriction,
    PowerLawFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor.sample_regressor import sample_model, shaped_model
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import linearised_accelerations
from sysid_ros.robot.model import RobotModel

URDF = """<robot name="two"><link name="base"/>
<joint name="first" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
</joint><link name="upper"><inertial><origin xyz="0.01 0 -0.2"/><mass value="1.2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.004"/></inertial></link>
<joint name="second" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/></joint><link name="lower"><inertial>
<origin xyz="0 0 -0.15"/><mass value="0.7"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.002"/></inertial></link></robot>"""
VALUES = {
    'viscous_friction': 0.1, 'coulomb_friction': 0.2, 'stribeck_friction': 0.15,
    'stribeck_velocity': 0.4, 'stribeck_exponent': 1.5, 'power_friction': 0.3,
    'coulomb_smoothing': 0.05}
TERMS = {
    'velocity': [ViscousFriction(), CoulombFriction(smoothing=0.05), StribeckFriction(
        smoothing=0.05)],
    'velocity and exponent': [ViscousFriction(), CoulombFriction(smoothing=0.05), StribeckFriction(
        ('second',), smoothing=0.05, identify_exponent=True)],
    'smoothing': [ViscousFriction(), SmoothCoulombFriction()],
    'of a coupled axis': [ViscousFriction(), StribeckFriction(
        (), (('both', (('first', 1.0), ('second', -0.5))),), smoothing=0.05)],
    'power law': [PowerLawFriction()],
}
STEP, NODES = 0.002, 150


@pytest.fixture(params=TERMS)
def model(request):
    return TorqueModel(RobotModel.from_urdf(URDF), TERMS[request.param])


@pytest.fixture
def values(model):
    known = {
        name: VALUES[name.rpartition('.')[2]] for name in model.parameters.names
        if name.rpartition('.')[2] in VALUES}
    return model.parameters.with_values(known).values


@pytest.fixture
def columns(model):
    """What is identified of the joint terms."""
    inertial = 10 * len(model.robot.body_names)
    return np.arange(inertial, len(model.parameters))


def trajectory():
    t = STEP * np.arange(NODES)
    torque = np.stack([1.5 * np.sin(9.0 * t), 0.6 * np.cos(14.0 * t)], axis=1)
    return InputTrajectory(np.array([[0.3, -0.4], [0.5, 1.0]]), torque, STEP)


def test_constants_that_are_identified_are_no_linear_model(model):
    assert sample_model(model) is None
    assert shaped_model(model) is not None


def test_accelerations_and_derivatives_are_those_of_the_regressor(model, values, columns, rng):
    q, v, torque = rng.normal(size=(3, 30, 2))
    found = linearised_accelerations(model, values, q, v, torque, columns)
    here = model.at(values)
    regressor = here.regressor(q, v, found.value)
    np.testing.assert_allclose(regressor @ values, torque, atol=1e-9)
    # The torque by a constant, and with it the acceleration, by the model's own derivatives.
    mass = np.stack([
        here.regressor(q, v, found.value + unit) @ values - torque for unit in np.eye(2)], axis=2)
    slopes = model.jacobian(values, q, v, found.value)[:, :, columns]
    np.testing.assert_allclose(
        found.by_parameters, -np.linalg.solve(mass, slopes), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize('simulator', [Simulator, VariationalSimulator])
def test_derivatives_of_motion_are_differences(model, values, columns, simulator):
    own = simulator(model, columns)
    motion, = own.run(values, [trajectory()])
    assert np.isfinite(motion.states).all()
    for k, column in enumerate(columns):
        change = np.zeros(len(values))
        change[column] = 1e-5 * max(values[column], 0.01)
        (ahead,), (behind,) = (
            own.run(values + sign * change, [trajectory()]) for sign in (1.0, -1.0))
        expected = (ahead.states - behind.states)[:, :2] / (2.0 * change[column])
        found = motion.slopes[:, :2, :, own.starts + k]
        np.testing.assert_allclose(
            found, expected, atol=1e-5 * np.abs(expected).max() + 1e-8,
            err_msg=model.parameters.names[column])


def test_variational_motion_converges_with_the_square_of_the_step(model, values):
    none = np.zeros(0, dtype=int)
    exact, = Simulator(model, none, False, 32).run(values, [trajectory()])
    coarse, fine = (
        np.abs(motion.states[:, 0] - exact.states[:, 0]).max() for steps in (4, 8)
        for motion in VariationalSimulator(model, none, False, steps).run(values, [trajectory()]))
    assert fine < 1e-4
    # A power of the speed below one has no slope at rest, where steps are less exact.
    if not isinstance(model.terms[0], PowerLawFriction):
        assert coarse / fine == pytest.approx(4.0, rel=0.15)


def test_a_smoothing_that_two_terms_share_is_worked_on_by_the_regressor():
    robot = RobotModel.from_urdf(URDF)
    shared = [SmoothCoulombFriction(), StribeckFriction(smoothing=None)]
    assert shaped_model(TorqueModel(robot, shared)) is None
    assert shaped_model(TorqueModel(robot, [LoadFriction(smoothing=None)])) is None


@pytest.mark.parametrize('identified', [True, False])
def test_steps_in_maximal_coordinates_take_the_exponent_given_or_identified(identified):
    friction = StribeckFriction(
        ('second',), smoothing=0.05, exponent=1.4, identify_exponent=identified)
    model = TorqueModel(RobotModel.from_urdf(URDF), [CoulombFriction(smoothing=0.05), friction])
    names, known = model.parameters.names, {'second.stribeck_friction': 0.15}
    if identified:
        known['second.stribeck_exponent'] = 1.7
    robot = RobotMechanism(model, names)
    parameters = robot.parameter_map.body_parameters(
        model.parameters.with_values(known).values, 2, robot.mechanism.gravity)
    # A joint without Stribeck's friction has a Gaussian, which nothing multiplies.
    np.testing.assert_array_equal(
        parameters.drives[:, STRIBECK_EXPONENT], [2.0, 1.7 if identified else 1.4])
    np.testing.assert_array_equal(parameters.drives[:, STRIBECK], [0.0, 0.15])
    column = names.index('second.stribeck_exponent') if identified else len(names)
    assert len(robot.parameter_map.of_free(np.array([column])).source) == int(identified)
