"""Between messages and what the rest of the package computes with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Inertia, Vector3

from sysid_ros.errors import ParameterError
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.mechanics.actuators.actuators import is_actuator_parameter
from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.mechanics.joint_terms.term import PerJoint, driven_joints
from sysid_ros.mechanics.joint_terms.terms import in_registered_order
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.msg import (
    FasterMotion,
    IdentifiedParameters,
    JointDynamics,
    JointRange,
    RevisionInfo,
)
from sysid_ros.release.link_inertias import (
    JOINT_FIELDS,
    body_inertials,
    link_inertias,
    require_joint_terms_known,
)
from sysid_ros.release.link_shares import Inertial
from sysid_ros.release.revision import Content, Kind, Quality, Revision, Validity
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

_SECOND = 1_000_000_000
_TERMS: tuple[type[PerJoint], ...] = (
    ViscousFriction, CoulombFriction, TorqueOffset, Armature, Stiffness)
_KINDS = {
    Kind.INITIAL: RevisionInfo.INITIAL, Kind.COMMIT: RevisionInfo.COMMIT,
    Kind.ROLLBACK: RevisionInfo.ROLLBACK,
}


def to_time(nanoseconds: int) -> Time:
    """A message from nanoseconds since 1970."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return Time(sec=seconds, nanosec=rest)


def to_nanoseconds(time: Time) -> int:
    """Nanoseconds since 1970 from a message, exactly."""
    return int(time.sec) * _SECOND + int(time.nanosec)


def instant(stamp: int, received: int, longest: int) -> int:
    """The time that a message is of: its stamp, or when it came where the stamp is far off.

    Args:
        stamp: Its stamp in [ns]; may be zero, or of another clock.
        received: When it came, in [ns] since 1970.
        longest: Longest way that is believed, in [ns].
    """
    return stamp if 0 <= received - stamp <= longest else received


def parameters_message(
    robot: RobotModel,
    parameters: ParameterSet,
    quality: Quality | None = None,
    *,
    stamp: int = 0,
    revision: str = '',
    estimate: str = '',
    description_sha256: str = '',
    recording_sha256: str = '',
    validity: Validity | None = None,
) -> IdentifiedParameters:
    """Parameters as a message, with the numbers that an exported description has.

    Args:
        robot: The robot as described before identification.
        parameters: Its parameters.
        quality: How far to believe them.
        stamp: When they were estimated, in nanoseconds since 1970.
        revision: Id of the revision that holds them; empty when they are not committed.
        estimate: Id of the estimate that they come from.
        description_sha256: Digest of the description that gave the prior; by default the robot's.
        recording_sha256: Digest of the recording that was fitted.
        validity: Up to where they were fitted and judged.

    Raises:
        ReleaseError: A body is physically inconsistent, or the message has no place for a
            parameter.
    """
    require_joint_terms_known(robot, parameters)
    quality = quality or Quality()
    inertias = link_inertias(robot, parameters)
    values = dict(zip(parameters.names, parameters.values.tolist(), strict=True))
    return IdentifiedParameters(
        stamp=to_time(stamp), robot_name=robot.name, revision=revision, estimate=estimate,
        description_sha256=description_sha256 or robot.description.sha256,
        recording_sha256=recording_sha256,
        link_names=list(inertias),
        link_inertias=[_inertia(inertial) for inertial in inertias.values()],
        joints=[_joint(joint, values) for joint in driven_joints(robot)],
        **_validity(validity or Validity()),
        held_out_relative_error=quality.held_out_relative_error,
        prior_relative_error=quality.prior_relative_error,
        consistency_margin=quality.consistency_margin,
        condition_number=quality.condition_number,
    )


