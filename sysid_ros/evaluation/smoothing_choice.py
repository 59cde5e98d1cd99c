r"""How sharply dry friction changes its sign, told by the motion that simulations fit.

Simulated motion needs a sign that is smoothed over a velocity :math:`v_0`. A wide one is easy to
search with and biases what is found, since friction of real drives, and that of simulators, is
sharper. So the search goes on from where it converged with half of it, and again (continuation), as
long as the likelihood gains by more than chance: with the sum S of squared weighted residuals and
what one that is independent counts, :math:`\sigma^2`,

.. math:: (S(v_0) - S(v_0 / 2)) / \sigma^2 > \chi^2_{1,\,0.95}.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.trajectory.friction_smoothing import largest_smoothing
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.stable_step import stable_steps
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.numerics.noise import correlated_squares
from sysid_ros.recording.processing.choice import Choice

# Gain of the likelihood ratio that chance exceeds once in twenty times (chi², one degree).
_CHANCE = 3.84
# Least smoothing in [rad/s] or [m/s]; encoders tell no sharper sign from this one.
_LEAST = 1e-3
# Length of motion in [s] that tells it: many reversals of every joint.
_ENOUGH = 4.0
_KEY = 'coulomb_smoothing'


class SmoothingChoice(NamedTuple):
    """A smoothing that the data chose.

    Attributes:
        measured: The recordings, their friction smoothed so.
        values: Parameters that fit best with it, shape ``(p,)``.
        choice: What was chosen, and why.
    """

    measured: Measurements
    values: np.ndarray
    choice: Choice


def choose_smoothing(
    measured: Measurements, stop: float, estimator: TrajectoryLeastSquares
) -> SmoothingChoice | None:
    """Halve the smoothing of dry friction as long as the likelihood gains.

    Args:
        measured: The recordings, with friction that is smooth enough to be searched with.
        stop: Where the data to fit ends, as a fraction of each recording; some seconds in the
            middle of it are looked at.
        estimator: What simulates them.

    Returns:
        None where there is no dry friction, or no fit converges.

    Raises:
        EstimationError: Motion cannot be simulated from the first guess.
    """
    robot = measured.setup.settings.robot
    width = largest_smoothing(measured.model)
    if robot is None or width == 0.0:
        return None
    problem = estimator.prepared(measured.trajectory_problem(*_middle(measured, stop)))
    found = estimator.solve(problem)
    if not found.status.ok:
        return None
    why = 'no sharper sign can be simulated'
    while 0.5 * width >= _LEAST:
        sharper = measured.with_terms(_smoothed(robot.terms, 0.5 * width))
        there = replace(problem, model=sharper.model).with_values(found.values)
        other = _continued(estimator, there, found)
        if other is None:
            break
        gain = _gain(problem, found, other)
        if not gain > _CHANCE:
            why = f'over {0.5 * width:g} the likelihood gains nothing'
            break
        measured, problem, found, width = sharper, there, other, 0.5 * width
    else:
        why = 'encoders tell no sharper sign from this one'
    chosen = Choice(f'robot.terms.{_KEY}', width, why)
    return SmoothingChoice(
        measured.with_terms(_smoothed(robot.terms, width)), found.values, chosen)


def _middle(measured: Measurements, stop: float) -> tuple[float, float]:
    """The part of each recording that is looked at, as fractions of it."""
    longest = max(part.recording.duration for part in measured.parts)
    share = min(stop, _ENOUGH / (longest * len(measured.parts)))
    return 0.5 * (stop - share), 0.5 * (stop + share)


def _smoothed(terms: TermSettings, width: float) -> TermSettings:
    """The terms with another smoothing, and what is unset left so."""
    return TermSettings.model_validate(terms.model_dump(exclude_unset=True) | {_KEY: width})


def _continued(
    estimator: TrajectoryLeastSquares, problem: TrajectoryProblem, found: TrajectorySolution
) -> TrajectorySolution | None:
    """The solution with sharper friction; None where it is too sharp or does not converge."""
    steps = stable_steps(problem)
    if steps.needed > steps.taken * steps.near_reversals:
        return None
    try:
        other = estimator.continued(problem, found)
    except EstimationError:
        return None
    return other if other.status.ok else None


def _gain(
    problem: TrajectoryProblem, found: TrajectorySolution, other: TrajectorySolution
) -> float:
    """By how much the likelihood ratio of another solution is larger."""
    first, second = (_weighted(problem, each) for each in (found, other))
    total, rows = correlated_squares(second)
    variance = total / max(rows - len(problem.free), 1)
    squares = [sum(float(np.sum(part**2)) for part in parts) for parts in (first, second)]
    return (squares[0] - squares[1]) / max(variance, np.finfo(float).tiny)


def _weighted(problem: TrajectoryProblem, found: TrajectorySolution) -> list[np.ndarray]:
    """Residuals over their noise by segment and observation, zero where nothing was measured."""
    return [
        np.nan_to_num(residual / observation.sigma)
        for segment, residuals in zip(problem.segments, found.residuals, strict=True)
        for observation, residual in zip(segment.observations, residuals, strict=True)]
