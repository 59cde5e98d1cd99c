"""Instrumental variables: unbiased where encoders are coarse, and honest about it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from support import coarse_encoders as coarse
from sysid_ros.errors import ConfigurationError, EstimationError, ModelError, RecordingError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import (
    OrdinaryLeastSquares,
    WeightedLeastSquares,
)
from sysid_ros.estimation.regression.robust.instrumental import (
    InstrumentalVariables,
    InstrumentedFit,
    InstrumentedRows,
)
from sysid_ros.estimation.regression.simulated_rows import SimulatedRows, motion_band

simulated = coarse.simulated

SECONDS = 6.0
RUNS = 4


@cache
def noisy(seed=0, **options):
    return coarse.coarse_problem(seed, SECONDS, **options)


def in_deviations(estimator):
    """Errors of the base parameters in their standard deviations, run by run."""
    estimates = [estimator.fit(noisy(seed)) for seed in range(RUNS)]
    assert all(estimate.status is Status.CONVERGED for estimate in estimates)
    return np.array([
        (estimate.base_values - coarse.truth(noisy())) / estimate.base_standard_deviation()
        for estimate in estimates
    ])


def test_with_coarse_encoders_least_squares_is_biased_beyond_its_interval_and_this_is_not():
    plain = in_deviations(OrdinaryLeastSquares())
    assert np.abs(plain.mean(axis=0)).max() > 4.0
    assert np.mean(np.abs(plain) < 1.96) < 0.85
    found = in_deviations(InstrumentalVariables())
    # The mean of four runs has half the deviation of one; 25 base parameters.
    assert np.abs(found.mean(axis=0)).max() < 1.8
    # The fraction in one run has a deviation of 7 %, since its parameters err together.
    assert np.mean(np.abs(found) < 1.96) > 0.84
    # Nor are the intervals wider than they need to be.
    assert np.sqrt(np.mean(found**2)) > 0.8


def test_a_recorded_reference_gives_instruments_without_encoder_noise():
    problem = noisy()
    wanted, _, _ = coarse.true_motion(len(problem.motion.dataset))
    told = replace(problem, motion=replace(problem.motion, commanded=wanted))
    told.__dict__['base'] = problem.base
    estimate = InstrumentalVariables(measured_reference=False).fit(told)
    error = estimate.base_values - coarse.truth(problem)
    assert np.abs(error / estimate.base_standard_deviation()).max() < 4.0
    assert any('tracks the recorded reference' in note for note in estimate.notes)
    own = InstrumentalVariables().fit(problem)
    assert any('No reference was recorded' in note for note in own.notes)


def test_with_the_regressor_as_its_own_instrument_it_is_weighted_least_squares():
    problem = simulated.golden('arm').problem(0.02)
    expected = WeightedLeastSquares().fit(problem)
    _, sigma, _ = WeightedLeastSquares().iterate(problem)
    fitted = InstrumentedFit.of(InstrumentedRows.of(problem, problem.regressor), sigma)
    assert fitted.strength == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(
        problem.base.values(fitted.theta), expected.base_values, rtol=1e-6, atol=1e-8)
    covariance = fitted.directions.instrumented_covariance(fitted.theta, problem.regressor)
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance)), expected.base_standard_deviation(), rtol=1e-4)


def test_the_solution_is_the_textbook_formula():
    problem = simulated.golden('single joint').problem(0.05)
    rng = np.random.default_rng(0)
    instruments = problem.regressor + 0.1 * rng.normal(size=problem.regressor.shape)
    fitted = InstrumentedFit.of(InstrumentedRows.of(problem, instruments), np.array([2.0]))
    own = problem.base.independent
    steps = problem.scale @ fitted.directions.principal_rows[1].T
    gamma, z = ((x @ steps).reshape(-1, len(own)) for x in (problem.regressor, instruments))
    target = problem.torque.ravel() - problem.regressor.reshape(-1, len(problem.reference)) @ (
        problem.reference)
    expected = problem.reference + steps @ np.linalg.solve(z.T @ gamma, z.T @ target)
    np.testing.assert_allclose(fitted.theta, expected, rtol=1e-8, atol=1e-10)


def test_the_covariance_is_that_of_repeated_coloured_noise():
    problem = simulated.golden('single joint').problem()
    rng = np.random.default_rng(1)
    instruments = problem.regressor + 0.05 * rng.normal(size=problem.regressor.shape)
    sigma, samples = np.array([1.0]), len(problem.torque)
    errors, claimed = [], []
    for _ in range(200):
        # The derivative of white noise: all of it is fast, next to none where the motion is.
        noise = np.diff(rng.normal(size=samples + 1))[:, None]
        noise += 0.1 * rng.normal(size=(samples, 1))
        disturbed = simulated.with_torque(problem, problem.torque + noise)
        fitted = InstrumentedFit.of(InstrumentedRows.of(disturbed, instruments), sigma)
        errors.append(problem.base.values(fitted.theta))
        claimed.append(np.diag(
            fitted.directions.instrumented_covariance(fitted.theta, instruments)))
    ratio = np.var(errors, axis=0) / np.mean(claimed, axis=0)
    assert 0.6 < np.exp(np.mean(np.log(ratio))) < 1.5


def test_on_exact_data_it_finds_what_least_squares_find():
    problem = simulated.golden('arm').problem()
    plain, found = OrdinaryLeastSquares().fit(problem), InstrumentalVariables().fit(problem)
    np.testing.assert_allclose(found.base_values, plain.base_values, rtol=1e-7, atol=1e-8)


def test_rows_without_their_motion_are_refused():
    problem = replace(simulated.golden('arm').problem(0.02), motion=None)
    with pytest.raises(EstimationError, match='motion behind the rows'):
        InstrumentalVariables().fit(problem)


def test_without_a_recorded_reference_it_is_refused_where_one_is_required():
    with pytest.raises(EstimationError, match='commanded positions were not recorded'):
        InstrumentalVariables(measured_reference=False).fit(noisy())


def test_a_reference_of_another_length_is_refused():
    golden = simulated.golden('arm')
    data = golden.dataset()
    with pytest.raises(RecordingError, match='commanded positions do not fit'):
        RegressionProblem.from_dataset(golden.model, data, commanded=data.q[:-1])


def test_segments_too_short_to_be_smoothed_do_not_count():
    golden = simulated.golden('arm')
    data = replace(golden.dataset(0.02), segments=((0, 20), (20, 600)))
    problem = RegressionProblem.from_dataset(golden.model, data)
    problem.__dict__['base'] = golden.problem().base
    estimate = InstrumentalVariables().fit(problem)
    assert estimate.status is Status.CONVERGED
    assert estimate.residuals.rows.tolist() == [580] * 3
    short = replace(data, segments=tuple((k, k + 20) for k in range(0, 600, 20)))
    with pytest.raises(EstimationError, match='long enough to smooth'):
        InstrumentalVariables(reference_cutoff=2.0).fit(
            RegressionProblem.from_dataset(golden.model, short))


def test_a_joint_whose_motion_is_encoder_noise_alone_is_told_and_its_interval_is_wide():
    golden = simulated.golden('arm')
    data = golden.dataset(0.02, still=(2,))
    rng = np.random.default_rng(0)
    q, v = data.q.copy(), data.v.copy()
    q[:, 2] += 1e-5 * rng.normal(size=len(data))
    v[:, 2] = 1e-3 * rng.normal(size=len(data))
    problem = RegressionProblem.from_dataset(golden.model, replace(data, q=q, v=v))
    estimate = InstrumentalVariables().fit(problem)
    assert any('hardly shows what the measured one does' in note for note in estimate.notes)
    k = estimate.parameters.index('wrist.viscous_friction')
    assert estimate.standard_deviation[k] > 10.0 * golden.truth[k]


def test_instruments_that_tell_nothing_of_a_joint_give_no_estimate(monkeypatch):
    problem = simulated.golden('arm').problem(0.02)
    blind = problem.regressor.copy()
    blind[:, :, problem.parameters.index('wrist.viscous_friction')] = 0.0
    monkeypatch.setattr(SimulatedRows, 'regressor', lambda *_: blind)
    estimate = InstrumentalVariables().fit(problem)
    assert estimate.status is Status.FAILED
    np.testing.assert_array_equal(estimate.parameters.values, problem.reference)
    assert any('foremost wrist.viscous_friction' in note for note in estimate.notes)


def test_an_estimate_that_cannot_be_simulated_leaves_the_instruments_of_the_prior():
    golden = simulated.golden('arm')
    problem = golden.problem(0.02)
    # Torque against the motion: the inertias found are negative.
    turned = simulated.with_torque(problem, -problem.torque)
    estimate = InstrumentalVariables().fit(turned)
    assert estimate.status is Status.CONVERGED
    assert sum('instruments are those of the prior' in note for note in estimate.notes) == 1


def test_a_prior_that_cannot_be_simulated_is_refused():
    golden = simulated.golden('arm')
    problem = golden.problem(0.02)
    broken = problem.parameters.prior.copy()
    broken[problem.parameters.index('hand.mass')] = -100.0
    held = problem.parameters.fixed('hand.mass').with_values(broken)
    with pytest.raises(ModelError, match='no inertia'):
        InstrumentalVariables().fit(replace(problem, parameters=held))


def test_simulations_that_are_not_enough_are_said():
    estimate = InstrumentalVariables(max_iterations=1).fit(noisy())
    assert estimate.status is Status.ITERATION_LIMIT
    assert estimate.residuals.relative_error < 0.35
    assert np.isinf(estimate.base_covariance).all()


def test_the_band_of_a_motion_is_found_below_its_noise():
    band = motion_band(noisy().motion.dataset)
    # The fastest of the motion's sines is at 1.2 Hz.
    assert 1.2 < band < 6.0
    still = replace(noisy().motion.dataset, v=np.zeros_like(noisy().motion.dataset.v))
    assert motion_band(still) == pytest.approx(200.0)


def test_simulated_rows_are_those_of_a_motion_near_the_true_one():
    golden = simulated.golden('arm')
    problem = noisy()
    exact = golden.model.regressor(*coarse.true_motion(len(problem.motion.dataset)))
    data = problem.motion.dataset
    exact, _, _ = problem.motion.parallel_filter.apply(exact, data.rate, data.segments)
    instruments = SimulatedRows.of(problem, None).regressor(golden.truth)
    measured = np.linalg.norm(problem.regressor - exact)
    assert np.linalg.norm(instruments - exact) < 0.5 * measured


@pytest.mark.parametrize('options', [
    {'reference_cutoff': 0.0}, {'tolerance': 0.0}, {'max_iterations': 0},
])
def test_settings_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigurationError, match='iteration cannot work'):
        InstrumentalVariables(**options)
