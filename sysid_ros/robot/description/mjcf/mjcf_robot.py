"""An MJCF in the words that all formats share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from sysid_ros.robot.description.described import DescribedJoint, DescribedRobot
from sysid_ros.robot.description.mjcf.actuators import actuated_joints, actuator_limits
from sysid_ros.robot.description.mjcf.bodies import MjcfBody, MjcfJoint, read_bodies, robot_bodies
from sysid_ros.robot.description.mjcf.equalities import read_closures, read_couplings
from sysid_ros.robot.description.mjcf.source import CompiledMjcf
from sysid_ros.robot.description.urdf import RobotDescription

# MuJoCo's flag of models without gravity.
_NO_GRAVITY = 1 << 7


def mjcf_robot(description: RobotDescription) -> DescribedRobot:
    """Read a checked MJCF.

    Bodies on the world become one tree, however many there are. A body with several joints
    becomes a chain whose inner joints carry nothing. Where all joints hang on a body that is free,
    that body is the base; free bodies without joints are no part of the robot.

    Args:
        description: An MJCF without fatal findings.

    Raises:
        ModelError: MuJoCo is not installed.
    """
    source = description.compiled
    bodies = robot_bodies(read_bodies(source))
    couplings, limits = read_couplings(source), actuator_limits(source)
    joints = [joint for body in bodies for joint in body.joints]
    names = {joint.name for joint in joints}
    return DescribedRobot(
        name=description.root.get('model', 'robot'),
        model=build_model(bodies),
        joints={
            joint.name: _with_effort(joint.described, limits.get(joint.name, np.nan))
            for joint in joints
        },
        inertials={body.name: body.inertial for body in bodies},
        mimics={name: mimic for name, mimic in couplings.mimics.items() if name in names},
        held={name: at for name, at in couplings.held.items() if name in names},
        gravity=_gravity(source),
        free_joint=next((body.free_joint for body in bodies if body.free_joint), ''),
        closures=read_closures(source, bodies)[0],
        actuated=tuple(name for name in actuated_joints(source) if name in names),
    )


def build_model(bodies: Sequence[MjcfBody]) -> pin.Model:
    """The bodies in Pinocchio: a frame for every body, a joint for every hinge and slide.

    Args:
        bodies: Parents first, the base at the beginning.
    """
    model = pin.Model()
    carried: dict[int, tuple[int, np.ndarray]] = {}
    for body in bodies:
        joint, pose = 0, np.eye(4)
        if body.parent in carried:
            joint, pose = carried[body.parent]
            pose = pose @ body.pose
        for one in body.joints:
            joint, pose = _append(model, joint, pose, one)
        placement = pin.SE3(pose[:3, :3], pose[:3, 3])
        if body.inertial[0] != 0.0:
            inertia = pin.Inertia.FromDynamicParameters(body.inertial)
            model.appendBodyToJoint(joint, inertia, placement)
        model.addBodyFrame(body.name, joint, placement, 0)
        carried[body.index] = joint, pose
    return model


def _append(
    model: pin.Model, parent: int, pose: np.ndarray, joint: MjcfJoint
) -> tuple[int, np.ndarray]:
    """Add a joint; returns its index and the pose of the body frame in its frame."""
    anchor = np.eye(4)
    anchor[:3, 3] = joint.anchor
    placement = pose @ anchor
    if joint.described.kind == 'prismatic':
        kind = pin.JointModelPrismaticUnaligned(joint.axis)
        placement[:3, 3] -= placement[:3, :3] @ joint.axis * joint.reference
    else:
        kind = pin.JointModelRevoluteUnaligned(joint.axis)
        placement[:3, :3] = placement[:3, :3] @ pin.exp3(-joint.axis * joint.reference)
    index = model.addJoint(
        parent, kind, pin.SE3(placement[:3, :3], placement[:3, 3]), joint.name
    )
    model.addJointFrame(index)
    return int(index), np.linalg.inv(anchor)


def _with_effort(joint: DescribedJoint, limit: float) -> DescribedJoint:
    return replace(joint, effort=float(np.fmin(joint.effort, limit)))


def _gravity(source: CompiledMjcf) -> tuple[float, ...]:
    option = source.model.opt
    if option.disableflags & _NO_GRAVITY:
        return (0.0, 0.0, 0.0)
    return tuple(float(part) for part in option.gravity)
