"""Robot descriptions as text: loaded safely, and reduced to what the dynamics need."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from lxml import etree

from sysid_ros.errors import ModelError, unreadable
from sysid_ros.robot.description.mjcf.includes import with_includes
from sysid_ros.robot.description.mjcf.source import CompiledMjcf, compile_mjcf
from sysid_ros.robot.description.numbers import number_of, read_numbers, unrounded_angle
from sysid_ros.robot.description.planar.mechanism_file import (
    MechanismFile,
    names_mechanism,
    read_mechanism_file,
)
from sysid_ros.robot.description.planar.mechanism_urdf import mechanism_urdf
from sysid_ros.robot.description.safe_xml import MAX_BYTES, parse_xml
from sysid_ros.robot.description.xacro_expansion import expand_xacro

#: Written where a joint has no limit: the loader needs a number, and refuses ``inf``.
UNLIMITED = 1e300

_INERTIA_ATTRIBUTES = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
_FIXED_JOINT_PARTS = ('origin', 'parent', 'child')
_MOVING_JOINT_PARTS = (*_FIXED_JOINT_PARTS, 'axis', 'limit')
_DECLARED_ENCODING = re.compile(r'<\?xml[^>]*?\bencoding\s*=\s*["\']([A-Za-z0-9._-]+)["\']')


@dataclass(frozen=True)
class RobotDescription:
    """A URDF or MJCF as text, with xacro already expanded, that was parsed safely once.

    Attributes:
        path: File it was read from, or None for text.
        xml: Exactly the bytes of the file, xacro's expansion, or the tree of a planar mechanism.
        sha256: Digest of ``xml``, hexadecimal.
        expanded_from_xacro: Whether ``xml`` is an expansion.
        included: Files that an MJCF includes, whose content ``xml`` holds.
        assets: Folder that meshes of an MJCF are relative to, None for that of the file.
        mechanism: The planar mechanism whose tree ``xml`` is, None for others.
    """

    path: Path | None
    xml: bytes
    sha256: str
    expanded_from_xacro: bool
    included: tuple[Path, ...] = ()
    assets: Path | None = None
    mechanism: MechanismFile | None = None

    @property
    def root(self) -> etree._Element:
        """The root element of a fresh tree, so that nobody shares a mutable one."""
        return parse_xml(self.xml, self.where)

    @cached_property
    def format(self) -> Literal['urdf', 'mjcf']:
        """Which language it is written in."""
        return 'mjcf' if self.root.tag == 'mujoco' else 'urdf'

    @cached_property
    def compiled(self) -> CompiledMjcf:
        """An MJCF as MuJoCo compiles it.

        Raises:
            ModelError: MuJoCo is not installed, or refuses the description.
        """
        return compile_mjcf(self.root, self.asset_folder, self.where)

    @property
    def asset_folder(self) -> Path | None:
        """Folder that meshes of an MJCF are relative to; None where it is not known."""
        return self.assets if self.path is None or self.assets else self.path.parent

    @property
    def where(self) -> str:
        """The source, for messages."""
        return 'the robot description' if self.path is None else str(self.path)


def load_description(
    source: str | Path, xacro_arguments: Mapping[str, str] | None = None,
    assets: Path | None = None,
) -> RobotDescription:
    """Read a robot description from a URDF, xacro, MJCF or planar mechanism file, or from text.

    Meshes of a URDF are not loaded and their paths are not followed. MuJoCo reads those of an MJCF
    that tell the mass of a body, and no others.

    Args:
        source: Path of a ``.xacro`` file, of a URDF or MJCF file, or of a planar mechanism in
            YAML; or text that starts with ``<``.
        xacro_arguments: Arguments for xacro by name; only for a ``.xacro`` file.
        assets: Folder that meshes of an MJCF are relative to; that of the file where left out.

    Returns:
        The description.

    Raises:
        ModelError: The file cannot be read or expanded, the XML is malformed or could do
            harm (size, depth, document type, entities), or its root is neither ``<robot>``
            nor ``<mujoco>``; or the mechanism cannot be a tree whose loops are closed.
        ConfigurationError: The file of a mechanism cannot be read, or a key is not right.
    """
    arguments = dict(xacro_arguments or {})
    text = source.lstrip('\ufeff \t\r\n') if isinstance(source, str) else ''
    path = None if text.startswith('<') else Path(source)
    from_xacro = path is not None and path.suffix == '.xacro'
    if arguments and not from_xacro:
        raise ModelError(
            'xacro arguments are given for a source that is not a xacro file',
            where='text' if path is None else str(path), found=', '.join(arguments),
            fix='Remove them, or name the .xacro file',
        )
    if path is not None and names_mechanism(path):
        return _planar(path)
    xml = _encoded(text) if path is None else _file_content(path, from_xacro, arguments)
    description = RobotDescription(
        path, xml, hashlib.sha256(xml).hexdigest(), from_xacro, assets=assets)
    tag = description.root.tag
    if tag not in ('robot', 'mujoco'):
        raise ModelError(
            'is neither a URDF nor an MJCF', where=description.where,
            found=f'root element <{tag}>', allowed='<robot> or <mujoco>',
            fix='Give the file of the description',
        )
    return _with_includes(description) if tag == 'mujoco' else description


def _planar(path: Path) -> RobotDescription:
    """The tree of a planar mechanism, which carries the mechanism with it."""
    mechanism = read_mechanism_file(path)
    xml = mechanism_urdf(mechanism.tree)
    return RobotDescription(
        path, xml, hashlib.sha256(xml).hexdigest(), expanded_from_xacro=False, mechanism=mechanism)


def _with_includes(description: RobotDescription) -> RobotDescription:
    """An MJCF with the content of files that it includes."""
    if next(description.root.iter('include'), None) is None:
        return description
    if description.path is None:
        raise ModelError(
            'includes another file, and it is not known where it lies', where=description.where,
            fix='Give the path of the MJCF in place of its text')
    xml, included = with_includes(description.xml, description.path)
    return replace(
        description, xml=xml, sha256=hashlib.sha256(xml).hexdigest(), included=included)


def _encoded(text: str) -> bytes:
    """Bytes that agree with the encoding the text declares."""
    declared = _DECLARED_ENCODING.match(text)
    encoding = declared.group(1) if declared else 'utf-8'
    try:
        return text.encode(encoding)
    except (LookupError, UnicodeEncodeError) as error:
        raise ModelError(
            f'the text does not fit its declared encoding: {error}',
            where='the robot description', found=encoding, fix='Declare UTF-8',
        ) from error


def _file_content(path: Path, from_xacro: bool, arguments: Mapping[str, str]) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ModelError(
                'the XML is too large', where=str(path), found=f'{size} bytes',
                allowed=f'{MAX_BYTES} bytes',
                fix='Name a URDF, xacro or MJCF, whose meshes are files of their own',
            )
        return expand_xacro(path, arguments) if from_xacro else path.read_bytes()
    except (OSError, ValueError) as error:
        raise unreadable(
            ModelError, path, error,
            'Give the path of a .urdf, .xacro or MJCF .xml file, or of a planar mechanism in .yaml',
        ) from error


def kinematic_description(description: RobotDescription) -> str:
    """The robot reduced to what Pinocchio loads: links, inertias and joints.

    Kinematics and inertias are not changed, but for right angles of joints that were rounded in
    writing (:func:`sysid_ros.robot.description.numbers.unrounded_angle`). Continuous joints become
    revolute ones without limits, so that every joint has one coordinate; mimic joints become
    independent ones; limits that are negative or not given become :data:`UNLIMITED`; an
    ``<inertial>`` that cannot be read is left out, because the loader would keep half of it.

    Args:
        description: A description without fatal findings (see
            :func:`sysid_ros.robot.description.checks.preflight.require_loadable`).

    Returns:
        URDF text.
    """
    source = description.root
    robot = etree.Element('robot', name=source.get('name', ''))
    for element in source.iterchildren('link', 'joint'):
        kept = etree.SubElement(robot, element.tag, _plain_attributes(element))
        for part in _needed_parts(element):
            first = element.find(part)
            if first is not None:
                kept.append(_plain_copy(first))
        if element.tag == 'joint':
            _make_right_angles(kept.find('origin'))
            _make_single_coordinate(kept)
    return etree.tostring(robot, encoding='unicode')


def _needed_parts(element: etree._Element) -> tuple[str, ...]:
    if element.tag == 'joint':
        return _FIXED_JOINT_PARTS if element.get('type') == 'fixed' else _MOVING_JOINT_PARTS
    inertial = element.find('inertial')
    return ('inertial',) if inertial is not None and inertial_is_readable(inertial) else ()


def _plain_copy(element: etree._Element) -> etree._Element:
    copy = etree.Element(element.tag, _plain_attributes(element))
    for child in element.iterchildren(etree.Element):
        if isinstance(child.tag, str) and not child.tag.startswith('{'):
            copy.append(_plain_copy(child))
    return copy


def _plain_attributes(element: etree._Element) -> dict[str, str]:
    """Attributes without namespaces, with single spaces: the loader splits at spaces only."""
    plain = {}
    for name, value in element.attrib.items():
        if not str(name).startswith('{'):
            text = str(value)
            plain[str(name)] = ' '.join(text.split()) if name in ('xyz', 'rpy') else text
    return plain


def inertial_is_readable(inertial: etree._Element) -> bool:
    """Whether mass, inertia and origin of an ``<inertial>`` are there and finite numbers."""
    mass, inertia, origin = (inertial.find(tag) for tag in ('mass', 'inertia', 'origin'))
    if mass is None or inertia is None:
        return False
    values = [(mass.get('value'), 1), *((inertia.get(name), 1) for name in _INERTIA_ATTRIBUTES)]
    if origin is not None:
        values += [(origin.get('xyz', '0 0 0'), 3), (origin.get('rpy', '0 0 0'), 3)]
    return all(read_numbers(text, count) is not None for text, count in values)


def _make_right_angles(origin: etree._Element | None) -> None:
    if origin is not None and 'rpy' in origin.attrib:
        origin.set('rpy', ' '.join(map(unrounded_angle, str(origin.get('rpy')).split())))


def _make_single_coordinate(joint: etree._Element) -> None:
    if joint.get('type') not in ('revolute', 'continuous', 'prismatic'):
        return
    limit = joint.find('limit')
    if limit is None:
        limit = etree.SubElement(joint, 'limit', lower=str(-UNLIMITED), upper=str(UNLIMITED))
    if joint.get('type') == 'continuous':
        joint.set('type', 'revolute')
        limit.set('lower', str(-UNLIMITED))
        limit.set('upper', str(UNLIMITED))
    for name in ('effort', 'velocity'):
        # Negative ones, a common way to say that there is none, make the loader fail.
        if number_of(limit, name, -1.0) < 0.0:
            limit.set(name, str(UNLIMITED))
