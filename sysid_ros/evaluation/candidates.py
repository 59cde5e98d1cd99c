"""Torque models compared by what they predict of rows they were not fitted to.

More columns always fit better and often predict worse, so candidates are compared on rows they
were not fitted to: stretches of time, and the fast half of every joint's rows predicted from the
slow half of other stretches. The simplest candidate that is not worse than the best one by more
than one standard error of their difference is chosen (Breiman et al. 1984, section 3.4.3;
Hastie, Tibshirani and Friedman 2009, section 7.10). A difference below a part in a hundred is
none, however sure it is.

What is not linear, shapes and loads, is found once from all rows for the stretches, and once from
all slow rows for the fast ones: a few numbers that a fold more or less hardly moves. So every
fold is one linear fit. A fit that fails is begun anew, from several values of every shape and with
more steps; a candidate that fails again is out, and named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.folds import Fold, slow_rows, speed_folds, time_folds
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.estimation.shape_search import held
from sysid_ros.numerics.forked import Arrays, forked_map

#: Errors that differ by less than this part are the same.
SAME = 0.01
# Fits for a comparison need few digits more.
_COARSE = 1e-4
# Times as many steps that a fit begun anew may take.
_MORE_STEPS = 4


@dataclass(frozen=True, eq=False)
class CandidateErrors:
    """How a torque model predicted what it was not fitted to.

    Attributes:
        name: What it is called.
        parameters: Number of its free joint-term parameters, shapes included.
        stretches: Relative torque error per held-out stretch of time, shape ``(folds,)``.
        faster: The same for fast rows predicted from slow ones, shape ``(folds,)``; empty where
            speed does not matter.
        seconds: Time that all its fits took.
    """

    name: str
    parameters: int
    stretches: np.ndarray
    faster: np.ndarray
    seconds: float

    @property
    def errors(self) -> np.ndarray:
        """All errors; infinite where a fit failed."""
        return np.concatenate([self.stretches, self.faster])

    def to_arrays(self) -> Arrays:
        """Errors as arrays, to pass them between processes; see :meth:`from_arrays`."""
        return (
            np.array(self.name), np.array([self.parameters, self.seconds]), self.stretches,
            self.faster)

    @classmethod
    def from_arrays(
        cls, name: np.ndarray, numbers: np.ndarray, stretches: np.ndarray, faster: np.ndarray
    ) -> CandidateErrors:
        """The inverse of :meth:`to_arrays`."""
        parameters, seconds = numbers.tolist()
        return cls(str(name), int(parameters), stretches, faster, seconds)


def errors_side_by_side(
    attempts: Sequence[Callable[[], CandidateErrors]]
) -> list[CandidateErrors]:
    """Errors of candidates, tried at the same time by as many processors as there are.

    Args:
        attempts: Each gives the errors of one, the simplest first.

    Returns:
        The errors, in the same order; what an attempt raises is raised.
    """
    found = forked_map(lambda number: attempts[number]().to_arrays(), len(attempts))
    return [CandidateErrors.from_arrays(*arrays) for arrays in found]


def candidate_errors(
    name: str, problem: RegressionProblem, speeds: np.ndarray | None, estimator: OuterIteration,
    *, folds: int = 5, gap: float = 0.5, judged: np.ndarray | None = None,
) -> CandidateErrors:
    """Errors of a candidate on what its folds leave out.

    Args:
        name: What it is called.
        problem: Its rows.
        speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``; without
            them only stretches are left out.
        estimator: The estimator that will fit.
        folds: Stretches of time, each held out once.
        gap: Time beside a held-out stretch that is not used at all in [s].
        judged: Rows that errors are taken from, shape ``(T, n)``; those that are fitted, where
            left out.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: There are too few rows.
    """
    begin = time.perf_counter()
    quick = replace(estimator, tolerance=_COARSE, search_tolerance=_COARSE)
    linear, whole = _linear(problem, problem, quick, None, None)
    stretches, faster = np.full(folds, np.inf), np.full(0 if speeds is None else folds, np.inf)
    if linear is not None:
        # The joints' noise, which only weighs them, is that of all rows in all folds.
        parts = time_folds(linear, folds, gap)
        sigma = weighted_directions(linear)[0].sigma
        stretches = _errors(parts, quick, sigma, judged)
        if speeds is not None:
            linear, _ = _linear(problem, slow_rows(problem, speeds), quick, whole, sigma)
            if linear is not None:
                faster = _errors(speed_folds(linear, speeds, folds, gap), quick, sigma, None)
    bodies = 10 * len(problem.model.robot.body_names)
    return CandidateErrors(
        name, int(problem.free[bodies:].sum()), stretches, faster, time.perf_counter() - begin)


def _linear(
    problem: RegressionProblem, fitted: RegressionProblem, estimator: OuterIteration,
    start: np.ndarray | None, sigma: np.ndarray | None,
) -> tuple[RegressionProblem | None, np.ndarray | None]:
    """The problem with shapes and loads that a fit to some of its rows finds, and that fit."""
    if problem.source is None:
        return problem, None
    values = _fitted_values(fitted, estimator, start, sigma)
    if values is None:
        return None, None
    return held(problem, values, problem.model.shapes), values


def _fitted_values(
    problem: RegressionProblem, estimator: OuterIteration, start: np.ndarray | None,
    sigma: np.ndarray | None,
) -> np.ndarray | None:
    """Values of a fit, begun anew from several shapes and with more steps where it fails."""
    values = estimator.values(problem, start, sigma)
    if values is None and problem.source is not None:
        longer = replace(estimator, max_iterations=_MORE_STEPS * estimator.max_iterations)
        values = longer.values(problem, None, sigma)
    return values


def _errors(
    folds: Sequence[Fold], estimator: OuterIteration, sigma: np.ndarray,
    judged: np.ndarray | None,
) -> np.ndarray:
    """Relative torque error of each fold's held-out rows, infinite where there is no fit."""
    return np.array([_error(fold, estimator, sigma, judged) for fold in folds])


