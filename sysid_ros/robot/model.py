"""The robot that is identified: an immutable model whose joints are addressed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.couplings import couple, held_positions, read_mimics
from sysid_ros.robot.inertia import consistent_neighbour, is_consistent
from sysid_ros.robot.links import LinkPlacement, links_on_bodies, parent_joint
from sysid_ros.robot.numbers import number_of
from sysid_ros.robot.preflight import Finding, require_loadable
from sysid_ros.robot.safe_xml import attribute
from sysid_ros.robot.tree import KinematicTree, tree_of
from sysid_ros.robot.urdf import RobotDescription, kinematic_description, load_description

STANDARD_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of the independent joints, shape ``(n,)`` each.

    Attributes:
        lower: Lower position limit in [rad] or [m], ``-inf`` where there is none.
        upper: Upper position limit in [rad] or [m], ``inf`` where there is none.
        velocity: Velocity limit in [rad/s] or [m/s], ``nan`` where not given.
        effort: Torque limit in [N·m] or force limit in [N], ``nan`` where not given.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    def __post_init__(self) -> None:
        for limit in (self.lower, self.upper, self.velocity, self.effort):
            limit.setflags(write=False)


@dataclass(frozen=True)
class GearedRotor:
    """A motor's rotor as a body of its own, turning with a joint at a gear ratio.

    Attributes:
        name: Name of the new body.
        joint: Independent joint that drives it.
        ratio: Rotor angle per joint angle, without unit.
        link: Link the stator is fixed to.
        origin: Position of the rotor frame in that link in [m].
        rpy: Orientation of the rotor frame in that link as roll, pitch, yaw in [rad].
        axis: Rotation axis in the rotor frame.
        inertial: Prior inertial parameters in the rotor frame, ten numbers.
    """

    name: str
    joint: str
    ratio: float
    link: str
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    inertial: tuple[float, ...] = (0.0,) * 10

    def __post_init__(self) -> None:
        for field, length in (('origin', 3), ('rpy', 3), ('axis', 3), ('inertial', 10)):
            values = np.array(getattr(self, field), dtype=float)
            if values.shape != (length,) or not np.isfinite(values).all():
                raise ModelError(
                    'the numbers do not fit', where=f'rotor {self.name!r}: {field}',
                    found=getattr(self, field), allowed=f'{length} finite numbers',
                )
            object.__setattr__(self, field, tuple(values.tolist()))
        if not np.isfinite(self.ratio):
            raise ModelError(
                'the gear ratio is not finite', where=f'rotor {self.name!r}', found=self.ratio
            )
        if not any(self.axis):
            raise ModelError('the rotor has no axis', where=f'rotor {self.name!r}', found=self.axis)


@dataclass(frozen=True, eq=False)
class RobotModel:
    """What is identified: joints, moving bodies, prior inertial parameters, limits.

    Build one with :meth:`from_urdf`. Bodies are named by their first link; their
    parameters include every link fixed to it.

    Attributes:
        name: Name of the robot.
        description: The URDF it was read from.
        joint_names: The n independent moving joints, in the order of every array.
        joint_types: ``'revolute'``, ``'continuous'`` or ``'prismatic'`` of each.
        body_names: The b moving bodies.
        links: Links on moving bodies, the first link of a body before the others.
        inertial_prior: Inertial parameters as described, shape ``(b, 10)``.
        limits: Joint limits.
        gravity: Gravity vector in the base frame in [m/s²], shape ``(3,)``.
        locked_joints: Joints held fixed, with their positions in [rad] or [m].
        tree: The moving bodies as arrays.
        pinocchio_model: The tree in Pinocchio, without geared rotors.
        findings: What the preflight check found that does not prevent loading.
    """

    name: str
    description: RobotDescription
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    body_names: tuple[str, ...]
    links: tuple[LinkPlacement, ...]
    inertial_prior: np.ndarray
    limits: JointLimits
    gravity: np.ndarray
    locked_joints: Mapping[str, float]
    tree: KinematicTree
    pinocchio_model: pin.Model
    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        self.inertial_prior.setflags(write=False)
        self.gravity.setflags(write=False)
        object.__setattr__(self, 'locked_joints', MappingProxyType(dict(self.locked_joints)))

    @classmethod
    def from_urdf(
        cls,
        source: str | Path | RobotDescription,
        *,
        locked_joints: Mapping[str, float] | None = None,
        gravity: Sequence[float] = STANDARD_GRAVITY,
        xacro_arguments: Mapping[str, str] | None = None,
    ) -> RobotModel:
        """Load and check a URDF or xacro file.

        Args:
            source: Path, URDF text, or a description that was loaded before.
            locked_joints: Joints to hold fixed, with their positions in [rad] or [m].
            gravity: Gravity vector in the base frame in [m/s²].
            xacro_arguments: Arguments for xacro.

        Returns:
            The model.

        Raises:
            ModelError: The description cannot be loaded, a locked joint does not exist,
                gravity is not three finite numbers, or nothing is left to move.
        """
        description = (
            source if isinstance(source, RobotDescription)
            else load_description(source, xacro_arguments or {})
        )
        findings = require_loadable(description)
        full = _load(description)
        locked = _checked_locks(full, dict(locked_joints or {}))
        mimics = read_mimics(description.root)
        model = _reduced(full, held_positions(mimics, locked))
        independent, coupling, offset = couple(tuple(model.names)[1:], mimics, locked)
        model.gravity.linear = _checked_gravity(gravity)
        links = links_on_bodies(model, description.root)
        bodies = tuple(dict.fromkeys(link.body for link in links))
        types = {
            attribute(joint, 'name'): attribute(joint, 'type')
            for joint in description.root.findall('joint')
        }
        return cls(
            name=description.root.get('name', 'robot'),
            description=description,
            joint_names=independent,
            joint_types=tuple(types[name] for name in independent),
            body_names=bodies,
            links=links,
            inertial_prior=np.array(
                [sum(link.inertial for link in links if link.body == body) for body in bodies]
            ),
            limits=_limits(description, independent),
            gravity=np.array(model.gravity.linear),
            locked_joints=locked,
            tree=tree_of(model, coupling, offset),
            pinocchio_model=model,
            findings=findings,
        )

    @cached_property
    def reference_inertials(self) -> np.ndarray:
        """Consistent inertial parameters next to the prior, shape ``(b, 10)``.

        Equal to the prior for every body that is safely consistent; see
        :attr:`replaced_priors` for the others.
        """
        reference = np.array([consistent_neighbour(phi) for phi in self.inertial_prior])
        reference.setflags(write=False)
        return reference

    @property
    def replaced_priors(self) -> dict[str, str]:
        """Bodies whose prior was replaced by a consistent neighbour, with the reason."""
        reasons = {}
        for body, prior, used in zip(
            self.body_names, self.inertial_prior, self.reference_inertials, strict=True
        ):
            if np.array_equal(prior, used):
                continue
            if prior[0] <= 0.0:
                reasons[body] = 'it has no mass'
            elif is_consistent(prior):
                reasons[body] = 'its inertia is nearly singular'
            else:
                reasons[body] = 'its inertia belongs to no real mass distribution'
        return reasons

    def joint_index(self, name: str) -> int:
        """Index of an independent joint.

        Raises:
            ModelError: There is no such moving joint; the existing ones are listed.
        """
        if name not in self.joint_names:
            raise ModelError(
                'there is no such moving joint', found=repr(name),
                allowed=', '.join(self.joint_names), fix=did_you_mean(name, self.joint_names),
            )
        return self.joint_names.index(name)

    def with_rotors(self, rotors: Sequence[GearedRotor]) -> RobotModel:
        """The robot with geared rotors as further bodies, after the links.

        Raises:
            ModelError: A link, joint or name does not fit.
        """
        robot = self
        for rotor in rotors:
            robot = robot._with_rotor(rotor)
        return robot

    def _with_rotor(self, rotor: GearedRotor) -> RobotModel:
        if rotor.name in self.body_names or self.pinocchio_model.existBodyName(rotor.name):
            raise ModelError(
                'two bodies have the same name', where='rotors', found=repr(rotor.name),
                fix='Give the rotor a name that no link has',
            )
        parent, link_pose = self._frame(rotor.link)
        pose = link_pose @ pin.SE3(
            pin.rpy.rpyToMatrix(*rotor.rpy), np.array(rotor.origin, dtype=float)
        ).homogeneous
        axis = np.array(rotor.axis)
        row = np.zeros(len(self.joint_names))
        row[self.joint_index(rotor.joint)] = rotor.ratio
        return replace(
            self,
            body_names=(*self.body_names, rotor.name),
            inertial_prior=np.vstack([self.inertial_prior, rotor.inertial]),
            tree=self.tree.with_body(parent, pose, axis / np.linalg.norm(axis), row),
        )

    def _frame(self, link: str) -> tuple[int, np.ndarray]:
        """Body index (-1 for the base) and pose in it of a link."""
        model = self.pinocchio_model
        if not model.existBodyName(link):
            raise ModelError(
                'there is no such link', where='rotors', found=repr(link),
                allowed=', '.join(f.name for f in model.frames if f.type == pin.FrameType.BODY),
            )
        frame = model.frames[model.getBodyId(link)]
        return parent_joint(frame) - 1, frame.placement.homogeneous


def _load(description: RobotDescription) -> pin.Model:
    try:
        return pin.buildModelFromXML(kinematic_description(description))
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f'the description cannot be loaded: {error}', where=description.where,
            fix='See the findings of the model check',
        ) from error


def _checked_gravity(gravity: Sequence[float]) -> np.ndarray:
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(
            'gravity is not a vector', where='gravity', found=gravity,
            allowed='three finite numbers in m/s²',
        )
    return vector


def _checked_locks(model: pin.Model, locked: dict[str, float]) -> dict[str, float]:
    moving = tuple(model.names)[1:]
    for name, position in locked.items():
        if name not in moving:
            raise ModelError(
                'there is no such moving joint to lock', where='locked_joints',
                found=repr(name), allowed=', '.join(moving), fix=did_you_mean(name, moving),
            )
        if not np.isfinite(position):
            raise ModelError(
                'the locked position is not finite', where=f'locked_joints.{name}', found=position
            )
    return {name: float(position) for name, position in locked.items()}


def _reduced(model: pin.Model, held: Mapping[str, float]) -> pin.Model:
    """The model with some joints fixed at their positions in [rad] or [m]."""
    if len(held) == model.njoints - 1:
        raise ModelError(
            'no joint is left to move', where=model.name,
            fix='Lock fewer joints, or use a description with moving joints',
        )
    reference = pin.neutral(model)
    for name, position in held.items():
        reference[model.joints[model.getJointId(name)].idx_q] = position
    return pin.buildReducedModel(model, [model.getJointId(name) for name in held], reference)


def _limits(description: RobotDescription, names: tuple[str, ...]) -> JointLimits:
    """Limits as written; Pinocchio's own have no way to say that one is missing."""
    joints = {joint.get('name'): joint for joint in description.root.findall('joint')}
    columns = []
    for name in names:
        limit = joints[name].find('limit')
        endless = joints[name].get('type') == 'continuous' or limit is None
        columns.append((
            -np.inf if endless else number_of(limit, 'lower', 0.0),
            np.inf if endless else number_of(limit, 'upper', 0.0),
            number_of(limit, 'velocity', np.nan),
            number_of(limit, 'effort', np.nan),
        ))
    return JointLimits(*np.array(columns).T.copy())
