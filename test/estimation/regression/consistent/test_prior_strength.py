"""The prior weighs what stretches of the training data say, and all that was tried is told."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.folds import time_folds
from sysid_ros.estimation.regression.consistent.prior_strength import (
    SEARCH_KEY,
    CrossValidatedPrior,
    StrengthChoice,
    StrengthSearch,
    choose_strength,
)
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.report.evidence import strengths_section

CONSISTENT = ('lmi', 'entropic', 'log_cholesky')
COARSE = StrengthSearch(strengths=tuple(10.0**k for k in range(-2, 5)))
FEW = StrengthSearch(strengths=(0.1, 1.0, 10.0), folds=3)


@cache
def noisy(noise=0.5, samples=300):
    return simulated.golden('arm').problem(noise, samples=samples)


def error_of(estimate, problem):
    """Size of the residuals on other rows."""
    return np.linalg.norm(problem.residuals(estimate.parameters.values))


@pytest.mark.parametrize('name', CONSISTENT)
def test_errors_are_those_of_fits_to_the_other_stretches(name):
    problem = noisy()
    estimator = make_estimator(name)
    choice = choose_strength(estimator, problem, FEW)
    theta, _, _ = WeightedLeastSquares().iterate(problem)
    sigma = noise_level(problem, theta)
    for fold, errors, relative in zip(
        time_folds(problem, FEW.folds, FEW.gap), choice.errors, choice.relative_errors, strict=True
    ):
        used = fold.held_out.usable
        for strength, error, part in zip(FEW.strengths, errors, relative, strict=True):
            fitted = replace(estimator, prior_strength=strength).fit(replace(fold.training))
            residual = problem.torque - problem.regressor @ fitted.parameters.values
            assert error == pytest.approx(
                np.sqrt(np.mean(((residual / sigma) ** 2)[used])), rel=1e-5)
            assert part == pytest.approx(
                np.linalg.norm(residual[used]) / np.linalg.norm(problem.torque[used]), rel=1e-5)


@pytest.mark.parametrize('name', CONSISTENT)
def test_a_good_prior_is_believed_where_data_is_poor(name):
    golden = simulated.golden('arm')
    near = golden.model.parameters.prior + 0.1 * (
        golden.truth - golden.model.parameters.prior)
    golden = replace(golden, truth=near)
    # Little and noisy data of a robot that is nearly the one described.
    problem, unseen = golden.problem(1.0, samples=250, seed=2), golden.problem(seed=31)
    estimate = CrossValidatedPrior(make_estimator(name), COARSE).fit(problem)
    weak = make_estimator(name, prior_strength=1e-2).fit(problem)
    assert error_of(estimate, unseen) < 0.5 * error_of(weak, unseen)


@pytest.mark.parametrize('name', CONSISTENT)
def test_a_wrong_prior_is_not_believed_where_data_is_rich(name):
    golden = simulated.golden('arm')
    problem, unseen = golden.problem(0.01), golden.problem(seed=31)
    estimate = CrossValidatedPrior(make_estimator(name), COARSE).fit(problem)
    assert estimate.status is Status.CONVERGED
    assert error_of(estimate, unseen) < 2.0 * error_of(
        make_estimator(name, prior_strength=1e-2).fit(problem), unseen)
    assert error_of(estimate, unseen) < 0.6 * error_of(
        make_estimator(name, prior_strength=1e4).fit(problem), unseen)


@pytest.mark.parametrize('name', CONSISTENT)
def test_the_fit_is_the_plain_one_at_the_strength_that_was_chosen(name):
    problem = noisy()
    estimate = CrossValidatedPrior(make_estimator(name), FEW).fit(problem)
    chosen = estimate.settings['prior_strength']
    plain = make_estimator(name, prior_strength=chosen).fit(problem)
    np.testing.assert_array_equal(estimate.parameters.values, plain.parameters.values)
    np.testing.assert_array_equal(estimate.base_covariance, plain.base_covariance)
    assert estimate.estimator == name
    assert estimate.settings[SEARCH_KEY]['chosen'] == chosen
    assert {**plain.settings, SEARCH_KEY: estimate.settings[SEARCH_KEY]} == estimate.settings


def test_the_search_comes_back_from_the_json_of_the_estimate():
    estimate = CrossValidatedPrior(make_estimator('entropic'), FEW).fit(noisy())
    again = Estimate.from_json(estimate.to_json())
    choice = StrengthChoice.from_json(again.settings[SEARCH_KEY])
    assert choice.strengths == FEW.strengths
    assert choice.strength == estimate.settings['prior_strength']
    assert choice.to_json() == estimate.settings[SEARCH_KEY]
    text = strengths_section(choice)
    assert 'taken' in text
    assert len(text.splitlines()) == 3 + len(FEW.strengths) + 1
    assert max(map(len, text.splitlines())) <= 100


def choice_of(excess, rule, bumps=(0.1, -0.1, 0.2)):
    """Three folds of different difficulty, whose excesses differ by the bumps."""
    excess = np.asarray(excess)
    errors = np.array([5.0, 1.0, 2.0])[:, None] + excess + np.outer(bumps, excess > 0.0)
    errors -= np.mean(bumps) * (excess > 0.0)
    strengths = tuple(10.0 ** k for k in range(len(excess)))
    return StrengthChoice(strengths, errors, 0.01 * errors, rule)


def test_one_standard_error_is_that_of_the_differences_from_fold_to_fold():
    # Deviation of the bumps 0.153, of three folds 0.088.
    excess = [0.3, 0.0, 0.05, 0.08, 0.1]
    choice = choice_of(excess, 'one_standard_error')
    np.testing.assert_allclose(choice.excess, excess, atol=1e-12)
    np.testing.assert_allclose(choice.standard_error[[0, 2, 3, 4]], 0.0881917, rtol=1e-5)
    assert choice.strength == 1000.0
    assert choice_of(excess, 'minimum').strength == 10.0
    # Folds of other difficulty but the same differences: nothing is within the error.
    assert choice_of(excess, 'one_standard_error', bumps=(0.0, 0.0, 0.0)).strength == 10.0


def test_a_strength_that_a_fold_failed_at_is_neither_least_nor_taken():
    choice = choice_of([0.0, 0.01, 0.0, 0.01], 'one_standard_error')
    errors = choice.errors.copy()
    errors[1, 0] = errors[2, 3] = np.inf
    failed = replace(choice, errors=errors)
    assert failed.least == 2
    assert failed.strength == 100.0
    assert any('did not converge: 1, 1000' in remark for remark in failed.remarks())
    json.dumps(failed.to_json(), allow_nan=False)
    np.testing.assert_array_equal(StrengthChoice.from_json(failed.to_json()).errors, errors)
    assert 'taken, least' in strengths_section(failed)


def test_a_choice_at_the_end_of_what_was_tried_is_said():
    strongest = choice_of([0.5, 0.0], 'minimum')
    assert any('strongest that was tried' in remark for remark in strongest.remarks())
    assert any('weakest' in remark for remark in choice_of([0.0, 0.5], 'minimum').remarks())
    assert choice_of([0.5, 0.0, 0.5], 'minimum').remarks() == ()


def test_stretches_without_a_usable_row_are_left_out():
    problem = noisy()
    rows = np.ones(len(problem.torque), dtype=bool)
    rows[:110] = False
    choice = choose_strength(make_estimator('lmi'), problem.restricted(rows), FEW)
    assert choice.errors.shape == (2, 3)
    assert np.isfinite(choice.errors).all()
    rows[200:] = False
    with pytest.raises(EstimationError, match='1 of 3 stretches with usable rows'):
        choose_strength(make_estimator('lmi'), problem.restricted(rows), FEW)


def test_where_no_strength_can_be_fitted_it_is_refused():
    with pytest.raises(EstimationError, match='no strength of the prior can be fitted'):
        CrossValidatedPrior(make_estimator('log_cholesky', max_iterations=1), FEW).fit(noisy())


@pytest.mark.parametrize('strengths', [(1.0,), (1.0, 1.0), (0.0, 1.0), (-1.0, 1.0), ()])
def test_strengths_that_leave_no_choice_are_refused(strengths):
    with pytest.raises(ConfigurationError, match='nothing to choose from'):
        StrengthSearch(strengths=strengths)
