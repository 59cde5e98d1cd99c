"""Meshes of collision shapes, as their convex hulls."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import coal
import numpy as np

from sysid_ros.errors import ModelError

# Larger meshes are refused rather than read, in [bytes].
_LARGEST_MESH = 200_000_000


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
    size = file.stat().st_size
    if size > _LARGEST_MESH:
        raise ModelError(
            'the mesh is too large', where=str(file), found=f'{size} bytes',
            allowed=f'{_LARGEST_MESH} bytes',
        )
    try:
        mesh = coal.MeshLoader().load(str(file), np.array(scale))
        # Of a vertex that is no number the convex hull ends the process.
        if not np.isfinite(mesh.vertices()).all():
            raise ValueError('a vertex is not finite')
        mesh.buildConvexHull(True, 'Qt')
        return mesh.convex
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f'the mesh cannot be read: {error}', where=str(file),
            fix='Repair it, or remove it from the collision shapes',
        ) from error


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
