"""Computed torque: the law of Pinocchio's terms, and the errors that a loop closed by it leaves."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.demo.true_robot import Deviations
from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.mechanics.control import ComputedTorque
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    SmoothCoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

OMEGA, ZETA = 20.0, 0.8
TERMS = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature())


@pytest.fixture(scope='module')
def model(project):
    return TorqueModel(
        RobotModel.from_urdf(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf'), TERMS)


def law(model, values=None, **options):
    values = model.parameters.values if values is None else values
    return ComputedTorque(
        model, values, natural_frequency=OMEGA, damping=ZETA, **options)


def test_the_torque_is_that_of_pinocchio_with_friction_of_the_reference(model, rng):
    values = model.parameters.values.copy()
    values[-4:] = 0.05
    robot = model.robot.pinocchio_model
    data = robot.createData()
    for _ in range(10):
        q, v, q_ref, v_ref, a_ref = rng.uniform(-0.5, 0.5, (5, 4))
        a = a_ref + 2.0 * ZETA * OMEGA * (v_ref - v) + OMEGA**2 * (q_ref - q)
        expected = pin.rnea(robot, data, q, v, a) + 0.05 * a
        expected += [0.6, 0.6, 0.3, 0.05] * v_ref
        expected += [0.8, 0.8, 0.4, 0.1] * np.tanh(v_ref / 0.1)
        command = law(model, values, friction_smoothing=0.1, effort=np.full(4, np.nan)).command(
            q, v, q_ref, v_ref, a_ref)
        np.testing.assert_allclose(command.torque, expected, atol=1e-10)
        np.testing.assert_allclose(command.feedback, a - a_ref, atol=1e-9)
        assert command.saturated == ()


def test_with_the_exact_model_every_joint_errs_like_a_mass_on_a_spring(model):
    values = model.parameters.values.copy()
    values[40:] = 0.0
    control = law(model, values, effort=np.full(4, np.nan))
    robot = model.robot.pinocchio_model
    data = robot.createData()
    start = np.array([0.2, -0.3, 0.1, 0.4])
    q, v, step, decay = start.copy(), np.zeros(4), 1e-4, ZETA * OMEGA
    turn = OMEGA * np.sqrt(1.0 - ZETA**2)
    zero = np.zeros(4)
    for k in range(3000):
        if k % 500 == 0:
            t = k * step
            wave = np.cos(turn * t) + decay / turn * np.sin(turn * t)
            np.testing.assert_allclose(q, np.exp(-decay * t) * wave * start, atol=3e-4)
        v = v + step * pin.aba(robot, data, q, v, control.command(q, v, zero, zero, zero).torque)
        q = q + step * v


def test_a_drive_that_cannot_do_it_is_named(model):
    zero = np.zeros(4)
    command = law(model).command(zero, zero, np.array([9.0, 0.0, 0.0, 0.0]), zero, zero)
    assert 'base_yaw' in command.saturated
    assert command.torque[0] == 40.0
    # It does less than it is asked to, who knows how much.
    assert command.feedback[0] == 0.0


def test_at_a_standstill_of_the_reference_dry_friction_does_not_jump(model):
    zero, slow = np.zeros(4), np.full(4, 1e-6)
    control = law(model)
    ahead, behind = (
        control.command(zero, zero, zero, sign * slow, zero).torque for sign in (1.0, -1.0))
    np.testing.assert_allclose(ahead, behind, atol=1e-2)
    # The velocity that is measured does not turn it either.
    noisy = control.command(zero, slow, zero, zero, zero).torque
    np.testing.assert_allclose(noisy, control.command(zero, zero, zero, zero, zero).torque,
                               atol=1e-2)


def test_an_identified_smoothing_is_that_of_the_values(model, rng):
    shaped = TorqueModel(model.robot, (SmoothCoulombFriction(),))
    values = shaped.parameters.values.copy()
    names = list(shaped.parameters.names)
    values[names.index('base_yaw.coulomb_smoothing')] = 0.3
    zero, v_ref = np.zeros(4), rng.uniform(-0.5, 0.5, 4)
    control = law(shaped, values)
    difference = control.torque(zero, zero, zero, v_ref) - control.torque(zero, zero, zero, zero)
    assert difference[0] == pytest.approx(0.8 * np.tanh(v_ref[0] / 0.3))


@pytest.mark.parametrize('broken', range(5))
def test_a_number_that_is_not_finite_gives_no_torque(model, broken):
    state = [np.zeros(4) for _ in range(5)]
    state[broken][2] = np.nan
    with pytest.raises(ParameterError, match='not finite'):
        law(model).command(*state)


def test_gains_and_values_that_cannot_be_are_refused(model):
    values = model.parameters.values
    for options in ({'natural_frequency': 0.0}, {'natural_frequency': 9.0, 'damping': -1.0}):
        with pytest.raises(ConfigurationError, match='gain'):
            ComputedTorque(model, values, **options)
    with pytest.raises(ConfigurationError, match='smoothing'):
        law(model, friction_smoothing=-0.1)
    with pytest.raises(ParameterError, match='parameters of the model'):
        law(model, values[:-1])


def test_a_robot_follows_better_by_its_true_parameters_than_by_its_description(model, rng):
    pytest.importorskip('mujoco')
    from sysid_ros.demo.mujoco_plant import Plant

    truth = Deviations.drawn(model.robot, rng, np.array([0.12, 0.12, 0.05, 0.01])).of(model.robot)
    plant = Plant.of(model.robot, truth)
    true = np.concatenate([
        truth.inertials.ravel(), truth.viscous, truth.coulomb, np.zeros(4), truth.armature])
    pace = 2.0 * np.pi * np.array([0.5, 0.4, 0.6, 0.7])
    errors = []
    for values in (true, model.parameters.values):
        control = law(model, values)
        plant.reset(np.zeros(4))
        squares = []
        for k in range(4000):
            t = 1e-3 * k
            # From rest: the acceleration rises with the motion.
            q_ref = 0.3 * (1.0 - np.cos(pace * t))
            v_ref, a_ref = 0.3 * pace * np.sin(pace * t), 0.3 * pace**2 * np.cos(pace * t)
            squares.append((q_ref - plant.q) ** 2)
            plant.step(control.command(plant.q, plant.v, q_ref, v_ref, a_ref).torque)
        errors.append(np.sqrt(np.mean(squares)))
    assert errors[0] < 0.2 * errors[1]
