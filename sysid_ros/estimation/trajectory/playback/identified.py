"""From a search to an honest answer: parameters with intervals that hold.

Residuals of a playback are correlated in time, since noise of torques and of the reference moves
the simulated arm. A sandwich covariance takes that from the residuals; but where a single event
tells most of a parameter, it is fitted so well that they show too little. With known levels of
noise, :func:`~sysid_ros.estimation.trajectory.playback.propagation.propagated` follows it to
the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.playback.problem import PlaybackProblem, Point
from sysid_ros.estimation.trajectory.playback.propagation import propagated
from sysid_ros.estimation.trajectory.playback.search import Found, normal_equations
from sysid_ros.numerics.noise import sandwich

# Singular values of the scaled information below this part of the largest are rounding.
_NOTHING = 1e-10


@dataclass(frozen=True, eq=False)
class Identified:
    """Positive parameters with their uncertainty.

    Attributes:
        found: What the search found.
        names: Of the k parameters.
        values: Shape ``(k,)``.
        covariance: Of their logarithms, shape ``(k, k)``: from levels of noise where every
            recording says its own, else from residuals that are correlated in time.
    """

    found: Found
    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray

    @property
    def relative_deviation(self) -> np.ndarray:
        """Standard deviations of the logarithms, shape ``(k,)``."""
        return np.sqrt(np.diagonal(self.covariance))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Least and largest values at a level of confidence, shape ``(k, 2)``."""
        reach = ndtri(0.5 + 0.5 * level) * self.relative_deviation
        return np.asarray(self.values[:, None] * np.exp(np.outer(reach, [-1.0, 1.0])))


def identified(found: Found) -> Identified:
    """Judge what a search found.

    Args:
        found: By any of the searches.

    Raises:
        EstimationError: The recordings do not tell all of the parameters.
    """
    problem, point = found.problem, found.point
    if not point.motions[0].slopes.shape[3]:
        point = problem.evaluate(point.logs, derivatives=True)
    information, _ = normal_equations(problem, point)
    scale = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
    scaled = information / np.outer(scale, scale)
    if np.linalg.eigvalsh(scaled)[0] <= _NOTHING:
        raise EstimationError(
            'the recordings do not tell all parameters',
            found=', '.join(entry.name for entry in problem.free_parameters),
            fix='Record motion that bends the object in more ways, or seek fewer parameters')
    noises = [playback.noise for playback in problem.playbacks]
    if None in noises:
        covariance = _as_residuals_show(problem, point, information)
    else:
        covariance = propagated(problem, point, information)
    return Identified(
        found, tuple(entry.name for entry in problem.free_parameters), np.exp(point.logs),
        covariance)


def _as_residuals_show(
    problem: PlaybackProblem, point: Point, information: np.ndarray
) -> np.ndarray:
    scores, segments, begin = [], [], 0
    for values, slopes in problem.rows(point):
        scores.append(np.einsum('tm,tmk->tk', values, slopes))
        segments.append((begin, begin + len(values)))
        begin += len(values)
    return sandwich(information, np.concatenate(scores), segments)
