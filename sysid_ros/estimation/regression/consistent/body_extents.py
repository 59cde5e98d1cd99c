"""Ellipsoids that the mass of each body lies within: around its shapes, or by the prior's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sysid_ros.excitation.geometry.meshes import hull_points
from sysid_ros.excitation.geometry.shapes import placed_shapes
from sysid_ros.robot.description.collision_shapes import drawn_shapes
from sysid_ros.robot.ellipsoid import Ellipsoid
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class BodyExtent:
    """Where a description says that a body is.

    Attributes:
        points: Corners of its shapes, and origins of its links and of the bodies it carries, in
            [m] in its frame, shape ``(k, 3)``.
        ellipsoid: The least one around its shapes; None where it has none, or a mesh of it
            cannot be read.
    """

    points: np.ndarray
    ellipsoid: Ellipsoid | None


@dataclass(frozen=True, eq=False)
class Bound:
    """An ellipsoid that the mass of a body shall lie within.

    Attributes:
        ellipsoid: In the body's frame.
        label: What it says, for people.
        outside: Whether the prior's own mass lies outside of the body's shapes.
    """

    ellipsoid: Ellipsoid
    label: str
    outside: bool


@lru_cache(maxsize=8)
def body_extents(robot: RobotModel) -> Mapping[str, BodyExtent]:
    """Where a description says that bodies are, by body; links fixed to each other are one body.

    Args:
        robot: The robot. Meshes are read if they lie where no path climbs out of its folder;
            geared rotors have no extent.
    """
    order = {robot.joint_of_body(link.body) - 1: link.body for link in robot.links}
    origins: dict[str, list[np.ndarray]] = {body: [] for body in order.values()}
    for link in robot.links:
        origins[link.body].append(link.pose[:3, 3])
    for child in range(robot.pinocchio_model.njoints - 1):
        if int(robot.tree.parent[child]) in order:
            origins[order[int(robot.tree.parent[child])]].append(robot.tree.translation[child])
    corners: dict[str, list[np.ndarray | None]] = {body: [] for body in order.values()}
    for index, shape, pose in placed_shapes(robot, drawn_shapes(robot.description)):
        if index in order:
            points = hull_points(shape)
            corners[order[index]].append(
                None if points is None else points @ pose[:3, :3].T + pose[:3, 3])
    return {body: _extent(origins[body], corners[body]) for body in order.values()}


def _extent(origins: list[np.ndarray], corners: list[np.ndarray | None]) -> BodyExtent:
    known = [points for points in corners if points is not None]
    whole = bool(known) and len(known) == len(corners)
    return BodyExtent(
        np.vstack([*origins, *known]), Ellipsoid.around(np.vstack(known)) if whole else None)


def bound_of(
    body: str, phi: np.ndarray, extent: BodyExtent | None, margin: float, size_factor: float,
    tool: float = 0.0,
) -> Bound:
    """The ellipsoid that the mass of a body shall lie within.

    Args:
        body: Name of the body.
        phi: Its prior, shape ``(10,)``, with a mass.
        extent: Where its shapes are.
        margin: How many times as large the ellipsoid around them may be.
        size_factor: Where there are none, or the prior is not inside: how many radii of gyration
            of the prior the mass may be away from the prior's centre of mass, if not as far as
            anything that is known of the body.
        tool: How far in [m] a tool may reach beyond all of that.
    """
    drawn = None if extent is None else extent.ellipsoid
    outside = drawn is not None and drawn.spread(phi) >= 1.0
    if drawn is not None and not outside:
        return Bound(
            drawn.grown(margin).widened(tool), f'{body} inside of its shapes', outside=False)
    mass, com, inertia = central_inertia(phi)
    radius = size_factor * float(np.sqrt(max(0.5 * np.trace(inertia) / mass, 0.0)))
    if extent is not None:
        reach = float(np.linalg.norm(extent.points - com, axis=1).max(initial=0.0))
        radius = max(radius, reach + tool)
    return Bound(
        Ellipsoid.ball(com, radius), f"{body} within {radius:.3g} m of its prior's centre of mass",
        outside)
