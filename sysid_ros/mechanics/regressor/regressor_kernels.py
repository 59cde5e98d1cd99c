"""Kernels behind the torque regressor: a block of samples at a time, lane by lane.

Inner loops run over the samples of a block, so that the compiler turns them into vector
instructions. It does so only when it sees that nothing overlaps: component k of sample l is entry
``k * LANES + l`` of a flat array, strides known when compiling, and a loop writes one array.
Vectors are passed as three scalars because a view per vector would cost more than the arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import ENTRY, INSIDE

#: Samples per block: large enough for vector instructions, small enough for the cache.
LANES = 64
# A right angle as the sum of four numbers, the first three so short (24 bits) that multiples up to
# 2^29 are exact, whether the processor fuses products and sums or not.
_RIGHT = tuple(map(float.fromhex, (
    '0x1.921fb4p+0', '0x1.4442dp-24', '0x1.846988p-48', '0x1.8cc51701b839ap-72')))
_PER_RIGHT = 1.0 / sum(_RIGHT)
# Each term of a Taylor series over the one before it, the last first, without signs and powers.
_COSINE = tuple(1.0 / (k * (k - 1)) for k in range(16, 0, -2))
_SINE = tuple(1.0 / (k * (k + 1)) for k in range(16, 0, -2))


class BlockWorkspace(NamedTuple):
    """Workspace for the motion of a block of samples of b bodies, all in the world's axes.

    Attributes:
        pose: The three axes one by one and the origin, of the world and of every body, shape
            ``(b + 1, 12 * LANES)``.
        motion: Angular velocity, angular acceleration and acceleration of the origin of the world
            and of every body, shape ``(b + 1, 9 * LANES)``.
        screw: The joints' axes, shape ``(b, 3 * LANES)``.
        drive: What a joint does: cosine, sine, travel, velocity, acceleration, ``(5 * LANES,)``.
    """

    pose: np.ndarray
    motion: np.ndarray
    screw: np.ndarray
    drive: np.ndarray


def block_workspace(bodies: int, gravity: np.ndarray) -> BlockWorkspace:
    """The workspace of a tree, whose world does not turn; its acceleration stands for gravity.

    Args:
        bodies: How many bodies it has.
        gravity: In the world's axes in [m/s²], shape ``(3,)``.
    """
    pose, motion = np.zeros((bodies + 1, 12, LANES)), np.zeros((bodies + 1, 9, LANES))
    pose[0, [0, 4, 8]] = 1.0
    motion[0, 6:] = -np.asarray(gravity)[:, None]
    return BlockWorkspace(
        pose.reshape(bodies + 1, -1), motion.reshape(bodies + 1, -1),
        np.zeros((bodies, 3 * LANES)), np.zeros(5 * LANES))


@njit(**INSIDE | {'fastmath': {'contract'}})
def cosine_and_sine(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle in [rad], to the last digit or two of the angle's own.

    The library's functions have branches, which keep a loop from becoming vector instructions.
    Right angles are taken off, and Taylor series sum what is left, at most a half of one.
    """
    quarters = np.floor(angle * _PER_RIGHT + 0.5)
    x = angle
    for part in _RIGHT:
        x -= quarters * part
    z = x * x
    cosine, sine = 1.0, 1.0
    for k in range(len(_COSINE)):
        cosine = 1.0 - z * _COSINE[k] * cosine
        sine = 1.0 - z * _SINE[k] * sine
    sine *= x
    quadrant = quarters - 4.0 * np.floor(0.25 * quarters)
    odd = abs(quadrant - 2.0) == 1.0
    one, other = (sine, cosine) if odd else (cosine, sine)
    return (
        -one if abs(quadrant - 1.5) < 1.0 else one,
        -other if quadrant > 1.5 else other,
    )


