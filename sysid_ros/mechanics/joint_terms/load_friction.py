r"""Dry friction that grows with the load of the gear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.coulomb import SMOOTH_SIGN, SMOOTHING, fixed_smoothing
from sysid_ros.mechanics.joint_terms.law import LawColumns
from sysid_ros.mechanics.joint_terms.shaped import ColumnsOfConstants, NonlinearTerm, SlopeCurve
from sysid_ros.mechanics.joint_terms.term import (
    JointSelection,
    JointTerm,
    TermKeys,
    as_joints,
    driven_joints,
)
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_adjoint import regressor_gradient
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

# A gear that loses more than the load it moves is no gear; the data of a joint without load would
# ask for any number.
_MOST = 1.0


@dataclass(frozen=True)
class LoadFriction(NonlinearTerm):
    r"""Dry friction proportional to the torque that the gear transmits.

    :math:`\tau_j = \mu_j\,|y_j(q, v, a)\,\phi|\,\mathrm{s}(v_j)`, with the rigid-body
    torque of the joint for the load (Hamon, Gautier and Garrec 2010). The load depends on the
    inertial parameters, hence on the fit itself.

    Args:
        joints: Joints that have it; all by default.
        smoothing: As for :class:`~sysid_ros.mechanics.joint_terms.stribeck.StribeckFriction`.
        values: Values of shapes by name; those that are not given are initial ones.
        load: Inertial parameters that give the load, 10 per body; the prior by default.
    """

    joints: tuple[str, ...] | None = None
    smoothing: float | None = 0.0
    values: tuple[tuple[str, float], ...] = ()
    load: tuple[float, ...] | None = None

    fields = ('load_friction',)
    shape_fields = (SMOOTHING.field,)
    keys = {'load_friction': (JointSelection, Field((), description=(
        'Joints with dry friction proportional to the transmitted torque.')))}
    friction = True

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """With the smoothing of Coulomb friction."""
        chosen = settings.load_friction
        return [cls(as_joints(chosen), fixed_smoothing(settings))] if chosen else []

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """One coefficient per joint, without unit, between 0 and 1."""
        for joint in self._joints(robot):
            robot.joint_index(joint)
        return [
            Parameter(f'{joint}.load_friction', '', lower=0.0, upper=_MOST)
            for joint in self._joints(robot)
        ]

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each coefficient, shape ``(T, n, k)``."""
        load = recursive_newton_euler(robot, self.inertials(robot), q, v, a)
        joints = [robot.joint_index(name) for name in self._joints(robot)]
        columns = np.zeros((*v.shape, len(joints)))
        columns[:, joints, np.arange(len(joints))] = self.curves(robot, load, v)
        return columns

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        inertials = self.inertials(robot)
        load = recursive_newton_euler(robot, inertials, q, v, a)
        along, by_speed = np.zeros_like(load), np.zeros_like(load)
        for k, name in enumerate(self._joints(robot)):
            joint = robot.joint_index(name)
            shape, own = (self._smoothing(name),), weights[:, joint, k]
            sign = SMOOTH_SIGN.value(v[:, joint], shape)
            along[:, joint] = own * np.sign(load[:, joint]) * sign
            by_speed[:, joint] = own * np.abs(load[:, joint]) * SMOOTH_SIGN.slope(
                v[:, joint], sign, shape)
        gradient = np.array(
            regressor_gradient(robot, q, v, a, along[:, :, None] * inertials)
        )
        gradient[1] += by_speed
        return gradient

    def constant_columns(self, robot: RobotModel) -> list[ColumnsOfConstants] | None:
        """A column per joint, the sign of its velocity per unit of load.

        None where the smoothing is identified, which is a parameter of Coulomb friction.
        """
        if self.smoothing is None:
            return None
        return [ColumnsOfConstants(
            LawColumns.of_joints(SMOOTH_SIGN, (self.smoothing,), robot, self._joints(robot)),
            by_load=True)]

    def curves(self, robot: RobotModel, load: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Torque per unit of each coefficient on its own joint, shape ``(T, k)``.

        Args:
            robot: The robot.
            load: Rigid-body torque, shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
        """
        names = self._joints(robot)
        joints = [robot.joint_index(name) for name in names]
        curves = np.abs(load[:, joints])
        for k, (name, joint) in enumerate(zip(names, joints, strict=True)):
            curves[:, k] *= SMOOTH_SIGN.value(v[:, joint], (self._smoothing(name),))
        return curves

    def directions(self, robot: RobotModel) -> list[tuple[str, np.ndarray]]:
        """The joints, each with its weights in joint space, shape ``(n,)``."""
        unit = np.eye(len(robot.joint_names))
        return [(name, unit[robot.joint_index(name)]) for name in self._joints(robot)]

    def inertials(self, robot: RobotModel) -> np.ndarray:
        """Inertial parameters that give the load, shape ``(10 b,)``."""
        if self.load is None:
            return np.asarray(robot.reference_inertials).reshape(-1)
        return np.array(self.load)

    def at(self, robot: RobotModel, parameters: ParameterSet) -> Self:
        """The term with the load and the smoothing that the parameters say."""
        shared = [] if self.smoothing is not None else [
            f'{name}.{SMOOTHING.field}' for name in self._joints(robot)
        ]
        values = tuple((shape, parameters[shape]) for shape in shared)
        load = tuple(
            float(value) for body in robot.body_names for value in parameters.inertial(body)
        )
        return self if (values, load) == (self.values, self.load) else replace(
            self, values=values, load=load
        )

    def shape_slopes(
        self, robot: RobotModel, parameters: ParameterSet, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Derivatives by identified smoothings, shape ``(T, n)`` each, by name."""
        load = recursive_newton_euler(robot, self.inertials(robot), q, v, a)
        return {
            shape: parameters[amplitude] * slope[:, None] * w
            for shape, amplitude, slope, w in self.slope_curves(robot, load, v)
        }

    def slope_curves(
        self, robot: RobotModel, load: np.ndarray, v: np.ndarray
    ) -> list[SlopeCurve]:
        """Derivatives of the curves by identified smoothings.

        Args:
            robot: The robot.
            load: Rigid-body torque, shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
        """
        if self.smoothing is not None:
            return []
        by_smoothing, = SMOOTH_SIGN.by_shape
        found = []
        for name, w in self.directions(robot):
            speed, shape = v @ w, (self._smoothing(name),)
            slope = by_smoothing(speed, SMOOTH_SIGN.value(speed, shape), shape)
            found.append((
                f'{name}.{SMOOTHING.field}', f'{name}.load_friction', np.abs(load @ w) * slope, w))
        return found

    def inertial_slopes(
        self, robot: RobotModel, parameters: ParameterSet, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> np.ndarray:
        """Derivatives by the inertial parameters, through the load, shape ``(T, n, 10 b)``."""
        slopes = inertial_regressor(robot, q, v, a)
        along = np.sign(slopes @ self.inertials(robot))
        factors = np.zeros(v.shape[1])
        for name in self._joints(robot):
            joint = robot.joint_index(name)
            factors[joint] = parameters[f'{name}.load_friction']
            along[:, joint] *= SMOOTH_SIGN.value(v[:, joint], (self._smoothing(name),))
        slopes *= (along * factors)[:, :, None]
        return slopes

    def _smoothing(self, name: str) -> float:
        """Velocity that the sign of a joint is smoothed over, given or identified."""
        if self.smoothing is not None:
            return self.smoothing
        return dict(self.values).get(f'{name}.{SMOOTHING.field}', SMOOTHING.prior)

    def _joints(self, robot: RobotModel) -> tuple[str, ...]:
        return driven_joints(robot) if self.joints is None else self.joints