def content_message(robot: RobotModel, content: Content, revision: str) -> IdentifiedParameters:
    """What a revision holds, as a message.

    Args:
        robot: The robot as described before identification.
        content: The content.
        revision: Id of the revision.
    """
    return parameters_message(
        robot, content.parameters, content.quality, stamp=content.estimated, revision=revision,
        estimate=content.estimate, description_sha256=content.prior_sha256,
        recording_sha256=content.recording_sha256, validity=content.validity)


def load_messages(load: PayloadEstimate) -> tuple[Inertia, Inertia]:
    """A load and the standard deviations of its numbers, as messages.

    Args:
        load: The load, in the frame it is to be told in.
    """
    found = load.quantities()
    names = ('mass', 'center_of_mass', 'inertia_about_center_of_mass')
    value, deviation = (
        _inertia_of(*(found[name][which] for name in names)) for which in (0, 1))
    return value, deviation


def info_message(revision: Revision, current: str) -> RevisionInfo:
    """A revision without the parameters themselves.

    Args:
        revision: The revision.
        current: Id of the one that is handed out.
    """
    content = revision.content
    return RevisionInfo(
        revision=revision.id, parent=revision.parent, stamp=to_time(revision.stamp),
        kind=_KINDS[revision.kind], estimate=content.estimate, restored=revision.restored,
        comment=revision.comment, description_sha256=content.description_sha256,
        held_out_relative_error=content.quality.held_out_relative_error,
        current=revision.id == current, **_validity(content.validity),
    )


def _validity(known: Validity) -> dict[str, Any]:
    """The fields of a message that say up to where a model was fitted and judged."""
    return {
        'fitted_range': _joint_ranges(known.fitted_range),
        'judged_range': _joint_ranges(known.judged_range),
        'faster_motion': _faster_motion(known.faster_motion)}


def _faster_motion(known: Mapping[str, Any]) -> FasterMotion:
    """The torque error to expect of faster motion, joints in the order the store keeps them in."""
    factors = dict(sorted(known.get('speed_factors', {}).items()))
    return FasterMotion(
        relative_error=known.get('relative_error', math.nan),
        standard_error=known.get('deviation', math.nan),
        joint_names=list(factors), speed_factors=list(factors.values()))


def _joint_ranges(fitted: Mapping[str, Any]) -> list[JointRange]:
    """Ranges of joints from plain values by joint, in the order that the store keeps them in."""
    return [
        JointRange(
            name=name, position_min=one['position'][0], position_max=one['position'][1],
            speed=one['speed'], acceleration=one['acceleration'], effort=one['torque'])
        for name, one in sorted(fitted.items())]


def model_with_terms_of(message: IdentifiedParameters, model: TorqueModel) -> TorqueModel:
    """A torque model with the joint terms that a message has and the model lacks.

    Where settings leave terms open, a fit chooses them: a revision may have a spring that nobody
    asked for, and whoever predicts torques by the revision needs it.

    Args:
        message: The message.
        model: A model of the same robot.

    Returns:
        The model itself where it lacks none; terms are in the order of the registry otherwise.
    """
    robot, terms = model.robot.opened, list(model.terms)
    for kind in _TERMS:
        names = {joint: f'{joint}.{kind.fields[0]}' for joint in robot.joint_names}
        lacking = {
            names[joint.name] for joint in message.joints
            if joint.name in names and names[joint.name] not in model.parameters
            and not math.isnan(getattr(joint, kind.fields[0]))}
        if not lacking:
            continue
        own = [term for term in terms if type(term) is kind]
        lacking |= {parameter.name for term in own for parameter in term.parameters(robot)}
        joints = tuple(joint for joint, name in names.items() if name in lacking)
        widened = replace(own[0], joints=joints) if own else kind(joints)
        terms = [term for term in terms if term not in own] + [widened]
    if terms == list(model.terms):
        return model
    return replace(model, terms=in_registered_order(terms))


