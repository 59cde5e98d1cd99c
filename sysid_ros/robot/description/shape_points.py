"""Points whose convex hull holds a shape, tightly."""

from __future__ import annotations

import numpy as np

from sysid_ros.robot.description.collision_shapes import CollisionShape

# Corners of a circle, and arcs of a meridian, that stand in for round shapes.
_CORNERS, _ARCS = 12, 8
_CUBE = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T


def _circle() -> np.ndarray:
    """Corners of a polygon around the unit circle, in the plane z = 0, shape ``(k, 3)``."""
    angle = 2.0 * np.pi * np.arange(_CORNERS) / _CORNERS
    corners = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(_CORNERS)])
    return corners / np.cos(np.pi / _CORNERS)


def _sphere() -> np.ndarray:
    """Corners of a polyhedron around the unit sphere, shape ``(k, 3)``."""
    latitude = np.pi * np.arange(_ARCS + 1) / _ARCS
    rings = [np.sin(angle) * _circle() + [0.0, 0.0, np.cos(angle) / np.cos(np.pi / _CORNERS)]
             for angle in latitude]
    return np.vstack(rings) / np.cos(0.5 * np.pi / _ARCS)


_CIRCLE, _SPHERE = _circle(), _sphere()


def corners_of(shape: CollisionShape) -> np.ndarray:
    """Points whose convex hull holds a shape that is no mesh.

    Args:
        shape: The shape.

    Returns:
        Points in the shape's own frame in [m], shape ``(k, 3)``; of round shapes up to 6 %
        outside.
    """
    size = np.array(shape.size)
    if shape.kind == 'box':
        return _CUBE * size
    if shape.kind == 'ellipsoid':
        return _SPHERE * size
    if shape.kind == 'sphere':
        return _SPHERE * size[0]
    half = np.array([0.0, 0.0, size[1]])
    around = (_CIRCLE if shape.kind == 'cylinder' else _SPHERE) * size[0]
    return np.vstack([around + half, around - half])
