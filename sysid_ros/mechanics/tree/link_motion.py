r"""Angular velocity and specific force of links with their derivatives, compiled.

With the spatial axis :math:`S_j` of joint j, and the twist V and the acceleration A of the body
before it (gravity counts as acceleration of the base), the recursive Newton-Euler algorithm has

.. math:: \dot\psi_j = V \times S_j, \qquad
          \ddot\psi_j = A \times S_j + V \times \dot\psi_j.

Seen from a body that the joint carries, whose twist is :math:`V_i` and acceleration
:math:`A_i`, only what is before the joint moves with :math:`q_j`, so that in axes of the body

.. math:: \partial V_i/\partial q_j = \dot\psi_j, \qquad
          \partial A_i/\partial q_j = \ddot\psi_j + \dot\psi_j \times V_i, \qquad
          \partial A_i/\partial v_j = 2\dot\psi_j + S_j \times V_i.

Where joints follow others, or loops are closed, the motion of the tree's joints is a function of
that of the independent ones, :math:`x = \Gamma(q)`, :math:`\dot x = G v`,
:math:`\ddot x = G a + v^T H v`, and the chain rule does the rest.

References:
    Featherstone 2008, sections 2.8 and 5.3; Singh, Russell and Wensing 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.regressor.regressor import tree_motion
from sysid_ros.mechanics.tree import forward_kinematics
from sysid_ros.mechanics.tree.forward_kinematics import (
    TreeJoints,
    body_forward_kinematics,
    serial_chain,
    spatial_axis,
)
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics import spatial_vectors
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.numerics.spatial_vectors import (
    Spatial,
    Vector,
    cross,
    dot,
    motion_cross,
    plus,
    put,
    six,
    spatial_plus,
    three,
)
from sysid_ros.robot.model import RobotModel

#: Files that are compiled into :func:`fill_link_motion`.
SOURCES = (compiled, forward_kinematics, spatial_vectors)
# Step of the differences of closed chains in [rad] or [m]: error and rounding are near 1e-10.
_STEP = 1e-5


class LinkMotion(NamedTuple):
    """A vector that belongs to the motion of a body at S samples, in the axes of the body.

    Attributes:
        value: The vector, shape ``(S, 3)``.
        by_position: Derivatives by positions of the independent joints, shape ``(S, 3, n)``.
        by_velocity: Derivatives by their velocities, shape ``(S, 3, n)``.
        by_acceleration: Derivatives by their accelerations, shape ``(S, 3, n)``.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_acceleration: np.ndarray


def angular_velocity(
    robot: RobotModel, body: int, q: np.ndarray, v: np.ndarray
) -> LinkMotion:
    """Angular velocity of a body in [rad/s].

    Args:
        robot: The robot.
        body: Index of the body, -1 for the base; see :meth:`RobotModel.place_of`.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.

    Raises:
        ParameterError: The arrays do not fit the robot.
        UnreachableError: Closed loops cannot be closed at a sample.
    """
    link = _link_kinematics(robot, body, np.zeros(3), q, v, np.zeros_like(v))
    return link.in_independent_joints(link.vectors[:, 0], link.slopes[:, 0])


def specific_force(
    robot: RobotModel, body: int, point: np.ndarray, q: np.ndarray, v: np.ndarray,
    a: np.ndarray,
) -> LinkMotion:
    r"""Acceleration of a point of a body less gravity, in [m/s²].

    Args:
        robot: The robot.
        body: Index of the body, -1 for the base; see :meth:`RobotModel.place_of`.
        point: The point in the frame of the body in [m], shape ``(3,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        a: Joint accelerations, shape ``(S, n)``.

    Raises:
        ParameterError: The arrays do not fit the robot.
        UnreachableError: Closed loops cannot be closed at a sample.
    """
    link = _link_kinematics(robot, body, point, q, v, a)
    return link.in_independent_joints(link.vectors[:, 1], link.slopes[:, 1])


