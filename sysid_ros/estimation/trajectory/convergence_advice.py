"""Why a fit of states and parameters ended early: what was tried, what fits worst, what to change.

Whatever the estimator, the motion that it found is simulated over short pieces from its own states
with its own parameters, so that the worst place is one where dynamics and measurements disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog, Stage
from sysid_ros.estimation.trajectory.sensors import Encoder, Sensor, Tachometer
from sysid_ros.estimation.trajectory.shooting import Shooting
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

#: What to fit by where an estimator does not arrive from the description.
SHORT_PIECES = (
    'the estimator, to one whose short pieces forgive wrong guesses: '
    'fit: {estimator: shooting, shooting: {horizon: 0.3}}.')
# Noise of accelerations that is proposed, in parts of what the motion itself does.
_SOFT = 0.03
# Length of simulated pieces, and of the windows in which residuals are compared, in [s].
_PIECE, _WINDOW = 0.3, 0.5
# Kinds of stages that are listed.
_LISTED = 8
_ENDED = {
    Status.CONVERGED: 'converged', Status.ITERATION_LIMIT: 'not converged',
    Status.INACCURATE: 'no step brought anything', None: 'could not be simulated'}


class WorstFit(NamedTuple):
    """Where residuals are largest in units of the noise.

    Attributes:
        what: Joints of an encoder, or the sensor's name.
        unit: Of its readings.
        segment: Index of the segment.
        start: Beginning of the window in [s].
        stop: Its end.
        error: Root mean square of the residuals there.
        ratio: That over the noise.
    """

    what: str
    unit: str
    segment: int
    start: float
    stop: float
    error: float
    ratio: float


def convergence_notes(
    problem: TrajectoryProblem, found: TrajectorySolution, log: SearchLog, estimator: str
) -> tuple[str, ...]:
    """What was tried and what fits worst, in words.

    Args:
        problem: The problem.
        found: The best point.
        log: Its searches.
        estimator: Name of the estimator, whose section of the settings has the limit.
    """
    return (*_tried(log.stages), *_limit(log, estimator), *_where(problem, found))


def soft_dynamics(problem: TrajectoryProblem, found: TrajectorySolution) -> str:
    """The proposal to let the dynamics be off by noise of accelerations, in words.

    Args:
        problem: The problem.
        found: The best point.
    """
    density = _SOFT * float(np.median(found.acceleration_density(problem)))
    return (
        'how far dynamics are believed, by noise of accelerations where the model lacks '
        f'something: fit: {{estimator: collocation, collocation: {{process_noise: {density:.2g}, '
        'estimate_noise: true}}.')


def _tried(stages: Sequence[Stage]) -> Iterator[str]:
    """Stages in words, those that repeat once."""
    kinds = [list(alike) for _, alike in groupby(
        stages, key=lambda stage: (stage.name, stage.status))]
    words = [_outcome(alike) for alike in kinds[-_LISTED:]]
    if words:
        before = '' if len(kinds) <= _LISTED else f'{len(kinds) - _LISTED} searches; '
        yield f'Tried one after another: {before}{"; ".join(words)}.'


def _outcome(alike: Sequence[Stage]) -> str:
    steps = [step for stage in alike for step in stage.iterations]
    times = '' if len(alike) == 1 else f'{len(alike)} times, '
    cost = '' if not steps else f', cost {steps[0].cost:.3g} to {steps[-1].cost:.3g}'
    count = f'{len(steps)} step{"" if len(steps) == 1 else "s"}'
    return (f'{alike[0].name} ({times}{count}{cost}, '
            f'{_ENDED.get(alike[0].status, "no bodies were found")})')


def _limit(log: SearchLog, estimator: str) -> Iterator[str]:
    if not log.left:
        yield (
            f'The limit of {log.most} steps of all searches together was reached; where the cost '
            f'still falls: fit: {{{estimator}: {{max_iterations: {2 * log.most}}}}}.')


def _where(problem: TrajectoryProblem, found: TrajectorySolution) -> Iterator[str]:
    worst = worst_fit(problem, _simulated_residuals(problem, found))
    if worst is not None:
        several = len(problem.segments) > 1
        where = f' of stretch {worst.segment + 1} of {len(problem.segments)}' if several else ''
        yield (
            f'{worst.what} fits worst, from {worst.start:.4g} s to {worst.stop:.4g} s{where}: off '
            f'by {worst.error:.2g} {worst.unit}, {worst.ratio:.2g} times the noise. Look there for '
            'contacts, stops, gaps of the efforts, or friction that the model lacks; or leave the '
            'time out by processing: {trim: ...}.')


def _simulated_residuals(
    problem: TrajectoryProblem, found: TrajectorySolution
) -> Sequence[Sequence[np.ndarray]]:
    """Residuals of short simulated pieces, or those found where none can be simulated."""
    there = replace(problem, parameters=problem.parameters.with_values(found.values))
    try:
        return Shooting(horizon=_PIECE).here(there, found).residuals
    except SysidError:
        return found.residuals


def worst_fit(
    problem: TrajectoryProblem, residuals: Sequence[Sequence[np.ndarray]]
) -> WorstFit | None:
    """Where and of which joint residuals are largest in units of the noise.

    Args:
        problem: The problem.
        residuals: By segment and observation, shape ``(K, m)`` each, NaN where missing.

    Returns:
        None where there are none.
    """
    worst: WorstFit | None = None
    for index, (segment, own) in enumerate(zip(problem.segments, residuals, strict=True)):
        for observation, values in zip(segment.observations, own, strict=True):
            window = ((observation.t - segment.t[0]) / _WINDOW).astype(int)
            for column, residual in enumerate(values.T):
                known = np.isfinite(residual)
                squares = np.bincount(window[known], residual[known]**2)
                means = np.sqrt(squares / np.maximum(np.bincount(window[known]), 1))
                if not len(means):
                    continue
                place, sigma = int(np.argmax(means)), float(observation.sigma[column])
                ratio = float(means[place]) / sigma
                if worst is None or ratio > worst.ratio:
                    start = float(segment.t[0]) + place * _WINDOW
                    worst = WorstFit(
                        *_measured(problem, observation.sensor, column), index, start,
                        min(start + _WINDOW, float(segment.t[-1])), float(means[place]), ratio)
    return worst


def _measured(problem: TrajectoryProblem, sensor: Sensor, column: int) -> tuple[str, str]:
    """What a number of a sensor is called, and its unit."""
    if not isinstance(sensor, Encoder):
        return sensor.name, 'in its unit'
    joints = [joint for joint, _ in sensor.weights[column]]
    robot = problem.model.robot
    slides = robot.joint_types[robot.joint_index(joints[0])] == 'prismatic'
    unit = 'm' if slides else 'rad'
    return '+'.join(joints), f'{unit}/s' if isinstance(sensor, Tachometer) else unit
