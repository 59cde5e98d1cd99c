"""What a planned motion will tell of the base parameters, and when it has told it."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.regression.conditioning import WARNED
from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.plots import (
    BEFORE,
    IDENTIFIED,
    RESIDUAL,
    Figure,
    axis,
    dots,
    figure,
    label,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series

# Pixels of a row, and rows of the figure.
_ROW, _MOST_ROWS = 18, 60


class ExpectedParameter(ReportModel):
    """A base parameter, and its expected standard deviation in parts of its usual change."""

    combination: str
    deviation: Number


class ExpectedKnowledgeSection(Section):
    """Expected uncertainty of the base parameters.

    Attributes:
        parameters: Base parameters, the least known first.
        time: Instants of the motion in [s].
        least: Expected deviation of the least known by then.
        median: The median of all.
        best: That of the best known.
        singular_values: Of the base regressor of the motion alone, rows brought to one noise and
            columns to one size.
        good_below: Condition number above which people are warned.
    """

    section: Literal['expected_knowledge'] = 'expected_knowledge'
    title: ClassVar[str] = 'What it will tell'
    parameters: list[ExpectedParameter]
    time: Series
    least: Series
    median: Series
    best: Series
    singular_values: Series
    good_below: float

    @classmethod
    def of_motion(cls, source: PlannedMotion) -> Self:
        """The section of a motion."""
        t, deviations = source.deviations
        equations, last = source.designer.information.base.equations, deviations[-1]
        return cls(
            parameters=[
                ExpectedParameter(combination=equations[k], deviation=last[k])
                for k in np.argsort(-last, kind='stable')],
            time=_digits(t), least=_digits(deviations.max(axis=1)),
            median=_digits(np.median(deviations, axis=1)), best=_digits(deviations.min(axis=1)),
            singular_values=_digits(source.singular_values), good_below=WARNED)

    def figures(self) -> dict[str, Figure]:
        """Deviations over time, those of every base parameter, and singular values."""
        made = {'time': self._over_time(), 'parameters': self._parameters()}
        if self.singular_values:
            made['singular-values'] = figure(
                [dots(range(1, len(self.singular_values) + 1), self.singular_values,
                      'singular values', IDENTIFIED, size=6, mode='lines+markers')],
                axis('number'), axis('singular value', **_LOGARITHMIC),
                height=280, showlegend=False)
        return made

    def _over_time(self) -> Figure:
        return figure(
            [line(self.time, _percents(values), name, colour, width=1.6)
             for name, colour, values in (
                 ('least known', RESIDUAL, self.least), ('median', IDENTIFIED, self.median),
                 ('best known', BEFORE, self.best))],
            axis('time [s]', rangemode='tozero'),
            axis('expected σ [% of usual]', **_LOGARITHMIC), height=280)

    def _parameters(self) -> Figure:
        shown = self.parameters[:_MOST_ROWS]
        places = list(range(len(shown)))
        return figure(
            [dots(_percents([each.deviation for each in shown]), places, 'expected σ', IDENTIFIED,
                  size=7, marker={'opacity': 1.0})],
            axis('expected σ [% of usual]', **_LOGARITHMIC),
            axis(tickvals=places,
                 ticktext=[label(each.combination.split(' ', 1)[0], 44) for each in shown],
                 range=[len(shown) - 0.4, -0.6], zeroline=False),
            height=110 + _ROW * len(shown), showlegend=False)


_LOGARITHMIC = {'type': 'log', 'exponentformat': 'power', 'dtick': 1}


def _digits(values: np.ndarray) -> Series:
    return [float(f'{value:.5g}') if np.isfinite(value) else None for value in values]


def _percents(values: Series) -> Series:
    return [None if value is None else 100.0 * value for value in values]
