"""What a factor graph needs to know of a mechanism, whatever it is described by."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from sysid_ros.robot.parameters import ParameterSet


class Constrained(NamedTuple):
    r"""The m constraints :math:`\Phi(q)` at S samples, and what their derivatives by time need.

    Attributes:
        gap: The constraints, shape ``(S, m)``.
        jacobian: Their derivatives J by coordinates, shape ``(S, m, n)``.
        rate: The derivative of J v by coordinates, which is that of J by time, ``(S, m, n)``.
        bias: The product of that and v, shape ``(S, m)``.
        slope: The derivative of bias + J a by coordinates, shape ``(S, m, n)``.
    """

    gap: np.ndarray
    jacobian: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    slope: np.ndarray


class Response(NamedTuple):
    """Accelerations of n coordinates and multipliers of m constraints, with derivatives.

    Attributes:
        value: Accelerations, then multipliers, shape ``(S, n + m)``.
        by_position: Shape ``(S, n + m, n)``.
        by_velocity: Shape ``(S, n + m, n)``.
        by_torque: By the u torques, shape ``(S, n + m, u)``.
        by_parameters: By the k parameters that are sought, shape ``(S, n + m, k)``.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_torque: np.ndarray
    by_parameters: np.ndarray


class Mechanism(Protocol):
    """Coordinates, constraints between them, and how they are accelerated."""

    @property
    def name(self) -> str:
        """Name in reports and messages."""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the n coordinates, in [m] or [rad]."""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the m constraints."""

    @property
    def rank(self) -> int:
        """How many constraints are independent."""

    @property
    def independent(self) -> np.ndarray:
        """Indices of f coordinates that determine all others, shape ``(f,)``."""

    @property
    def torques(self) -> tuple[str, ...]:
        """Names of the u coordinates that motors drive."""

    @property
    def parameters(self) -> ParameterSet:
        """All p parameters of the dynamics."""

    @property
    def assembly(self) -> np.ndarray:
        """A configuration that fulfils all constraints, shape ``(n,)``."""

    def constrained(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Constrained:
        """Constraints at motions of shape ``(S, n)`` each."""

    def response(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
        columns: np.ndarray,
    ) -> Response:
        """How torques accelerate it.

        Args:
            values: All parameters, shape ``(p,)``.
            q: Coordinates in [m] or [rad], shape ``(S, n)``.
            v: Velocities, shape ``(S, n)``.
            torque: In [N·m] or [N], shape ``(S, u)``.
            columns: What is sought as combinations of all parameters, shape ``(p, k)``.

        Raises:
            EstimationError: A configuration is singular, or masses do not determine the motion.
        """