def parameters_from_message(message: IdentifiedParameters, model: TorqueModel) -> ParameterSet:
    """Parameters of a torque model from a message.

    A term that the message does not know is zero; one that the model does not have must be
    absent or zero in the message, or its torques would be lost. Constants of actuators stay what
    they are in the model.

    Args:
        message: The message.
        model: A model of the same robot, from its description before or after identification.

    Returns:
        The model's parameters, with the message's values.

    Raises:
        ParameterError: The message is of another robot, names something that the model does not
            have, leaves something out, or holds a number that is not finite.
    """
    robot = model.robot
    if message.robot_name != robot.name:
        raise ParameterError(
            'the parameters are of another robot', found=repr(message.robot_name),
            allowed=repr(robot.name))
    if len(message.link_names) != len(message.link_inertias):
        raise ParameterError(
            'links and inertias are not as many', found=len(message.link_inertias),
            allowed=len(message.link_names))
    inertias = {
        name: _inertial(inertia)
        for name, inertia in zip(message.link_names, message.link_inertias, strict=True)
    }
    values = dict(_joint_values(message, model))
    for body, phi in body_inertials(robot, inertias).items():
        names = (f'{body}.{field}' for field in INERTIAL_FIELDS)
        values |= dict(zip(names, phi.tolist(), strict=True))
    return model.parameters.with_values(values)


def _joint_values(
    message: IdentifiedParameters, model: TorqueModel
) -> Iterator[tuple[str, float]]:
    """Terms of the joints that the model has, each by its name."""
    known = {joint.name: joint for joint in message.joints}
    for name in known:
        model.robot.joint_index(name)
    for name in model.parameters.names:
        owner, _, field = name.rpartition('.')
        if model.parameters.is_inertial(name) or is_actuator_parameter(name):
            continue
        if field not in JOINT_FIELDS or owner not in model.robot.joint_names:
            raise ParameterError('the message cannot say this parameter', found=repr(name))
        if owner not in known:
            raise ParameterError('nothing is known of a joint', found=repr(owner))
        value = getattr(known[owner], field)
        yield name, 0.0 if math.isnan(value) else value
    for name, joint in known.items():
        for field in JOINT_FIELDS:
            lost = getattr(joint, field)
            if f'{name}.{field}' not in model.parameters and lost != 0.0 and not math.isnan(lost):
                raise ParameterError(
                    'the torque model has no such term, whose torques would be lost',
                    where=f'{name}.{field}', found=lost, fix='Add the term to the model')


def _joint(name: str, values: Mapping[str, float]) -> JointDynamics:
    return JointDynamics(name=name, **{
        field: values.get(f'{name}.{field}', math.nan) for field in JOINT_FIELDS})


def _inertia_of(mass: np.ndarray, com: np.ndarray, entries: np.ndarray) -> Inertia:
    """Entries xx, xy, yy, xz, yz, zz as in the parameters of a body."""
    x, y, z = com.tolist()
    return Inertia(
        m=float(mass[0]), com=Vector3(x=x, y=y, z=z),
        **dict(zip(('ixx', 'ixy', 'iyy', 'ixz', 'iyz', 'izz'), entries.tolist(), strict=True)))


def _inertia(inertial: Inertial) -> Inertia:
    x, y, z = inertial.com.tolist()
    matrix = inertial.inertia
    return Inertia(
        m=float(inertial.mass), com=Vector3(x=x, y=y, z=z),
        ixx=float(matrix[0, 0]), ixy=float(matrix[0, 1]), ixz=float(matrix[0, 2]),
        iyy=float(matrix[1, 1]), iyz=float(matrix[1, 2]), izz=float(matrix[2, 2]),
    )


def _inertial(inertia: Inertia) -> Inertial:
    matrix = np.array([
        [inertia.ixx, inertia.ixy, inertia.ixz],
        [inertia.ixy, inertia.iyy, inertia.iyz],
        [inertia.ixz, inertia.iyz, inertia.izz],
    ])
    return Inertial(inertia.m, np.array([inertia.com.x, inertia.com.y, inertia.com.z]), matrix)
