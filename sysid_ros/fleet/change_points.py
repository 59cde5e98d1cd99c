r"""Change points of a series of estimates: steps and trends, at a stated rate of false alarms.

Values :math:`y_i` at stamps :math:`t_i` are :math:`y_i = a + b\,r_i + e_i`. How far runs scatter,
successive differences tell whatever drifts (von Neumann 1941), without the largest ones, which may
be steps. Where it is more than the variances :math:`\sigma_i^2` that the fits say of themselves,
the rest is added to all of them; where it is less, runs share a part of their errors (the motion,
the settings, the prior), which no difference between them has, and all are scaled.

With the regressor r of a step or of a trend that begins at run :math:`\tau`, the generalised
likelihood ratio is :math:`\max_\tau z_\tau^2`, z the estimate of b in its standard deviations
(Willsky and Jones 1976). An alarm is the first run at which it exceeds a threshold. The threshold
is the quantile of its largest value over series of independent normal errors at the same stamps,
which are treated in the same way; beyond the samples its tail is that of the square of a
Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

#: Fewest runs in which a change is sought.
LEAST = 6
# Fewest runs before a step, and since a change; and runs after an alarm by which it is told what
# kind of change it was.
_BEFORE, _AFTER, _MORE = 3, 2, 6
# Changes are sought in the last runs only: an older one was found when it was younger.
_WINDOW = 120
# Fewest and most series that the threshold is simulated with, and numbers in all of them.
_SERIES, _MOST_SERIES, _NUMBERS = 1000, 20_000, 400_000
# Upper part of them that tells the tail.
_TAIL = 0.05
# Neighbours on each side of a run, and standard deviations from their median that errors reach.
_NEAR, _FAR = 2, 3.5
# The median absolute deviation as a standard deviation.
_NORMAL_MAD = 1.4826
# Scatter below this part of the values is rounding.
_ROUNDING = 1e-9
# Part of the successive differences that may be steps, and draws that tell what is left without.
_STEPS, _DRAWS = 0.05, 4000


class ChangeKind(StrEnum):
    """How values change."""

    STEP = 'step'
    TREND = 'trend'


@dataclass(frozen=True)
class Change:
    """A change of a parameter.

    Attributes:
        kind: A step, or a trend from then on.
        begin: Index of the first run after a step, or of the last before a trend.
        found: Index of the run at which it was told from chance.
        size: Size of the step, or slope of the trend per unit of time.
        deviation: Standard deviation of that.
    """

    kind: ChangeKind
    begin: int
    found: int
    size: float
    deviation: float


def without_bad_runs(values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Values no further from the median of their neighbours than errors are: one bad run is none.

    Args:
        values: m series of n values, shape ``(m, n)``.
        deviations: Standard deviations of each, shape ``(n,)``, in any unit; zeros: all alike.

    Returns:
        Shape ``(m, n)``.
    """
    typical = _NORMAL_MAD * np.median(np.abs(np.diff(values, axis=1)), axis=1) / np.sqrt(2.0)
    middle = float(np.median(deviations))
    uncertain = np.maximum(deviations / middle, 1.0) if middle > 0.0 else np.ones(len(deviations))
    reach = _FAR * typical[:, None] * uncertain
    padded = np.pad(values, ((0, 0), (_NEAR, _NEAR)), constant_values=np.nan)
    near = np.nanmedian(
        np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEAR + 1, axis=1), axis=2)
    return np.asarray(np.clip(values, near - reach, near + reach))


def scatter(values: np.ndarray) -> np.ndarray:
    """Standard deviation of runs about their own course, from successive differences.

    Args:
        values: m series of n values, shape ``(m, n)``.

    Returns:
        Shape ``(m,)``.
    """
    squares = np.sort(np.diff(values, axis=1) ** 2, axis=1)
    part, _ = _without_steps(values.shape[1])
    return np.sqrt(0.5 * np.mean(squares[:, :_retained(values.shape[1])], axis=1) / part)


