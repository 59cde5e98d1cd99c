"""Uniform clocks over what all channels cover, and samples taken on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

Interval = tuple[float, float]

# Stamps this close to a uniform clock, in periods, need no interpolation.
UNIFORM = 1e-6

# The ends of an interval may miss the clock by this part of a period.
_CLOCK_TOLERANCE = 1e-3

# Steps over which jitter averages out, and samples of a median that late ones do not move.
_STRETCH = 50
# Half of the steps are that near their median, in parts of it, where it is a period.
_ALIKE = 0.25
# Both ways to count agree to so much, and a sample is missed of every stretch from there on.
_AGREES, _MISSED = 0.004, 0.02
_MEDIAN = 51

# Frequencies of a clock that are tried, on either side and per 1 / duration; on how many stamps at
# first; and least length of the mean phasor at which stamps have a phase: that of a jitter even
# over 0.85 periods.
_REACH, _OVERSAMPLING, _FIRST = 24, 8, 2000
# So many stamps tell a clock from the others that are off by at most this part of it.
_FEW, _WIDE = 500, 0.12
_CROWDED = 0.15

# A spline needs four samples.
_SPLINE_SAMPLES = 4


def mean_period(t: np.ndarray) -> float:
    """Sampling period in [s], whatever the jitter and however rarely samples are missing.

    It is the median over all stretches of up to fifty steps, so that jitter averages out and the
    stretches with a missing sample do not count. Where samples are missing all the time every
    stretch is too long, and the median of single steps holds, unless these are of any length: next
    to it lies the clock that the stamps follow, if one stands out.

    Args:
        t: Stamps, strictly increasing, shape ``(T,)``, at least two.
    """
    steps = np.diff(t)
    median = float(np.median(steps))
    stretch = min(_STRETCH, max(len(t) // 4, 1))
    slope = float(np.median(t[stretch:] - t[:-stretch])) / stretch
    told = float(np.median(np.abs(steps - median))) < _ALIKE * median
    if not told or abs(slope / median - 1) < _AGREES:
        return slope
    passed, usual = t[:4 * _FEW] - t[0], 1.0 / median
    seconds = float(passed[:_FEW][-1])
    reach = int(np.ceil(_WIDE * usual * _OVERSAMPLING * seconds))
    frequency = _clock_followed(passed, usual, _FEW, reach)
    if frequency is not None:
        return 1.0 / frequency
    return slope if abs(slope / median - 1) < _MISSED else median


def covered(t: np.ndarray, longest: float, breaks: Iterable[float]) -> list[Interval]:
    """Time intervals without a gap.

    Args:
        t: Stamps in [s], strictly increasing, shape ``(T,)``.
        longest: Longest step in [s] that is not a gap.
        breaks: Times in [s] that no interval may cross.

    Returns:
        Closed intervals between the first and last samples of gap-free stretches.
    """
    if not len(t):
        return []
    last = np.diff(t) > longest
    ends = np.searchsorted(t, np.array(sorted(breaks)), side='right') - 1
    last[[end for end in ends if 0 <= end < len(last)]] = True
    stops = np.flatnonzero(last)
    starts = np.concatenate([[0], stops + 1])
    return [
        (float(t[start]), float(t[stop]))
        for start, stop in zip(starts, [*stops, len(t) - 1], strict=True) if stop > start
    ]


def intersect(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """Intervals that lie in both lists; each list is sorted and disjoint."""
    common: list[Interval] = []
    i = j = 0
    while i < len(first) and j < len(second):
        start, stop = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < stop:
            common.append((start, stop))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return common


def clock(interval: Interval, rate: float, anchor: float | None = None) -> np.ndarray:
    """Uniform stamps within an interval, shape ``(T,)``.

    Args:
        interval: First and last time in [s].
        rate: Stamps per second.
        anchor: A time in [s] from which the clock counts; the interval's beginning where left
            out.
    """
    start = interval[0] if anchor is None else anchor
    first = int(np.ceil((interval[0] - start) * rate - _CLOCK_TOLERANCE))
    last = int(np.floor((interval[1] - start) * rate + _CLOCK_TOLERANCE))
    return start + np.arange(first, last + 1) / rate


def even_stamps(t: np.ndarray, period: float, intervals: Sequence[Interval]) -> np.ndarray:
    """Stamps of evenly taken samples whose own stamps jitter.

    Every sample is numbered by its distance in periods, and each gap-free
    interval gets the straight line that fits its stamps best.

    Args:
        t: Jittering stamps in [s], strictly increasing, shape ``(T,)``.
        period: Sampling period in [s].
        intervals: Gap-free intervals, as from :func:`covered`.

    Returns:
        Even stamps, shape ``(T,)``; samples outside the intervals keep theirs.
    """
    even = t.astype(float).copy()
    for start, stop in intervals:
        rows = slice(*np.searchsorted(t, (start, np.nextafter(stop, np.inf))))
        own = t[rows]
        number = np.arange(len(own))
        # One stamp early and one late may hide that a sample is missing between them.
        late = (own - _line(number, own)) / period
        if round((own[-1] - own[0]) / period) != len(own) - 1 or np.ptp(late) > 1.0:
            number = _numbered(own, period)
        even[rows] = _line(number, own)
    return even


def _numbered(t: np.ndarray, period: float) -> np.ndarray:
    """Numbers of samples some of which are missing."""
    number = _numbered_by_phase(t, period)
    return _numbered_by_lag(t, period) if number is None else number


def _numbered_by_phase(t: np.ndarray, period: float) -> np.ndarray | None:
    """Numbers by the nearest tick of the clock that stamps follow best.

    Stamps that jitter by less than a period crowd around one phase of it, whether samples are
    missing or not: the clock is the frequency near 1 / period with the longest mean phasor. It is
    found on the first stamps, and then on ever more of them.

    Returns:
        None where no clock stands out, or two stamps would be the same sample.
    """
    passed = t - t[0]
    frequency = _clock_followed(passed, 1.0 / period, _FIRST, _REACH)
    if frequency is None:
        return None
    phase = np.angle(np.exp(2j * np.pi * frequency * passed).mean()) / (2.0 * np.pi)
    number = np.rint(frequency * passed - phase)
    return number - number[0] if (np.diff(number) >= 1.0).all() else None


def _clock_followed(
    passed: np.ndarray, frequency: float, count: int, reach: int
) -> float | None:
    """The clock that stamps follow, by the first ones and then by ever more, in [Hz], or None.

    Args:
        passed: Stamps in [s] since the first, shape ``(T,)``.
        frequency: About where to look, in [Hz].
        count: How many stamps to begin with.
        reach: How many steps of the first search to go to either side.
    """
    while True:
        found = _clock_near(passed[:count], frequency, reach)
        if found is None or count >= len(passed):
            return found
        frequency, count, reach = found, 4 * count, _REACH // 3


def _clock_near(t: np.ndarray, frequency: float, reach: int) -> float | None:
    """The frequency with the longest mean phasor of stamps, in [Hz]; None where none stands out.

    Args:
        t: Stamps in [s] since the first, shape ``(T,)``.
        frequency: About where to look, in [Hz].
        reach: How many steps of the search to go to either side.
    """
    step = 1.0 / (_OVERSAMPLING * t[-1])
    tried = frequency + step * np.arange(-reach, reach + 1)
    lengths = np.abs([np.exp(2j * np.pi * f * t).mean() for f in tried])
    best = int(lengths.argmax())
    if lengths[best] < _CROWDED or not 0 < best < 2 * reach:
        return None
    # Between three frequencies the length is a parabola.
    before, at, after = lengths[best - 1:best + 2]
    return float(tried[best] + 0.5 * step * (before - after) / (before - 2.0 * at + after))


def _numbered_by_lag(t: np.ndarray, period: float) -> np.ndarray:
    """Numbers by how far samples lag behind an even clock, where some are late by periods.

    A late sample is late alone, but after a missing one all are: a running median
    of the lag behind an even clock ignores the first and jumps at the second.
    """
    # Most of a second to import, and rarely needed.
    from scipy.ndimage import median_filter
    from scipy.signal import find_peaks

    lag = (t - t[0]) / period - np.arange(len(t))
    steady = median_filter(lag, size=_MEDIAN, mode='nearest')
    reach = _MEDIAN // 4
    jump = np.zeros(len(t))
    jump[reach:-reach] = steady[2 * reach:] - steady[:-2 * reach]
    missing = np.zeros(len(t))
    for peak in find_peaks(jump, height=0.5, distance=reach)[0]:
        near = slice(max(peak - reach, 1), peak + reach + 1)
        longest = near.start + int(np.argmax(np.diff(t[near.start - 1:near.stop])))
        missing[longest] = np.rint(jump[peak])
    return np.arange(len(t)) + np.cumsum(missing)


def _line(number: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Values of the straight line that fits t over number best."""
    centred = number - number.mean()
    return t.mean() + centred * (centred @ (t - t.mean())) / (centred @ centred)


