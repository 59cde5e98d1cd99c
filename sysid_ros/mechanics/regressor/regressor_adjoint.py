r"""Gradient of any linear function of the regressor with respect to the motion.

For weights W of the shape of the regressor Y this is the gradient of
:math:`\sum_{tjp} W_{tjp} Y_{tjp}(q, v, a)`: what the gradient of an information criterion
needs, without a derivative of Y ever being stored. The entry of joint j and body i is the
torque of body i alone with the "inertial parameters" :math:`W_{ji}`, so that one
forward pass of the recursive Newton-Euler algorithm and one backward pass of its adjoint are
enough, both in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.closures.closed_gradient import closed_gradient
from sysid_ros.mechanics.regressor.regressor import inertial_regressor, tree_motion
from sysid_ros.mechanics.tree import forward_kinematics
from sysid_ros.mechanics.tree.forward_kinematics import (
    TreeJoints,
    body_forward_kinematics,
    body_velocity_and_acceleration,
    tree_joints,
)
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics import spatial_vectors
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest
from sysid_ros.numerics.spatial_vectors import Vector, cross, dot, plus, three
from sysid_ros.robot.model import RobotModel

#: Files that are compiled into :func:`fill_gradients`.
SOURCES = (compiled, forward_kinematics, spatial_vectors)


def regressor_gradient(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Gradient of :math:`\sum_{tjp} W_{tjp} Y_{tjp}(q, v, a)` of the inertial regressor.

    Args:
        robot: The robot, with b bodies and n independent joints.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.
        weights: The weights W, shape ``(T, n, 10 b)``.

    Returns:
        Derivatives with respect to q, v and a, shape ``(T, n)`` each.

    Raises:
        ParameterError: The arrays do not belong together.
    """
    if robot.loops is not None:
        return closed_gradient(
            closed_chain(robot), (q, v, a), weights,
            lambda *moved: inertial_regressor(robot.opened, *moved),
            lambda *moved: regressor_gradient(robot.opened, *moved))
    tree = robot.tree
    motion = tree_motion(robot, q, v, a)
    shape = (*q.shape, np.count_nonzero(tree.columns))
    if weights.shape != shape:
        raise ParameterError(
            'motion and weights do not belong together', found=weights.shape, allowed=shape
        )
    if tree.massless.any():
        some, weights = weights, np.zeros((*q.shape, len(tree.columns)))
        weights[:, :, tree.columns] = some
    if tree.is_coupled:
        weights = np.einsum('kj,tjp->tkp', tree.coupling, weights, optimize=True)
    gradients = np.empty((3, *motion[0].shape))
    fill_gradients(
        tree_joints(tree), robot.gravity, *motion, np.ascontiguousarray(weights), gradients)
    if tree.is_coupled:
        gradients = gradients @ tree.coupling
    return gradients[0], gradients[1], gradients[2]


@njit(**INSIDE | MAKES_ARRAYS)
def _regressor_gradient(
    tree: TreeJoints, gravity: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    weights: np.ndarray, gradients: np.ndarray,
) -> None:
    """Fill ``gradients`` ``(3, T, b)`` sample by sample by forward and adjoint passes."""
    (samples, bodies), parent, revolute = q.shape, tree.parent, tree.revolute
    pose, screw, twist = np.empty((bodies, 12)), np.empty((bodies, 3)), np.empty((bodies, 9))
    # Derivatives by axis, origin, angular velocity and acceleration, and acceleration of the
    # origin of each body, and by a rotation of it.
    adjoint, turn = np.empty((bodies, 5, 3)), np.empty((bodies, 3))
    for t in range(samples):
        for i in range(bodies):
            body_forward_kinematics(tree, pose, screw, i, q[t, i])
            body_velocity_and_acceleration(
                tree, gravity, pose, screw, twist, i, v[t, i], a[t, i])
        adjoint[:] = 0.0
        turn[:] = 0.0
        for i in range(bodies):
            j = i
            while j >= 0:
                _pair_derivatives(
                    i, j, revolute[j], weights[t, j, 10 * i:10 * i + 10], pose, screw, twist,
                    adjoint, turn)
                j = parent[j]
        for i in range(bodies - 1, -1, -1):
            gradients[0, t, i], gradients[1, t, i], gradients[2, t, i] = _backward_pass(
                i, parent[i], revolute[i], v[t, i], a[t, i], pose, screw, twist, adjoint, turn)


_Z, _P, _OMEGA, _ALPHA, _ACC = range(5)


@njit(**INSIDE)
def _times(pose: np.ndarray, x: Vector) -> Vector:
    """World components of a vector in the frame of a body of this pose."""
    return (
        pose[0] * x[0] + pose[1] * x[1] + pose[2] * x[2],
        pose[3] * x[0] + pose[4] * x[1] + pose[5] * x[2],
        pose[6] * x[0] + pose[7] * x[1] + pose[8] * x[2])


@njit(**INSIDE)
def _inertia_times(phi: np.ndarray, pose: np.ndarray, x: Vector) -> Vector:
    """World components of inertia times x, the inertia given in the body's frame."""
    b0 = pose[0] * x[0] + pose[3] * x[1] + pose[6] * x[2]
    b1 = pose[1] * x[0] + pose[4] * x[1] + pose[7] * x[2]
    b2 = pose[2] * x[0] + pose[5] * x[1] + pose[8] * x[2]
    return _times(pose, (
        phi[4] * b0 + phi[5] * b1 + phi[7] * b2,
        phi[5] * b0 + phi[6] * b1 + phi[8] * b2,
        phi[7] * b0 + phi[8] * b1 + phi[9] * b2,
    ))


