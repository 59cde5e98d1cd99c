"""What speaks against handing an estimate over, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import CHANGE, LACKS, Estimate, Knowledge
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.data_objections import data_objections, pattern_objections
from sysid_ros.evaluation.nothing_to_gain import nothing_to_gain
from sysid_ros.evaluation.objection import Objection, held_at_prior
from sysid_ros.evaluation.prediction import SIGMAS, TorquePrediction
from sysid_ros.evaluation.residual_patterns import Pattern, ResidualPattern
from sysid_ros.evaluation.simulation import Simulation

# A held-out error above this multiple of the training error speaks of overfitting, and does harm
# when less than this part of what was gained over the prior is left.
OVERFIT, _KEPT = 1.5, 0.5
# A joint may be predicted this much worse than by the prior, beyond chance, before it is harm.
_JOINT_HARM = 1.25
# The same for the motion that is simulated.
SIMULATION_HARM = 1.1
# Part of the stretches that may run away when simulated: where a light joint turns round, a little
# noise in the torque decides which way it goes on.
FEW_DIVERGE = 0.05
# Part of the squared error from which a joint has to be predicted better than by its mean, beyond
# chance, of which there is at most so much.
_TELLING, _NEARLY = 0.25, 0.8
# Independent rows that each of the combinations of parameters needs.
_ROWS_PER_PARAMETER = 2.0
# Least part of the prior's error that has to be gone.
_GAINED = 0.02
# What other data answers: that there was none to judge by.
_UNTRIED = 'It was not tried on data the fit has not seen.'
_NO_ROW = 'No row of the held-out data counts'
_AT_REST = 'No joint moved in the data to judge by'
_JUDGE_BY_MOTION = 'Judge by a motion of every joint, as wide as the fitted one.'
# Beginnings of reasons that say that data left out are predicted no better than by the prior, and
# of those that are no fault of a fit where there was nothing to gain.
_UNSEEN = ('On held-out data it predicts', 'Stretches of the recording')
_NO_FAULT = (*_UNSEEN, 'Even the rows it was fitted to are', 'Simulated for')
_CONSISTENT = 'Fit with an estimator that allows only real bodies: fit: {estimator: entropic}.'


def find_objections(
    estimate: Estimate,
    prediction: TorquePrediction | None,
    folds: CrossValidation | None,
    simulation: Simulation | None,
    training: TorquePrediction | None,
    data: DataFindings,
    patterns: Sequence[ResidualPattern] = (),
) -> tuple[Objection, ...]:
    """All that speaks against an estimate, in the order in which it should be mended.

    For the evidence see :func:`~sysid_ros.evaluation.verdict.judge`.
    """
    unseen = prediction if prediction is not None and prediction.held_out else None
    return (
        *data_objections(estimate, data),
        *_solver(estimate), *_lacking(estimate), *_physics(estimate), *_identifiable(estimate),
        *_information(estimate, data.drifting), *_conditioning(estimate),
        *pattern_objections(patterns),
        *_against_prior(estimate, training, unseen, folds, simulation, data, patterns),
    )


def _against_prior(
    estimate: Estimate, training: TorquePrediction | None, unseen: TorquePrediction | None,
    folds: CrossValidation | None, simulation: Simulation | None, data: DataFindings,
    patterns: Sequence[ResidualPattern],
) -> Iterator[Objection]:
    """What a fit does not do better than the prior, and what it was not tried on."""
    nothing = None if patterns else nothing_to_gain(estimate, training)
    found = (
        *_training(estimate, training), *_untried(unseen, folds),
        *_held_out(estimate, unseen, data), *_folds(folds),
        *_simulation(simulation))
    if nothing is None or not any(one.reason.startswith(_UNSEEN) for one in found):
        yield from found
        return
    yield nothing
    yield from (one for one in found if not one.reason.startswith(_NO_FAULT))


def objections_of_fit(reasons: Sequence[str], next_steps: Sequence[str]) -> Iterator[Objection]:
    """What spoke against a fit when it was made, and does so whatever it is judged by later.

    Args:
        reasons: Those of its verdict; that it lacked data to judge by is left out.
        next_steps: One for each; where there is no reason, what to do now.
    """
    for reason, next_step in zip(reasons, next_steps, strict=False):
        if not reason.startswith((_UNTRIED, _NO_ROW, _AT_REST)):
            yield Objection(f'The fit itself was refused: {reason}', next_step)


def _solver(estimate: Estimate) -> Iterator[Objection]:
    if not estimate.status.ok:
        yield Objection(
            estimate.status.value,
            next((note for note in estimate.notes if note.startswith(CHANGE)),
                 'Look at the notes; widen the plausible ranges or mend the data.'),
        )


def _lacking(estimate: Estimate) -> Iterator[Objection]:
    """What stands in for something the model lacks is off by more than any residuals tell."""
    for note in estimate.notes:
        if note.startswith(LACKS):
            yield Objection(
                'The dynamics of this model do not converge without process noise, and it shows: '
                'what stands in for something the model lacks, friction above all, may be off by '
                'more than its interval says.',
                'Name the friction or the spring that it lacks, as in robot: {terms: '
                f'{{stribeck_friction: all}}}}; to accept it: {note.removeprefix(LACKS)}',
            )


def _physics(estimate: Estimate) -> Iterator[Objection]:
    bodies = [body for body, margin in estimate.margins.items() if not margin > 0.0]
    if bodies:
        yield Objection(
            f'No real mass distribution has the inertia found for {", ".join(bodies)}.',
            _CONSISTENT,
        )
    values = estimate.parameters
    outside = [
        f'{name} ({value:.3g})' for name, value, lower, upper in zip(
            values.names, values.values, values.lower, values.upper, strict=True
        )
        if not lower - 1e-9 * max(1.0, abs(lower)) <= value <= upper + 1e-9 * max(1.0, abs(upper))
    ]
    if outside:
        yield Objection(f'Outside of what physics allows: {", ".join(outside)}.', _CONSISTENT)


def _identifiable(estimate: Estimate) -> Iterator[Objection]:
    told = (Knowledge.DATA, Knowledge.COMBINATION, Knowledge.UNSETTLED)
    if not any(entry in told for entry in estimate.knowledge):
        yield Objection(
            'This data determines none of the parameters.',
            'Record a motion that moves every joint through its range.',
        )


def _information(estimate: Estimate, drifting: Sequence[str]) -> Iterator[Objection]:
    """Fewer independent rows than tell so many parameters apart."""
    rows, sought = float(estimate.residuals.effective_rows.sum()), len(estimate.base_values)
    if rows < _ROWS_PER_PARAMETER * sought:
        yield Objection(
            f'The fitted rows are worth {rows:.0f} independent ones, too few for the {sought} '
            'combinations of parameters that are sought.' + (
                f' The efforts of {", ".join(drifting)} drift along the recording, which all rows '
                'have in common.' if drifting else ''),
            Pattern.TREND.next_step if drifting else
            'Record longer, and motion that does not repeat itself.',
        )


def _conditioning(estimate: Estimate) -> Iterator[Objection]:
    for note in estimate.notes:
        if 'ill-conditioned' in note.lower():
            yield Objection(
                note, 'Record a motion that excites every joint, or fix the parameters it names.'
            )


def _training(estimate: Estimate, training: TorquePrediction | None) -> Iterator[Objection]:
    """A fit has to explain at least what it was fitted to."""
    if training is None or not estimate.status.ok:
        return
    errors = _Errors.of(estimate, training)
    if not errors.training < errors.prior:
        yield Objection(
            f'Even the rows it was fitted to are explained no better than by the prior '
            f'({errors.said(errors.training)} against {errors.said(errors.prior)}).',
            'Record a motion that moves every joint through its range, and check the '
            f'{training.signals}.',
        )


def _untried(
    unseen: TorquePrediction | None, folds: CrossValidation | None
) -> Iterator[Objection]:
    if unseen is None and folds is None:
        yield Objection(
            _UNTRIED,
            'Validate it on another recording, best on a faster or different motion.',
        )


def _held_out(
    estimate: Estimate, unseen: TorquePrediction | None, data: DataFindings
) -> Iterator[Objection]:
    """Errors on data the fit has not seen; of joints at rest these are errors of a constant."""
    still = data.judged_still
    if unseen is None:
        return
    if len(still) == len(unseen.joint_names):
        yield Objection(f'{_AT_REST}, which is no evidence for any model.', _JUDGE_BY_MOTION)
        return
    if not unseen.candidate.rows.any():
        yield Objection(
            f'{_NO_ROW}: its joints are slower than fit: {{minimum_velocity: …}}, which the '
            f'settings or the fitted recording say, or its {unseen.signals} are masked.',
            'Hold out a motion that is as fast and as wide as the fitted one; or count all rows, '
            'fit: {minimum_velocity: 0.0}.',
        )
        return
    errors = _Errors.of(estimate, unseen)
    blamed: Sequence[str] = ()
    if not (errors.held_out < (1.0 - _GAINED) * errors.prior and unseen.better):
        yield Objection(
            f'On held-out data it predicts {unseen.all_of_it} no better than the prior, beyond '
            f'chance ({errors.said(errors.held_out)} against {errors.said(errors.prior)}).',
            'Check units, signs and delays of the recording, then record more exciting motion.',
        )
    # Where most joints rest, the part that they make of the error is what differs from training.
    elif 2 * len(still) <= len(unseen.joint_names):
        yield from _overfit(errors) if data.disturbed is None else ()
    else:
        blamed = still if tuple(_overfit(errors)) else ()
    yield from _simplest(unseen, still, blamed)
    worse = clearly_worse_joints(unseen)
    if worse:
        harmed = held_at_prior([one.partition(' (')[0] for one in worse])
        yield Objection(
            f'Clearly worse than the prior on held-out data, RMS: {", ".join(worse)}.',
            'Look at these joints in the figures: a friction term, a delay or an effort scale '
            f'that does not fit shows there; if nothing does, keep their terms at the prior: '
            f'{harmed}.',
        )


def _simplest(
    unseen: TorquePrediction, still: Sequence[str], blamed: Sequence[str]
) -> Iterator[Objection]:
    """A model has to beat the simplest guesses: no torque at all, and each joint's mean.

    Args:
        unseen: Errors on data the fit has not seen.
        still: Joints at rest there.
        blamed: Those of them that are a reason whatever their error is.
    """
    if unseen.candidate.relative_error >= 1.0:
        yield Objection(
            f'On held-out data it is {100 * unseen.candidate.relative_error:.3g} % off: no '
            f'{unseen.what} at all would be nearer.',
            f'Check units, order and signs of the {unseen.signals}; the prior is no better a '
            'yardstick.',
        )
    poor = _as_constant(unseen)
    resting = [joint for joint in still if joint in (*blamed, *poor)]
    if resting:
        yield Objection(
            f'{", ".join(resting)} did not move in the data to judge by, which tells nothing of '
            f'{"it" if len(resting) == 1 else "them"}: a constant predicts a torque at rest as '
            'well as any model.', _JUDGE_BY_MOTION)
    moving = [said for joint, said in poor.items() if joint not in still]
    if moving:
        yield Objection(
            f'A constant {unseen.constant} would predict held-out data as well, RMS: '
            f'{", ".join(moving)}.',
            f'Check what the drives of these joints have as {unseen.signals}, and that they move.',
        )


def _as_constant(unseen: TorquePrediction) -> dict[str, str]:
    """Joints that their mean would predict as well, with both errors in words."""
    if unseen.spread is None:
        return {}
    rms, rows = unseen.candidate.rms_per_joint, unseen.candidate.rows
    chance = SIGMAS / np.sqrt(2.0 * np.maximum(unseen.candidate.effective_rows, 1.0))
    squares = rows * rms**2
    # A joint that carries next to nothing but noise need not be better than its mean.
    telling = squares > _TELLING * squares.sum()
    limit = np.where(telling, np.maximum(1.0 - chance, _NEARLY), 1.0 + chance) * unseen.spread
    return {
        joint: f'{joint} ({mine:.3g} against {mean:.3g})'
        for joint, mine, mean, most in zip(
            unseen.joint_names, rms, unseen.spread, limit, strict=True)
        if mine > most and mean > 0.0
    }


@dataclass(frozen=True)
class _Errors:
    """Errors in parts of the torque or, where nothing drove the robot, in [N·m] or [N]."""

    training: float
    held_out: float
    prior: float
    absolute: bool
    unit: str

    @classmethod
    def of(cls, estimate: Estimate, unseen: TorquePrediction) -> _Errors:
        """Errors of an estimate; in the unit of the torque where a relative one is not finite."""
        every = estimate.residuals, unseen.candidate, unseen.prior
        absolute = not all(np.isfinite(one.relative_error) for one in every)
        training, held_out, prior = (
            one.rms if absolute else one.relative_error for one in every)
        return cls(training, held_out, prior, absolute, unseen.unit)

    def said(self, error: float) -> str:
        """An error in words: with its unit where errors are absolute, else in [%]."""
        return f'{error:.3g} {self.unit}' if self.absolute else f'{100 * error:.2f} %'


def _overfit(errors: _Errors) -> Iterator[Objection]:
    """Little of what the fit gained over the prior is left on data it has not seen."""
    training, held_out, prior = errors.training, errors.held_out, errors.prior
    kept = (prior - held_out) / (prior - training) if prior > training else 1.0
    if held_out > OVERFIT * training and kept < _KEPT:
        yield Objection(
            f'It is overfitted: {errors.said(held_out)} error on held-out data after '
            f'{errors.said(training)} in training leave {100 * kept:.0f} % of what it seemed to '
            'gain over the prior.',
            'Weigh the prior by cross-validation, fit: {prior_strength: auto}, use fewer joint '
            'terms, or record longer and more varied motion.',
        )


def clearly_worse_joints(prediction: TorquePrediction) -> list[str]:
    """Joints that an estimate harms beyond chance, with its error and the prior's."""
    return worse_joints(prediction, _JOINT_HARM, SIGMAS)


