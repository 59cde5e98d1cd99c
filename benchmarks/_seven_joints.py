"""The arm that the kernels are measured on, and its motion."""

from __future__ import annotations

import numpy as np

from sysid_ros.robot.model import RobotModel

SAMPLES, JOINTS, SEED = 30_000, 7, 0


def arm() -> RobotModel:
    """A serial arm with axes that alternate, as in most seven-joint arms."""
    links, joints = ['<link name="link0"/>'], []
    for k in range(1, JOINTS + 1):
        axis = '0 0 1' if k % 2 else '0 1 0'
        links.append(
            f'<link name="link{k}"><inertial><origin xyz="0.01 0.02 0.1"/><mass value="2"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>'
        )
        joints.append(
            f'<joint name="joint{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="0 0 0.2"/><axis xyz="{axis}"/>'
            '<limit lower="-2" upper="2" velocity="2" effort="100"/></joint>'
        )
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(links + joints)}</robot>')


def motion() -> np.ndarray:
    """Random q, v, a, shape ``(3, T, n)``."""
    return np.random.default_rng(SEED).normal(size=(3, SAMPLES, JOINTS))