def run_deviations(values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Standard deviations of runs beside one another: their own, and how far they scatter.

    Args:
        values: Shape ``(n,)``.
        deviations: What the runs say of themselves, shape ``(n,)``.

    Returns:
        Shape ``(n,)``; together they are as large as the runs scatter.
    """
    whole = float(scatter(values[None])[0]) ** 2
    order = np.argsort(np.diff(values) ** 2, kind='stable')[:_retained(len(values))]
    own = 0.5 * float(np.mean(deviations[order] ** 2 + deviations[order + 1] ** 2))
    if whole >= own:
        return np.sqrt(deviations**2 + (whole - own))
    return deviations * np.sqrt(whole / own)


def _retained(count: int) -> int:
    """How many of the differences of so many runs are no steps, for all one knows."""
    return count - 1 - int(np.ceil(_STEPS * (count - 1)))


@lru_cache(maxsize=64)
def _without_steps(count: int) -> tuple[float, float]:
    """Mean of the smaller squared differences as a part of all; degrees of freedom of that mean.

    Of so many runs with independent normal errors.
    """
    values = np.random.default_rng(count).normal(size=(_DRAWS, count))
    squares = np.sort(np.diff(values, axis=1) ** 2, axis=1)[:, :_retained(count)].mean(axis=1)
    return 0.5 * float(squares.mean()), 2.0 * float(squares.mean() ** 2 / squares.var())


def find_changes(
    t: np.ndarray, values: np.ndarray, deviations: np.ndarray, threshold: float
) -> tuple[Change, ...]:
    """Changes of one series in their order; after each one the series begins anew.

    Another change in the direction of a trend belongs to the trend.

    Args:
        t: Times, shape ``(n,)``, increasing.
        values: Shape ``(n,)``.
        deviations: As of :func:`run_deviations`, above zero, shape ``(n,)``.
        threshold: See :func:`alarm_threshold`.
    """
    changes: list[Change] = []
    first = 0
    while len(t) - first >= LEAST:
        own = slice(first, len(t))
        change = _first_alarm(t[own], values[own], deviations[own], threshold)
        if change is None:
            break
        begin, found = first + change.begin, first + change.found
        before = changes[-1] if changes else None
        # Few runs of a trend may look like a step.
        goes_on = (
            before is not None and before.kind is ChangeKind.TREND
            and before.size * change.size > 0.0)
        if not goes_on:
            changes.append(Change(change.kind, begin, found, change.size, change.deviation))
        first = begin if change.kind is ChangeKind.STEP else found
    return tuple(changes)


def strongest_evidence(t: np.ndarray, values: np.ndarray, deviations: np.ndarray) -> float:
    """Largest generalised likelihood ratio of a change at any run, as of :func:`alarm_threshold`.

    Args:
        t: Times, shape ``(n,)``, increasing, :data:`LEAST` or more.
        values: Shape ``(n,)``.
        deviations: As of :func:`run_deviations`, above zero, shape ``(n,)``.
    """
    return max(
        float(_ratios(t[:end], values[None, :end], deviations[:end])[0].max())
        for end in range(LEAST, len(t) + 1))


def trend_since(
    t: np.ndarray, values: np.ndarray, deviations: np.ndarray, begin: int
) -> tuple[np.ndarray, np.ndarray]:
    """Level and slope of a weighted straight line through the runs since one of them.

    Args:
        t: Times, shape ``(n,)``.
        values: Shape ``(n,)``.
        deviations: Standard deviations, above zero, shape ``(n,)``.
        begin: Index of the first run, two or more before the last.

    Returns:
        Level at the last run and slope, shape ``(2,)``, and their covariance, shape ``(2, 2)``.
    """
    rows = np.stack([np.ones(len(t) - begin), t[begin:] - t[-1]], axis=1)
    weighted = rows / deviations[begin:, None]
    covariance = np.linalg.inv(weighted.T @ weighted)
    return covariance @ (weighted.T @ (values[begin:] / deviations[begin:])), covariance


def alarm_threshold(t: np.ndarray, chance: float) -> float:
    """Threshold that a series without a change exceeds with a probability, over all of its runs.

    Args:
        t: Times of the runs, shape ``(n,)``, :data:`LEAST` or more.
        chance: Probability, between 0 and 1.
    """
    tail, excess = _largest_by_chance(tuple(((t - t[0]) / (t[-1] - t[0])).round(6).tolist()))
    index = min(int((1.0 - chance) * len(tail)), len(tail) - 1)
    if chance < _TAIL:
        beyond = tail[int((1.0 - _TAIL) * len(tail))] + excess * np.log(_TAIL / chance)
    else:
        beyond = tail[index]
    _, freedom = _without_steps(len(t))
    return float(freedom * np.expm1(beyond / freedom))


@lru_cache(maxsize=64)
def _largest_by_chance(times: tuple[float, ...]) -> tuple[np.ndarray, float]:
    r"""Largest ratios of series without a change, in order, and the scale of their upper tail.

    As :math:`\nu \log(1 + z^2/\nu)`, whose tail is exponential where z is a Student's t.
    """
    t = np.array(times)
    count = min(max(_NUMBERS // len(t), _SERIES), _MOST_SERIES)
    values = np.random.default_rng(len(t)).normal(size=(count, len(t)))
    values = without_bad_runs(values, np.zeros(len(t)))
    own = np.maximum(scatter(values), _ROUNDING)
    largest = np.zeros(count)
    for end in range(LEAST, len(t) + 1):
        ratios = _ratios(t[:end], values[:, :end], np.ones(end))[0]
        largest = np.maximum(largest, ratios.max(axis=(0, 2)))
    _, freedom = _without_steps(len(t))
    ordered = np.sort(freedom * np.log1p(largest / own**2 / freedom))
    upper = ordered[int((1.0 - _TAIL) * len(ordered)):]
    return ordered, float(np.mean(upper - upper[0]))


def _first_alarm(
    t: np.ndarray, values: np.ndarray, deviations: np.ndarray, threshold: float
) -> Change | None:
    """The change at the first run whose ratio exceeds the threshold, sized by all runs."""
    for end in range(LEAST, len(t) + 1):
        ratios, _, _ = _ratios(t[:end], values[None, :end], deviations[:end])
        if ratios.max() <= threshold:
            continue
        # Of what kind it is, the runs after the alarm tell better.
        last = min(end + _MORE, len(t))
        ratios, _, _ = _ratios(t[:last], values[None, :last], deviations[:last])
        kind, _, place = np.unravel_index(int(ratios.argmax()), ratios.shape)
        begin = _places(last)[place]
        _, sizes, own = _ratios(t, values[None], deviations, begins=np.array([begin]))
        step = kind == 0
        return Change(
            ChangeKind.STEP if step else ChangeKind.TREND, int(begin) if step else int(begin) - 1,
            end - 1, float(sizes[kind, 0, 0]), float(own[kind, 0]))
    return None


def _places(count: int) -> np.ndarray:
    """Indices of the first run after a change, among so many runs."""
    return np.arange(max(1, count - _WINDOW), count)


def _ratios(
    t: np.ndarray, values: np.ndarray, deviations: np.ndarray, begins: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared ratios of steps and trends to their deviations at the last of n runs.

    Args:
        t: Times, shape ``(n,)``.
        values: m series, shape ``(m, n)``.
        deviations: Shape ``(n,)``.
        begins: Indices of the first run after a change, k of them; by default :func:`_places`.

    Returns:
        Ratios and sizes, shape ``(2, m, k)``, of steps and trends, and deviations of the sizes,
        shape ``(2, k)``.
    """
    begins = _places(len(t)) if begins is None else begins
    weights = deviations**-2.0
    mean, time = values @ weights / weights.sum(), t - t[0]
    sums = _since(np.stack([weights, weights * time, weights * time**2]), begins)
    # Of what is before all beginnings no sum is needed.
    first = int(begins.min())
    weighted = weights[first:] * (values[:, first:] - mean[:, None])
    products = _since(np.stack([weighted, time[first:] * weighted]), begins - first)
    onset = time[begins - 1]
    regressors = np.stack([sums[0], sums[1] - onset * sums[0]])
    squares = np.stack([sums[0], sums[2] - 2.0 * onset * sums[1] + onset**2 * sums[0]])
    known = squares - regressors**2 / weights.sum()
    scores = np.stack([products[0], products[1] - onset * products[0]])
    # Of too few runs nothing is said; a trend may be there from the first.
    told = (len(t) - begins >= _AFTER) & ((begins >= _BEFORE) | np.array([[False], [True]]))
    known = np.where((known > 0.0) & told, known, np.inf)
    sizes = scores / known[:, None]
    return sizes * scores, sizes, known**-0.5


def _since(terms: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Sums of terms ``(…, n)`` from each beginning to the last, shape ``(…, k)``."""
    return np.asarray(np.cumsum(terms[..., ::-1], axis=-1)[..., ::-1][..., begins])