def on_clock(t: np.ndarray, values: np.ndarray, grid: np.ndarray, rate: float) -> np.ndarray:
    """Smooth samples on a clock inside a gap-free stretch.

    Stamps that already are the clock are taken as they are. Others are
    interpolated by a cubic spline, whose second derivative is continuous.

    Args:
        t: Stamps in [s], shape ``(T,)``.
        values: Finite samples, shape ``(T, k)``.
        grid: Clock in [s], shape ``(G,)``, within the stamps.
        rate: Rate of the clock in [Hz].

    Returns:
        Samples, shape ``(G, k)``.
    """
    same = samples_on_clock(t, grid, rate)
    if same is not None:
        return values[same]
    # A few samples beyond the grid keep the spline's ends out of it.
    low = max(int(np.searchsorted(t, grid[0])) - _SPLINE_SAMPLES, 0)
    high = int(np.searchsorted(t, grid[-1], side='right')) + _SPLINE_SAMPLES
    if len(t[low:high]) < _SPLINE_SAMPLES:
        return np.stack([np.interp(grid, t, column) for column in values.T], axis=1)
    from scipy.interpolate import CubicSpline  # slow to import, and not always needed

    return CubicSpline(t[low:high], values[low:high], axis=0)(grid)


def torque_on_clock(
    t: np.ndarray, values: np.ndarray, grid: np.ndarray, rate: float, longest: float
) -> tuple[np.ndarray, np.ndarray]:
    """One joint's torque on a clock, by straight lines, and where it is known.

    Torque jumps with friction, so a spline would ring. Across gaps the straight
    line only fills the array: such samples are marked unusable.

    Args:
        t: Stamps in [s], shape ``(T,)``.
        values: Samples, shape ``(T,)``; NaN where there is none.
        grid: Clock in [s], shape ``(G,)``.
        rate: Rate of the clock in [Hz].
        longest: Longest step in [s] that is not a gap.

    Returns:
        Torque and usability, shape ``(G,)`` each.
    """
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(grid)), np.zeros(len(grid), dtype=bool)
    t, values = t[finite], values[finite]
    same = samples_on_clock(t, grid, rate)
    if same is not None:
        return values[same], np.ones(len(grid), dtype=bool)
    slack = UNIFORM / rate
    before = np.searchsorted(t, grid + slack, side='right') - 1
    after = np.searchsorted(t, grid - slack, side='left')
    inside = (before >= 0) & (after < len(t))
    step = t[np.minimum(after, len(t) - 1)] - t[np.maximum(before, 0)]
    return np.interp(grid, t, values), inside & (step <= longest)


def samples_on_clock(t: np.ndarray, grid: np.ndarray, rate: float) -> slice | None:
    """The samples that were taken at a clock's stamps; None when there are others or too few.

    Args:
        t: Stamps in [s], shape ``(T,)``.
        grid: Clock in [s], shape ``(G,)``.
        rate: Rate of the clock in [Hz].
    """
    first = int(np.searchsorted(t, grid[0] - UNIFORM / rate))
    own = t[first:first + len(grid)]
    if len(own) == len(grid) and np.abs(own - grid).max() <= UNIFORM / rate:
        return slice(first, first + len(grid))
    return None
