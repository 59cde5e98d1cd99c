"""Steps of a fit of states and parameters: what each of its searches took off the cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.numerics.least_squares.damped import Iteration
from sysid_ros.report.plots import COLOURS, Figure, axis, figure, label, line
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series

# Stages that are named in the legend; more would hide the lines.
_NAMED = 12


class SearchStage(ReportModel):
    """A search of the fit.

    Attributes:
        name: What is particular to it.
        first: Number of its first step, from one on.
        cost: Half the sum of squared weighted residuals after each step. Stages with other
            residuals have other costs.
        accepted: How many of its steps were taken.
        seconds: What they took, in [s].
    """

    name: str
    first: int
    cost: Series
    accepted: int
    seconds: Number


class IterationsSection(Section):
    """The searches of a fit, in their order."""

    section: Literal['iterations'] = 'iterations'
    title: ClassVar[str] = 'Iterations'
    stages: list[SearchStage]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """The searches of a run; None where it is no fit by iterations over states."""
        if not source.iterations:
            return None
        numbered = enumerate(source.iterations, start=1)
        return cls(stages=[
            _stage(name, list(lines))
            for name, lines in groupby(numbered, lambda entry: entry[1].stage)])

    @property
    def steps(self) -> int:
        """How many steps all searches tried."""
        return sum(len(stage.cost) for stage in self.stages)

    def figures(self) -> dict[str, Figure]:
        """Cost over steps, by stage."""
        traces = []
        for k, stage in enumerate(self.stages):
            colour = COLOURS[k % len(COLOURS)]
            steps = [stage.first + step for step in range(len(stage.cost))]
            traces.append(line(
                steps, stage.cost, label(stage.name), colour, mode='lines+markers',
                marker={'size': 4, 'color': colour}, showlegend=k < _NAMED))
        return {'cost': figure(
            traces, axis('step'),
            axis('half the sum of squared residuals [σ²]', type='log', exponentformat='power'),
            height=340)}


def _stage(name: str, lines: Sequence[tuple[int, Iteration]]) -> SearchStage:
    steps = [entry for _, entry in lines]
    return SearchStage(
        name=name, first=lines[0][0],
        cost=[float(f'{step.cost:.5g}') if np.isfinite(step.cost) else None for step in steps],
        accepted=sum(step.accepted for step in steps),
        seconds=float(f'{sum(step.seconds for step in steps):.3g}'))
