"""A robot's inertia as a scene: inertia ellipsoids and centres of mass, before and after."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_ros.report.plots import BEFORE, IDENTIFIED
from sysid_ros.report.scene import Shape, solid
from sysid_ros.robot.inertia_ellipsoid import InertiaEllipsoid, link_ellipsoids
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

#: Groups of shapes: of the robot as described, and as identified.
DESCRIBED, DESCRIBED_COM = 'described inertia', 'described centre of mass'
IDENTIFIED_INERTIA, IDENTIFIED_COM = 'identified inertia', 'identified centre of mass'
# One sees through the ellipsoids, and the centres of mass inside of them.
_OPACITY = 0.35
# Part of the mean diameter of an ellipsoid that the ball at its centre has.
_BALL = 0.15


def inertia_scene(robot: RobotModel, identified: ParameterSet | None = None) -> list[Shape]:
    """Inertia ellipsoids and centres of mass, in the frames of links.

    Args:
        robot: The robot as described.
        identified: What was identified of it; None for nothing yet.

    Raises:
        ParameterError: An identified parameter is not finite.
    """
    described = dict(zip(robot.body_names, robot.inertial_prior, strict=True))
    shapes = _shapes(robot, described, (DESCRIBED, DESCRIBED_COM), BEFORE)
    if identified is not None:
        bodies = {body: identified.inertial(body) for body in identified.bodies}
        shapes += _shapes(robot, bodies, (IDENTIFIED_INERTIA, IDENTIFIED_COM), IDENTIFIED)
    return shapes


def _shapes(
    robot: RobotModel, bodies: Mapping[str, np.ndarray], groups: tuple[str, str], colour: str
) -> list[Shape]:
    """An ellipsoid and a ball for every body with mass."""
    found = []
    for link, ellipsoid in link_ellipsoids(robot, bodies).items():
        diameters = 2.0 * ellipsoid.semi_axes
        pose, ball = _pose(ellipsoid), np.full(3, _BALL * diameters.mean())
        found += [
            solid('ellipsoid', groups[0], link, colour, opacity=_OPACITY, pose=pose,
                  size=diameters),
            solid('ellipsoid', groups[1], link, colour, opacity=1.0, pose=pose, size=ball)]
    return found


def _pose(ellipsoid: InertiaEllipsoid) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = ellipsoid.axes, ellipsoid.centre
    return pose
