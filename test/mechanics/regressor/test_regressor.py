"""Torque regressors against Pinocchio, on random trees and on coupled robots."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from numba import njit

from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_kernels import cosine_and_sine
from sysid_ros.robot.description.urdf import kinematic_description
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

TREES = 100
SAMPLES = 4
# Issue 2: relative to the largest entry of Y.
TOLERANCE = 1e-12


@njit
def called(angle):
    """Cosine and sine, which only compiled functions can ask for."""
    return cosine_and_sine(angle)


def reference_regressor(robot, q, v, a):
    """Pinocchio's regressor of the tree without couplings, sample by sample."""
    data = robot.pinocchio_model.createData()
    # A robot of one joint gives a row that is no matrix.
    return np.array([
        pin.computeJointTorqueRegressor(robot.pinocchio_model, data, *sample).reshape(
            robot.pinocchio_model.nv, -1).copy()
        for sample in zip(q, v, a, strict=True)
    ])


def random_motion(rng, joints, samples=SAMPLES):
    return rng.uniform(-3.0, 3.0, (samples, joints)), *rng.normal(size=(2, samples, joints))


def assert_equal_regressors(found, expected):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize('first_seed', range(0, TREES, 25))
def test_the_regressor_is_that_of_pinocchio_on_random_trees(random_urdf, rng, first_seed):
    kinds = set()
    branched = 0
    for seed in range(first_seed, first_seed + 25):
        gravity = rng.normal(size=3) * 9.81
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed % 9), gravity=gravity)
        motion = random_motion(rng, len(robot.joint_names))
        assert_equal_regressors(
            inertial_regressor(robot, *motion), reference_regressor(robot, *motion))
        kinds |= set(robot.joint_types)
        branched += len(set(robot.tree.parent)) < len(robot.tree.parent)
    assert kinds == {'revolute', 'continuous', 'prismatic'}
    assert branched >= 5


def test_the_regressor_is_that_of_pinocchio_along_each_axis(rng):
    """Loaders have joints of their own for axes along x, y and z; random ones miss them."""
    for kind in ('revolute', 'prismatic'):
        for axis in ('1 0 0', '0 1 0', '0 0 1', '-1 0 0', '0 -2 0', '0 0 -0.5', '1 1 0'):
            links = ''.join(f'<link name="l{k}"/>' for k in range(3))
            joints = ''.join(
                f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
                f'<origin xyz="0.3 0.2 0.1" rpy="0.1 0.2 0.3"/><axis xyz="{axis}"/>'
                '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>' for k in range(2)
            )
            robot = RobotModel.from_urdf(f'<robot name="r">{links}{joints}</robot>')
            motion = random_motion(rng, 2)
            assert_equal_regressors(
                inertial_regressor(robot, *motion), reference_regressor(robot, *motion))


def test_the_regressor_times_the_parameters_is_the_inverse_dynamics(random_urdf, rng):
    for seed in range(20):
        robot = RobotModel.from_urdf(random_urdf(seed, 8), gravity=rng.normal(size=3) * 9.81)
        model = robot.pinocchio_model
        # Pinocchio adds armature to RNEA, which is a joint term here.
        assert not np.any(model.armature)
        data = model.createData()
        q, v, a = random_motion(rng, model.nv)
        tau = inertial_regressor(robot, q, v, a) @ robot.inertial_prior.reshape(-1)
        expected = np.array(
            [pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
        np.testing.assert_allclose(tau, expected, atol=1e-12 * np.abs(expected).max())


def test_the_power_of_the_torques_is_the_change_of_energy(random_urdf, rng):
    """A check without another regressor: d/dt (kinetic + potential) = v · tau."""
    for seed in range(20):
        robot = RobotModel.from_urdf(random_urdf(seed, 7))
        model = robot.pinocchio_model
        q, v, a = (x[0] for x in random_motion(rng, model.nv, samples=1))

        def energy(t, robot=robot, q=q, v=v, a=a):
            data = robot.pinocchio_model.createData()
            at, speed = q + v * t + 0.5 * a * t * t, v + a * t
            return (pin.computeKineticEnergy(robot.pinocchio_model, data, at, speed)
                    + pin.computePotentialEnergy(robot.pinocchio_model, data, at))

        step = 1e-4
        # Fourth order, so that the step does not show.
        change = (8.0 * (energy(step) - energy(-step)) - energy(2 * step) + energy(-2 * step))
        tau = inertial_regressor(robot, q[None], v[None], a[None])[0] @ robot.inertial_prior.ravel()
        assert change / (12.0 * step) == pytest.approx(v @ tau, rel=1e-7, abs=1e-7)


LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0.02 -0.1" rpy="0.3 -0.2 0.1"/><mass value="2"/>'
    '<inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0.003" izz="0.025"/>'
    '</inertial></link>'
)
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="{}"/>'
    '<origin xyz="0.1 0.2 0.3" rpy="0.4 0 0.2"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/>{}</joint>'
)


