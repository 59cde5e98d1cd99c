"""Kernels behind the torque regressor: a block of samples at a time, lane by lane.

Inner loops run over the samples of a block, so that the compiler turns them into vector
instructions; arrays are laid out ``(body, component, lane)`` for that. Vectors are passed
as three scalars because a view per vector would cost more than the arithmetic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Samples per block: large enough for vector instructions, small enough for the cache.
LANES = 64
# Sums may be reordered, but a value that is not a number must stay one.
_REORDERING = {'reassoc', 'contract', 'arcp', 'nsz'}


@njit(cache=True, fastmath=_REORDERING)
def cross(
    a0: float, a1: float, a2: float, b0: float, b1: float, b2: float
) -> tuple[float, float, float]:
    """The vector product a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@njit(cache=True, fastmath=_REORDERING)
def turn(
    frame: np.ndarray, lane: int, x0: float, x1: float, x2: float
) -> tuple[float, float, float]:
    """World components of a vector given in a frame, ``frame`` of shape ``(9, lanes)``."""
    return (
        frame[0, lane] * x0 + frame[1, lane] * x1 + frame[2, lane] * x2,
        frame[3, lane] * x0 + frame[4, lane] * x1 + frame[5, lane] * x2,
        frame[6, lane] * x0 + frame[7, lane] * x1 + frame[8, lane] * x2,
    )


@njit(cache=True, fastmath=_REORDERING)
def turn_back(
    frame: np.ndarray, lane: int, x0: float, x1: float, x2: float
) -> tuple[float, float, float]:
    """Components in a frame of a vector given in the world."""
    return (
        frame[0, lane] * x0 + frame[3, lane] * x1 + frame[6, lane] * x2,
        frame[1, lane] * x0 + frame[4, lane] * x1 + frame[7, lane] * x2,
        frame[2, lane] * x0 + frame[5, lane] * x1 + frame[8, lane] * x2,
    )


@njit(cache=True, fastmath=_REORDERING)
def fill_regressor(
    parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
    revolute: np.ndarray, gravity: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    regressor: np.ndarray,
) -> None:
    """Write the regressor of a tree; rows of joints that do not carry a body stay as they are.

    Args:
        parent: As in :class:`~sysid_ros.robot.tree.KinematicTree`, with its other arrays.
        rotation: Shape ``(b, 3, 3)``.
        translation: Shape ``(b, 3)``.
        axis: Shape ``(b, 3)``.
        revolute: Shape ``(b,)``.
        gravity: Shape ``(3,)``.
        q: Motion of every body's joint, shape ``(T, b)``, as the next two.
        v: Velocities.
        a: Accelerations.
        regressor: Zeros on entry, shape ``(T, b, 10 b)``.
    """
    samples, bodies = q.shape
    pose = np.empty((bodies, 12, LANES))
    motion = np.empty((bodies, 9, LANES))
    screw = np.empty((bodies, 3, LANES))
    for start in range(0, samples, LANES):
        count = min(LANES, samples - start)
        stop = start + count
        for i in range(bodies):
            _move_body(
                i, parent[i], rotation[i], translation[i], axis[i], revolute[i], gravity,
                q[start:stop], v[start:stop], a[start:stop], pose, motion, screw,
            )
        for i in range(bodies):
            _to_body_axes(pose[i], motion[i], count)
            j = i
            while j >= 0:
                _write_columns(
                    10 * i, pose[i], motion[i], pose[j], screw[j], revolute[j],
                    regressor[start:stop, j],
                )
                j = parent[j]


