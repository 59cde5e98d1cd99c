r"""Constraints on a motion: how far it is from each, and how that depends on the motion.

Slacks are parts of what is allowed: 0 on a limit and 1 or so far away from it, so that slacks
of different kinds can stand side by side in one barrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.chain_motion import ChainMotion
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.tree.kinematics import BodyPoses, body_poses
from sysid_ros.robot.model import RobotModel

#: What a constraint may look at, in the order of the first axis of its gradients.
QUANTITIES = ('position', 'velocity', 'acceleration', 'jerk', 'effort')
#: Their units at joints that turn, and at joints that slide.
ANGULAR_UNITS = ('rad', 'rad/s', 'rad/s²', 'rad/s³', 'N·m')
LINEAR_UNITS = ('m', 'm/s', 'm/s²', 'm/s³', 'N')


@dataclass(frozen=True, eq=False)
class MotionState:
    """A sampled motion as constraints see it.

    Attributes:
        robot: The robot.
        values: Position, velocity, acceleration, jerk and torque, shape ``(5, T, n)``.
    """

    robot: RobotModel
    values: np.ndarray

    @cached_property
    def poses(self) -> BodyPoses:
        """Poses of all bodies; they are computed when a constraint first asks for them."""
        return body_poses(self.robot, self.values[0])

    @cached_property
    def chain(self) -> ChainMotion:
        """Motion of all joints of a robot with closed loops."""
        return closed_chain(self.robot).motion(*self.values[:3])


class Check(Protocol):
    """Inequalities on a motion at every instant."""

    def labels(self) -> tuple[str, ...]:
        """Labels of the k inequalities, in words."""

    def slack(self, motion: MotionState) -> np.ndarray:
        """Distances to the limits, negative beyond them.

        Args:
            motion: T samples of a motion.

        Returns:
            Shape ``(T, k)``, without unit.
        """


class Constraint(Check, Protocol):
    """Inequalities that a search can follow."""

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of the sum of weighted slacks with respect to the motion.

        Args:
            motion: The same samples.
            weights: Shape ``(T, k)``.

        Returns:
            Shape ``(5, T, n)``.
        """


@dataclass(frozen=True, eq=False)
class JointLimitConstraint:
    """Position, velocity, acceleration, jerk and torque stay within their limits.

    Attributes:
        limits: The limits; infinite ones do not count.
    """

    limits: MotionLimits

    def labels(self) -> tuple[str, ...]:
        """Quantity and joint of each inequality."""
        return tuple(
            f'{side} {quantity} of {joint}' for quantity in QUANTITIES
            for side in ('lowest', 'highest') for joint in self.limits.joint_names
        )

    def slack(self, motion: MotionState) -> np.ndarray:
        """Parts of half the allowed range that are free; see :class:`Constraint`."""
        lower, upper, half = self.bounds()
        values = motion.values
        slack = np.stack([values - lower[:, None], upper[:, None] - values], axis=2)
        slack /= half[:, None, None]
        unbounded = ~np.isfinite(np.stack([lower, upper], axis=1) / half[:, None])[:, None]
        slack = np.where(unbounded, 1.0, slack)
        slack[~np.isfinite(slack)] = -np.inf  # what is no number keeps no limit
        # Time first, then quantity, side and joint.
        return slack.transpose(1, 0, 2, 3).reshape(values.shape[1], -1)

    def gradient(self, motion: MotionState, weights: np.ndarray) -> np.ndarray:
        """Derivative of weighted slacks, shape ``(5, T, n)``; see :class:`Constraint`."""
        lower, upper, half = self.bounds()
        quantities, samples, joints = motion.values.shape
        sides = weights.reshape(samples, quantities, 2, joints).transpose(1, 0, 2, 3)
        below = np.where(np.isfinite(lower), 1.0 / half, 0.0)[:, None]
        above = np.where(np.isfinite(upper), 1.0 / half, 0.0)[:, None]
        return below * sides[:, :, 0] - above * sides[:, :, 1]

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower and upper bounds and half of the range between them, shape ``(5, n)`` each."""
        limits = self.limits
        size = np.array([limits.velocity, limits.acceleration, limits.jerk, limits.effort])
        return (
            np.vstack([limits.lower, -size]), np.vstack([limits.upper, size]),
            np.vstack([limits.reach, size]),
        )


def relaxed_barrier(slack: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    r"""The barrier :math:`-\log s`, continued by a parabola below ``near``, and its slope.

    The continuation is twice differentiable and finite everywhere, so that a search may begin,
    and step, outside of what is allowed (Hauser and Saccon 2006).

    Args:
        slack: Distances to the limits, any shape.
        near: Slack above zero below which the parabola takes over.

    Returns:
        Value and derivative, of the shape of ``slack``.
    """
    inside = slack > near
    safe = np.where(inside, slack, near)
    beyond = (slack - 2.0 * near) / near
    value = np.where(inside, -np.log(safe), 0.5 * (beyond**2 - 1.0) - np.log(near))
    return value, np.where(inside, -1.0 / safe, beyond / near)