@njit(**INSIDE)
def _get(row: np.ndarray) -> Vector:
    return (row[0], row[1], row[2])


@njit(**INSIDE)
def _add(row: np.ndarray, x: Vector, factor: float = 1.0) -> None:
    row[0] += factor * x[0]
    row[1] += factor * x[1]
    row[2] += factor * x[2]


@njit(**INSIDE)
def _pair_derivatives(
    i: int, j: int, revolute: bool, phi: np.ndarray, pose: np.ndarray, screw: np.ndarray,
    twist: np.ndarray, adjoint: np.ndarray, turn: np.ndarray,
) -> None:
    r"""Derivatives of the power of body i's wrench on joint j, with parameters ``phi``.

    With :math:`f = m a + \alpha \times h + \omega \times (\omega \times h)` and
    :math:`n = I\alpha + \omega \times I\omega + h \times a` the power is
    :math:`u \cdot f + w \cdot n`.
    """
    own, m, h = pose[i], phi[0], _times(pose[i], (phi[1], phi[2], phi[3]))
    omega, alpha, a = three(twist, i, 0), three(twist, i, 3), three(twist, i, 6)
    z = three(screw, j, 0)
    lever = plus(three(pose, i, 9), three(pose, j, 9), -1.0)
    u, w = (cross(z, lever), z) if revolute else (z, (0.0, 0.0, 0.0))
    spin = _inertia_times(phi, own, omega)
    along, across, square = dot(omega, h), dot(omega, u), dot(u, h)
    force = plus(cross(alpha, h), omega, along)
    force = plus(plus(force, h, -dot(omega, omega)), a, m)
    moment = plus(plus(_inertia_times(phi, own, alpha), cross(omega, spin), 1.0), cross(h, a), 1.0)
    d_a = plus(cross(w, h), u, m)
    d_alpha = plus(cross(h, u), _inertia_times(phi, own, w), 1.0)
    d_omega = plus(_inertia_times(phi, own, cross(w, omega)), cross(spin, w), 1.0)
    d_omega = plus(plus(plus(d_omega, u, along), h, across), omega, -2.0 * square)
    _add(adjoint[i, _ACC], d_a)
    _add(adjoint[i, _ALPHA], d_alpha)
    _add(adjoint[i, _OMEGA], d_omega)
    # Turning the body alone is turning all other vectors the other way.
    for x, y in ((a, d_a), (alpha, d_alpha), (omega, d_omega), (u, force), (w, moment)):
        _add(turn[i], cross(x, y), -1.0)
    if revolute:
        _add(adjoint[j, _Z], plus(moment, cross(lever, force), 1.0))
        pull = cross(force, z)
        _add(adjoint[i, _P], pull)
        _add(adjoint[j, _P], pull, -1.0)
    else:
        _add(adjoint[j, _Z], force)


@njit(**INSIDE)
def _backward_pass(
    i: int, parent: int, revolute: bool, v: float, a: float, pose: np.ndarray,
    screw: np.ndarray, twist: np.ndarray, adjoint: np.ndarray, turn: np.ndarray,
) -> Vector:
    """Adjoint pass: add the derivatives of body i to its parent's; those by its q, v and a."""
    z, d = three(screw, i, 0), three(pose, i, 9)
    omega, alpha = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if parent >= 0:
        d = plus(d, three(pose, parent, 9), -1.0)
        omega, alpha = three(twist, parent, 0), three(twist, parent, 3)
    d_a, d_alpha = _get(adjoint[i, _ACC]), _get(adjoint[i, _ALPHA])
    d_omega = _get(adjoint[i, _OMEGA])
    axis_rate = cross(omega, z)
    # What multiplies v omega x z in the motion of the body, and what multiplies a z.
    rate_adjoint, driven = (d_alpha, d_alpha) if revolute else (plus(d_a, d_a, 1.0), d_a)
    d_v = dot(rate_adjoint, axis_rate)
    d_z = plus((a * driven[0], a * driven[1], a * driven[2]), cross(rate_adjoint, omega), v)
    if revolute:
        d_v += dot(d_omega, z)
        d_z = plus(d_z, d_omega, v)
    d_d = plus(_get(adjoint[i, _P]), cross(d_a, alpha), 1.0)
    d_d = plus(plus(d_d, omega, dot(d_a, omega)), d_a, -dot(omega, omega))
    _add(turn[i], cross(z, plus(d_z, _get(adjoint[i, _Z]), 1.0)))
    if parent >= 0:
        _add(adjoint[parent, _P], _get(adjoint[i, _P]))
        _add(adjoint[parent, _ACC], d_a)
        _add(adjoint[parent, _ALPHA], plus(d_alpha, cross(d, d_a), 1.0))
        carried = plus(plus(d_omega, cross(z, rate_adjoint), v), d_a, dot(omega, d))
        carried = plus(plus(carried, d, dot(d_a, omega)), omega, -2.0 * dot(d_a, d))
        _add(adjoint[parent, _OMEGA], carried)
        _add(turn[parent], plus(_get(turn[i]), cross(d, d_d), 1.0))
    d_q = dot(_get(turn[i]), z) if revolute else dot(d_d, z)
    return (d_q, d_v, dot(driven, z))


def _compiled(sources: str) -> Callable[..., Any]:
    """The gradient as Python calls it; a digest of the files is part of what is compiled."""

    @njit(**ENTRY | MAKES_ARRAYS)
    def fill_gradients(
        tree: TreeJoints, gravity: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray, gradients: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        _regressor_gradient(tree, gravity, q, v, a, weights, gradients)

    return fill_gradients


#: See :func:`_regressor_gradient`.
fill_gradients = _compiled(digest(*SOURCES))
