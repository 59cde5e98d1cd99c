"""Robots against their fleet: parameters of each beside the median of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.report.plots import COLOURS, IDENTIFIED, Figure, axis, dots, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Series

# Fewest robots that make a fleet, rows of the figure and their height, and rows of the table.
_LEAST, _ROWS, _ROW, _MOST = 3, 30, 22, 40
# The median absolute deviation as a standard deviation.
_NORMAL_MAD = 1.4826
# Distance from the median in such deviations from which on a robot is drawn as one by itself.
_UNLIKE = 4.0


class FleetParameter(ReportModel):
    """One parameter of all robots.

    Attributes:
        name: Its name.
        unit: Its unit.
        values: Of each robot; None where its data does not tell.
        median: Of the robots.
        spread: Median absolute deviation from it, as a standard deviation.
    """

    name: str
    unit: str
    values: Series
    median: float
    spread: float

    def away(self, k: int) -> float | None:
        """Distance of a robot from the median in spreads."""
        value = self.values[k]
        return None if value is None or self.spread <= 0.0 else (value - self.median) / self.spread


class FleetRobotsSection(Section):
    """Parameters that the data of robots tells, beside those of the others."""

    section: Literal['fleet_robots'] = 'fleet_robots'
    title: ClassVar[str] = 'Robots against the fleet'
    robots: list[str]
    parameters: list[FleetParameter]

    @classmethod
    def of_values(
        cls, values: Mapping[str, Mapping[str, float]], units: Mapping[str, str]
    ) -> Self | None:
        """The section of some robots; None where they are too few.

        Args:
            values: Parameters that its data tells, by robot.
            units: Unit of each parameter.
        """
        names = dict.fromkeys(name for own in values.values() for name in own)
        found = []
        for name in names:
            told = np.array([own[name] for own in values.values() if name in own])
            if len(told) >= _LEAST:
                median = float(np.median(told))
                found.append(FleetParameter(
                    name=name, unit=units[name], median=median,
                    values=[own.get(name) for own in values.values()],
                    spread=_NORMAL_MAD * float(np.median(np.abs(told - median)))))
        return cls(robots=list(values), parameters=found) if found else None

    @property
    def ranked(self) -> list[tuple[str, float, str, FleetParameter]]:
        """Robots by how far they are from the fleet, with the parameter in which that shows."""
        ranked = []
        for k, robot in enumerate(self.robots):
            distances = [(abs(away), each) for each in self.parameters
                         if (away := each.away(k)) is not None]
            if distances:
                distance, parameter = max(distances, key=lambda pair: pair[0])
                value = parameter.values[k]
                ranked.append((robot, distance, f'{value:.4g}', parameter))
        return sorted(ranked, key=lambda row: -row[1])[:_MOST]

    def figures(self) -> dict[str, Figure]:
        """All robots along each parameter, those with one that is far away first."""
        count = len(self.robots)
        apart = [each for each in self.parameters if each.spread > 0.0]
        rows = sorted(apart, key=lambda each: -max(
            (abs(each.away(k) or 0.0) for k in range(count)), default=0.0))[:_ROWS]
        traces = []
        for name, colour, far in (
            ('robots', IDENTIFIED, False), (f'beyond {_UNLIKE:g} deviations', COLOURS[5], True)):
            points = [
                (away, place, self.robots[k]) for place, row in enumerate(rows)
                for k in range(count)
                if (away := row.away(k)) is not None and (abs(away) > _UNLIKE) is far]
            traces.append(dots(
                [point[0] for point in points], [point[1] for point in points], name, colour,
                size=7 if far else 5, text=[label(point[2]) for point in points]))
        places = list(range(len(rows)))
        return {'robots': figure(
            traces, axis('from the median of the robots [deviations of the robots]'),
            axis(tickvals=places, ticktext=[label(row.name, 44) for row in rows],
                 range=[len(rows) - 0.3, -0.7], zeroline=False), height=120 + _ROW * len(rows))}
