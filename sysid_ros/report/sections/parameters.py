"""Every parameter: before and after, how sure, where it comes from, and whether at a bound."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.report.plots import BEFORE, IDENTIFIED, Figure, axis, dots, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

_BOUND = 1e-6
# Where a value comes from, in a word or two.
_ORIGINS = {
    Knowledge.DATA: 'data', Knowledge.COMBINATION: 'data, shared out by the prior',
    Knowledge.COUPLED: 'prior, after its body', Knowledge.PRIOR: 'prior', Knowledge.FIXED: 'fixed',
    Knowledge.UNSETTLED: 'not known: the fit did not converge',
}
_KINDS = {'mass': 'masses', 'first_moment': 'first moments', 'inertia': 'moments of inertia'}
# Pixels of a row, and rows of a figure.
_ROW, _MOST_ROWS = 22, 60


class ParameterRow(ReportModel):
    """One parameter; intervals are half-widths at 95 %, None where the data gives none."""

    name: str
    unit: str
    kind: str
    prior: Number
    value: Number
    interval: Number
    between: Number
    origin: str
    at_bound: Literal['', 'lower', 'upper']


class ParametersSection(Section):
    """All parameters, in the order of the estimate.

    Attributes:
        kinds: Kinds of parameters, each shown in a figure of its own.
        parameters: The parameters.
    """

    section: Literal['parameters'] = 'parameters'
    title: ClassVar[str] = 'Parameters'
    kinds: list[str]
    parameters: list[ParameterRow]

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Parameters of a run."""
        estimate = source.estimate
        between = estimate.between
        spread = None if between is None else between.quantile * between.standard_deviation
        rows = [
            _row(estimate, k, None if spread is None else float(spread[k]))
            for k in range(len(estimate.parameters))]
        return cls(kinds=list(dict.fromkeys(row.kind for row in rows)), parameters=rows)

    @property
    def several(self) -> bool:
        """Whether there are intervals between recordings."""
        return any(row.between is not None for row in self.parameters)

    def figures(self) -> dict[str, Figure]:
        """A figure of every kind of parameters, with intervals."""
        return {
            f'parameters-{k}': _figure([row for row in self.parameters if row.kind == kind])
            for k, kind in enumerate(self.kinds)}


def _row(estimate: Estimate, k: int, between: float | None) -> ParameterRow:
    parameters = estimate.parameters
    name, value = parameters.names[k], float(parameters.values[k])
    deviation = float(estimate.standard_deviation[k])
    near = _BOUND * max(abs(value), abs(float(parameters.prior[k])), 1e-9)
    at_bound: Literal['', 'lower', 'upper'] = ''
    if parameters.free[k] and value - parameters.lower[k] <= near:
        at_bound = 'lower'
    elif parameters.free[k] and parameters.upper[k] - value <= near:
        at_bound = 'upper'
    return ParameterRow(
        name=name, unit=parameters.units[k], kind=_kind(parameters.is_inertial(name), name),
        prior=parameters.prior[k], value=value,
        interval=1.96 * deviation if 0.0 < deviation < np.inf else None,
        between=between if between else None, origin=_ORIGINS[estimate.knowledge[k]],
        at_bound=at_bound)


def _kind(inertial: bool, name: str) -> str:
    field = name.rpartition('.')[2]
    if inertial:
        return next(word for start, word in _KINDS.items() if field.startswith(start))
    return field.replace('_', ' ')


def _figure(rows: list[ParameterRow]) -> Figure:
    shown = rows[:_MOST_ROWS]
    names = [label(row.name, 44) for row in shown]
    values = [row.value for row in shown]
    low, high = _reach(shown)
    bars: dict[str, Any] = {
        'type': 'data', 'array': [_bar(row, high - low) for row in shown], 'thickness': 1.4,
        'width': 4, 'color': IDENTIFIED}
    places = list(range(len(shown)))
    traces = [
        dots([row.prior for row in shown], places, 'before', BEFORE, size=9,
             marker={'symbol': 'circle-open', 'line': {'width': 2}, 'opacity': 1.0}),
        dots(values, places, 'identified, 95 %', IDENTIFIED, size=7, error_x=bars,
             marker={'opacity': 1.0})]
    return figure(
        traces, axis(f'[{rows[0].unit}]' if rows[0].unit else '', range=[low, high]),
        axis(tickvals=places, ticktext=names, range=[len(shown) - 0.4, -0.6], zeroline=False),
        height=110 + _ROW * len(shown))


def _reach(rows: list[ParameterRow]) -> tuple[float, float]:
    """Range of the horizontal axis: values before and after, and intervals of that size."""
    values = [value for row in rows for value in (row.prior, row.value) if value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = max(high - low, 0.2 * max(abs(low), abs(high)), 1e-9)
    for row in rows:
        if row.value is not None:
            reach = min(row.interval or 0.0, 0.5 * span)
            low, high = min(low, row.value - reach), max(high, row.value + reach)
    return low - 0.05 * span, high + 0.05 * span


def _bar(row: ParameterRow, span: float) -> float | None:
    return None if row.interval is None else min(row.interval, span)
