r"""Robots whose base moves: six more joints in front, which carry the base as one more body.

The joints slide along and turn about the axes of the base frame. Kept at position zero, their
velocities and accelerations say every motion of the base, and their torques are the force and
the moment on it: nothing else has to know that the base floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.described import DescribedJoint
from sysid_ros.robot.links import parent_joint
from sysid_ros.robot.loop_closing import with_loops
from sysid_ros.robot.loops import WORLD, LoopClosure
from sysid_ros.robot.model import JointLimits, RobotModel
from sysid_ros.robot.tree import KinematicTree

_AXES = ('x', 'y', 'z')
_KINDS = ('prismatic',) * 3 + ('continuous',) * 3


def with_floating_base(robot: RobotModel) -> RobotModel:
    """The robot with its base as a body of ten parameters, free to move.

    Args:
        robot: A robot described with its base at rest, or by an MJCF with a free joint.

    Returns:
        A robot whose first six joints are ``<base>.force_x`` … ``<base>.moment_z``. Its
        gravity is zero: gravity is part of the acceleration of the base, see
        :class:`~sysid_ros.mechanics.tree.base_motion.BaseMotion`. Joint terms leave these joints
        out unless they name them.

    Raises:
        ModelError: The base floats already, or stands on the world of an MJCF.
    """
    if robot.loops is not None:
        loops = robot.loops
        return with_loops(
            with_floating_base(robot.opened), _on_base(robot, loops.closures), robot.joint_names,
            dict(zip(loops.joint_names, loops.assembly.tolist(), strict=True)))
    if robot.base_joints:
        raise ModelError('the base floats already', where=robot.name)
    if robot.description.format == 'mjcf' and not robot.free_joint:
        raise ModelError(
            'the base of this MJCF is the world', where=robot.name,
            fix='Give the body that floats a <freejoint/>',
        )
    names = tuple(
        f'{robot.base_name}.{what}_{axis}' for what in ('force', 'moment') for axis in _AXES
    )
    joints = dict(zip(names, map(DescribedJoint, _KINDS), strict=True))
    return replace(
        robot,
        joint_names=(*names, *robot.joint_names),
        joint_types=(*_KINDS, *robot.joint_types),
        body_names=(robot.base_name, *robot.body_names),
        links=(*robot.base_links, *robot.links),
        inertial_prior=np.vstack([robot.base_inertial, robot.inertial_prior]),
        limits=_floating_limits(robot.limits),
        gravity=np.zeros(3),
        described_joints={**joints, **robot.described_joints},
        free_joint='',
        base_joints=names,
        tree=_floating_tree(robot.tree),
        pinocchio_model=_floating_model(robot, names),
    )


def _on_base(robot: RobotModel, closures: Sequence[LoopClosure]) -> list[LoopClosure]:
    """Closures whose places on the base move with it, where they were called the world's."""
    names = {WORLD: robot.base_name}
    return [
        replace(closure, links=(
            names.get(closure.links[0], closure.links[0]),
            names.get(closure.links[1], closure.links[1])))
        for closure in closures
    ]


def _floating_limits(limits: JointLimits) -> JointLimits:
    """Limits with six joints of the base before them, which have none."""
    endless, unknown = np.full(6, np.inf), np.full(6, np.nan)
    return JointLimits(
        lower=np.concatenate([-endless, limits.lower]),
        upper=np.concatenate([endless, limits.upper]),
        velocity=np.concatenate([unknown, limits.velocity]),
        effort=np.concatenate([unknown, limits.effort]),
    )


def _floating_tree(tree: KinematicTree) -> KinematicTree:
    joints = tree.coupling.shape[1]
    coupling = np.zeros((6 + len(tree.parent), 6 + joints))
    coupling[:6, :6] = np.eye(6)
    coupling[6:, 6:] = tree.coupling
    return KinematicTree(
        parent=np.concatenate([np.arange(-1, 5), np.where(tree.parent < 0, 5, tree.parent + 6)]),
        rotation=np.concatenate([np.tile(np.eye(3), (6, 1, 1)), tree.rotation]),
        translation=np.concatenate([np.zeros((6, 3)), tree.translation]),
        axis=np.concatenate([np.eye(3), np.eye(3), tree.axis]),
        revolute=np.concatenate([[False] * 3, [True] * 3, tree.revolute]),
        coupling=coupling,
        coupling_offset=np.concatenate([np.zeros(6), tree.coupling_offset]),
        massless=np.concatenate([[True] * 5, [False], tree.massless]),
    )


def _floating_model(robot: RobotModel, names: tuple[str, ...]) -> pin.Model:
    fixed, model = robot.pinocchio_model, pin.Model()
    model.gravity.linear = np.zeros(3)
    kinds = (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ(),
             pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())
    joint = 0
    for name, kind in zip(names, kinds, strict=True):
        joint = model.addJoint(joint, kind, pin.SE3.Identity(), name)
        model.addJointFrame(joint)
    if robot.base_inertial[0] != 0.0:
        inertia = pin.Inertia.FromDynamicParameters(robot.base_inertial)
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    for index in range(1, fixed.njoints):
        added = model.addJoint(
            fixed.parents[index] + 6, fixed.joints[index], fixed.jointPlacements[index],
            fixed.names[index],
        )
        model.addJointFrame(added)
        model.inertias[added] = fixed.inertias[index]
    for frame in fixed.frames:
        if frame.type == pin.FrameType.BODY:
            model.addBodyFrame(frame.name, parent_joint(frame) + 6, frame.placement, 0)
    return model
