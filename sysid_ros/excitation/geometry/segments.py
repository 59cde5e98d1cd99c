"""Distances between segments, and from segments to boxes; many at once."""

from __future__ import annotations

import numpy as np
from numba import njit

# Halvings of a segment in the search for its point next to a box.
_HALVINGS = 40
# Segments whose directions enclose less than this, squared, count as parallel.
_PARALLEL = 1e-12


@njit(cache=True)
def nearest_points(
    p0: np.ndarray, p1: np.ndarray, q0: np.ndarray, q1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest points of segments from p0 to p1 and from q0 to q1.

    A segment may be a point. Of two parallel segments some pair of nearest points is taken.

    Args:
        p0: Beginnings of the first segments, shape ``(T, k, 3)``, as the others.
        p1: Their ends.
        q0: Beginnings of the second segments.
        q1: Their ends.

    Returns:
        Points on the first and on the second segments, shape ``(T, k, 3)`` each.
    """
    first, second = np.empty(p0.shape), np.empty(p0.shape)
    for t in range(p0.shape[0]):
        for k in range(p0.shape[1]):
            dd = ee = de = dr = er = 0.0
            for i in range(3):
                d, e = p1[t, k, i] - p0[t, k, i], q1[t, k, i] - q0[t, k, i]
                r = p0[t, k, i] - q0[t, k, i]
                dd += d * d
                ee += e * e
                de += d * e
                dr += d * r
                er += e * r
            determinant = dd * ee - de * de
            s = 0.0
            if determinant > _PARALLEL * dd * ee:
                s = min(max((de * er - dr * ee) / determinant, 0.0), 1.0)
            u = min(max((de * s + er) / ee, 0.0), 1.0) if ee > 0.0 else 0.0
            s = min(max((de * u - dr) / dd, 0.0), 1.0) if dd > 0.0 else 0.0
            for i in range(3):
                first[t, k, i] = p0[t, k, i] + s * (p1[t, k, i] - p0[t, k, i])
                second[t, k, i] = q0[t, k, i] + u * (q1[t, k, i] - q0[t, k, i])
    return first, second


@njit(cache=True)
def nearest_to_box(
    start: np.ndarray, end: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Point of each segment that is nearest to a box.

    The distance, negative inside, is convex along the segment; its slope is bisected.

    Args:
        start: Beginnings of the segments, shape ``(T, k, 3)``.
        end: Their ends.
        lower: Corner of the box with the smallest coordinates, shape ``(3,)``.
        upper: Corner with the largest.

    Returns:
        Distances ``(T, k)``, the points, and the directions away from the box,
        ``(T, k, 3)`` each.
    """
    distance = np.empty(start.shape[:2])
    points, normals = np.empty(start.shape), np.empty(start.shape)
    for t in range(start.shape[0]):
        for k in range(start.shape[1]):
            low, high = 0.0, 1.0
            point, normal = points[t, k], normals[t, k]
            for step in range(_HALVINGS + 2):
                # Most segments are nearest at an end: those are looked at first.
                middle = 0.5 * (low + high) if step > 1 else float(step)
                for i in range(3):
                    point[i] = start[t, k, i] + middle * (end[t, k, i] - start[t, k, i])
                distance[t, k] = _box_distance(point, lower, upper, normal)
                slope = 0.0
                for i in range(3):
                    slope += normal[i] * (end[t, k, i] - start[t, k, i])
                if (step == 0 and slope >= 0.0) or (step == 1 and slope <= 0.0):
                    break
                if slope > 0.0:
                    high = middle
                else:
                    low = middle
    return distance, points, normals


@njit(cache=True)
def _box_distance(
    point: np.ndarray, lower: np.ndarray, upper: np.ndarray, normal: np.ndarray
) -> float:
    """Distance of a point from a box, negative inside; writes the direction away from it."""
    square, nearest, face = 0.0, -np.inf, 0
    for i in range(3):
        below, above = lower[i] - point[i], point[i] - upper[i]
        normal[i] = max(above, 0.0) - max(below, 0.0)
        square += normal[i] * normal[i]
        if max(below, above) > nearest:
            nearest, face = max(below, above), i
    if square > 0.0:
        size = np.sqrt(square)
        for i in range(3):
            normal[i] /= size
        return float(size)
    normal[face] = -1.0 if lower[face] - point[face] == nearest else 1.0
    return nearest
