"""Where the bodies of a robot are, batched over samples, and what forces on them mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.tree import forward_kinematics
from sysid_ros.mechanics.tree.forward_kinematics import (
    TreeJoints,
    body_forward_kinematics,
    tree_joints,
)
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics import spatial_vectors
from sysid_ros.numerics.jit import ENTRY, digest
from sysid_ros.robot.model import RobotModel

#: Files that are compiled into :func:`fill_poses`.
SOURCES = (compiled, forward_kinematics, spatial_vectors)


@dataclass(frozen=True, eq=False)
class BodyPoses:
    """Poses of the b bodies in the base frame.

    Attributes:
        robot: The robot.
        rotation: Orientations, shape ``(T, b, 3, 3)``.
        origin: Origins of the joint frames in [m], shape ``(T, b, 3)``.
        coupling: Motion of all joints per driven one where loops are closed, ``(T, m, n)``.
    """

    robot: RobotModel
    rotation: np.ndarray
    origin: np.ndarray
    coupling: np.ndarray | None = None

    def points(self, bodies: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Points of bodies in the base frame.

        Args:
            bodies: Body of each of k points, -1 for the base, shape ``(k,)``.
            local: The points in the frames of their bodies in [m], shape ``(k, 3)``.

        Returns:
            Shape ``(T, k, 3)``.
        """
        turned = np.einsum('tkij,kj->tki', self.rotation[:, bodies], local)
        return np.where((bodies >= 0)[:, None], self.origin[:, bodies] + turned, local)

    def joint_forces(
        self, bodies: np.ndarray, points: np.ndarray, forces: np.ndarray,
        moments: np.ndarray | None = None,
    ) -> np.ndarray:
        r"""Generalised forces :math:`\sum J^T f` of wrenches at points of bodies.

        Args:
            bodies: Body of each of k points, -1 for the base, shape ``(k,)``.
            points: Where the forces act, in the base frame in [m], shape ``(T, k, 3)``.
            forces: The forces, in the base frame in [N], shape ``(T, k, 3)``.
            moments: Moments beside them in [N·m], shape ``(T, k, 3)``; none by default.

        Returns:
            Forces on the independent joints in [N·m] or [N], shape ``(T, n)``.
        """
        tree = self.robot.tree
        # Force, and moment about the base's origin, on each body and all it carries.
        force, moment = np.zeros((2, *self.origin.shape))
        for k, body in enumerate(bodies):
            if body >= 0:
                force[:, body] += forces[:, k]
                moment[:, body] += _cross(points[:, k], forces[:, k])
                if moments is not None:
                    moment[:, body] += moments[:, k]
        torque = np.empty(self.origin.shape[:2])
        for i in reversed(range(len(tree.parent))):
            axis = self.rotation[:, i] @ tree.axis[i]
            about = moment[:, i] - _cross(self.origin[:, i], force[:, i])
            torque[:, i] = np.sum(axis * (about if tree.revolute[i] else force[:, i]), axis=1)
            if tree.parent[i] >= 0:
                force[:, tree.parent[i]] += force[:, i]
                moment[:, tree.parent[i]] += moment[:, i]
        torque = torque @ tree.coupling
        if self.coupling is None:
            return torque
        return np.einsum('tm,tmn->tn', torque, self.coupling)


def body_poses(robot: RobotModel, q: np.ndarray) -> BodyPoses:
    """Poses of all bodies at joint positions in [rad] or [m], shape ``(T, n)``."""
    if robot.loops is not None:
        still = np.zeros_like(q)
        motion = closed_chain(robot).motion(q, still, still)
        poses = body_poses(robot.opened, motion.q)
        return BodyPoses(robot, poses.rotation, poses.origin, motion.coupling)
    tree = robot.tree
    positions = q @ tree.coupling.T + tree.coupling_offset
    pose, screw = np.empty((*positions.shape, 12)), np.empty((len(tree.parent), 3))
    fill_poses(tree_joints(tree), np.ascontiguousarray(positions), pose, screw)
    rotation = pose[:, :, :9].reshape(*positions.shape, 3, 3)
    return BodyPoses(robot, rotation, pose[:, :, 9:])


def _cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Vector products of rows; much faster than numpy's for many short vectors."""
    return x[:, [1, 2, 0]] * y[:, [2, 0, 1]] - x[:, [2, 0, 1]] * y[:, [1, 2, 0]]


def _compiled(sources: str) -> Callable[..., Any]:
    """Poses of all samples as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def fill_poses(
        tree: TreeJoints, q: np.ndarray, pose: np.ndarray, screw: np.ndarray
    ) -> None:
        sources  # noqa: B018
        for t in range(len(q)):
            for i in range(len(tree.parent)):
                body_forward_kinematics(tree, pose[t], screw, i, q[t, i])

    return fill_poses


#: Fill poses ``(T, b, 12)``, and the joints' axes ``(b, 3)`` of the last sample, from positions of
#: every body's joint ``(T, b)``.
fill_poses = _compiled(digest(*SOURCES))
