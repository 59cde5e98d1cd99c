"""Levels of the sensors' noise from what a fit with simulated motion leaves of the readings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.trajectory.problem import Observation, TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution


def levels_from_residuals(
    problem: TrajectoryProblem, found: TrajectorySolution
) -> tuple[TrajectoryProblem, float, tuple[str, ...]]:
    """The problem with levels of noise as the residuals show them, alike in all segments.

    Degrees of freedom that states and parameters take are shared out by rows.

    Args:
        problem: The problem, with the levels it was solved by.
        found: Its solution.

    Returns:
        The problem, the largest relative change of a level, and the levels in words.
    """
    squares: dict[str, np.ndarray] = {}
    counts: dict[str, np.ndarray] = {}
    rows = 0
    for segment, residuals in zip(problem.segments, found.residuals, strict=True):
        for observation, residual in zip(segment.observations, residuals, strict=True):
            name, known = observation.sensor.name, np.isfinite(residual)
            squares[name] = squares.get(name, 0.0) + np.nansum(residual**2, axis=0)
            counts[name] = counts.get(name, 0) + known.sum(axis=0)
            rows += int(known.sum())
    starts = sum(2 * positions.shape[1] for positions in found.positions)
    left = 1.0 - min((starts + len(problem.free)) / rows, 0.9)
    levels = {
        name: np.sqrt(total / np.maximum(left * counts[name], 1.0))
        for name, total in squares.items()}
    change = 0.0

    def renewed(observation: Observation) -> Observation:
        nonlocal change
        level = np.maximum(levels[observation.sensor.name], np.finfo(float).tiny)
        change = max(change, float(np.max(np.abs(level / observation.sigma - 1.0))))
        return replace(observation, sigma=level)

    segments = tuple(
        replace(segment, observations=tuple(renewed(o) for o in segment.observations))
        for segment in problem.segments)
    words = tuple(
        f'Noise of {name}: {", ".join(f"{value:.3g}" for value in level)}.'
        for name, level in levels.items())
    return replace(problem, segments=segments), change, words
