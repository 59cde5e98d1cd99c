"""The robot that is identified: an immutable model whose joints are addressed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.cached import CachesValues
from sysid_ros.robot.couplings import couple, held_positions
from sysid_ros.robot.description.checks.preflight import Finding, require_loadable
from sysid_ros.robot.description.described import DescribedJoint, DescribedRobot
from sysid_ros.robot.description.mjcf.mjcf_robot import mjcf_robot
from sysid_ros.robot.description.urdf import RobotDescription, load_description
from sysid_ros.robot.description.urdf_robot import urdf_robot
from sysid_ros.robot.inertia import consistent_neighbour, is_consistent
from sysid_ros.robot.links import LinkPlacement, links_on_bodies, parent_joint
from sysid_ros.robot.locks import Locks, locked_positions, reduced
from sysid_ros.robot.loop_closing import with_described_loops
from sysid_ros.robot.loops import WORLD, Loops, LoopSettings
from sysid_ros.robot.rotors import GearedRotor
from sysid_ros.robot.tree import KinematicTree, tree_of

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

    @classmethod
    def described(cls, joints: Sequence[DescribedJoint]) -> JointLimits:
        """Limits as a description gives them."""
        return cls(*(
            np.array([getattr(joint, name) for joint in joints], dtype=float)
            for name in ('lower', 'upper', 'velocity', 'effort')
        ))

    def of(self, joints: np.ndarray) -> JointLimits:
        """Limits of some of the joints, by their indices."""
        return JointLimits(
            self.lower[joints], self.upper[joints], self.velocity[joints], self.effort[joints])


@dataclass(frozen=True, eq=False)
class RobotModel(CachesValues):
    """Robot model: joints, moving bodies, prior inertial parameters, limits.

    Build one with :meth:`from_description`. Bodies are named by their first link; their
    parameters include every link fixed to it.

    Attributes:
        name: Name of the robot.
        description: The URDF or MJCF it was read from.
        joint_names: The n independent moving joints, in the order of every array; where loops
            are closed, those that are driven.
        joint_types: ``'revolute'``, ``'continuous'`` or ``'prismatic'`` of each.
        body_names: The b moving bodies.
        links: Links on moving bodies, the first link of a body before the others.
        inertial_prior: Inertial parameters as described, shape ``(b, 10)``.
        limits: Joint limits.
        gravity: Gravity vector in the base frame in [m/s²], shape ``(3,)``.
        locked_joints: Joints held fixed, with their positions in [rad] or [m].
        described_joints: What the description says of every moving joint, also of those
            that follow others, in the order of the tree.
        base_links: Links of the base, its first link before the others.
        free_joint: Name of the joint that leaves the base free, empty for a fixed base.
        tree: The moving bodies as arrays.
        pinocchio_model: The tree in Pinocchio, without geared rotors.
        findings: What the preflight check found that does not prevent loading.
        base_joints: The six joints that a floating base moves by, the first of all; see
            :func:`~sysid_ros.robot.floating_base.with_floating_base`.
        passive_joints: Joints of closed loops that nothing drives.
        loops: The closed loops, None for a tree; see
            :func:`~sysid_ros.robot.loop_closing.with_loops`.
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
    described_joints: Mapping[str, DescribedJoint]
    base_links: tuple[LinkPlacement, ...]
    free_joint: str
    tree: KinematicTree
    pinocchio_model: pin.Model
    findings: tuple[Finding, ...]
    base_joints: tuple[str, ...] = ()
    passive_joints: tuple[str, ...] = ()
    loops: Loops | None = None

    def __post_init__(self) -> None:
        self.inertial_prior.setflags(write=False)
        self.gravity.setflags(write=False)
        for name in ('locked_joints', 'described_joints'):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def from_description(
        cls,
        source: str | Path | RobotDescription,
        *,
        locked_joints: Locks | None = None,
        moving_joints: Sequence[str] | None = None,
        gravity: Sequence[float] | None = None,
        xacro_arguments: Mapping[str, str] | None = None,
        loops: LoopSettings | None = None,
        assets: Path | None = None,
    ) -> RobotModel:
        """Load and check a URDF, xacro, MJCF or planar mechanism file.

        Args:
            source: Path, text, or a description that was loaded before.
            locked_joints: Joints to hold fixed, see :data:`~sysid_ros.robot.locks.Locks`.
            moving_joints: Joints that stay free where ``locked_joints`` is ``'rest'``.
            gravity: Gravity vector in the base frame in [m/s²]; by default what an MJCF
                says, and :data:`STANDARD_GRAVITY` for a URDF, which cannot say it.
            xacro_arguments: Arguments for xacro.
            loops: Closed loops, besides those that an MJCF describes, and which joints are
                driven.
            assets: Folder that meshes of an MJCF are relative to; that of the file where left out.

        Returns:
            The model.

        Raises:
            ModelError: The description cannot be loaded, a locked joint does not exist,
                gravity is not three finite numbers, or nothing is left to move.
        """
        description, findings, described = _described(source, xacro_arguments or {}, assets)
        locked = locked_positions(described, locked_joints, moving_joints)
        model = reduced(described.model, held_positions(described.mimics, locked))
        model.gravity.linear = _checked_gravity(gravity, described)
        moving = tuple(model.names)[1:]
        independent, coupling, offset = couple(moving, described.mimics, locked)
        placed = links_on_bodies(model, described.inertials, described.massless)
        base = placed.pop(0)
        massless = np.array([joint not in placed for joint in range(1, model.njoints)])
        tree = cls(
            name=described.name,
            description=description,
            joint_names=independent,
            joint_types=tuple(described.joints[name].kind for name in independent),
            body_names=tuple(links[0].name for links in placed.values()),
            links=tuple(link for links in placed.values() for link in links),
            inertial_prior=np.array([_total(links) for links in placed.values()]),
            limits=JointLimits.described([described.joints[name] for name in independent]),
            gravity=np.array(model.gravity.linear),
            locked_joints=locked,
            described_joints={name: described.joints[name] for name in moving},
            base_links=tuple(base),
            free_joint=described.free_joint,
            tree=tree_of(model, coupling, offset, massless),
            pinocchio_model=model,
            findings=findings,
        )
        return with_described_loops(tree, described, loops)

    @classmethod
    def from_urdf(cls, source: str | Path | RobotDescription, **options: Any) -> RobotModel:
        """Load a URDF or xacro file, and nothing else.

        Args:
            source: As in :meth:`from_description`.
            options: Keyword arguments of :meth:`from_description`.

        Raises:
            ModelError: As for :meth:`from_description`, or the source is an MJCF.
        """
        return cls._from_format('urdf', source, options)

    @classmethod
    def from_mjcf(cls, source: str | Path | RobotDescription, **options: Any) -> RobotModel:
        """Load a MuJoCo XML file, and nothing else, by MuJoCo.

        Args:
            source: As in :meth:`from_description`.
            options: Keyword arguments of :meth:`from_description`.

        Raises:
            ModelError: As for :meth:`from_description`, or the source is a URDF.
        """
        return cls._from_format('mjcf', source, options)

    @classmethod
    def _from_format(
        cls, wanted: str, source: str | Path | RobotDescription, options: dict[str, Any]
    ) -> RobotModel:
        description = (
            source if isinstance(source, RobotDescription)
            else load_description(
                source, options.pop('xacro_arguments', None), options.pop('assets', None))
        )
        if description.format != wanted:
            root = {'urdf': '<robot>', 'mjcf': '<mujoco>'}
            raise ModelError(
                f'is not {"a URDF" if wanted == "urdf" else "an MJCF"}', where=description.where,
                found=f'root element {root[description.format]}', allowed=root[wanted],
                fix='Use RobotModel.from_description, which reads both',
            )
        options.pop('xacro_arguments', None)
        return cls.from_description(description, **options)

    @cached_property
    def opened(self) -> RobotModel:
        """The tree that is left when all loops are cut: itself for a robot without loops."""
        if self.loops is None:
            return self
        names = self.loops.joint_names
        joints = [self.described_joints[name] for name in names]
        return replace(
            self, joint_names=names, joint_types=tuple(joint.kind for joint in joints),
            limits=JointLimits.described(joints), loops=None,
        )

    @property
    def limb_joints(self) -> tuple[str, ...]:
        """The independent joints that have encoders: all but the six of a floating base."""
        return self.joint_names[len(self.base_joints):]

    @property
    def base_name(self) -> str:
        """First link of the base."""
        return self.base_links[0].name

    @property
    def base_inertial(self) -> np.ndarray:
        """Inertial parameters of the base as described, in its frame, shape ``(10,)``."""
        return _total(self.base_links)

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

    def joint_of_body(self, body: str) -> int:
        """Index in ``pinocchio_model`` of the joint that carries a body of the description.

        Raises:
            ModelError: There is no such body; geared rotors are not in Pinocchio's model.
        """
        if body not in {link.body for link in self.links}:
            raise ModelError(
                'there is no such body', found=repr(body), allowed=', '.join(self.body_names),
                fix=did_you_mean(body, self.body_names) or 'A body is called as its first link')
        return int(np.flatnonzero(~self.tree.massless)[self.body_names.index(body)]) + 1

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
        parent, link_pose = self.place_of(rotor.link)
        pose = link_pose @ pin.SE3(
            pin.rpy.rpyToMatrix(*rotor.rpy), np.array(rotor.origin, dtype=float)
        ).homogeneous
        axis = np.array(rotor.axis)
        row = np.zeros(len(self.opened.joint_names))
        row[self.opened.joint_index(rotor.joint)] = rotor.ratio
        return replace(
            self,
            body_names=(*self.body_names, rotor.name),
            inertial_prior=np.vstack([self.inertial_prior, rotor.inertial]),
            tree=self.tree.with_body(parent, pose, axis / np.linalg.norm(axis), row),
        )

    def place_of(self, link: str) -> tuple[int, np.ndarray]:
        """Body index (-1 for the base) and pose in it of a link, ``(4, 4)``.

        Raises:
            ModelError: There is no such link.
        """
        model = self.pinocchio_model
        if not model.existBodyName(link):
            if link == WORLD:
                return -1, np.eye(4)
            raise ModelError(
                'there is no such link', found=repr(link),
                allowed=', '.join(f.name for f in model.frames if f.type == pin.FrameType.BODY),
                fix=did_you_mean(link, [f.name for f in model.frames])
                    or 'Name a link of the description',
            )
        frame = model.frames[model.getBodyId(link)]
        return parent_joint(frame) - 1, frame.placement.homogeneous


def _described(
    source: str | Path | RobotDescription, xacro_arguments: Mapping[str, str], assets: Path | None
) -> tuple[RobotDescription, tuple[Finding, ...], DescribedRobot]:
    """A description that can be loaded, what was found on it, and the robot that it describes."""
    description = (
        source if isinstance(source, RobotDescription)
        else load_description(source, xacro_arguments, assets)
    )
    findings = require_loadable(description)
    described = mjcf_robot(description) if description.format == 'mjcf' else urdf_robot(description)
    return description, findings, described


def _total(links: Sequence[LinkPlacement]) -> np.ndarray:
    return np.sum([link.inertial for link in links], axis=0)


def _checked_gravity(gravity: Sequence[float] | None, described: DescribedRobot) -> np.ndarray:
    if gravity is None:
        gravity = STANDARD_GRAVITY if described.gravity is None else described.gravity
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(
            'gravity is not a vector', where='gravity', found=gravity,
            allowed='three finite numbers in m/s²',
            fix='Write robot: {gravity: [0.0, 0.0, -9.81]}',
        )
    return vector
