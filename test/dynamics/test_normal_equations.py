"""Normal equations summed block by block: those of all rows, on trees and on coupled robots."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.dynamics.normal_equations import normal_equations
from sysid_ros.dynamics.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ParameterError
from sysid_ros.robot.model import GearedRotor, RobotModel

# Blocks hold 576 samples: one of a few, one full, one full and a bit, some.
SAMPLES = (1, 5, 576, 600, 1500)


def all_terms():
    return [ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature(), Stiffness()]


def random_data(rng, model, samples):
    joints = len(model.robot.joint_names)
    return rng.uniform(-3.0, 3.0, (samples, joints)), *rng.normal(size=(3, samples, joints))


def assert_sums_of_rows(found, model, data, weights=None, usable=None):
    """Against the stack: all rows at once, each weighted, in plain matrix products."""
    rows, tau = model.regressor(*data[:3]), data[3]
    weights = np.ones(tau.shape) if weights is None else np.broadcast_to(weights, tau.shape)
    weights = weights if usable is None else np.where(usable, weights, 0.0)
    matrix = np.einsum('tj,tjp,tjr->pr', weights, rows, rows, optimize=True)
    size = np.sqrt(np.diag(matrix))
    torque = np.sum(weights * tau**2)
    assert np.all(np.abs(found.matrix - matrix) <= 1e-12 * np.outer(size, size))
    vector = np.einsum('tj,tjp,tj->p', weights, rows, tau)
    assert np.all(np.abs(found.vector - vector) <= 1e-12 * size * np.sqrt(torque))
    assert found.square == pytest.approx(torque, rel=1e-12)
    np.testing.assert_array_equal(found.matrix, found.matrix.T)


@pytest.mark.parametrize('samples', SAMPLES)
def test_the_sums_are_those_of_all_rows(random_urdf, rng, samples):
    for seed in range(8):
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed))
        model = TorqueModel(robot, all_terms() if seed % 2 else [])
        data = random_data(rng, model, samples)
        assert_sums_of_rows(normal_equations(model, *data), model, data)


def test_the_information_is_that_of_a_loop_over_pinocchio(random_urdf, rng):
    robot = RobotModel.from_urdf(random_urdf(7, 8))
    model = TorqueModel(robot)
    data = random_data(rng, model, 700)
    memory = robot.pinocchio_model.createData()
    expected = np.zeros((len(model.parameters),) * 2)
    for sample in zip(*data[:3], strict=True):
        row = pin.computeJointTorqueRegressor(robot.pinocchio_model, memory, *sample)
        expected += row.T @ row
    found = normal_equations(model, *data).matrix
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_weights_and_masks_are_those_of_the_rows(random_urdf, rng):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(11, 6)), all_terms())
    data = random_data(rng, model, 1000)
    weights = rng.uniform(0.1, 100.0, data[3].shape[1])
    weights[1] = 0.0
    usable = rng.random(data[3].shape) > 0.4
    found = normal_equations(model, *data, weights=weights, usable=usable)
    assert_sums_of_rows(found, model, data, weights, usable)


def test_couplings_carry_all_columns_to_the_independent_joints(gripper, rng):
    """Some bodies are moved twice by one joint, and a rotor moves fifty times as fast."""
    rotor = GearedRotor('rotor', 'grip', 50.0, 'palm', inertial=(0.0,) * 9 + (2e-5,))
    wrist = CoupledAxis('wrist', (('roll', 1.0), ('grip', -2.0)))
    model = TorqueModel(gripper.with_rotors([rotor]), [*all_terms(), wrist])
    assert model.robot.tree.is_coupled
    for samples in SAMPLES:
        data = random_data(rng, model, samples)
        usable = rng.random(data[3].shape) > 0.2
        found = normal_equations(model, *data, weights=[2.0, 0.3], usable=usable)
        assert_sums_of_rows(found, model, data, [2.0, 0.3], usable)


def test_a_body_between_two_joints_in_a_row_has_no_columns(rng):
    inertial = '<inertial pos="0.1 0.2 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
    model = TorqueModel(RobotModel.from_mjcf(
        f'<mujoco><worldbody><body name="first"><joint name="lift" type="slide"/>'
        f'<joint name="yaw"/>{inertial}<body name="second" pos="0 0 0.4">'
        f'<joint name="roll" axis="1 0 0"/>{inertial}</body></body></worldbody></mujoco>'
    ), all_terms())
    assert model.robot.tree.massless.tolist() == [True, False, False]
    data = random_data(rng, model, 600)
    assert_sums_of_rows(normal_equations(model, *data), model, data)


def test_a_term_that_acts_only_now_and_then_is_summed_where_it_acts(random_urdf, rng):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(4, 5)), [CoulombFriction()])
    data = random_data(rng, model, 2000)
    # A joint rests for whole blocks, another from the second block on.
    data[1][:1200, 0] = 0.0
    data[1][576:, 1] = 0.0
    assert_sums_of_rows(normal_equations(model, *data), model, data)


def test_the_residual_of_any_parameters_follows(random_urdf, rng):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(9, 6)), all_terms())
    data = random_data(rng, model, 800)
    sums = normal_equations(model, *data)
    theta = rng.normal(size=len(model.parameters))
    residual = data[3] - model.torque(theta, *data[:3])
    found = theta @ sums.matrix @ theta - 2.0 * sums.vector @ theta + sums.square
    assert found == pytest.approx(np.sum(residual**2), rel=1e-11)


def test_a_sample_that_does_not_count_may_hold_anything(random_urdf, rng):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(4, 5)), all_terms())
    data = random_data(rng, model, 700)
    usable = np.ones(data[3].shape, dtype=bool)
    usable[[3, 650]] = False
    expected = normal_equations(model, *data, usable=usable)
    for array in data:
        array[[3, 650]] = np.nan
    found = normal_equations(model, *data, usable=usable)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    np.testing.assert_array_equal(found.vector, expected.vector)
    with pytest.raises(ParameterError, match='a value that is not finite'):
        normal_equations(model, *data)


def test_no_samples_are_no_information(gripper):
    model = TorqueModel(gripper, all_terms())
    sums = normal_equations(model, *np.zeros((4, 0, 2)))
    assert sums.matrix.shape == (len(model.parameters),) * 2
    assert not sums.matrix.any()
    assert sums.square == 0.0


def test_what_does_not_fit_is_refused_by_name(gripper):
    model = TorqueModel(gripper)
    motion = np.zeros((3, 4, 2))
    with pytest.raises(ParameterError, match=r'^v: .*wrong shape'):
        normal_equations(model, motion[0], motion[1][:3], motion[2], motion[0])
    with pytest.raises(ParameterError, match=r'^tau: .*found \(4, 3\); allowed \(4, 2\)'):
        normal_equations(model, *motion, np.zeros((4, 3)))
    with pytest.raises(ParameterError, match=r'^usable: .*found \(2,\)'):
        normal_equations(model, *motion, motion[0], usable=np.ones(2, dtype=bool))
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ParameterError, match=r'^weights: .*2 numbers, zero or more'):
            normal_equations(model, *motion, motion[0], weights=weights)
