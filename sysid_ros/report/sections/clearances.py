"""How near a planned motion comes to what it could hit."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.plots import IDENTIFIED, RESIDUAL, Figure, axis, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

# Pairs that are kept, the nearest ones, and pixels of each.
_MOST, _ROW = 20, 22


class Clearance(ReportModel):
    """What is kept free, the smallest room beyond what is required in [m], and when in [s]."""

    what: str
    room: Number
    time: Number


class ClearancesSection(Section):
    """The smallest clearances of a motion.

    Attributes:
        clearances: The smallest ones, the nearest first.
        left_out: How many larger ones are not listed.
    """

    section: Literal['clearances'] = 'clearances'
    title: ClassVar[str] = 'Clearances'
    clearances: list[Clearance]
    left_out: int

    @classmethod
    def of_motion(cls, source: PlannedMotion) -> Self | None:
        """The section of a motion; None where nothing is in the way."""
        found = source.clearances
        if not found:
            return None
        return cls(
            clearances=[Clearance(what=what, room=room, time=time)
                        for what, room, time in found[:_MOST]],
            left_out=max(len(found) - _MOST, 0))

    def figures(self) -> dict[str, Figure]:
        """Bars of the smallest clearances."""
        rooms = [None if each.room is None else round(1e3 * each.room, 2)
                 for each in self.clearances]
        places = list(range(len(rooms)))
        bars = {
            'type': 'bar', 'orientation': 'h', 'x': rooms, 'y': places, 'name': 'room',
            'marker': {'color': [RESIDUAL if (room or 0.0) < 0.0 else IDENTIFIED
                                 for room in rooms]},
            'hovertemplate': '%{x:.1f} mm<extra></extra>'}
        return {'clearances': figure(
            [bars], axis('room beyond what is required [mm]'),
            axis(tickvals=places, ticktext=[label(each.what, 54) for each in self.clearances],
                 range=[len(rooms) - 0.4, -0.6], zeroline=False),
            height=100 + _ROW * len(rooms), showlegend=False)}
