"""How much the prior weighs, chosen by cross-validation over stretches of the training data.

Rows are compressed once for all folds, and the fits to the other stretches go from the strongest
prior to the weakest, so that the whole search costs little more than its solver's iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.folds import Fold, time_folds
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.consistent import (
    ConsistentLeastSquares,
    parameters_of,
)
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.numerics.json_values import finite_or_null
from sysid_ros.settings import StrictSettings

#: Where a search is kept among the settings of an estimate.
SEARCH_KEY = 'prior_strength_search'

Rule = Literal['one_standard_error', 'minimum']


class StrengthSearch(StrictSettings):
    r"""How the strength of a prior is looked for.

    A strength s means about what a prior known to :math:`1/\sqrt{s}` of itself would: 1 for 100 %,
    10 000 for 1 %.

    Attributes:
        strengths: The strengths to try, two or more.
        folds: Stretches of time that are left out in turn.
        gap: Time beside the left-out stretch that is not fitted either, in [s].
        rule: ``one_standard_error``: the strongest prior whose error exceeds the least one by
            no more than the standard error of that excess between folds (after Breiman,
            Friedman, Olshen and Stone 1984, section 3.4.3, with errors compared fold by fold);
            ``minimum``: the one with the least error.
    """

    strengths: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-4, 9))
    folds: int = Field(default=5, ge=2)
    gap: float = Field(default=0.5, ge=0.0)
    rule: Rule = 'one_standard_error'

    @field_validator('strengths')
    @classmethod
    def _ordered(cls, strengths: tuple[float, ...]) -> tuple[float, ...]:
        ordered = tuple(sorted(set(strengths)))
        if len(ordered) < 2 or ordered[0] <= 0.0:
            raise ConfigurationError(
                'there is nothing to choose from', where='strengths', found=strengths,
                allowed='two or more different numbers above 0',
                fix='Leave strengths out for their default',
            )
        return ordered


@dataclass(frozen=True, eq=False)
class StrengthChoice:
    """Errors of the folds by strength of the prior, and the strength that follows.

    Attributes:
        strengths: The s strengths that were tried, increasing.
        errors: Root mean square of each fold's residuals on what it left out, in standard
            deviations of each joint's torque noise, shape ``(K, s)``; infinite where the fit
            did not converge.
        relative_errors: The same fits' residuals relative to the torque, over all joints.
        rule: Name of the rule, as in :class:`StrengthSearch`.
    """

    strengths: tuple[float, ...]
    errors: np.ndarray
    relative_errors: np.ndarray
    rule: Rule

    @property
    def least(self) -> int:
        """Index of the strength with the least mean error."""
        return int(np.argmin(self.errors.mean(axis=0)))

    @property
    def excess(self) -> np.ndarray:
        """Mean error beyond the least one, shape ``(s,)``."""
        mean = self.errors.mean(axis=0)
        return np.asarray(mean - mean[self.least])

    @property
    def standard_error(self) -> np.ndarray:
        """Standard error of the excess between folds, shape ``(s,)``; NaN where none is known."""
        finite = np.isfinite(self.errors).all(axis=0)
        paired = np.where(finite, self.errors, np.nan) - self.errors[:, [self.least]]
        return np.asarray(paired.std(axis=0, ddof=1) / np.sqrt(len(paired)))

    @property
    def chosen(self) -> int:
        """Index of the strength that the rule takes."""
        if self.rule == 'minimum':
            return self.least
        return int(np.flatnonzero(self.excess <= np.nan_to_num(self.standard_error))[-1])

    @property
    def strength(self) -> float:
        """The strength that the rule takes."""
        return self.strengths[self.chosen]

    def to_json(self) -> dict[str, Any]:
        """Plain values; errors that are not finite as null."""
        return {
            'rule': self.rule, 'chosen': self.strength,
            'least_error': self.strengths[self.least], 'strengths': list(self.strengths),
            'errors': [finite_or_null(row) for row in self.errors],
            'relative_errors': [finite_or_null(row) for row in self.relative_errors],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StrengthChoice:
        """The inverse of :meth:`to_json`."""
        errors, relative = (
            np.array(
                [[np.inf if value is None else value for value in row] for row in data[name]])
            for name in ('errors', 'relative_errors')
        )
        return cls(tuple(data['strengths']), errors, relative, data['rule'])

    def remarks(self) -> tuple[str, ...]:
        """Remarks on the search, in words."""
        edges = {0: 'weakest', len(self.strengths) - 1: 'strongest'}
        found = []
        if self.chosen in edges:
            found.append(
                f'The strength of the prior, {self.strength:g}, is the {edges[self.chosen]} that '
                'was tried: widen strength_search.strengths to see whether others do better.')
        failed = [
            f'{strength:g}' for strength, error in zip(
                self.strengths, self.errors.T, strict=True) if not np.isfinite(error).all()
        ]
        if failed:
            found.append(
                f'Strengths of the prior with a fold that did not converge: {", ".join(failed)}.')
        return tuple(found)


@dataclass(frozen=True)
class CrossValidatedPrior:
    """A consistent estimator whose prior weighs what cross-validation finds.

    Args:
        estimator: The estimator; its own strength is not looked at.
        search: How the strength is looked for.
    """

    estimator: ConsistentLeastSquares
    search: StrengthSearch = StrengthSearch()

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Choose the strength from the problem's own rows and fit them all with it.

        Args:
            problem: Rows and prior.

        Returns:
            The estimate; its settings hold the strength and, under :data:`SEARCH_KEY`, all that
            was tried.

        Raises:
            EstimationError: No strength can be fitted to all folds, or a fold has too few rows.
        """
        choice = choose_strength(self.estimator, problem, self.search)
        chosen = replace(self.estimator, prior_strength=choice.strength)
        estimate = chosen.fit(problem)
        return replace(
            estimate, settings={**estimate.settings, SEARCH_KEY: choice.to_json()},
            notes=(*estimate.notes, *choice.remarks()),
        )


