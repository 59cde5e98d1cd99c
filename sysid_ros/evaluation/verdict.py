"""The verdict: may these parameters be handed to a controller, and if not, what to do.

What could do harm is a reason against; what a person should only know is a remark. Worse than the
prior, in whatever respect that is beyond chance, is harm: the prior is what runs today.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.data_findings import NO_FINDINGS, DataFindings
from sysid_ros.evaluation.objection import Objection
from sysid_ros.evaluation.objections import find_objections
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.remarks import find_remarks
from sysid_ros.evaluation.residual_patterns import ResidualPattern
from sysid_ros.evaluation.simulation import Simulation

_TRY = 'Export the description, and try it on the robot at low speed first.'


@dataclass(frozen=True)
class Verdict:
    """Whether an estimate may be committed.

    Attributes:
        committable: The answer.
        reasons: What speaks against it, one sentence each; empty when committable.
        next_steps: What to do about each reason; what to do now when there is none.
        remarks: What a person should know in either case.
    """

    committable: bool
    reasons: tuple[str, ...]
    next_steps: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def next_step(self) -> str:
        """The first next step; reasons come in the order in which they should be mended."""
        return self.next_steps[0]

    def with_remarks(self, remarks: Sequence[str]) -> Verdict:
        """The verdict with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def with_objections(self, objections: Sequence[Objection]) -> Verdict:
        """The verdict with more that speaks against the estimate, before what was known."""
        if not objections:
            return self
        return replace(
            self, committable=False,
            reasons=(*(one.reason for one in objections), *self.reasons),
            next_steps=(*(one.next_step for one in objections),
                        *(() if self.committable else self.next_steps)))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'committable': self.committable, 'reasons': list(self.reasons),
            'next_steps': list(self.next_steps), 'remarks': list(self.remarks),
            'next_step': self.next_step,
        }


def judge(
    estimate: Estimate,
    prediction: TorquePrediction | None,
    *,
    folds: CrossValidation | None = None,
    simulation: Simulation | None = None,
    training: TorquePrediction | None = None,
    data: DataFindings = NO_FINDINGS,
    patterns: Sequence[ResidualPattern] = (),
) -> Verdict:
    """Judge an estimate by its own status and by data that it has not seen.

    Folds count as data that was not seen, but of the same motion, and the verdict says so.

    Args:
        estimate: The estimate.
        prediction: Its errors on held-out data; None when there is none.
        folds: Cross-validation within the fitted recording.
        simulation: Stretches of held-out data, simulated.
        training: Errors on the rows it was fitted to; None where they are not at hand.
        data: What the data that was fitted shows by itself.
        patterns: What the residuals of what was fitted follow.

    Returns:
        The verdict. Without held-out data or folds nothing is committable.
    """
    objections = find_objections(
        estimate, prediction, folds, simulation, training, data, patterns)
    return Verdict(
        committable=not objections,
        reasons=tuple(objection.reason for objection in objections),
        next_steps=tuple(objection.next_step for objection in objections) or (_TRY,),
        remarks=find_remarks(estimate, prediction, folds, simulation, data),
    )