@njit(**INSIDE)
def cross(
    a0: float, a1: float, a2: float, b0: float, b1: float, b2: float
) -> tuple[float, float, float]:
    """The vector product a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@njit(**INSIDE)
def get(x: np.ndarray, first: int, lane: int) -> tuple[float, float, float]:
    """Three components of a lane, from the first on."""
    return x[first * LANES + lane], x[(first + 1) * LANES + lane], x[(first + 2) * LANES + lane]


@njit(**INSIDE)
def put(x: np.ndarray, first: int, lane: int, x0: float, x1: float, x2: float) -> None:
    """Write three components of a lane, from the first on."""
    x[first * LANES + lane] = x0
    x[(first + 1) * LANES + lane] = x1
    x[(first + 2) * LANES + lane] = x2


@njit(**INSIDE)
def turn(
    frame: np.ndarray, lane: int, x0: float, x1: float, x2: float
) -> tuple[float, float, float]:
    """World components of a vector given in a frame whose axes are its first nine components."""
    a0, a1, a2 = get(frame, 0, lane)
    b0, b1, b2 = get(frame, 3, lane)
    c0, c1, c2 = get(frame, 6, lane)
    return (
        a0 * x0 + b0 * x1 + c0 * x2, a1 * x0 + b1 * x1 + c1 * x2, a2 * x0 + b2 * x1 + c2 * x2,
    )


@njit(**INSIDE)
def turn_back(
    frame: np.ndarray, lane: int, x0: float, x1: float, x2: float
) -> tuple[float, float, float]:
    """Components in a frame of a vector given in the world."""
    a0, a1, a2 = get(frame, 0, lane)
    b0, b1, b2 = get(frame, 3, lane)
    c0, c1, c2 = get(frame, 6, lane)
    return (
        a0 * x0 + a1 * x1 + a2 * x2, b0 * x0 + b1 * x1 + b2 * x2, c0 * x0 + c1 * x1 + c2 * x2,
    )


@njit(nogil=True, **ENTRY)
def fill_regressor(
    parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
    revolute: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, work: BlockWorkspace,
    columns: np.ndarray, regressor: np.ndarray,
) -> None:
    """Write the regressor of a tree, zeros where a joint does not carry a body.

    Args:
        parent: As in :class:`~sysid_ros.robot.tree.KinematicTree`, with its other arrays.
        rotation: Shape ``(b, 3, 3)``.
        translation: Shape ``(b, 3)``.
        axis: Shape ``(b, 3)``.
        revolute: Shape ``(b,)``.
        q: Motion of every body's joint, shape ``(T, b)``, as the next two.
        v: Velocities.
        a: Accelerations.
        work: That of :func:`block_workspace`.
        columns: Workspace, shape ``(10 * LANES,)``.
        regressor: What is written, shape ``(T, b, at least 10 b)``; further columns become zeros.
    """
    samples, bodies = q.shape
    pose, motion, screw, _ = work
    for start in range(0, samples, LANES):
        count = min(LANES, samples - start)
        # In order, which the memory likes better than what follows.
        regressor[start:start + count] = 0.0
        forward_kinematics(
            parent, rotation, translation, axis, revolute, q[start:start + count],
            v[start:start + count], a[start:start + count], work)
        for i in range(bodies):
            j = i
            while j >= 0:
                _body_columns(
                    pose[i + 1], motion[i + 1], pose[j + 1], screw[j], revolute[j], columns)
                for lane in range(count):
                    row = regressor[start + lane, j]
                    for k in range(10):
                        row[10 * i + k] = columns[k * LANES + lane]
                j = parent[j]


@njit(**INSIDE)
def forward_kinematics(
    parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
    revolute: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, work: BlockWorkspace,
) -> None:
    """Pose and screw of every body, and its motion in its own axes; at most ``LANES`` samples.

    What is in lanes without a sample means nothing.
    """
    pose, motion, screw, drive = work
    for i in range(len(parent)):
        turns, slides = (1.0, 0.0) if revolute[i] else (0.0, 1.0)
        for lane in range(len(q)):
            drive[lane], drive[2 * LANES + lane] = turns * q[lane, i], slides * q[lane, i]
            drive[3 * LANES + lane], drive[4 * LANES + lane] = v[lane, i], a[lane, i]
        for lane in range(LANES):
            drive[lane], drive[LANES + lane] = cosine_and_sine(drive[lane])
        before = parent[i] + 1
        _body_forward_kinematics(rotation[i], translation[i], axis[i], drive, pose[before],
            pose[i + 1])
        _to_world(axis[i], pose[i + 1], screw[i])
        _body_velocity_and_acceleration(
            revolute[i], drive, screw[i], pose[before], motion[before], pose[i + 1],
            motion[i + 1],
        )
    # Only now: bodies move with their parents' motion in the world's axes.
    for i in range(len(parent)):
        _to_body_axes(pose[i + 1], motion[i + 1])


@njit(**INSIDE)
def _body_forward_kinematics(
    placement: np.ndarray, shift: np.ndarray, axis: np.ndarray, drive: np.ndarray,
    before: np.ndarray, pose: np.ndarray,
) -> None:
    r"""Pose of a body from that of its parent, by Rodrigues' formula.

    With the axis x and its cross-product matrix X, the joint's frame times the rotation is
    :math:`P x x^T + \cos(q)\,(P - P x x^T) + \sin(q)\,P X`.
    """
    p, x = placement, axis
    along0 = p[0, 0] * x[0] + p[0, 1] * x[1] + p[0, 2] * x[2]
    along1 = p[1, 0] * x[0] + p[1, 1] * x[1] + p[1, 2] * x[2]
    along2 = p[2, 0] * x[0] + p[2, 1] * x[1] + p[2, 2] * x[2]
    for k in range(3):
        m, n = (k + 1) % 3, (k + 2) % 3
        f0, f1, f2 = along0 * x[k], along1 * x[k], along2 * x[k]
        b0, b1, b2 = p[0, k] - f0, p[1, k] - f1, p[2, k] - f2
        c0 = p[0, m] * x[n] - p[0, n] * x[m]
        c1 = p[1, m] * x[n] - p[1, n] * x[m]
        c2 = p[2, m] * x[n] - p[2, n] * x[m]
        for lane in range(LANES):
            c, s = drive[lane], drive[LANES + lane]
            y0, y1, y2 = turn(
                before, lane, f0 + b0 * c + c0 * s, f1 + b1 * c + c1 * s, f2 + b2 * c + c2 * s)
            put(pose, 3 * k, lane, y0, y1, y2)
    s0, s1, s2 = shift[0], shift[1], shift[2]
    for lane in range(LANES):
        travel = drive[2 * LANES + lane]
        y0, y1, y2 = turn(
            before, lane, s0 + along0 * travel, s1 + along1 * travel, s2 + along2 * travel)
        o0, o1, o2 = get(before, 9, lane)
        put(pose, 9, lane, o0 + y0, o1 + y1, o2 + y2)


@njit(**INSIDE)
def _to_world(axis: np.ndarray, pose: np.ndarray, screw: np.ndarray) -> None:
    """The joint's axis in the world's axes."""
    x0, x1, x2 = axis[0], axis[1], axis[2]
    for lane in range(LANES):
        z0, z1, z2 = turn(pose, lane, x0, x1, x2)
        put(screw, 0, lane, z0, z1, z2)


@njit(**INSIDE)
def _body_velocity_and_acceleration(
    revolute: bool, drive: np.ndarray, screw: np.ndarray, pose_before: np.ndarray,
    before: np.ndarray, pose: np.ndarray, motion: np.ndarray,
) -> None:
    """Velocity and acceleration of a body from those of its parent, in the world's axes."""
    slides = 0.0 if revolute else 1.0
    turns = 1.0 - slides
    for lane in range(LANES):
        z0, z1, z2 = get(screw, 0, lane)
        o0, o1, o2 = get(before, 0, lane)
        l0, l1, l2 = get(before, 3, lane)
        a0, a1, a2 = get(before, 6, lane)
        p0, p1, p2 = get(pose_before, 9, lane)
        d0, d1, d2 = get(pose, 9, lane)
        d0, d1, d2 = d0 - p0, d1 - p1, d2 - p2
        speed, rate = drive[3 * LANES + lane], drive[4 * LANES + lane]
        spin, spin_up = turns * speed, turns * rate
        slide, slide_up = 2.0 * slides * speed, slides * rate
        t0, t1, t2 = cross(l0, l1, l2, d0, d1, d2)
        c0, c1, c2 = cross(o0, o1, o2, d0, d1, d2)
        c0, c1, c2 = cross(o0, o1, o2, c0, c1, c2)
        e0, e1, e2 = cross(o0, o1, o2, z0, z1, z2)
        put(motion, 0, lane, o0 + z0 * spin, o1 + z1 * spin, o2 + z2 * spin)
        put(motion, 3, lane, l0 + z0 * spin_up + e0 * spin, l1 + z1 * spin_up + e1 * spin,
            l2 + z2 * spin_up + e2 * spin)
        put(motion, 6, lane, a0 + t0 + c0 + z0 * slide_up + e0 * slide,
            a1 + t1 + c1 + z1 * slide_up + e1 * slide,
            a2 + t2 + c2 + z2 * slide_up + e2 * slide)


