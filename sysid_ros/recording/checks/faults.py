"""Faults of stamps and sensors: found, mended where that is safe, and counted."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.processing.resolution import resolution

# A reset clock stays back; a single late message does not. Medians over so many
# messages on either side tell the two apart.
_RESET_WINDOW = 5

# Samples are in the order in which they came where they bend less by this factor in it.
_SMOOTHER = 0.5

# More resets than this are not resets but two clocks on one topic.
_MAX_RESETS = 20

# A torque that repeats itself was frozen if it leaves its value by more than so many steps of its
# resolution; one of which more than this part repeats itself is a command that is held.
_STEPS, _HELD = 2.5, 0.9

# A stuck sensor shows by steps or bends so many times larger than motion makes them,
# looked at over a few samples.
_STUCK_RATIO = 5.0
_STUCK_WINDOW = 5


def order_samples(
    t: np.ndarray, values: np.ndarray, counts: Counter[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Order samples in time, and drop repeated stamps, of which the first is kept.

    Stamps are out of order for one of two reasons. Messages that overtook others have right stamps,
    and samples are sorted by them. Samples of one driver whose stamps jitter by more than its
    period came in the order in which they were taken: sorted by their stamps they would change
    places, so the stamps alone are sorted, and the k-th sample gets the k-th. Which it is the
    motion shows: it is smooth in the right order.

    Args:
        t: Stamps in [s] in the order of arrival, shape ``(T,)``.
        values: Samples, shape ``(T, n)``; columns that are not finite tell nothing.
        counts: Updated with the stamps out of order and the repeated ones.

    Returns:
        Rows of the samples in the right order, and their strictly increasing stamps.
    """
    if not len(t):
        return np.empty(0, dtype=int), t
    late = int(np.count_nonzero(t < np.maximum.accumulate(t)))
    rows = np.argsort(t, kind='stable')
    stamps = t[rows]
    if late and _smoother_as_they_came(values, rows):
        rows = np.arange(len(t))
        counts['stamps out of order, samples kept in the order of arrival'] += late
    elif late:
        counts['stamps out of order sorted'] += late
    first = np.concatenate([[True], np.diff(stamps) > 0])
    repeated = int(np.count_nonzero(~first))
    if repeated:
        counts['samples with a repeated stamp dropped'] += repeated
    return rows[first], stamps[first]


def _smoother_as_they_came(values: np.ndarray, order: np.ndarray) -> bool:
    """Whether samples bend less in the order of arrival than in another, where the two differ."""
    values = values[:, np.isfinite(values).all(axis=0)]
    moved = np.zeros(len(order), dtype=bool)
    for shift in (-1, 0, 1):
        moved |= np.roll(order != np.arange(len(order)), shift)
    at = np.flatnonzero(moved[1:-1])
    arrived, sorted_ = (
        float(np.linalg.norm(np.diff(rows, 2, axis=0)[at])) for rows in (values, values[order]))
    return arrived < _SMOOTHER * sorted_


