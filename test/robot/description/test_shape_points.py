"""Corners that stand in for shapes hold them, and reach hardly beyond."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.robot.description.collision_shapes import CollisionShape
from sysid_ros.robot.description.shape_points import corners_of


def reach(kind: str, size: tuple[float, ...], way: np.ndarray) -> float:
    """How far a shape reaches along a unit vector, by its support function."""
    if kind == 'box':
        return float(np.abs(way) @ size)
    if kind == 'ellipsoid':
        return float(np.linalg.norm(way * size))
    if kind == 'cylinder':
        return float(size[0] * np.hypot(way[0], way[1]) + size[1] * abs(way[2]))
    return float(size[0] + (size[1] * abs(way[2]) if kind == 'capsule' else 0.0))


@pytest.mark.parametrize(('kind', 'size'), [
    ('sphere', (0.2,)), ('capsule', (0.1, 0.3)), ('cylinder', (0.1, 0.3)), ('box', (0.1, 0.2, 0.3)),
    ('ellipsoid', (0.3, 0.1, 0.05)),
])
def test_the_hull_of_the_corners_holds_the_shape_tightly(kind, size, rng) -> None:
    corners = corners_of(CollisionShape('link', kind, size, np.eye(4)))
    for _ in range(300):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        exact = reach(kind, size, way)
        assert exact - 1e-12 <= (corners @ way).max() <= 1.06 * exact
