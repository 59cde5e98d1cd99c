"""Which parameters of which robots have changed, since when, and where they go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet.change_points import (
    LEAST,
    Change,
    ChangeKind,
    alarm_threshold,
    find_changes,
    run_deviations,
    strongest_evidence,
    trend_since,
    without_bad_runs,
)
from sysid_ros.fleet.history import (
    ParameterHistory,
    RunConditions,
    histories,
    recorded_runs,
)
from sysid_ros.report.tables import counted, number, table

#: Alarms of a robot in a year in which nothing changes.
FALSE_ALARMS = 1.0
#: How far ahead values are foretold, in weeks.
HORIZON = 4.0
_WEEK, _YEAR = 7 * 86400.0, 365.25 * 86400.0
_NORMAL = 1.96
# Scatter below this part of the values is rounding.
_ROUNDING = 1e-9
# Level of all differences between two dates together.
_LEVEL = 0.05
# Runs whose reasons not to count are shown.
_MOST = 12


@dataclass(frozen=True)
class DriftChange:
    """A change of a parameter.

    Attributes:
        kind: ``step`` or ``trend``.
        since: When it was, or began, in UTC.
        found: When enough was recorded to tell it from chance, in UTC.
        size: Size of a step, or change a week of a trend: a part of the value where the parameter
            is positive, otherwise in its unit.
        interval: Half-width of its 95 % interval.
    """

    kind: ChangeKind
    since: str
    found: str
    size: float
    interval: float


@dataclass(frozen=True)
class Between:
    """What changed between two dates.

    Attributes:
        change: Mean of the runs after the second less that of those before the first: a part of the
            value where the parameter is positive, otherwise in its unit.
        interval: Half-width of its 95 % interval.
        differs: Whether it is more than chance allows at 5 % over all parameters together.
    """

    change: float
    interval: float
    differs: bool


@dataclass(frozen=True)
class DriftRow:
    """A parameter of a robot over time.

    Attributes:
        robot: Name of the robot.
        parameter: Name of the parameter.
        unit: Its unit.
        relative: Whether changes are parts of the value.
        recorded: When the runs were recorded, in UTC.
        values: Value of each run, at the mean temperature where temperatures are known.
        intervals: Half-widths of their 95 % intervals beside one another: errors that all runs
            share show no change, and are not in them.
        scatter: Standard deviation of a typical run beside the others.
        per_degree: Change with one degree; None without temperatures.
        per_degree_interval: Half-width of its 95 % interval.
        changes: Changes, in their order.
        evidence: Size of the plainest change at any time, in its standard deviations.
        threshold: Size in standard deviations at which a change is told from chance.
        forecast: Value of a run at the horizon, lower and upper end of its 95 % interval.
        between: What changed between two dates; None where that was not asked, or there are no
            runs on both sides.
    """

    robot: str
    parameter: str
    unit: str
    relative: bool
    recorded: tuple[str, ...]
    values: tuple[float, ...]
    intervals: tuple[float, ...]
    scatter: float
    per_degree: float | None
    per_degree_interval: float | None
    changes: tuple[DriftChange, ...]
    evidence: float
    threshold: float
    forecast: tuple[float, float, float]
    between: Between | None

    @property
    def drifts(self) -> bool:
        """Whether it is still changing: its last change is a trend."""
        return bool(self.changes) and self.changes[-1].kind is ChangeKind.TREND

    @property
    def rank(self) -> float:
        """How far beyond chance the last change is, in half-widths of its interval."""
        if not self.changes:
            return 0.0
        return abs(self.changes[-1].size) / max(self.changes[-1].interval, 1e-300)

    @property
    def nearness(self) -> float:
        """Evidence of a change over that at which one is told; above 1 where there is one."""
        return self.evidence / self.threshold


@dataclass(frozen=True)
class Drift:
    """What changed in a fleet.

    Attributes:
        rows: A row for each parameter of each robot, the plainest changes first, then those that
            came nearest to one.
        runs: Number of runs that count.
        skipped: Runs that do not, with the reason.
        false_alarms: Alarms of a robot in a year in which nothing changes.
        horizon: How far ahead values are foretold, in weeks.
    """

    rows: tuple[DriftRow, ...]
    runs: int
    skipped: tuple[tuple[str, str], ...]
    false_alarms: float
    horizon: float

    @property
    def changed(self) -> tuple[DriftRow, ...]:
        """Parameters that changed, at any time or between the dates."""
        return tuple(row for row in self.rows if row.changes or (
            row.between is not None and row.between.differs))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {'format': 'sysid_ros drift 1', **asdict(self)}

    def __str__(self) -> str:
        robots = len({row.robot for row in self.rows})
        lines = [f'{counted(self.runs, "run")} of {counted(robots, "robot")}, '
                 f'{counted(len(self.rows), "parameter")} over time']
        if self.changed:
            lines += ['', _table(self.changed, self.horizon), '']
        else:
            lines.append(f'Nothing has changed beyond chance; {_nearest(self.rows[0])}')
        lines.append(f'at {counted(self.false_alarms, "false alarm")} of a robot and year')
        reasons = Counter(reason for _, reason in self.skipped)
        lines += [f'{counted(count, "run")} {"does" if count == 1 else "do"} not count: {reason}'
                  for reason, count in reasons.most_common(_MOST)]
        return '\n'.join(lines)


def find_drift(
    folder: str | Path, *, conditions: Mapping[str, RunConditions] | None = None,
    false_alarms: float = FALSE_ALARMS, horizon: float = HORIZON,
    dates: tuple[float, float] | None = None,
) -> Drift:
    """Find what changed in the parameters of robots over time.

    Args:
        folder: Folder of a batch, or any other folder of runs; runs without a record of a batch
            are of one robot.
        conditions: When and how warm runs were recorded, where their recordings do not say.
        false_alarms: Alarms of a robot in a year in which nothing changes.
        horizon: How far ahead values are foretold, in weeks.
        dates: Two dates in [s] since 1970 between which changes are asked for.

    Raises:
        ConfigurationError: A number or a folder cannot be used, or there are too few runs.
    """
    for name, value in (('false_alarms', false_alarms), ('horizon', horizon)):
        if not 0.0 < value < math.inf:
            raise ConfigurationError(
                'is out of range', where=name, found=value, allowed='a number above 0',
                fix='Leave it out for its default')
    runs, skipped = recorded_runs(Path(folder), conditions or {})
    found = histories(runs, LEAST)
    if not found:
        reasons = '; '.join(f'{name}: {reason}' for name, reason in skipped[:3])
        raise ConfigurationError(
            'there are too few runs of a robot to tell a change', where=str(folder),
            found=f'{len(runs)} runs that count' + (f' ({reasons})' if reasons else ''),
            allowed=f'{LEAST} or more with the same parameter',
            fix='Fit more of its recordings: sysid batch')
    counts = Counter(history.robot for history in found)
    rows = [_row(each, counts[each.robot], false_alarms, horizon) for each in found]
    if dates is not None:
        rows = _holm(rows, [_between(each, dates) for each in found])
    rows.sort(key=lambda row: (-row.rank, -row.nearness))
    return Drift(tuple(rows), len(runs), tuple(skipped), false_alarms, horizon)


def _row(
    history: ParameterHistory, parameters: int, false_alarms: float, horizon: float
) -> DriftRow:
    """The row of a history, one of so many of its robot."""
    values, per_degree, error = _at_mean_temperature(history)
    weeks = (history.t - history.t[0]) / _WEEK
    kept, deviations = _beside_others(values, history.deviations)
    years = (history.t[-1] - history.t[0]) / _YEAR
    chance = -math.expm1(-false_alarms * years / parameters)
    threshold = alarm_threshold(weeks, chance)
    changes = find_changes(weeks, kept, deviations, threshold)
    shown = np.exp(values) if history.relative else values
    scale = shown if history.relative else np.ones(len(shown))
    return DriftRow(
        history.robot, history.name, history.unit, history.relative,
        tuple(map(_date, history.t)), tuple(map(float, shown)),
        tuple(map(float, _NORMAL * deviations * scale)), float(np.median(deviations)), per_degree,
        None if error is None else _NORMAL * error,
        tuple(_drift_change(change, history) for change in changes),
        math.sqrt(strongest_evidence(weeks, kept, deviations)), math.sqrt(threshold),
        _forecast(weeks, kept, deviations, changes, horizon, history.relative),
        None)


def _beside_others(
    values: np.ndarray, deviations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values without bad runs, and their standard deviations beside one another."""
    kept = without_bad_runs(values[None], deviations)[0]
    least = _ROUNDING * float(np.max(np.abs(kept), initial=np.finfo(float).tiny))
    return kept, np.maximum(run_deviations(kept, deviations), least)


