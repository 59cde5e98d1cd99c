"""Torques by the recursive Newton-Euler algorithm, against Pinocchio's and the regressor's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import closed_robots
from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_kernels import LANES
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.robot.model import RobotModel

TREES = 40
# More than a block, and no whole number of blocks.
SAMPLES = LANES + 3
# Relative to the largest torque.
TOLERANCE = 1e-12


def random_motion(rng, joints, samples=SAMPLES):
    return rng.uniform(-3.0, 3.0, (samples, joints)), *rng.normal(size=(2, samples, joints))


def assert_torques_of_the_regressor(robot, motion):
    phi = robot.inertial_prior.reshape(-1)
    expected = inertial_regressor(robot, *motion) @ phi
    np.testing.assert_allclose(
        recursive_newton_euler(robot, phi, *motion), expected,
        atol=TOLERANCE * np.abs(expected).max())


def test_the_torques_are_those_of_pinocchio_on_random_trees(random_urdf, rng):
    kinds, branched = set(), 0
    for seed in range(TREES):
        gravity = rng.normal(size=3) * 9.81
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed % 9), gravity=gravity)
        model = robot.pinocchio_model
        data = model.createData()
        q, v, a = random_motion(rng, model.nv)
        expected = np.array(
            [pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
        found = recursive_newton_euler(robot, robot.inertial_prior.reshape(-1), q, v, a)
        np.testing.assert_allclose(found, expected, atol=TOLERANCE * np.abs(expected).max())
        kinds |= set(robot.joint_types)
        branched += len(set(robot.tree.parent)) < len(robot.tree.parent)
    assert kinds == {'revolute', 'continuous', 'prismatic'}
    assert branched >= 5


def test_mimic_joints_take_their_torque_to_their_source(gripper, rng):
    assert_torques_of_the_regressor(gripper, random_motion(rng, 2))


@pytest.mark.parametrize('name', ['four_bar', 'five_bar'])
def test_driven_joints_feel_what_closed_loops_pass_on(name):
    robot = getattr(closed_robots, name)()
    motion = closed_robots.smooth_motion(robot, np.linspace(0.0, 1.0, SAMPLES))
    assert_torques_of_the_regressor(robot, motion)


def test_a_sample_that_is_not_a_number_gives_no_number(random_urdf, rng):
    """Compiled with reordered sums, but NaN must not be lost on the way."""
    robot = RobotModel.from_urdf(random_urdf(3, 6))
    q, v, a = random_motion(rng, len(robot.joint_names))
    a[1, 0] = np.nan
    torque = recursive_newton_euler(robot, robot.inertial_prior.reshape(-1), q, v, a)
    assert np.isnan(torque[1]).any()
    assert np.isfinite(np.delete(torque, 1, axis=0)).all()


def test_motion_of_other_joints_is_refused(random_urdf, rng):
    robot = RobotModel.from_urdf(random_urdf(3, 6))
    motion = random_motion(rng, 1 + len(robot.joint_names))
    with pytest.raises(ParameterError, match='the motion has the wrong shape'):
        recursive_newton_euler(robot, robot.inertial_prior.reshape(-1), *motion)


def test_without_weight_a_clock_is_one_scale_of_all_torques(random_urdf, rng):
    """What a verdict says of robots without weight, and why their clocks leave no trace."""
    robot = RobotModel.from_urdf(random_urdf(3, 5), gravity=np.zeros(3))
    phi, clock = robot.inertial_prior.reshape(-1), 1.25
    q, v, a = random_motion(rng, len(robot.joint_names))
    torque = recursive_newton_euler(robot, phi, q, v, a)
    by_clock = recursive_newton_euler(robot, phi, q, v / clock, a / clock**2)
    np.testing.assert_allclose(
        clock**2 * by_clock, torque, atol=TOLERANCE * np.abs(torque).max())
