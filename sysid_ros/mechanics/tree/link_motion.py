r"""How links turn and accelerate, with derivatives, for many samples at once.

Everything outside of a joint moves as one when the joint's position changes, so that, seen from
there, only the motion of what carries the joint changes: it turns back about the joint's axis.
That gives derivatives in closed form, joint by joint along the way to the link. Where joints
follow others, or loops are closed, the motion of the tree's joints is a function of that of the
independent ones, :math:`x = \Gamma(q)`, :math:`\dot x = G v`,
:math:`\ddot x = G a + v^T H v`, and the chain rule does the rest.

The joints on the way are walked here, not by
:mod:`~sysid_ros.mechanics.tree.forward_kinematics`: derivatives need the motion before each joint,
and numpy works on all samples of the few joints at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.regressor.regressor import tree_motion
from sysid_ros.robot.model import RobotModel

# Step of the differences of closed chains in [rad] or [m]: error and rounding are near 1e-10.
_STEP = 1e-5


class LinkMotion(NamedTuple):
    """A vector that belongs to the motion of a body at S samples, in the axes of the body.

    Attributes:
        value: Shape ``(S, 3)``.
        by_position: With respect to the independent joints, shape ``(S, 3, n)``.
        by_velocity: Likewise.
        by_acceleration: Likewise.
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
    joints = _joint_motion(robot, q, v, np.zeros_like(v))
    way = _walk(robot, body, joints, np.zeros(3))
    by_x = np.where(way.turns, _cross(way.spin, way.axis), 0.0)
    by_v = np.where(way.turns, way.axis, 0.0)
    return _in_body(way, joints, way.omega, (by_x, by_v, np.zeros_like(by_v)))


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
    joints = _joint_motion(robot, q, v, a)
    way = _walk(robot, body, joints, point)
    z, spin, lever = way.axis, way.spin, way.point[:, :, None] - way.origin
    away = way.velocity[:, :, None] - way.start
    # What carries the joint turns back: its angular velocity and both accelerations change by
    # their products with the axis. Points outside keep their velocity relative to it.
    back = _cross(spin, z)
    relative = away - _cross(spin, lever)
    turned = (
        _cross(way.pull, z) + _cross(_cross(way.spin_up, z), lever)
        + _cross(back, _cross(spin, lever)) + _cross(spin, _cross(back, lever))
        + 2.0 * _cross(back, relative))
    slid = _cross(way.spin_up, z) + _cross(spin, back)
    # Accelerations are quadratic in velocities: the slope is twice the rate of the Jacobian.
    rate = np.where(way.turns, _cross(back, lever) + _cross(z, away), back)
    jacobian = np.where(way.turns, _cross(z, lever), z)
    by_x = np.where(way.turns, turned, slid)
    return _in_body(way, joints, way.force, (by_x, 2.0 * rate, jacobian))


