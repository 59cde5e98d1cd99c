"""Every registered estimator on the same data, side by side, and the one to take.

What chooses is the error on stretches of the training data that were left out in turn. Data to
judge by has no part in it: reported as unseen, it must not have chosen what is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.estimation.estimator import Estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.evaluation import Evaluation

# Errors on left-out stretches this near to the best are the same; the safer margin decides then.
_AS_GOOD = 1.05


@dataclass(frozen=True, eq=False)
class Contender:
    """One estimator that came to an end.

    Attributes:
        name: Name of the estimator.
        evaluation: What it found, and how good that is.
        seconds: Time of the fit alone.
    """

    name: str
    evaluation: Evaluation
    seconds: float

    @property
    def unseen_error(self) -> float:
        """Relative error on held-out data, or else of the folds; NaN without either."""
        if self.evaluation.held_out is not None:
            return self.evaluation.held_out.candidate.relative_error
        return float('nan') if self.evaluation.folds is None else self.evaluation.folds.error

    @property
    def fold_error(self) -> float:
        """Relative error on stretches of the training data left out in turn; NaN without any."""
        folds = self.evaluation.folds
        return float('nan') if folds is None or folds.failed else folds.error

    @property
    def worst_joint(self) -> tuple[str, float]:
        """Joint with the largest error beside the prior's, and their ratio.

        On held-out data where there is some, or else on the fitted rows.
        """
        prediction = self.evaluation.held_out or self.evaluation.training
        with np.errstate(divide='ignore', invalid='ignore'):
            ratio = prediction.candidate.rms_per_joint / prediction.prior.rms_per_joint
        worst = int(np.argmax(np.where(np.isnan(ratio), -1.0, ratio)))
        return prediction.joint_names[worst], float(ratio[worst])

    @property
    def smallest_margin(self) -> float:
        """Consistency margin of the body that is nearest to what nothing can have."""
        return min(self.evaluation.estimate.margins.values(), default=float('nan'))

    @property
    def simulation_error(self) -> float:
        """Error of simulated stretches over that of constant velocity; NaN without any."""
        simulation = self.evaluation.simulation
        return float('nan') if simulation is None else simulation.relative(simulation.candidate)

    @property
    def known(self) -> int:
        """Parameters that this data tells by themselves."""
        return sum(entry is Knowledge.DATA for entry in self.evaluation.estimate.knowledge)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not finite as null."""
        estimate, verdict = self.evaluation.estimate, self.evaluation.verdict
        joint, ratio = self.worst_joint
        numbers = {
            'unseen_error': self.unseen_error, 'fold_error': self.fold_error,
            'training_error': estimate.residuals.relative_error,
            'worst_joint_over_prior': ratio, 'smallest_margin': self.smallest_margin,
            'simulation_over_coasting': self.simulation_error,
            'milliseconds': 1e3 * self.seconds,
        }
        return {'estimator': self.name, 'status': estimate.status.name} | {
            name: value if np.isfinite(value) else None for name, value in numbers.items()
        } | {
            'worst_joint': joint, 'consistent': estimate.consistent, 'known': self.known,
            'prior_strength': estimate.settings.get('prior_strength'),
            'committable': verdict.committable, 'reasons': list(verdict.reasons),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """All estimators side by side.

    Attributes:
        contenders: Those that came to an end, in the order of the registry.
        failures: Why the others did not, by name.
        recommended: The one to take; None when all have failed.
        reason: Why it is that one, as a sentence.
    """

    contenders: tuple[Contender, ...]
    failures: Mapping[str, str]
    recommended: Contender | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'recommended': None if self.recommended is None else self.recommended.name,
            'reason': self.reason,
            'estimators': [contender.to_json() for contender in self.contenders],
            'failures': dict(self.failures),
        }


def compare(
    estimators: Mapping[str, Callable[[], Estimator]],
    problem: RegressionProblem,
    evaluate: Callable[[Estimator, Estimate], Evaluation],
    *,
    preferred: str,
) -> Comparison:
    """Fit with every estimator and judge each; one that fails does not end the comparison.

    Args:
        estimators: What makes each estimator, by name.
        problem: Rows to fit.
        evaluate: Judges what an estimator found.
        preferred: Taken where the data does not tell estimators apart.

    Returns:
        The comparison. Times are of one fit each; what all have in common (compressing the
        rows, counting base parameters) is done before.

    Raises:
        EstimationError: There are too few rows for any estimator.
    """
    problem.require_enough_rows()
    _ = problem.base, problem.factors, problem.scale
    contenders: list[Contender] = []
    failures: dict[str, str] = {}
    for name, make in estimators.items():
        try:
            contenders.append(_contend(name, make(), problem, evaluate))
        except SysidError as error:
            failures[name] = str(error)
        except Exception as error:  # one method's fault must not hide what the others found
            failures[name] = f'{type(error).__name__}: {error}'
    chosen, reason = _recommend(contenders, preferred)
    return Comparison(tuple(contenders), failures, chosen, reason)


def _contend(
    name: str, estimator: Estimator, problem: RegressionProblem,
    evaluate: Callable[[Estimator, Estimate], Evaluation],
) -> Contender:
    start = time.perf_counter()
    estimate = estimator.fit(problem)
    seconds = time.perf_counter() - start
    return Contender(name, evaluate(estimator, estimate), seconds)


def _recommend(contenders: list[Contender], preferred: str) -> tuple[Contender | None, str]:
    """The contender to take, and why."""
    if not contenders:
        return None, 'Every estimator failed.'
    sound = [each for each in contenders if each.evaluation.estimate.status.ok] or contenders
    real = [each for each in sound if each.evaluation.estimate.consistent] or sound
    chosen, reason = _best(real) if any(np.isfinite(each.fold_error) for each in real) else (
        _preferred(real, preferred))
    if len(real) < len(sound):
        reason += ', of those with bodies that can exist'
    if not chosen.evaluation.verdict.committable:
        reason += '; but it is not committable'
    return chosen, f'{reason}.'


def _preferred(real: list[Contender], preferred: str) -> tuple[Contender, str]:
    """The contender of the settings, or else the first."""
    chosen = next((each for each in real if each.name == preferred), real[0])
    why = 'the one of the settings' if chosen.name == preferred else 'the first that fits'
    return chosen, f'{chosen.name}, {why}: without folds nothing tells them apart'


def _best(real: list[Contender]) -> tuple[Contender, str]:
    """The best on what was left out in turn; near ties by their margin."""
    least = min(each.fold_error for each in real if np.isfinite(each.fold_error))
    equals = [each for each in real if each.fold_error <= _AS_GOOD * least]
    chosen = max(equals, key=lambda each: each.smallest_margin)
    others = ', '.join(each.name for each in equals if each is not chosen)
    return chosen, (
        f'{chosen.name}, as good on left-out stretches of the training data as {others} and '
        'furthest from what no body can have' if others else
        f'{chosen.name}, which predicts left-out stretches of the training data best')
