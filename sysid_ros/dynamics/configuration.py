"""The ``robot:`` section of a settings file: the description and its joint terms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from sysid_ros.dynamics.terms import (
    Armature,
    CoulombFriction,
    CoupledAxis,
    JointTerm,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.robot.model import STANDARD_GRAVITY, GearedRotor, RobotModel
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


class RotorSettings(StrictSettings):
    """A geared rotor; see :class:`~sysid_ros.robot.model.GearedRotor`."""

    name: str
    joint: str
    ratio: float
    link: str
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    inertial: tuple[float, ...] = Field(default=(0.0,) * 10, min_length=10, max_length=10)


class TermSettings(StrictSettings):
    """Joint terms beside rigid-body dynamics.

    Attributes:
        viscous_friction: Joints with friction proportional to velocity.
        coulomb_friction: Joints with dry friction.
        torque_offset: Joints with a constant torque.
        armature: Joints with drive inertia.
        stiffness: Joints with a spring (hoses and cables act like one).
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
        urdf: URDF or xacro file, relative to the settings file.
        xacro_arguments: Arguments for xacro.
        locked_joints: Joints held fixed, with their positions in [rad] or [m].
        gravity: Gravity in the base frame in [m/s²]; change it for a robot on a wall.
        terms: Joint terms.
        rotors: Motors' rotors that are identified as bodies of their own.
    """

    urdf: str
    xacro_arguments: dict[str, str] = {}
    locked_joints: dict[str, float] = {}
    gravity: tuple[float, float, float] = STANDARD_GRAVITY
    terms: TermSettings = TermSettings()
    rotors: tuple[RotorSettings, ...] = ()

    def build(self, base: Path) -> TorqueModel:
        """Load the robot and put its torque model together.

        Args:
            base: Folder that file names are relative to.

        Raises:
            ModelError: The description cannot be used, or a name does not exist in it.
        """
        robot = RobotModel.from_urdf(
            base / self.urdf, locked_joints=self.locked_joints, gravity=self.gravity,
            xacro_arguments=self.xacro_arguments,
        )
        rotors = [GearedRotor(**rotor.model_dump()) for rotor in self.rotors]
        return TorqueModel(robot.with_rotors(rotors), self.terms.build())
