"""Linear map from named parameters to those that compiled steps of a mechanism work with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    DRIVE_FIELDS,
    STRIBECK_VELOCITY,
    BodyParameters,
    FreeParameterMap,
)

#: Names of the parameters that turn gravity, a rotation vector in [rad].
TILT = ('gravity.tilt_x', 'gravity.tilt_y', 'gravity.tilt_z')


@dataclass(frozen=True, eq=False)
class ParameterMap:
    """Linear map from p named parameters to those of compiled steps.

    Attributes:
        base: What the latter are without the former, shape ``(s,)``.
        source: Of each dependence, which of the latter depends, ascending, shape ``(z,)``.
        parameter: On which of the former, shape ``(z,)``.
        factor: By how much, shape ``(z,)``.
        laws: How many of the latter are amplitudes of further laws of drives.
    """

    base: np.ndarray
    source: np.ndarray
    parameter: np.ndarray
    factor: np.ndarray
    laws: int = 0

    def body_parameters(
        self, values: np.ndarray, bodies: int, gravity: np.ndarray
    ) -> BodyParameters:
        """Values for compiled steps; see :meth:`Mechanism.body_parameters`."""
        flat = self.base.copy()
        np.add.at(flat, self.source, self.factor * values[self.parameter])
        first, last = 10 * bodies, len(flat) - len(TILT)
        drives = flat[first:last - self.laws].reshape(-1, len(DRIVE_FIELDS))
        if (drives[:, STRIBECK_VELOCITY] <= 0.0).any():
            raise ModelError(
                "Stribeck's velocity is not above zero", found=drives[:, STRIBECK_VELOCITY].min(),
                allowed='above zero', fix='Bound it from below')
        turned, slope = _turned(flat[last:], gravity)
        return BodyParameters(
            flat[:first].reshape(bodies, 10), drives.copy(), flat[last - self.laws:last].copy(),
            turned, slope)

    def of_free(self, chosen: np.ndarray) -> FreeParameterMap:
        """How some of the parameters make them up.

        Args:
            chosen: Their indices, shape ``(k,)``.
        """
        column = np.full(int(self.parameter.max(initial=-1)) + 1, -1, dtype=np.int64)
        inside = chosen[chosen < len(column)]
        column[inside] = np.flatnonzero(chosen < len(column))
        used = column[self.parameter] >= 0
        return FreeParameterMap(
            self.source[used], column[self.parameter[used]], self.factor[used])


def _turned(vector: np.ndarray, gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gravity turned by a rotation vector, and the derivative by it, ``(3, 3)``.

    The vector's part along gravity, which could tell nothing, is left out.
    """
    size = float(np.linalg.norm(gravity))
    across = np.eye(3) if size == 0.0 else np.eye(3) - np.outer(gravity, gravity) / size**2
    vector = across @ vector
    turned = pin.exp3(vector) @ gravity
    # Pinocchio's is the right Jacobian of SO(3); the left one is that of the opposite vector.
    return turned, -pin.skew(turned) @ pin.Jexp3(-vector) @ across