@njit(cache=True, fastmath=_REORDERING)
def _move_body(
    i: int, parent: int, placement: np.ndarray, shift: np.ndarray, axis: np.ndarray,
    revolute: bool, gravity: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    pose: np.ndarray, motion: np.ndarray, screw: np.ndarray,
) -> None:
    """World pose, velocity and acceleration of body i; gravity counts as acceleration.

    ``pose`` holds nine entries of the rotation and the origin, ``motion`` angular velocity,
    angular acceleration and the acceleration of the origin, ``screw`` the joint's axis.
    """
    x, y, z = axis[0], axis[1], axis[2]
    local = np.empty((9, LANES))
    _joint_rotations(placement, x, y, z, revolute, q[:, i], local)
    s0, s1, s2 = shift[0], shift[1], shift[2]
    p0 = placement[0, 0] * x + placement[0, 1] * y + placement[0, 2] * z
    p1 = placement[1, 0] * x + placement[1, 1] * y + placement[1, 2] * z
    p2 = placement[2, 0] * x + placement[2, 1] * y + placement[2, 2] * z
    slides = 0.0 if revolute else 1.0
    turns = 1.0 - slides
    for lane in range(len(q)):
        travel = slides * q[lane, i]
        d0, d1, d2 = s0 + p0 * travel, s1 + p1 * travel, s2 + p2 * travel
        if parent < 0:
            for k in range(9):
                pose[i, k, lane] = local[k, lane]
            pose[i, 9, lane], pose[i, 10, lane], pose[i, 11, lane] = d0, d1, d2
            o0, o1, o2, l0, l1, l2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            a0, a1, a2 = -gravity[0], -gravity[1], -gravity[2]
        else:
            frame = pose[parent]
            for k in range(3):
                c0, c1, c2 = turn(frame, lane, local[k, lane], local[3 + k, lane],
                                  local[6 + k, lane])
                pose[i, k, lane], pose[i, 3 + k, lane], pose[i, 6 + k, lane] = c0, c1, c2
            d0, d1, d2 = turn(frame, lane, d0, d1, d2)
            pose[i, 9, lane] = frame[9, lane] + d0
            pose[i, 10, lane] = frame[10, lane] + d1
            pose[i, 11, lane] = frame[11, lane] + d2
            carried = motion[parent]
            o0, o1, o2 = carried[0, lane], carried[1, lane], carried[2, lane]
            l0, l1, l2 = carried[3, lane], carried[4, lane], carried[5, lane]
            t0, t1, t2 = cross(l0, l1, l2, d0, d1, d2)
            c0, c1, c2 = cross(o0, o1, o2, d0, d1, d2)
            c0, c1, c2 = cross(o0, o1, o2, c0, c1, c2)
            a0 = carried[6, lane] + t0 + c0
            a1 = carried[7, lane] + t1 + c1
            a2 = carried[8, lane] + t2 + c2
        z0, z1, z2 = turn(pose[i], lane, x, y, z)
        screw[i, 0, lane], screw[i, 1, lane], screw[i, 2, lane] = z0, z1, z2
        c0, c1, c2 = cross(o0, o1, o2, z0, z1, z2)
        spin, spin_up = turns * v[lane, i], turns * a[lane, i]
        slide, slide_up = 2.0 * slides * v[lane, i], slides * a[lane, i]
        motion[i, 0, lane] = o0 + z0 * spin
        motion[i, 1, lane] = o1 + z1 * spin
        motion[i, 2, lane] = o2 + z2 * spin
        motion[i, 3, lane] = l0 + z0 * spin_up + c0 * spin
        motion[i, 4, lane] = l1 + z1 * spin_up + c1 * spin
        motion[i, 5, lane] = l2 + z2 * spin_up + c2 * spin
        motion[i, 6, lane] = a0 + z0 * slide_up + c0 * slide
        motion[i, 7, lane] = a1 + z1 * slide_up + c1 * slide
        motion[i, 8, lane] = a2 + z2 * slide_up + c2 * slide


