"""A URDF whose inertias and friction are replaced in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from lxml import etree

from sysid_ros.mechanics.joint_terms.terms import names_in
from sysid_ros.release.document import start_tag
from sysid_ros.release.link_shares import BodyShares, Inertial
from sysid_ros.release.xml_splice import (
    Element,
    Splice,
    insert_children,
    locate,
    remove,
    set_attributes,
)
from sysid_ros.robot.description.numbers import written_numbers
from sysid_ros.robot.description.safe_xml import attribute
from sysid_ros.robot.description.urdf import RobotDescription, inertial_is_readable

_ENTRIES = {
    'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2),
}


class UrdfDocument:
    """A URDF to edit.

    Args:
        description: The URDF.
    """

    name: ClassVar[str] = 'A URDF'

    def __init__(self, description: RobotDescription) -> None:
        self._xml = description.xml
        self._inertials = {
            attribute(link, 'name'): link.find('inertial')
            for link in description.root.findall('link')
        }

    @property
    def terms(self) -> Mapping[str, str]:
        """Joint terms with a place in ``<dynamics>``, and the attribute of each."""
        return names_in('urdf')

    def described(self) -> dict[str, bool]:
        """Links that have an ``<inertial>``, and whether it can be read."""
        return {
            name: inertial_is_readable(inertial)
            for name, inertial in self._inertials.items() if inertial is not None
        }

    def splices(
        self, shares: Sequence[BodyShares], terms: Mapping[str, Mapping[str, str]]
    ) -> Iterator[Splice]:
        """Edits of ``<inertial>`` and ``<dynamics>``."""
        xml = self._xml
        robot = locate(xml)
        links = {link.attributes.get('name', ''): link for link in robot.find_all('link')}
        joints = {joint.attributes.get('name', ''): joint for joint in robot.find_all('joint')}
        for share in shares:
            name, first = share.first
            yield from _inertial_splices(xml, links[name], first)
            for removed in share.removed:
                # All of them: else a second one, ignored so far, would become the first.
                for inertial in links[removed].find_all('inertial'):
                    yield remove(xml, inertial)
        for joint, values in terms.items():
            element = joints[joint].find('dynamics')
            if element is None:
                yield insert_children(xml, joints[joint], [start_tag('dynamics', values)])
            else:
                yield set_attributes(xml, element, values)

    def written(self, link: str) -> Inertial | None:
        """Numbers of one link as they stand in the document, or None."""
        inertial = self._inertials.get(link)
        if inertial is None or not inertial_is_readable(inertial):
            return None
        return _as_written(inertial)


def _inertial_splices(xml: bytes, link: Element, share: Inertial) -> Iterator[Splice]:
    """Values into the tags that are there, and new tags for those that are not."""
    values = {
        'origin': {'xyz': written_numbers(share.com), 'rpy': '0 0 0'},
        'mass': {'value': repr(float(share.mass))},
        'inertia': {name: repr(float(share.inertia[entry])) for name, entry in _ENTRIES.items()},
    }
    inertial = link.find('inertial')
    if inertial is None:
        inner = ''.join(f'\n  {start_tag(name, attributes)}' for name, attributes in values.items())
        yield insert_children(xml, link, [f'<inertial>{inner}\n</inertial>'])
        return
    missing = []
    for name, attributes in values.items():
        element = inertial.find(name)
        if element is None:
            missing.append(start_tag(name, attributes))
        else:
            yield set_attributes(xml, element, attributes, drop=('quat_xyzw',))
    if missing:
        yield insert_children(xml, inertial, missing)


def _as_written(inertial: etree._Element) -> Inertial:
    inertia = np.zeros((3, 3))
    for name, (row, column) in _ENTRIES.items():
        value = float(attribute(inertial.find('inertia'), name))
        inertia[row, column] = inertia[column, row] = value
    com = [float(x) for x in attribute(inertial.find('origin'), 'xyz').split()]
    mass = float(attribute(inertial.find('mass'), 'value'))
    return Inertial(mass, np.array(com), inertia)
