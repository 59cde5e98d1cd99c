"""A planar mechanism as links, joints and closures, in the plane and without any format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sysid_ros.robot.description.planar.mechanism_settings import AngleSettings
from sysid_ros.robot.loops import LoopClosure


@dataclass(frozen=True)
class PlanarJoint:
    """A joint of the tree.

    Attributes:
        name: That of an angle or slider of the file, or one after the child.
        kind: Whether it turns or slides.
        parent: Link that carries it.
        child: Link that it moves, whose frame is the frame of the joint.
        origin: Pose of the joint frame at position zero in the parent: x and y in [m], the angle
            in [rad].
        axis: About z, or along x and y of the joint frame, shape ``(3,)``.
        position: In [rad] or [m] as the mechanism is assembled.
    """

    name: str
    kind: Literal['continuous', 'prismatic']
    parent: str
    child: str
    origin: tuple[float, float, float]
    axis: tuple[float, float, float]
    position: float


@dataclass(frozen=True)
class PlanarLink:
    """A link of the tree.

    Attributes:
        name: That of the body, or of a block or pin.
        shift: Origin of the link frame in the axes of the body in [m]; the axes are the same.
        mass: In [kg]; zero for what has no inertia at all.
        center: Centre of mass in the link frame in [m].
        inertia: Moment of inertia about it in [kg·m²].
    """

    name: str
    shift: tuple[float, float]
    mass: float = 0.0
    center: tuple[float, float] = (0.0, 0.0)
    inertia: float = 0.0


@dataclass(frozen=True, eq=False)
class PlanarTree:
    """A planar mechanism as a tree of joints and what closes its loops.

    Attributes:
        name: Name of the mechanism.
        gravity: In the plane in [m/s²].
        ground: Name of the link that stands still.
        links: The moving links.
        joints: The joints, parents first.
        closures: What closes the loops; none for an open chain.
        actuated: Joints that determine all others; empty for an open chain.
        angles: What acts along the joints that are angles of the file, by their names.
    """

    name: str
    gravity: tuple[float, float]
    ground: str
    links: tuple[PlanarLink, ...]
    joints: tuple[PlanarJoint, ...]
    closures: tuple[LoopClosure, ...]
    actuated: tuple[str, ...]
    angles: Mapping[str, AngleSettings]

    @property
    def massless(self) -> frozenset[str]:
        """Links without any inertia."""
        return frozenset(link.name for link in self.links if not link.mass)

    @property
    def assembly(self) -> dict[str, float]:
        """Positions in [rad] or [m] of all joints as the mechanism is assembled."""
        return {joint.name: joint.position for joint in self.joints}
