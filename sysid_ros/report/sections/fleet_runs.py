"""Fits of a fleet: verdicts, errors, and where each report is."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Literal

from sysid_ros.report.plots import BEFORE, COLOURS, Figure, axis, dots, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, percent

_COMMITTABLE = 'committable'


class FleetRun(ReportModel):
    """A fit of a fleet; the entries are those of the table ``results``.

    Attributes:
        link: Page of its report, relative to the page of the fleet; empty where there is none.
    """

    run: str
    robot: str
    source: str
    status: str
    reason: str
    error: Number
    prior_error: Number
    held_out: bool
    finished: str
    link: str


class FleetRunsSection(Section):
    """Verdicts and errors of all fits."""

    section: Literal['fleet_runs'] = 'fleet_runs'
    title: ClassVar[str] = 'Verdicts'
    runs: list[FleetRun]

    @property
    def robots(self) -> list[str]:
        """Robots in the order of the table."""
        return list(dict.fromkeys(run.robot for run in self.runs))

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many fits came to what, the most first."""
        return Counter(run.status for run in self.runs).most_common()

    @property
    def good(self) -> bool:
        """Whether all fits are committable."""
        return all(run.status == _COMMITTABLE for run in self.runs)

    def figures(self) -> dict[str, Figure]:
        """Errors of every robot, after the fit and before."""
        judged = [run for run in self.runs if run.error is not None]
        traces = [dots(
            [label(run.robot) for run in judged], [percent(run.prior_error) for run in judged],
            'before, by the description', BEFORE, size=6)]
        for name, colour, chosen in (
            ('committable', COLOURS[2], True), ('not committable', COLOURS[5], False)):
            own = [run for run in judged if (run.status == _COMMITTABLE) is chosen]
            traces.append(dots(
                [label(run.robot) for run in own], [percent(run.error) for run in own], name,
                colour, size=8, text=[label(run.source, 60) for run in own]))
        return {'errors': figure(
            traces, axis(type='category', categoryorder='array',
                         categoryarray=[label(robot) for robot in self.robots]),
            axis('error [% of the torque]', type='log'), height=340)}
