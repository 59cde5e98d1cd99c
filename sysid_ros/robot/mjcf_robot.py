"""An MJCF in the words that all formats share; MuJoCo itself is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.couplings import Mimic, resolve_mimics
from sysid_ros.robot.described import DescribedJoint, DescribedRobot
from sysid_ros.robot.mjcf_loops import actuated_joints, read_closures
from sysid_ros.robot.mjcf_tree import MjcfBody, MjcfJoint, actuator_limits, read_bodies
from sysid_ros.robot.mjcf_values import plain_attributes, values_of
from sysid_ros.robot.urdf import RobotDescription


def mjcf_robot(description: RobotDescription) -> DescribedRobot:
    """Read a checked MJCF.

    Bodies on the world become one tree, however many there are. A body with several joints
    becomes a chain whose inner joints carry nothing. Where a joint leaves a body free, that
    body is the base.

    Args:
        description: An MJCF without fatal findings.
    """
    root = description.root
    everything = read_bodies(root)
    bodies = _on_free_body(everything)
    joints = [joint for body in bodies for joint in body.joints]
    reference = {joint.name: joint.reference for joint in joints}
    mimics, held = _couplings(root, reference)
    limits = actuator_limits(root)
    return DescribedRobot(
        name=root.get('model', 'robot'),
        model=build_model(bodies),
        joints={
            joint.name: _with_effort(joint.described, limits.get(joint.name, np.nan))
            for joint in joints
        },
        inertials={body.name: body.inertial for body in bodies},
        mimics=mimics,
        held=held,
        gravity=_gravity(root),
        free_joint=next((body.free_joint for body in bodies if body.free_joint), ''),
        closures=read_closures(root, everything),
        actuated=actuated_joints(root),
    )


def _on_free_body(bodies: Sequence[MjcfBody]) -> Sequence[MjcfBody]:
    """Where a body is free, it and all that it carries: the base of a robot that floats."""
    kept: dict[int, MjcfBody] = {}
    for body in bodies:
        if body.free_joint is not None or body.parent in kept:
            kept[body.index] = body
    return tuple(kept.values()) or bodies


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


def _couplings(
    root: etree._Element, reference: dict[str, float]
) -> tuple[dict[str, Mimic], dict[str, float]]:
    """Joints that follow others by an equality, and joints that one holds."""
    direct, held = {}, {}
    for name, source, (shift, ratio) in joint_equalities(root):
        if source and ratio != 0.0:
            offset = reference[name] + shift - ratio * reference[source]
            direct[name] = Mimic(source, ratio, offset)
        else:
            held[name] = reference[name] + shift
    return resolve_mimics(direct), held


def joint_equalities(root: etree._Element) -> list[tuple[str, str, tuple[float, ...]]]:
    """Active equalities of joints: the joint, the one it follows, shift and ratio."""
    found = []
    for group in root.findall('equality'):
        for element in group.findall('joint'):
            given = plain_attributes(element)
            if given.get('active', 'true') == 'true':
                polynomial = values_of(given, 'polycoef', (0.0, 1.0, 0.0, 0.0, 0.0))
                found.append((given.get('joint1', ''), given.get('joint2', ''), polynomial[:2]))
    return found


def _gravity(root: etree._Element) -> tuple[float, ...]:
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    for option in root.findall('option'):
        gravity = values_of(plain_attributes(option), 'gravity', gravity)
        if any(flag.get('gravity') == 'disable' for flag in option.findall('flag')):
            return (0.0, 0.0, 0.0)
    return gravity
