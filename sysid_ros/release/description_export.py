"""The identified robot as a URDF or MJCF that differs from the described one in nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ReleaseError, listed
from sysid_ros.mechanics.actuators.actuators import DELAY, FILTER, Actuators
from sysid_ros.mechanics.joint_terms.closest_friction import ClosestFriction, fields_of_laws
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.joint_terms.terms import friction_fields, names_in
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.document import Document
from sysid_ros.release.link_shares import BodyShares, share_body
from sysid_ros.release.mjcf_actuators import actuator_splices, actuators_left_out
from sysid_ros.release.mjcf_document import MjcfDocument
from sysid_ros.release.term_checks import require_plausible_terms
from sysid_ros.release.urdf_document import UrdfDocument
from sysid_ros.release.xml_splice import apply_splices
from sysid_ros.robot.description.urdf import RobotDescription
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.links import LinkPlacement
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

#: Largest torque difference in [N·m] after reloading; relative to the largest torque of
#: robots whose torques exceed 1000 N·m, where double precision ends.
TORQUE_TOLERANCE = 1e-9
_RELATIVE_TOLERANCE = 1e-12

# Names that a note gives; the rest of many is counted.
_NAMED = 6
_NO_LAWS: Mapping[str, ClosestFriction] = MappingProxyType({})


@dataclass(frozen=True)
class DescriptionExport:
    """A robot description to hand over.

    Attributes:
        xml: The document.
        sha256: Its digest, hexadecimal.
        links: Links whose inertia was written.
        joints: Joints whose friction or armature was written.
        notes: What a user should know about it, whole sentences.
    """

    xml: bytes
    sha256: str
    links: tuple[str, ...]
    joints: tuple[str, ...]
    notes: tuple[str, ...]


def export_description(
    robot: RobotModel, parameters: ParameterSet,
    closest: Mapping[str, ClosestFriction] = _NO_LAWS, actuators: Actuators | None = None,
) -> DescriptionExport:
    """Write identified parameters into the robot's own description.

    Only ``<inertial>`` of links whose body changed and friction of joints change (in an MJCF
    armature, too); all other bytes stay. Inertial parameters belong to moving bodies: links
    fixed to the first link of a body keep their values and the first link gets the remainder;
    if no real body has that remainder, the first link gets all and the others none.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters; bodies and joints that are not in it stay as described.
        closest: Damping and friction of joints whose friction is another law.
        actuators: Actuators that were identified, which an MJCF has a place for.

    Returns:
        The document, and notes on what it cannot hold.

    Raises:
        ReleaseError: A body is physically inconsistent, before or after rounding, a friction
            or armature is negative, or the document cannot be edited.
    """
    require_plausible_terms(parameters)
    document = _document(robot.description)
    shares = body_shares(robot, parameters)
    terms = dict(_changed_terms(robot.opened, parameters, document, closest))
    if robot.description.format != 'mjcf':
        actuators = None
    if actuators is not None and isinstance(document, MjcfDocument):
        terms = document.with_hard_friction(terms, [
            joint for joint in actuators.names if f'{joint}.coulomb_friction' in parameters])
    splices = [*document.splices(shares, terms)]
    if actuators is not None:
        splices += actuator_splices(robot.description.xml, actuators, parameters)
    xml = apply_splices(robot.description.xml, splices)
    export = DescriptionExport(
        xml=xml,
        sha256=hashlib.sha256(xml).hexdigest(),
        links=tuple(share.first[0] for share in shares),
        joints=tuple(terms),
        notes=tuple(
            f'{note}.' for note in _notes(
                robot, parameters, shares, document, closest, actuators)
        ),
    )
    _check_as_written(robot, export, shares)
    return export


def body_shares(robot: RobotModel, parameters: ParameterSet) -> list[BodyShares]:
    """Inertial parameters of the links of every body that changes.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters.

    Raises:
        ReleaseError: A body is physically inconsistent.
    """
    described = _document(robot.description).described()
    return [
        share_body(_links_of(robot, body), parameters.inertial(body), described)
        for body in parameters.bodies if _is_changed(robot, body, parameters)
    ]


def write_description(
    path: str | Path, robot: RobotModel, parameters: ParameterSet,
    closest: Mapping[str, ClosestFriction] = _NO_LAWS, actuators: Actuators | None = None,
) -> DescriptionExport:
    """Export, verify by reloading, and write the file completely or not at all.

    Args:
        path: File to write or replace; its folder must exist.
        robot: The robot that was identified.
        parameters: Its parameters.
        closest: As for :func:`export_description`.
        actuators: As for :func:`export_description`.

    Returns:
        What was written.

    Raises:
        ReleaseError: As in :func:`export_description` and :func:`verify_export`, or the file cannot
            be written.
    """
    export = export_description(robot, parameters, closest, actuators)
    verify_export(robot, parameters, export, closest=closest)
    write_atomically(path, export.xml)
    return export


def verify_export(
    robot: RobotModel, parameters: ParameterSet, exported: DescriptionExport, *, states: int = 100,
    seed: int = 0, closest: Mapping[str, ClosestFriction] = _NO_LAWS,
) -> float:
    """Reload an export and compare its inverse dynamics with the identified robot's.

    Compared are the rigid-body torques of the links; friction and armature are compared
    number by number.

    Args:
        robot: The robot that was identified.
        parameters: Its parameters.
        exported: The export.
        states: Number of random states, positions over two turns or metres.
        seed: Of the random states.
        closest: As for :func:`export_description`.

    Returns:
        Largest torque difference in [N·m] or [N].

    Raises:
        ReleaseError: The difference exceeds :data:`TORQUE_TOLERANCE` (for torques above
            1000 N·m: 1e-12 of the largest one), or friction was not written as identified.
    """
    reloaded = RobotModel.from_description(
        _as_description(robot, exported),
        locked_joints=robot.locked_joints, gravity=tuple(robot.gravity),
        loops=_loops_of_description(robot),
    )
    if robot.base_joints:
        reloaded = with_floating_base(reloaded)
    _compare_terms(reloaded, parameters, closest)
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
            'the exported description does not reproduce the torques',
            where=robot.description.where,
            found=f'{worst:.3g} N·m', allowed=f'{allowed:.3g} N·m',
        )
    return worst


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


def _document(description: RobotDescription) -> Document:
    return MjcfDocument(description) if description.format == 'mjcf' else UrdfDocument(description)


def _loops_of_description(robot: RobotModel) -> LoopSettings | None:
    """What a description that closes loops by itself has to be told again."""
    if robot.loops is None or robot.description.format != 'mjcf':
        return None
    driven = tuple(name for name in robot.joint_names if name not in robot.base_joints)
    return LoopSettings(actuated=driven)


def _changed_terms(
    robot: RobotModel, parameters: ParameterSet, document: Document,
    closest: Mapping[str, ClosestFriction],
) -> Iterator[tuple[str, dict[str, str]]]:
    """Attributes of joints to write, none where they are so already.

    The friction of a joint is that of its mimic joints too: where it is written, theirs
    becomes zero.
    """
    followers = _followers(robot)
    words, friction = names_in('described'), friction_fields()
    changes: dict[str, dict[str, str]] = {}
    for field, name in document.terms.items():
        word = words[field]
        for joint, total in zip(
            robot.joint_names, described_dynamics(robot, word), strict=True
        ):
            if field in friction and joint in closest:
                pair = closest[joint]
                value = pair.damping if field == 'viscous_friction' else pair.friction
            elif f'{joint}.{field}' in parameters:
                value = parameters[f'{joint}.{field}']
            elif field in friction and _has_friction(parameters, joint):
                value = 0.0
            else:
                continue
            group = [joint, *followers[joint]]
            now = {member: getattr(robot.described_joints[member], word) for member in group}
            if value == total and min(now.values()) >= 0.0:
                continue
            for member in group:
                new = value if member == joint else 0.0
                if new != now[member]:
                    changes.setdefault(member, {})[name] = repr(float(new))
    yield from changes.items()


def _has_friction(parameters: ParameterSet, joint: str) -> bool:
    """Whether friction of a joint that a description has a place for was identified.

    The joint has nothing of the other then, whatever is described.
    """
    return any(f'{joint}.{field}' in parameters for field in names_in('urdf'))


def _followers(robot: RobotModel) -> dict[str, list[str]]:
    """Per independent joint, the joints that follow it."""
    names = tuple(robot.described_joints)
    coupling = robot.tree.coupling[:len(names)]
    return {
        joint: [
            name for name, row in zip(names, coupling, strict=True) if row[k] and name != joint
        ]
        for k, joint in enumerate(robot.joint_names)
    }


def _notes(
    robot: RobotModel, parameters: ParameterSet, shares: list[BodyShares], document: Document,
    closest: Mapping[str, ClosestFriction], actuators: Actuators | None,
) -> Iterator[str]:
    if robot.description.expanded_from_xacro:
        yield 'The description is a xacro file: its expansion is written, without macros'
    if robot.description.mechanism is not None:
        yield ('The description is a planar mechanism: the tree of its joints is written, and '
               'nothing in a URDF closes its loops')
    if robot.description.included:
        names = ', '.join(dict.fromkeys(path.name for path in robot.description.included))
        yield (
            f'The description includes other files ({names}): what is written holds their content, '
            'and they are not needed any more')
    for share in shares:
        yield from (note[:1].upper() + note[1:] for note in share.notes)
    if robot.locked_joints and any(len(_links_of(robot, s.first[0])) > 1 for s in shares):
        angles = ', '.join(f'"{joint}" at {at:g}' for joint, at in robot.locked_joints.items())
        yield (
            f'Joints were locked ({angles}): links beyond them were part of the bodies before '
            'them, so the result holds exactly only at these positions'
        )
    if closest:
        joints = listed((f'"{joint}"' for joint in closest), _NAMED)
        errors = ' to '.join(dict.fromkeys(
            f'{100.0 * end([one.error for one in closest.values()]):.2g}' for end in (min, max)))
        yield (
            f'{document.name} has no place for the friction laws of {joints}: the damping and '
            f'friction that come closest to them over the fitted motion are written, {errors} % '
            'off; the YAML export holds the laws')
    placed = set() if actuators is None else {
        each.name for own in actuators.joints for each in own.parameters(robot)}
    if actuators is not None:
        placed |= {DELAY, FILTER}
        yield from actuators_left_out(actuators, parameters)
    without_place = [
        name for name in _without_place(robot, parameters, document, closest)
        if name.strip('"') not in placed]
    if without_place:
        yield (
            f'{document.name} has no place for {listed(without_place, _NAMED)}: the YAML export '
            f'holds {"it" if len(without_place) == 1 else "them"}')


def _without_place(
    robot: RobotModel, parameters: ParameterSet, document: Document,
    closest: Mapping[str, ClosestFriction],
) -> list[str]:
    described, laws = {link.body for link in robot.links}, fields_of_laws()
    names = [f'rotor "{body}"' for body in parameters.bodies if body not in described]
    for name in parameters.names:
        owner, _, field = name.rpartition('.')
        is_written = owner in robot.opened.joint_names and (
            field in document.terms or (owner in closest and field in laws))
        if not (parameters.is_inertial(name) or is_written) and parameters[name] != 0.0:
            names.append(f'"{name}"')
    return names


def _as_description(robot: RobotModel, export: DescriptionExport) -> RobotDescription:
    """The export as if it lay where the description does: an MJCF may need its meshes."""
    return replace(
        robot.description, xml=export.xml, sha256=export.sha256, expanded_from_xacro=False)


def _check_as_written(
    robot: RobotModel, export: DescriptionExport, shares: list[BodyShares]
) -> None:
    """Read the numbers back from the bytes: rounding must not make a body unphysical."""
    document = _document(_as_description(robot, export))
    for share in shares:
        name, intended = share.first
        written = document.written(name)
        if written is None:
            raise ReleaseError('the <inertial> was not written', where=f'link "{name}"')
        if not written.is_consistent():
            raise ReleaseError(
                'the numbers as written belong to no real body', where=f'link "{name}"',
                found=f'mass {written.mass!r} kg, inertia {written.inertia.tolist()}',
                fix='Give the estimator a larger consistency margin',
            )
        if not np.array_equal(written.parameters, intended.parameters):
            raise ReleaseError('the numbers were not written exactly', where=f'link "{name}"')


def _identified_model(robot: RobotModel, parameters: ParameterSet) -> pin.Model:
    model = pin.Model(robot.pinocchio_model)
    described = {link.body for link in robot.links}
    for body in parameters.bodies:
        if body in described:
            inertia = pin.Inertia.FromDynamicParameters(parameters.inertial(body))
            model.inertias[robot.joint_of_body(body)] = inertia
    return model


def _compare_terms(
    reloaded: RobotModel, parameters: ParameterSet, closest: Mapping[str, ClosestFriction]
) -> None:
    document = _document(reloaded.description)
    for joint, values in _changed_terms(
            reloaded.opened, parameters, document, closest):
        raise ReleaseError(
            'the exported friction or armature is not the identified one', where=f'joint "{joint}"',
            allowed=', '.join(f'{name} {value}' for name, value in values.items()),
        )
