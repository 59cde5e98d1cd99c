"""Inertia of drives."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.mechanics.joint_terms.law import ACCELERATION, Law
from sysid_ros.mechanics.joint_terms.term import JointSelection, PerJoint


class Armature(PerJoint):
    """Inertia of the drive seen at the joint: rotor inertia times gear ratio squared.

    The prior is what an MJCF says; a URDF has no word for it.
    """

    law = Law(ACCELERATION)
    fields = ('armature',)
    keys = {'armature': (JointSelection, Field((), description=(
        'Joints with drive inertia; where left out, those whose description gives one.')))}
    rotational_unit = 'kg·m²'
    linear_unit = 'kg'
    lower = 0.0
    described, mjcf = 'armature', 'armature'
    where_described = True
