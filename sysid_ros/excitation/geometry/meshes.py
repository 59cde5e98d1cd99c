"""Meshes of collision shapes, as their convex hulls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import coal
import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.collision_shapes import CollisionShape
from sysid_ros.robot.description.shape_points import corners_of

# Larger meshes are refused rather than read, in [bytes].
_LARGEST_MESH = 200_000_000
# No corner of a robot is farther away from its link, in [m]; and what is told of an error.
_FARTHEST, _SAID = 1e6, 300


@lru_cache(maxsize=64)
def load_hull(file: Path, scale: tuple[float, ...]) -> coal.Convex:
    """The convex hull of a mesh.

    Between triangles a distance would not tell what is inside from what is outside.

    Args:
        file: STL, OBJ, DAE or whatever else coal reads.
        scale: What its coordinates are multiplied by.

    Raises:
        ModelError: It is too large, or cannot be read.
    """
    with _reading(file):
        return _hull(_vertices(file, scale))


def hull_points(shape: CollisionShape) -> np.ndarray | None:
    """Points of a shape whose convex hull is that of the shape, or holds a round one tightly.

    Args:
        shape: The shape.

    Returns:
        Points in the shape's own frame in [m], shape ``(k, 3)``; None for a mesh that was not
        found, lies where a path climbs out of its folder, or cannot be read.
    """
    if shape.kind != 'mesh':
        return corners_of(shape)
    if shape.file is None or '..' in shape.file.parts:
        return None
    try:
        return np.array(load_hull(shape.file, shape.size).points())
    except ModelError:
        return None


def hull_triangles(file: Path, scale: tuple[float, ...]) -> np.ndarray:
    """Triangles of the convex hull of a mesh, counterclockwise from outside.

    Args:
        file: STL, OBJ, DAE or whatever else coal reads.
        scale: What its coordinates are multiplied by.

    Returns:
        Corners in [m], shape ``(k, 3, 3)``.

    Raises:
        ModelError: It is too large, or cannot be read.
    """
    with _reading(file):
        points = _vertices(file, scale)
        hull = _convex_hull(points)
    triangles = points[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inwards = np.einsum('ki,ki->k', normals, hull.equations[:, :3]) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return triangles


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Say of which mesh an error is.

    Raises:
        ModelError: It is too large, or cannot be read.
    """
    size = file.stat().st_size
    if size > _LARGEST_MESH:
        raise ModelError(
            'the mesh is too large', where=str(file), found=f'{size} bytes',
            allowed=f'{_LARGEST_MESH} bytes',
            fix='Name a coarser collision mesh in the description',
        )
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f'the mesh cannot be read: {" ".join(str(error).split())[:_SAID]}', where=str(file),
            fix='Repair it, or remove it from the collision shapes',
        ) from error


def _vertices(file: Path, scale: tuple[float, ...]) -> np.ndarray:
    return np.array(coal.MeshLoader().load(str(file), np.array(scale)).vertices())


def _hull(points: np.ndarray) -> coal.Convex:
    """The convex hull of points, shape ``(k, 3)``.

    Of a point that is no number, or that rounding does not tell from others, coal's ends the
    process: SciPy's comes first, which refuses these, and leaves it those at corners.

    Raises:
        ValueError: The points are not finite, or lie in a plane.
    """
    corners = points[_convex_hull(points).vertices]
    coordinates = coal.StdVec_Vec3s()
    coordinates.extend(list(corners))
    return coal.ConvexBase.convexHull(coordinates, True, 'Qt')


def _convex_hull(points: np.ndarray) -> Any:
    """SciPy's convex hull of points, shape ``(k, 3)``.

    Raises:
        ValueError: The points are not finite, or lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415 (few robots need it)

    if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > _FARTHEST:
        raise ValueError(f'a vertex is farther away than {_FARTHEST:g} m, or no number')
    try:
        return ConvexHull(points, qhull_options='Qt')
    except QhullError as error:
        raise ValueError(f'it has no convex hull: {str(error).splitlines()[0]}') from error


def covering_segment(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """A capsule that holds points: along their longest direction, as short as its radius allows.

    Args:
        points: The points in [m], shape ``(k, 3)``.

    Returns:
        Both ends of its segment, shape ``(3,)``, and its radius in [m].
    """
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    axis = np.linalg.svd(points - middle, full_matrices=False)[2][0]
    along = (points - middle) @ axis
    across = np.linalg.norm(points - middle - along[:, None] * axis, axis=1)
    radius = float(across.max())
    reach = np.sqrt(radius**2 - across**2)  # how far a ball at the end holds each point
    low, high = float((along + reach).min()), float((along - reach).max())
    if low > high:
        low = high = 0.5 * (low + high)
    return middle + low * axis, middle + high * axis, radius
