"""Held-out torque prediction: the candidate beside the prior, on data no fit has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaincinv, ndtr

from sysid_ros.estimation.estimate import Estimate, ResidualStatistics
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.numerics.noise import effective_rows

# By how many standard errors an error must be smaller, or larger, before it is not chance.
SIGMAS = 2.0


@dataclass(frozen=True, eq=False)
class TorquePrediction:
    """Torque errors of a candidate and of the prior on the same rows.

    Attributes:
        joint_names: Joints, one per column of the statistics.
        candidate: Errors of the estimate.
        prior: Errors of the parameters before identification.
        held_out: False when the rows are the ones that were fitted.
        source: Where the rows came from.
        same_recording: Whether they are of a recording that was fitted.
        spread: Root mean square of each joint's torque about its mean, which is the error of a
            model that knows the mean alone, in [N·m] or [N], shape ``(n,)``; None where it is
            not known.
        advantage: By how much the candidate's squared errors are smaller than the prior's, row by
            row, in standard errors; None where it is not known.
        what: What is predicted, in words.
        all_of_it: The same of all joints.
        constant: What of a joint would be constant for a model that knows the mean alone.
        signals: What recordings have of the drives, in words.
        unit: Of errors over all joints.
        heading: Of a table of errors.
    """

    joint_names: tuple[str, ...]
    candidate: ResidualStatistics
    prior: ResidualStatistics
    held_out: bool
    source: str
    same_recording: bool = False
    spread: np.ndarray | None = None
    advantage: float | None = None

    what: ClassVar[str] = 'torque'
    all_of_it: ClassVar[str] = 'torques'
    constant: ClassVar[str] = 'torque'
    signals: ClassVar[str] = 'efforts'
    unit: ClassVar[str] = 'N·m'
    heading: ClassVar[str] = 'Torque errors, relative to the torque; RMS in N·m or N'

    def to_json(self) -> dict[str, Any]:
        """Relative errors as plain values; what is not finite as null."""
        def plain(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        return {
            'source': self.source,
            'relative_error': plain(self.candidate.relative_error),
            'prior_relative_error': plain(self.prior.relative_error),
            'joints': {
                name: {'relative_error': plain(ours), 'prior_relative_error': plain(prior)}
                for name, ours, prior in zip(
                    self.joint_names, self.candidate.relative_per_joint,
                    self.prior.relative_per_joint, strict=True)},
        }

    @property
    def better(self) -> bool:
        """Whether the candidate is better than the prior beyond chance."""
        if self.advantage is not None and self.advantage > SIGMAS:
            return True
        return self.candidate.rms < self.needed * self.prior.rms

    @property
    def needed(self) -> float:
        """Largest error of the candidate that beats the prior beyond chance, in the prior's parts.

        Chance is that of the candidate's residuals: the prior's are largely what its parameters
        get wrong, which repeats itself. Of N independent rows the sum of squares is distributed
        as chi-square: few rows can win, too, by enough.
        """
        rows = _independent_rows(self.candidate)
        if np.isinf(rows):
            return 1.0
        return float(np.sqrt(2.0 * gammaincinv(0.5 * rows, ndtr(-SIGMAS)) / rows))


def predict(
    estimate: Estimate, problem: RegressionProblem, *, held_out: bool = True
) -> TorquePrediction:
    """Predict the torques of a recording with an estimate and with its prior.

    Args:
        estimate: The estimate.
        problem: Rows to predict, with the same parameters in the same order.
        held_out: Whether the rows were kept from the fit.

    Returns:
        Errors of both.

    Raises:
        ParameterError: The parameters of the estimate are not the problem's.
    """
    values = np.array([estimate.parameters[name] for name in problem.parameters.names])
    return TorquePrediction(
        joint_names=problem.model.robot.joint_names,
        candidate=residual_statistics(problem, values),
        prior=residual_statistics(problem, problem.parameters.prior),
        held_out=held_out,
        source=str(problem.provenance.get('source', '')),
        same_recording=estimate.has_seen(str(problem.provenance.get('sha256', ''))),
        spread=_spread(problem),
        advantage=error_decrease(problem, problem.parameters.prior, values),
    )


def error_decrease(problem: RegressionProblem, before: np.ndarray, after: np.ndarray) -> float:
    """Mean decrease of the squared error from some values to others, in standard errors.

    Compared row by row: what both get wrong, such as friction that sticks, is no chance between
    them.

    Args:
        problem: Rows to predict.
        before: Values of all parameters, shape ``(p,)``.
        after: The others, shape ``(p,)``.
    """
    first, second = (problem.residuals(theta) ** 2 for theta in (before, after))
    decrease = (first - second).sum(axis=1)
    mean = float(decrease.mean())
    rows = effective_rows((decrease - mean)[:, None], np.ones((len(decrease), 1), dtype=bool))
    error = float(np.std(decrease) / np.sqrt(rows[0]))
    return mean / error if error > 0.0 else float(np.sign(mean) * np.inf) if mean else 0.0


def _spread(problem: RegressionProblem) -> np.ndarray:
    """Root mean square of each joint's torque about its mean, shape ``(n,)``."""
    torque, usable = problem.torque, problem.usable
    return np.array([
        np.std(torque[usable[:, joint], joint]) if usable[:, joint].any() else 0.0
        for joint in range(torque.shape[1])])


def _independent_rows(errors: ResidualStatistics) -> float:
    """Rows whose squares would spread as the sum of all joints' squares does.

    The sum of a joint's squares over N independent rows spreads by ``sqrt(2 / N)`` of itself.
    """
    squares = errors.rows * errors.rms_per_joint**2
    if not squares.sum() > 0.0:
        return float('inf')
    variance = np.sum(2.0 * squares**2 / np.maximum(errors.effective_rows, 1.0))
    return float(2.0 * squares.sum()**2 / variance)
