"""The ``robot:`` section of a settings file: the description and its joint terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from sysid_ros.dynamics.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    JointTerm,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
    described_dynamics,
)
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ConfigurationError
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

    Attributes:
        viscous_friction: Joints with friction proportional to velocity.
        coulomb_friction: Joints with dry friction.
        torque_offset: Joints with a constant torque.
        armature: Joints with drive inertia; where left out, those whose description gives one.
        stiffness: Joints with a spring (hoses and cables act like one); where left out, those
            whose description gives one.
        coupled_axes: Drives that turn with several joints.
        coulomb_smoothing: Velocity in [rad/s] or [m/s] over which the sign of dry friction
            is smoothed; 0 for the sign itself.
    """

    viscous_friction: JointSelection = 'all'
    coulomb_friction: JointSelection = 'all'
    torque_offset: JointSelection = 'all'
    armature: JointSelection = ()
    stiffness: JointSelection = ()
    coupled_axes: tuple[CoupledAxisSettings, ...] = ()
    coulomb_smoothing: float = Field(default=0.0, ge=0.0)

    def described(self, robot: RobotModel) -> TermSettings:
        """These settings, with the drives and springs of the description where left out."""
        found = {
            name: tuple(
                joint for joint, value in zip(
                    robot.joint_names, described_dynamics(robot, name), strict=True
                ) if value > 0.0
            )
            for name in ('armature', 'stiffness') if name not in self.model_fields_set
        }
        return self.model_copy(update=found)

    def build(self) -> list[JointTerm]:
        """The terms, in the order of their columns."""
        chosen: tuple[tuple[Callable[..., JointTerm], JointSelection, dict[str, float]], ...] = (
            (ViscousFriction, self.viscous_friction, {}),
            (CoulombFriction, self.coulomb_friction, {'smoothing': self.coulomb_smoothing}),
            (TorqueOffset, self.torque_offset, {}),
            (Armature, self.armature, {}),
            (Stiffness, self.stiffness, {}),
        )
        terms: list[JointTerm] = [
            term(None if joints == 'all' else joints, **options)
            for term, joints, options in chosen if joints
        ]
        terms += [
            CoupledAxis(axis.name, tuple(axis.weights.items()), self.coulomb_smoothing)
            for axis in self.coupled_axes
        ]
        return terms


class RobotSettings(StrictSettings):
    """What is identified.

    Attributes:
        description: URDF, xacro or MJCF file, relative to the settings file.
        urdf: Another word for ``description``.
        xacro_arguments: Arguments for xacro.
        locked_joints: Joints held fixed, with their positions in [rad] or [m].
        gravity: Gravity in the base frame in [m/s²]; change it for a robot on a wall. By
            default what an MJCF says, and standard gravity along -z for a URDF.
        terms: Joint terms.
        rotors: Motors' rotors that are identified as bodies of their own.
    """

    description: str | None = None
    urdf: str | None = None
    xacro_arguments: dict[str, str] = {}
    locked_joints: dict[str, float] = {}
    gravity: tuple[float, float, float] | None = None
    terms: TermSettings = TermSettings()
    rotors: tuple[GearedRotor, ...] = ()

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

    def build(self, base: Path) -> TorqueModel:
        """Load the robot and put its torque model together.

        Args:
            base: Folder that file names are relative to.

        Raises:
            ModelError: The description cannot be used, or a name does not exist in it.
        """
        robot = RobotModel.from_description(
            base / self.file, locked_joints=self.locked_joints, gravity=self.gravity,
            xacro_arguments=self.xacro_arguments,
        )
        return TorqueModel(robot.with_rotors(self.rotors), self.terms.described(robot).build())
