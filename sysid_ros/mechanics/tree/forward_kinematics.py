"""Forward kinematics of a tree, body after body for one sample, compiled.

All kernels that work sample by sample take poses from here, and those of the regressor take
velocities and accelerations as well. There is one other form, in
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
def body_velocity_and_acceleration(
    tree: TreeGeometry, gravity: np.ndarray, pose: np.ndarray, screw: np.ndarray,
    twist: np.ndarray, i: int, speed: float, rate: float,
) -> None:
    """Velocity and acceleration of body i from those of its parent, once it has a pose.

    Args:
        tree: The tree.
        gravity: In [m/s²], shape ``(3,)``; it counts as acceleration of the base.
        pose: See :func:`body_forward_kinematics`.
        screw: See :func:`body_forward_kinematics`.
        twist: Angular velocity and acceleration of every body, and linear acceleration of its
            origin less gravity, in the world's axes, shape ``(b, 9)``; the row of body i is filled.
        i: Which body.
        speed: Velocity of its joint in [rad/s] or [m/s].
        rate: Acceleration of its joint.
    """
    before, turns = tree.parent[i], 1.0 if tree.revolute[i] else 0.0
    z0, z1, z2 = screw[i, 0], screw[i, 1], screw[i, 2]
    o0, o1, o2, l0, l1, l2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    a0, a1, a2 = -gravity[0], -gravity[1], -gravity[2]
    if before >= 0:
        w, out, there = twist[before], pose[i], pose[before]
        o0, o1, o2, l0, l1, l2, a0, a1, a2 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
        d0, d1, d2 = out[9] - there[9], out[10] - there[10], out[11] - there[11]
        c0, c1, c2 = o1 * d2 - o2 * d1, o2 * d0 - o0 * d2, o0 * d1 - o1 * d0
        a0 += l1 * d2 - l2 * d1 + o1 * c2 - o2 * c1
        a1 += l2 * d0 - l0 * d2 + o2 * c0 - o0 * c2
        a2 += l0 * d1 - l1 * d0 + o0 * c1 - o1 * c0
    spin, slide = turns * speed, 2.0 * (1.0 - turns) * speed
    spin_up, slide_up = turns * rate, (1.0 - turns) * rate
    e0, e1, e2 = o1 * z2 - o2 * z1, o2 * z0 - o0 * z2, o0 * z1 - o1 * z0
    own = twist[i]
    own[0], own[1], own[2] = o0 + z0 * spin, o1 + z1 * spin, o2 + z2 * spin
    own[3] = l0 + z0 * spin_up + e0 * spin
    own[4] = l1 + z1 * spin_up + e1 * spin
    own[5] = l2 + z2 * spin_up + e2 * spin
    own[6] = a0 + z0 * slide_up + e0 * slide
    own[7] = a1 + z1 * slide_up + e1 * slide
    own[8] = a2 + z2 * slide_up + e2 * slide


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