@njit(**INSIDE)
def _to_body_axes(pose: np.ndarray, motion: np.ndarray) -> None:
    """Turn angular velocity and both accelerations from world axes into the body's."""
    for first in (0, 3, 6):
        for lane in range(LANES):
            x0, x1, x2 = get(motion, first, lane)
            x0, x1, x2 = turn_back(pose, lane, x0, x1, x2)
            put(motion, first, lane, x0, x1, x2)


@njit(**INSIDE)
def _body_columns(
    pose: np.ndarray, motion: np.ndarray, joint_pose: np.ndarray, screw: np.ndarray,
    revolute: bool, columns: np.ndarray,
) -> None:
    r"""Ten columns of a body in the row of a joint that carries it, flat of ``(10, LANES)``.

    With the body's origin moving at u and the body turning at w per unit of joint velocity,
    the torque is :math:`u \cdot f + w \cdot n`, where

    .. math::
        f = m a + \alpha \times h + \omega \times (\omega \times h), \quad
        n = I\alpha + \omega \times I\omega + h \times a
    """
    for lane in range(LANES):
        z0, z1, z2 = get(screw, 0, lane)
        if revolute:
            p0, p1, p2 = get(pose, 9, lane)
            j0, j1, j2 = get(joint_pose, 9, lane)
            u0, u1, u2 = cross(z0, z1, z2, p0 - j0, p1 - j1, p2 - j2)
            u0, u1, u2 = turn_back(pose, lane, u0, u1, u2)
            w0, w1, w2 = turn_back(pose, lane, z0, z1, z2)
        else:
            u0, u1, u2 = turn_back(pose, lane, z0, z1, z2)
            w0, w1, w2 = 0.0, 0.0, 0.0
        o0, o1, o2 = get(motion, 0, lane)
        l0, l1, l2 = get(motion, 3, lane)
        a0, a1, a2 = get(motion, 6, lane)
        along, speed = u0 * o0 + u1 * o1 + u2 * o2, o0 * o0 + o1 * o1 + o2 * o2
        h0, h1, h2 = cross(u0, u1, u2, l0, l1, l2)
        b0, b1, b2 = cross(a0, a1, a2, w0, w1, w2)
        c0, c1, c2 = cross(w0, w1, w2, o0, o1, o2)
        columns[lane] = u0 * a0 + u1 * a1 + u2 * a2
        put(columns, 1, lane, h0 + o0 * along - speed * u0 + b0,
            h1 + o1 * along - speed * u1 + b1, h2 + o2 * along - speed * u2 + b2)
        put(columns, 4, lane, w0 * l0 + c0 * o0, w0 * l1 + w1 * l0 + c0 * o1 + c1 * o0,
            w1 * l1 + c1 * o1)
        put(columns, 7, lane, w0 * l2 + w2 * l0 + c0 * o2 + c2 * o0,
            w1 * l2 + w2 * l1 + c1 * o2 + c2 * o1, w2 * l2 + c2 * o2)
