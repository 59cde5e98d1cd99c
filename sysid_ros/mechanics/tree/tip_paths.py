"""Paths of what a robot moves farthest out: forward kinematics of the tips of the tree."""

from __future__ import annotations

import numpy as np

from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.robot.links import LinkPlacement
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.tree import KinematicTree


def leaf_bodies(tree: KinematicTree) -> list[int]:
    """Bodies that carry no other, by their indices in the tree; frames between joints left out."""
    carrying = set(tree.parent.tolist())
    return [k for k in range(len(tree.parent)) if k not in carrying and not tree.massless[k]]


def tip_paths(robot: RobotModel, q: np.ndarray) -> dict[str, np.ndarray]:
    """Origins of the outermost links along a motion, in the base frame.

    Of the links that are fixed to a body that carries no other, the outermost is the one farthest
    from its joint, such as the tool at a wrist.

    Args:
        robot: The robot.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.

    Returns:
        Origins in [m], shape ``(T, 3)``, by link.

    Raises:
        SysidError: The robot cannot be there, as where loops cannot close.
    """
    poses = body_poses(robot, q)
    bodies = np.flatnonzero(~robot.tree.massless).tolist()
    names = dict(zip(bodies, robot.body_names, strict=False))
    found = {}
    for body in leaf_bodies(robot.tree):
        links = [link for link in robot.links if link.body == names.get(body)]
        # The rotor of a drive is a body without links, and turns where it is.
        if links:
            tip = max(links, key=_from_joint)
            found[tip.name] = poses.points(np.array([body]), tip.pose[None, :3, 3])[:, 0]
    return found


def _from_joint(link: LinkPlacement) -> float:
    return float(np.linalg.norm(link.pose[:3, 3]))
