"""Rotations in batches: matrices, unit quaternions (x, y, z, w) and rotation vectors in [rad].

SciPy's rotations where all have one leading dimension, with what these lack; single rotations and
their Jacobians are Pinocchio's.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

# Below this angle in [rad] a series replaces what would be divided by it.
_SMALL = 1e-2


def quaternions(rotation: np.ndarray) -> np.ndarray:
    """Unit quaternions (x, y, z, w) of rotation matrices, ``(..., 3, 3)`` to ``(..., 4)``."""
    flat = rotation.reshape(-1, 3, 3)
    return np.asarray(Rotation.from_matrix(flat).as_quat()).reshape(*rotation.shape[:-2], 4)


def rotation_matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions (x, y, z, w) of any length.

    Args:
        quaternion: Shape ``(..., 4)``.

    Returns:
        Shape ``(..., 3, 3)``; NaN where a quaternion is zero or not finite.
    """
    flat = quaternion.reshape(-1, 4)
    length = np.linalg.norm(flat, axis=1)
    known = np.isfinite(length) & (length > 0.0)
    matrices = np.full((len(flat), 3, 3), np.nan)
    if known.any():
        matrices[known] = Rotation.from_quat(flat[known]).as_matrix()
    return matrices.reshape(*quaternion.shape[:-1], 3, 3)


def rotation_with_z(axis: np.ndarray) -> np.ndarray:
    """A rotation whose z axis is given, shape ``(3, 3)``."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def inverse_left_jacobians(vectors: np.ndarray) -> np.ndarray:
    r"""Inverse left Jacobians of SO(3), :math:`1 - \tfrac12 [p] + c\,[p]^2`, at rotation vectors p.

    Args:
        vectors: Rotation vectors in [rad], shape ``(S, 3)``.

    Returns:
        Shape ``(S, 3, 3)``.

    References:
        Barfoot, State Estimation for Robotics, eq. (7.82).
    """
    x, y, z = vectors.T
    cross = np.zeros((len(vectors), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -z, y, -x
    cross = cross - np.swapaxes(cross, 1, 2)
    angle = np.linalg.norm(vectors, axis=1)
    large = np.where(angle < _SMALL, 1.0, angle)
    part = np.where(
        angle < _SMALL, 1.0 / 12.0 + angle**2 / 720.0,
        (1.0 - 0.5 * large / np.tan(0.5 * large)) / large**2)
    return np.eye(3) - 0.5 * cross + part[:, None, None] * (cross @ cross)
