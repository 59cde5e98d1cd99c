"""Mechanisms of rigid bodies in maximal coordinates: bodies, joints, contacts and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    DRIVE_FIELDS,
    BodyParameters,
    DriveLaws,
    MechanismArrays,
)
from sysid_ros.estimation.trajectory.discrete.parameter_map import TILT, ParameterMap
from sysid_ros.estimation.trajectory.discrete.rows import (
    COSINE,
    DISTANCE,
    PLACE,
    SLIDE,
    TURN,
    WORLD,
    Rows,
)
from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction
from sysid_ros.mechanics.joint_terms.dispatch import law_arrays
from sysid_ros.mechanics.joint_terms.law import Law, Shape
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.stribeck import StribeckFriction
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.parameters import Parameter, ParameterSet, inertial_parameter_list

#: Name of what does not move.
GROUND = 'world'
JointKind = Literal['hinge', 'prismatic', 'spherical', 'weld', 'distance', 'contact']

_X, _Y, _Z = range(3)
# Error of a pose's rotation that is no rounding.
_RIGID = 1e-6
# Units of the fields of drives, of joints that turn and of those that slide.
_UNITS = {
    'stribeck_velocity': ('rad/s', 'm/s'), 'bearing_friction': ('m', ''),
    'stribeck_bearing_friction': ('m', ''), 'drive_gain': ('', ''), 'stribeck_exponent': ('', ''),
    **{term.fields[0]: (term.rotational_unit, term.linear_unit) for term in (
        ViscousFriction, CoulombFriction, StribeckFriction, Armature, TorqueOffset)}}
_SIGNED = ('drive_gain', 'torque_offset')
# Fields that make friction dry.
_DRY = ('coulomb_friction', 'stribeck_friction', 'bearing_friction', 'stribeck_bearing_friction')
_UNTOUCHED = {'drive_gain': 1.0, 'stribeck_velocity': 0.1, 'stribeck_exponent': 2.0}


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body.

    Attributes:
        name: Name.
        inertial: Inertial parameters at its origin, in its axes, shape ``(10,)``. Steps are the
            more accurate the nearer the origin is to the centre of mass. In [kg, kg·m, kg·m²].

    Raises:
        ModelError: The inertial parameters are not ten finite numbers.
    """

    name: str
    inertial: np.ndarray

    def __post_init__(self) -> None:
        if np.shape(self.inertial) != (10,) or not np.isfinite(self.inertial).all():
            raise ModelError(
                'inertial parameters are not ten finite numbers', where=self.name,
                found=np.asarray(self.inertial).tolist())


