r"""What a law of a joint term is: torque per unit of its parameter over one motion variable.

A column of a joint term acts along a direction w in joint space,

.. math:: \tau = w\,\theta\, c(w \cdot x;\, s),

with x the positions, velocities or accelerations, or nothing where c is constant. A law is written
once, as plain functions of c and its derivatives, which take numbers as well as arrays: NumPy calls
them on whole motions, and compiled kernels call what the compiler makes of them, through
:mod:`~sysid_ros.mechanics.joint_terms.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from sysid_ros.numerics.jit import INSIDE
from sysid_ros.robot.model import RobotModel

#: The motion variable x of a law; the first three are places in (q, v, a).
POSITION, VELOCITY, ACCELERATION, CONSTANT = range(4)
#: Most constants s that a law has, and behind them the amplitude where they are identified.
MOST_SHAPES = 4

#: Constants s of a law.
Shape = tuple[float, ...]


def law_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled kernels call a function of a law, too; Python goes on calling the function."""
    compiled: Callable[..., Any] = register_jitable(**INSIDE)(function)
    return compiled


@law_function
def proportional(x: Any, shape: Shape) -> Any:
    """The motion variable itself."""
    return x


@law_function
def unit_slope(x: Any, value: Any, shape: Shape) -> Any:
    """Derivative of :func:`proportional`."""
    return 1.0


class Law(NamedTuple):
    """A law; numbers and arrays x of one shape give values of that shape.

    Attributes:
        variable: What x is: :data:`POSITION`, :data:`VELOCITY`, :data:`ACCELERATION`, or
            :data:`CONSTANT`, of which x is 1. What depends on accelerations is proportional.
        value: c from x and the constants s.
        slope: The derivative of c by x from x, c and s.
        by_shape: Derivatives of c by each of the constants from x, c and s, where they are known.
        smoothing: Place of the velocity among s over which the sign of dry friction is smoothed,
            zero for the sign itself; None of a law that is not dry friction.
    """

    variable: int
    value: Callable[..., Any] = proportional
    slope: Callable[..., Any] = unit_slope
    by_shape: tuple[Callable[..., Any], ...] = ()
    smoothing: int | None = None

    def jumps(self, shape: Shape) -> bool:
        """Whether c jumps with the sign of the velocity."""
        return self.smoothing is not None and shape[self.smoothing] == 0.0


@cache
def law_by_constant(law: Law, number: int) -> Law:
    r"""The law of the torque by one of the constants of a law, :math:`A\,\partial c/\partial s`.

    Args:
        law: The law.
        number: Place of the constant.

    Returns:
        Its constants are those of the law, and the amplitude A at the last place there is.
    """
    value, slope = law.value, law.by_shape[number]

    @law_function
    def by_constant(x: Any, shape: Shape) -> Any:
        return shape[MOST_SHAPES - 1] * slope(x, value(x, shape), shape)

    return Law(law.variable, by_constant, no_slope)


@law_function
def no_slope(x: Any, value: Any, shape: Shape) -> Any:
    """Zero: a column of derivatives makes no torque that could change."""
    return 0.0


class LawColumns(NamedTuple):
    """The k columns of a joint term that are by one law.

    Attributes:
        law: The law.
        shape: Its constants.
        place: Places among the term's columns, shape ``(k,)``.
        directions: Directions w in joint space, shape ``(k, n)``.
        joints: Joints of columns that act on one each with a weight of one, shape ``(k,)``; None
            of others.
    """

    law: Law
    shape: Shape
    place: np.ndarray
    directions: np.ndarray
    joints: np.ndarray | None = None

    @classmethod
    def of_joints(
        cls, law: Law, shape: Shape, robot: RobotModel, joints: Sequence[str],
        first: int = 0, every: int = 1,
    ) -> LawColumns:
        """One column for each of some joints, acting on that joint alone.

        Args:
            law: The law.
            shape: Its constants.
            robot: The robot.
            joints: The joints.
            first: Place of the first column.
            every: How far the next are apart.
        """
        chosen = np.array([robot.joint_index(joint) for joint in joints], dtype=np.int64)
        place = np.arange(first, first + every * len(chosen), every)
        return cls(law, shape, place, np.eye(len(robot.joint_names))[chosen], chosen)

    def along(self, motion: tuple[np.ndarray, ...]) -> np.ndarray:
        """Motion variable along each direction, from q, v, a of shape ``(T, n)``: ``(T, k)``."""
        if self.law.variable == CONSTANT:
            return np.ones((len(motion[0]), len(self.directions)))
        x = motion[self.law.variable]
        return x @ self.directions.T if self.joints is None else x[:, self.joints]

    def fill(self, motion: tuple[np.ndarray, ...], columns: np.ndarray) -> None:
        """Write torques per unit of the parameters into the term's columns, ``(T, n, c)``."""
        value = self.law.value(self.along(motion), self.shape)
        if self.joints is None:
            columns[:, :, self.place] = value[:, None] * self.directions.T
        else:
            columns[:, self.joints, self.place] = value

    def add_gradient(
        self, motion: tuple[np.ndarray, ...], weights: np.ndarray, gradient: np.ndarray
    ) -> None:
        """Add derivatives of the weighted columns by q, v and a, shape ``(3, T, n)``.

        Args:
            motion: Positions, velocities and accelerations, shape ``(T, n)`` each.
            weights: Of every entry of the term's columns, shape ``(T, n, c)``.
            gradient: Is added to.
        """
        if self.law.variable == CONSTANT:
            return
        x = self.along(motion)
        slope = self.law.slope(x, self.law.value(x, self.shape), self.shape)
        if self.joints is None:
            own = np.einsum('tjk,kj->tk', weights[:, :, self.place], self.directions)
        else:
            own = weights[:, self.joints, self.place]
        gradient[self.law.variable] += (slope * own) @ self.directions
