"""Shapes of links as convex hulls of few corners: what players and films draw around a robot."""

from __future__ import annotations

import numpy as np

from sysid_ros.excitation.geometry.meshes import hull_points
from sysid_ros.excitation.geometry.shapes import placed_shapes
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.series import Series, series
from sysid_ros.robot.description.collision_shapes import drawn_shapes
from sysid_ros.robot.model import RobotModel

# Shapes of a robot that are drawn, and corners that a larger hull is drawn by.
_MOST_SHAPES, _MOST_CORNERS = 200, 60
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


class LinkShape(ReportModel):
    """A shape of a link, as the convex hull of its corners.

    Attributes:
        link: Name of the link.
        tree_index: Which body of the played motion it moves with, -1 for the base.
        corners: In the frame of that body in [m]: x, y, z of each.
    """

    link: str
    tree_index: int
    corners: Series


def link_shapes(robot: RobotModel) -> list[LinkShape]:
    """Shapes of a robot's links that could be read.

    Args:
        robot: The robot.
    """
    found = []
    for body, shape, pose in placed_shapes(robot, drawn_shapes(robot.description))[:_MOST_SHAPES]:
        points = hull_points(shape)
        if points is not None:
            placed = _outermost(points) @ pose[:3, :3].T + pose[:3, 3]
            found.append(LinkShape(link=shape.link, tree_index=body, corners=series(placed)))
    return found


def _outermost(points: np.ndarray) -> np.ndarray:
    """Those of many points that lie farthest out in directions spread evenly over the hull."""
    if len(points) <= _MOST_CORNERS:
        return points
    lengths = np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)
    return points[np.unique(np.argmax(points / lengths @ _directions().T, axis=0))]


def _directions() -> np.ndarray:
    """Evenly spread unit vectors, on a spiral of golden angles, shape ``(d, 3)``."""
    number = np.arange(_MOST_CORNERS)
    height = 1.0 - (2.0 * number + 1.0) / _MOST_CORNERS
    radius, angle = np.sqrt(1.0 - height**2), _GOLDEN_ANGLE * number
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