@dataclass(frozen=True, eq=False)
class JointRow:
    """An elementary constraint of a joint.

    Attributes:
        kind: One of those of :mod:`~sysid_ros.estimation.trajectory.discrete.rows`.
        axis: An axis of the world.
        here: Which axis of the joint's frame in the child.
        there: And in the parent.
    """

    kind: int
    axis: np.ndarray | None = None
    here: int | None = None
    there: int | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """What is between a body and another one, or the ground.

    Attributes:
        name: Name.
        kind: ``hinge`` and ``prismatic`` move about or along the z axis of the parent's frame;
            ``contact`` keeps the child's point on the positive side of the plane through the
            parent's frame, normal to z.
        child: Name of the body.
        parent: Name of the other one, or :data:`GROUND`.
        child_pose: The joint's frame in the child, shape ``(4, 4)``.
        parent_pose: And in the parent.
        compliance: Of forces in [m/N], above zero.
        angular_compliance: Of moments in [rad/(N·m)], above zero.
        damping: Time in which a violation decays in [s]. About a quarter of a step to two steps
            keeps steps accurate; a longer time lets points that turn drift apart, see
            :func:`~sysid_ros.estimation.trajectory.discrete.stepper.simulate`.
        length: What ``distance`` keeps in [m].
        drive: Parameters of the motion by the names of :data:`DRIVE_FIELDS`. A contact has
            ``bearing_friction`` alone, its coefficient of friction.
        laws: Laws of further names in ``drive`` over the speed of the motion, or constant, with
            their constants.
        levers: What a unit of the joint's force, and of its moment, presses on its friction;
            ``bearing_friction`` times the first is a radius times a coefficient of friction.
            Forces count by their parts along the world's axes, moments by those about the
            parent's axes across a hinge (eq. F.4 of the paper on discrete multibody dynamics).

    Raises:
        ModelError: There is no such kind, pose, length, compliance or damping time, or a drive of
            this kind has no such parameter or value.
    """

    name: str
    kind: JointKind
    child: str
    parent: str = GROUND
    child_pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    parent_pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    compliance: float = 1e-8
    angular_compliance: float = 1e-8
    damping: float = 0.01
    length: float = 0.0
    drive: Mapping[str, float] = field(default_factory=dict)
    laws: Mapping[str, tuple[Law, Shape]] = field(default_factory=dict)
    levers: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if self.kind not in get_args(JointKind):
            raise ModelError(
                'there is no such kind of joint', where=self.name, found=repr(self.kind),
                allowed=', '.join(get_args(JointKind)),
                fix=did_you_mean(self.kind, get_args(JointKind)))
        for name in ('compliance', 'angular_compliance'):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ModelError(
                    'a constraint has no compliance', where=f'{self.name}.{name}',
                    found=getattr(self, name), allowed='above zero, however small')
        if not 0.0 <= self.damping < np.inf:
            raise ModelError(
                'a damping time is negative, or none', where=f'{self.name}.damping',
                found=self.damping, allowed='zero or above')
        if self.kind == 'distance' and not 0.0 < self.length < np.inf:
            raise ModelError(
                'a distance has no length', where=f'{self.name}.length', found=self.length,
                allowed='above zero', fix='Use a spherical joint where points coincide')
        for name in ('child_pose', 'parent_pose'):
            _check_pose(getattr(self, name), f'{self.name}.{name}')
        known = (*DRIVE_FIELDS, *self.laws) if self.kind in ('hinge', 'prismatic') else (
            ('bearing_friction',) if self.kind == 'contact' else ())
        for name in self.drive:
            if name not in known:
                raise ModelError(
                    f'a {self.kind} has no such parameter', where=self.name, found=repr(name),
                    allowed=', '.join(known) or 'none', fix=did_you_mean(name, known))
        for name, value in self.drive.items():
            if not (np.isfinite(value) and (value >= 0.0 or name in _SIGNED)):
                raise ModelError(
                    'a parameter of a drive has no such value', where=f'{self.name}.{name}',
                    found=value, allowed='finite' if name in _SIGNED else 'zero or above')

    @property
    def rows(self) -> list[JointRow]:
        """The constraints."""
        place = [JointRow(PLACE, axis) for axis in np.eye(3)]
        # Moments are about axes of the parent, as forces are along those of the world.
        upright = [JointRow(COSINE, here=_Z, there=_X), JointRow(COSINE, here=_Z, there=_Y)]
        along = [JointRow(COSINE, here=_X, there=_Y)]
        across = [JointRow(SLIDE, there=_X), JointRow(SLIDE, there=_Y)]
        return {
            'hinge': place + upright, 'prismatic': across + upright + along,
            'spherical': place, 'weld': place + upright + along,
            'distance': [JointRow(DISTANCE)], 'contact': [JointRow(SLIDE, there=_Z)],
        }[self.kind]

    @property
    def drives(self) -> list[JointRow]:
        """The directions of motion that have friction, or are driven."""
        return {
            'hinge': [JointRow(TURN, there=_Z)], 'prismatic': [JointRow(SLIDE, there=_Z)],
            'contact': [JointRow(SLIDE, there=_X), JointRow(SLIDE, there=_Y)],
        }.get(self.kind, [])


