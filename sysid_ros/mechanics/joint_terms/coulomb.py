r"""Coulomb friction, dry or smoothed, alike in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.law import VELOCITY, Law, Shape, law_function
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction, ShapeParameter
from sysid_ros.mechanics.joint_terms.term import (
    JointSelection,
    JointTerm,
    PerJoint,
    TermKeys,
    as_joints,
    described_dynamics,
    driven_joints,
    without,
)
from sysid_ros.robot.model import RobotModel


@law_function
def smooth_sign(v: Any, shape: Shape) -> Any:
    """Sign of a velocity, by ``tanh`` over the smoothing velocity, the one constant, if not 0."""
    return np.tanh(v / shape[0]) if shape[0] > 0.0 else np.sign(v)


@law_function
def smooth_sign_slope(v: Any, sign: Any, shape: Shape) -> Any:
    """Derivative of :func:`smooth_sign`; zero for the sign itself, which has none at zero."""
    return (1.0 - sign * sign) / shape[0] if shape[0] > 0.0 else 0.0 * v


@law_function
def sign_by_smoothing(v: Any, sign: Any, shape: Shape) -> Any:
    """Derivative of :func:`smooth_sign` by a smoothing above zero."""
    # 1 - tanh² loses all digits where the sign is settled, without harm: it is zero there.
    return -v / shape[0] / shape[0] * (1.0 - sign * sign)


#: Dry friction; its constant is the smoothing velocity in [rad/s] or [m/s].
SMOOTH_SIGN = Law(VELOCITY, smooth_sign, smooth_sign_slope, (sign_by_smoothing,), smoothing=0)
#: The smoothing where it is identified: 0.02, between 1e-4 and 0.5.
SMOOTHING = ShapeParameter('coulomb_smoothing', 0.02, 1e-4, 0.5, is_velocity=True)


@dataclass(frozen=True)
class CoulombFriction(PerJoint):
    """Dry friction that opposes motion; prior from the description.

    Args:
        joints: Joints that have it; all by default.
        smoothing: Velocity in [rad/s] or [m/s] over which the sign is smoothed as
            ``tanh(v / smoothing)``; 0 for the sign itself.
    """

    smoothing: float = 0.0

    law = SMOOTH_SIGN
    fields = ('coulomb_friction',)
    keys = {
        'coulomb_friction': (JointSelection, Field('all', description='Joints with dry friction.')),
        'coulomb_smoothing': (
            Annotated[float, Field(ge=0.0)] | Literal['identified'], Field(0.0, description=(
                'Velocity in [rad/s] or [m/s] over which the sign of dry friction is smoothed; 0 '
                'for the sign itself, `identified` for one per joint and axis that the data '
                'tells.')))}
    rotational_unit = 'N·m'
    linear_unit = 'N'
    lower = 0.0
    friction = True
    described, urdf, mjcf = 'friction', 'friction', 'frictionloss'

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)

    @property
    def shape(self) -> Shape:
        """The smoothing."""
        return (self.smoothing,)

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """On joints whose dry friction does not differ by direction, with a given smoothing."""
        smoothing, chosen = fixed_smoothing(settings), _coulomb_joints(settings, robot)
        if smoothing is None or not chosen:
            return []
        return [cls(as_joints(chosen), smoothing)]


@dataclass(frozen=True)
class SmoothCoulombFriction(ShapedFriction):
    r"""Dry friction whose sign is smoothed over an identified velocity.

    :math:`c = \tanh(\dot z / v_0)`; the prior of the amplitude is ``<dynamics friction>``.
    """

    law = SMOOTH_SIGN
    fields = ('coulomb_friction',)
    shape_parameters = (SMOOTHING,)
    friction = True

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """Where the smoothing is to be identified, for all friction that shares it."""
        if fixed_smoothing(settings) is not None:
            return []
        chosen, axes = _coulomb_joints(settings, robot), named_axes(settings)
        _require_coulomb(settings, chosen, robot)
        return [cls(as_joints(chosen), axes)] if chosen or axes else []

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'friction')


def check_smoothing(smoothing: float) -> None:
    """Refuse a smoothing that is no velocity.

    Raises:
        ConfigurationError: It is negative or not finite.
    """
    if not 0.0 <= smoothing < np.inf:
        raise ConfigurationError(
            'the smoothing of dry friction cannot be used', found=smoothing,
            allowed='a velocity, zero or more', fix='Say coulomb_smoothing: 0.02, in rad/s or m/s')


def fixed_smoothing(settings: TermKeys) -> float | None:
    """The smoothing that settings give; None where it is to be identified."""
    given = settings.coulomb_smoothing
    return None if given == 'identified' else float(given)


def named_axes(settings: TermKeys) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """Drives that turn with several joints, each with pairs of joint and weight."""
    return tuple((axis.name, tuple(axis.weights.items())) for axis in settings.coupled_axes)


def _coulomb_joints(settings: TermKeys, robot: RobotModel) -> JointSelection:
    return without(settings.coulomb_friction, settings.asymmetric_coulomb, robot)


def _require_coulomb(settings: TermKeys, coulomb: JointSelection, robot: RobotModel) -> None:
    """Refuse friction that shares its smoothing with Coulomb friction which the joint has not."""
    if coulomb == 'all':
        return
    known = {*coulomb, *(name for name, _ in named_axes(settings))}
    for key in ('stribeck_friction', 'load_friction'):
        selection = getattr(settings, key)
        wanted = driven_joints(robot) if selection == 'all' else selection
        missing = [name for name in wanted if name not in known]
        if missing:
            raise ConfigurationError(
                'friction shares the identified smoothing of Coulomb friction, which the '
                'joint has not', where=key, found=', '.join(missing),
                allowed=', '.join(sorted(known)),
                fix='Add it to coulomb_friction, or give coulomb_smoothing a number',
            )
