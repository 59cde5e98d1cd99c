r"""Weighed masses beside what the torques make of them, where torques tell a mass at all.

A joint that turns feels masses only times distances, squared or not: whatever a link was found to
weigh, a centre of mass makes up for it. The effort of a slide j that accelerates by :math:`a_j` is
:math:`m_j a_j` and more, where :math:`m_j` is the mass of all that it moves. The row of that
coefficient is that of :math:`\partial\tau_j / \partial a_j`, which holds ones at masses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.payload.known import Known
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.recording.checks.settings_lines import signal_line
from sysid_ros.robot.model import RobotModel

# A mass is another one beyond this factor, and the same within the next: friction near standstill
# takes up to a sixth of what accelerates a slide. It is told if it deviates by less than the last.
_FACTOR, _SAME, _TOLD = 1.4, 1.15, 0.04
# Rounding of rows that torques tell, whose entries are ones.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class WeighedSlide:
    """The weighed mass that a slide moves, as its torques tell it.

    Attributes:
        joint: Name of the slide.
        mass: What was weighed, in [kg].
        found: What the efforts make of it, in [kg].
        deviation: Standard deviation of what was found, in [kg].
        joints: All joints, in their order.
    """

    joint: str
    mass: float
    found: float
    deviation: float
    joints: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line of settings by which the effort would agree with what was weighed."""
        return signal_line('effort', 'scale', self.joints, {self.joint: 1.0 / self.scale}, 1.0)

    @property
    def scale(self) -> float:
        """Recorded effort per force."""
        return self.found / self.mass

    @property
    def off(self) -> bool:
        """Whether efforts and weighing contradict each other, whatever friction does."""
        return not 1.0 / _FACTOR < self.scale < _FACTOR

    @property
    def agrees(self) -> bool:
        """Whether efforts and weighing say the same."""
        return 1.0 / _SAME < self.scale < _SAME


@dataclass(frozen=True)
class Weighing:
    """Masses that were weighed, and what the torques say of them.

    Attributes:
        slides: Slides whose torques tell what they move; empty where none does.
    """

    slides: tuple[WeighedSlide, ...] = ()


def weighing_of(known: Known, problem: RegressionProblem, values: np.ndarray) -> Weighing | None:
    """What the torques say of weighed masses; None where nothing was weighed.

    Args:
        known: What is known of the robot.
        problem: Rows that were fitted.
        values: Parameters found, shape ``(p,)``, at which what is not linear is held.

    Raises:
        ConfigurationError: A link does not exist.
        EstimationError: There are too few rows.
    """
    if not known.masses and known.total_mass is None:
        return None
    # In a closed loop a slide also moves what is behind the closure.
    moved = [] if problem.model.robot.loops is not None else _moved(problem.model.robot)
    weighed = [(joint, row, mass) for joint, row in moved
               if (mass := known.mass_of(problem.model.robot, row[::10])) is not None]
    if not weighed:
        return Weighing()
    problem = frozen_at(problem, values)
    fit = WeightedLeastSquares().fit(problem)
    found = []
    for joint, row, mass in weighed:
        functional = np.zeros(len(values))
        functional[:len(row)] = row
        told = np.linalg.lstsq(problem.base.matrix.T, functional, rcond=None)[0]
        if not np.allclose(problem.base.matrix.T @ told, functional, atol=_ROUNDING):
            continue
        # Without what is rounding, which times an infinite variance is none.
        used = np.abs(told) > _ROUNDING
        told, covariance = told[used], fit.base_covariance[np.ix_(used, used)]
        deviation = float(np.sqrt(told @ covariance @ told))
        moves = float(told @ fit.base_values[used])
        if deviation < _TOLD * max(mass, moves):
            found.append(WeighedSlide(
                joint, mass, moves, float(np.hypot(deviation, known.accuracy * mass)),
                problem.model.robot.joint_names))
    return Weighing(tuple(found))


def _moved(robot: RobotModel) -> Iterator[tuple[str, np.ndarray]]:
    """Slides, and for each the row of the mass that it moves, shape ``(10 b,)``."""
    still = np.zeros((1, len(robot.joint_names)))
    weight = inertial_regressor(robot, still, still, still)[0]
    for joint, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True)):
        if kind == 'prismatic':
            push = still.copy()
            push[0, joint] = 1.0
            row = inertial_regressor(robot, still, still, push)[0, joint] - weight[joint]
            if np.isin(np.round(row, 6), (0.0, 1.0)).all() and not np.delete(
                    row.reshape(-1, 10), 0, axis=1).any():
                yield name, row
