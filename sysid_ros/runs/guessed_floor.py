"""The floor that a robot stands on, as a box that what moves keeps clear of."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ConfigurationError, listed
from sysid_ros.excitation.geometry.clearance import UNIT, Box, BoxClearance, Capsule
from sysid_ros.excitation.geometry.meeting_pairs import random_poses, standing
from sysid_ros.excitation.geometry.meshes import load_hull
from sysid_ros.excitation.geometry.shapes import capsules_of, placed_shapes
from sysid_ros.mechanics.tree.kinematics import BodyPoses, body_poses
from sysid_ros.robot.description.shape_points import corners_of
from sysid_ros.robot.model import RobotModel

# How thick a floor is, and how far it goes beyond the reach of the robot, in [m].
_THICK, _BEYOND = 1.0, 0.5
# The floor that would do is told in steps of this, in [m].
_STEP = 0.01


def floor(robot: RobotModel, height: float, distance: float) -> Box:
    """A floor as wide as a robot reaches.

    Args:
        robot: The robot.
        height: Height of the floor in the base frame in [m].
        distance: Least distance in [m].

    Raises:
        ConfigurationError: A link is too near the floor in every pose.
    """
    moving = tuple(capsule for capsule in capsules_of(robot) if capsule.body >= 0)
    poses = random_poses(robot)
    side = float(np.ceil(_reach(moving, body_poses(robot, poses)) + _BEYOND))
    box = Box('floor', (-side, -side, height - _THICK), (side, side, height))
    clearance = BoxClearance(moving, (box,), distance)
    room = UNIT * np.vstack([clearance.slack(standing(robot, q)) for q in poses]).max(axis=0)
    near = [capsule.name for capsule, own in zip(moving, room, strict=True) if own <= 0.0]
    if near:
        highest = _STEP * np.floor((height + room.min()) / _STEP)
        raise ConfigurationError(
            'links are too near the floor in every pose', where='--floor',
            found=f'{listed(dict.fromkeys(near))}, with the capsules around them, by up to '
            f'{-room.min():.2g} m', allowed=f'{highest:.2f} m or less',
            fix=f'Say --floor {highest:.2f}, with no tool that could reach the true floor below '
            'it; or --floor none, and what stands around the base by --box')
    return box


def lowest_of_base(robot: RobotModel) -> float | None:
    """Lowest point of the base's collision shapes in its frame in [m]; None where it has none."""
    heights = []
    for body, shape, pose in placed_shapes(robot):
        if body < 0 and (shape.kind != 'mesh' or shape.file is not None):
            points = corners_of(shape) if shape.file is None else np.array(
                load_hull(shape.file, shape.size).points())
            heights.append(float((points @ pose[2, :3] + pose[2, 3]).min()))
    return min(heights, default=None)


def _reach(capsules: tuple[Capsule, ...], poses: BodyPoses) -> float:
    """How far capsules come from the base's axis, at most, in [m]."""
    bodies = np.array([capsule.body for capsule in capsules] * 2, dtype=int)
    ends = [capsule.start for capsule in capsules] + [capsule.end for capsule in capsules]
    radius = np.array([capsule.radius for capsule in capsules] * 2)
    points = poses.points(bodies, np.array(ends).reshape(-1, 3))
    return float((np.linalg.norm(points[..., :2], axis=-1) + radius).max())
