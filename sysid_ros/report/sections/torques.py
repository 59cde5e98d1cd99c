"""Torque of every joint over time, and what the model leaves of it."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.report.plots import (
    BEFORE,
    IDENTIFIED,
    RECORDED,
    RESIDUAL,
    Figure,
    axis,
    band,
    figure,
    line,
)
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import ReportModel, Section
from sysid_ros.report.series import Number, Series, bucket_starts, envelope, series

# Points of a line: two of each bucket. Fewer for robots of many joints, for the size of the page.
_BUCKETS, _ALL_BUCKETS = 1200, 12000


class JointTorque(ReportModel):
    """Torques of one joint in [N·m] or [N]; sigma is the RMS of the fitted residuals."""

    joint: str
    unit: str
    sigma: Number
    measured: Series
    identified: Series
    prior: Series
    residual: Series


class TorqueRows(ReportModel):
    """Torques of some rows; long ones are the smallest and largest values of short stretches."""

    rows: str
    time: Series
    every: int
    joints: list[JointTorque]


class TorquesSection(Section):
    """Torques of the rows to judge by, and of those that were fitted."""

    section: Literal['torques'] = 'torques'
    title: ClassVar[str] = 'Torque over time'
    groups: list[TorqueRows]

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Torques of a run."""
        return cls(groups=[_rows(source, rows, problem) for rows, problem in source.rows.items()])

    def figures(self) -> dict[str, Figure]:
        """A figure of every joint: torques above, what is left of them below."""
        return {
            f'torque-{group.rows}-{k}': _figure(group, joint)
            for group in self.groups for k, joint in enumerate(group.joints)}


def _rows(source: ReportSource, rows: str, problem: RegressionProblem) -> TorqueRows:
    theta, count = source.values_for(problem), len(problem.torque)
    starts = bucket_starts(count, min(_BUCKETS, _ALL_BUCKETS // max(problem.torque.shape[1], 1)))
    identified, prior = problem.predicted(theta), problem.predicted(problem.parameters.prior)
    time = np.arange(count) / problem.rate
    joints = []
    for k, name in enumerate(source.joint_names):
        measured = np.where(problem.usable[:, k], problem.torque[:, k], np.nan)
        joints.append(JointTorque(
            joint=name, unit=source.torque_units[k],
            sigma=source.estimate.residuals.rms_per_joint[k], **{
                word: series(envelope(values, starts)) for word, values in (
                    ('measured', measured), ('identified', identified[:, k]),
                    ('prior', prior[:, k]), ('residual', measured - identified[:, k]))}))
    shown = time if starts is None else np.repeat(time[starts], 2)
    every = 1 if starts is None else int(np.ceil(count / len(starts)))
    return TorqueRows(rows=rows, time=series(shown), every=every, joints=joints)


def _figure(group: TorqueRows, joint: JointTorque) -> Figure:
    traces = [
        line(group.time, joint.prior, 'before the fit', BEFORE, width=1.0),
        line(group.time, joint.measured, 'measured', RECORDED, width=1.6),
        line(group.time, joint.identified, 'identified', IDENTIFIED, width=1.1),
        line(group.time, joint.residual, 'measured − identified', RESIDUAL, width=0.9,
             yaxis='y2'),
    ]
    sigma = joint.sigma
    shapes = [] if sigma is None else [band(-2.0 * sigma, 2.0 * sigma, y='y2')]
    return figure(
        traces, axis('time of the rows [s]', anchor='y2'),
        axis(f'torque [{joint.unit}]', domain=[0.42, 1.0]), height=360,
        yaxis2=axis(f'residual [{joint.unit}]', domain=[0.0, 0.34]), shapes=shapes)
