"""Residuals of fitted rows: their size, and the torque noise that they show."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.estimate import ResidualStatistics
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.numerics.noise import effective_rows

# No torque is measured better than this part of its own, and of all joints', root mean
# square; without a floor the weights of noise-free joints drown those of the others.
_LEAST_NOISE = 1e-5
_LEAST_SHARE = 1e-7


def residual_statistics(problem: RegressionProblem, theta: np.ndarray) -> ResidualStatistics:
    """Statistics of the fitted rows.

    Args:
        problem: The problem.
        theta: Parameter values, shape ``(p,)``.
    """
    residual = problem.residuals(theta)
    torque = np.where(problem.usable, problem.torque, 0.0)
    size, measured = np.linalg.norm(residual, axis=0), np.linalg.norm(torque, axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(measured > 0.0, size / measured, np.nan)
        total = np.linalg.norm(torque)
        overall = np.linalg.norm(residual) / total if total > 0.0 else np.nan
    return ResidualStatistics(
        relative_error=float(overall),
        relative_per_joint=relative,
        rms_per_joint=size / np.sqrt(np.maximum(problem.counts, 1)),
        rows=problem.counts,
        effective_rows=effective_rows(residual, problem.usable),
    )


def residual_deviation(problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
    """Standard deviation of each joint's residual, freedom of the fit taken off, ``(n,)``."""
    squares = problem.squared_residuals(theta)
    share = 1.0 - problem.base.rank / max(problem.counts.sum(), problem.base.rank + 1)
    return np.sqrt(squares / np.maximum(problem.counts * share, 1.0))


def noise_level(problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
    """Torque noise to weigh joints by: their residuals, but no less than sensors have.

    Args:
        problem: The problem.
        theta: Fitted values, shape ``(p,)``.

    Returns:
        Shape ``(n,)``, above zero even for noise-free data and for joints without torque.
    """
    torque = problem.squared_residuals(np.zeros_like(theta))
    rms = np.sqrt(torque / np.maximum(problem.counts, 1))
    overall = np.sqrt(torque.sum() / max(problem.counts.sum(), 1))
    floor = np.maximum(_LEAST_NOISE * rms, _LEAST_SHARE * overall)
    return np.maximum(residual_deviation(problem, theta), np.where(floor > 0.0, floor, 1.0))


def effective_noise(problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
    """Noise levels, raised alike in all joints until the rows count as independent.

    Residuals of neighbouring rows resemble each other; weighing by this keeps a prior's
    strength the same whatever the sampling rate.

    Args:
        problem: The problem.
        theta: Fitted values, shape ``(p,)``.

    Returns:
        Shape ``(n,)``, at least :func:`noise_level`.
    """
    rows = effective_rows(problem.residuals(theta), problem.usable)
    return noise_level(problem, theta) * np.sqrt(problem.counts.sum() / rows.sum())
