"""Links of the description and the moving bodies they are part of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.inertia import inertial_parameters, transform_inertial
from sysid_ros.robot.numbers import number_of, vector_of
from sysid_ros.robot.urdf import inertial_is_readable


@dataclass(frozen=True, eq=False)
class LinkPlacement:
    """A link of the description and the moving body it is part of.

    Attributes:
        name: Name of the link.
        body: Name of the moving body, which is the name of its first link.
        pose: Pose of the link frame in the body's joint frame, shape ``(4, 4)``.
        inertial: Its share of the body's inertial parameters at the joint-frame origin,
            shape ``(10,)``; zeros for a link without readable ``<inertial>``.
    """

    name: str
    body: str
    pose: np.ndarray
    inertial: np.ndarray

    def __post_init__(self) -> None:
        self.pose.setflags(write=False)
        self.inertial.setflags(write=False)


def links_on_bodies(model: pin.Model, root: etree._Element) -> tuple[LinkPlacement, ...]:
    """Every link that moves: body by body in the order of the joints, first links first.

    Args:
        model: Pinocchio model, possibly with joints locked.
        root: The ``<robot>`` element it was built from.
    """
    elements = {link.get('name'): link for link in root.findall('link')}
    first: dict[int, str] = {}
    placements = []
    for frame in sorted(model.frames, key=parent_joint):
        joint = parent_joint(frame)
        if frame.type != pin.FrameType.BODY or joint == 0:
            continue
        body = first.setdefault(joint, frame.name)
        pose = np.array(frame.placement.homogeneous)
        inertial = transform_inertial(described_inertial(elements[frame.name]), pose)
        placements.append(LinkPlacement(frame.name, body, pose, inertial))
    return tuple(placements)


def parent_joint(frame: pin.Frame) -> int:
    """Index of the joint that carries a frame, under either name Pinocchio has for it."""
    return int(frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent)


def described_inertial(link: etree._Element) -> np.ndarray:
    """Inertial parameters in the link frame as written, shape ``(10,)``.

    Zeros where ``<inertial>`` is absent or not readable; the preflight check names those.
    """
    inertial = link.find('inertial')
    if inertial is None or not inertial_is_readable(inertial):
        return np.zeros(10)
    mass = number_of(inertial.find('mass'), 'value', 0.0)
    entries = inertial.find('inertia')
    xx, xy, xz, yy, yz, zz = (
        number_of(entries, entry, 0.0) for entry in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    )
    origin = inertial.find('origin')
    com = vector_of(origin, 'xyz')
    rotation = pin.rpy.rpyToMatrix(*vector_of(origin, 'rpy'))
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return inertial_parameters(mass, np.array(com), rotation @ central @ rotation.T)
