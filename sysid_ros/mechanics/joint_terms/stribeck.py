r"""What dry friction has more at low speed: Stribeck's law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.coulomb import (
    SMOOTHING,
    fixed_smoothing,
    named_axes,
    sign_by_smoothing,
    smooth_sign,
    smooth_sign_slope,
)
from sysid_ros.mechanics.joint_terms.law import VELOCITY, Law, Shape, law_function
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction, ShapeParameter
from sysid_ros.mechanics.joint_terms.term import JointSelection, JointTerm, TermKeys
from sysid_ros.robot.model import RobotModel

# What stands for zero where it would be divided by, or its logarithm taken.
_TINY = 1e-300


@law_function
def decay(v: Any, velocity: Any, exponent: Any) -> Any:
    r"""Stribeck's decay :math:`\exp(-|v / v_s|^\delta)`."""
    return np.exp(-(np.abs(v) / velocity) ** exponent)


@law_function
def decay_slope(v: Any, velocity: Any, exponent: Any) -> Any:
    """Derivative of :func:`decay` by the speed; zero at zero."""
    # |v|^(δ - 1) has no value at zero where δ < 1; there the sign of friction is zero, too.
    power = (np.abs(v) / velocity) ** exponent
    return -exponent * power * np.sign(v) / np.maximum(np.abs(v), _TINY) * np.exp(-power)


@law_function
def decay_by_velocity(v: Any, velocity: Any, exponent: Any) -> Any:
    """Derivative of :func:`decay` by Stribeck's velocity."""
    power = (np.abs(v) / velocity) ** exponent
    return exponent * power / velocity * np.exp(-power)


@law_function
def decay_by_exponent(v: Any, velocity: Any, exponent: Any) -> Any:
    """Derivative of :func:`decay` by the exponent."""
    ratio = np.abs(v) / velocity
    power = ratio ** exponent
    return -power * np.log(np.maximum(ratio, _TINY)) * np.exp(-power)


@law_function
def stribeck(v: Any, shape: Shape) -> Any:
    """Decaying sign of a velocity; constants are velocity, exponent and smoothing."""
    return smooth_sign(v, (shape[2],)) * decay(v, shape[0], shape[1])


@law_function
def stribeck_slope(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`stribeck` by the speed."""
    sign = smooth_sign(v, (shape[2],))
    rise = smooth_sign_slope(v, sign, (shape[2],))
    return rise * decay(v, shape[0], shape[1]) + sign * decay_slope(v, shape[0], shape[1])


@law_function
def stribeck_by_velocity(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`stribeck` by Stribeck's velocity."""
    return smooth_sign(v, (shape[2],)) * decay_by_velocity(v, shape[0], shape[1])


@law_function
def stribeck_by_exponent(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`stribeck` by the exponent."""
    return smooth_sign(v, (shape[2],)) * decay_by_exponent(v, shape[0], shape[1])


@law_function
def stribeck_by_smoothing(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`stribeck` by the smoothing."""
    sign = smooth_sign(v, (shape[2],))
    return sign_by_smoothing(v, sign, (shape[2],)) * decay(v, shape[0], shape[1])


#: The law; its constants are Stribeck's velocity, the exponent and the smoothing of the sign.
STRIBECK = Law(
    VELOCITY, stribeck, stribeck_slope,
    (stribeck_by_velocity, stribeck_by_exponent, stribeck_by_smoothing), smoothing=2)


@dataclass(frozen=True)
class StribeckFriction(ShapedFriction):
    r"""Stribeck friction: dry friction at low speed beyond the Coulomb friction of the axis.

    :math:`c = \mathrm{s}(\dot z)\,\exp(-|\dot z / v_s|^\delta)` with the sign s smoothed as
    that of Coulomb friction (Armstrong-Hélouvry, Dupont and Canudas de Wit 1994).

    Args:
        smoothing: Velocity in [rad/s] or [m/s] over which the sign is smoothed; None where it is
            the identified one of
            :class:`~sysid_ros.mechanics.joint_terms.coulomb.SmoothCoulombFriction` on the same
            axis.
        exponent: The exponent δ, where it is not identified.
        identify_exponent: Whether δ is a shape, too, between 0.5 and 2.5.
    """

    smoothing: float | None = 0.0
    exponent: float = 2.0
    identify_exponent: bool = False

    law = STRIBECK
    fields = ('stribeck_friction',)
    keys = {
        'stribeck_friction': (JointSelection, Field((), description=(
            'Joints and coupled axes whose dry friction is larger at low speed.'))),
        'stribeck_exponent': (
            Annotated[float, Field(gt=0.0)] | Literal['identified'], Field(2.0, description=(
                'How it decays, 2 as a Gaussian; `identified` for one each.')))}
    shape_parameters = (
        ShapeParameter('stribeck_velocity', 0.1, 1e-3, 10.0, is_velocity=True),
        ShapeParameter('stribeck_exponent', 2.0, 0.5, 2.5), SMOOTHING)
    shared = (SMOOTHING.field,)
    friction = True

    @property
    def given(self) -> dict[str, float]:
        """Exponent and smoothing, as far as they are not identified."""
        given = {} if self.identify_exponent else {'stribeck_exponent': self.exponent}
        return given if self.smoothing is None else given | {SMOOTHING.field: self.smoothing}

    @property
    def _own_shapes(self) -> list[ShapeParameter]:
        """As for all; a decay within twice the width of the sign is the sign's, and only stiff."""
        least = 2.0 * (self.smoothing or 0.0)
        return [
            one._replace(prior=max(one.prior, least), lower=max(one.lower, least))
            if one.is_velocity else one for one in super()._own_shapes]

    def sharpened(self) -> Self:
        """The term with the sign itself, whether its smoothing is given or identified."""
        term = super().sharpened()
        return replace(term, smoothing=0.0) if self.smoothing else term

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """On joints and axes that are named, with the smoothing of Coulomb friction."""
        chosen, axes = settings.stribeck_friction, named_axes(settings)
        if not chosen:
            return []
        named, exponent = dict(axes), settings.stribeck_exponent
        identified = exponent == 'identified'
        return [cls(
            None if chosen == 'all' else tuple(name for name in chosen if name not in named),
            tuple(axis for axis in axes if chosen == 'all' or axis[0] in chosen),
            smoothing=fixed_smoothing(settings), identify_exponent=identified,
            exponent=2.0 if identified else float(exponent))]
