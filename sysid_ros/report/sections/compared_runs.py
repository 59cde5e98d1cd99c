"""Runs beside each other: errors, and parameters with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.evaluation.run_comparison import ComparedParameter
from sysid_ros.report.plots import COLOURS, Figure, axis, dots, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, percent

_ROW, _MOST_ROWS = 24, 40


class RunErrors(ReportModel):
    """A run, and its relative errors on what it was judged by.

    Attributes:
        name: Of its folder.
        robot: Name of the robot; empty where the run does not say it.
        estimator: Name of the estimator.
        recorded: When its recording ended, as a date in UTC; empty where that is not known.
        committable: Its verdict.
        source: What it was judged by.
        error: Error over all joints.
        prior_error: That of the description.
        joints: Errors by joint.
    """

    name: str
    robot: str = ''
    estimator: str = ''
    recorded: str = ''
    committable: bool
    source: str
    error: Number
    prior_error: Number
    joints: dict[str, Number]


class ComparedRow(ReportModel):
    """A parameter in every run, with half-widths of 95 % intervals; see ComparedParameter."""

    name: str
    unit: str
    values: Series
    intervals: Series
    agreement: Number
    differs: bool
    drift: Number
    drifts: bool


class ComparedRunsSection(Section):
    """Errors and parameters of several runs.

    Attributes:
        runs: The runs.
        parameters: Those that every run has, and has an interval of.
        drift_per: What a drift is the change in: from run to run, or in a week.
        absent: Parameters that are not in every run.
        untold: Parameters without an interval in every run.
    """

    section: Literal['compared_runs'] = 'compared_runs'
    title: ClassVar[str] = 'Runs beside each other'
    runs: list[RunErrors]
    parameters: list[ComparedRow]
    drift_per: Literal['run', 'week'] = 'run'
    absent: list[str] = []
    untold: list[str] = []

    @classmethod
    def of_runs(
        cls, runs: Sequence[RunErrors], parameters: Sequence[ComparedParameter],
        drift_per: Literal['run', 'week'] = 'run',
        left_out: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> Self:
        """The section of some runs.

        Args:
            runs: Errors of each.
            parameters: Parameters in all of them.
            drift_per: What drifts are the change in.
            left_out: Parameters that are not in all of them, and those without an interval.
        """
        absent, untold = map(list, left_out)
        return cls(runs=list(runs), drift_per=drift_per, absent=absent, untold=untold, parameters=[
            ComparedRow(
                name=row.name, unit=row.unit, values=_digits(row.values),
                intervals=_digits(1.96 * row.deviations), agreement=row.agreement,
                differs=row.differs, drift=row.drift, drifts=row.drifts)
            for row in parameters])

    @property
    def robots(self) -> list[str]:
        """Names of the robots, each once."""
        return list(dict.fromkeys(run.robot for run in self.runs if run.robot))

    @property
    def has_drift(self) -> bool:
        """Whether there are runs enough, of times enough, to tell a drift."""
        return any(row.drift is not None for row in self.parameters)

    @property
    def joints(self) -> list[str]:
        """Joints of any of the runs."""
        return list(dict.fromkeys(joint for run in self.runs for joint in run.joints))

    def figures(self) -> dict[str, Figure]:
        """Errors of every joint, and parameters over their mean of all runs."""
        names = self.joints
        bars = [
            {'type': 'bar', 'name': label(run.name), 'x': [label(name) for name in names],
             'y': [percent(run.joints.get(name)) for name in names],
             'marker': {'color': COLOURS[k % len(COLOURS)]}}
            for k, run in enumerate(self.runs)]
        return {'errors': figure(
            bars, axis(type='category'), axis('error [% of the torque]', rangemode='tozero'),
            height=320, barmode='group'), 'parameters': self._parameters()}

    def _parameters(self) -> Figure:
        """Parameters, those that disagree most first, each in standard deviations of the first."""
        rows = sorted(self.parameters, key=lambda row: row.agreement or 0.0)[:_MOST_ROWS]
        places, count = np.arange(len(rows)), len(self.runs)
        traces = []
        for k, run in enumerate(self.runs):
            apart, errors = [], []
            for row in rows:
                values, widths = (np.array(part, dtype=float) for part in (
                    row.values, row.intervals))
                scale = float(np.median(widths)) / 1.96 or 1.0
                apart.append(float((values[k] - values.mean()) / scale))
                errors.append(float(widths[k] / scale))
            shift = 0.5 * (k / max(count - 1, 1) - 0.5)
            colour = COLOURS[k % len(COLOURS)]
            traces.append(dots(
                apart, (places + shift).tolist(), label(run.name), colour, size=6,
                error_x={'type': 'data', 'array': errors, 'thickness': 1.2, 'width': 3,
                         'color': colour}, marker={'opacity': 1.0}))
        return figure(
            traces, axis('from the mean of the runs [σ]'),
            axis(tickvals=places.tolist(), ticktext=[label(row.name, 44) for row in rows],
                 range=[len(rows) - 0.3, -0.7], zeroline=False), height=120 + _ROW * len(rows))


def _digits(values: np.ndarray) -> Series:
    return [float(f'{value:.6g}') if np.isfinite(value) else None for value in values]
