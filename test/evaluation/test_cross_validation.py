"""Cross-validation: errors of left-out stretches, and a check of the standard deviations."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.folds import time_folds
from sysid_ros.evaluation.cross_validation import cross_validate


def validated(problem, name='ols', count=5):
    estimator = make_estimator(name)
    return cross_validate(estimator, problem, estimator.fit(problem), count=count)


@pytest.fixture(scope='module')
def problem():
    return simulated.golden('arm').problem(0.05, samples=2000)


@pytest.fixture(scope='module')
def result(problem):
    return validated(problem)


def test_every_fold_predicts_the_stretch_it_has_not_seen(problem, result):
    for fold, found in zip(time_folds(problem, 5), result.folds, strict=True):
        theta = make_estimator('ols').fit(fold.training).parameters.values
        rows = fold.held_out.usable
        error = (problem.torque - problem.regressor @ theta)[rows]
        expected = np.linalg.norm(error) / np.linalg.norm(problem.torque[rows])
        assert found.prediction.candidate.relative_error == pytest.approx(expected)
    assert result.error == pytest.approx(result.errors.mean())
    assert result.error == pytest.approx(0.05, rel=0.1)
    assert result.joint_errors.shape == (5, 3)
    assert (result.prior_errors > 0.2).all()
    assert result.failed == ()


def test_the_jackknife_is_that_of_the_mean_when_a_mean_is_fitted(result):
    # Leaving blocks out of a mean: its deviation is that of the blocks over the root of K.
    blocks = np.random.default_rng(3).normal(size=(5, len(result.base_names)))
    folds = tuple(
        replace(fold, left_out=0.2, base_values=np.delete(blocks, k, axis=0).mean(axis=0))
        for k, fold in enumerate(result.folds))
    mean = replace(
        result, folds=folds, base_values=blocks.mean(axis=0),
        deviation=blocks.std(axis=0, ddof=1) / np.sqrt(5))
    np.testing.assert_allclose(mean.sigma_ratio, 1.0)
    assert mean.overall_sigma_ratio == pytest.approx(1.0)
    assert mean.outliers == ()


def test_honest_deviations_are_confirmed_and_proud_ones_are_not():
    golden = simulated.golden('arm')
    ratios = [
        validated(golden.problem(0.05, samples=2000, seed=seed)).overall_sigma_ratio
        for seed in range(40, 46)
    ]
    print(f'\njackknife over reported deviations: {np.round(ratios, 2)}')
    assert 0.8 < np.mean(ratios) < 1.3


def test_parameters_beyond_chance_are_named_the_worst_first(result):
    deviation = result.deviation.copy()
    deviation[3] /= 20.0
    deviation[7] /= 10.0
    found = replace(result, deviation=deviation)
    assert found.outliers[:2] == (result.base_names[3], result.base_names[7])


def test_what_the_data_does_not_determine_has_no_ratio():
    result = validated(simulated.golden('arm').problem(0.02, still=(2,)))
    assert np.isnan(result.sigma_ratio).any()
    assert np.isfinite(result.overall_sigma_ratio)


def test_more_folds_than_the_data_can_feed_are_refused():
    with pytest.raises(EstimationError, match='too little data'):
        validated(simulated.golden('arm').problem(0.02, samples=80), count=2)


def test_a_stretch_without_usable_rows_is_refused(problem):
    usable = problem.usable.copy()
    usable[:400] = False
    with pytest.raises(EstimationError, match='fold 1 of 5.*Use fewer folds'):
        validated(replace(problem, usable=usable))


def test_a_cross_validation_is_plain_values(result):
    data = result.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data['folds'] == 5
    unknown = replace(result, deviation=np.full(len(result.deviation), np.inf)).to_json()
    assert unknown['overall_sigma_ratio'] is None
