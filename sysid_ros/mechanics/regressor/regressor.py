r"""Torque regressors of kinematic trees, batched over samples.

The torques of a rigid-body tree are linear in its inertial parameters,
:math:`\tau = Y(q, v, a)\,\phi`. The row of joint j and body i is the power of the
body's inertial wrench on the joint's screw, all written in the body's frame.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.regressor.regressor_kernels import (
    LANES,
    block_workspace,
    fill_regressor,
)
from sysid_ros.numerics.arrays import read_only
from sysid_ros.robot.model import RobotModel


def inertial_regressor(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray, *, extra_columns: int = 0
) -> np.ndarray:
    r"""Regressor of the joint torques in the standard inertial parameters.

    Args:
        robot: The robot, with b bodies and n independent joints.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.
        extra_columns: Number of columns of zeros to add at the end, for the caller to fill.

    Returns:
        Y of shape ``(T, n, 10 b + extra_columns)``, columns body by body in the order of
        ``robot.body_names``, with :math:`\tau = Y\,\phi` in [N·m] or [N]. For coupled
        bodies it is :math:`G^T Y_{tree}`, and where loops are closed with G of the
        configuration; see :mod:`sysid_ros.mechanics.closures.closed_chain`.

    Raises:
        ParameterError: The arrays do not have the robot's joints, or differ in shape.
        ModelError: Closed loops cannot be closed at a sample.

    References:
        Atkeson, An and Hollerbach 1986; Khalil and Dombre 2002, chapter 9.
    """
    if robot.loops is not None:
        return closed_chain(robot).motion(q, v, a).driven_rows(
            lambda *motion: inertial_regressor(robot.opened, *motion, extra_columns=extra_columns))
    q, v, a = tree_motion(robot, q, v, a)
    tree = robot.tree
    samples, bodies = q.shape
    regressor = np.empty((samples, bodies, 10 * bodies + extra_columns))
    fill_regressor(
        tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute, q, v, a,
        block_workspace(bodies, robot.gravity), np.empty(10 * LANES), regressor)
    if tree.massless.any():
        regressor = regressor[:, :, np.append(tree.columns, np.ones(extra_columns, dtype=bool))]
    if tree.is_coupled:
        regressor = np.einsum('jk,tjp->tkp', tree.coupling, regressor, optimize=True)
    return regressor


def tree_motion(
    robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> list[np.ndarray]:
    """Motion of every body's joint, in C order, from that of the independent joints.

    Args:
        robot: The robot, with b bodies and n independent joints.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.

    Returns:
        Positions, velocities and accelerations, shape ``(T, b)`` each, not writable.

    Raises:
        ParameterError: The arrays do not have the robot's joints, or differ in shape.
    """
    motion = [np.ascontiguousarray(x, dtype=float) for x in (q, v, a)]
    joints = len(robot.joint_names)
    if robot.loops is not None:
        chain = closed_chain(robot).motion(*motion)
        return tree_motion(robot.opened, chain.q, chain.v, chain.a)
    if robot.free_joint:
        raise ParameterError(
            'the base floats, so joint torques alone do not tell the motion', where=robot.name,
            found=f'free joint {robot.free_joint!r}',
            fix='Say robot: {base: fixed} where it was held; or robot: {base: floating}, with an '
            'IMU on it in recording: sensors (in Python with_floating_base, with the motion of the '
            'base)',
        )
    for name, array in zip('qva', motion, strict=True):
        if array.ndim != 2 or array.shape != motion[0].shape or array.shape[1] != joints:
            raise ParameterError(
                'the motion has the wrong shape', where=name, found=array.shape,
                allowed=f'(samples, {joints})',
            )
    if robot.tree.is_coupled:
        motion = [x @ robot.tree.coupling.T for x in motion]
        motion[0] += robot.tree.coupling_offset
    return [read_only(x) for x in motion]
