"""Reweighted least squares: rows spoiled by contacts and spikes do not count."""

from __future__ import annotations

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.robust.irls import (
    ReweightedLeastSquares,
    ReweightedSemidefinite,
)
from sysid_ros.estimation.regression.robust.outliers import covariance_inflation

NOISE = 0.02


def spoiled(seed, part, *, noise=NOISE, size=(10.0, 100.0)):
    """The arm's rows, a part of which is off to one side, in standard deviations of the noise."""
    golden = simulated.golden('arm')
    problem = golden.problem()
    random = np.random.default_rng(seed)
    deviation = NOISE * np.sqrt(np.mean(problem.torque**2, axis=0))
    torque = problem.torque + noise / NOISE * deviation * random.normal(size=problem.torque.shape)
    hit = random.random(torque.shape) < part
    torque[hit] += (deviation * random.uniform(*size, torque.shape))[hit]
    return simulated.with_torque(problem, torque), golden, hit


def in_deviations(problem, golden, estimate):
    """Errors of the base parameters in standard deviations that plain noise would give them."""
    clean = WeightedLeastSquares().fit(golden.problem(NOISE))
    truth = problem.base.values(golden.truth)
    return np.abs(estimate.base_values - truth) / clean.base_standard_deviation()


def test_five_percent_of_gross_outliers_ruin_weighted_least_squares_but_not_this():
    problem, golden, hit = spoiled(3, 0.05)
    robust = ReweightedLeastSquares().fit(problem)
    assert robust.status is Status.CONVERGED
    assert in_deviations(problem, golden, robust).max() < 4.0
    assert in_deviations(problem, golden, WeightedLeastSquares().fit(problem)).max() > 15.0
    assert robust.residuals.relative_error == pytest.approx(NOISE, rel=0.05)


def test_a_fifth_of_spoiled_rows_is_still_survived():
    problem, golden, _ = spoiled(3, 0.2, size=(20.0, 100.0))
    estimate = ReweightedLeastSquares().fit(problem)
    assert in_deviations(problem, golden, estimate).max() < 4.0
    assert any('So many outliers of waist, elbow, wrist' in note for note in estimate.notes)


def test_a_contact_that_lasts_is_left_out_as_a_whole():
    golden = simulated.golden('arm')
    problem = golden.problem(NOISE)
    torque = problem.torque.copy()
    # A push at the tip for 0.3 s of 6 s, felt by elbow and wrist.
    torque[300:330, 1:] += 20.0 * NOISE * np.sqrt(np.mean(torque[:, 1:] ** 2, axis=0))
    problem = simulated.with_torque(problem, torque)
    estimate = ReweightedLeastSquares().fit(problem)
    assert in_deviations(problem, golden, estimate).max() < 4.0
    lost = problem.counts - estimate.residuals.rows
    assert 30 <= lost[1] <= 36
    assert 30 <= lost[2] <= 36
    assert lost[0] <= 6
    for joint, count in zip(problem.model.robot.joint_names, lost, strict=True):
        assert sum(stop - start for start, stop in estimate.outliers[joint]) == count
    assert any(
        start <= 300 and stop >= 330
        for start, stop in estimate.outliers[problem.model.robot.joint_names[1]])


def test_the_note_says_how_many_rows_of_which_joint_do_not_count():
    problem, _, hit = spoiled(5, 0.05)
    estimate = ReweightedLeastSquares().fit(problem)
    lost = problem.counts - estimate.residuals.rows
    expected = ', '.join(
        f'{joint} {count} of 600 ({count / 600:.1%})'
        for joint, count in zip(('waist', 'elbow', 'wrist'), lost, strict=True)
    )
    assert f'Rows left out as outliers: {expected}.' in estimate.notes
    assert (lost >= 0.95 * hit.sum(axis=0)).all()
    assert (lost <= hit.sum(axis=0) + 6).all()


def test_outliers_in_exact_data_are_all_found_and_the_truth_is_hit():
    problem, golden, hit = spoiled(2, 0.05, noise=0.0)
    estimate = ReweightedLeastSquares().fit(problem)
    truth = problem.base.values(golden.truth)
    np.testing.assert_allclose(estimate.base_values, truth, atol=1e-9)
    np.testing.assert_array_equal(problem.counts - estimate.residuals.rows, hit.sum(axis=0))


def test_without_outliers_it_is_weighted_least_squares():
    exact = simulated.golden('arm').problem()
    estimate = ReweightedLeastSquares().fit(exact)
    assert 'No row was left out as an outlier.' in estimate.notes
    far = ReweightedLeastSquares(cutoff=50.0)
    noisy = simulated.golden('arm').problem(NOISE)
    robust, plain = far.fit(noisy), WeightedLeastSquares().fit(noisy)
    np.testing.assert_allclose(robust.base_values, plain.base_values, rtol=1e-12)
    np.testing.assert_allclose(robust.base_covariance, plain.base_covariance, rtol=1e-12)


