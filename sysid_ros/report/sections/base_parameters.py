"""Base parameters: what torques can tell, in words, and how well this motion told it."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.regression.conditioning import WARNED, Conditioning
from sysid_ros.report.combination_words import combination_words
from sysid_ros.report.plots import IDENTIFIED, Figure, axis, dots, figure
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series


class BaseParameter(ReportModel):
    """A combination of parameters that torques tell, in words too, with its 95 % interval."""

    combination: str
    words: str = ''
    value: Number
    interval: Number
    relative: Number


class BaseParametersSection(Section):
    """Base parameters of the free parameters.

    Attributes:
        singular_values: Of the base regressor with rows and columns brought to one size.
        condition: Largest over smallest.
        good_below: Condition number above which people are warned.
        alike: Base parameters that the motion tells apart least.
        parameters: The base parameters.
    """

    section: Literal['base_parameters'] = 'base_parameters'
    title: ClassVar[str] = 'Base parameters'
    singular_values: Series
    condition: Number
    good_below: float
    alike: list[str]
    parameters: list[BaseParameter]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Base parameters of a run; None where it has none."""
        estimate, conditioning = source.estimate, source.conditioning
        if not estimate.base_names:
            return None
        interval = 1.96 * estimate.base_standard_deviation()
        with np.errstate(divide='ignore', invalid='ignore'):
            relative = interval / np.abs(estimate.base_values)
        motion = conditioning or Conditioning(float('nan'), ())
        return cls(
            singular_values=[float(f'{value:.4g}') for value in motion.singular_values],
            condition=motion.number, good_below=WARNED, alike=list(motion.alike),
            parameters=[
                BaseParameter(
                    combination=name, words=combination_words(name, estimate.parameters.names),
                    value=estimate.base_values[k], interval=interval[k], relative=relative[k])
                for k, name in enumerate(estimate.base_names)])

    def figures(self) -> dict[str, Figure]:
        """Singular values, the largest first."""
        if not self.singular_values:
            return {}
        return {'singular-values': figure(
            [dots(range(1, len(self.singular_values) + 1), self.singular_values,
                  'singular values', IDENTIFIED, size=6, mode='lines+markers')],
            axis('number'), axis('singular value', type='log', exponentformat='power', dtick=1),
            height=260, showlegend=False)}
