"""The ``robot:`` section of a settings file: the description and its joint terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sysid_ros.dynamics.drive_gain import DriveGain
from sysid_ros.dynamics.load_friction import LoadFriction
from sysid_ros.dynamics.nonlinear_terms import (
    PowerLawFriction,
    SmoothCoulombFriction,
    StribeckFriction,
)
from sysid_ros.dynamics.terms import (
    Armature,
    AsymmetricCoulombFriction,
    CoulombFriction,
    CoupledAxis,
    JointTerm,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
    described_dynamics,
    driven_joints,
)
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ConfigurationError
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor
from sysid_ros.settings import StrictSettings

#: Joints that have a term: all of them, or some by name.
JointSelection = Literal['all'] | tuple[str, ...]


class CoupledAxisSettings(StrictSettings):
    """A drive that turns with several joints; see :class:`~sysid_ros.dynamics.terms.CoupledAxis`.

    Attributes:
        name: Name of the axis.
        weights: Weight of each joint in the axis' angle.
    """

    name: str
    weights: dict[str, float]


class TermSettings(StrictSettings):
    """Joint terms beside rigid-body dynamics.

    Where loops are closed, ``all`` stands for the driven joints, and for passive ones whose
    description gives the friction; other passive joints are named.

    Attributes:
        viscous_friction: Joints with friction proportional to velocity.
        coulomb_friction: Joints with dry friction.
        torque_offset: Joints with a constant torque.
        armature: Joints with drive inertia; where left out, those whose description gives one.
        stiffness: Joints with a spring (hoses and cables act like one); where left out, those
            whose description gives one.
        coupled_axes: Drives that turn with several joints.
        coulomb_smoothing: Velocity in [rad/s] or [m/s] over which the sign of dry friction
            is smoothed; 0 for the sign itself, ``identified`` for one per joint and axis that
            the data tells.
        asymmetric_coulomb: Joints whose dry friction differs between the directions; they
            have neither Coulomb friction nor a torque offset then, which would say the same.
        stribeck_friction: Joints and coupled axes whose dry friction is larger at low speed.
        stribeck_exponent: How it decays, 2 as a Gaussian; ``identified`` for one each.
        power_friction: Joints with friction that grows ever less with speed.
        load_friction: Joints with dry friction proportional to the transmitted torque.
        drive_gain: Joints whose torque per recorded unit is not known; see
            :class:`~sysid_ros.dynamics.drive_gain.DriveGain` for what settles the scale.
    """

    viscous_friction: JointSelection = 'all'
    coulomb_friction: JointSelection = 'all'
    torque_offset: JointSelection = 'all'
    armature: JointSelection = ()
    stiffness: JointSelection = ()
    coupled_axes: tuple[CoupledAxisSettings, ...] = ()
    coulomb_smoothing: Annotated[float, Field(ge=0.0)] | Literal['identified'] = 0.0
    asymmetric_coulomb: JointSelection = ()
    stribeck_friction: JointSelection = ()
    stribeck_exponent: Annotated[float, Field(gt=0.0)] | Literal['identified'] = 2.0
    power_friction: JointSelection = ()
    load_friction: JointSelection = ()
    drive_gain: JointSelection = ()

    def described(self, robot: RobotModel) -> TermSettings:
        """These settings, with the drives and springs of the description where left out."""
        tree = robot.opened
        found = {
            name: tuple(
                joint for joint, value in zip(
                    tree.joint_names, described_dynamics(tree, name), strict=True
                ) if value > 0.0
            )
            for name in ('armature', 'stiffness') if name not in self.model_fields_set
        }
        return self.model_copy(update=found)

    @model_validator(mode='after')
    def _check(self) -> TermSettings:
        if self.coulomb_smoothing == 'identified' and self.asymmetric_coulomb:
            raise ConfigurationError(
                'dry friction that differs between the directions has no identified smoothing',
                where='coulomb_smoothing', found="'identified'", allowed='a velocity',
            )
        return self

    def build(self, robot: RobotModel) -> list[JointTerm]:
        """The terms, in the order of their columns.

        Args:
            robot: The robot, for the joints that ``all`` stands for.

        Raises:
            ConfigurationError: A joint has friction that shares its smoothing with Coulomb
                friction which it has not.
        """
        joint_names = driven_joints(robot)
        both = self.asymmetric_coulomb
        coulomb = _without(self.coulomb_friction, both, joint_names)
        offset = _without(self.torque_offset, both, joint_names)
        terms: list[JointTerm] = []
        terms += _on(self.viscous_friction, ViscousFriction)
        terms += self._dry_friction(coulomb, joint_names)
        terms += _on(offset, TorqueOffset)
        terms += _on(self.armature, Armature)
        terms += _on(self.stiffness, Stiffness)
        terms += [
            CoupledAxis(
                axis.name, tuple(axis.weights.items()), self._fixed_smoothing or 0.0,
                dry=self._fixed_smoothing is not None,
            )
            for axis in self.coupled_axes
        ]
        terms += _on(self.power_friction, PowerLawFriction)
        terms += _on(self.load_friction, LoadFriction, smoothing=self._fixed_smoothing)
        terms += _on(self.drive_gain, DriveGain)
        return terms

    @property
    def _fixed_smoothing(self) -> float | None:
        return None if self.coulomb_smoothing == 'identified' else float(self.coulomb_smoothing)

    def _dry_friction(
        self, coulomb: JointSelection, joint_names: tuple[str, ...]
    ) -> list[JointTerm]:
        """Coulomb friction, in both directions or in each, and its peak at low speed."""
        smoothing = self._fixed_smoothing
        axes = tuple((axis.name, tuple(axis.weights.items())) for axis in self.coupled_axes)
        terms: list[JointTerm] = []
        if smoothing is not None:
            terms += _on(coulomb, CoulombFriction, smoothing=smoothing)
            terms += _on(self.asymmetric_coulomb, AsymmetricCoulombFriction, smoothing=smoothing)
        else:
            self._require_coulomb(coulomb, joint_names)
            if coulomb or axes:
                joints = None if coulomb == 'all' else coulomb
                terms.append(SmoothCoulombFriction(joints, axes))
        chosen = self.stribeck_friction
        if chosen:
            named = dict(axes)
            identified = self.stribeck_exponent == 'identified'
            terms.append(StribeckFriction(
                None if chosen == 'all' else tuple(n for n in chosen if n not in named),
                tuple(axis for axis in axes if chosen == 'all' or axis[0] in chosen),
                smoothing=smoothing, identify_exponent=identified,
                exponent=2.0 if identified else float(self.stribeck_exponent),
            ))
        return terms

    def _require_coulomb(self, coulomb: JointSelection, joint_names: tuple[str, ...]) -> None:
        if coulomb == 'all':
            return
        known = {*coulomb, *(axis.name for axis in self.coupled_axes)}
        for key in ('stribeck_friction', 'load_friction'):
            selection = getattr(self, key)
            wanted = joint_names if selection == 'all' else selection
            missing = [name for name in wanted if name not in known]
            if missing:
                raise ConfigurationError(
                    'friction shares the identified smoothing of Coulomb friction, which the '
                    'joint has not', where=key, found=', '.join(missing),
                    allowed=', '.join(sorted(known)),
                    fix='Add it to coulomb_friction, or give coulomb_smoothing a number',
                )


def _on(
    joints: JointSelection, term: Callable[..., JointTerm], **options: Any
) -> list[JointTerm]:
    """A term on some joints, or none."""
    return [term(None if joints == 'all' else joints, **options)] if joints else []


def _without(
    joints: JointSelection, others: JointSelection, joint_names: tuple[str, ...]
) -> JointSelection:
    """Joints that are not among others."""
    if not others:
        return joints
    named = joint_names if joints == 'all' else joints
    return () if others == 'all' else tuple(name for name in named if name not in others)


class RobotSettings(StrictSettings):
    """What is identified.

    Attributes:
        description: URDF, xacro or MJCF file, relative to the settings file.
        urdf: Another word for ``description``.
        xacro_arguments: Arguments for xacro.
        locked_joints: Joints held fixed: positions in [rad] or [m] by name or pattern, a list of
            patterns, or ``rest`` for all that are not recorded; see
            :data:`~sysid_ros.robot.locks.Locks`.
        gravity: Gravity in the base frame in [m/s²]; change it for a robot on a wall. By
            default what an MJCF says, and standard gravity along -z for a URDF.
        terms: Joint terms.
        rotors: Motors' rotors that are identified as bodies of their own.
        loops: YAML file that closes the loops of the robot, relative to the settings file; see
            :class:`~sysid_ros.robot.loops.LoopSettings`.
        assets: Folder that meshes of an MJCF are relative to, itself relative to the settings
            file; that of the description where left out.
    """

    description: str | None = None
    urdf: str | None = None
    xacro_arguments: dict[str, str] = {}
    locked_joints: dict[str, float] | tuple[str, ...] | Literal['rest'] = {}
    gravity: tuple[float, float, float] | None = None
    terms: TermSettings = TermSettings()
    rotors: tuple[GearedRotor, ...] = ()
    loops: str | None = None
    assets: str | None = None

    @model_validator(mode='after')
    def _one_description(self) -> RobotSettings:
        if (self.description is None) == (self.urdf is None):
            raise ConfigurationError(
                'the robot needs exactly one description', where='robot',
                found='none' if self.urdf is None else 'description and urdf',
                allowed='the key urdf or description',
            )
        return self

    @property
    def file(self) -> str:
        """The description's file, relative to the settings file."""
        return self.urdf or self.description or ''

    def build(self, base: Path, moving: Sequence[str] | None = None) -> TorqueModel:
        """Load the robot and put its torque model together.

        Args:
            base: Folder that file names are relative to.
            moving: Joints that move, where all others are to be locked.

        Raises:
            ModelError: The description cannot be used, or a name does not exist in it.
        """
        robot = RobotModel.from_description(
            base / self.file, locked_joints=self.locked_joints, moving_joints=moving,
            gravity=self.gravity, xacro_arguments=self.xacro_arguments,
            loops=None if self.loops is None else LoopSettings.load(base / self.loops),
            assets=None if self.assets is None else base / self.assets,
        )
        terms = self.terms.described(robot).build(robot)
        return TorqueModel(robot.with_rotors(self.rotors), terms)
