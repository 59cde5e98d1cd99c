r"""Compiled: the linearised residuals of a segment of motion, and what steps make of them.

Missing impulses tell the next state from the one before,

.. math:: \delta v_{k+1} = A x_k + A_\theta \theta - e_k, \qquad
          C\,\delta q_{k+1} = A x_k - B\,\delta q_k + A_\theta \theta - d_k,

up to noise whose size is one over what they weigh: A is the slope of a step of the solver, B and
C are those of the velocity between two poses, and e and d what is missing. Poses of node k are
counted in units of the velocity that leads to them, :math:`C_{k-1}\,\delta q_k`, so that noise is
alike everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.numerics import dense, inverses
from sysid_ros.numerics.inverses import invert_3
from sysid_ros.numerics.jit import CACHED, ENTRY, INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :func:`change_units`.
SOURCES = (dense, inverses)
# Sums may be reordered, but a value that is not a number must stay one.
_COMPILED = CACHED | MAKES_ARRAYS


class LinearisedSegment(NamedTuple):
    """Linearised residuals of K steps of b bodies with p parameters; n = 6 b.

    Attributes:
        weights: What the parts of a missing impulse weigh, shape ``(n,)``.
        missing: Weighted missing impulses, of velocities, then of poses, shape ``(K, 2 n)``.
        slopes: A and its part by parameters, shape ``(K, n, 2 n + p)``.
        before: The angular part of B, shape ``(K, b, 3, 3)``.
        units: From angular parts of poses as they are counted here to rotation vectors, for
            every node, shape ``(K + 1, b, 3, 3)``.
        first_row: Of every node its first row of readings, and the number of all, ``(K + 2,)``.
        rows: Derivatives of weighted readings by state and parameters, and their residuals,
            shape ``(R, 2 n + p + 1)``.
        first_pair: The same of readings between a node and the next, shape ``(K + 1,)``.
        pairs: By both states, ``(S, 4 n + p + 1)``.
    """

    weights: np.ndarray
    missing: np.ndarray
    slopes: np.ndarray
    before: np.ndarray
    units: np.ndarray
    first_row: np.ndarray
    rows: np.ndarray
    first_pair: np.ndarray
    pairs: np.ndarray


@njit(**INSIDE)
def _change_units(h: float, turns: np.ndarray, segment: LinearisedSegment) -> None:
    """Count poses in units of the velocity that leads to them, in place.

    Args:
        h: Time between nodes in [s].
        turns: Derivatives of the angular velocity between poses by the rotation before and
            after, shape ``(K, 2, b, 3, 3)``.
        segment: Slopes and rows by poses in [m] and [rad]; these are changed, ``before`` and
            ``units`` filled.
    """
    steps, bodies = segment.before.shape[:2]
    for k in range(steps + 1):
        for body in range(bodies):
            unit = segment.units[k, body]
            if k == 0:
                unit[:] = 0.0
                for c in range(3):
                    unit[c, c] = h
            else:
                invert_3(turns[k - 1, 1, body], unit)
                _scale(h, unit, 12 * (bodies + body), segment.pairs[
                    segment.first_pair[k - 1]:segment.first_pair[k]])
            _scale(h, unit, 12 * body, segment.rows[segment.first_row[k]:segment.first_row[k + 1]])
            if k < steps:
                _scale(h, unit, 12 * body, segment.pairs[
                    segment.first_pair[k]:segment.first_pair[k + 1]])
                _scale(h, unit, 12 * body, segment.slopes[k])
                for r in range(3):
                    for c in range(3):
                        segment.before[k, body, r, c] = (
                            turns[k, 0, body, r, 0] * unit[0, c]
                            + turns[k, 0, body, r, 1] * unit[1, c]
                            + turns[k, 0, body, r, 2] * unit[2, c])


def _compiled(sources: str) -> Callable[..., None]:
    """The change of units as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def change_units(h: float, turns: np.ndarray, segment: LinearisedSegment) -> None:
        sources  # noqa: B018
        _change_units(h, turns, segment)

    return change_units


#: See :func:`_change_units`.
change_units = _compiled(digest(*SOURCES))


@njit(**INSIDE)
def _scale(h: float, unit: np.ndarray, first: int, rows: np.ndarray) -> None:
    """Derivatives by a body's pose in its units, in place."""
    for r in range(len(rows)):
        for c in range(3):
            rows[r, first + c] *= h
        x, y, z = rows[r, first + 3], rows[r, first + 4], rows[r, first + 5]
        for c in range(3):
            rows[r, first + 3 + c] = x * unit[0, c] + y * unit[1, c] + z * unit[2, c]


