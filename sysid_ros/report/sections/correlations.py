"""Correlations of base parameters: which of them the data could exchange for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sysid_ros.report.combination_words import terms_of
from sysid_ros.report.plots import Figure, axis, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Series, series

# Base parameters of a map, and pairs that are named, from this correlation on.
_SHOWN, _PAIRS, _STRONG = 45, 10, 0.7
# Blue to white to orange, apart for colour-blind eyes.
_COLOURS = [[0.0, '#0072b2'], [0.5, '#ffffff'], [1.0, '#d55e00']]


class CorrelatedPair(ReportModel):
    """Two base parameters, each by the parameter that stands first in it."""

    first: str
    second: str
    correlation: float


class CorrelationsSection(Section):
    """Correlations of the base parameters that are correlated most."""

    section: Literal['correlations'] = 'correlations'
    title: ClassVar[str] = 'Correlations'
    names: list[str]
    matrix: list[Series]
    left_out: int
    pairs: list[CorrelatedPair]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Correlations of a run; None where fewer than two base parameters are known."""
        estimate = source.estimate
        covariance = estimate.base_covariance
        variance = np.diag(covariance)
        known = np.flatnonzero(np.isfinite(variance) & (variance > 0.0))
        if len(known) < 2:
            return None
        scale = np.sqrt(variance[known])
        matrix = covariance[np.ix_(known, known)] / np.outer(scale, scale)
        names = [_first(estimate.base_names[k], estimate.parameters.names) for k in known]
        apart = np.abs(matrix - np.diag(np.diag(matrix)))
        chosen = np.sort(np.argsort(-apart.max(axis=0), kind='stable')[:_SHOWN])
        rows, columns = np.triu_indices(len(known), 1)
        order = np.argsort(-apart[rows, columns], kind='stable')[:_PAIRS]
        return cls(
            names=[names[k] for k in chosen],
            matrix=[series(np.round(row, 3)) for row in matrix[np.ix_(chosen, chosen)]],
            left_out=len(known) - len(chosen),
            pairs=[
                CorrelatedPair(
                    first=names[rows[k]], second=names[columns[k]],
                    correlation=round(float(matrix[rows[k], columns[k]]), 3))
                for k in order if apart[rows[k], columns[k]] >= _STRONG])

    def figures(self) -> dict[str, Figure]:
        """The matrix as a map of colours."""
        places = list(range(len(self.names)))
        ticks: dict[str, Any] = {
            'tickvals': places, 'ticktext': [label(name, 30) for name in self.names],
            'tickfont': {'size': 9}, 'showgrid': False, 'zeroline': False}
        trace = {
            'type': 'heatmap', 'z': self.matrix, 'x': places, 'y': places, 'zmin': -1, 'zmax': 1,
            'colorscale': _COLOURS, 'colorbar': {'thickness': 12},
            'hovertemplate': '%{z:.2f}<extra></extra>'}
        return {'correlations': figure(
            [trace], axis(tickangle=-90, **ticks),
            axis(**ticks, autorange='reversed'), height=220 + 13 * len(places))}


def _first(combination: str, parameters: Sequence[str]) -> str:
    """The parameter that stands first in a combination, which is all of it where none does."""
    terms = terms_of(combination, parameters)
    return terms[0][1] if terms else combination
