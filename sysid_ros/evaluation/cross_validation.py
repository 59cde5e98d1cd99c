r"""Cross-validation over stretches of one recording: errors on what was left out.

It also shows whether parameters scatter as much as their standard deviations say.

Leaving out stretches in turn is the delete-d jackknife of blocks (Shao and Wu 1989; Künsch 1989): a
fit without the part m of the rows differs from that of all rows by :math:`\sigma^2 m / (1 - m)` in
variance. That gives :math:`\sigma` without any model of the noise, and its ratio to the reported
one is a check of the latter. It runs high where stretches show different things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.estimator import Estimator
from sysid_ros.estimation.folds import time_folds
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.prediction import TorquePrediction, predict
from sysid_ros.numerics.json_values import finite_or_null

# A ratio of standard deviations above what one in so many honest ones reaches is an outlier.
_ONE_IN = 1000.0


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One stretch that was left out.

    Attributes:
        status: How the fit to the other stretches ended.
        prediction: Errors on the stretch, of the fit and of the prior.
        training_error: Relative error on the rows that were fitted.
        left_out: Part of the usable rows that was not fitted.
        base_values: Base parameters, shape ``(r,)``; NaN where this fit groups them in another
            way, as terms that are not linear do at other values of their shapes.
    """

    status: Status
    prediction: TorquePrediction
    training_error: float
    left_out: float
    base_values: np.ndarray


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """All folds of a recording.

    Attributes:
        joint_names: The n joints.
        base_names: The r base parameters in words.
        base_values: What the fit to all rows finds, shape ``(r,)``.
        deviation: Standard deviations that it reports, shape ``(r,)``.
        folds: One result per stretch, in the order of time.
    """

    joint_names: tuple[str, ...]
    base_names: tuple[str, ...]
    base_values: np.ndarray
    deviation: np.ndarray
    folds: tuple[FoldResult, ...]

    @property
    def failed(self) -> tuple[Status, ...]:
        """How the folds ended that did not converge."""
        return tuple(fold.status for fold in self.folds if not fold.status.ok)

    @property
    def errors(self) -> np.ndarray:
        """Relative error of every fold on what it left out, shape ``(K,)``."""
        return np.array([fold.prediction.candidate.relative_error for fold in self.folds])

    @property
    def prior_errors(self) -> np.ndarray:
        """Relative error of the prior on every fold, shape ``(K,)``."""
        return np.array([fold.prediction.prior.relative_error for fold in self.folds])

    @property
    def joint_errors(self) -> np.ndarray:
        """Relative error of every fold per joint, shape ``(K, n)``."""
        return np.array([fold.prediction.candidate.relative_per_joint for fold in self.folds])

    @property
    def error(self) -> float:
        """Mean of the errors of the folds."""
        return float(self.errors.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the errors of the folds."""
        return float(self.errors.std(ddof=1))

    @property
    def sigma_ratio(self) -> np.ndarray:
        """Jackknife standard deviation over the reported one, shape ``(r,)``.

        NaN where the data does not determine the parameter.
        """
        share = np.array([fold.left_out for fold in self.folds])[:, None]
        moved = np.array([fold.base_values for fold in self.folds]) - self.base_values
        jackknife = np.sqrt(np.mean(moved**2 * (1.0 - share) / share, axis=0))
        known = np.isfinite(self.deviation) & (self.deviation > 0.0)
        return np.where(known, jackknife / np.where(known, self.deviation, 1.0), np.nan)

    @property
    def overall_sigma_ratio(self) -> float:
        """Root mean square of :attr:`sigma_ratio`; near 1 when the σ are honest."""
        ratio = self.sigma_ratio[np.isfinite(self.sigma_ratio)]
        return float(np.sqrt(np.mean(ratio**2))) if len(ratio) else float('nan')

    @property
    def outliers(self) -> tuple[str, ...]:
        """Base parameters whose folds differ by more than chance explains, the worst first."""
        freedom = len(self.folds) - 1
        most = float(np.sqrt(chdtri(freedom, 1.0 / _ONE_IN) / freedom))
        ratio = np.nan_to_num(self.sigma_ratio)
        worst_first = np.argsort(-ratio)
        return tuple(self.base_names[k] for k in worst_first if ratio[k] > most)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not finite as null."""
        return {
            'folds': len(self.folds),
            'statuses': [fold.status.name for fold in self.folds],
            'errors': finite_or_null(self.errors),
            'prior_errors': finite_or_null(self.prior_errors),
            'training_errors': finite_or_null(fold.training_error for fold in self.folds),
            'joints': list(self.joint_names),
            'joint_errors': [finite_or_null(row) for row in self.joint_errors],
            'base_parameters': list(self.base_names),
            'sigma_ratio': finite_or_null(self.sigma_ratio),
            'overall_sigma_ratio': finite_or_null([self.overall_sigma_ratio])[0],
            'outliers': list(self.outliers),
        }


def cross_validate(
    estimator: Estimator, problem: RegressionProblem, estimate: Estimate, *, count: int = 5,
    gap: float = 0.5,
) -> CrossValidation:
    """Fit all but one stretch of a recording at a time and predict that stretch.

    Args:
        estimator: The method.
        problem: All rows.
        estimate: What the method found with all rows, for its standard deviations.
        count: Number of stretches.
        gap: Time beside the stretch that is left out, which is not fitted either, in [s].

    Returns:
        Errors and parameters of the folds.

    Raises:
        ConfigurationError: The recording cannot be cut into so many stretches.
        EstimationError: A fold has too few rows for its parameters, or its rows are
            ill-conditioned for an estimator without a prior.
    """
    results = []
    for number, fold in enumerate(time_folds(problem, count, gap), start=1):
        if not fold.held_out.usable.any():
            raise EstimationError(
                'a fold has nothing to predict', where=f'fold {number} of {count}',
                found='no usable row', fix='Use fewer folds',
            )
        fitted = estimator.fit(fold.training)
        results.append(FoldResult(
            status=fitted.status, prediction=predict(fitted, fold.held_out),
            training_error=fitted.residuals.relative_error,
            left_out=1.0 - float(fold.training.counts.sum() / problem.counts.sum()),
            base_values=fitted.base_values if fitted.base_names == estimate.base_names
            else np.full(len(estimate.base_names), np.nan),
        ))
    return CrossValidation(
        joint_names=problem.model.robot.joint_names, base_names=estimate.base_names,
        base_values=estimate.base_values,
        deviation=estimate.base_standard_deviation(), folds=tuple(results),
    )


def enough_folds(problem: RegressionProblem, count: int = 5) -> int:
    """The number of stretches, if any can be left out and predicted by the others, or else 0.

    Args:
        problem: All rows.
        count: Number of stretches.
    """
    try:
        folds = time_folds(problem, count)
        for fold in folds:
            fold.training.require_enough_rows()
    except (ConfigurationError, EstimationError):
        return 0
    return count if all(fold.held_out.usable.any() for fold in folds) else 0
