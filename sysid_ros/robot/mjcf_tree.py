"""Bodies and joints of a checked MJCF, in the order of the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from lxml import etree

from sysid_ros.robot.described import DescribedJoint
from sysid_ros.robot.mjcf_inertia import (
    bounded,
    geom_has_mass,
    geom_is_simple,
    inertial_of_geoms,
    written_inertial,
)
from sysid_ros.robot.mjcf_values import (
    Classes,
    Compiler,
    merged,
    plain_attributes,
    value_of,
    values_of,
)
from sysid_ros.robot.safe_xml import attribute

#: Name of the body that everything stands on.
WORLD = 'world'


@dataclass(frozen=True, eq=False)
class MjcfJoint:
    """One joint.

    Attributes:
        name: Name, empty where there is none.
        anchor: A point of the axis in the body frame in [m], shape ``(3,)``.
        axis: Unit axis in the body frame, shape ``(3,)``.
        reference: Position in [rad] or [m] that the pose of the body is drawn at.
        described: Limits, friction, drive and spring; no effort limit of actuators.
    """

    name: str
    anchor: np.ndarray
    axis: np.ndarray
    reference: float
    described: DescribedJoint


@dataclass(frozen=True, eq=False)
class MjcfBody:
    """One body.

    Attributes:
        index: Number of its element in the document, from 1; 0 for the world.
        name: Its name, or ``body<index>`` where it has none.
        parent: Number of the body it hangs on, -1 for the world itself.
        pose: Pose in that body, shape ``(4, 4)``.
        joints: Its joints, innermost last.
        free_joint: Name of the joint that leaves it free, None for other bodies.
        inertial: Inertial parameters in the body frame, shape ``(10,)``.
        written: Whether they come from its ``<inertial>``.
        unknown: Geoms that carry mass which their sizes do not tell.
        geoms: Attributes of every geom, and the pose of the frame it is written in.
    """

    index: int
    name: str
    parent: int
    pose: np.ndarray
    joints: tuple[MjcfJoint, ...]
    free_joint: str | None
    inertial: np.ndarray
    written: bool
    unknown: tuple[str, ...]
    geoms: tuple[tuple[Mapping[str, str], np.ndarray], ...] = ()


@dataclass
class _Content:
    """What a body element holds, its frames dissolved."""

    joints: list[etree._Element] = field(default_factory=list)
    geoms: list[tuple[dict[str, str], np.ndarray]] = field(default_factory=list)
    bodies: list[tuple[etree._Element, np.ndarray, str]] = field(default_factory=list)


def read_bodies(root: etree._Element) -> tuple[MjcfBody, ...]:
    """All bodies of an MJCF, parents first.

    Args:
        root: The ``<mujoco>`` element, without fatal faults of its structure.

    Returns:
        The world first.
    """
    reader = _Reader(root)
    for world in root.findall('worldbody'):
        content = reader.content(world, np.eye(4), attribute(world, 'childclass') or 'main')
        reader.bodies[0] = replace(
            reader.bodies[0], geoms=(*reader.bodies[0].geoms, *content.geoms))
        for element, frame, inherited in content.bodies:
            reader.read(element, frame, inherited, parent=0)
    return tuple(reader.bodies)


class _Reader:
    def __init__(self, root: etree._Element) -> None:
        self._compiler = Compiler.of(root)
        self._classes = Classes(root)
        self.bodies = [
            MjcfBody(0, WORLD, -1, np.eye(4), (), None, np.zeros(10), False, ())
        ]

    def content(self, element: etree._Element, frame: np.ndarray, inherited: str) -> _Content:
        """Joints, geoms and bodies of a body, with the frame and the class of each."""
        found = _Content()
        self._collect(element, frame, inherited, found)
        return found

    def _collect(
        self, element: etree._Element, frame: np.ndarray, inherited: str, found: _Content
    ) -> None:
        for child in element.iterchildren('joint', 'freejoint', 'geom', 'body', 'frame'):
            if child.tag == 'frame':
                pose = frame @ self._compiler.pose(plain_attributes(child))
                self._collect(child, pose, child.get('childclass', inherited), found)
            elif child.tag == 'body':
                found.bodies.append((child, frame, inherited))
            elif child.tag == 'geom':
                found.geoms.append((self._classes.attributes(child, inherited), frame))
            else:
                found.joints.append(child)

    def read(
        self, element: etree._Element, frame: np.ndarray, inherited: str, parent: int
    ) -> None:
        """Read a body and all bodies below it."""
        index = len(self.bodies)
        inherited = element.get('childclass', inherited)
        content = self.content(element, np.eye(4), inherited)
        name = element.get('name') or f'body{index}'
        free = [joint for joint in content.joints if self._is_free(joint, inherited)]
        inertial, written, unknown = self._inertial(element, content)
        self.bodies.append(MjcfBody(
            index=index,
            name=name,
            parent=parent,
            pose=frame @ self._compiler.pose(plain_attributes(element)),
            joints=tuple(self._joint(j, inherited) for j in content.joints if j not in free),
            free_joint=(free[0].get('name') or f'{name}_free') if free else None,
            inertial=bounded(inertial, self._compiler),
            written=written,
            unknown=unknown,
            geoms=tuple(content.geoms),
        ))
        for child, pose, own_class in content.bodies:
            self.read(child, pose, own_class, index)

    def _is_free(self, joint: etree._Element, inherited: str) -> bool:
        if joint.tag == 'freejoint':
            return True
        return self._classes.attributes(joint, inherited).get('type') == 'free'

    def _inertial(
        self, element: etree._Element, content: _Content
    ) -> tuple[np.ndarray, bool, tuple[str, ...]]:
        """Parameters, whether they are written, and the geoms that do not tell theirs."""
        compiler = self._compiler
        own = element.find('inertial')
        heavy = [geom for geom in content.geoms if geom_has_mass(geom[0], compiler)]
        from_geoms = bool(heavy) and (
            compiler.inertia_from_geoms == 'true'
            or (compiler.inertia_from_geoms == 'auto' and own is None)
        )
        if not from_geoms:
            phi = (
                np.zeros(10) if own is None
                else written_inertial(plain_attributes(own), compiler)
            )
            return phi, own is not None, ()
        simple = [geom for geom in heavy if geom_is_simple(geom[0])]
        unknown = tuple(
            attributes.get('name') or attributes.get('type', 'mesh')
            for attributes, _ in heavy if not geom_is_simple(attributes)
        )
        return inertial_of_geoms(simple, compiler), False, unknown

    def _joint(self, element: etree._Element, inherited: str) -> MjcfJoint:
        given = self._classes.attributes(element, inherited)
        slides = given.get('type', 'hinge') == 'slide'
        unit = 1.0 if slides else self._compiler.angle
        axis = np.array(values_of(given, 'axis', (0.0, 0.0, 1.0)))
        limited = given.get('limited', 'auto')
        has_range = limited == 'true' or (limited == 'auto' and 'range' in given)
        lower, upper = values_of(given, 'range', (0.0, 0.0)) if has_range else (-np.inf, np.inf)
        return MjcfJoint(
            name=given.get('name', ''),
            anchor=np.array(values_of(given, 'pos', (0.0, 0.0, 0.0))),
            axis=axis / np.linalg.norm(axis),
            reference=value_of(given, 'ref', 0.0) * unit,
            described=DescribedJoint(
                kind='prismatic' if slides else 'revolute' if has_range else 'continuous',
                lower=lower * unit,
                upper=upper * unit,
                effort=_largest(given, 'actuatorfrc'),
                damping=value_of(given, 'damping', 0.0),
                friction=value_of(given, 'frictionloss', 0.0),
                armature=value_of(given, 'armature', 0.0),
                stiffness=value_of(given, 'stiffness', 0.0),
                rest=value_of(given, 'springref', 0.0) * unit,
            ),
        )


def _largest(given: dict[str, str], kind: str) -> float:
    """Largest absolute value of a range, NaN where it does not limit."""
    limited = given.get(f'{kind}limited', 'auto')
    if limited == 'false' or f'{kind}range' not in given:
        return np.nan
    return max(map(abs, values_of(given, f'{kind}range', (0.0, 0.0))))


def actuator_limits(root: etree._Element) -> dict[str, float]:
    """Largest torque in [N·m] or force in [N] that the actuators of a joint give together.

    A joint with an actuator that does not say how strong it is has no entry.

    Args:
        root: The ``<mujoco>`` element.
    """
    classes = Classes(root)
    limits: dict[str, float] = {}
    for group in root.findall('actuator'):
        for element in group.iterchildren(etree.Element):
            given = merged({}, classes.attributes(element))
            joint = given.get('joint', given.get('jointinparent', ''))
            strength = _largest(given, 'force')
            if element.tag == 'motor':
                # A motor gives its command, so that limits it as well.
                strength = float(np.fmin(strength, _largest(given, 'ctrl')))
            gear = abs(values_of(given, 'gear', (1.0,) + (0.0,) * 5)[0])
            limits[joint] = limits.get(joint, 0.0) + gear * strength
    return {joint: limit for joint, limit in limits.items() if joint and np.isfinite(limit)}
