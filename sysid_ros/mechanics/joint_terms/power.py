r"""Viscous friction that grows ever less with speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.law import VELOCITY, Law, Shape, law_function
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction, ShapeParameter
from sysid_ros.mechanics.joint_terms.term import JointSelection

# What stands for zero where it would be divided by, or its logarithm taken.
_TINY = 1e-300


@law_function
def power(v: Any, shape: Shape) -> Any:
    r"""Power :math:`s(v)|v|^\alpha` of a velocity; the exponent is the one constant."""
    return np.sign(v) * np.abs(v) ** shape[0]


@law_function
def power_slope(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`power`; zero at zero, where it has none."""
    return shape[0] * np.abs(value) / np.maximum(np.abs(v), _TINY)


@law_function
def power_by_exponent(v: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`power` by the exponent."""
    return value * np.log(np.maximum(np.abs(v), _TINY))


@dataclass(frozen=True)
class PowerLawFriction(ShapedFriction):
    r"""Viscous friction that grows ever less with speed, :math:`c = s(\dot z)|\dot z|^\alpha`.

    Lubricants that thin under shear show it; alpha is identified between 0.1 and 0.9.
    """

    law = Law(VELOCITY, power, power_slope, (power_by_exponent,))
    fields = ('power_friction',)
    keys = {'power_friction': (JointSelection, Field((), description=(
        'Joints with friction that grows ever less with speed.')))}
    shape_parameters = (ShapeParameter('power_exponent', 0.5, 0.1, 0.9),)
    rotational_unit = 'N·m·(s/rad)^α'
    linear_unit = 'N·(s/m)^α'
    friction = True
