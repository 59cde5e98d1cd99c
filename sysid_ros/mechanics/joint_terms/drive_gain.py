r"""Drives whose torque per measured unit is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.shaped import NonlinearTerm
from sysid_ros.mechanics.joint_terms.term import JointSelection, driven_joints
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

_RANGE = (0.2, 5.0)


@dataclass(frozen=True)
class DriveGain(NonlinearTerm):
    r"""The true torque of a joint over the recorded one, :math:`\tau_j = g_j\,u_j`.

    A recorded motor current comes as :math:`u = K_0 i` with the torque constant of the data
    sheet (``recording: effort: scale:``); the drive's is then :math:`g K_0`. The model
    predicts what is recorded, :math:`u_j = \Gamma_j\theta / g_j`, so that torque noise stays
    on one side.

    With all gains and all masses free the scale is open: twice the gains and twice the
    masses and frictions give the same recording. Then the prior alone decides on the scale,
    and the estimate says so. A gain held fixed (a joint whose torque constant was measured)
    or the fixed inertial parameters of a known payload settle it.

    What a gain changes depends on all other terms, so that the torque model knows its slopes.

    Args:
        joints: Joints that have it; all by default.
        values: Gains by name; 1 for those that are not given.

    References:
        Gautier and Briot 2014, Global identification of joint drive gains and dynamic
        parameters of robots.
    """

    joints: tuple[str, ...] | None = None
    values: tuple[tuple[str, float], ...] = ()

    fields = ('drive_gain',)
    keys = {'drive_gain': (JointSelection, Field((), description=(
        'Joints whose torque per recorded unit is not known; see `DriveGain` for what settles '
        'the scale.')))}

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """One gain per joint, without unit; prior 1, between 0.2 and 5."""
        return [Parameter(name, '', 1.0, *_RANGE) for name in self.shapes(robot)]

    def shapes(self, robot: RobotModel) -> tuple[str, ...]:
        """Names of the gains."""
        joints = driven_joints(robot) if self.joints is None else self.joints
        for joint in joints:
            robot.joint_index(joint)
        return tuple(f'{joint}.drive_gain' for joint in joints)

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Zeros: a gain divides the columns of all others, shape ``(T, n, k)``."""
        return np.zeros((*q.shape, len(self.shapes(robot))))

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Zeros, for zero columns; the torque model divides the gradient of all others."""
        return np.zeros((3, *q.shape))

    def at(self, robot: RobotModel, parameters: ParameterSet) -> Self:
        """The term with the gains that the parameters say."""
        values = tuple((name, parameters[name]) for name in self.shapes(robot))
        return self if values == self.values else replace(self, values=values)

    def gains(self, robot: RobotModel) -> np.ndarray:
        """Gain of every joint, 1 where there is none, shape ``(n,)``."""
        gains = np.ones(len(robot.joint_names))
        values = dict(self.values)
        for name in self.shapes(robot):
            gains[robot.joint_index(name.rpartition('.')[0])] = values.get(name, 1.0)
        return gains
