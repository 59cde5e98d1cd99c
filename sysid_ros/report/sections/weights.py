"""How much the rows of every joint weigh in a regression, and which of them do not count."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.plots import RESIDUAL, Figure, axis, figure, label, line
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import TRAINING, ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, series

# Height of a joint in the figure, and of what is around them, in pixels.
_STRIP, _AROUND = 24, 90
# Joints that are drawn: a page stays small whatever robot it is of.
_MOST_JOINTS = 24


class JointWeight(ReportModel):
    """Rows of one joint.

    Attributes:
        unit: Of the noise.
        rows: How many were fitted.
        independent: As many independent ones would tell as much.
        noise: Root mean square σ of what the fit leaves of them, which weigh by 1/σ².
        outliers: How many did not count.
        left_out: Begin and end of each run of those in turn, in [s] of the fitted rows.
    """

    joint: str
    unit: str
    rows: int
    independent: Number
    noise: Number
    outliers: int
    left_out: Series = []


class WeightsSection(Section):
    """Weights of the fitted rows.

    Attributes:
        looked_for_outliers: Whether the estimator leaves out rows that are beyond the others.
        duration: Of the fitted rows in [s].
        joints: Rows of each joint.
    """

    section: Literal['weights'] = 'weights'
    title: ClassVar[str] = 'Weights'
    looked_for_outliers: bool
    duration: Number
    joints: list[JointWeight]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Weights of a run; None where no rows of torques were fitted, or they are not at hand."""
        fitted, estimate = source.rows.get(TRAINING), source.estimate
        if fitted is None or source.prediction.what == 'motion' or source.iterations:
            return None
        residuals, joints = estimate.residuals, []
        for k, name in enumerate(source.joint_names):
            runs = estimate.outliers.get(name, ())
            joints.append(JointWeight(
                joint=name, unit=source.torque_units[k], rows=int(residuals.rows[k]),
                independent=residuals.effective_rows[k], noise=residuals.rms_per_joint[k],
                outliers=sum(stop - start for start, stop in runs),
                left_out=series([row / fitted.rate for rows in runs for row in rows])))
        return cls(
            looked_for_outliers=bool(estimate.outliers), joints=joints,
            duration=len(fitted.torque) / fitted.rate)

    @property
    def drawn(self) -> list[JointWeight]:
        """Joints with rows that do not count, those with most of them first if there are many."""
        lost = [joint for joint in self.joints if joint.outliers]
        return sorted(lost, key=lambda joint: -joint.outliers)[:_MOST_JOINTS]

    def figures(self) -> dict[str, Figure]:
        """When rows of which joint did not count."""
        if not self.drawn:
            return {}
        traces = []
        for joint in self.drawn:
            begins, ends = joint.left_out[::2], joint.left_out[1::2]
            times = [time for run in zip(begins, ends, strict=True) for time in (*run, None)]
            name = label(joint.joint)
            heights = [None if time is None else name for time in times]
            traces.append(line(times, heights, name, RESIDUAL, width=9.0))
        return {'left_out': figure(
            traces, axis('time [s]', range=[0.0, self.duration]),
            axis(autorange='reversed', type='category'),
            height=_AROUND + _STRIP * len(traces), showlegend=False)}
