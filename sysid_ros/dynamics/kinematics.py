"""Where the bodies of a robot are, batched over samples, and what forces on them mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.dynamics.closed_chain import closed_chain
from sysid_ros.robot.model import RobotModel


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
        self, bodies: np.ndarray, points: np.ndarray, forces: np.ndarray
    ) -> np.ndarray:
        r"""Generalised forces :math:`\sum J^T f` of forces at points of bodies.

        Args:
            bodies: Body of each of k points, -1 for the base, shape ``(k,)``.
            points: Where the forces act, in the base frame in [m], shape ``(T, k, 3)``.
            forces: The forces, in the base frame in [N], shape ``(T, k, 3)``.

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
    rotation = np.empty((*positions.shape, 3, 3))
    origin = np.empty((*positions.shape, 3))
    for i, parent in enumerate(tree.parent):
        turn, shift = tree.rotation[i], tree.translation[i]
        if tree.revolute[i]:
            local = turn @ _rotations(tree.axis[i], positions[:, i])
            lever = np.broadcast_to(shift, origin[:, i].shape)
        else:
            local = np.broadcast_to(turn, rotation[:, i].shape)
            lever = shift + positions[:, i, None] * (turn @ tree.axis[i])
        if parent < 0:
            rotation[:, i], origin[:, i] = local, lever
        else:
            carrier = rotation[:, parent]
            rotation[:, i] = carrier @ local
            origin[:, i] = origin[:, parent] + np.einsum('tij,tj->ti', carrier, lever)
    return BodyPoses(robot, rotation, origin)


def _cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Vector products of rows; much faster than numpy's for many short vectors."""
    return x[:, [1, 2, 0]] * y[:, [2, 0, 1]] - x[:, [2, 0, 1]] * y[:, [1, 2, 0]]


def _rotations(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotation matrices about a unit axis (Rodrigues), shape ``(T, 3, 3)``."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)