def worse_joints(prediction: TorquePrediction, factor: float, sigmas: float = 0.0) -> list[str]:
    """Joints whose error is larger than the prior's, with both errors.

    Args:
        prediction: Errors of both.
        factor: How much larger.
        sigmas: By how many standard errors of the ratio beyond that.
    """
    chance = sigmas / np.sqrt(2.0 * np.maximum(prediction.candidate.effective_rows, 1.0))
    return [
        f'{joint} ({mine:.3g} against {before:.3g})'
        for joint, mine, before, slack in zip(
            prediction.joint_names, prediction.candidate.rms_per_joint,
            prediction.prior.rms_per_joint, chance, strict=True,
        ) if mine > (factor + slack) * before
    ]


def _folds(folds: CrossValidation | None) -> Iterator[Objection]:
    if folds is None:
        return
    if folds.failed:
        yield Objection(
            f'{len(folds.failed)} of {len(folds.folds)} folds could not be fitted: '
            f'{folds.failed[0].value}',
            'Record longer, so that every part of the recording can be missed.',
        )
    elif not folds.error < folds.prior_errors.mean():
        yield Objection(
            f'Stretches of the recording that were left out are predicted no better than by the '
            f'prior ({100 * folds.error:.2f} ± {100 * folds.spread:.2f} % against '
            f'{100 * folds.prior_errors.mean():.2f} %).',
            'Record longer and more varied motion, use fewer joint terms, or weigh the prior by '
            'cross-validation: fit: {prior_strength: auto}.',
        )


def _simulation(simulation: Simulation | None) -> Iterator[Objection]:
    if simulation is None:
        return
    trouble = simulation.candidate.problem()
    alone = trouble is not None and simulation.prior.problem() is None
    few = simulation.candidate.diverged <= FEW_DIVERGE * len(simulation.starts)
    candidate, prior = (
        simulation.relative_where_both_end() if alone and few else
        (simulation.relative(simulation.candidate), simulation.relative(simulation.prior)))
    if simulation.candidate.indefinite:
        yield Objection(f'It cannot be simulated: {trouble}.', _CONSISTENT)
    elif alone and not few:
        yield Objection(
            f'Simulated under {simulation.under}, {trouble}; with the prior none does.',
            'Look at inertia and friction of the joints that run away, and at the armature of '
            'geared joints.',
        )
    # Where even the prior loses to a constant velocity, torque noise decides between the two.
    elif candidate > SIMULATION_HARM * prior and prior < 1.0:
        yield Objection(
            f'Simulated for {simulation.horizon:.2g} s under {simulation.under}, it departs '
            f'{candidate / prior:.1f} times as far from the measured motion as the prior.',
            'Look at friction and armature: torques can fit while inertias are wrong; record '
            'faster motion, which shows inertia.',
        )
