"""Mechanisms of robots: bodies at their centres of mass, hinges, loops, and parameters by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.estimation.trajectory.discrete.coordinates import evaluate_rows_at
from sysid_ros.estimation.trajectory.discrete.mechanism import (
    GROUND,
    Body,
    Joint,
    JointKind,
    Mechanism,
)
from sysid_ros.estimation.trajectory.discrete.parameter_map import TILT, ParameterMap
from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction
from sysid_ros.mechanics.joint_terms.dispatch import columns_by_laws
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.law import CONSTANT, VELOCITY, Law, Shape
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.stribeck import StribeckFriction
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.numerics.rotations import quaternions, rotation_with_z
from sysid_ros.robot.inertia import transform_inertial
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

# What a mechanism's joints can have of a torque model.
_TERMS = (
    ViscousFriction, CoulombFriction, StribeckFriction, Armature, TorqueOffset, DriveGain)
_CLOSURES: dict[str, JointKind] = {'point': 'spherical', 'frame': 'weld', 'rod': 'distance'}
# Step of central differences of poses in [s], of motions at speeds of about one.
_MOMENT = 1e-5


@dataclass(frozen=True)
class Softness:
    """How soft the constraints of joints are.

    Args:
        compliance: Of forces in [m/N], above zero.
        angular_compliance: Of moments in [rad/(N·m)], above zero.
        damping: Time in which a violation decays in [s]; a fraction of a step is accurate.
    """

    compliance: float = 1e-8
    angular_compliance: float = 1e-8
    damping: float = 0.01


def tilt_parameters() -> list[Parameter]:
    """A rotation of gravity, as of a base that does not stand upright."""
    return [Parameter(name, 'rad') for name in TILT]


def bearing_parameters(joints: tuple[str, ...]) -> list[Parameter]:
    """Friction of joints by the forces that their bearings transmit, as a radius."""
    return [Parameter(f'{joint}.bearing_friction', 'm', lower=0.0) for joint in joints]


def with_parameters(own: ParameterSet, more: Sequence[Parameter]) -> ParameterSet:
    """Parameters of a torque model, and others behind them.

    Args:
        own: The model's, at any values.
        more: Those of :func:`tilt_parameters` and :func:`bearing_parameters`.

    Raises:
        ParameterError: A name comes twice.
    """
    behind = ParameterSet.of(more)
    return ParameterSet(
        own.names + behind.names, own.units + behind.units, *(
            np.concatenate([getattr(own, name), getattr(behind, name)])
            for name in ('values', 'prior', 'lower', 'upper', 'free')))


@dataclass(frozen=True, eq=False)
class RobotMechanism:
    """A robot in maximal coordinates.

    Args:
        model: Torque model of the robot; its Coulomb friction is taken for what it is, dry.
        names: Parameters: the model's, then those of :func:`tilt_parameters` and
            :func:`bearing_parameters`, as far as they are wanted.
        softness: How soft constraints are.
        averaged: As of a mechanism.

    Raises:
        ModelError: The robot has joints that follow others or bodies without mass, or the model
            a term that steps of a mechanism do not know.
    """

    model: TorqueModel
    names: tuple[str, ...]
    softness: Softness = Softness()
    averaged: bool = True

    def __post_init__(self) -> None:
        tree = self.robot.tree
        if tree.is_coupled or tree.massless.any():
            raise ModelError(
                'joints that follow others, geared rotors and bodies without mass cannot be '
                'stepped', where=self.robot.name, fix='Use the estimator collocation')
        for term in self.model.terms:
            if not (isinstance(term, _TERMS) or self._smooth_laws(term) is not None):
                raise ModelError(
                    'steps of a mechanism do not know the term', where=type(term).__name__,
                    allowed=', '.join(kind.__name__ for kind in _TERMS) + ', and smooth functions '
                    'of the velocity of one joint', fix='Leave it out')

    @property
    def robot(self) -> RobotModel:
        """The robot's tree, loops opened."""
        return self.model.robot.opened

    @cached_property
    def centres(self) -> np.ndarray:
        """Centres of mass of the prior in the bodies' frames in [m], shape ``(b, 3)``."""
        prior = self.robot.reference_inertials
        return np.asarray(prior[:, 1:4] / prior[:, :1])

    @cached_property
    def mechanism(self) -> Mechanism:
        """Bodies with their origins at the prior's centres of mass, and joints."""
        robot = self.robot
        bodies = [
            Body(name, transform_inertial(prior, _shifted(-centre)))
            for name, prior, centre in zip(
                robot.body_names, robot.reference_inertials, self.centres, strict=True)]
        joints = [self._joint(k) for k in range(len(robot.joint_names))]
        loops = self.model.robot.loops
        for closure in () if loops is None else loops.closures:
            places = [robot.place_of(link) for link in closure.links]
            ends = [
                (self._body(body), self._from_centre(body, pose @ own))
                for (body, pose), own in zip(places, closure.poses, strict=True)]
            # The child is the one that moves.
            (child, here), (parent, there) = ends if places[0][0] >= 0 else ends[::-1]
            joints.append(Joint(
                closure.name, _CLOSURES[closure.kind], child, parent, here, there,
                length=closure.length, **vars(self.softness)))
        return Mechanism(bodies, joints, robot.gravity, self.averaged)

    @cached_property
    def parameter_map(self) -> ParameterMap:
        """How the parameters make up those of compiled steps."""
        own, names = self.mechanism.parameter_map, self.names
        source, parameter, factor = [], [], []
        for body, name in enumerate(self.robot.body_names):
            first = names.index(f'{name}.mass')
            shift = _shifted(-self.centres[body])
            matrix = np.column_stack([transform_inertial(e, shift) for e in np.eye(10)])
            row, column = np.nonzero(matrix)
            source.append(10 * body + row)
            parameter.append(first + column)
            factor.append(matrix[row, column])
        moments = 10 * len(self.robot.body_names)
        known, base = self.mechanism.parameters, own.base.copy()
        for place, old in zip(own.source, own.parameter, strict=True):
            if place < moments:
                continue
            if known.names[old] in names:
                source.append(np.array([place]))
                parameter.append(np.array([names.index(known.names[old])]))
                factor.append(np.ones(1))
            else:
                base[place] = known.values[old]
        return ParameterMap(
            base, np.concatenate(source), np.concatenate(parameter), np.concatenate(factor),
            own.laws)

    def commands(self, torque: np.ndarray) -> np.ndarray:
        """Commands of all drives, from those of the robot's driven joints, ``(K, f)``.

        Args:
            torque: Shape ``(K, n)``.
        """
        commands = np.zeros((len(torque), len(self.robot.joint_names)))
        driven = [self.robot.joint_index(name) for name in self.model.robot.joint_names]
        commands[:, driven] = torque
        return commands

    def states(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """States without violations.

        Args:
            q: Positions of the driven joints in [rad] or [m], shape ``(S, n)``.
            v: Their velocities, shape ``(S, n)``.

        Returns:
            Shape ``(S, 13 b)``.
        """
        place, turn = self._poses(q)
        before, after = (self._poses(q + sign * _MOMENT * v) for sign in (-1.0, 1.0))
        moved = (after[1] - before[1]) / (2.0 * _MOMENT) @ turn.transpose(0, 1, 3, 2)
        spin = 0.5 * np.stack([
            moved[..., 2, 1] - moved[..., 1, 2], moved[..., 0, 2] - moved[..., 2, 0],
            moved[..., 1, 0] - moved[..., 0, 1]], axis=-1)
        speed = (after[0] - before[0]) / (2.0 * _MOMENT)
        parts = np.concatenate([place, quaternions(turn), speed, spin], axis=2)
        return parts.reshape(len(q), -1)

    def violations(self, states: np.ndarray) -> Violations:
        """How much states violate the constraints.

        Args:
            states: Shape ``(S, 13 b)``.
        """
        constraints = self.mechanism.constraints
        found = evaluate_rows_at(self.mechanism, self.mechanism.rows_of(constraints), states)
        value = np.concatenate([found.value, found.speed], axis=1)
        return Violations(value, np.concatenate([found.by_state, found.speed_by_state], axis=1))

    def _poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres and orientations of the bodies."""
        poses = body_poses(self.model.robot, q)
        return poses.points(np.arange(len(self.centres)), self.centres), poses.rotation

    def _joint(self, k: int) -> Joint:
        robot, tree = self.robot, self.robot.tree
        parent, name = int(tree.parent[k]), robot.joint_names[k]
        aligned = np.eye(4)
        aligned[:3, :3] = rotation_with_z(tree.axis[k])
        mount = np.eye(4)
        mount[:3, :3], mount[:3, 3] = tree.rotation[k], tree.translation[k]
        fields = [
            own.removeprefix(f'{name}.') for own in self.names if own.startswith(f'{name}.')]
        return Joint(
            name, 'hinge' if tree.revolute[k] else 'prismatic', self._body(k),
            self._body(parent), self._from_centre(k, aligned),
            self._from_centre(parent, mount @ aligned),
            drive=dict.fromkeys(fields, 0.0) | self._given(name),
            laws={field: self._laws[own] for field in fields
                  if (own := f'{name}.{field}') in self._laws}, **vars(self.softness))

    def _given(self, joint: str) -> dict[str, float]:
        """Constants of the friction of a joint that are not identified."""
        given = [
            term.exponent for term in self.model.terms
            if isinstance(term, StribeckFriction) and not term.identify_exponent
            and f'{joint}.stribeck_friction' in (
                one.name for one in term.parameters(self.robot))]
        return {'stribeck_exponent': given[0]} if given else {}

    def _smooth_laws(self, term: JointTerm) -> dict[str, tuple[Law, Shape]] | None:
        """Laws by parameter of a term whose columns each act on a joint, by its speed alone.

        None for other terms, and for smoothed dry friction: at the speed before a step it would
        be as unstable as stiff.
        """
        parts = columns_by_laws(term, self.robot)
        if parts is None or any(
            part.law.variable not in (VELOCITY, CONSTANT) or part.law.smoothing is not None
            or part.joints is None for part in parts
        ):
            return None
        names = [parameter.name for parameter in term.parameters(self.robot)]
        return {names[k]: (part.law, part.shape) for part in parts for k in part.place}

    @cached_property
    def _laws(self) -> dict[str, tuple[Law, Shape]]:
        """Laws of parameters that are of no term that steps know by name."""
        return {
            name: law for term in self.model.terms if not isinstance(term, _TERMS)
            for name, law in (self._smooth_laws(term) or {}).items()}

    def _body(self, k: int) -> str:
        return GROUND if k < 0 else self.robot.body_names[k]

    def _from_centre(self, body: int, pose: np.ndarray) -> np.ndarray:
        """A pose in a body's frame, seen from its centre of mass."""
        return pose if body < 0 else _shifted(-self.centres[body]) @ pose


class Violations(NamedTuple):
    """How much S states violate m constraints.

    Attributes:
        value: Gaps, then their speeds, shape ``(S, 2 m)``.
        by_state: Shape ``(S, 2 m, 12 b)``.
    """

    value: np.ndarray
    by_state: np.ndarray


def _shifted(by: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = by
    return pose
