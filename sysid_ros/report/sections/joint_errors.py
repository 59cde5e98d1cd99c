"""Error of every joint, of torque or of simulated motion, against the prior and no model."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.report.plots import BEFORE, IDENTIFIED, INK, Figure, Trace, axis, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, percent

# Bars beyond this, in percent, are cut off: the description may be wrong by any factor.
_MOST = 160.0


class JointError(ReportModel):
    """Errors of one joint: relative to its torque or motion, and RMS."""

    joint: str
    unit: str
    error: Number
    prior_error: Number
    rms: Number
    prior_rms: Number


class RowsErrors(ReportModel):
    """Errors on some rows."""

    rows: str
    source: str
    error: Number
    prior_error: Number
    joints: list[JointError]


class JointErrorsSection(Section):
    """Errors of every joint on the rows to judge by, and on those that were fitted.

    Attributes:
        simulated: Whether errors are of simulated motion; otherwise of torque.
    """

    section: Literal['joint_errors'] = 'joint_errors'
    title: ClassVar[str] = 'Error of every joint'
    simulated: bool = False
    errors: list[RowsErrors]

    @property
    def what(self) -> str:
        """What errors are of, in words."""
        return 'motion' if self.simulated else 'torque'

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Errors of a run."""
        is_motion = source.prediction.what == 'motion'
        units = source.position_units if is_motion else source.torque_units
        return cls(simulated=is_motion, errors=[
            _errors(rows, source.recording_of(rows), prediction, units)
            for rows, prediction in source.predictions.items()])

    def figures(self) -> dict[str, Figure]:
        """Bars of the rows to judge by."""
        judged = self.errors[0]
        names = [label(joint.joint) for joint in judged.joints]
        bars: list[Trace] = [
            {'type': 'bar', 'name': name, 'x': names, 'y': values, 'marker': {'color': colour},
             'hovertemplate': '%{x}: %{y:.3g} %<extra></extra>'}
            for name, colour, values in (
                ('identified', IDENTIFIED, [percent(each.error) for each in judged.joints]),
                ('before the fit', BEFORE, [percent(each.prior_error) for each in judged.joints]),
            )]
        largest = max([100.0, *(value for bar in bars for value in bar['y'] if value)])
        none = {
            'type': 'line', 'xref': 'paper', 'x0': 0, 'x1': 1, 'y0': 100, 'y1': 100,
            'line': {'color': INK, 'dash': 'dot', 'width': 1.2}}
        note = {
            'text': 'no model at all', 'xref': 'paper', 'x': 1, 'y': 100, 'xanchor': 'right',
            'yanchor': 'bottom', 'showarrow': False, 'font': {'size': 11}}
        return {'errors': figure(
            bars, axis(type='category'),
            axis(f'error [% of the {self.what}]', range=[0, min(1.08 * largest, _MOST)]),
            height=320, barmode='group', bargap=0.35, shapes=[none], annotations=[note])}


def _errors(
    rows: str, recording: str, prediction: TorquePrediction, units: tuple[str, ...]
) -> RowsErrors:
    own, prior = prediction.candidate, prediction.prior
    return RowsErrors(
        rows=rows, source=recording, error=own.relative_error,
        prior_error=prior.relative_error,
        joints=[
            JointError(
                joint=name, unit=units[k], error=own.relative_per_joint[k],
                prior_error=prior.relative_per_joint[k], rms=own.rms_per_joint[k],
                prior_rms=prior.rms_per_joint[k])
            for k, name in enumerate(prediction.joint_names)])
