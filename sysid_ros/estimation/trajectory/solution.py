"""What a solver of trajectory problems found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.numerics.least_squares.damped import Ended, Iteration

#: What people read of how a search ended.
STATUS = {
    Ended.CONVERGED: Status.CONVERGED, Ended.STALLED: Status.INACCURATE,
    Ended.ITERATION_LIMIT: Status.ITERATION_LIMIT}


@dataclass(frozen=True, eq=False)
class TrajectorySolution:
    """Parameters and motion that fit best.

    Attributes:
        values: All parameter values, shape ``(p,)``.
        status: How the solver ended.
        iterations: Its log.
        positions: Of every segment at its nodes in [rad] or [m], shape ``(N + 1, n)`` each.
        velocities: Of every segment at its nodes in [rad/s] or [m/s], shape ``(N + 1, n)`` each.
        residuals: Measured less predicted in the sensor's units, by segment and observation,
            NaN where nothing was measured, shape ``(K, m)`` each.
        information: What the measurements tell of the k free parameters once every state has
            been adapted to them: inverse of their covariance for white noise of the given
            size, in the parameters' own units, shape ``(k, k)``.
        scores: The same information piece by piece: gradient of the cost by the free
            parameters, states adapted, of one node's residuals, in the order of time, shape
            ``(B, k)``.
    """

    values: np.ndarray
    status: Status
    iterations: tuple[Iteration, ...]
    positions: tuple[np.ndarray, ...]
    velocities: tuple[np.ndarray, ...]
    residuals: tuple[tuple[np.ndarray, ...], ...]
    information: np.ndarray
    scores: np.ndarray

    def acceleration_density(self, problem: TrajectoryProblem) -> np.ndarray:
        """Root mean square of accelerations times the root of a step, by joint, shape ``(n,)``.

        White noise of this density, in [rad/s²/√Hz] or [m/s²/√Hz], moves velocities from node to
        node as much as the motion itself does.

        Args:
            problem: The problem, whose nodes the motion is at.
        """
        changes = np.concatenate([
            np.diff(v, axis=0) / np.sqrt(segment.step)
            for v, segment in zip(self.velocities, problem.segments, strict=True)])
        size = np.sqrt(np.mean(changes**2, axis=0))
        return np.asarray(np.maximum(size, 1e-6 * size.max() + np.finfo(float).tiny))
