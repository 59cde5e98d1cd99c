r"""Torques of the bodies of kinematic trees by the recursive Newton-Euler algorithm.

They are :math:`Y(q, v, a)\,\phi` without the regressor, several times as fast. A block of samples
at a time, lane by lane; see :mod:`sysid_ros.mechanics.regressor.regressor_kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.regressor import regressor_kernels
from sysid_ros.mechanics.regressor.regressor import tree_motion
from sysid_ros.mechanics.regressor.regressor_kernels import (
    LANES,
    BlockWorkspace,
    block_workspace,
    cross,
    forward_kinematics,
    get,
    put,
    turn,
)
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.robot.model import RobotModel

#: Files that are compiled into :func:`fill_torque`.
SOURCES = (regressor_kernels,)


def recursive_newton_euler(
    robot: RobotModel, inertials: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    r"""Joint torques of the bodies alone, :math:`M(q)\,a + C v + g`.

    Args:
        robot: The robot, with b bodies and n independent joints.
        inertials: Parameters of the bodies in the order of ``robot.body_names``, ``(10 b,)``.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.

    Returns:
        Torques in [N·m] or [N], shape ``(T, n)``.

    Raises:
        ParameterError: The arrays do not have the robot's joints, or differ in shape.
        ModelError: Closed loops cannot be closed at a sample.

    References:
        Featherstone 2008, section 5.3.
    """
    if robot.loops is not None:
        return closed_chain(robot).motion(q, v, a).driven_rows(
            lambda *motion: recursive_newton_euler(robot.opened, inertials, *motion)[..., None]
        )[..., 0]
    q, v, a = tree_motion(robot, q, v, a)
    tree = robot.tree
    every = np.zeros(10 * q.shape[1])
    every[tree.columns] = inertials
    torque = np.empty(q.shape)
    fill_torque(
        tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute,
        every.reshape(-1, 10), q, v, a, block_workspace(q.shape[1], robot.gravity),
        np.empty((q.shape[1], 6 * LANES)), torque)
    return torque @ tree.coupling if tree.is_coupled else torque


@njit(**INSIDE)
def _fill_torque(
    parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
    revolute: np.ndarray, inertials: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    work: BlockWorkspace, wrench: np.ndarray, torque: np.ndarray,
) -> None:
    """Write the torques of a tree.

    Args:
        parent: Shape ``(b,)``; all up to ``revolute`` as for
            :func:`~sysid_ros.mechanics.regressor.regressor_kernels.fill_regressor`.
        rotation: Shape ``(b, 3, 3)``.
        translation: Shape ``(b, 3)``.
        axis: Shape ``(b, 3)``.
        revolute: Shape ``(b,)``.
        inertials: Of every body, shape ``(b, 10)``.
        q: Motion of every body's joint, shape ``(T, b)``, as the next two.
        v: Velocities.
        a: Accelerations.
        work: That of :func:`~sysid_ros.mechanics.regressor.regressor_kernels.block_workspace`.
        wrench: Workspace, shape ``(b, 6 * LANES)``.
        torque: What is written, shape ``(T, b)``.
    """
    samples, bodies = q.shape
    pose, motion, screw, _ = work
    for start in range(0, samples, LANES):
        count = min(LANES, samples - start)
        forward_kinematics(
            parent, rotation, translation, axis, revolute, q[start:start + count],
            v[start:start + count], a[start:start + count], work)
        for i in range(bodies):
            _body_wrench(inertials[i], pose[i + 1], motion[i + 1], wrench[i])
        for i in range(bodies - 1, -1, -1):
            first = 3 if revolute[i] else 0
            for lane in range(count):
                z0, z1, z2 = get(screw[i], 0, lane)
                w0, w1, w2 = get(wrench[i], first, lane)
                torque[start + lane, i] = z0 * w0 + z1 * w1 + z2 * w2
            before = parent[i]
            if before >= 0:
                _add_wrench(pose[i + 1], wrench[i], pose[before + 1], wrench[before])


@njit(**INSIDE)
def _body_wrench(
    phi: np.ndarray, pose: np.ndarray, motion: np.ndarray, wrench: np.ndarray
) -> None:
    r"""Force on a body and its moment about the body's origin, in the world's axes.

    In the body's axes, with :math:`I` about its origin,

    .. math::
        f = m a + \alpha \times h + \omega \times (\omega \times h), \quad
        n = I\alpha + \omega \times I\omega + h \times a
    """
    m, h0, h1, h2 = phi[0], phi[1], phi[2], phi[3]
    xx, xy, yy, xz, yz, zz = phi[4], phi[5], phi[6], phi[7], phi[8], phi[9]
    for lane in range(LANES):
        o0, o1, o2 = get(motion, 0, lane)
        l0, l1, l2 = get(motion, 3, lane)
        a0, a1, a2 = get(motion, 6, lane)
        s0, s1, s2 = cross(o0, o1, o2, h0, h1, h2)
        s0, s1, s2 = cross(o0, o1, o2, s0, s1, s2)
        t0, t1, t2 = cross(l0, l1, l2, h0, h1, h2)
        f0, f1, f2 = turn(
            pose, lane, m * a0 + t0 + s0, m * a1 + t1 + s1, m * a2 + t2 + s2)
        g0, g1, g2 = cross(
            o0, o1, o2, xx * o0 + xy * o1 + xz * o2, xy * o0 + yy * o1 + yz * o2,
            xz * o0 + yz * o1 + zz * o2)
        b0, b1, b2 = cross(h0, h1, h2, a0, a1, a2)
        n0, n1, n2 = turn(
            pose, lane, xx * l0 + xy * l1 + xz * l2 + g0 + b0,
            xy * l0 + yy * l1 + yz * l2 + g1 + b1, xz * l0 + yz * l1 + zz * l2 + g2 + b2)
        put(wrench, 0, lane, f0, f1, f2)
        put(wrench, 3, lane, n0, n1, n2)


@njit(**INSIDE)
def _add_wrench(
    pose: np.ndarray, wrench: np.ndarray, pose_before: np.ndarray, before: np.ndarray
) -> None:
    """Add the wrench of a body to that of its parent, about the parent's origin."""
    for lane in range(LANES):
        p0, p1, p2 = get(pose, 9, lane)
        o0, o1, o2 = get(pose_before, 9, lane)
        f0, f1, f2 = get(wrench, 0, lane)
        n0, n1, n2 = get(wrench, 3, lane)
        c0, c1, c2 = cross(p0 - o0, p1 - o1, p2 - o2, f0, f1, f2)
        g0, g1, g2 = get(before, 0, lane)
        m0, m1, m2 = get(before, 3, lane)
        put(before, 0, lane, g0 + f0, g1 + f1, g2 + f2)
        put(before, 3, lane, m0 + n0 + c0, m1 + n1 + c1, m2 + n2 + c2)


def _compiled(sources: str) -> Callable[..., Any]:
    """The compiled entry; see :func:`~sysid_ros.numerics.jit.digest` for the argument."""

    @njit(nogil=True, **ENTRY)
    def fill_torque(
        parent: np.ndarray, rotation: np.ndarray, translation: np.ndarray, axis: np.ndarray,
        revolute: np.ndarray, inertials: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        work: BlockWorkspace, wrench: np.ndarray, torque: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        _fill_torque(
            parent, rotation, translation, axis, revolute, inertials, q, v, a, work, wrench, torque)

    return fill_torque


#: See :func:`_fill_torque`.
fill_torque = _compiled(digest(*SOURCES))
