"""The verdict: may these parameters be handed to a controller, and if not, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.evaluation.prediction import TorquePrediction

# A held-out error above this multiple of the training error speaks of overfitting.
_OVERFIT = 1.5
# A joint may be predicted this much worse than by the prior before it counts as harm.
_HARM = 1.1
# More masses than this factor from the prior are worth a look.
_MASS_FACTOR = 3.0


@dataclass(frozen=True)
class Verdict:
    """Whether an estimate may be committed.

    Attributes:
        committable: The answer.
        reasons: What speaks against it, one sentence each; empty when committable.
        remarks: What a person should know in either case.
        next_step: What to do now.
    """

    committable: bool
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    next_step: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'committable': self.committable, 'reasons': list(self.reasons),
            'remarks': list(self.remarks), 'next_step': self.next_step,
        }


def judge(estimate: Estimate, prediction: TorquePrediction | None) -> Verdict:
    """Judge an estimate by its own status and by held-out data.

    Args:
        estimate: The estimate.
        prediction: Its errors on held-out data; None when there is none.

    Returns:
        The verdict. Without held-out data nothing is committable.
    """
    checks = (
        _solver(estimate), _physics(estimate), _identifiable(estimate),
        _better_than_prior(prediction),
    )
    failed = [check for check in checks if check is not None]
    reasons = tuple(reason for reason, _ in failed)
    return Verdict(
        committable=not failed,
        reasons=reasons,
        remarks=_remarks(estimate, prediction),
        next_step=failed[0][1] if failed else
        'Export the URDF, and try it on the robot at low speed first.',
    )


_Failure = tuple[str, str] | None


def _solver(estimate: Estimate) -> _Failure:
    if estimate.status.ok:
        return None
    return estimate.status.value, 'Look at the notes; widen the plausible ranges or mend the data.'


def _physics(estimate: Estimate) -> _Failure:
    bodies = [body for body, margin in estimate.margins.items() if not margin > 0.0]
    if bodies:
        return (
            f'No real mass distribution has the inertia found for {", ".join(bodies)}.',
            "Fit with the estimator 'lmi' or 'entropic', which allow only real bodies.",
        )
    values = estimate.parameters
    outside = [
        name for name, value, lower, upper in zip(
            values.names, values.values, values.lower, values.upper, strict=True
        )
        if not lower - 1e-9 * max(1.0, abs(lower)) <= value <= upper + 1e-9 * max(1.0, abs(upper))
    ]
    if outside:
        return (
            f'Outside of their bounds: {", ".join(outside)}.',
            "Fit with the estimator 'lmi' or 'entropic', which respect bounds.",
        )
    return None


def _identifiable(estimate: Estimate) -> _Failure:
    if any(entry is Knowledge.DATA or entry is Knowledge.COMBINATION for entry in
           estimate.knowledge):
        return None
    return (
        'This data determines none of the parameters.',
        'Record a motion that moves every joint through its range.',
    )


def _better_than_prior(prediction: TorquePrediction | None) -> _Failure:
    if prediction is None or not prediction.held_out:
        return (
            'It was not tried on data the fit has not seen.',
            'Validate it on another recording, best on a faster or different motion.',
        )
    candidate, prior = prediction.candidate.relative_error, prediction.prior.relative_error
    if candidate < prior:
        return None
    return (
        f'On held-out data it predicts torques no better than the prior '
        f'({100 * candidate:.2f} % against {100 * prior:.2f} %).',
        'Check units, signs and delays of the recording, then record more exciting motion.',
    )


def _remarks(estimate: Estimate, prediction: TorquePrediction | None) -> tuple[str, ...]:
    remarks = list(estimate.notes)
    if estimate.unidentified:
        remarks.append(
            f'Not determined by this data: {"; ".join(estimate.unidentified)}. '
            'A motion that moves the joints they act on would help.'
        )
    parameters = estimate.parameters
    far = [
        f'{body} ({parameters[f"{body}.mass"]:.3g} kg against {prior:.3g} kg)'
        for body in parameters.bodies
        if (prior := parameters.prior[parameters.index(f'{body}.mass')]) > 0.0
        and not prior / _MASS_FACTOR <= parameters[f'{body}.mass'] * (1 + 1e-6)
        <= _MASS_FACTOR * prior * (1 + 2e-6)
    ]
    if far:
        remarks.append(f'Masses far from the prior: {", ".join(far)}.')
    if prediction is not None and prediction.held_out:
        remarks += _generalisation(estimate, prediction)
    return tuple(remarks)


def _generalisation(estimate: Estimate, prediction: TorquePrediction) -> list[str]:
    remarks = []
    training, held_out = estimate.residuals.relative_error, prediction.candidate.relative_error
    if held_out > _OVERFIT * training > 0.0:
        remarks.append(
            f'The held-out error is {held_out / training:.1f} times the training error: '
            'the motions differ, or the model has too much freedom.'
        )
    worse = [
        f'{joint} ({mine:.3g} against {before:.3g})'
        for joint, mine, before in zip(
            prediction.joint_names, prediction.candidate.rms_per_joint,
            prediction.prior.rms_per_joint, strict=True,
        ) if mine > _HARM * before
    ]
    if worse:
        remarks.append(f'Predicted worse than by the prior, RMS: {", ".join(worse)}.')
    return remarks
