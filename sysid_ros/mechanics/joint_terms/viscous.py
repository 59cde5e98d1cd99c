"""Viscous friction."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.mechanics.joint_terms.law import VELOCITY, Law
from sysid_ros.mechanics.joint_terms.term import JointSelection, PerJoint


class ViscousFriction(PerJoint):
    """Friction proportional to velocity; prior from the description."""

    law = Law(VELOCITY)
    fields = ('viscous_friction',)
    keys = {'viscous_friction': (JointSelection, Field(
        'all', description='Joints with friction proportional to velocity.'))}
    rotational_unit = 'N·m·s/rad'
    linear_unit = 'N·s/m'
    lower = 0.0
    friction = True
    described, urdf, mjcf = 'damping', 'damping', 'damping'
