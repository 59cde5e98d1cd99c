"""Constant torques."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.law import CONSTANT, Law
from sysid_ros.mechanics.joint_terms.term import (
    JointSelection,
    JointTerm,
    PerJoint,
    TermKeys,
    as_joints,
    without,
)
from sysid_ros.robot.model import RobotModel


class TorqueOffset(PerJoint):
    """Constant torque: sensor bias, a constant part of friction or load.

    The prior is what the description says, springs at position zero among it.
    """

    law = Law(CONSTANT)
    fields = ('torque_offset',)
    keys = {'torque_offset': (JointSelection, Field(
        'all', description='Joints with a constant torque.'))}
    rotational_unit = 'N·m'
    linear_unit = 'N'

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """On joints whose dry friction does not differ by direction, which would say the same."""
        chosen = without(settings.torque_offset, settings.asymmetric_coulomb, robot)
        return [cls(as_joints(chosen))] if chosen else []

    def _prior(self, robot: RobotModel) -> np.ndarray:
        r"""Described offsets, and springs at position zero, in [N·m] or [N], shape ``(n,)``.

        A spring pulls with :math:`k (q_i - r)` where :math:`q_i = G_i q + g_i`; what does not
        depend on q is :math:`G_i^T k (g_i - r)`.
        """
        joints = robot.described_joints.values()
        rows = slice(len(robot.described_joints))
        pull = np.array([max(joint.stiffness, 0.0) for joint in joints])
        stretch = robot.tree.coupling_offset[rows] - np.array([joint.rest for joint in joints])
        offset = np.array([joint.offset for joint in joints])
        return np.asarray(robot.tree.coupling[rows].T @ (pull * stretch + offset))