def _at_mean_temperature(
    history: ParameterHistory
) -> tuple[np.ndarray, float | None, float | None]:
    """Values at the mean temperature, the change with one degree, and its standard deviation.

    The change is that of successive differences, in which a drift over months does not show.
    """
    if history.temperatures is None:
        return history.values, None, None
    warmer, more = np.diff(history.temperatures), np.diff(history.values)
    square = float(warmer @ warmer)
    if square <= 0.0:
        return history.values, None, None
    slope = float(warmer @ more) / square
    # Differences of independent errors: each is in two of them, with opposite signs.
    variance = float(np.mean((more - slope * warmer) ** 2)) / 2.0
    spread = 2.0 * square - 2.0 * float(warmer[1:] @ warmer[:-1])
    away = history.temperatures - history.temperatures.mean()
    return history.values - slope * away, slope, math.sqrt(variance * spread) / square


def _forecast(
    weeks: np.ndarray, values: np.ndarray, deviations: np.ndarray, changes: Sequence[Change],
    horizon: float, relative: bool,
) -> tuple[float, float, float]:
    """Value of a run after the last one, and the ends of its 95 % interval."""
    begin = changes[-1].begin if changes else 0
    if changes and changes[-1].kind is ChangeKind.TREND:
        line, covariance = trend_since(weeks, values, deviations, begin)
        ahead = np.array([1.0, horizon])
        value, variance = float(ahead @ line), float(ahead @ covariance @ ahead)
    else:
        weights = deviations[begin:] ** -2.0
        value, variance = float(weights @ values[begin:] / weights.sum()), 1.0 / weights.sum()
    width = _NORMAL * math.sqrt(variance + float(np.median(deviations**2)))
    ends = (value, value - width, value + width)
    first, second, third = map(math.exp, ends) if relative else ends
    return first, second, third