class _JointMotion(NamedTuple):
    """Motion of the b joints of the tree, and what it is of the n independent ones.

    Attributes:
        q: Positions, shape ``(S, b)``.
        v: Velocities, shape ``(S, b)``.
        a: Accelerations, shape ``(S, b)``.
        coupling: The matrix G, shape ``(b, n)`` or ``(S, b, n)``.
        dv_dq: Derivatives H v of the velocities by positions, ``(S, b, n)``; None for a tree.
        da_dq: Derivatives of the accelerations by positions, likewise.
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


@dataclass(frozen=True, eq=False)
class _Way:
    """The k joints between the base and a body, in the base's axes.

    Attributes:
        path: Their bodies, shape ``(k,)``.
        turns: True for rotations, shape ``(k,)``.
        axis: Axes, shape ``(3, S, k)``, like all that follows.
        origin: A point of each axis that is fixed to what carries the joint.
        spin: Angular velocity of what carries the joint.
        spin_up: Its angular acceleration.
        start: Velocity of that point.
        pull: Its acceleration less gravity.
        rotation: Orientation of the body, shape ``(3, 3, S)``.
        omega: Angular velocity of the body, shape ``(3, S)``.
        point: Where the point of the body is, shape ``(3, S)``.
        velocity: Its velocity, shape ``(3, S)``.
        force: Its acceleration less gravity, shape ``(3, S)``.
    """

    path: np.ndarray
    turns: np.ndarray
    axis: np.ndarray
    origin: np.ndarray
    spin: np.ndarray
    spin_up: np.ndarray
    start: np.ndarray
    pull: np.ndarray
    rotation: np.ndarray
    omega: np.ndarray
    point: np.ndarray
    velocity: np.ndarray
    force: np.ndarray


def _walk(robot: RobotModel, body: int, joints: _JointMotion, local: np.ndarray) -> _Way:
    """Walk out to a body and a point of it, ``local`` in its frame."""
    tree, samples = robot.tree, len(joints.q)
    path = _path(tree.parent, body)
    rotation = np.repeat(np.eye(3)[:, :, None], samples, axis=2)
    state = np.zeros((5, 3, samples))
    # Origin, angular velocity and acceleration, velocity and acceleration of the origin.
    state[4] = -robot.gravity[:, None]
    passed = np.empty((6, 3, samples, len(path)))
    for k, i in enumerate(path):
        here = _moved(state, np.einsum('xys,y->xs', rotation, tree.translation[i]))
        frame = np.einsum('xys,yz->xzs', rotation, tree.rotation[i])
        z = np.einsum('xys,y->xs', frame, tree.axis[i])
        passed[:, :, :, k] = z, *here
        x, speed, rate = joints.q[:, i], joints.v[:, i], joints.a[:, i]
        if tree.revolute[i]:
            state = here
            state[2] += z * rate + _cross(here[1], z * speed)
            state[1] += z * speed
            rotation = np.einsum('xys,yzs->xzs', frame, _rotations(tree.axis[i], x))
        else:
            state = _moved(here, z * x)
            state[3] += z * speed
            state[4] += z * rate + 2.0 * _cross(here[1], z * speed)
            rotation = frame
    point, omega, _, velocity, force = _moved(state, np.einsum('xys,y->xs', rotation, local))
    axis, origin, spin, spin_up, start, pull = passed
    return _Way(path, tree.revolute[path], axis, origin, spin, spin_up, start, pull, rotation,
                omega, point, velocity, force)


def _path(parent: np.ndarray, body: int) -> np.ndarray:
    """Bodies from the base to a body."""
    path: list[int] = []
    while body >= 0:
        path.append(body)
        body = int(parent[body])
    return np.array(path[::-1], dtype=np.int64)


def _moved(state: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """The motion of a body at another of its points, ``lever`` away."""
    origin, omega, alpha, velocity, force = state
    speed = _cross(omega, lever)
    return np.array([
        origin + lever, omega, alpha, velocity + speed,
        force + _cross(alpha, lever) + _cross(omega, speed)])


def _in_body(
    way: _Way, joints: _JointMotion, vector: np.ndarray,
    slopes: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> LinkMotion:
    """A vector and its slopes by the tree's joints, of the independent ones and in the body."""
    by_x, by_v, by_a = (np.einsum('xys,xsk->syk', way.rotation, slope) for slope in slopes)
    coupling = joints.coupling[..., way.path, :]
    by_position, by_velocity, by_acceleration = (
        slope @ coupling for slope in (by_x, by_v, by_a))
    if joints.dv_dq is not None and joints.da_dq is not None:
        dv_dq = joints.dv_dq[:, way.path]
        by_position = by_position + by_v @ dv_dq + by_a @ joints.da_dq[:, way.path]
        by_velocity = by_velocity + 2.0 * by_a @ dv_dq
    value = np.einsum('xys,xs->sy', way.rotation, vector)
    return LinkMotion(value, by_position, by_velocity, by_acceleration)


def _cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Vector products along the first axis, where they are whole rows of numbers."""
    return np.stack([
        x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])


def _rotations(axis: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rotation matrices about a unit axis (Rodrigues), shape ``(3, 3, S)``."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])[:, :, None]
    square = np.outer(axis, axis)[:, :, None] - np.eye(3)[:, :, None]
    return np.eye(3)[:, :, None] + np.sin(angles) * cross + (1.0 - np.cos(angles)) * square
