"""An MJCF whose inertias, friction and armature are replaced in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from sysid_ros.errors import ReleaseError
from sysid_ros.release.document import start_tag
from sysid_ros.release.link_shares import BodyShares, Inertial
from sysid_ros.release.xml_splice import (
    Element,
    Splice,
    insert_children,
    locate,
    set_attributes,
)
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.mjcf_inertia import bounded
from sysid_ros.robot.mjcf_tree import MjcfBody, read_bodies
from sysid_ros.robot.mjcf_values import (
    ORIENTATIONS,
    Compiler,
    model_elements,
    read_values,
)
from sysid_ros.robot.safe_xml import MAX_DEPTH
from sysid_ros.robot.urdf import RobotDescription

# In the order of MuJoCo's fullinertia.
_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


class MjcfDocument:
    """An MJCF to edit.

    Bodies whose inertia comes from geoms get an ``<inertial>``, which MuJoCo prefers; where
    the compiler tells it not to, that word is changed and every body gets its own.

    Args:
        description: The MJCF.
    """

    name: ClassVar[str] = 'An MJCF'
    terms: ClassVar[Mapping[str, str]] = {
        'viscous_friction': 'damping', 'coulomb_friction': 'frictionloss',
        'armature': 'armature',
    }

    def __init__(self, description: RobotDescription) -> None:
        self._xml = description.xml
        self._root = description.root
        self._bodies = {body.name: body for body in read_bodies(self._root)}
        self._compiler = Compiler.of(self._root)

    def described(self) -> dict[str, bool]:
        """Bodies that have an inertia, written or from geoms; all of them can be read."""
        return {
            name: True for name, body in self._bodies.items()
            if body.written or body.inertial.any()
        }

    def splices(
        self, shares: Sequence[BodyShares], terms: Mapping[str, Mapping[str, str]]
    ) -> Iterator[Splice]:
        """Edits of ``<inertial>`` elements and of attributes of joints.

        Raises:
            ReleaseError: The compiler's bounds would change what is written.
        """
        elements = self._elements()
        written: dict[str, Inertial | None] = {}
        for share in shares:
            self._require_within_bounds(*share.first)
            written |= {share.first[0]: share.first[1], **dict.fromkeys(share.removed)}
        if shares and self._compiler.inertia_from_geoms == 'true':
            yield from self._prefer_inertials()
            written = {**self._from_geoms(), **written}
        for name, inertial in written.items():
            yield self._inertial_splice(elements['body', name], inertial)
        for joint, values in terms.items():
            yield set_attributes(self._xml, elements['joint', joint], values)

    def written(self, link: str) -> Inertial | None:
        """Numbers of one body as they stand in the document, or None."""
        body = self._bodies.get(link)
        if body is None or not body.written:
            return None
        element = [e for e in model_elements(self._root) if e.tag == 'body'][body.index - 1]
        inertial = element.find('inertial')
        entries = read_values(inertial.get('fullinertia'), 6) if inertial is not None else None
        if inertial is None or entries is None:
            return None
        inertia = np.zeros((3, 3))
        for (row, column), value in zip(_ENTRIES, entries, strict=True):
            inertia[row, column] = inertia[column, row] = value
        mass, = read_values(inertial.get('mass'), 1) or (0.0,)
        com = read_values(inertial.get('pos'), 3) or (0.0, 0.0, 0.0)
        return Inertial(mass, np.array(com), inertia)

    def _elements(self) -> dict[tuple[str, str], Element]:
        """Where bodies and joints are, by kind and name."""
        names = {body.index: name for name, body in self._bodies.items()}
        found: dict[tuple[str, str], Element] = {}
        bodies = 0
        for world in locate(self._xml, MAX_DEPTH).find_all('worldbody'):
            for element in _below(world):
                if element.name == 'body':
                    bodies += 1
                    found['body', names[bodies]] = element
                elif element.name == 'joint':
                    found['joint', element.attributes.get('name', '')] = element
        return found

    def _require_within_bounds(self, name: str, inertial: Inertial) -> None:
        phi = inertial.parameters
        raised = bounded(phi, self._compiler)
        if not np.allclose(raised, phi, rtol=1e-9, atol=1e-12 * np.abs(phi).max()):
            raise ReleaseError(
                "the compiler's boundmass or boundinertia would change what is written",
                where=f'body "{name}"', found=f'mass {inertial.mass:.6g} kg, principal moments '
                f'{np.linalg.eigvalsh(inertial.inertia).tolist()}',
                fix='Lower the bounds in the description',
            )

    def _prefer_inertials(self) -> Iterator[Splice]:
        for element in locate(self._xml).find_all('compiler'):
            if 'inertiafromgeom' in element.attributes:
                yield set_attributes(self._xml, element, {'inertiafromgeom': 'auto'})

    def _from_geoms(self) -> dict[str, Inertial]:
        """Bodies whose ``<inertial>`` was not used so far, with what was used."""
        elements = [e for e in model_elements(self._root) if e.tag == 'body']
        unused = {
            name: body for name, body in self._bodies.items()
            if body.index and not body.written and body.inertial[0] > 0.0
            and elements[body.index - 1].find('inertial') is not None
        }
        return {name: _inertial_of(body) for name, body in unused.items()}

    def _inertial_splice(self, body: Element, inertial: Inertial | None) -> Splice:
        """The numbers of a body, or none: a body without any is not left to its geoms."""
        if inertial is None:
            values = {'pos': '0 0 0', 'mass': '0', 'diaginertia': '0 0 0'}
        else:
            values = {
                'pos': _words(inertial.com),
                'mass': repr(float(inertial.mass)),
                'fullinertia': _words([inertial.inertia[entry] for entry in _ENTRIES]),
            }
        element = body.find('inertial')
        if element is None:
            return insert_children(self._xml, body, [start_tag('inertial', values)])
        others = {'diaginertia', 'fullinertia', *ORIENTATIONS} - set(values)
        return set_attributes(self._xml, element, values, drop=others)


def _below(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _below(child)


def _inertial_of(body: MjcfBody) -> Inertial:
    return Inertial(*central_inertia(body.inertial))


def _words(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)
