r"""Compiled: the linearised motion of a segment, filtered forwards.

The Gauss-Newton step of all states is what a Kalman filter and a smoother find, with covariances
of one state, where normal equations would need products of the slopes of all. What is unknown
besides (the free part z of the first state, the parameters) is carried along in columns: means
are linear in :math:`(z, \theta, 1)`, and squared innovations add up to what the motion tells of
z and the parameters once all states are adapted to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import linearised_segment
from sysid_ros.estimation.trajectory.discrete.linearised_segment import LinearisedSegment
from sysid_ros.numerics import dense, inverses, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest
from sysid_ros.numerics.tables import copy_table

#: Files that are compiled into :data:`filter_forwards`.
SOURCES = (compiled, dense, inverses, linearised_segment, tables)

# Sums may be reordered, but a value that is not a number must stay one.
_ENTRY, _PART = ENTRY | MAKES_ARRAYS, INSIDE | MAKES_ARRAYS


class Filtered(NamedTuple):
    """What a filter leaves behind; c columns belong to (z, parameters, 1).

    Attributes:
        easing: Variance of a reading that weighs one; below one where steps are to be short.
        covariances: Of every node's state with all its readings, shape ``(K + 1, 2 n, 2 n)``.
        gains: Of every reading, times its variance, shape ``(R, 2 n)``.
        variances: Of every innovation, shape ``(R,)``.
        innovations: Shape ``(R, c)``.
        pair_gains: The same of readings between nodes, of both states, shape ``(S, 4 n)``.
        pair_variances: Of readings between nodes, shape ``(S,)``.
        pair_innovations: Of readings between nodes, shape ``(S, c)``.
        information: Sum of squared innovations, upper triangle, shape ``(c, c)``.
    """

    easing: float
    covariances: np.ndarray
    gains: np.ndarray
    variances: np.ndarray
    innovations: np.ndarray
    pair_gains: np.ndarray
    pair_variances: np.ndarray
    pair_innovations: np.ndarray
    information: np.ndarray


@njit(**_PART)
def _measure(
    row: np.ndarray, covariance: np.ndarray, mean: np.ndarray, r: int, filtered: Filtered
) -> None:
    """Take in a reading."""
    whole, count = mean.shape
    own = len(row) - 1 - whole
    gain, innovation, information = (
        filtered.gains[r], filtered.innovations[r], filtered.information)
    gain[:] = 0.0
    innovation[:] = 0.0
    for j in range(own):
        innovation[count - 1 - own + j] = row[whole + j]
    innovation[count - 1] = filtered.easing * row[whole + own]
    for i in range(whole):
        factor = row[i]
        if factor != 0.0:
            for j in range(whole):
                gain[j] += factor * covariance[i, j]
            for j in range(count):
                innovation[j] += factor * mean[i, j]
    variance = filtered.easing
    for i in range(whole):
        variance += row[i] * gain[i]
    filtered.variances[r] = variance
    for i in range(whole):
        factor = gain[i] / variance
        if factor != 0.0:
            for j in range(whole):
                covariance[i, j] -= factor * gain[j]
            for j in range(count):
                mean[i, j] -= factor * innovation[j]
    for i in range(count):
        factor = innovation[i] / variance
        for j in range(i, count):
            information[i, j] += factor * innovation[j]


@njit(**_PART)
def _relate(work: np.ndarray, relation: np.ndarray) -> None:
    """Covariance of a state with the next one, from products that its spread has left."""
    for j in range(work.shape[1]):
        p = j + 6 * (j // 6)
        for i in range(work.shape[2]):
            relation[i, p + 6] = work[0, j, i]
            relation[i, p] = work[0, j, i] - work[1, j, i]


@njit(**_PART)
def _measure_pair(
    row: np.ndarray, joint: np.ndarray, after: np.ndarray, before: np.ndarray, mean: np.ndarray,
    r: int, filtered: Filtered,
) -> None:
    """Take in a reading between two nodes.

    Args:
        row: Its derivatives by both, shape ``(4 n + p + 1,)``.
        joint: Covariance of the first state, and with the second one, shape ``(2, 2 n, 2 n)``.
        after: Covariance of the second one.
        before: Mean of the first one.
        mean: And of the second one.
        r: Number of the reading.
        filtered: Its parts are filled.
    """
    whole, count = mean.shape
    own = len(row) - 1 - 2 * whole
    gain, innovation = filtered.pair_gains[r], filtered.pair_innovations[r]
    gain[:] = 0.0
    innovation[:] = 0.0
    for j in range(own):
        innovation[count - 1 - own + j] = row[2 * whole + j]
    innovation[count - 1] = filtered.easing * row[2 * whole + own]
    for i in range(whole):
        one, other = row[i], row[whole + i]
        for j in range(whole):
            gain[j] += one * joint[0, i, j] + other * joint[1, j, i]
            gain[whole + j] += one * joint[1, i, j] + other * after[i, j]
        for j in range(count):
            innovation[j] += one * before[i, j] + other * mean[i, j]
    variance = filtered.easing
    for i in range(2 * whole):
        variance += row[i] * gain[i]
    filtered.pair_variances[r] = variance
    for i in range(whole):
        one, other = gain[i] / variance, gain[whole + i] / variance
        for j in range(whole):
            joint[0, i, j] -= one * gain[j]
            joint[1, i, j] -= one * gain[whole + j]
            after[i, j] -= other * gain[whole + j]
        for j in range(count):
            before[i, j] -= one * innovation[j]
            mean[i, j] -= other * innovation[j]
    for i in range(count):
        factor = innovation[i] / variance
        for j in range(i, count):
            filtered.information[i, j] += factor * innovation[j]


@njit(**_PART)
def _spread(
    slopes: np.ndarray, before: np.ndarray, weights: np.ndarray, here: np.ndarray,
    work: np.ndarray, square: np.ndarray, after: np.ndarray,
) -> None:
    """Covariance of the next state.

    Args:
        slopes: A, shape ``(n, 2 n + p)``.
        before: Angular part of B, shape ``(b, 3, 3)``.
        weights: Of missing impulses, shape ``(n,)``.
        here: Covariance of the state, shape ``(2 n, 2 n)``.
        work: Workspace, shape ``(2, n, 2 n)``.
        square: Workspace, shape ``(3, n, n)``.
        after: Is filled, shape ``(2 n, 2 n)``.
    """
    n = len(weights)
    _times(slopes, here, work[0])
    _before(before, here, work[1])
    both, turned, behind = square[0], square[1], square[2]
    for i in range(n):
        u = work[0, i]
        for j in range(i, n):
            v, total = slopes[j], 0.0
            for m in range(2 * n):
                total += u[m] * v[m]
            both[i, j], both[j, i] = total, total
    # B times covariances with A's rows, and with its own.
    for body in range(n // 6):
        first, pose = 6 * body, 12 * body
        for j in range(n):
            u, v = work[0, j], work[1, j]
            for c in range(3):
                turned[first + c, j], behind[first + c, j] = -u[pose + c], -v[pose + c]
                x, y, z = before[body, c, 0], before[body, c, 1], before[body, c, 2]
                turned[first + 3 + c, j] = x * u[pose + 3] + y * u[pose + 4] + z * u[pose + 5]
                behind[first + 3 + c, j] = x * v[pose + 3] + y * v[pose + 4] + z * v[pose + 5]
    for i in range(n):
        p = i + 6 * (i // 6)
        for j in range(n):
            q = j + 6 * (j // 6)
            half = both[i, j] - turned[i, j]
            after[p + 6, q + 6] = both[i, j]
            after[p, q + 6], after[q + 6, p] = half, half
            after[p, q] = half - turned[j, i] + behind[i, j]
        noise = 1.0 / (weights[i] * weights[i])
        after[p, p] += noise
        after[p + 6, p + 6] += noise


@njit(**_PART)
def _times(slopes: np.ndarray, right: np.ndarray, product: np.ndarray) -> None:
    """A times the rows of a state, which are a multiple of four."""
    for i in range(len(slopes)):
        row, target = slopes[i], product[i]
        target[:] = 0.0
        for j in range(0, len(right), 4):
            a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
            u, v, w, x = right[j], right[j + 1], right[j + 2], right[j + 3]
            for m in range(len(target)):
                target[m] += a * u[m] + b * v[m] + c * w[m] + d * x[m]


@njit(**_PART)
def _before(before: np.ndarray, right: np.ndarray, product: np.ndarray) -> None:
    """B times the rows of a state."""
    for body in range(len(before)):
        for c in range(3):
            target, other = product[6 * body + c], product[6 * body + 3 + c]
            here = right[12 * body + c]
            u, v, w = right[12 * body + 3], right[12 * body + 4], right[12 * body + 5]
            x, y, z = before[body, c, 0], before[body, c, 1], before[body, c, 2]
            for m in range(right.shape[1]):
                target[m] = -here[m]
                other[m] = x * u[m] + y * v[m] + z * w[m]


@njit(**_PART)
def _advance(segment: LinearisedSegment, k: int, mean: np.ndarray, ahead: np.ndarray) -> None:
    """Mean of the next state, in place."""
    n, whole, count = len(segment.weights), mean.shape[0], mean.shape[1]
    own = segment.slopes.shape[2] - whole
    _times(segment.slopes[k], mean, ahead[0])
    _before(segment.before[k], mean, ahead[1])
    for i in range(n):
        p, weight = i + 6 * (i // 6), segment.weights[i]
        for j in range(own):
            ahead[0, i, count - 1 - own + j] += segment.slopes[k, i, whole + j]
        for j in range(count):
            mean[p + 6, j] = ahead[0, i, j]
            mean[p, j] = ahead[0, i, j] - ahead[1, i, j]
        mean[p + 6, count - 1] -= segment.missing[k, i] / weight
        mean[p, count - 1] -= segment.missing[k, n + i] / weight


def _filtering(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def filter_forwards(segment: LinearisedSegment, start: np.ndarray, filtered: Filtered) -> None:
        sources  # noqa: B018
        whole, count = start.shape
        n, mean, before = whole // 2, start.copy(), np.empty((whole, count))
        work, square = np.empty((2, n, whole)), np.empty((3, n, n))
        ahead, joint = np.empty((2, n, count)), np.empty((2, whole, whole))
        for k in range(len(segment.first_row) - 1):
            here = filtered.covariances[k]
            for r in range(segment.first_row[k], segment.first_row[k + 1]):
                _measure(segment.rows[r], here, mean, r, filtered)
            if k == len(segment.missing):
                break
            after = filtered.covariances[k + 1]
            _spread(segment.slopes[k], segment.before[k], segment.weights, here, work, square,
                after)
            if segment.first_pair[k + 1] > segment.first_pair[k]:
                copy_table(mean, before)
                copy_table(here, joint[0])
                _relate(work, joint[1])
            _advance(segment, k, mean, ahead)
            for r in range(segment.first_pair[k], segment.first_pair[k + 1]):
                _measure_pair(segment.pairs[r], joint, after, before, mean, r, filtered)

    return filter_forwards


#: Filters a segment, from the segment, means of the first state, column by column, shape
#: ``(2 n, c)``, and what is to be filled: the first covariance is what is known of the first
#: state, the information is added to.
filter_forwards = _filtering(digest(*SOURCES))