def _error(
    fold: Fold, estimator: OuterIteration, sigma: np.ndarray, judged: np.ndarray | None
) -> float:
    values = _fitted_values(fold.training, estimator, None, sigma)
    if values is None:
        return np.inf
    held_out = fold.held_out
    rows = held_out.usable if judged is None else judged & fold.stretch[:, None]
    residual = held_out.torque - held_out.regressor @ values
    torque = np.linalg.norm(held_out.torque[rows])
    return float(np.linalg.norm(residual[rows]) / torque) if torque > 0.0 else np.inf


def excess_over_best(candidates: Sequence[CandidateErrors]) -> np.ndarray:
    """Mean logarithm of errors over the best candidate's, and its standard error, ``(k, 2)``.

    Infinite where a fit failed.
    """
    with np.errstate(divide='ignore'):
        logarithms = np.log([candidate.errors for candidate in candidates])
    best = logarithms[int(np.argmin(logarithms.mean(axis=1)))]
    with np.errstate(invalid='ignore'):
        over = np.where(np.isfinite(logarithms), logarithms - best, np.inf)
        mean = over.mean(axis=1)
        error = over.std(axis=1, ddof=1) / np.sqrt(over.shape[1])
    return np.stack([mean, np.where(np.isfinite(mean), error, np.inf)], axis=1)


class Ranking(NamedTuple):
    """Candidates by their errors.

    Attributes:
        best: The simplest that is as good as the best; None where none could be fitted.
        gain: By how much better it predicts than the first, in parts of that one's error.
        unfitted: Names of those that could not be fitted to every fold.
    """

    best: int | None
    gain: float
    unfitted: tuple[str, ...]


def ranked(candidates: Sequence[CandidateErrors]) -> Ranking:
    """The ranking of candidates, the simplest first.

    Args:
        candidates: Their errors.
    """
    excess = excess_over_best(candidates)
    best = simplest(excess)
    gain = 0.0 if best is None else float(1.0 - np.exp(excess[best, 0] - excess[0, 0]))
    return Ranking(best, gain, tuple(
        each.name for each in candidates if not np.isfinite(each.errors).all()))


def simplest(excess: np.ndarray) -> int | None:
    """The first candidate that is as good as the best; None where none could be fitted."""
    good = np.flatnonzero(as_good_as_best(excess))
    return int(good[0]) if len(good) else None


def as_good_as_best(excess: np.ndarray) -> np.ndarray:
    """Candidates that are not worse than the best, given their excess and its standard error."""
    mean, error = excess.T
    return np.isfinite(mean) & (mean <= np.maximum(error, SAME))