class _JointMotion(NamedTuple):
    """Motion of the b joints of the tree, and what it is of the n independent ones.

    Attributes:
        q: Positions, shape ``(S, b)``.
        v: Velocities, shape ``(S, b)``.
        a: Accelerations, shape ``(S, b)``.
        coupling: The matrix G, shape ``(b, n)`` or ``(S, b, n)``.
        dv_dq: Derivatives H v of the velocities by positions, ``(S, b, n)``; None for a tree.
        da_dq: Derivatives of the accelerations by positions, ``(S, b, n)``; None for a tree.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    coupling: np.ndarray
    dv_dq: np.ndarray | None = None
    da_dq: np.ndarray | None = None


def _joint_motion(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> _JointMotion:
    if robot.loops is None:
        q, v, a = tree_motion(robot, q, v, a)
        return _JointMotion(q, v, a, robot.tree.coupling)
    chain, tree = closed_chain(robot), robot.tree
    motion = chain.motion(q, v, a)
    dv_dq, da_dq = np.empty((2, *motion.coupling.shape))
    for joint in range(q.shape[1]):
        away = np.zeros(q.shape[1])
        away[joint] = 1.0
        # Quadratic in velocities, so that this is exact.
        still = np.zeros_like(a)
        dv_dq[:, :, joint] = 0.25 * (
            chain.motion_at(motion.q, v + away, still).a
            - chain.motion_at(motion.q, v - away, still).a)
        step = _STEP * away
        da_dq[:, :, joint] = (
            chain.motion(q + step, v, a).a - chain.motion(q - step, v, a).a) / (2.0 * _STEP)
    q, v, a = tree_motion(robot.opened, motion.q, motion.v, motion.a)
    coupling, dv_dq, da_dq = (tree.coupling @ x for x in (motion.coupling, dv_dq, da_dq))
    return _JointMotion(q, v, a, coupling, dv_dq, da_dq)


class _LinkKinematics(NamedTuple):
    """Angular velocity and specific force of a point of a body, in the axes of the body.

    Attributes:
        joints: Motion of the joints.
        path: The k bodies from the base to the body, shape ``(k,)``.
        vectors: Angular velocity, then specific force, shape ``(S, 2, 3)``.
        slopes: Their derivatives by positions, velocities and accelerations of the joints of
            these bodies, shape ``(S, 2, 3, 3, k)``.
    """

    joints: _JointMotion
    path: np.ndarray
    vectors: np.ndarray
    slopes: np.ndarray

    def in_independent_joints(self, value: np.ndarray, slopes: np.ndarray) -> LinkMotion:
        """A vector ``(S, 3)`` with its slopes ``(S, 3, 3, k)``, as those by independent joints."""
        joints, path = self.joints, self.path
        by_x, by_v, by_a = np.moveaxis(slopes, 1, 0)
        coupling = joints.coupling[..., path, :]
        by_position, by_velocity, by_acceleration = (
            slope @ coupling for slope in (by_x, by_v, by_a))
        if joints.dv_dq is not None and joints.da_dq is not None:
            dv_dq = joints.dv_dq[:, path]
            by_position = by_position + by_v @ dv_dq + by_a @ joints.da_dq[:, path]
            by_velocity = by_velocity + 2.0 * by_a @ dv_dq
        return LinkMotion(value, by_position, by_velocity, by_acceleration)


def _link_kinematics(
    robot: RobotModel, body: int, point: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> _LinkKinematics:
    """Kinematics of a ``point`` of a body, of the motion of the independent joints."""
    joints = _joint_motion(robot, q, v, a)
    path, chain = serial_chain(robot.tree, body)
    samples, count = len(joints.q), len(path)
    vectors, slopes = np.zeros((samples, 2, 3)), np.zeros((samples, 2, 3, 3, count))
    motion = np.array([np.take(x, path, axis=1) for x in (joints.q, joints.v, joints.a)])
    fill_link_motion(
        chain, robot.gravity, np.array(point, dtype=float), motion, np.zeros((count, 12)),
        np.zeros((count, 3)), np.zeros((3, count, 6)), vectors, slopes)
    return _LinkKinematics(joints, path, vectors, slopes)


@njit(**INSIDE)
def _forward_pass(
    chain: TreeJoints, gravity: np.ndarray, motion: np.ndarray, s: int, pose: np.ndarray,
    screw: np.ndarray, axes: np.ndarray,
) -> tuple[Spatial, Spatial]:
    """RNEA, forward pass: axes with both rates; twist and acceleration of the last body."""
    nought = (0.0, 0.0, 0.0)
    twist, rate = (nought, nought), (nought, (-gravity[0], -gravity[1], -gravity[2]))
    for j in range(len(chain.parent)):
        body_forward_kinematics(chain, pose, screw, j, motion[0, s, j])
        spatial_axis(chain.revolute[j], pose, screw, axes[0], j)
        axis = six(axes[0], j)
        axis_rate = motion_cross(twist, axis)
        put(axes[1], j, axis_rate)
        put(axes[2], j, spatial_plus(
            motion_cross(rate, axis), motion_cross(twist, axis_rate), 1.0))
        rate = spatial_plus(rate, axis_rate, motion[1, s, j])
        rate = spatial_plus(rate, axis, motion[2, s, j])
        twist = spatial_plus(twist, axis, motion[1, s, j])
    return twist, rate


@njit(**INSIDE)
def _force_slope(
    spin: Vector, velocity: Vector, p: Vector, twist: Spatial, rate: Spatial
) -> Vector:
    """Change of the acceleration of a point with changes of twist and spatial acceleration.

    Args:
        spin: Angular velocity of the body.
        velocity: Velocity of the point.
        p: Where it is.
        twist: Change of the twist.
        rate: Change of the spatial acceleration.
    """
    point = plus(rate[1], cross(rate[0], p), 1.0)
    point = plus(point, cross(twist[0], velocity), 1.0)
    return plus(point, cross(spin, plus(twist[1], cross(twist[0], p), 1.0)), 1.0)


@njit(**INSIDE)
def _put_in_axes(turn: tuple[Vector, Vector, Vector], x: Vector, out: np.ndarray) -> None:
    """Components of a vector of the world in axes that are columns of a rotation matrix."""
    for i in range(3):
        out[i] = turn[0][i] * x[0] + turn[1][i] * x[1] + turn[2][i] * x[2]


def _compiled(sources: str) -> Callable[..., Any]:
    """All samples as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def fill_link_motion(
        chain: TreeJoints, gravity: np.ndarray, point: np.ndarray, motion: np.ndarray,
        pose: np.ndarray, screw: np.ndarray, axes: np.ndarray, vectors: np.ndarray,
        slopes: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        last, nought = len(chain.parent) - 1, (0.0, 0.0, 0.0)
        local = (point[0], point[1], point[2])
        turn, p = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), local
        for s in range(motion.shape[1]):
            twist, rate = _forward_pass(chain, gravity, motion, s, pose, screw, axes)
            spin = twist[0]
            if last >= 0:
                turn = (three(pose, last, 0), three(pose, last, 3), three(pose, last, 6))
                p = plus(three(pose, last, 9), (
                    dot(turn[0], local), dot(turn[1], local), dot(turn[2], local)), 1.0)
            velocity = plus(twist[1], cross(spin, p), 1.0)
            _put_in_axes(turn, spin, vectors[s, 0])
            force = _force_slope(spin, velocity, p, (nought, nought), rate)
            _put_in_axes(turn, plus(force, cross(spin, velocity), 1.0), vectors[s, 1])
            for j in range(last + 1):
                axis, axis_rate = six(axes[0], j), six(axes[1], j)
                by_q = spatial_plus(six(axes[2], j), motion_cross(axis_rate, twist), 1.0)
                by_v = spatial_plus(motion_cross(axis, twist), axis_rate, 2.0)
                _put_in_axes(turn, axis_rate[0], slopes[s, 0, 0, :, j])
                _put_in_axes(turn, axis[0], slopes[s, 0, 1, :, j])
                _put_in_axes(
                    turn, _force_slope(spin, velocity, p, axis_rate, by_q), slopes[s, 1, 0, :, j])
                _put_in_axes(
                    turn, _force_slope(spin, velocity, p, axis, by_v), slopes[s, 1, 1, :, j])
                _put_in_axes(
                    turn, plus(axis[1], cross(axis[0], p), 1.0), slopes[s, 1, 2, :, j])

    return fill_link_motion


#: Fill the ``vectors`` ``(S, 2, 3)`` and ``slopes`` ``(S, 2, 3, 3, k)`` of a link from its serial
#: chain, gravity, a point of the link, motion of the k joints ``(3, S, k)``, and workspace: poses
#: ``(k, 12)``, axes ``(k, 3)``, and spatial axes with both rates ``(3, k, 6)``.
fill_link_motion = _compiled(digest(*SOURCES))
