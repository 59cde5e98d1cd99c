"""Motion of links and its derivatives against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import kernel_caches as caches
from support.robot_factory import random_urdf
from sysid_ros.mechanics.tree import link_motion
from sysid_ros.mechanics.tree.link_motion import angular_velocity, specific_force
from sysid_ros.robot.model import RobotModel


def frame_of(robot, body, point):
    """Pinocchio's model with a frame at a point of a body."""
    model = robot.pinocchio_model.copy()
    index = model.addFrame(pin.Frame(
        'point', body + 1, 0, pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME))
    return model, index


@pytest.mark.parametrize('seed', range(6))
def test_motion_and_its_derivatives_are_those_of_pinocchio(seed: int) -> None:
    robot = RobotModel.from_urdf(random_urdf(seed, 6))
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 4, len(robot.joint_names)))
    for body in range(len(robot.body_names)):
        point = rng.normal(size=3)
        model, index = frame_of(robot, body, point)
        data = model.createData()
        spin = angular_velocity(robot, body, q, v)
        force = specific_force(robot, body, point, q, v, a)
        for s in range(len(q)):
            pin.computeForwardKinematicsDerivatives(model, data, q[s], v[s], a[s])
            pin.updateFramePlacements(model, data)
            velocity = pin.getFrameVelocity(model, data, index, pin.LOCAL)
            classical = pin.getFrameClassicalAcceleration(model, data, index, pin.LOCAL).linear
            turn = data.oMf[index].rotation
            close(spin.value[s], velocity.angular)
            close(force.value[s], classical - turn.T @ robot.gravity)
            dv_dq, dv_dv = pin.getFrameVelocityDerivatives(model, data, index, pin.LOCAL)
            close(spin.by_position[s], dv_dq[3:])
            close(spin.by_velocity[s], dv_dv[3:])
            # The classical acceleration is the spatial one plus omega x v.
            _, da_dq, da_dv, da_da = pin.getFrameAccelerationDerivatives(
                model, data, index, pin.LOCAL)
            falling = -pin.skew(turn.T @ robot.gravity) @ dv_dv[3:]
            close(force.by_position[s], da_dq[:3] + products(velocity, dv_dq) + falling)
            close(force.by_velocity[s], da_dv[:3] + products(velocity, dv_dv))
            close(force.by_acceleration[s], da_da[:3])


def products(velocity, slopes):
    """Change of omega x v with the changes of both, shape ``(3, n)``."""
    return pin.skew(velocity.angular) @ slopes[:3] - pin.skew(velocity.linear) @ slopes[3:]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * (
        1.0 + np.abs(expected).max(initial=0.0)))


def test_links_that_nothing_carries_feel_gravity_alone() -> None:
    robot = RobotModel.from_urdf(random_urdf(0, 3))
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 3))
    force = specific_force(robot, -1, np.ones(3), q, v, a)
    np.testing.assert_array_equal(force.value, np.tile(-robot.gravity, (5, 1)))
    for slope in (*force[1:], *angular_velocity(robot, -1, q, v)[1:]):
        assert slope.shape == (5, 3, 3) and not slope.any()


def test_the_cache_of_link_motion_looks_at_the_files_it_calls() -> None:
    caches.assert_cache_looks_at_its_sources(link_motion, link_motion.fill_link_motion)
