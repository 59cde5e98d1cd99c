"""A planned motion as a scene: the paths of the tips, and the boxes that it keeps away from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_ros.excitation.geometry.clearance import Box, Surroundings
from sysid_ros.report.plots import COASTING, COLOURS
from sysid_ros.report.scene import Shape, box_edges, lines, solid
from sysid_ros.robot.model import RobotModel

#: Groups of shapes.
PATH, OBSTACLES, KEPT_FREE, KEPT_IN = 'path', 'obstacles', 'kept free', 'kept in'
# Points of a path that are enough for the eye; longer ones are thinned evenly.
_MOST_POINTS = 2000
# Width of lines by the length of what they show.
_WIDTH = 0.004
_BOX, _OPACITY = COLOURS[3], 0.45


def motion_scene(
    robot: RobotModel, around: Surroundings, paths: Mapping[str, np.ndarray]
) -> list[Shape]:
    """Paths and boxes in the frame of the base link.

    Args:
        robot: The robot.
        around: Boxes in the base frame.
        paths: Origins of links along the motion in the base frame in [m], shape ``(T, 3)``, by
            link; see :func:`~sysid_ros.mechanics.tree.tip_paths.tip_paths`.
    """
    base = robot.base_links[0]
    # What is computed is in the frame of the tree, in which the base link may have a pose.
    pose = np.linalg.inv(base.pose)
    shapes = [_path(base.name, pose, points) for points in paths.values() if len(points) > 1]
    shapes += [_solid_box(base.name, pose, box) for box in around.obstacles]
    shapes += [_edges(base.name, pose, box, KEPT_FREE, _BOX) for box in around.kept_free]
    return shapes + [_edges(base.name, pose, box, KEPT_IN, COASTING) for box in around.kept_in]


def _path(frame: str, pose: np.ndarray, points: np.ndarray) -> Shape:
    count = min(len(points), _MOST_POINTS)
    rows = np.unique(np.linspace(0, len(points) - 1, count).round().astype(int))
    return lines(
        'path', PATH, frame, COASTING, width=_WIDTH * float(np.ptp(points, axis=0).max()),
        pose=pose, points=points[rows])


def _solid_box(frame: str, pose: np.ndarray, box: Box) -> Shape:
    lower, upper = np.array(box.lower), np.array(box.upper)
    placed = np.eye(4)
    placed[:3, 3] = 0.5 * (lower + upper)
    return solid('box', OBSTACLES, frame, _BOX, opacity=_OPACITY, pose=pose @ placed,
                 size=upper - lower)


def _edges(frame: str, pose: np.ndarray, box: Box, group: str, colour: str) -> Shape:
    size = float(np.max(np.subtract(box.upper, box.lower)))
    return lines('segments', group, frame, colour, width=_WIDTH * size, pose=pose,
                 points=box_edges(box.lower, box.upper).reshape(-1, 3))
