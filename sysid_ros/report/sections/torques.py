"""Torque of every joint over time, and what the model leaves of it."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.commanded_torque import torque_name
from sysid_ros.report.plots import (
    BEFORE,
    IDENTIFIED,
    RECORDED,
    RESIDUAL,
    Figure,
    axis,
    band,
    figure,
    label,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, bucket_starts, envelope, series

# Points of a line: two of each bucket. Fewer for robots of many joints, for the size of the page.
_BUCKETS, _ALL_BUCKETS = 1200, 12000
# Joints that are seen at once: all of an arm, and the worst ones of a humanoid.
_FEW, _WORST = 10, 6


class JointTorque(ReportModel):
    """Torques of one joint in [N·m] or [N].

    Attributes:
        measured: By a sensor, or by the commands of its drive.
        measured_name: Which of both.
        sigma: RMS of fitted residuals of torque.
    """

    joint: str
    unit: str
    sigma: Number
    measured: Series
    identified: Series
    prior: Series
    residual: Series
    measured_name: str = 'measured'


class TorqueRows(ReportModel):
    """Torques of some rows; long ones are the smallest and largest values of short stretches."""

    rows: str
    time: Series
    every: int
    joints: list[JointTorque]

    @property
    def parts(self) -> list[list[int]]:
        """Numbers of the joints that are seen at once; and of many of the others, if any."""
        every = list(range(len(self.joints)))
        if len(every) <= _FEW:
            return [every]
        worst = set(sorted(every, key=lambda k: _part_left(self.joints[k]), reverse=True)[:_WORST])
        return [[k for k in every if k in worst], [k for k in every if k not in worst]]

    @classmethod
    def of(
        cls, rows: str, problem: RegressionProblem, identified: np.ndarray, prior: np.ndarray,
        sigma: np.ndarray,
    ) -> Self:
        """Torques of some rows by two sets of parameters.

        Args:
            rows: What the rows are called.
            problem: The rows.
            identified: Parameters, shape ``(p,)``; residuals are those of them.
            prior: Parameters to compare with, shape ``(p,)``.
            sigma: Usual residual of each joint in [N·m] or [N], shape ``(n,)``.
        """
        robot, count = problem.model.robot, len(problem.torque)
        starts = bucket_starts(
            count, min(_BUCKETS, _ALL_BUCKETS // max(problem.torque.shape[1], 1)))
        predicted, before = problem.predicted(identified), problem.predicted(prior)
        time = np.arange(count) / problem.rate
        joints = []
        for k, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True)):
            measured = np.where(problem.usable[:, k], problem.torque[:, k], np.nan)
            joints.append(JointTorque(
                joint=name, unit='N' if kind == 'prismatic' else 'N·m', sigma=sigma[k],
                measured_name=torque_name(problem.model, name), **{
                    word: series(envelope(values, starts)) for word, values in (
                        ('measured', measured), ('identified', predicted[:, k]),
                        ('prior', before[:, k]), ('residual', measured - predicted[:, k]))}))
        shown = time if starts is None else np.repeat(time[starts], 2)
        every = 1 if starts is None else int(np.ceil(count / len(starts)))
        return cls(rows=rows, time=series(shown), every=every, joints=joints)


def _part_left(joint: JointTorque) -> float:
    """Root mean square of what the model leaves of a torque, in parts of the torque."""
    left, torque = (
        float(np.sqrt(np.mean(np.square([x for x in values if x is not None] or [0.0]))))
        for values in (joint.residual, joint.measured))
    return left / torque if torque > 0.0 else 0.0


class TorquesSection(Section):
    """Torques of the rows to judge by, and of those that were fitted.

    Attributes:
        groups: Torques of some rows.
        identified_name: What the torques are called that stand under ``identified``.
        prior_name: The same of those under ``prior``.
    """

    section: Literal['torques'] = 'torques'
    title: ClassVar[str] = 'Torque over time'
    groups: list[TorqueRows]
    identified_name: str = 'identified'
    prior_name: str = 'before the fit'

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Torques of a run."""
        return cls(groups=[
            TorqueRows.of(
                rows, problem, source.values_for(problem), problem.parameters.prior,
                source.torque_sigma)
            for rows, problem in source.rows.items()])

    def figures(self) -> dict[str, Figure]:
        """A figure of every joint: torques above, what is left of them below."""
        return {
            f'torque-{group.rows}-{k}': self._figure(group, joint)
            for group in self.groups for k, joint in enumerate(group.joints)}

    def _figure(self, group: TorqueRows, joint: JointTorque) -> Figure:
        traces = [
            line(group.time, joint.prior, label(self.prior_name), BEFORE, width=1.0),
            line(group.time, joint.measured, label(joint.measured_name), RECORDED, width=1.6),
            line(group.time, joint.identified, label(self.identified_name), IDENTIFIED, width=1.1),
            line(group.time, joint.residual,
                 f'{label(joint.measured_name)} − {label(self.identified_name)}', RESIDUAL,
                 width=0.9, yaxis='y2'),
        ]
        sigma = joint.sigma
        shapes = [] if sigma is None else [band(-2.0 * sigma, 2.0 * sigma, y='y2')]
        return figure(
            traces, axis('time of the rows [s]', anchor='y2'),
            axis(f'torque [{joint.unit}]', domain=[0.42, 1.0]), height=360,
            yaxis2=axis(f'residual [{joint.unit}]', domain=[0.0, 0.34]), shapes=shapes)
