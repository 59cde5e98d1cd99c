"""The identified robot as a URDF that differs from the described one in nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.dynamics.terms import described_dynamics
from sysid_ros.errors import ReleaseError
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.link_shares import BodyShares, Inertial, share_body
from sysid_ros.release.xml_splice import (
    Element,
    Splice,
    apply_splices,
    insert_children,
    locate,
    remove,
    set_attributes,
)
from sysid_ros.robot.couplings import read_mimics
from sysid_ros.robot.links import LinkPlacement
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.numbers import number_of
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.robot.safe_xml import attribute
from sysid_ros.robot.urdf import RobotDescription, inertial_is_readable

#: Largest torque difference in [N·m] after reloading; relative to the largest torque of
#: robots whose torques exceed 1000 N·m, where double precision ends.
TORQUE_TOLERANCE = 1e-9
_RELATIVE_TOLERANCE = 1e-12

_DYNAMICS = {'viscous_friction': 'damping', 'coulomb_friction': 'friction'}
_NOT_NEGATIVE = (*_DYNAMICS, 'armature')
_ENTRIES = {
    'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2),
}


@dataclass(frozen=True)
class UrdfExport:
    """A URDF to hand over.

    Attributes:
        xml: The document.
        sha256: Its digest, hexadecimal.
        links: Links whose ``<inertial>`` was written.
        joints: Joints whose ``<dynamics>`` was written.
        notes: What a user should know about it, whole sentences.
    """

    xml: bytes
    sha256: str
    links: tuple[str, ...]
    joints: tuple[str, ...]
    notes: tuple[str, ...]


def export_urdf(robot: RobotModel, parameters: ParameterSet) -> UrdfExport:
    """Write identified parameters into the robot's own description.

    Only ``<inertial>`` of links whose body changed and ``<dynamics>`` of joints change; all
    other bytes stay. Inertial parameters belong to moving bodies: links fixed to the first
    link of a body keep their values and the first link gets the remainder; if no real body
    has that remainder, the first link gets all and the others lose their ``<inertial>``.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters; bodies and joints that are not in it stay as described.

    Returns:
        The document, and notes on what it cannot hold.

    Raises:
        ReleaseError: A body is physically inconsistent, before or after rounding, a friction
            or armature is negative, or the document cannot be edited.
    """
    _refuse_negative(robot, parameters)
    shares = [
        _shares_of(robot, body, parameters.inertial(body))
        for body in parameters.bodies if _is_changed(robot, body, parameters)
    ]
    dynamics = dict(_changed_dynamics(robot, parameters))
    source = robot.description.xml
    xml = apply_splices(source, _splices(source, shares, dynamics))
    export = UrdfExport(
        xml=xml,
        sha256=hashlib.sha256(xml).hexdigest(),
        links=tuple(share.first[0] for share in shares),
        joints=tuple(dynamics),
        notes=tuple(f'{note}.' for note in _notes(robot, parameters, shares)),
    )
    _check_as_written(export, shares)
    return export


def write_urdf(path: str | Path, robot: RobotModel, parameters: ParameterSet) -> UrdfExport:
    """Export, verify by reloading, and write the file completely or not at all.

    Args:
        path: File to write or replace; its folder must exist.
        robot: The robot that was identified.
        parameters: Its parameters.

    Returns:
        What was written.

    Raises:
        ReleaseError: As in :func:`export_urdf` and :func:`verify_export`, or the file cannot
            be written.
    """
    export = export_urdf(robot, parameters)
    verify_export(robot, parameters, export)
    write_atomically(path, export.xml)
    return export


def verify_export(
    robot: RobotModel, parameters: ParameterSet, exported: UrdfExport, *, states: int = 100,
    seed: int = 0,
) -> float:
    """Reload an export and compare its inverse dynamics with the identified robot's.

    Compared are the rigid-body torques of the links; the friction written into
    ``<dynamics>`` is compared number by number.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters.
        exported: The export.
        states: Number of random states, positions over two turns or metres.
        seed: Of the random states.

    Returns:
        Largest torque difference in [N·m] or [N].

    Raises:
        ReleaseError: The difference exceeds :data:`TORQUE_TOLERANCE` (for torques above
            1000 N·m: 1e-12 of the largest one), or friction was not written as identified.
    """
    reloaded = RobotModel.from_urdf(
        RobotDescription(None, exported.xml, exported.sha256, expanded_from_xacro=False),
        locked_joints=robot.locked_joints, gravity=tuple(robot.gravity),
    )
    _compare_friction(reloaded, parameters)
    expected, found = _identified_model(robot, parameters), reloaded.pinocchio_model
    expected_data, found_data = expected.createData(), found.createData()
    rng = np.random.default_rng(seed)
    worst = largest = 0.0
    for _ in range(states):
        q = rng.uniform(-2.0 * np.pi, 2.0 * np.pi, expected.nq)
        v, a = rng.normal(size=(2, expected.nv))
        tau = pin.rnea(expected, expected_data, q, v, a)
        worst = max(worst, float(np.abs(tau - pin.rnea(found, found_data, q, v, a)).max()))
        largest = max(largest, float(np.abs(tau).max()))
    allowed = max(TORQUE_TOLERANCE, _RELATIVE_TOLERANCE * largest)
    if not worst <= allowed:
        raise ReleaseError(
            'the exported URDF does not reproduce the torques', where=robot.description.where,
            found=f'{worst:.3g} N·m', allowed=f'{allowed:.3g} N·m',
        )
    return worst


def _refuse_negative(robot: RobotModel, parameters: ParameterSet) -> None:
    for name, value in zip(parameters.names, parameters.values, strict=True):
        owner, _, field = name.rpartition('.')
        if field in _NOT_NEGATIVE and value < 0.0:
            raise ReleaseError(
                f'{field} is negative', where=owner, found=f'{value:.6g}',
                allowed='zero or more', fix='Use a physically consistent estimator',
            )


def _is_changed(robot: RobotModel, body: str, parameters: ParameterSet) -> bool:
    """Whether a body of the description is to be written; rotors are not in it.

    A body at an inconsistent prior counts as changed, so that it is refused.
    """
    described = {link.body for link in robot.links}
    if body not in described:
        return False
    prior = robot.inertial_prior[robot.body_names.index(body)]
    reference = robot.reference_inertials[robot.body_names.index(body)]
    phi = parameters.inertial(body)
    return not (np.array_equal(phi, prior) and np.array_equal(phi, reference))


def _links_of(robot: RobotModel, body: str) -> list[LinkPlacement]:
    return [link for link in robot.links if link.body == body]


def _shares_of(robot: RobotModel, body: str, phi: np.ndarray) -> BodyShares:
    inertials = {
        attribute(link, 'name'): link.find('inertial')
        for link in robot.description.root.findall('link')
    }
    described = {
        name: inertial_is_readable(inertial)
        for name, inertial in inertials.items() if inertial is not None
    }
    return share_body(_links_of(robot, body), phi, described)


def _changed_dynamics(
    robot: RobotModel, parameters: ParameterSet
) -> Iterator[tuple[str, dict[str, str]]]:
    """Attributes of ``<dynamics>`` to write, per joint; none where they are so already.

    The friction of a joint is that of its mimic joints too: where it is written, theirs
    becomes zero.
    """
    root = robot.description.root
    written = {joint.get('name'): joint.find('dynamics') for joint in root.findall('joint')}
    mimics = read_mimics(root)
    changes: dict[str, dict[str, str]] = {}
    for field, name in _DYNAMICS.items():
        described = described_dynamics(robot, name)
        for joint, total in zip(robot.joint_names, described, strict=True):
            if f'{joint}.{field}' not in parameters:
                continue
            group = [joint, *(other for other in mimics if mimics[other].source == joint)]
            now = {member: number_of(written[member], name, 0.0) for member in group}
            value = parameters[f'{joint}.{field}']
            if value == total and min(now.values()) >= 0.0:
                continue
            for member in group:
                new = value if member == joint else 0.0
                if new != now[member]:
                    changes.setdefault(member, {})[name] = repr(float(new))
    yield from changes.items()


def _splices(
    xml: bytes, shares: list[BodyShares], dynamics: dict[str, dict[str, str]]
) -> Iterator[Splice]:
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
    for joint, values in dynamics.items():
        element = joints[joint].find('dynamics')
        if element is None:
            yield insert_children(xml, joints[joint], [_tag('dynamics', values)])
        else:
            yield set_attributes(xml, element, values)


def _inertial_splices(xml: bytes, link: Element, share: Inertial) -> Iterator[Splice]:
    """Values into the tags that are there, and new tags for those that are not."""
    values = {
        'origin': {'xyz': ' '.join(repr(float(x)) for x in share.com), 'rpy': '0 0 0'},
        'mass': {'value': repr(float(share.mass))},
        'inertia': {name: repr(float(share.inertia[entry])) for name, entry in _ENTRIES.items()},
    }
    inertial = link.find('inertial')
    if inertial is None:
        inner = ''.join(f'\n  {_tag(name, attributes)}' for name, attributes in values.items())
        yield insert_children(xml, link, [f'<inertial>{inner}\n</inertial>'])
        return
    missing = []
    for name, attributes in values.items():
        element = inertial.find(name)
        if element is None:
            missing.append(_tag(name, attributes))
        else:
            yield set_attributes(xml, element, attributes, drop=('quat_xyzw',))
    if missing:
        yield insert_children(xml, inertial, missing)


def _tag(name: str, attributes: dict[str, str]) -> str:
    return f'<{name} ' + ' '.join(f'{key}="{value}"' for key, value in attributes.items()) + '/>'


def _notes(
    robot: RobotModel, parameters: ParameterSet, shares: list[BodyShares]
) -> Iterator[str]:
    if robot.description.expanded_from_xacro:
        yield 'The description is a xacro file: its expansion is written, without macros'
    for share in shares:
        yield from (note[:1].upper() + note[1:] for note in share.notes)
    if robot.locked_joints and any(len(_links_of(robot, s.first[0])) > 1 for s in shares):
        angles = ', '.join(f'"{joint}" at {at:g}' for joint, at in robot.locked_joints.items())
        yield (
            f'Joints were locked ({angles}): links beyond them were part of the bodies before '
            'them, so the result holds exactly only at these positions'
        )
    without_place = _without_place(robot, parameters)
    if without_place:
        yield (
            f'A URDF has no place for {", ".join(without_place)}: the YAML export holds '
            f'{"it" if len(without_place) == 1 else "them"}'
        )


def _without_place(robot: RobotModel, parameters: ParameterSet) -> list[str]:
    described = {link.body for link in robot.links}
    names = [f'rotor "{body}"' for body in parameters.bodies if body not in described]
    for name in parameters.names:
        owner, _, field = name.rpartition('.')
        is_written = owner in robot.joint_names and field in _DYNAMICS
        if owner not in parameters.bodies and not is_written and parameters[name] != 0.0:
            names.append(f'"{name}"')
    return names


def _check_as_written(export: UrdfExport, shares: list[BodyShares]) -> None:
    """Read the numbers back from the bytes: rounding must not make a body unphysical."""
    description = RobotDescription(None, export.xml, export.sha256, expanded_from_xacro=False)
    links = {link.get('name'): link for link in description.root.findall('link')}
    for share in shares:
        name, intended = share.first
        inertial = links[name].find('inertial')
        if inertial is None or not inertial_is_readable(inertial):
            raise ReleaseError('the <inertial> was not written', where=f'link "{name}"')
        written = _as_written(inertial)
        if not written.is_consistent():
            raise ReleaseError(
                'the numbers as written belong to no real body', where=f'link "{name}"',
                found=f'mass {written.mass!r} kg, inertia {written.inertia.tolist()}',
                fix='Give the estimator a larger consistency margin',
            )
        if not np.array_equal(written.parameters, intended.parameters):
            raise ReleaseError('the numbers were not written exactly', where=f'link "{name}"')


def _as_written(inertial: etree._Element) -> Inertial:
    inertia = np.zeros((3, 3))
    for name, (row, column) in _ENTRIES.items():
        value = float(attribute(inertial.find('inertia'), name))
        inertia[row, column] = inertia[column, row] = value
    com = [float(x) for x in attribute(inertial.find('origin'), 'xyz').split()]
    mass = float(attribute(inertial.find('mass'), 'value'))
    return Inertial(mass, np.array(com), inertia)


def _identified_model(robot: RobotModel, parameters: ParameterSet) -> pin.Model:
    model = pin.Model(robot.pinocchio_model)
    described = {link.body for link in robot.links}
    for body in parameters.bodies:
        if body in described:
            inertia = pin.Inertia.FromDynamicParameters(parameters.inertial(body))
            model.inertias[robot.joint_of_body(body)] = inertia
    return model


def _compare_friction(reloaded: RobotModel, parameters: ParameterSet) -> None:
    for joint, values in _changed_dynamics(reloaded, parameters):
        raise ReleaseError(
            'the exported friction is not the identified one', where=f'joint "{joint}"',
            allowed=', '.join(f'{name} {value}' for name, value in values.items()),
        )
