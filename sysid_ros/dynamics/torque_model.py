r"""The torque model :math:`\tau = \Gamma(q, v, a)\,\theta` of a robot with joint terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.dynamics.regressor import inertial_regressor
from sysid_ros.dynamics.regressor_adjoint import regressor_gradient
from sysid_ros.dynamics.terms import JointTerm
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet, inertial_parameter_list


@dataclass(frozen=True, eq=False)
class TorqueModel:
    """Rigid-body dynamics and joint terms of a robot, linear in all parameters.

    Args:
        robot: The robot.
        terms: Joint terms, in the order of their columns after the inertial ones.

    Raises:
        ModelError: A term names a joint that the robot does not have.
        ParameterError: Two terms have a parameter in common.
    """

    robot: RobotModel
    terms: Sequence[JointTerm] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, 'terms', tuple(self.terms))
        # Terms that do not fit the robot are refused here, not when a fit begins.
        _ = self.parameters

    @cached_property
    def parameters(self) -> ParameterSet:
        """All p parameters at the prior: bodies first, then the terms.

        The prior of a body that no mass distribution could have is its consistent
        neighbour (``robot.replaced_priors`` lists them).
        """
        parameters = [
            parameter
            for body, prior in zip(
                self.robot.body_names, self.robot.reference_inertials, strict=True
            )
            for parameter in inertial_parameter_list(body, prior)
        ]
        for term in self.terms:
            parameters += term.parameters(self.robot)
        return ParameterSet.of(parameters)

    @cached_property
    def _term_sizes(self) -> tuple[int, ...]:
        return tuple(len(term.parameters(self.robot)) for term in self.terms)

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        r"""The regressor :math:`\Gamma`.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.

        Returns:
            Shape ``(T, n, p)``.

        Raises:
            ParameterError: The arrays do not fit the robot.
        """
        blocks = [inertial_regressor(self.robot, q, v, a)]
        blocks += [term.columns(self.robot, q, v, a) for term in self.terms]
        return np.concatenate(blocks, axis=-1)

    def regressor_gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Gradient of :math:`\sum_{tjp} W_{tjp} \Gamma_{tjp}` with respect to the motion.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
            weights: The weights W, shape ``(T, n, p)``.

        Returns:
            Derivatives with respect to q, v and a, shape ``(T, n)`` each.

        Raises:
            ParameterError: The arrays do not belong together.
        """
        first = 10 * len(self.robot.body_names)
        gradient = np.array(regressor_gradient(self.robot, q, v, a, weights[:, :, :first]))
        for term, count in zip(self.terms, self._term_sizes, strict=True):
            last = first + count
            gradient += term.gradient(self.robot, q, v, a, weights[:, :, first:last])
            first = last
        return gradient[0], gradient[1], gradient[2]

    def torque(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Joint torques in [N·m] or [N], shape ``(T, n)``, with parameter values ``(p,)``."""
        return self.regressor(q, v, a) @ values
