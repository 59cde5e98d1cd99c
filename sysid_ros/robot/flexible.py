"""Flexible objects that an arm holds: rods and loops as chains of links with torsional springs.

Links follow each other by two angles: a rotation about x, which bends a loop in its plane, then
one about y, which bends it out of it. Everything is written as a URDF and closures, so that all
else works on it as on any robot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.numbers import written_numbers
from sysid_ros.robot.description.safe_xml import parse_xml
from sysid_ros.robot.loops import ClosureSettings, LoopSettings, PlaceSettings
from sysid_ros.robot.model import RobotModel

#: Stiffness or damping: alike everywhere, or segment by segment from the gripper on.
PerJoint = float | Sequence[float]


@dataclass(frozen=True)
class FlexibleObject(ABC):
    """Base of flexible rods and loops: a chain of links with springs and dampers.

    Attributes:
        name: First part of the names of its links and joints.
        links: How many links it is made of.
        mass: In [kg].
        thickness: Diameter in [m].
        stiffness: About x and about y in [N·m/rad], each alike or joint by joint: along the rod,
            or along the first branch of the loop and then along the second.
        damping: About x and about y in [N·m·s/rad], in the order of ``stiffness``.
        clamped: Whether the far end is clamped in the world.
    """

    name: str
    links: int
    mass: float
    thickness: float
    stiffness: tuple[PerJoint, PerJoint]
    damping: tuple[PerJoint, PerJoint]
    clamped: bool = field(kw_only=True, default=True)

    def __post_init__(self) -> None:
        self._require_positive('links', 'mass', 'thickness')
        for name in ('stiffness', 'damping'):
            for part in getattr(self, name):
                values = np.atleast_1d(np.asarray(part, dtype=float))
                if len(values) not in (1, self.links) or not (
                        (values >= 0.0) & np.isfinite(values)).all():
                    self._refuse(name, part, f'one value or {self.links}, finite, not negative')

    def _require_positive(self, *names: str) -> None:
        for name in names:
            if not 0 < getattr(self, name) < np.inf:
                self._refuse(name, getattr(self, name), 'above zero, and finite')

    def _refuse(self, name: str, found: object, allowed: str) -> None:
        raise ModelError(
            'the flexible object cannot be built', where=f'{self.name}.{name}', found=found,
            allowed=allowed)

    @property
    @abstractmethod
    def branches(self) -> tuple[tuple[str, float, float, int], ...]:
        """Name, first angle, angle from link to link, and number of links of each branch."""

    @property
    @abstractmethod
    def link_length(self) -> float:
        """In [m]."""

    def along(self, values: PerJoint) -> np.ndarray:
        """Stiffness or damping of every joint, shape ``(links,)``."""
        return np.broadcast_to(np.asarray(values, dtype=float), (self.links,)).copy()


@dataclass(frozen=True)
class FlexibleRod(FlexibleObject):
    """A straight rod that leaves the gripper along z.

    Attributes:
        length: In [m].
    """

    length: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive('length')

    @property
    def branches(self) -> tuple[tuple[str, float, float, int], ...]:
        """The rod itself."""
        return (('rod', 0.0, 0.0, self.links),)

    @property
    def link_length(self) -> float:
        """In [m]."""
        return self.length / self.links


@dataclass(frozen=True)
class FlexibleLoop(FlexibleObject):
    """A loop that is held at one corner and clamped at the opposite one, along z of the gripper.

    At rest it is a regular polygon in the plane of y and z with its corners on a circle.

    Attributes:
        radius: Of that circle in [m].
    """

    radius: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive('radius')
        if self.links % 2 or self.links < 4:
            self._refuse('links', self.links, 'an even number of at least four')
        if not self.clamped:
            self._refuse('clamped', self.clamped, 'True: its branches meet where it is clamped')

    @property
    def branches(self) -> tuple[tuple[str, float, float, int], ...]:
        """Both ways around."""
        half, turn = self.links // 2, 2.0 * np.pi / self.links
        first = 0.5 * np.pi - 0.5 * turn
        return (('left', -first, turn, half), ('right', first, -turn, half))

    @property
    def link_length(self) -> float:
        """In [m]."""
        return float(2.0 * self.radius * np.sin(np.pi / self.links))


@dataclass(frozen=True, eq=False)
class AttachedObject:
    """An arm with a flexible object in its gripper.

    Attributes:
        urdf: Both as one tree.
        loops: The closures at the clamped ends; none for a free rod.
        joints: Joints that bend about x, then those that bend about y, in the order of their
            stiffness.
        stiffness: Of these in [N·m/rad], by joint; a URDF has no word for it.
    """

    urdf: str
    loops: tuple[ClosureSettings, ...]
    joints: tuple[tuple[str, ...], tuple[str, ...]]
    stiffness: dict[str, float]

    def settings(self, actuated: Sequence[str], assembly: dict[str, float]) -> LoopSettings:
        """The file beside the URDF that closes its loops.

        Args:
            actuated: Joints with motors.
            assembly: Positions of the arm's joints where the object is at rest.
        """
        return LoopSettings(
            actuated=tuple(actuated), closures=self.loops, assembly=dict(assembly))


def attach(
    arm: RobotModel, link: str, held: FlexibleObject, *, pose: np.ndarray,
    at: dict[str, float] | None = None,
) -> AttachedObject:
    """Attach a flexible object to a gripper, and clamp its far end where it is then.

    Args:
        arm: The arm, from a URDF.
        link: Its link that holds the object.
        held: The object, undeformed.
        pose: Where it is held in that link, z pointing to its far end, shape ``(4, 4)``.
        at: Joint positions of the arm when the object was clamped; zero where left out.

    Raises:
        ModelError: The arm has no such link or joint, is no URDF, or has such links already.
    """
    if arm.description.format != 'urdf':
        raise ModelError(
            'a flexible object can be attached to a URDF only', where=arm.name,
            found=arm.description.format,
            fix='Describe the arm by a URDF')
    body, place = arm.place_of(link)
    root = parse_xml(arm.description.xml, arm.description.where)
    names = [*(_grow(root, held, link, np.asarray(pose, dtype=float), *branch)
               for branch in enumerate(held.branches))]
    bent = tuple(tuple(name for branch in names for name in branch[k]) for k in range(2))
    loops: tuple[ClosureSettings, ...] = ()
    if held.clamped:
        start = _pose_of(arm, body, dict(at or {})) @ place @ pose
        loops = tuple(_clamp(held, start, *branch) for branch in held.branches)
    values = [held.along(values) for values in held.stiffness]
    return AttachedObject(
        etree.tostring(root, pretty_print=True).decode(), loops, (bent[0], bent[1]),
        {name: float(value) for k in range(2)
         for name, value in zip(bent[k], values[k], strict=True)})


def _pose_of(arm: RobotModel, body: int, at: dict[str, float]) -> np.ndarray:
    """Pose of a body in the base, shape ``(4, 4)``."""
    q = np.zeros(len(arm.joint_names))
    for name, position in at.items():
        q[arm.joint_index(name)] = position
    tree, chain = arm.tree, []
    while body >= 0:
        chain.append(body)
        body = int(tree.parent[body])
    found = np.eye(4)
    for k in reversed(chain):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = tree.rotation[k], tree.translation[k]
        move, own = np.eye(4), tree.coupling[k] @ q + tree.coupling_offset[k]
        if tree.revolute[k]:
            move[:3, :3] = pin.exp3(own * tree.axis[k])
        else:
            move[:3, 3] = own * tree.axis[k]
        found = found @ step @ move
    return found


def _grow(
    root: etree._Element, held: FlexibleObject, link: str, pose: np.ndarray, number: int,
    branch: tuple[str, float, float, int],
) -> tuple[list[str], list[str]]:
    """Add the links and joints of a branch; its joints about x and about y."""
    side, first, turn, count = branch
    about_x, about_y, parent = [], [], link
    damping = [held.along(values) for values in held.damping]
    for k in range(count):
        name = f'{held.name}_{side}_{k + 1}'
        if root.find(f"link[@name='{name}']") is not None:
            raise ModelError(
                'the arm has a link of that name already', found=repr(name),
                fix='Give the object another name')
        place = pose @ _about_x(first) if k == 0 else _about_x(turn, held.link_length)
        index = number * count + k
        etree.SubElement(root, 'link', name=f'{name}_pivot')
        _add_joint(root, f'{name}_theta', parent, f'{name}_pivot', place, '1 0 0',
                   damping[0][index])
        _add_link(root, name, held)
        _add_joint(root, f'{name}_psi', f'{name}_pivot', name, np.eye(4), '0 1 0',
                   damping[1][index])
        about_x.append(f'{name}_theta')
        about_y.append(f'{name}_psi')
        parent = name
    return about_x, about_y


def _about_x(angle: float, along: float = 0.0) -> np.ndarray:
    """A pose that is turned about x, at a place on z."""
    pose = np.eye(4)
    pose[:3, :3], pose[2, 3] = pin.exp3(np.array([angle, 0.0, 0.0])), along
    return pose


def _add_link(root: etree._Element, name: str, held: FlexibleObject) -> None:
    """A link as a solid cylinder."""
    mass, length, radius = held.mass / held.links, held.link_length, 0.5 * held.thickness
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    inertial = etree.SubElement(etree.SubElement(root, 'link', name=name), 'inertial')
    etree.SubElement(inertial, 'origin', xyz=f'0 0 {0.5 * length!r}', rpy='0 0 0')
    etree.SubElement(inertial, 'mass', value=repr(mass))
    etree.SubElement(
        inertial, 'inertia', ixx=repr(across), iyy=repr(across), izz=repr(0.5 * mass * radius**2),
        ixy='0', ixz='0', iyz='0')


def _add_joint(
    root: etree._Element, name: str, parent: str, child: str, pose: np.ndarray, axis: str,
    damping: float,
) -> None:
    joint = etree.SubElement(root, 'joint', name=name, type='continuous')
    etree.SubElement(
        joint, 'origin', xyz=written_numbers(pose[:3, 3]), rpy=written_numbers(_angles(pose)))
    etree.SubElement(joint, 'parent', link=parent)
    etree.SubElement(joint, 'child', link=child)
    etree.SubElement(joint, 'axis', xyz=axis)
    etree.SubElement(joint, 'dynamics', damping=repr(float(damping)))


def _angles(pose: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a pose."""
    turn = pose[:3, :3]
    pitch = np.arctan2(-turn[2, 0], np.hypot(turn[0, 0], turn[1, 0]))
    if np.hypot(turn[0, 0], turn[1, 0]) < 1e-9:
        return np.array([np.arctan2(-turn[1, 2], turn[1, 1]), pitch, 0.0])
    return np.array([
        np.arctan2(turn[2, 1], turn[2, 2]), pitch, np.arctan2(turn[1, 0], turn[0, 0])])


def _clamp(
    held: FlexibleObject, start: np.ndarray, side: str, first: float, turn: float, count: int
) -> ClosureSettings:
    """Hold the end of a branch where it is at rest."""
    end = start @ _about_x(first)
    for _ in range(count - 1):
        end = end @ _about_x(turn, held.link_length)
    end = end @ _about_x(0.0, held.link_length)
    link = f'{held.name}_{side}_{count}'
    angles = _angles(end)
    return ClosureSettings(
        name=f'{held.name}_{side}', kind='frame',
        first=PlaceSettings(
            origin=(float(end[0, 3]), float(end[1, 3]), float(end[2, 3])),
            rpy=(float(angles[0]), float(angles[1]), float(angles[2]))),
        second=PlaceSettings(link=link, origin=(0.0, 0.0, held.link_length)))