@pytest.mark.parametrize('cutoff', [2.0, 3.0])
def test_intervals_hold_what_they_promise_with_and_without_outliers(cutoff):
    for part in (0.0, 0.05):
        inside = []
        for seed in range(25):
            problem, golden, _ = spoiled(seed, part)
            estimate = ReweightedLeastSquares(cutoff=cutoff).fit(problem)
            error = estimate.base_values - problem.base.values(golden.truth)
            inside.append(np.abs(error) < 1.96 * estimate.base_standard_deviation())
        # 25 base parameters in 25 runs: the pooled fraction has a standard deviation near 1.5 %.
        assert 0.91 < np.mean(inside) < 0.985


def test_the_inflation_is_that_of_the_m_estimator_of_a_mean():
    # The mean of the values within c deviations of itself, found by Monte-Carlo.
    random, c, count, runs = np.random.default_rng(4), 2.0, 400, 1500
    x = random.normal(size=(runs, count))
    centre = np.zeros(runs)
    for _ in range(60):
        inside = np.abs(x - centre[:, None]) <= c
        centre = np.where(inside, x, 0.0).sum(axis=1) / inside.sum(axis=1)
    kept = np.where(inside, x - centre[:, None], 0.0)
    naive = np.mean((kept**2).sum(axis=1) / inside.sum(axis=1) ** 2)
    assert centre.var() / naive == pytest.approx(covariance_inflation(c), rel=0.12)
    assert covariance_inflation(8.0) == pytest.approx(1.0, abs=1e-10)


def test_when_the_larger_part_of_a_joint_would_go_nothing_is_claimed():
    golden = simulated.golden('arm')
    problem = golden.problem()
    random = np.random.default_rng(0)
    # Torque without any relation to the motion and with tails so heavy that no spread exists.
    torque = random.standard_cauchy(problem.torque.shape) ** 3
    estimate = ReweightedLeastSquares(cutoff=2.0).fit(simulated.with_torque(problem, torque))
    assert estimate.status is Status.FAILED
    np.testing.assert_array_equal(estimate.parameters.values, problem.reference)


def test_rounds_that_are_not_enough_are_said():
    problem, _, _ = spoiled(3, 0.05)
    estimate = ReweightedLeastSquares(max_iterations=1).fit(problem)
    assert estimate.status is Status.ITERATION_LIMIT


def test_outliers_ruin_the_consistent_fit_too_and_reweighting_saves_it():
    problem, golden, _ = spoiled(3, 0.05)
    robust = ReweightedSemidefinite().fit(problem)
    assert robust.status is Status.CONVERGED
    assert robust.consistent
    assert in_deviations(problem, golden, robust).max() < 4.0
    assert in_deviations(problem, golden, SemidefiniteLeastSquares().fit(problem)).max() > 15.0
    assert any('Rows left out as outliers: waist' in note for note in robust.notes)


def test_without_outliers_the_consistent_one_is_the_semidefinite_fit():
    problem = simulated.golden('arm').problem(NOISE)
    robust = ReweightedSemidefinite(cutoff=50.0).fit(problem)
    plain = SemidefiniteLeastSquares().fit(problem)
    np.testing.assert_array_equal(robust.parameters.values, plain.parameters.values)
    np.testing.assert_allclose(robust.base_covariance, plain.base_covariance, rtol=1e-12)


def test_the_consistent_one_claims_nothing_either_when_it_loses_a_joint_or_its_rounds():
    golden = simulated.golden('arm')
    problem = golden.problem()
    torque = np.random.default_rng(0).standard_cauchy(problem.torque.shape) ** 3
    for status, estimate in (
        (Status.FAILED, ReweightedSemidefinite(cutoff=2.0).fit(
            simulated.with_torque(problem, torque))),
        (Status.ITERATION_LIMIT, ReweightedSemidefinite(max_iterations=1).fit(
            spoiled(3, 0.05)[0])),
    ):
        assert estimate.status is status
        at_prior = np.array_equal(estimate.parameters.values, problem.reference)
        assert at_prior == (status is Status.FAILED)
        assert np.isinf(estimate.base_covariance).all()


@pytest.mark.parametrize('kind', [ReweightedLeastSquares, ReweightedSemidefinite])
@pytest.mark.parametrize('options', [{'cutoff': 1.0}, {'max_iterations': 0}, {'cutoff': np.nan}])
def test_settings_that_cannot_work_are_refused(kind, options):
    with pytest.raises(ConfigurationError, match='outliers cannot be told'):
        kind(**options)
