r"""Torque regressors of kinematic trees, batched over samples.

The torques of a rigid-body tree are linear in its inertial parameters,
:math:`\tau = Y(q, v, a)\,\phi`. The row of joint j and body i is the power of the
body's inertial wrench on the joint's screw, all written in the body's frame.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.errors import ParameterError
from sysid_ros.robot.model import RobotModel


def inertial_regressor(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    r"""Regressor of the joint torques in the standard inertial parameters.

    Args:
        robot: The robot, with b bodies and n independent joints.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.

    Returns:
        Y of shape ``(T, n, 10 b)``, columns body by body in the order of
        ``robot.body_names``, with :math:`\tau = Y\,\phi` in [N·m] or [N]. For coupled
        bodies it is :math:`G^T Y_{tree}`.

    Raises:
        ParameterError: The arrays do not have the robot's joints, or differ in shape.

    References:
        Atkeson, An and Hollerbach 1986; Khalil and Dombre 2002, chapter 9.
    """
    motion = [np.ascontiguousarray(x, dtype=float) for x in (q, v, a)]
    joints = len(robot.joint_names)
    for name, array in zip('qva', motion, strict=True):
        if array.ndim != 2 or array.shape != motion[0].shape or array.shape[1] != joints:
            raise ParameterError(
                'the motion has the wrong shape', where=name, found=array.shape,
                allowed=f'(samples, {joints})',
            )
    tree = robot.tree
    if tree.is_coupled:
        coupling = tree.coupling
        motion = [x @ coupling.T for x in motion]
        motion[0] += tree.coupling_offset
    regressor = _tree_regressor(
        tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute,
        np.asarray(robot.gravity), *motion,
    )
    if tree.is_coupled:
        regressor = np.einsum('jk,tjp->tkp', tree.coupling, regressor, optimize=True)
    return regressor


@njit(cache=True)
def _cross(x, y, out):
    out[0] = x[1] * y[2] - x[2] * y[1]
    out[1] = x[2] * y[0] - x[0] * y[2]
    out[2] = x[0] * y[1] - x[1] * y[0]


@njit(cache=True)
def _joint_rotation(placement, axis, angle, out):
    """``placement`` times the rotation by ``angle`` about the unit vector ``axis``."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = axis
    k = 1.0 - c
    r00, r01, r02 = c + x * x * k, x * y * k - z * s, x * z * k + y * s
    r10, r11, r12 = y * x * k + z * s, c + y * y * k, y * z * k - x * s
    r20, r21, r22 = z * x * k - y * s, z * y * k + x * s, c + z * z * k
    for i in range(3):
        p0, p1, p2 = placement[i, 0], placement[i, 1], placement[i, 2]
        out[i, 0] = p0 * r00 + p1 * r10 + p2 * r20
        out[i, 1] = p0 * r01 + p1 * r11 + p2 * r21
        out[i, 2] = p0 * r02 + p1 * r12 + p2 * r22


@njit(cache=True)
def _to_child(rotation, x, out):
    """Components in the child's axes of a vector given in the parent's."""
    for i in range(3):
        out[i] = rotation[0, i] * x[0] + rotation[1, i] * x[1] + rotation[2, i] * x[2]


@njit(cache=True)
def _tree_regressor(parent, rotation, translation, axis, revolute, gravity, q, v, a):
    samples, bodies = q.shape
    regressor = np.zeros((samples, bodies, 10 * bodies))
    turn = np.empty((bodies, 3, 3))
    shift = np.empty((bodies, 3))
    omega = np.empty((bodies, 3))
    alpha = np.empty((bodies, 3))
    acceleration = np.empty((bodies, 3))
    lever, swing, total = np.empty(3), np.empty(3), np.empty(3)
    push, spin = np.empty(3), np.empty(3)
    still = np.zeros(3)
    for t in range(samples):
        for i in range(bodies):
            _body_motion(
                i, parent[i], rotation, translation, axis, revolute, gravity, q[t], v[t], a[t],
                turn, shift, omega, alpha, acceleration, still, lever, swing, total,
            )
        for i in range(bodies):
            _body_columns(
                i, parent, axis, revolute, turn, shift, omega[i], alpha[i], acceleration[i],
                push, spin, lever, swing, regressor[t],
            )
    return regressor


