"""The verdict: what the first screen says."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.headline import gain, headline, worst_joint
from sysid_ros.report.report_source import HELD_OUT, ReportSource
from sysid_ros.report.sections.section import ReportModel, Section
from sysid_ros.report.series import Number


class Reason(ReportModel):
    """What speaks against a model, and what to do about it."""

    reason: str
    next_step: str


class VerdictSection(Section):
    """Verdict, three sentences and the next step.

    Attributes:
        committable: The verdict.
        sentences: What was gained, where it is worst, how much the data told.
        next_step: What to do first.
        reasons: What speaks against it.
        rows: ``'held-out'`` or ``'training'``: what errors are of.
        error: Relative error on them, of torque or of simulated motion.
        simulated: Whether errors are of simulated motion; otherwise of torque.
        prior_error: That of the description.
        gain: How many times smaller the error is.
        worst_joint: Joint with the largest relative error.
        worst_error: That error.
        consistent: Whether every body is a real mass distribution.
        status: How the fit ended.
        estimator: Name of the estimator.
    """

    section: Literal['verdict'] = 'verdict'
    title: ClassVar[str] = 'Verdict'
    committable: bool
    sentences: list[str]
    next_step: str
    reasons: list[Reason]
    rows: str
    error: Number
    prior_error: Number
    gain: Number
    worst_joint: str | None
    worst_error: Number
    consistent: bool
    status: str
    estimator: str
    simulated: bool = False

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """The verdict of a run."""
        verdict, prediction, estimate = source.verdict, source.prediction, source.estimate
        joint = worst_joint(prediction)
        return cls(
            committable=verdict.committable,
            sentences=list(headline(source.predictions, estimate)),
            next_step=verdict.next_step,
            reasons=[Reason(reason=reason, next_step=step) for reason, step in zip(
                verdict.reasons, verdict.next_steps, strict=False)],
            rows=next(iter(source.predictions)),
            error=prediction.candidate.relative_error,
            prior_error=prediction.prior.relative_error, gain=gain(prediction),
            worst_joint=None if joint is None else prediction.joint_names[joint],
            worst_error=None if joint is None
            else prediction.candidate.relative_per_joint[joint],
            consistent=estimate.consistent, status=estimate.status.value,
            estimator=estimate.estimator, simulated=prediction.what == 'motion',
        )

    @property
    def unseen(self) -> bool:
        """Whether the errors are of rows that were not fitted."""
        return self.rows == HELD_OUT
