"""What residuals look like: how they spread, how they repeat, and what they follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.joint_terms.terms import friction_fields
from sysid_ros.numerics.spectrum import welch

# Longest lag in [s] and in rows, and longest stretch of a periodogram in rows.
_LAG, _LAG_ROWS, _STRETCH = 2.0, 400, 512


def autocorrelation(
    residual: np.ndarray, usable: np.ndarray, segments: tuple[tuple[int, int], ...], rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Autocorrelation of a joint's residuals, rows that do not count left out.

    Args:
        residual: Residuals, shape ``(T,)``.
        usable: Which of them count, shape ``(T,)``.
        segments: Half-open ranges of rows without gaps.
        rate: Rows per second in [Hz].

    Returns:
        Lags in [s] and the correlation at each, NaN where no two rows are so far apart.
    """
    lags = max(min(int(_LAG * rate), _LAG_ROWS), 1) + 1
    products, pairs = np.zeros(lags), np.zeros(lags)
    mean = residual[usable].mean() if usable.any() else 0.0
    for start, stop in segments:
        counted = usable[start:stop].astype(float)
        values = np.where(usable[start:stop], residual[start:stop] - mean, 0.0)
        most = min(lags, stop - start)
        products[:most] += _correlated(values)[:most]
        pairs[:most] += _correlated(counted)[:most]
    with np.errstate(divide='ignore', invalid='ignore'):
        covariance = np.where(pairs > 0.5, products / pairs, np.nan)
        correlation = covariance / covariance[0]
    return np.arange(lags) / rate, correlation


def _correlated(values: np.ndarray) -> np.ndarray:
    """Sums of products at all lags, by the Wiener-Khinchin theorem."""
    spectrum = np.abs(np.fft.rfft(values, 2 * len(values))) ** 2
    return np.fft.irfft(spectrum, 2 * len(values))[:len(values)]


def amplitude_spectrum(
    values: np.ndarray, segments: tuple[tuple[int, int], ...], rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Square root of Welch's power spectral density of the longest segment.

    Args:
        values: Torques or residuals of one joint, shape ``(T,)``.
        segments: Half-open ranges of rows without gaps.
        rate: Rows per second in [Hz].

    Returns:
        Frequencies in [Hz] and amplitudes per √Hz; empty for segments of a few rows.
    """
    start, stop = max(segments, key=lambda each: each[1] - each[0])
    if stop - start < 16:
        return np.zeros(0), np.zeros(0)
    frequency, power = welch(values[start:stop], rate, min(_STRETCH, stop - start))
    return frequency[1:], np.sqrt(power[1:])


def motion_of_rows(problem: RegressionProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Positions, velocities and accelerations at the rows, shape ``(T, n)`` each.

    None where the motion is not in memory.
    """
    motion = problem.motion
    if motion is None:
        return None
    data = motion.dataset
    index, _ = motion.parallel_filter.retained_samples(data.rate, data.segments)
    if len(index) != len(problem.torque):
        return None
    return data.q[index], data.v[index], data.a[index]


def friction_laws(
    problem: RegressionProblem, values: np.ndarray, motion: tuple[np.ndarray, ...],
    rows: np.ndarray,
) -> np.ndarray | None:
    """Friction of every joint by its law at some rows in [N·m] or [N], shape ``(k, n)``.

    Args:
        problem: The rows.
        values: Parameters, shape ``(p,)``.
        motion: Positions, velocities and accelerations of the rows.
        rows: Which rows, shape ``(k,)``.

    Returns:
        None where no joint has friction, or loops mix the friction of several joints.
    """
    robot, names = problem.model.robot, problem.parameters.names
    first, fields = 10 * len(robot.body_names), friction_fields()
    own: list[Any] = [
        k for k, name in enumerate(names[first:])
        if name.rpartition('.')[2] in fields and name.rpartition('.')[0] in robot.joint_names]
    if robot.loops is not None or not own:
        return None
    q, v, a = (part[rows] for part in motion)
    columns = problem.model.at(values).term_regressor(q, v, a)
    return np.asarray(columns[:, :, own] @ values[[first + k for k in own]])