def _check_pose(pose: np.ndarray, where: str) -> None:
    """Raise if a matrix does not turn and move a frame."""
    pose = np.asarray(pose)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ModelError(
            'a pose is no finite matrix of four rows and columns', where=where, found=pose.shape)
    turn = pose[:3, :3]
    away = max(np.abs(turn @ turn.T - np.eye(3)).max(), abs(np.linalg.det(turn) - 1.0))
    if away > _RIGID:
        raise ModelError(
            'the axes of a pose are not orthonormal and right-handed', where=where,
            found=f'{away:.2g} off')


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Rigid bodies and joints.

    Attributes:
        bodies: The bodies, b of them.
        joints: What is between them.
        gravity: Its acceleration without tilt in [m/s²], shape ``(3,)``.
        averaged: Whether gyroscopic forces and viscous friction are a mean of both ends of a step,
            or those before and of the next, as published.

    Raises:
        ModelError: Names are not unique, or a joint names a body that does not exist.
    """

    bodies: Sequence[Body]
    joints: Sequence[Joint]
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    averaged: bool = True

    def __post_init__(self) -> None:
        for kind, things in (('bodies', self.bodies), ('joints', self.joints)):
            names = [thing.name for thing in things]
            twice = sorted({name for name in names if names.count(name) > 1 or name == GROUND})
            if twice:
                raise ModelError(f'names of {kind} are not unique', found=', '.join(twice))
        for joint in self.joints:
            for name in (joint.child, joint.parent):
                if name != GROUND and name not in self._place:
                    raise ModelError(
                        'there is no such body', where=joint.name, found=repr(name),
                        allowed=', '.join(self._place), fix=did_you_mean(name, self._place))
            if joint.child == GROUND:
                raise ModelError('the child of a joint does not move', where=joint.name)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {body.name: k for k, body in enumerate(self.bodies)}

    @cached_property
    def arrays(self) -> MechanismArrays:
        """What compiled steps work on; m constraints, f drives."""
        constraints = self.constraints
        angular = np.array([row.kind == COSINE for _, row in constraints], dtype=bool)

        def of(name: str) -> np.ndarray:
            return np.array([getattr(joint, name) for joint, _ in constraints], dtype=float)

        levers = np.array([joint.levers for joint, _ in constraints]).reshape(-1, 2)
        return MechanismArrays(
            rows=self.rows_of([*constraints, *self.drives]),
            compliance=np.where(angular, of('angular_compliance'), of('compliance')),
            damping=of('damping'),
            one_sided=np.array([joint.kind == 'contact' for joint, _ in constraints], dtype=bool),
            arms=np.where(angular, levers[:, 1], levers[:, 0]),
            dry=np.array([
                any(name in joint.drive for name in _DRY) for joint, _ in self.drives], dtype=bool),
            loaded=self._loaded, averaged=self.averaged,
            drive_laws=DriveLaws(
                np.array([j for j, _, _ in self._laws], dtype=np.int64),
                law_arrays([joint.laws[name] for _, joint, name in self._laws])))

    @cached_property
    def constraints(self) -> list[tuple[Joint, JointRow]]:
        """Joints by their elementary constraints."""
        return [(joint, row) for joint in self.joints for row in joint.rows]

    @cached_property
    def drives(self) -> list[tuple[Joint, JointRow]]:
        """Joints by their directions of motion; a contact comes twice."""
        return [(joint, row) for joint in self.joints for row in joint.drives]

    @cached_property
    def _laws(self) -> list[tuple[int, Joint, str]]:
        """Further laws of drives: which drive, its joint and the name of the amplitude."""
        return [
            (j, joint, name) for j, (joint, _) in enumerate(self.drives)
            for name in joint.drive if name in joint.laws]

    @cached_property
    def _loaded(self) -> np.ndarray:
        ends = np.cumsum([0, *(len(joint.rows) for joint in self.joints)])
        place = {joint.name: k for k, joint in enumerate(self.joints)}
        return np.array(
            [(ends[place[joint.name]], ends[place[joint.name] + 1]) for joint, _ in self.drives],
            dtype=np.int64).reshape(-1, 2)

    def joint(self, name: str) -> Joint:
        """A joint by name.

        Raises:
            ModelError: There is none of that name; the others are listed.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        names = [joint.name for joint in self.joints]
        raise ModelError(
            'there is no such joint', found=repr(name), allowed=', '.join(names),
            fix=did_you_mean(name, names))

    def rows_of(self, rows: list[tuple[Joint, JointRow]]) -> Rows:
        """Rows as compiled steps work with them."""
        count = len(rows)
        ends = np.array([
            (self._place[joint.child], self._place.get(joint.parent, WORLD))
            for joint, _ in rows], dtype=np.int64).reshape(count, 2)
        here, there, axis = np.zeros((3, count, 3))
        for k, (joint, row) in enumerate(rows):
            child, parent = joint.child_pose, joint.parent_pose
            here[k] = child[:3, 3] if row.here is None else child[:3, row.here]
            cosine = row.kind == COSINE
            there[k] = parent[:3, row.there] if cosine else parent[:3, 3]
            if row.axis is not None:
                axis[k] = row.axis
            elif row.there is not None and not cosine:
                axis[k] = parent[:3, row.there]
        return Rows(
            kind=np.array([row.kind for _, row in rows], dtype=np.int64),
            first=ends[:, 0].copy(), second=ends[:, 1].copy(), here=here, there=there, axis=axis,
            offset=np.array([
                joint.length if row.kind == DISTANCE else 0.0 for joint, row in rows]))

    @cached_property
    def parameters(self) -> ParameterSet:
        """Inertial parameters of the bodies, what was said of drives, and the tilt of gravity."""
        parameters = [
            parameter for body in self.bodies
            for parameter in inertial_parameter_list(body.name, body.inertial)]
        for joint in self.joints:
            for name, value in joint.drive.items():
                unit = _UNITS.get(name, ('', ''))[joint.kind != 'hinge']
                lower = -np.inf if name in _SIGNED else 0.0
                parameters.append(Parameter(f'{joint.name}.{name}', unit, float(value), lower))
        parameters += [Parameter(name, 'rad') for name in TILT]
        return ParameterSet.of(parameters)

    @cached_property
    def parameter_map(self) -> ParameterMap:
        """How :attr:`parameters` make up what compiled steps work with."""
        names, first = self.parameters.names, len(self.bodies) * len(INERTIAL_FIELDS)
        amplitudes = first + len(self.drives) * len(DRIVE_FIELDS)
        base = np.zeros(amplitudes + len(self._laws) + len(TILT))
        pairs = [(k, k) for k in range(first)]
        for j, (joint, _) in enumerate(self.drives):
            for k, name in enumerate(DRIVE_FIELDS):
                place = first + j * len(DRIVE_FIELDS) + k
                base[place] = _UNTOUCHED.get(name, 0.0)
                if name in joint.drive:
                    base[place] = 0.0
                    pairs.append((place, names.index(f'{joint.name}.{name}')))
        pairs += [
            (amplitudes + e, names.index(f'{joint.name}.{name}'))
            for e, (_, joint, name) in enumerate(self._laws)]
        pairs += [
            (len(base) - len(TILT) + c, len(names) - len(TILT) + c) for c in range(len(TILT))]
        source, parameter = np.array(pairs, dtype=np.int64).T
        return ParameterMap(base, source, parameter, np.ones(len(pairs)), len(self._laws))

    def body_parameters(self, values: np.ndarray) -> BodyParameters:
        """Parameter values as compiled steps work with them.

        Args:
            values: Of :attr:`parameters`, shape ``(p,)``.

        Raises:
            ModelError: They are not as many, or Stribeck's velocity is not above zero.
        """
        if np.shape(values) != np.shape(self.parameters.values):
            raise ModelError(
                'the values are not those of the parameters', found=f'shape {np.shape(values)}',
                allowed=np.shape(self.parameters.values))
        return self.parameter_map.body_parameters(values, len(self.bodies), self.gravity)
