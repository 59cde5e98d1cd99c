r"""Computed torque: a robot follows a motion by its model, and by feedback in its model's units.

.. math::
    \tau = M(q)\,\big(\ddot q_r + 2\zeta\omega\,(\dot q_r - \dot q) + \omega^2 (q_r - q)\big)
        + h(q, \dot q) + \tau_t(q, \dot q_r),

with the torques of the joint terms :math:`\tau_t` taken at the velocity of the reference, so
that noise of the measured one does not make dry friction chatter. With a model that is exact,
every joint follows as a mass on a spring with the same natural frequency and damping, whatever
it carries; with any other, what is left of the error shows how wrong the model is.

References:
    Siciliano, Sciavicco, Villani and Oriolo 2009, section 8.5.2.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler


@dataclass(frozen=True, eq=False)
class TorqueCommand:
    """Torques of the drives, and joints whose torque is at its limit.

    Attributes:
        torque: Torques within the limits in [N·m] or [N], shape ``(n,)``.
        feedback: Accelerations that they are for beyond those of the reference, shape ``(n,)``;
            zero where a drive cannot do what the law asks for.
        saturated: Joints whose drive cannot do what the law asks for.
    """

    torque: np.ndarray
    feedback: np.ndarray
    saturated: tuple[str, ...]


class ComputedTorque:
    """The control law of one robot, with given parameters.

    Args:
        model: Torque model.
        values: Its parameters, shape ``(p,)``.
        natural_frequency: Of the error's decay in [rad/s].
        damping: Damping ratio of the error's decay.
        friction_smoothing: Least velocity in [rad/s] or [m/s] over which the sign of dry
            friction changes; a jump of torque would shake the robot at every turn.
        effort: Torque limits in [N·m] or [N], shape ``(n,)``; by default those of the
            description. NaN for none.

    Raises:
        ConfigurationError: A gain is not positive, or the smoothing is negative.
        ParameterError: The values are not finite, or not those of the model.
    """

    def __init__(
        self, model: TorqueModel, values: np.ndarray, *, natural_frequency: float,
        damping: float = 1.0, friction_smoothing: float = 0.02, effort: np.ndarray | None = None,
    ) -> None:
        for name, gain in (('natural_frequency', natural_frequency), ('damping', damping)):
            if not 0.0 < gain < np.inf:
                raise ConfigurationError(
                    'the gain cannot be used', where=name, found=gain, allowed='above 0',
                    fix='Set it above 0, as natural_frequency: 20.0')
        values = np.array(values, dtype=float)
        if values.shape != (len(model.parameters),) or not np.isfinite(values).all():
            raise ParameterError(
                'these are not the parameters of the model', found=f'shape {values.shape}',
                allowed=f'{len(model.parameters)} finite numbers')
        self._model = replace(
            model, terms=tuple(_smoothed(term, friction_smoothing) for term in model.terms)
        ).at(values)
        self._bodies, self._terms = np.split(values, [10 * len(model.robot.body_names)])
        self._stiffness = natural_frequency**2
        self._damping = 2.0 * damping * natural_frequency
        effort = model.robot.limits.effort if effort is None else effort
        self._effort = np.where(np.isnan(effort), np.inf, effort)

    def command(
        self, q: np.ndarray, v: np.ndarray, q_ref: np.ndarray, v_ref: np.ndarray,
        a_ref: np.ndarray,
    ) -> TorqueCommand:
        """Torques for one instant.

        Args:
            q: Measured positions in [rad] or [m], shape ``(n,)``.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.
            q_ref: Positions of the reference in [rad] or [m], shape ``(n,)``.
            v_ref: Velocities of the reference, shape ``(n,)``.
            a_ref: Accelerations of the reference, shape ``(n,)``.

        Raises:
            ParameterError: A number is not finite, and so no torque would be.
        """
        feedback = self._damping * (v_ref - v) + self._stiffness * (q_ref - q)
        torque = self.torque(q, v, a_ref + feedback, v_ref)
        if not np.isfinite(torque).all():
            raise ParameterError(
                'the state or the reference is not finite', found=f'torques {torque}')
        over = np.abs(torque) > self._effort
        if not over.any():
            return TorqueCommand(torque, feedback, ())
        names = self._model.robot.joint_names
        return TorqueCommand(
            np.clip(torque, -self._effort, self._effort), np.where(over, 0.0, feedback),
            tuple(name for name, beyond in zip(names, over, strict=True) if beyond))

    def torque(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, v_terms: np.ndarray
    ) -> np.ndarray:
        """Torques that a motion takes in [N·m] or [N], shape ``(n,)``.

        Args:
            q: Positions in [rad] or [m], shape ``(n,)``.
            v: Velocities of the bodies, shape ``(n,)``.
            a: Accelerations, shape ``(n,)``.
            v_terms: Velocities of the joint terms, shape ``(n,)``.
        """
        model, robot = self._model, self._model.robot
        q, v, a, v_terms = q[None], v[None], a[None], v_terms[None]
        torque = recursive_newton_euler(robot, self._bodies, q, v, a)[0]
        if model.terms:
            torque += model.term_regressor(q, v_terms, a)[0] @ self._terms
        return torque / model.gains


def _smoothed(term: JointTerm, least: float) -> JointTerm:
    """A term whose sign of the velocity is smoothed over some velocity at least."""
    if not 0.0 <= least < np.inf:
        raise ConfigurationError(
            'the smoothing cannot be used', where='friction_smoothing', found=least,
            allowed='a velocity, zero or more',
            fix='Set friction_smoothing: 0.02')
    smoothing: Any = getattr(term, 'smoothing', None)
    if not is_dataclass(term) or not isinstance(smoothing, (int, float)) or smoothing >= least:
        return term
    return replace(term, smoothing=least)
