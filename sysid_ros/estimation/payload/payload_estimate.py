"""The estimate of a payload: mass, centre of mass and inertia with their deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.numerics.json_values import finite_or_null
from sysid_ros.robot.inertia import (
    INERTIAL_FIELDS,
    central_inertia,
    is_consistent,
    transform_inertial,
)

# A quantity that lies in an undetermined direction by more than this part is not known.
_LOST = 1e-6
_SIGNIFICANT = 3.0
# Row and column in the inertia matrix of the last six parameters.
_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A load on a body of the robot.

    Attributes:
        body: Body that carries it; the parameters are at the origin of its joint frame.
        status: How the fit ended. Unless ``status.ok``, the load is the best one found, or zero.
        inertial: Inertial parameters of a real body, shape ``(10,)``.
        unconstrained: The least-squares solution, which nothing need have, shape ``(10,)``.
        covariance: Covariance of that solution in the directions the data determines,
            shape ``(10, 10)``.
        undetermined: Directions the data does not determine, shape ``(10, k)``.
        error_without: Torque error of the loaded recording without any load, relative.
        error_with: The same with the load.
        arm: All parameters of the arm without the load, as the loaded recording sees them, shape
            ``(p,)``: those that its torques are predicted by, none of which need be true.
    """

    body: str
    status: Status
    inertial: np.ndarray
    unconstrained: np.ndarray
    covariance: np.ndarray
    undetermined: np.ndarray
    error_without: float
    error_with: float
    arm: np.ndarray

    @property
    def mass(self) -> float:
        """Mass in [kg]."""
        return float(self.inertial[0])

    @property
    def first_moment(self) -> np.ndarray:
        """Mass times centre of mass in [kg·m], shape ``(3,)``."""
        return self.inertial[1:4]

    @property
    def consistent(self) -> bool:
        """Whether the load is a real body."""
        return is_consistent(self.inertial)

    @property
    def significant(self) -> bool:
        """Whether there is a load at all: its mass is more than three deviations."""
        return bool(self.mass > _SIGNIFICANT * self.standard_deviation[0])

    @property
    def standard_deviation(self) -> np.ndarray:
        """Per inertial parameter, infinite where the data does not determine it, ``(10,)``."""
        return self.deviation_of(np.eye(10))

    def deviation_of(self, slopes: np.ndarray) -> np.ndarray:
        """Standard deviations of quantities with given derivatives.

        Args:
            slopes: Derivatives with respect to the ten parameters, shape ``(k, 10)``.

        Returns:
            Shape ``(k,)``; infinite where a quantity is not determined.
        """
        variance = np.einsum('ki,ij,kj->k', slopes, self.covariance, slopes)
        lost = np.linalg.norm(slopes @ self.undetermined, axis=1)
        whole = np.hypot(lost, np.sqrt(variance))
        return np.where(lost > _LOST * whole, np.inf, np.sqrt(variance))

    def in_frame(self, pose: np.ndarray) -> PayloadEstimate:
        """The load's inertial parameters in another frame.

        Args:
            pose: Pose of that frame in the present one, shape ``(4, 4)``.
        """
        back = np.linalg.inv(pose)
        matrix = np.column_stack([transform_inertial(unit, back) for unit in np.eye(10)])
        return PayloadEstimate(
            body=self.body, status=self.status, inertial=matrix @ self.inertial,
            unconstrained=matrix @ self.unconstrained,
            covariance=matrix @ self.covariance @ matrix.T,
            undetermined=matrix @ self.undetermined,
            error_without=self.error_without, error_with=self.error_with, arm=self.arm,
        )

    def quantities(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Mass, centre of mass and inertia about it, each with its deviation.

        Returns:
            ``mass`` in [kg], ``center_of_mass`` in [m], shape ``(3,)``, and
            ``inertia_about_center_of_mass`` in [kg·m²], entries xx, xy, yy, xz, yz, zz.
        """
        mass, com, inertia = central_inertia(self.inertial)
        center = np.zeros((3, 10))
        center[:, 0], center[:, 1:4] = -com / mass, np.eye(3) / mass
        about = np.zeros((6, 10))
        about[:, 4:] = np.eye(6)
        for k, (row, column) in enumerate(_ENTRIES):
            same = float(row == column)
            about[k, 0] = same * (com @ com) - com[row] * com[column]
            for axis in range(3):
                about[k, 1 + axis] = (
                    -2.0 * same * com[axis] + float(axis == row) * com[column]
                    + float(axis == column) * com[row]
                )
        entries = np.array([inertia[entry] for entry in _ENTRIES])
        return {
            'mass': (np.array([mass]), self.deviation_of(np.eye(10)[:1])),
            'center_of_mass': (com, self.deviation_of(center)),
            'inertia_about_center_of_mass': (entries, self.deviation_of(about)),
        }

    def to_plain(self) -> dict[str, Any]:
        """Plain values for YAML or JSON, infinities as None."""
        said: dict[str, Any] = {
            'body': self.body,
            'status': self.status.value,
            'relative_torque_error': {
                'without_load': self.error_without, 'with_load': self.error_with},
        }
        if self.status.ok:
            for name, (values, deviations) in self.quantities().items():
                said[name] = {
                    'value': values.tolist(), 'standard_deviation': finite_or_null(deviations)}
            said['parameters'] = {
                field: {'value': float(value), 'standard_deviation': deviation}
                for field, value, deviation in zip(
                    INERTIAL_FIELDS, self.inertial, finite_or_null(self.standard_deviation),
                    strict=True,
                )
            }
        return said
