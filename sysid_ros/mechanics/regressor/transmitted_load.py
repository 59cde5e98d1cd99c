r"""What a joint transmits to all that it carries, linear in the inertial parameters.

A joint that never moves is put where the load is measured: its torque, or force, is the load,
and regressor and gradient of the tree give it together with its derivatives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_adjoint import regressor_gradient
from sysid_ros.robot.model import JointLimits, RobotModel
from sysid_ros.robot.tree import KinematicTree

# No joint of a description can have this name: it has no length.
_CUT = ''


def with_cut(
    robot: RobotModel, joint: str, axis: np.ndarray | None, origin: np.ndarray,
    force: bool | None,
) -> RobotModel:
    """The robot with one more joint, last, that is to be held where a load is measured.

    Args:
        robot: A robot without closed loops.
        joint: Moving joint that transmits the load; one that follows others, too.
        axis: Direction of the load in the frame of the joint at position zero, any length above
            zero, shape ``(3,)``; None for the joint's own axis.
        origin: Point of the axis of a torque, in the same frame in [m], shape ``(3,)``.
        force: Whether the load is a force rather than a torque; None for a force where the
            joint slides.

    Raises:
        ModelError: There is no such moving joint, or loops are closed.
    """
    if robot.loops is not None:
        raise ModelError(
            'the load of a joint is not told by what it carries where loops are closed',
            where=robot.name, found=f'load of joint {joint!r}', allowed='robots without loops')
    names = tuple(robot.pinocchio_model.names)[1:]
    if joint not in names:
        raise ModelError(
            'there is no such moving joint', found=repr(joint), allowed=', '.join(names),
            fix=did_you_mean(joint, names))
    body = names.index(joint)
    along = robot.tree.axis[body] if axis is None else axis / np.linalg.norm(axis)
    force = not robot.tree.revolute[body] if force is None else force
    limits = robot.limits
    none = np.full(1, np.nan)
    return replace(
        robot,
        joint_names=(*robot.joint_names, _CUT),
        joint_types=(*robot.joint_types, 'prismatic' if force else 'revolute'),
        limits=JointLimits(
            np.append(limits.lower, 0.0), np.append(limits.upper, 0.0),
            np.append(limits.velocity, none), np.append(limits.effort, none)),
        tree=_cut_tree(robot.tree, body, along, origin, not force),
    )


def _cut_tree(
    tree: KinematicTree, body: int, axis: np.ndarray, origin: np.ndarray, revolute: bool
) -> KinematicTree:
    """The tree with a massless body between a body and its parent."""
    place = tree.translation[body] + tree.rotation[body] @ origin
    parent = np.insert(np.where(tree.parent >= body, tree.parent + 1, tree.parent), body,
                       tree.parent[body])
    parent[body + 1] = body
    rotation = np.insert(tree.rotation, body, tree.rotation[body], axis=0)
    rotation[body + 1] = np.eye(3)
    translation = np.insert(tree.translation, body, place, axis=0)
    translation[body + 1] = -origin
    bodies, joints = tree.coupling.shape
    coupling = np.zeros((bodies + 1, joints + 1))
    coupling[np.arange(bodies + 1) != body, :joints] = tree.coupling
    coupling[body, joints] = 1.0
    return KinematicTree(
        parent=parent, rotation=rotation, translation=translation,
        axis=np.insert(tree.axis, body, axis, axis=0),
        revolute=np.insert(tree.revolute, body, revolute),
        coupling=coupling, coupling_offset=np.insert(tree.coupling_offset, body, 0.0),
        massless=np.insert(tree.massless, body, True),
    )


def load_regressor(
    cut: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Regressor of the transmitted load in the inertial parameters.

    Args:
        cut: What :func:`with_cut` gave, of a robot with n joints.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        a: Joint accelerations, shape ``(S, n)``.

    Returns:
        Shape ``(S, 10 b)``; the load is what is outside accelerates with, as a joint torque is.

    Raises:
        ParameterError: The arrays do not fit the robot.
    """
    return inertial_regressor(cut, *_with_resting_cut(q, v, a))[:, -1]


def load_gradient(
    cut: RobotModel, inertials: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient of the transmitted load by the motion.

    Args:
        cut: What :func:`with_cut` gave, of a robot with n joints.
        inertials: Inertial parameters of all bodies, shape ``(10 b,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        a: Joint accelerations, shape ``(S, n)``.

    Returns:
        Derivatives with respect to q, v and a, shape ``(S, n)`` each.

    Raises:
        ParameterError: The arrays do not fit the robot.
    """
    weights = np.zeros((len(q), len(cut.joint_names), len(inertials)))
    weights[:, -1] = inertials
    q, v, a = _with_resting_cut(q, v, a)
    by_q, by_v, by_a = regressor_gradient(cut, q, v, a, weights)
    return by_q[:, :-1], by_v[:, :-1], by_a[:, :-1]


def _with_resting_cut(
    q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Motion of all joints of a cut robot, the last one at rest."""
    rest = np.zeros((len(q), 1))
    return np.hstack([q, rest]), np.hstack([v, rest]), np.hstack([a, rest])
