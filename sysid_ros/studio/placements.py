"""Where the bodies of a scene are for positions of its joints; no library but NumPy is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def body_placements(
    bodies: Sequence[Mapping[str, Any]], positions: Sequence[float]
) -> list[tuple[list[list[float]], list[float]]]:
    """Placements of bodies in the frames of their parents, for positions of the joints.

    Args:
        bodies: Of a scene.
        positions: Of its joints in [rad] or [m].

    Returns:
        Rotation and translation of each.
    """
    placed = []
    for body in bodies:
        q = float(np.dot(body['coupling'], positions)) + body['offset']
        rotation, axis = np.array(body['rotation']), np.array(body['axis'])
        translation = np.array(body['translation'])
        if body['revolute']:
            rotation = rotation @ _turn(axis, q)
        else:
            translation = translation + rotation @ (q * axis)
        placed.append((rotation.tolist(), translation.tolist()))
    return placed


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula: the rotation about a unit axis."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn: np.ndarray = (
        np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross)
    return turn
