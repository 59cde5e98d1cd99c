"""An MJCF whose inertias, friction and armature are replaced in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.joint_terms.terms import names_in
from sysid_ros.release.document import start_tag
from sysid_ros.release.link_shares import BodyShares, Inertial
from sysid_ros.release.xml_splice import (
    Element,
    Splice,
    insert_children,
    locate,
    set_attributes,
)
from sysid_ros.robot.description.mjcf.bodies import MjcfBody, read_bodies
from sysid_ros.robot.description.numbers import read_numbers, written_numbers
from sysid_ros.robot.description.safe_xml import MAX_DEPTH
from sysid_ros.robot.description.urdf import RobotDescription
from sysid_ros.robot.inertia import central_inertia

# In the order of MuJoCo's fullinertia.
_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
# Mass in [kg] and moment in [kg·m²] that MuJoCo still takes for some.
_NEXT_TO_NONE = ('1e-12', '1e-14')
# Time constant in [s] and impedance of dry friction that holds a joint: MuJoCo takes twice the time
# step where that is more. By default, 20 ms and 0.9, joints that should stick creep.
#: Attributes of a joint by which dry friction holds it, which is soft by default.
HARD_FRICTION = {'solreffriction': '0.001 1', 'solimpfriction': '0.99 0.99 0.001'}
_DEFAULT_SOLREF, _DEFAULT_SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001)
_ORIENTATIONS = ('quat', 'axisangle', 'xyaxes', 'zaxis', 'euler')


class MjcfDocument:
    """An MJCF to edit.

    Bodies whose inertia comes from geoms get an ``<inertial>``, which MuJoCo prefers; where
    the compiler tells it not to, that word is changed and every body gets its own.

    Args:
        description: The MJCF.
    """

    name: ClassVar[str] = 'An MJCF'

    def __init__(self, description: RobotDescription) -> None:
        self._xml = description.xml
        self._source = description.compiled
        self._bodies = {body.name: body for body in read_bodies(self._source)}

    @property
    def terms(self) -> Mapping[str, str]:
        """Joint terms with a place in ``<joint>``, and the attribute of each."""
        return names_in('mjcf')

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
        if shares and (self._source.from_geoms or self._source.total_mass):
            yield from self._prefer_inertials()
            written = {**self._computed(), **written}
        for name, inertial in written.items():
            yield self._inertial_splice(
                elements['body', name], inertial, moves=bool(self._bodies[name].joints))
        pinned = self._spring_dampers() if shares or terms else {}
        for joint in dict.fromkeys((*pinned, *terms)):
            values = {**pinned.get(joint, {}), **terms.get(joint, {})}
            yield set_attributes(self._xml, elements['joint', joint], values)

    def with_hard_friction(
        self, terms: Mapping[str, Mapping[str, str]], joints: Sequence[str]
    ) -> dict[str, dict[str, str]]:
        """Attributes of joints with those that make dry friction hold a joint, where it is soft.

        Where the description gives the softness of a joint's friction it stays.

        Args:
            terms: Attributes to write, by joint.
            joints: Joints with dry friction.
        """
        model, found = self._source.model, {name: dict(own) for name, own in terms.items()}
        for name in joints:
            dof = model.jnt_dofadr[model.joint(name).id]
            if (np.array_equal(model.dof_solref[dof, :2], _DEFAULT_SOLREF)
                    and np.array_equal(model.dof_solimp[dof, :3], _DEFAULT_SOLIMP)):
                found[name] = {**found.get(name, {}), **HARD_FRICTION}
        return found

    def written(self, link: str) -> Inertial | None:
        """Numbers of one body as they stand in the document, or None."""
        element = self._elements().get(('body', link))
        inertial = None if element is None else element.find('inertial')
        entries = None if inertial is None else _numbers(inertial, 'fullinertia', 6)
        if inertial is None or entries is None:
            return None
        inertia = np.zeros((3, 3))
        for (row, column), value in zip(_ENTRIES, entries, strict=True):
            inertia[row, column] = inertia[column, row] = value
        mass, = _numbers(inertial, 'mass', 1) or (0.0,)
        com = _numbers(inertial, 'pos', 3) or (0.0, 0.0, 0.0)
        return Inertial(mass, np.array(com), inertia)

    def _elements(self) -> dict[tuple[str, str], Element]:
        """Where bodies and joints are, by kind and name; those without one in their order.

        Raises:
            ReleaseError: Bodies are not elements of the document.
        """
        if self._source.repeats:
            raise ReleaseError(
                'bodies are repeated or come from other models, so that they have no place of '
                'their own in the description', fix='Let MuJoCo write the model to one file')
        found: dict[tuple[str, str], Element] = {}
        nameless: dict[str, list[Element]] = {'body': [], 'joint': []}
        for world in locate(self._xml, MAX_DEPTH).find_all('worldbody'):
            for element in _below(world):
                kind = 'joint' if element.name == 'freejoint' else element.name
                name = element.attributes.get('name', '')
                if name:
                    found[kind, name] = element
                elif kind in nameless:
                    nameless[kind].append(element)
        model = self._source.model
        for kind, count in (('body', model.nbody), ('joint', model.njnt)):
            names = [self._source.name(kind, k) for k in range(kind == 'body', count)]
            without = [name for name in names if (kind, name) not in found]
            found.update(zip(((kind, name) for name in without), nameless[kind], strict=False))
        return found

    def _require_within_bounds(self, name: str, inertial: Inertial) -> None:
        mass, moment = self._source.bounds
        moments = np.linalg.eigvalsh(inertial.inertia)
        if inertial.mass < mass or moments[0] < moment:
            raise ReleaseError(
                "the compiler's boundmass or boundinertia would change what is written",
                where=f'body "{name}"', found=f'mass {inertial.mass:.6g} kg, principal moments '
                f'{moments.tolist()}',
                fix='Lower the bounds in the description',
            )

    def _prefer_inertials(self) -> Iterator[Splice]:
        """Take back what would scale or replace the numbers that are written."""
        plain = {'inertiafromgeom': 'auto', 'settotalmass': '-1'}
        for element in locate(self._xml).find_all('compiler'):
            given = {name: plain[name] for name in plain if name in element.attributes}
            if given:
                yield set_attributes(self._xml, element, given)

    def _spring_dampers(self) -> dict[str, dict[str, str]]:
        """Stiffness and damping that MuJoCo made out of the inertia, as numbers that stay."""
        joints = {
            joint.name: joint.described
            for body in self._bodies.values() for joint in body.joints}
        return {
            name: {
                'springdamper': '0 0', 'stiffness': repr(joints[name].stiffness),
                'damping': repr(joints[name].damping)}
            for name in self._source.spring_dampers
        }

    def _computed(self) -> dict[str, Inertial]:
        """Bodies whose numbers would be others without those words, with what they are now."""
        elements = self._elements()
        return {
            name: _inertial_of(body) for name, body in self._bodies.items()
            if body.index and body.inertial[0] > 0.0 and (
                self._source.total_mass or (
                    not body.written and elements['body', name].find('inertial') is not None))
        }

    def _inertial_splice(
        self, body: Element, inertial: Inertial | None, *, moves: bool
    ) -> Splice:
        """The numbers of a body, or none: a body without any is not left to its geoms.

        MuJoCo wants mass wherever there is a joint, also one that was locked here.
        """
        if inertial is None:
            mass, moment = _NEXT_TO_NONE if moves else ('0', '0')
            values = {'pos': '0 0 0', 'mass': mass, 'diaginertia': ' '.join([moment] * 3)}
        else:
            values = {
                'pos': written_numbers(inertial.com),
                'mass': repr(float(inertial.mass)),
                'fullinertia': written_numbers([inertial.inertia[entry] for entry in _ENTRIES]),
            }
        element = body.find('inertial')
        if element is None:
            return insert_children(self._xml, body, [start_tag('inertial', values)])
        others = {'diaginertia', 'fullinertia', *_ORIENTATIONS} - set(values)
        return set_attributes(self._xml, element, values, drop=others)


def _below(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _below(child)


def _numbers(element: Element, name: str, count: int) -> tuple[float, ...] | None:
    text = element.attributes.get(name)
    return None if text is None else read_numbers(' '.join(text.split()), count)


def _inertial_of(body: MjcfBody) -> Inertial:
    return Inertial(*central_inertia(body.inertial))
