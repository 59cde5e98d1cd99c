"""Short stretches in which something else than the drives moved the robot, by the residuals.

A knock, a hand on the robot, a glitch of the efforts: a model that explains the rest of a recording
misses such stretches by many times its noise, and they hold nearly all of its squared error. What a
model lacks, as friction where joints turn round, or a gain that changes with the load, shows all
over the recording, or where it moves or is loaded the most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.numerics.arrays import runs
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.signals import ParallelFilter

# Rows are looked at whose residuals are beyond so many spreads of their joint, and what is within
# so many seconds of them; rounds of leaving them out, and part of the rows that has to be left.
_BEYOND, _AROUND, _ROUNDS, _LEFT = 6.0, 0.1, 10, 0.5
# To begin with, rows beyond so many spreads are left out alone: a long disturbance draws a fit so
# far towards it that no row of it is beyond the above.
_OUTLYING = 3.0
# A stretch counts that holds so much of all squared residuals.
_HOLDS = 0.05
# Together they take at most this part of what was fitted, or of the shorter data to judge by, and
# there is one in so many seconds; they hold so much of the squared residuals; and with them the
# model misses a joint's torque by so much.
_SHORT, _SHORT_JUDGED, _RARE, _NEARLY_ALL, _MISSED = 0.15, 0.3, 3.0, 0.9, 0.02
# Nor do they move, or load, a joint by so many times what the rest does, and what any stretch of
# the rest that is as long does: what a model lacks shows in the fastest and most loaded motion.
_AS_THE_REST, _AS_ANY_STRETCH = 1.5, 1.2
# The median of the absolute value of a normal variable, in standard deviations.
_MEDIAN = 0.6745


@dataclass(frozen=True)
class Disturbances:
    """Short stretches that hold nearly all of the squared residuals.

    Attributes:
        stretches: Beginning and end of each in [s], by the stamps of the recording.
        time: Part of the rows that they take.
        squares: Part of the squared residuals that they hold, in units of the noise.
    """

    stretches: tuple[tuple[float, float], ...]
    time: float
    squares: float

    @property
    def line(self) -> str:
        """The line of settings that leaves them out."""
        return f'processing: {{leave_out: {[list(one) for one in self.leave_out]}}}'

    @property
    def spans(self) -> str:
        """When they are, in words."""
        return ' and '.join(f'{start:.6g} to {stop:.6g} s' for start, stop in self.leave_out)

    @property
    def leave_out(self) -> tuple[tuple[float, float], ...]:
        """The stretches in hundredths of a second, no shorter."""
        return tuple(
            (float(np.floor(100.0 * start)) / 100.0, float(np.ceil(100.0 * stop)) / 100.0)
            for start, stop in self.stretches)


def row_times(dataset: Dataset, parallel: ParallelFilter) -> np.ndarray:
    """Stamps of the rows that are made of a data set in [s], shape ``(T,)``.

    Args:
        dataset: Motion and torque.
        parallel: What decimates them.
    """
    return dataset.t[parallel.retained_samples(dataset.rate, dataset.segments)[0]]


def disturbances(problem: RegressionProblem, times: np.ndarray) -> Disturbances | None:
    """Short stretches of a recording that a model of the rest of it does not explain.

    Args:
        problem: Rows; its model is linear in its parameters.
        times: Stamps of the rows in [s], shape ``(T,)``.

    Returns:
        None where there are none, or where what is left unexplained is no short stretch.

    Raises:
        EstimationError: There are too few rows.
    """
    solver, undisturbed = WeightedLeastSquares(tolerance=1e-2), _without_outliers(problem)
    for _ in range(_ROUNDS):
        values, _, _ = solver.iterate(problem.restricted(undisturbed))
        before, undisturbed = undisturbed, ~_beyond(problem, values, undisturbed)
        if undisturbed.mean() < _LEFT:
            return None
        if (before == undisturbed).all():
            break
    return _beside(problem, values, undisturbed, times, _SHORT)


def unexplained(
    problem: RegressionProblem, values: np.ndarray, times: np.ndarray
) -> Disturbances | None:
    """Short stretches that a model found from other rows does not explain.

    Args:
        problem: Rows.
        values: Parameters of the model, shape ``(p,)``.
        times: Stamps of the rows in [s], shape ``(T,)``.
    """
    every = np.ones(len(times), dtype=bool)
    return _beside(problem, values, ~_beyond(problem, values, every), times, _SHORT_JUDGED)


def _beside(
    problem: RegressionProblem, values: np.ndarray, undisturbed: np.ndarray, times: np.ndarray,
    longest: float,
) -> Disturbances | None:
    """Short stretches beside the rows that a model explains.

    Args:
        problem: Rows.
        values: Parameters, shape ``(p,)``.
        undisturbed: Rows that the model explains, shape ``(T,)``.
        times: Stamps of the rows in [s], shape ``(T,)``.
        longest: Part of the rows that they take at most.
    """
    squares = _in_noise(problem, values, undisturbed) ** 2
    squares = squares.sum(axis=1) / max(float(squares.sum()), 1e-300)
    stretches = [
        (start, stop) for start, stop in runs(~undisturbed)
        if squares[start:stop].sum() > _HOLDS]
    inside = np.zeros(len(times), dtype=bool)
    for start, stop in stretches:
        inside[start:stop] = True
    seconds = len(times) / problem.rate
    held, time = float(squares[inside].sum()), float(inside.mean())
    if held < _NEARLY_ALL or time > longest or len(stretches) > max(seconds / _RARE, 1.0):
        return None
    if _moves_more(problem, values, stretches, inside) or not _missed(problem, values):
        return None
    return Disturbances(
        tuple((float(times[start]), float(times[stop - 1])) for start, stop in stretches),
        time, held)


def _without_outliers(problem: RegressionProblem) -> np.ndarray:
    """Rows within three spreads of a fit to themselves, ``(T,)``; all if half of them are not."""
    solver = WeightedLeastSquares(tolerance=1e-2)
    every = np.ones(len(problem.torque), dtype=bool)
    sound: np.ndarray = every
    for _ in range(_ROUNDS):
        values, _, _ = solver.iterate(problem.restricted(sound))
        before, sound = sound, np.all(
            _in_noise(problem, values, sound) <= _OUTLYING, axis=1)
        if sound.mean() < _LEFT:
            return every
        if (before == sound).all():
            break
    return sound


def _beyond(
    problem: RegressionProblem, values: np.ndarray, undisturbed: np.ndarray
) -> np.ndarray:
    """Rows that a model misses by far, and those beside them, shape ``(T,)``."""
    far = (_in_noise(problem, values, undisturbed) > _BEYOND).any(axis=1)
    around = max(round(_AROUND * problem.rate), 1)
    return np.asarray(np.convolve(far, np.ones(2 * around + 1), 'same') > 0.5)


def _in_noise(
    problem: RegressionProblem, values: np.ndarray, undisturbed: np.ndarray
) -> np.ndarray:
    """Absolute residuals in spreads of those of undisturbed rows, by joint, shape ``(T, n)``."""
    residual = np.where(problem.usable, np.abs(problem.residuals(values)), np.nan)
    told = undisturbed & problem.usable.any(axis=1)
    with np.errstate(divide='ignore', invalid='ignore'):
        spread = np.array([
            np.median(column[np.isfinite(column)]) if np.isfinite(column).any() else np.inf
            for column in residual[told].T]) / _MEDIAN
        return np.nan_to_num(residual / np.maximum(spread, 1e-12), nan=0.0)


def _moves_more(
    problem: RegressionProblem, values: np.ndarray, stretches: list[tuple[int, int]],
    inside: np.ndarray,
) -> bool:
    """Whether the model has more torque at a joint in a stretch than in all of the others."""
    predicted = np.where(problem.usable, problem.torque - problem.residuals(values), 0.0)
    rest = np.sqrt(np.mean(predicted[~inside]**2, axis=0))
    for start, stop in stretches:
        there = np.sqrt(np.mean(predicted[start:stop]**2, axis=0))
        most = _largest_elsewhere(predicted, inside, stop - start)
        if (there > np.maximum(_AS_THE_REST * rest, _AS_ANY_STRETCH * most)).any():
            return True
    return False


def _largest_elsewhere(torque: np.ndarray, inside: np.ndarray, length: int) -> np.ndarray:
    """Largest RMS of each joint's torque in stretches of so many rows outside, shape ``(n,)``."""
    sums = np.cumsum(np.vstack([np.zeros(torque.shape[1]), torque**2]), axis=0)
    taken = np.cumsum(np.concatenate([[0], inside]))
    free = taken[length:] == taken[:-length]
    squares = (sums[length:] - sums[:-length])[free]
    return np.sqrt(squares.max(axis=0, initial=0.0) / length)


def _missed(problem: RegressionProblem, values: np.ndarray) -> bool:
    """Whether the model misses the torque of a joint by enough to matter."""
    relative = residual_statistics(problem, values).relative_per_joint
    return bool((np.nan_to_num(relative) > _MISSED).any())