@njit(**_COMPILED)
def step_along(
    segment: LinearisedSegment, k: int, mean: np.ndarray, moved: np.ndarray, one: float,
    after: np.ndarray
) -> None:
    """The state that a step leads to without noise, in place; ``one`` is 0 for its slope."""
    n, whole = len(segment.weights), len(mean)
    for i in range(n):
        p, weight, row, total = i + 6 * (i // 6), segment.weights[i], segment.slopes[k, i], 0.0
        for j in range(whole):
            total += row[j] * mean[j]
        for j in range(len(moved)):
            total += row[whole + j] * moved[j]
        after[p + 6] = total - one * segment.missing[k, i] / weight
        after[p] = total - _turned(segment.before[k], i, mean) - (
            one * segment.missing[k, n + i] / weight)
    for j in range(whole):
        mean[j] = after[j]


@njit(**_COMPILED)
def _turned(before: np.ndarray, i: int, state: np.ndarray) -> float:
    """One number of B times a state."""
    body, c = i // 6, i % 6
    if c < 3:
        return -state[12 * body + c]
    p = 12 * body + 3
    return (
        before[body, c - 3, 0] * state[p] + before[body, c - 3, 1] * state[p + 1]
        + before[body, c - 3, 2] * state[p + 2])


@njit(**_COMPILED)
def _left(
    segment: LinearisedSegment, k: int, here: np.ndarray, after: np.ndarray, moved: np.ndarray,
    one: float, work: np.ndarray, left: np.ndarray,
) -> None:
    """Weighted missing impulses after steps of two states, shape ``(2 n,)``, or their change."""
    n, mean, ahead = len(segment.weights), work[0], work[1]
    for j in range(2 * n):
        mean[j] = here[j]
    step_along(segment, k, mean, moved, one, ahead)
    for i in range(n):
        p = i + 6 * (i // 6)
        left[i] = segment.weights[i] * (after[p + 6] - mean[p + 6])
        left[n + i] = segment.weights[i] * (after[p] - mean[p])


@njit(**_COMPILED)
def _read(row: np.ndarray, state: np.ndarray, moved: np.ndarray) -> float:
    """What a reading changes by."""
    total = 0.0
    for j in range(len(state)):
        total += row[j] * state[j]
    for j in range(len(moved)):
        total += row[len(state) + j] * moved[j]
    return total


@njit(**_COMPILED)
def _read_pair(
    row: np.ndarray, here: np.ndarray, after: np.ndarray, moved: np.ndarray
) -> float:
    """What a reading between two nodes changes by."""
    total = 0.0
    for j in range(len(here)):
        total += row[j] * here[j]
    return total + _read(row[len(here):], after, moved)


@njit(**_COMPILED)
def cost_after(segment: LinearisedSegment, states: np.ndarray, moved: np.ndarray) -> float:
    """Half the squares of the residuals of a segment after a step, if all is linear.

    Args:
        segment: The segment.
        states: Step of the states in units of the segment, shape ``(K + 1, 2 n)``.
        moved: Step of the parameters, shape ``(p,)``.
    """
    total, whole, last = 0.0, states.shape[1], segment.rows.shape[1] - 1
    work, left = np.empty((2, whole)), np.empty(whole)
    for k in range(len(states)):
        for r in range(segment.first_row[k], segment.first_row[k + 1]):
            rest = _read(segment.rows[r], states[k], moved) + segment.rows[r, last]
            total += rest * rest
        if k < len(segment.missing):
            for r in range(segment.first_pair[k], segment.first_pair[k + 1]):
                rest = _read_pair(segment.pairs[r], states[k], states[k + 1], moved)
                rest += segment.pairs[r, whole + last]
                total += rest * rest
            _left(segment, k, states[k], states[k + 1], moved, 1.0, work, left)
            for j in range(whole):
                total += left[j] * left[j]
    return 0.5 * total


@njit(**_COMPILED)
def add_scores(segment: LinearisedSegment, states: np.ndarray, scores: np.ndarray) -> None:
    """Add each node's share of the gradient by the parameters, the states adapted to them.

    Args:
        segment: The segment.
        states: How states follow the parameters, in units of the segment, ``(p, K + 1, 2 n)``.
        scores: Is added to, shape ``(K + 1, p)``.
    """
    count, whole, last = len(states), states.shape[2], segment.rows.shape[1] - 1
    work, left, moved = np.empty((2, whole)), np.empty(whole), np.zeros(count)
    for m in range(count):
        moved[:] = 0.0
        moved[m] = 1.0
        for k in range(states.shape[1]):
            for r in range(segment.first_row[k], segment.first_row[k + 1]):
                scores[k, m] += segment.rows[r, last] * _read(segment.rows[r], states[m, k], moved)
            if k < len(segment.missing):
                for r in range(segment.first_pair[k], segment.first_pair[k + 1]):
                    scores[k, m] += segment.pairs[r, whole + last] * _read_pair(
                        segment.pairs[r], states[m, k], states[m, k + 1], moved)
                _left(segment, k, states[m, k], states[m, k + 1], moved, 0.0, work, left)
                for j in range(whole):
                    scores[k, m] += segment.missing[k, j] * left[j]


@njit(**_COMPILED)
def steepest(
    segment: LinearisedSegment, first: np.ndarray, gradient: np.ndarray, curvature: np.ndarray
) -> float:
    """Largest slope of the cost by a state over the root of its curvature.

    Args:
        segment: The segment.
        first: Gradient and curvature of what else there is of the first state, ``(2, 2 n)``.
        gradient: That by the parameters is added to, shape ``(p,)``.
        curvature: That by the parameters is added to.
    """
    n, whole, largest = len(segment.weights), first.shape[1], 0.0
    here, after, own = first.copy(), np.zeros((2, whole)), np.zeros((2, len(gradient)))
    for k in range(len(segment.first_row) - 1):
        after[:] = 0.0
        for r in range(segment.first_row[k], segment.first_row[k + 1]):
            value = segment.rows[r, -1]
            _slope_of_row(value, segment.rows[r], 0, here)
            _slope_of_row(value, segment.rows[r], whole, own)
        if k < len(segment.missing):
            for r in range(segment.first_pair[k], segment.first_pair[k + 1]):
                value = segment.pairs[r, -1]
                _slope_of_row(value, segment.pairs[r], 0, here)
                _slope_of_row(value, segment.pairs[r], whole, after)
                _slope_of_row(value, segment.pairs[r], 2 * whole, own)
            for i in range(n):
                _slope_of_step(segment, k, i, here, after, own)
        for j in range(whole):
            if here[1, j] > 0.0:
                largest = max(largest, np.abs(here[0, j]) / np.sqrt(here[1, j]))
            here[0, j], here[1, j] = after[0, j], after[1, j]
    for j in range(len(gradient)):
        gradient[j] += own[0, j]
        curvature[j] += own[1, j]
    return largest


@njit(**_COMPILED)
def _slope_of_row(value: float, row: np.ndarray, first: int, target: np.ndarray) -> None:
    """Add what a reading does to slopes and curvatures."""
    for j in range(target.shape[1]):
        target[0, j] += value * row[first + j]
        target[1, j] += row[first + j] * row[first + j]


@njit(**_COMPILED)
def _slope_of_step(
    segment: LinearisedSegment, k: int, i: int, here: np.ndarray, after: np.ndarray, own: np.ndarray
) -> None:
    """Add what one number of both missing impulses of a step does to slopes and curvatures."""
    n, whole, row = len(segment.weights), here.shape[1], segment.slopes[k, i]
    w, p = segment.weights[i], i + 6 * (i // 6)
    speed, pose = w * segment.missing[k, i], w * segment.missing[k, n + i]
    after[0, p + 6] += speed
    after[1, p + 6] += w * w
    after[0, p] += pose
    after[1, p] += w * w
    for j in range(whole):
        here[0, j] -= (speed + pose) * row[j]
        here[1, j] += 2.0 * w * w * row[j] * row[j]
    for j in range(own.shape[1]):
        own[0, j] -= (speed + pose) * row[whole + j]
        own[1, j] += 2.0 * w * w * row[whole + j] * row[whole + j]
    for t in range(1 if i % 6 < 3 else 3):
        column, turn = p, -1.0
        if i % 6 >= 3:
            column, turn = 12 * (i // 6) + 3 + t, segment.before[k, i // 6, i % 6 - 3, t]
        here[0, column] += pose * turn
        here[1, column] += w * w * turn * (turn - 2.0 * row[column])


@njit(**_COMPILED)
def to_steps(h: float, segment: LinearisedSegment, states: np.ndarray) -> None:
    """Steps of states in units of a segment, ``(K + 1, 2 n)``, to [m] and [rad], in place."""
    for k in range(len(states)):
        for body in range(states.shape[1] // 12):
            unit, first = segment.units[k, body], 12 * body
            for c in range(3):
                states[k, first + c] *= h
            x, y, z = states[k, first + 3], states[k, first + 4], states[k, first + 5]
            for c in range(3):
                states[k, first + 3 + c] = unit[c, 0] * x + unit[c, 1] * y + unit[c, 2] * z
