"""Links of the description and the moving bodies they are part of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_ros.robot.inertia import transform_inertial


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


def links_on_bodies(
    model: pin.Model, inertials: Mapping[str, np.ndarray],
    massless: frozenset[str] = frozenset(),
) -> dict[int, list[LinkPlacement]]:
    """Every link by the joint that carries it: joints in order, first links first.

    Args:
        model: Pinocchio model, possibly with joints locked.
        inertials: Inertial parameters of the links in their own frames, ``(10,)`` each.
        massless: Links to leave out, since they have no parameters.

    Returns:
        Links per index of a joint, 0 for the base. A joint that only carries another joint
        of the same body has none.
    """
    placements: dict[int, list[LinkPlacement]] = {}
    for frame in sorted(model.frames, key=parent_joint):
        if frame.type != pin.FrameType.BODY or frame.name in massless:
            continue
        links = placements.setdefault(parent_joint(frame), [])
        body = links[0].name if links else frame.name
        pose = np.array(frame.placement.homogeneous)
        inertial = transform_inertial(inertials[frame.name], pose)
        links.append(LinkPlacement(frame.name, body, pose, inertial))
    return placements


def parent_joint(frame: pin.Frame) -> int:
    """Index of the joint that carries a frame, under either name Pinocchio has for it."""
    return int(frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent)