def _drift_change(change: Change, history: ParameterHistory) -> DriftChange:
    step = change.kind is ChangeKind.STEP
    size = math.expm1(change.size) if step and history.relative else change.size
    scale = math.exp(change.size) if step and history.relative else 1.0
    return DriftChange(
        change.kind, _date(history.t[change.begin]), _date(history.t[change.found]), size,
        _NORMAL * change.deviation * scale)


def _between(
    history: ParameterHistory, dates: tuple[float, float]
) -> tuple[Between, float] | None:
    """Difference of the runs on both sides of two dates, and its probability by chance."""
    values, _, _ = _at_mean_temperature(history)
    values, deviations = _beside_others(values, history.deviations)
    sides = history.t <= min(dates), history.t >= max(dates)
    if not all(side.any() for side in sides):
        return None
    weights = [deviations[side] ** -2.0 for side in sides]
    before, after = (
        float(own @ values[side] / own.sum()) for own, side in zip(weights, sides, strict=True))
    deviation = math.sqrt(sum(1.0 / own.sum() for own in weights))
    change = math.expm1(after - before) if history.relative else after - before
    scale = math.exp(after - before) if history.relative else 1.0
    chance = float(2.0 * scipy.stats.norm.sf(abs(after - before) / deviation))
    return Between(change, _NORMAL * deviation * scale, False), chance


def _holm(
    rows: Sequence[DriftRow], found: Sequence[tuple[Between, float] | None]
) -> list[DriftRow]:
    """Rows with their differences, each told whether it is one at a level for all (Holm 1979)."""
    chances = sorted((each[1], k) for k, each in enumerate(found) if each is not None)
    passed, differs = True, set()
    for rank, (chance, k) in enumerate(chances):
        passed = passed and chance <= _LEVEL / (len(chances) - rank)
        differs |= {k} if passed else set()
    return [
        row if each is None else replace(row, between=replace(each[0], differs=k in differs))
        for k, (row, each) in enumerate(zip(rows, found, strict=True))]


def _nearest(row: DriftRow) -> str:
    """How far the parameter that came nearest to a change is from one, in words."""
    return (f'nearest is {row.parameter} of {row.robot}, with {number(row.evidence, 2)} of the '
            f'{number(row.threshold, 2)} standard deviations that tell a change')


def _table(rows: Sequence[DriftRow], horizon: float) -> str:
    """Rows for a terminal."""
    cells = []
    for row in rows:
        low, high = row.forecast[1:]
        last = row.changes[-1] if row.changes else None
        cells.append([
            row.robot[:16], row.parameter[:34],
            '-' if last is None else _sized(last.size, last.interval, row, last.kind),
            '-' if last is None else last.since[:10], '-' if last is None else last.found[:10],
            number(row.values[-1], 4), f'{number(low, 3)} … {number(high, 3)}', row.unit]
            + ([] if row.between is None else [_sized(
                row.between.change, row.between.interval, row, ChangeKind.STEP)
                + ('' if row.between.differs else ' (chance)')]))
    header = ['robot', 'parameter', 'change', 'since', 'found', 'last', f'in {horizon:g} weeks', '']
    if any(row.between is not None for row in rows):
        header.append('between')
        cells = [row + ['-'] * (len(header) - len(row)) for row in cells]
    return table(header, cells)


def _sized(size: float, interval: float, row: DriftRow, kind: ChangeKind) -> str:
    every = ' a week' if kind is ChangeKind.TREND else ''
    if row.relative:
        return f'{100.0 * size:+.2g} ± {100.0 * interval:.1g} %{every}'
    return f'{size:+.2g} ± {interval:.1g} {row.unit}{every}'


def _date(stamp: float) -> str:
    return datetime.fromtimestamp(float(stamp), UTC).isoformat(timespec='seconds')