def mend_clock(
    t: np.ndarray, arrival: np.ndarray, tolerance: float
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Shift what follows a reset of the clock, so that time goes on.

    The clock was reset where stamps jump back by more than the tolerance and
    stay back while the messages go on arriving. What follows is shifted by the
    time of arrival; nothing may be interpolated across the reset.

    Args:
        t: Stamps in [s] in the order of arrival, shape ``(T,)``.
        arrival: Times of arrival in [s], shape ``(T,)``.
        tolerance: Smaller jumps back are messages out of order, in [s].

    Returns:
        The mended stamps, and the last time before each reset.

    Raises:
        RecordingError: The clock jumps back again and again.
    """
    mended = t.astype(float).copy()
    breaks: list[float] = []
    start = 0
    while True:
        reset = _next_reset(mended, arrival, start, tolerance)
        if reset is None:
            return mended, tuple(breaks)
        before = float(mended[start:reset].max())
        step = max(float(arrival[reset] - arrival[reset - 1]), _typical_step(arrival))
        mended[reset:] += before + step - mended[reset]
        breaks.append(before)
        start = reset
        if len(breaks) > _MAX_RESETS:
            raise RecordingError(
                'the clock jumps back again and again', found=f'more than {_MAX_RESETS} times',
                fix='Check that only one publisher with one clock writes the topic',
            )


def _next_reset(
    t: np.ndarray, arrival: np.ndarray, start: int, tolerance: float
) -> int | None:
    segment = t[start:]
    behind = np.flatnonzero(segment < np.maximum.accumulate(segment) - tolerance)
    lag = t - arrival
    for index in behind + start:
        before = np.median(lag[max(index - _RESET_WINDOW, start):index])
        after = np.median(lag[index:index + _RESET_WINDOW])
        if after < before - tolerance:
            return int(index)
    return None


def _typical_step(arrival: np.ndarray) -> float:
    steps = np.diff(arrival)
    positive = steps[steps > 0]
    return float(np.median(positive)) if len(positive) else 1e-3


def constant_runs(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Half-open index ranges of at least ``least`` bit-identical samples in a row.

    Args:
        values: Samples of one joint, shape ``(T,)``.
        least: Shortest run that counts.
    """
    edges = run_edges(values)
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[index]), int(edges[index + 1])) for index in long]


def run_edges(values: np.ndarray) -> np.ndarray:
    """Where runs of bit-identical samples begin, and the end of the last, shape ``(R + 1,)``.

    Args:
        values: Samples of one joint, shape ``(T,)``.
    """
    changes = np.flatnonzero(np.diff(values) != 0) + 1
    return np.concatenate([[0], changes, [len(values)]])


def stuck_runs(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Runs of bit-identical positions that only a stuck sensor explains.

    A joint at rest repeats its value too. But it leaves rest with steps that
    grow, while a sensor that lets go jumps to where the joint has got to: by
    several times more than the steps that follow and than an encoder's step.
    A run that lasts to the end counts as stuck when it began in mid-motion, that
    is, when the position bends there several times more sharply than elsewhere.

    Args:
        values: Positions of one joint, shape ``(T,)``.
        least: Shortest run that counts, in samples.

    Returns:
        Half-open index ranges.
    """
    runs = constant_runs(values, max(least, 2 * _STUCK_WINDOW))
    steps = np.abs(np.diff(values))
    moving = steps[steps > 0]
    if not len(moving):
        return []
    grain = float(moving.min())
    return [
        (start, stop) for start, stop in runs
        if (_jumps_away(steps, stop, grain) if stop < len(values) else
            _stops_dead(values[:start + _STUCK_WINDOW], grain))
    ]


def frozen_torque_runs(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Runs of bit-identical torques that neither resolution nor a held command explains.

    A coarse current repeats its value, too, but leaves it by a step of its resolution; a
    controller that holds its command does so all the time.

    Args:
        values: Torques of one joint, shape ``(T,)``.
        least: Shortest run that counts, in samples.

    Returns:
        Half-open index ranges.
    """
    grain = resolution(values) or 0.0
    runs = [
        (start, stop) for start, stop in constant_runs(values, least)
        if _leap(values, start, stop) > _STEPS * grain]
    held = sum(stop - start for start, stop in runs)
    return [] if held > _HELD * len(values) else runs


def _leap(values: np.ndarray, start: int, stop: int) -> float:
    """By how much a run leaves its value, or came to it where it lasts to the end."""
    if stop < len(values):
        return float(abs(values[stop] - values[stop - 1]))
    return float(abs(values[start] - values[start - 1])) if start else np.inf


def _jumps_away(steps: np.ndarray, stop: int, grain: float) -> bool:
    following = float(steps[stop:stop + _STUCK_WINDOW].max(initial=0.0))
    return bool(steps[stop - 1] > _STUCK_RATIO * max(following, grain))


def _stops_dead(values: np.ndarray, grain: float) -> bool:
    w = _STUCK_WINDOW
    if len(values) < 6 * w:
        return False
    bend = np.abs(values[2 * w:] - 2 * values[w:-w] + values[:-2 * w])
    return bool(bend[-2 * w:].max() > _STUCK_RATIO * max(float(bend[:-2 * w].max()), grain))
