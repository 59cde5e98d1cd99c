"""Forward kinematics of a tree, body after body for one sample, compiled.

All kernels that work sample by sample take poses from here. There is one other form, in
:mod:`~sysid_ros.mechanics.regressor.regressor_kernels`: on blocks of samples in vector lanes, with
sines that do not branch, which makes regressors of long recordings several times as fast as loops
over samples.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import cross, dot, put, three
from sysid_ros.robot.tree import KinematicTree


class TreeGeometry(Protocol):
    """How bodies are joined, in the arrays of :class:`~sysid_ros.robot.tree.KinematicTree`."""

    @property
    def parent(self) -> np.ndarray:
        """Parent of each body, -1 for the world, shape ``(b,)``; parents first."""

    @property
    def rotation(self) -> np.ndarray:
        """Orientation of the joint frame in the parent's, shape ``(b, 3, 3)``."""

    @property
    def translation(self) -> np.ndarray:
        """Origin of the joint frame in the parent's in [m], shape ``(b, 3)``."""

    @property
    def axis(self) -> np.ndarray:
        """Unit axis in the joint frame, shape ``(b, 3)``."""

    @property
    def revolute(self) -> np.ndarray:
        """True for a rotation, False for a translation, shape ``(b,)``."""


class TreeJoints(NamedTuple):
    """The arrays of a :class:`TreeGeometry` alone."""

    parent: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    revolute: np.ndarray


def tree_joints(tree: KinematicTree) -> TreeJoints:
    """How the bodies of a tree are joined, as kernels take it."""
    return TreeJoints(tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute)


def serial_chain(tree: KinematicTree, body: int) -> tuple[np.ndarray, TreeJoints]:
    """The k bodies from the base to a body, shape ``(k,)``, and how they are joined.

    Args:
        tree: The tree.
        body: The last of them; -1 for the base, which has none before it.
    """
    path: list[int] = []
    while body >= 0:
        path.append(body)
        body = int(tree.parent[body])
    bodies = np.array(path[::-1], dtype=np.int64)
    chain = TreeJoints(
        np.arange(len(bodies)) - 1, tree.rotation[bodies], tree.translation[bodies],
        tree.axis[bodies], tree.revolute[bodies])
    for array in chain:
        # Kernels are compiled for the arrays of trees, which cannot be written.
        array.setflags(write=False)
    return bodies, chain


@njit(**INSIDE)
def body_forward_kinematics(
    tree: TreeGeometry, pose: np.ndarray, screw: np.ndarray, i: int, position: float
) -> None:
    """Forward kinematics of body i from its parent's pose, by Rodrigues' formula.

    Args:
        tree: The tree.
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``; the
            row of body i is filled.
        screw: The joint's axis in the world, shape ``(b, 3)``; the row of body i is filled.
        i: Which body.
        position: Of its joint in [rad] or [m].
    """
    before, turns = tree.parent[i], tree.revolute[i]
    x, y, z = three(tree.axis, i, 0)
    shift, frame = three(tree.translation, i, 0), tree.rotation
    c, s = 1.0, 0.0
    if turns:
        c, s = np.cos(position), np.sin(position)
    for row in range(3):
        # A row of the joint frame's orientation in the world.
        p0, p1, p2 = frame[i, row, 0], frame[i, row, 1], frame[i, row, 2]
        origin = shift[row]
        if before >= 0:
            w = three(pose, before, 3 * row)
            p0 = w[0] * frame[i, 0, 0] + w[1] * frame[i, 1, 0] + w[2] * frame[i, 2, 0]
            p1 = w[0] * frame[i, 0, 1] + w[1] * frame[i, 1, 1] + w[2] * frame[i, 2, 1]
            p2 = w[0] * frame[i, 0, 2] + w[1] * frame[i, 1, 2] + w[2] * frame[i, 2, 2]
            origin = pose[before, 9 + row] + dot(w, shift)
        along = p0 * x + p1 * y + p2 * z
        part = along * (1.0 - c)
        pose[i, 3 * row] = part * x + p0 * c + (p1 * z - p2 * y) * s
        pose[i, 3 * row + 1] = part * y + p1 * c + (p2 * x - p0 * z) * s
        pose[i, 3 * row + 2] = part * z + p2 * c + (p0 * y - p1 * x) * s
        pose[i, 9 + row] = origin if turns else origin + along * position
        screw[i, row] = along


@njit(**INSIDE)
def spatial_axis(
    revolute: bool, pose: np.ndarray, screw: np.ndarray, axis: np.ndarray, i: int
) -> None:
    """Spatial axis of the joint of body i, a row of ``axis`` ``(b, 6)``, once the body has a pose.

    Other arguments are those of :func:`body_forward_kinematics`.
    """
    z, nought = three(screw, i, 0), (0.0, 0.0, 0.0)
    if revolute:
        put(axis, i, (z, cross(three(pose, i, 9), z)))
    else:
        put(axis, i, (nought, z))