@njit(cache=True)
def _body_motion(
    i, p, rotation, translation, axis, revolute, gravity, q, v, a,
    turn, shift, omega, alpha, acceleration, still, lever, swing, total,
):
    """Velocity and acceleration of body i in its own axes, gravity taken as acceleration."""
    shift[i] = translation[i]
    if revolute[i]:
        _joint_rotation(rotation[i], axis[i], q[i], turn[i])
    else:
        turn[i] = rotation[i]
        for k in range(3):
            for m in range(3):
                shift[i, k] += rotation[i, k, m] * axis[i, m] * q[i]
    if p < 0:
        omega_p, alpha_p = still, still
        for k in range(3):
            total[k] = -gravity[k]
    else:
        omega_p, alpha_p = omega[p], alpha[p]
        _cross(omega_p, shift[i], lever)
        _cross(omega_p, lever, swing)
        _cross(alpha_p, shift[i], lever)
        for k in range(3):
            total[k] = acceleration[p, k] + swing[k] + lever[k]
    _to_child(turn[i], omega_p, omega[i])
    _to_child(turn[i], alpha_p, alpha[i])
    _to_child(turn[i], total, acceleration[i])
    _cross(omega[i], axis[i], lever)
    for k in range(3):
        if revolute[i]:
            alpha[i, k] += axis[i, k] * a[i] + lever[k] * v[i]
            omega[i, k] += axis[i, k] * v[i]
        else:
            acceleration[i, k] += axis[i, k] * a[i] + 2.0 * lever[k] * v[i]


@njit(cache=True)
def _body_columns(
    i, parent, axis, revolute, turn, shift, omega, alpha, acceleration,
    push, spin, lever, moved, rows,
):
    """Columns of body i in the rows of every joint that carries it."""
    o0, o1, o2 = omega
    l0, l1, l2 = alpha
    a0, a1, a2 = acceleration
    speed = o0 * o0 + o1 * o1 + o2 * o2
    first = 10 * i
    # Vector from the origin of the joint that is visited to the origin of body i, and the
    # rotation from that joint's frame into body i, built while walking to the root.
    arm = np.zeros(3)
    into = np.eye(3)
    step = np.empty((3, 3))
    j = i
    while j >= 0:
        if revolute[j]:
            _cross(axis[j], arm, lever)
            _rotate_out(into, lever, push)
            _rotate_out(into, axis[j], spin)
        else:
            _rotate_out(into, axis[j], push)
            spin[:] = 0.0
        u0, u1, u2 = push
        w0, w1, w2 = spin
        along = u0 * o0 + u1 * o1 + u2 * o2
        row = rows[j]
        row[first] = u0 * a0 + u1 * a1 + u2 * a2
        row[first + 1] = u1 * l2 - u2 * l1 + o0 * along - speed * u0 + a1 * w2 - a2 * w1
        row[first + 2] = u2 * l0 - u0 * l2 + o1 * along - speed * u1 + a2 * w0 - a0 * w2
        row[first + 3] = u0 * l1 - u1 * l0 + o2 * along - speed * u2 + a0 * w1 - a1 * w0
        c0 = w1 * o2 - w2 * o1
        c1 = w2 * o0 - w0 * o2
        c2 = w0 * o1 - w1 * o0
        row[first + 4] = w0 * l0 + c0 * o0
        row[first + 5] = w0 * l1 + w1 * l0 + c0 * o1 + c1 * o0
        row[first + 6] = w1 * l1 + c1 * o1
        row[first + 7] = w0 * l2 + w2 * l0 + c0 * o2 + c2 * o0
        row[first + 8] = w1 * l2 + w2 * l1 + c1 * o2 + c2 * o1
        row[first + 9] = w2 * l2 + c2 * o2
        for k in range(3):
            moved[k] = shift[j, k]
            for m in range(3):
                moved[k] += turn[j, k, m] * arm[m]
                step[m, k] = (
                    into[m, 0] * turn[j, k, 0] + into[m, 1] * turn[j, k, 1]
                    + into[m, 2] * turn[j, k, 2]
                )
        arm[:] = moved
        into[:] = step
        j = parent[j]


@njit(cache=True)
def _rotate_out(matrix, x, out):
    for k in range(3):
        out[k] = matrix[k, 0] * x[0] + matrix[k, 1] * x[1] + matrix[k, 2] * x[2]