def choose_strength(
    estimator: ConsistentLeastSquares, problem: RegressionProblem, search: StrengthSearch
) -> StrengthChoice:
    """Errors of folds of a problem by strength of the prior.

    Args:
        estimator: The estimator; its own strength is not looked at.
        problem: Rows and prior.
        search: How the strength is looked for.

    Returns:
        The errors and what follows.

    Raises:
        ConfigurationError: The recording cannot be cut into so many stretches.
        EstimationError: No strength can be fitted to all folds, or a fold has too few rows.
    """
    theta, _, _ = WeightedLeastSquares().iterate(problem)
    sigma = noise_level(problem, theta)
    # Of stretches without a usable row, such as standstill, nothing can be told.
    folds = [
        fold for fold in time_folds(problem, search.folds, search.gap)
        if fold.held_out.usable.any()
    ]
    if len(folds) < 2:
        raise EstimationError(
            'the prior cannot be weighed by cross-validation',
            where=problem.provenance.get('source'),
            found=f'{len(folds)} of {search.folds} stretches with usable rows',
            allowed='at least 2', fix='Record longer, or give prior_strength as a number',
        )
    strengths = np.array(search.strengths)
    errors = np.full((len(folds), 2, len(strengths)), np.inf)
    left = np.ones(len(strengths), dtype=bool)
    for fold, found in zip(folds, errors, strict=True):
        found[:, left] = _errors(estimator, fold, strengths[left], sigma)
        # A strength that one fold fails at cannot be chosen any more.
        left &= np.isfinite(found[0])
    choice = StrengthChoice(search.strengths, errors[:, 0], errors[:, 1], search.rule)
    if not np.isfinite(choice.errors).all(axis=0).any():
        raise EstimationError(
            'no strength of the prior can be fitted to all folds', where=estimator.name,
            found=', '.join(f'{strength:g}' for strength in search.strengths),
            fix='Try stronger priors in strength_search.strengths, or fewer folds',
        )
    return choice


def _errors(
    estimator: ConsistentLeastSquares, fold: Fold, strengths: np.ndarray, sigma: np.ndarray
) -> np.ndarray:
    """Errors of one fold in standard deviations and relative to the torque, ``(2, s)``."""
    directions, _ = weighted_directions(fold.training)
    allowed = feasible_set(fold.training, estimator.plausibility)
    held_out = fold.held_out
    torque = held_out.squared_residuals(np.zeros(len(held_out.parameters))).sum()
    errors = []
    for z, status in estimator.minimise_each(directions, allowed, strengths[::-1].tolist()):
        squares = held_out.squared_residuals(parameters_of(fold.training, z))
        weighted = np.sum(squares / sigma**2) / held_out.counts.sum()
        relative = squares.sum() / torque if torque > 0.0 else np.inf
        errors.append(np.sqrt([weighted, relative]) if status.ok else np.full(2, np.inf))
    return np.reshape(errors[::-1], (-1, 2)).T
