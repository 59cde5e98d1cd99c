"""Poses and Jacobians of bodies against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import kernel_caches as caches
from support.golden_problems import arm_urdf
from support.robot_factory import random_urdf
from sysid_ros.mechanics.tree import kinematics
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.robot.model import RobotModel


@pytest.mark.parametrize('seed', range(10))
def test_poses_and_forces_are_those_of_pinocchio(seed: int) -> None:
    robot = RobotModel.from_urdf(random_urdf(seed, 6))
    rng = np.random.default_rng(seed)
    joints = len(robot.joint_names)
    q, model = rng.normal(size=(4, joints)), robot.pinocchio_model
    poses, data = body_poses(robot, q), model.createData()
    bodies = np.array([joints - 1, 0, -1, joints // 2])
    local, forces = rng.normal(size=(4, 3)), rng.normal(size=(4, 4, 3))
    points = poses.points(bodies, local)
    found = poses.joint_forces(bodies, points, forces)
    for t in range(4):
        pin.computeJointJacobians(model, data, q[t])
        expected = np.zeros(joints)
        for k, body in enumerate(bodies):
            place = data.oMi[int(body) + 1]
            np.testing.assert_allclose(
                points[t, k], place.act(local[k]) if body >= 0 else local[k], atol=1e-12
            )
            if body < 0:
                continue
            jacobian = pin.getJointJacobian(
                model, data, int(body) + 1, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            lever = points[t, k] - place.translation
            expected += jacobian.T @ np.append(forces[t, k], np.cross(lever, forces[t, k]))
        np.testing.assert_allclose(found[t], expected, atol=1e-10)


def test_forces_on_a_mimic_joint_are_felt_by_its_source() -> None:
    robot = RobotModel.from_urdf(arm_urdf(mimic=True))
    rng = np.random.default_rng(0)
    q, force, local = rng.normal(size=(1, 3)), rng.normal(size=(1, 1, 3)), np.array([[0.1, 0, 0]])
    finger = np.array([robot.body_names.index('finger')])
    poses = body_poses(robot, q)
    found = poses.joint_forces(finger, poses.points(finger, local), force)[0]
    step = 1e-6
    for joint in range(3):
        moved = [
            body_poses(robot, q + sign * step * np.eye(3)[joint]).points(finger, local)
            for sign in (1.0, -1.0)
        ]
        power = np.sum(force * (moved[0] - moved[1])) / (2.0 * step)
        assert found[joint] == pytest.approx(power, rel=1e-7, abs=1e-9)


def test_the_cache_of_poses_looks_at_the_files_they_call():
    caches.assert_cache_looks_at_its_sources(kinematics, kinematics.fill_poses)
