"""Faults of stamps and sensors: found, mended where that is safe, and counted."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sysid_ros.errors import RecordingError

# A reset clock stays back; a single late message does not. Medians over so many
# messages on either side tell the two apart.
_RESET_WINDOW = 5

# More resets than this are not resets but two clocks on one topic.
_MAX_RESETS = 20

# A sensor that sticks or lets go in mid-motion bends the signal this much more
# sharply than the joint ever bends it by itself.
_STUCK_RATIO = 5.0
_STUCK_WINDOW = 5


def order_samples(t: np.ndarray, counts: Counter[str]) -> np.ndarray:
    """Indices that sort stamps; of equal stamps the first to arrive is kept.

    Args:
        t: Stamps in [s] in the order of arrival, shape ``(T,)``.
        counts: Updated with the stamps out of order and the repeated ones.

    Returns:
        Indices into ``t`` with strictly increasing stamps.
    """
    if not len(t):
        return np.empty(0, dtype=int)
    late = int(np.count_nonzero(t < np.maximum.accumulate(t)))
    order = np.argsort(t, kind='stable')
    first = np.concatenate([[True], np.diff(t[order]) > 0])
    repeated = int(np.count_nonzero(~first))
    if late:
        counts['stamps out of order sorted'] += late
    if repeated:
        counts['samples with a repeated stamp dropped'] += repeated
    return order[first]


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
    changes = np.flatnonzero(np.diff(values) != 0) + 1
    edges = np.concatenate([[0], changes, [len(values)]])
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[index]), int(edges[index + 1])) for index in long]


def stuck_runs(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Runs of bit-identical positions that only a stuck sensor explains.

    A joint at rest repeats its value too, but it comes to rest and leaves it
    smoothly. A run counts as stuck when the signal bends at one of its ends, as
    measured by the second difference over a few samples, several times more
    sharply than anywhere else and by more than a few encoder steps.

    Args:
        values: Positions of one joint, shape ``(T,)``.
        least: Shortest run that counts, in samples.

    Returns:
        Half-open index ranges.
    """
    runs = constant_runs(values, max(least, 2 * _STUCK_WINDOW))
    steps = np.abs(np.diff(values))
    moving = steps[steps > 0]
    if not runs or not len(moving) or len(values) < 4 * _STUCK_WINDOW:
        return []
    bend = np.zeros(len(values))
    w = _STUCK_WINDOW
    bend[w:-w] = np.abs(values[2 * w:] - 2 * values[w:-w] + values[:-2 * w])
    usual = bend.copy()
    for start, stop in runs:
        usual[max(start - w, 0):start + w] = 0
        usual[max(stop - w, 0):stop + w] = 0
    limit = max(_STUCK_RATIO * float(usual.max()), _STUCK_RATIO * float(moving.min()))
    return [
        (start, stop) for start, stop in runs
        if _sharpest(bend, start, w) > limit or _sharpest(bend, stop, w) > limit
    ]


def _sharpest(bend: np.ndarray, edge: int, window: int) -> float:
    return float(bend[max(edge - window, 0):edge + window].max(initial=0.0))
