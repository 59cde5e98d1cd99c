r"""What a motion of a robot with closed loops must keep besides: passive joints, dead points.

Passive joints move by :math:`q_u = \Gamma(q_a)` and :math:`\dot q_u = G_u \dot q_a`. With driven
joints at constant velocity their accelerations are the second derivative of :math:`\Gamma` along
it, a quadratic form; its polar form is the derivative of their velocities, without differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sysid_ros.excitation.design.constraints import Check, Constraint, MotionState
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.robot.model import RobotModel

#: Part of the distance from dead points that motions keep which stops keep, too.
KEPT_BY_STOPS = 0.5
# Step of central differences of the singularity margin in [rad] or [m].
_STEP = 1e-5


class LoopConstraint(Constraint, Protocol):
    """A constraint of loops, which keeps a margin from what must not be."""

    @property
    def reserve(self) -> float:
        """Slack that the margin amounts to."""


def loop_constraints(
    robot: RobotModel, margin: float, singularity: float
) -> tuple[LoopConstraint, ...]:
    """Constraints of closed loops; none where there are none.

    Args:
        robot: The robot.
        margin: Part of the range, and of the velocity limit, of passive joints that is kept free.
        singularity: Part of the singularity margin of the assembly that is kept.
    """
    if robot.loops is None:
        return ()
    return PassiveLimits(robot, margin), DeadPoints(robot, singularity)


def from_rest(
    constraints: tuple[LoopConstraint, ...], robot: RobotModel, resting: np.ndarray
) -> tuple[Check, ...]:
    """Loop checks for a robot that rests where a stop has ended, maybe in a margin.

    Args:
        constraints: What :func:`loop_constraints` gave.
        robot: The robot.
        resting: Where its driven joints rest in [rad] or [m], shape ``(n,)``.
    """
    still = np.zeros((5, 1, len(resting)))
    still[0] = resting
    return tuple(
        FromRest(each, np.minimum(each.slack(MotionState(robot, still))[0], 0.0))
        for each in constraints)


@dataclass(frozen=True, eq=False)
class FromRest:
    """A constraint whose margin counts from where the robot rests already.

    Attributes:
        constraint: The constraint.
        used: Slack of the margin that is used up there, zero or below, shape ``(k,)``.
    """

    constraint: LoopConstraint
    used: np.ndarray

    def labels(self) -> tuple[str, ...]:
        """Those of the constraint."""
        return self.constraint.labels()

    def slack(self, motion: MotionState) -> np.ndarray:
        """Slack beyond what is used up, as far as that is a margin, shape ``(T, k)``."""
        return self.constraint.slack(motion) - np.maximum(self.used, -self.constraint.reserve)


@dataclass(frozen=True, eq=False)
class PassiveLimits:
    """Passive joints stay within their ranges and velocities, where they have limits.

    Attributes:
        robot: A robot with closed loops.
        margin: Part of every range and velocity limit that is kept free.
    """

    robot: RobotModel
    margin: float = 0.0

    def labels(self) -> tuple[str, ...]:
        """Quantity and joint of each inequality."""
        names = self.robot.opened.joint_names
        return (
            *(f'{side} position of the passive {names[joint]}'
              for side in ('lowest', 'highest') for joint in self._ranged),
            *(f'{side} velocity of the passive {names[joint]}'
              for side in ('lowest', 'highest') for joint in self._timed),
        )

    @property
    def reserve(self) -> float:
        """Slack between the margin and the limit."""
        return self.margin

    def slack(self, motion: MotionState) -> np.ndarray:
        """Parts of half the allowed range that are free, shape ``(T, k)``."""
        limits, keep = self.robot.opened.limits, 1.0 - self.margin
        lower, upper = limits.lower[self._ranged], limits.upper[self._ranged]
        away = (motion.chain.q[:, self._ranged] - 0.5 * (lower + upper)) / (0.5 * (upper - lower))
        pace = motion.chain.v[:, self._timed] / limits.velocity[self._timed]
        return np.hstack([away + keep, keep - away, pace + keep, keep - pace])

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``."""
        limits, chain = self.robot.opened.limits, motion.chain
        ranged, timed = len(self._ranged), len(self._timed)
        low, high, slow, fast = np.split(weights, np.cumsum([ranged, ranged, timed]), axis=1)
        by_q, by_v = np.zeros_like(chain.q), np.zeros_like(chain.v)
        half = 0.5 * (limits.upper - limits.lower)[self._ranged]
        by_q[:, self._ranged] = (low - high) / half
        by_v[:, self._timed] = (slow - fast) / limits.velocity[self._timed]
        gradient = np.zeros_like(motion.values)
        gradient[0] = np.einsum('tm,tmn->tn', by_q, chain.coupling)
        gradient[1] = np.einsum('tm,tmn->tn', by_v, chain.coupling)
        for joint in range(gradient.shape[2]):
            gradient[0, :, joint] += np.sum(by_v * self._velocity_by(motion, joint), axis=1)
        return gradient

    def _velocity_by(self, motion: MotionState, joint: int) -> np.ndarray:
        """Derivative of all velocities with respect to the position of a driven joint."""
        chain, v = closed_chain(self.robot), motion.values[1]
        along, still = np.zeros_like(v), np.zeros_like(v)
        along[:, joint] = 1.0
        ahead = chain.motion_at(motion.chain.q, v + along, still).a
        behind = chain.motion_at(motion.chain.q, v - along, still).a
        return 0.25 * (ahead - behind)

    @cached_property
    def _ranged(self) -> np.ndarray:
        limits, passive = self.robot.opened.limits, self._passive
        return passive[np.isfinite(limits.upper - limits.lower)[passive]]

    @cached_property
    def _timed(self) -> np.ndarray:
        return self._passive[np.isfinite(self.robot.opened.limits.velocity)[self._passive]]

    @property
    def _passive(self) -> np.ndarray:
        assert self.robot.loops is not None
        return self.robot.loops.passive


@dataclass(frozen=True, eq=False)
class DeadPoints:
    """The loops keep away from singular configurations.

    Attributes:
        robot: A robot with closed loops.
        share: Part of the singularity margin of the assembly that is kept.
    """

    robot: RobotModel
    share: float = 0.2

    def labels(self) -> tuple[str, ...]:
        """One for all loops."""
        return ('distance of the loops from a dead point',)

    @property
    def reserve(self) -> float:
        """Slack between what motions keep and what stops do."""
        return (1.0 - KEPT_BY_STOPS) * self.share

    def slack(self, motion: MotionState) -> np.ndarray:
        """Margin beyond what is kept, in parts of that of the assembly, shape ``(T, 1)``."""
        return (self._margin(motion.chain.q) - self.share)[:, None]

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, by central differences, shape ``(5, T, n)``."""
        chain, gradient = closed_chain(self.robot), np.zeros_like(motion.values)
        for joint in range(gradient.shape[2]):
            away = np.zeros(gradient.shape[2])
            away[joint] = _STEP
            ahead, behind = (
                self._margin(chain.positions(motion.values[0] + step)) for step in (away, -away))
            gradient[0, :, joint] = weights[:, 0] * (ahead - behind) / (2.0 * _STEP)
        return gradient

    def _margin(self, q: np.ndarray) -> np.ndarray:
        return closed_chain(self.robot).singularity_margin(q) / self._assembled

    @cached_property
    def _assembled(self) -> float:
        chain = closed_chain(self.robot)
        return float(chain.singularity_margin(chain.assembly[None])[0])
