"""The verdict: what the first screen says."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.estimation.identifiability import Identifiability
from sysid_ros.report.headline import gain, headline, worst_joint
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import HELD_OUT, ReportSource
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number

# Motions, and names of parameters for each, on the first page.
_MOTIONS, _NAMES = 2, 4
# A parameter is unknown above this part of what the prior left open; a motion tells it that leaves
# less than this part of that.
_OPEN, _TOLD = 0.5, 0.5


class Reason(ReportModel):
    """What speaks against a model, and what to do about it."""

    reason: str
    next_step: str


class Unknown(ReportModel):
    """Parameters that the data left open, and the motion that would tell them."""

    names: list[str]
    more: int
    motion: str


class VerdictSection(Section):
    """Verdict, three sentences and the next step.

    Attributes:
        committable: The verdict.
        sentences: What was gained, where it is worst, how much the data told.
        next_step: What to do first.
        reasons: What speaks against it.
        rows: ``'held-out'`` or ``'training'``: what errors are of.
        error: Relative error on them, of torque or of simulated motion.
        unknown: What the data left open and a motion would tell, the most parameters first.
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
    unknown: list[Unknown] = []

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
            unknown=unknown_parameters(estimate.identifiability),
        )

    @property
    def unseen(self) -> bool:
        """Whether the errors are of rows that were not fitted."""
        return self.rows == HELD_OUT


def unknown_parameters(found: Identifiability | None) -> list[Unknown]:
    """Parameters that the data left open and a motion would tell, the most of them first.

    Args:
        found: What the data leaves open; None where that was not looked for.
    """
    by_motion: dict[str, list[str]] = {}
    for entry in () if found is None else found.weak:
        if entry.motion is not None and entry.left >= _OPEN and entry.then < _TOLD * entry.left:
            by_motion.setdefault(entry.motion, []).append(entry.name)
    ordered = sorted(by_motion.items(), key=lambda item: -len(item[1]))
    return [
        Unknown(names=names[:_NAMES], more=max(len(names) - _NAMES, 0), motion=motion)
        for motion, names in ordered[:_MOTIONS]]
