"""Springs across joints."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from sysid_ros.mechanics.joint_terms.law import POSITION, Law, Shape, law_function
from sysid_ros.mechanics.joint_terms.term import JointSelection, PerJoint


@law_function
def stretch(q: Any, shape: Shape) -> Any:
    """Way from the position at which the spring is relaxed, the one constant."""
    return q - shape[0]


#: A linear spring; its constant is the position in [rad] or [m] at which it is relaxed.
SPRING = Law(POSITION, stretch)


class Stiffness(PerJoint):
    """Spring across the joint; its rest position shows as a torque offset.

    The prior is what an MJCF says; a URDF has no word for it.
    """

    law = SPRING
    fields = ('stiffness',)
    keys = {'stiffness': (JointSelection, Field((), description=(
        'Joints with a spring (hoses and cables act like one); where left out, those whose '
        'description gives one.')))}
    rotational_unit = 'N·m/rad'
    linear_unit = 'N/m'
    lower = 0.0
    described = 'stiffness'
    where_described = True

    @property
    def shape(self) -> Shape:
        """Relaxed at zero; where else shows as a torque offset."""
        return (0.0,)
