"""How strongly the prior holds: a section that only estimators with that search have."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.estimation.regression.consistent.prior_strength import SEARCH_KEY, StrengthChoice
from sysid_ros.report.plots import IDENTIFIED, INK, Figure, axis, figure, line
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, series


class PriorStrengthSection(Section):
    """Errors of cross-validation by the strength of the prior.

    Attributes:
        strengths: Strengths that were tried.
        error: Mean error on stretches that were not fitted, in standard deviations of the noise.
        spread: Standard error of its excess over the least.
        chosen: The strength that was taken.
    """

    section: Literal['prior_strength'] = 'prior_strength'
    title: ClassVar[str] = 'Strength of the prior'
    strengths: Series
    error: Series
    spread: Series
    chosen: Number

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """The search of a fit; None where its estimator made none."""
        search = source.estimate.settings.get(SEARCH_KEY)
        if search is None:
            return None
        choice = StrengthChoice.from_json(search)
        return cls(
            strengths=[float(f'{value:.4g}') for value in choice.strengths],
            error=series(choice.errors.mean(axis=0)), spread=series(choice.standard_error),
            chosen=choice.chosen)

    def figures(self) -> dict[str, Figure]:
        """Error over strength."""
        mark = {
            'type': 'line', 'yref': 'paper', 'x0': self.chosen, 'x1': self.chosen, 'y0': 0, 'y1': 1,
            'line': {'color': INK, 'dash': 'dot', 'width': 1.2}}
        return {'strengths': figure(
            [line(self.strengths, self.error, 'error', IDENTIFIED, mode='lines+markers',
                  error_y={'type': 'data', 'array': self.spread, 'thickness': 1.2})],
            axis('strength of the prior', type='log', exponentformat='power'),
            axis('error [σ of the noise]'), height=280, showlegend=False, shapes=[mark])}
