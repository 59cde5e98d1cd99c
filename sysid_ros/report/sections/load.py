"""A load that was identified: mass, centre of mass and inertia, and what torques gain by it."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.payload.found_load import FoundLoad
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.report.plots import BEFORE, IDENTIFIED, Figure, Trace, axis, dots, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

_UNITS = {'mass': 'kg', 'center_of_mass': 'm', 'inertia_about_center_of_mass': 'kg·m²'}
_ROWS = {
    'mass': ('mass',), 'center_of_mass': tuple(f'centre of mass {axis}' for axis in 'xyz'),
    'inertia_about_center_of_mass': tuple(
        f'inertia {entry}' for entry in ('xx', 'xy', 'yy', 'xz', 'yz', 'zz'))}


class LoadQuantity(ReportModel):
    """A quantity of the load, and the half-width of its 95 % interval.

    The interval is None where the recordings do not tell the quantity.
    """

    name: str
    unit: str
    value: Number
    interval: Number


class LoadedJoint(ReportModel):
    """Error of torque of one joint in parts of its torque, without the load and with it."""

    joint: str
    without_load: Number
    with_load: Number


class LoadSection(Section):
    """A load on a link.

    Attributes:
        link: The link, in whose frame it is told.
        quantities: Mass, centre of mass, and inertia about it.
        significant: Whether the mass is more than three standard deviations.
        consistent: Whether it is a mass distribution that can exist.
        error_without: Torque error of the loaded recording without the load.
        error_with: The same with it.
        joints: The same joint by joint.
        status: How the fit ended.
    """

    section: Literal['load'] = 'load'
    title: ClassVar[str] = 'The load'
    link: str
    quantities: list[LoadQuantity]
    significant: bool
    consistent: bool
    error_without: Number
    error_with: Number
    joints: list[LoadedJoint]
    status: str

    @classmethod
    def of_load(cls, found: FoundLoad) -> Self:
        """The section of a load."""
        rows, estimate = found.rows, found.estimate
        torque = _rms(rows, np.where(rows.usable, rows.torque, 0.0))
        with np.errstate(divide='ignore', invalid='ignore'):
            without, loaded = (
                _rms(rows, rows.residuals(theta)) / torque
                for theta in (found.without_load, found.with_load))
        return cls(
            link=found.link, quantities=load_quantities(estimate),
            significant=estimate.significant, consistent=estimate.consistent,
            error_without=estimate.error_without, error_with=estimate.error_with,
            status=estimate.status.value, joints=[
                LoadedJoint(joint=name, without_load=without[k], with_load=loaded[k])
                for k, name in enumerate(rows.model.robot.joint_names)])

    @property
    def mass(self) -> LoadQuantity:
        """The mass."""
        return self.quantities[0]

    def figures(self) -> dict[str, Figure]:
        """Centre of mass and inertia with intervals, and errors of every joint."""
        return {
            'centre': _intervals(self.quantities[1:4]),
            'inertia': _intervals(self.quantities[4:]), 'errors': self._errors()}

    def _errors(self) -> Figure:
        names = [label(each.joint) for each in self.joints]
        bars: list[Trace] = [
            {'type': 'bar', 'name': name, 'x': names, 'marker': {'color': colour},
             'y': [None if value is None else round(100.0 * value, 3) for value in values],
             'hovertemplate': '%{x}: %{y:.3g} %<extra></extra>'}
            for name, colour, values in (
                ('with the load', IDENTIFIED, [each.with_load for each in self.joints]),
                ('without it', BEFORE, [each.without_load for each in self.joints]))]
        return figure(
            bars, axis(type='category'), axis('error [% of the torque]', rangemode='tozero'),
            height=300, barmode='group', bargap=0.35)


def load_quantities(estimate: PayloadEstimate) -> list[LoadQuantity]:
    """Mass, centre of mass, and inertia about it, each with its 95 % interval.

    Args:
        estimate: The load.
    """
    return [
        LoadQuantity(name=name, unit=_UNITS[field], value=value, interval=1.96 * deviation)
        for field, (values, deviations) in estimate.quantities().items()
        for name, value, deviation in zip(_ROWS[field], values, deviations, strict=True)]


def _rms(rows: RegressionProblem, values: np.ndarray) -> np.ndarray:
    """Root mean square of each joint over the rows that count, shape ``(n,)``."""
    return np.asarray(np.sqrt(np.sum(values**2, axis=0) / np.maximum(rows.counts, 1)))


def _intervals(quantities: list[LoadQuantity]) -> Figure:
    """Values with their intervals, those that are not known without one."""
    places = list(range(len(quantities)))
    values = [each.value for each in quantities]
    reach = max((abs(value) for value in values if value is not None), default=0.0)
    bars = {
        # An interval that is wider than all values would hide them.
        'type': 'data', 'thickness': 1.4, 'width': 4, 'color': IDENTIFIED,
        'array': [None if each.interval is None else min(each.interval, 3.0 * reach)
                  for each in quantities]}
    unit = label(quantities[0].unit) if quantities else ''
    return figure(
        [dots(values, places, 'load, 95 %', IDENTIFIED, size=7, error_x=bars,
              marker={'opacity': 1.0})],
        axis(f'[{unit}]'),
        axis(tickvals=places, ticktext=[label(each.name) for each in quantities],
             range=[len(places) - 0.4, -0.6], zeroline=False),
        height=100 + 26 * len(places), showlegend=False)
