"""Coulomb friction that differs between the directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.coulomb import (
    check_smoothing,
    fixed_smoothing,
    smooth_sign,
    smooth_sign_slope,
)
from sysid_ros.mechanics.joint_terms.law import VELOCITY, Law, LawColumns, Shape, law_function
from sysid_ros.mechanics.joint_terms.term import (
    JointSelection,
    JointTerm,
    LawTerm,
    TermKeys,
    as_joints,
    described_dynamics,
    driven_joints,
    unit_at,
)
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter


@law_function
def forward_sign(v: Any, shape: Shape) -> Any:
    """The smoothed sign of a velocity above zero, else zero."""
    return (v > 0.0) * smooth_sign(v, shape)


@law_function
def forward_slope(v: Any, sign: Any, shape: Shape) -> Any:
    """Derivative of :func:`forward_sign`."""
    return (v > 0.0) * smooth_sign_slope(v, sign, shape)


@law_function
def backward_sign(v: Any, shape: Shape) -> Any:
    """The smoothed sign of a velocity that is not above zero, else zero."""
    return (v <= 0.0) * smooth_sign(v, shape)


@law_function
def backward_slope(v: Any, sign: Any, shape: Shape) -> Any:
    """Derivative of :func:`backward_sign`."""
    return (v <= 0.0) * smooth_sign_slope(v, sign, shape)


#: Dry friction of motion forwards, and of motion backwards; their constant is as of Coulomb's.
FORWARD = Law(VELOCITY, forward_sign, forward_slope, smoothing=0)
BACKWARD = Law(VELOCITY, backward_sign, backward_slope, smoothing=0)


@dataclass(frozen=True)
class AsymmetricCoulombFriction(LawTerm):
    """Dry friction of different size in either direction, both at least zero.

    Its mean is Coulomb friction and half its difference a torque offset in motion, so that a
    joint has either it or those two.

    Args:
        joints: Joints that have it; all by default.
        smoothing: As for :class:`~sysid_ros.mechanics.joint_terms.coulomb.CoulombFriction`.
    """

    joints: tuple[str, ...] | None = None
    smoothing: float = 0.0

    fields = ('coulomb_friction_forward', 'coulomb_friction_backward')
    keys = {'asymmetric_coulomb': (JointSelection, Field((), description=(
        'Joints whose dry friction differs between the directions; they have neither Coulomb '
        'friction nor a torque offset then, which would say the same.')))}
    friction = True
    laws = (FORWARD, BACKWARD)

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Friction of forward, then of backward motion, joint by joint."""
        prior = described_dynamics(robot, 'friction')
        return [
            Parameter(
                f'{joint}.{field}', unit_at(robot, joint, 'N·m', 'N'),
                float(prior[robot.joint_index(joint)]), lower=0.0)
            for joint in self._joints(robot) for field in self.fields]

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """Columns of forward motion, and those of backward motion in between."""
        return [
            LawColumns.of_joints(
                law, (self.smoothing,), robot, self._joints(robot), first, every=2)
            for first, law in enumerate(self.laws)]

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """With the smoothing that is given."""
        smoothing, chosen = fixed_smoothing(settings), settings.asymmetric_coulomb
        if smoothing is None or not chosen:
            return []
        return [cls(as_joints(chosen), smoothing)]

    @classmethod
    def check_settings(cls, settings: TermKeys) -> None:
        """Refuse a smoothing that is to be identified.

        Raises:
            ConfigurationError: It is.
        """
        if settings.coulomb_smoothing == 'identified' and settings.asymmetric_coulomb:
            raise ConfigurationError(
                'dry friction that differs between the directions has no identified smoothing',
                where='coulomb_smoothing', found="'identified'", allowed='a velocity',
                fix='Give it a number, as coulomb_smoothing: 0.02, or leave asymmetric_coulomb out')

    def _joints(self, robot: RobotModel) -> tuple[str, ...]:
        return driven_joints(robot) if self.joints is None else self.joints
