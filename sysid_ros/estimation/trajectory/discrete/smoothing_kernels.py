"""Compiled: what a filter has made of a segment of motion, smoothed backwards.

References:
    Bryson and Frazier 1963, Smoothing for linear and nonlinear dynamic systems. Bierman 1973,
    Fixed interval smoothing with discrete measurements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import filtering_kernels, linearised_segment
from sysid_ros.estimation.trajectory.discrete.filtering_kernels import Filtered
from sysid_ros.estimation.trajectory.discrete.linearised_segment import (
    LinearisedSegment,
    step_along,
)
from sysid_ros.numerics import dense, inverses, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :data:`smooth_backwards`.
SOURCES = (compiled, dense, inverses, linearised_segment, filtering_kernels, tables)

# Sums may be reordered, but a value that is not a number must stay one.
_ENTRY, _PART = ENTRY | MAKES_ARRAYS, INSIDE | MAKES_ARRAYS


@njit(**_PART)
def _descend(
    segment: LinearisedSegment, filtered: Filtered, innovations: np.ndarray, between: np.ndarray,
    work: np.ndarray, slopes: np.ndarray,
) -> None:
    """Slopes of what comes after every node with its readings, shape ``(K + 1, 2 n)``."""
    whole, slope, before = slopes.shape[1], work[0], work[1]
    slope[:] = 0.0
    for k in range(len(segment.first_row) - 2, -1, -1):
        if k < len(segment.missing):
            before[:] = 0.0
            for r in range(segment.first_pair[k + 1] - 1, segment.first_pair[k] - 1, -1):
                row, factor, gain = segment.pairs[r], between[r], filtered.pair_gains[r]
                for j in range(whole):
                    factor -= (
                        gain[j] * before[j] + gain[whole + j] * slope[j]
                    ) / filtered.pair_variances[r]
                for j in range(whole):
                    before[j] += factor * row[j]
                    slope[j] += factor * row[whole + j]
            _turn_back(segment, k, slope, before)
            for j in range(whole):
                slope[j] = before[j]
        for j in range(whole):
            slopes[k, j] = slope[j]
        for r in range(segment.first_row[k + 1] - 1, segment.first_row[k] - 1, -1):
            factor = innovations[r]
            for j in range(whole):
                factor -= filtered.gains[r, j] * slope[j] / filtered.variances[r]
            for j in range(whole):
                slope[j] += factor * segment.rows[r, j]


@njit(**_PART)
def _turn_back(segment: LinearisedSegment, k: int, slope: np.ndarray, before: np.ndarray) -> None:
    """Add the slope by a state that the one by the next state makes."""
    for i in range(len(segment.weights)):
        p = i + 6 * (i // 6)
        both, row = slope[p] + slope[p + 6], segment.slopes[k, i]
        for j in range(len(before)):
            before[j] += both * row[j]
    for body in range(len(segment.weights) // 6):
        turn, p = segment.before[k, body], 12 * body + 3
        for c in range(3):
            before[12 * body + c] += slope[12 * body + c]
            before[p + c] -= (
                turn[0, c] * slope[p] + turn[1, c] * slope[p + 1] + turn[2, c] * slope[p + 2])


@njit(**_PART)
def _ascend(
    segment: LinearisedSegment, filtered: Filtered, choice: np.ndarray, work: np.ndarray,
    states: np.ndarray
) -> None:
    """States: what is expected of each, less its covariance times the slope of what comes after.

    These slopes are in ``states``, and replaced. Innovations are those of the mean as it is here:
    with those that were kept, rounding would grow as fast as an unstable motion does.
    """
    whole, last, mean, found = states.shape[1], len(choice) - 1, work[0], work[1]
    own = choice[last - (segment.slopes.shape[2] - whole):]
    for k in range(len(segment.first_row) - 1):
        for r in range(segment.first_row[k], segment.first_row[k + 1]):
            off = _innovation(segment.rows[r], mean, own, filtered.easing) / filtered.variances[r]
            for i in range(whole):
                mean[i] -= filtered.gains[r, i] * off
        state, covariance = states[k], filtered.covariances[k]
        for i in range(whole):
            total = mean[i]
            for j in range(whole):
                total -= covariance[i, j] * state[j]
            found[i] = total
        if k < len(segment.missing):
            _ascend_step(segment, filtered, k, own, mean, work[2], work[3])
        for i in range(whole):
            state[i] = found[i]


@njit(**_PART)
def _ascend_step(
    segment: LinearisedSegment, filtered: Filtered, k: int, own: np.ndarray, mean: np.ndarray,
    before: np.ndarray, after: np.ndarray,
) -> None:
    """The mean of the next state, with readings in between, in place."""
    whole, last = len(mean), len(own) - 1
    for i in range(whole):
        before[i] = mean[i]
    step_along(segment, k, mean, own[:last], own[last], after)
    for r in range(segment.first_pair[k], segment.first_pair[k + 1]):
        row, gain = segment.pairs[r], filtered.pair_gains[r]
        off = _innovation(row[whole:], mean, own, filtered.easing)
        for i in range(whole):
            off += row[i] * before[i]
        off /= filtered.pair_variances[r]
        for i in range(whole):
            before[i] -= gain[i] * off
            mean[i] -= gain[whole + i] * off


@njit(**_PART)
def _innovation(row: np.ndarray, mean: np.ndarray, own: np.ndarray, easing: float) -> float:
    """Innovation of a reading."""
    whole, last = len(mean), len(own) - 1
    total = easing * row[whole + last] * own[last]
    for i in range(whole):
        total += row[i] * mean[i]
    for j in range(last):
        total += row[whole + j] * own[j]
    return total


@njit(**_PART)
def _apply_weights(
    innovations: np.ndarray, variances: np.ndarray, choice: np.ndarray, weighed: np.ndarray
) -> None:
    """Innovations for a choice over their variances."""
    for r in range(len(weighed)):
        total = 0.0
        for c in range(len(choice)):
            total += innovations[r, c] * choice[c]
        weighed[r] = total / variances[r]


def _smoothing(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def smooth_backwards(
        segment: LinearisedSegment, start: np.ndarray, chosen: np.ndarray, filtered: Filtered,
        states: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        innovations, between = np.empty(len(segment.rows)), np.empty(len(segment.pairs))
        work = np.empty((4, len(start)))
        for m in range(len(chosen)):
            _apply_weights(filtered.innovations, filtered.variances, chosen[m], innovations)
            _apply_weights(filtered.pair_innovations, filtered.pair_variances, chosen[m], between)
            _descend(segment, filtered, innovations, between, work, states[m])
            for i in range(len(start)):
                work[0, i] = 0.0
                for c in range(chosen.shape[1]):
                    work[0, i] += start[i, c] * chosen[m, c]
            _ascend(segment, filtered, chosen[m], work, states[m])

    return smooth_backwards


#: States of a segment for w choices of (z, parameters, 1), shape ``(w, c)``, in units of the
#: segment, shape ``(w, K + 1, 2 n)``, from what :func:`filter_forwards` left behind.
smooth_backwards = _smoothing(digest(*SOURCES))
