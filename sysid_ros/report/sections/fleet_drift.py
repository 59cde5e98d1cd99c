"""Parameters of a fleet that have changed over time, the plainest changes first."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from sysid_ros.report.plots import COLOURS, IDENTIFIED, INK, Figure, axis, dots, figure, line
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

# Histories that are drawn.
_DRAWN = 12


class ParameterChange(ReportModel):
    """A step or a trend; the entries are those of ``sysid drift --json``."""

    kind: str
    since: str
    found: str
    size: float
    interval: float


class ChangedParameter(ReportModel):
    """A parameter over time; the entries are those of ``sysid drift --json``."""

    robot: str
    parameter: str
    unit: str
    relative: bool
    recorded: list[str]
    values: list[float]
    intervals: list[float]
    changes: list[ParameterChange]
    forecast: list[float]
    evidence: Number = None
    threshold: Number = None

    def size_text(self, change: ParameterChange) -> str:
        """The size of a change in words."""
        every = ' a week' if change.kind == 'trend' else ''
        if self.relative:
            return f'{100.0 * change.size:+.2g} ± {100.0 * change.interval:.1g} %{every}'
        return f'{change.size:+.2g} ± {change.interval:.1g} {self.unit}{every}'


class FleetDriftSection(Section):
    """What has changed, and what was looked at.

    Attributes:
        parameters: Those that changed.
        nearest: Where none has, those that came nearest to a change, the nearest first.
        series: How many parameters of robots were looked at.
        runs: Runs that count.
        false_alarms: Alarms of a robot in a year in which nothing changes.
        horizon: How far ahead values are foretold, in weeks.
    """

    section: Literal['fleet_drift'] = 'fleet_drift'
    title: ClassVar[str] = 'Changes over time'
    parameters: list[ChangedParameter]
    series: int
    runs: int
    false_alarms: float
    horizon: float
    nearest: list[ChangedParameter] = []

    @property
    def drawn(self) -> list[ChangedParameter]:
        """Parameters whose history is drawn."""
        return self.parameters[:_DRAWN] or self.nearest

    def figures(self) -> dict[str, Figure]:
        """Histories of the plainest changes, or of what came nearest to one, with where they go."""
        return {f'history_{k}': self._history(row) for k, row in enumerate(self.drawn)}

    def _history(self, row: ChangedParameter) -> Figure:
        last = np.datetime64(row.recorded[-1][:19])
        ahead = str(last + np.timedelta64(round(self.horizon * 7 * 86400), 's'))
        value, low, high = row.forecast
        marks = [{
            'type': 'line', 'xref': 'x', 'yref': 'paper', 'x0': change.since[:19],
            'x1': change.since[:19], 'y0': 0, 'y1': 1,
            'line': {'color': COLOURS[5], 'width': 1.2, 'dash': 'dot'}} for change in row.changes]
        stamps = [stamp[:19] for stamp in row.recorded]
        return figure([
            dots(stamps, row.values, 'runs, 95 %', IDENTIFIED, size=5, error_y={
                'type': 'data', 'array': row.intervals, 'thickness': 1.0, 'width': 2,
                'color': IDENTIFIED}),
            line([ahead, ahead], [low, high], f'in {self.horizon:g} weeks', INK, width=3.0),
            dots([ahead], [value], 'forecast', INK, size=7, showlegend=False),
        ], axis(type='date'), axis(f'[{row.unit}]' if row.unit else ''), height=260, shapes=marks)
