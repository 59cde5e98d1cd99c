"""A robot that was followed while it worked: its parameters over time, and what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.online.online import OnlineEstimate
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.report.plots import BEFORE, COLOURS, IDENTIFIED, Figure, axis, figure, line
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, series

# Parameters that are drawn, and half-width of a 95 % interval in standard deviations.
_DRAWN, _NORMAL = 12, 1.96


class FollowedParameter(ReportModel):
    """A parameter over time, with half-widths of its 95 % intervals, and what was committed."""

    name: str
    unit: str
    values: Series
    intervals: Series
    committed: Number


class FollowedChange(ReportModel):
    """A change, when it was found, and against what."""

    found: str
    against: str
    text: str


class FollowedRobotSection(Section):
    """A robot that was followed.

    Attributes:
        since: When the first estimate was made, in UTC.
        until: When the last one was.
        rows: Rows that it is made from.
        error: Torque error over the last seconds of motion.
        margin: Least consistency margin of a body.
        against: Name of the revision that it was compared with; empty for none.
        change: What has changed and still is so; empty where nothing has.
        changes: All that had changed at some time.
        minutes: Times of the estimates since the first, in minutes.
        errors: Torque errors then.
        parameters: Those that went farthest from what was committed or described, in standard
            deviations, the farthest first.
    """

    section: Literal['followed_robot'] = 'followed_robot'
    title: ClassVar[str] = 'The robot over time'
    since: str
    until: str
    rows: int
    error: Number
    margin: Number
    against: str
    change: str
    changes: list[FollowedChange]
    minutes: Series
    errors: Series
    parameters: list[FollowedParameter]

    @classmethod
    def of_history(cls, history: OnlineHistory) -> Self:
        """The section of a robot that was followed.

        Args:
            history: What was found, at least one estimate.
        """
        newest, instants = history.newest, history.instants
        assert newest is not None  # there is an estimate
        times = np.array([instant.time for instant in instants])
        change = newest.change
        return cls(
            since=_clock(times[0]), until=_clock(times[-1]), rows=newest.rows,
            error=newest.relative_error, margin=min(newest.margins.values(), default=float('nan')),
            against='' if history.committed is None else history.committed.name,
            change='' if change is None else change.words,
            changes=[
                FollowedChange(found=_clock(time), against=against, text=found.words)
                for time, against, found in history.changes],
            minutes=series((times - times[0]) / 60.0),
            errors=series([instant.relative_error for instant in instants]),
            parameters=_farthest(history, newest))

    def figures(self) -> dict[str, Figure]:
        """Torque error over time, and the parameters that are drawn."""
        x = axis('time [min]', rangemode='tozero')
        percent = [None if value is None else 100.0 * value for value in self.errors]
        return {'errors': figure(
            [line(self.minutes, percent, 'torque error', IDENTIFIED)], x,
            axis('torque error [%]', rangemode='tozero'), height=240, showlegend=False),
        } | {f'parameter_{k}': self._figure(each, x) for k, each in enumerate(self.parameters)}

    def _figure(self, row: FollowedParameter, x: dict[str, object]) -> Figure:
        def edge(sign: float) -> Series:
            return [
                None if value is None or wide is None else value + sign * wide
                for value, wide in zip(row.values, row.intervals, strict=True)]

        traces = [
            line(self.minutes, edge(-1.0), '', COLOURS[4], width=0.5, showlegend=False),
            line(self.minutes, edge(1.0), '95 %', COLOURS[4], width=0.5, fill='tonexty',
                 fillcolor='rgba(86, 180, 233, 0.25)'),
            line(self.minutes, row.values, 'followed', IDENTIFIED)]
        if row.committed is not None:
            traces.append(line(
                [self.minutes[0], self.minutes[-1]], [row.committed] * 2, 'committed', BEFORE))
        return figure(traces, x, axis(f'[{row.unit}]'), height=230)


def _farthest(history: OnlineHistory, newest: OnlineEstimate) -> list[FollowedParameter]:
    parameters, deviation = newest.parameters, newest.standard_deviation
    known = history.committed
    reference = np.array([
        prior if known is None or name not in known.parameters.names else known.parameters[name]
        for name, prior in zip(parameters.names, parameters.prior, strict=True)])
    with np.errstate(divide='ignore', invalid='ignore'):
        away = np.where(deviation > 0.0, np.abs(parameters.values - reference) / deviation, 0.0)
    order: Sequence[int] = np.argsort(-away, kind='stable')[:_DRAWN].tolist()
    return [
        FollowedParameter(
            name=parameters.names[k], unit=parameters.units[k],
            values=series([instant.values[k] for instant in history.instants]),
            intervals=series([_NORMAL * instant.deviations[k] for instant in history.instants]),
            committed=None if known is None else reference[k])
        for k in order if away[k] > 0.0]


def _clock(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime('%Y-%m-%d %H:%M:%S UTC')