def test_the_torques_of_mimic_joints_reach_their_source_by_power(gripper, rng):
    free = RobotModel.from_urdf(kinematic_description(gripper.description))
    assert free.joint_names == ('roll', 'grip', 'slide', 'curl')
    coupling = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -0.5], [0.0, -1.5]])
    offset = np.array([0.0, 0.0, 0.1, 0.3])
    q, v, a = random_motion(rng, 2, samples=20)
    expected = np.einsum(
        'jk,tjp->tkp', coupling,
        reference_regressor(free, q @ coupling.T + offset, v @ coupling.T, a @ coupling.T),
    )
    assert_equal_regressors(inertial_regressor(gripper, q, v, a), expected)
    data = free.pinocchio_model.createData()
    for k in range(20):
        tree_torque = pin.rnea(
            free.pinocchio_model, data, coupling @ q[k] + offset, coupling @ v[k],
            coupling @ a[k],
        )
        tau = inertial_regressor(gripper, q, v, a)[k] @ gripper.inertial_prior.reshape(-1)
        np.testing.assert_allclose(tau, coupling.T @ tree_torque, atol=1e-12)


def test_the_inertia_of_a_rotor_counts_by_the_square_of_its_ratio(rng):
    robot = RobotModel.from_urdf(
        f'<robot name="r"><link name="base"/>{LINK.format("a")}'
        + JOINT.format('ja', 'revolute', 'base', 'a', '0 0 1', '') + '</robot>'
    ).with_rotors([GearedRotor(
        'rotor', 'ja', 100.0, 'base', inertial=(0.0,) * 9 + (2e-5,))])
    a = rng.normal(size=(5, 1))
    q, v = rng.normal(size=(2, 5, 1))
    torque = inertial_regressor(robot, q, v, a)[:, :, 10:] @ robot.inertial_prior[1]
    np.testing.assert_allclose(torque, 100.0**2 * 2e-5 * a, rtol=1e-12)


def test_samples_do_not_influence_each_other(random_urdf, rng):
    robot = RobotModel.from_urdf(random_urdf(3, 6))
    motion = random_motion(rng, len(robot.joint_names), samples=50)
    together = inertial_regressor(robot, *motion)
    for k in (0, 17, 49):
        alone = inertial_regressor(robot, *(x[k:k + 1] for x in motion))
        np.testing.assert_array_equal(alone[0], together[k])


def test_a_sample_that_is_not_a_number_gives_no_number(random_urdf, rng):
    """Compiled with reordered sums, but NaN must not be lost on the way."""
    robot = RobotModel.from_urdf(random_urdf(3, 6))
    q, v, a = random_motion(rng, len(robot.joint_names))
    a[1, 0] = np.nan
    regressor = inertial_regressor(robot, q, v, a)
    assert np.isnan(regressor[1]).any()
    assert np.isfinite(regressor[[0, 2, 3]]).all()


def test_cosines_and_sines_are_those_of_the_library(rng):
    sizes = 10.0 ** np.arange(-3, 9)
    angles = np.concatenate([
        np.ravel(sizes[:, None] * rng.normal(size=1000)), 0.25 * np.pi * np.arange(-40, 41)])
    found = np.array([called(angle) for angle in angles])
    # Two digits of the last place of numbers up to one.
    np.testing.assert_allclose(found, np.stack([np.cos(angles), np.sin(angles)], axis=1),
                               rtol=0.0, atol=2 * np.finfo(float).eps)
    assert np.isnan(called(np.nan)).all()
    assert np.isnan(called(np.inf)).all()


def test_arrays_of_any_memory_order_and_no_samples_at_all_are_taken(random_urdf, rng):
    robot = RobotModel.from_urdf(random_urdf(5, 6))
    joints = len(robot.joint_names)
    q, v, a = random_motion(rng, joints, samples=10)
    expected = inertial_regressor(robot, q, v, a)
    np.testing.assert_array_equal(inertial_regressor(robot, *map(np.asfortranarray, (q, v, a))),
                                  expected)
    assert inertial_regressor(robot, q[:0], v[:0], a[:0]).shape == (0, joints, 10 * joints)


def test_the_motion_that_is_given_is_left_alone(gripper):
    motion = [np.full((3, 2), 0.5) for _ in range(3)]
    inertial_regressor(gripper, *motion)
    for array in motion:
        np.testing.assert_array_equal(array, 0.5)


@pytest.mark.parametrize(('shapes', 'where'), [
    (((4, 3), (4, 3), (4, 3)), 'q'),
    (((4, 2), (4, 3), (4, 2)), 'v'),
    (((4, 2), (4, 2), (5, 2)), 'a'),
    (((2,), (2,), (2,)), 'q'),
])
def test_motion_of_another_shape_is_refused_by_name(gripper, shapes, where):
    with pytest.raises(ParameterError, match=rf'^{where}: .*wrong shape.*allowed \(samples, 2\)'):
        inertial_regressor(gripper, *(np.zeros(shape) for shape in shapes))