@njit(cache=True, fastmath=_REORDERING)
def _joint_rotations(
    placement: np.ndarray, x: float, y: float, z: float, revolute: bool, q: np.ndarray,
    rotation: np.ndarray,
) -> None:
    """``placement`` times the rotation by q about the axis, shape ``(9, lanes)``."""
    for lane in range(len(q)):
        angle = q[lane] if revolute else 0.0
        c, s = np.cos(angle), np.sin(angle)
        k = 1.0 - c
        r00, r01, r02 = c + x * x * k, x * y * k - z * s, x * z * k + y * s
        r10, r11, r12 = y * x * k + z * s, c + y * y * k, y * z * k - x * s
        r20, r21, r22 = z * x * k - y * s, z * y * k + x * s, c + z * z * k
        for row in range(3):
            p0, p1, p2 = placement[row, 0], placement[row, 1], placement[row, 2]
            rotation[3 * row, lane] = p0 * r00 + p1 * r10 + p2 * r20
            rotation[3 * row + 1, lane] = p0 * r01 + p1 * r11 + p2 * r21
            rotation[3 * row + 2, lane] = p0 * r02 + p1 * r12 + p2 * r22


@njit(cache=True, fastmath=_REORDERING)
def _to_body_axes(pose: np.ndarray, motion: np.ndarray, count: int) -> None:
    """Turn angular velocity and both accelerations from world axes into the body's."""
    for first in (0, 3, 6):
        for lane in range(count):
            x0, x1, x2 = turn_back(
                pose, lane, motion[first, lane], motion[first + 1, lane], motion[first + 2, lane]
            )
            motion[first, lane], motion[first + 1, lane], motion[first + 2, lane] = x0, x1, x2


@njit(cache=True, fastmath=_REORDERING)
def _write_columns(
    column: int, pose: np.ndarray, motion: np.ndarray, joint_pose: np.ndarray,
    screw: np.ndarray, revolute: bool, row: np.ndarray,
) -> None:
    r"""Ten columns of a body in the row of a joint that carries it, shape ``(lanes, 10 b)``.

    With the body's origin moving at u and the body turning at w per unit of joint velocity,
    the torque is :math:`u \cdot f + w \cdot n`, where

    .. math::
        f = m a + \alpha \times h + \omega \times (\omega \times h), \quad
        n = I\alpha + \omega \times I\omega + h \times a
    """
    for lane in range(len(row)):
        z0, z1, z2 = screw[0, lane], screw[1, lane], screw[2, lane]
        if revolute:
            u0, u1, u2 = cross(
                z0, z1, z2, pose[9, lane] - joint_pose[9, lane],
                pose[10, lane] - joint_pose[10, lane], pose[11, lane] - joint_pose[11, lane],
            )
            u0, u1, u2 = turn_back(pose, lane, u0, u1, u2)
            w0, w1, w2 = turn_back(pose, lane, z0, z1, z2)
        else:
            u0, u1, u2 = turn_back(pose, lane, z0, z1, z2)
            w0, w1, w2 = 0.0, 0.0, 0.0
        o0, o1, o2 = motion[0, lane], motion[1, lane], motion[2, lane]
        l0, l1, l2 = motion[3, lane], motion[4, lane], motion[5, lane]
        a0, a1, a2 = motion[6, lane], motion[7, lane], motion[8, lane]
        along, speed = u0 * o0 + u1 * o1 + u2 * o2, o0 * o0 + o1 * o1 + o2 * o2
        h0, h1, h2 = cross(u0, u1, u2, l0, l1, l2)
        b0, b1, b2 = cross(a0, a1, a2, w0, w1, w2)
        c0, c1, c2 = cross(w0, w1, w2, o0, o1, o2)
        row[lane, column] = u0 * a0 + u1 * a1 + u2 * a2
        row[lane, column + 1] = h0 + o0 * along - speed * u0 + b0
        row[lane, column + 2] = h1 + o1 * along - speed * u1 + b1
        row[lane, column + 3] = h2 + o2 * along - speed * u2 + b2
        row[lane, column + 4] = w0 * l0 + c0 * o0
        row[lane, column + 5] = w0 * l1 + w1 * l0 + c0 * o1 + c1 * o0
        row[lane, column + 6] = w1 * l1 + c1 * o1
        row[lane, column + 7] = w0 * l2 + w2 * l0 + c0 * o2 + c2 * o0
        row[lane, column + 8] = w1 * l2 + w2 * l1 + c1 * o2 + c2 * o1
        row[lane, column + 9] = w2 * l2 + c2 * o2
