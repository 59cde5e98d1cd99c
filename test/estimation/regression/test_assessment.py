"""Uncertainty that can be believed: covered by Monte Carlo, and told apart by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from support.autoregressive_noise import autoregressive
from sysid_ros.estimation.estimate import Knowledge
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.noise import noise_level, residual_statistics


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ols', 'wls'])
@pytest.mark.parametrize('rho', [0.0, 0.8])
def test_95_percent_intervals_cover_95_percent(name, rho, record_property):
    golden = simulated.golden('arm')
    problem = golden.problem(samples=1500)
    exact, truth = problem.torque, problem.base.values(golden.truth)
    size = np.array([0.01, 0.03, 0.1]) * np.sqrt(np.mean(exact**2, axis=0))
    hits = []
    for seed in range(80):
        noise = size * autoregressive(np.random.default_rng(seed), exact.shape, rho)
        estimate = make_estimator(name).fit(simulated.with_torque(problem, exact + noise))
        error = np.abs(estimate.base_values - truth)
        hits.append(error < 1.96 * estimate.base_standard_deviation())
    coverage = np.mean(hits)
    record_property('coverage', float(coverage))
    assert 0.93 <= coverage <= 0.97
    assert np.mean(hits, axis=0).min() > 0.85


def near_its_bounds(golden, seed):
    """The golden robot, whose bodies and terms are drawn anew, some terms close to zero."""
    truth = simulated.true_parameters(golden.model, seed=1000 + seed)
    random = np.random.default_rng(seed)
    for k, name in enumerate(golden.model.parameters.names):
        if name.endswith(('_friction', '.armature')) and random.uniform() < 0.4:
            truth[k] = random.uniform(0.0, 0.03)
    return replace(golden, truth=truth)


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky'])
def test_intervals_of_fits_that_lean_on_bounds_cover_at_least_95_percent(name, record_property):
    golden = simulated.golden('arm')
    hits, leaning = [], 0
    # The last one takes ten times as long.
    for seed in range(15 if name == 'log_cholesky' else 40):
        robot = near_its_bounds(golden, seed)
        problem = robot.problem(0.3, seed=seed, samples=300)
        estimate = make_estimator(name).fit(problem)
        leaning += any('leans on' in note for note in estimate.notes)
        error = np.abs(estimate.base_values - problem.base.values(robot.truth))
        hits.append(error < 1.96 * estimate.base_standard_deviation())
    terms = [not k for k in map(_is_inertial, problem.base.independent)]
    record_property('coverage', float(np.mean(hits)))
    assert np.mean(hits) >= 0.95
    # Those near their bounds; along the active bounds alone it would be 82 %.
    assert np.mean(np.array(hits)[:, terms]) >= 0.94
    assert (name != 'lmi') or leaning > 30


def _is_inertial(column):
    return column < 10 * len(simulated.golden('arm').model.parameters.bodies)


def test_the_curvature_of_a_prior_is_taken_with_all_that_is_unknown_free(rng):
    # Against the inverse of the whole Hessian in the steps, which has no unknown directions.
    problem = simulated.golden('arm').problem(0.05, still=(0,))
    directions = DataDirections(problem, np.ones(3))
    size = problem.scale.shape[1]
    root = rng.normal(size=(size, size))
    curvature = 50.0 * (root @ root.T + np.eye(size))
    rows = problem.regressor.reshape(-1, len(problem.parameters)) @ problem.scale
    whole = np.linalg.inv(rows.T @ rows + curvature)
    known = directions.known.T @ directions._spread[1]
    gram = known @ rows.T @ rows @ known.T
    reduced = directions._reduced(curvature)
    np.testing.assert_allclose(
        np.linalg.inv(gram + reduced), known @ whole @ known.T, rtol=1e-5,
        atol=1e-8 * np.abs(whole).max())
    np.testing.assert_allclose(directions._reduced(0.3), 0.3 * np.eye(len(known)))


def test_naive_intervals_of_correlated_noise_would_cover_too_little():
    # What the effective number of rows is for: the same runs without it.
    golden = simulated.golden('arm')
    problem = golden.problem(samples=1500)
    exact, truth = problem.torque, problem.base.values(golden.truth)
    size = 0.03 * np.sqrt(np.mean(exact**2, axis=0))
    hits = []
    for seed in range(20):
        noise = size * autoregressive(np.random.default_rng(seed), exact.shape, 0.8)
        estimate = make_estimator('ols').fit(simulated.with_torque(problem, exact + noise))
        shrink = np.sqrt(np.mean(estimate.residuals.effective_rows / estimate.residuals.rows))
        error = np.abs(estimate.base_values - truth)
        hits.append(error < 1.96 * shrink * estimate.base_standard_deviation())
    assert np.mean(hits) < 0.7


@pytest.mark.parametrize('still', [(), (0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize('robot', ['arm', 'branched and prismatic', 'mimic joint'])
def test_what_the_data_knows_is_what_the_null_space_says(robot, still):
    problem = simulated.golden(robot).problem(0.01, still=still)
    estimate = make_estimator('ols').fit(problem)
    columns = problem.regressor.reshape(-1, len(problem.parameters))
    size = np.linalg.norm(columns, axis=0)
    acts = size > 1e-12 * size.max()
    # Columns of one size each, so that a small parameter in a large one's company counts.
    _, values, directions = np.linalg.svd(columns[:, acts] / size[acts], full_matrices=False)
    null = directions[np.sum(values > 1e-10 * values[0]):]
    alone = np.zeros(len(acts), dtype=bool)
    alone[acts] = np.linalg.norm(null, axis=0) < 1e-7
    # A value stays at the prior when its step has no part in what the rows see.
    _, values, directions = np.linalg.svd(columns @ problem.scale, full_matrices=False)
    seen = problem.scale @ directions[values > 1e-9 * values[0]].T
    kept = np.linalg.norm(seen, axis=1) < 1e-7 * np.linalg.norm(problem.scale, axis=1)
    for k, entry in enumerate(estimate.knowledge):
        shared = Knowledge.COMBINATION if acts[k] else Knowledge.COUPLED
        expected = Knowledge.DATA if alone[k] else Knowledge.PRIOR if kept[k] else shared
        assert entry is expected, problem.parameters.names[k]
        assert np.isfinite(estimate.standard_deviation[k]) == (expected is Knowledge.DATA)


def test_a_parameter_without_a_column_follows_its_body_and_is_said_to():
    # A pendulum's torque feels first moments and inertia, not the mass itself. A rod that is
    # more inert and weighs more at its joint is, in the prior's metric, a heavier rod.
    golden = simulated.golden('single joint')
    problem = golden.problem(0.01, fixed=('pivot.armature',))
    names = ('rod.mass', 'rod.first_moment_x', 'rod.inertia_yy')
    mass, *felt = (problem.parameters.index(name) for name in names)
    assert not problem.regressor[:, :, mass].any()
    moved = []
    for factor in (1.0, 1.5):
        theta = problem.reference.copy()
        theta[felt] *= factor
        estimate = make_estimator('ols').fit(
            simulated.with_torque(problem, problem.regressor @ theta))
        assert estimate.knowledge[mass] is Knowledge.COUPLED
        assert estimate.knowledge[mass].value.startswith('unidentifiable')
        assert np.isinf(estimate.standard_deviation[mass])
        moved.append(estimate.parameters.values[mass])
    assert moved[0] == pytest.approx(problem.parameters.prior[mass], rel=1e-6)
    assert moved[1] > 1.1 * moved[0]


def test_a_base_parameter_is_unidentified_when_a_silent_change_changes_it():
    problem = simulated.golden('arm').problem(0.01, still=(0,))
    estimate = make_estimator('ols').fit(problem)
    base = problem.base
    rows = problem.regressor[:, :, base.independent].reshape(-1, base.rank)
    size = np.linalg.norm(rows, axis=0)
    # What is left of a column by rounding is none.
    size[size < 1e-12 * size.max()] = np.inf
    _, values, directions = np.linalg.svd(rows / size, full_matrices=False)
    null = directions[values <= 1e-9 * values[0]]
    touched = np.linalg.norm(null, axis=0) > 1e-6
    assert estimate.unidentified == tuple(
        words for words, lost in zip(base.equations, touched, strict=True) if lost)


def test_statistics_are_per_joint_and_overall(rng):
    problem = simulated.golden('arm').problem(0.05)
    theta = problem.parameters.prior
    statistics = residual_statistics(problem, theta)
    error = problem.torque - problem.regressor @ theta
    assert statistics.relative_error == pytest.approx(
        np.linalg.norm(error) / np.linalg.norm(problem.torque))
    np.testing.assert_allclose(statistics.rms_per_joint, np.sqrt(np.mean(error**2, axis=0)))
    np.testing.assert_allclose(
        statistics.relative_per_joint,
        np.linalg.norm(error, axis=0) / np.linalg.norm(problem.torque, axis=0))
    np.testing.assert_array_equal(statistics.rows, [600, 600, 600])


def test_the_noise_level_is_that_of_the_noise():
    golden = simulated.golden('arm')
    noise = np.array([0.01, 0.05, 0.2])
    problem = golden.problem(noise, samples=3000)
    estimate = make_estimator('wls').fit(problem)
    size = np.sqrt(np.mean((problem.regressor @ golden.truth) ** 2, axis=0))
    np.testing.assert_allclose(
        noise_level(problem, estimate.parameters.values), noise * size, rtol=0.06)


def test_noise_free_joints_have_a_noise_level_above_zero():
    problem = simulated.golden('arm').problem()
    rms = np.sqrt(np.mean(problem.torque**2, axis=0))
    np.testing.assert_allclose(noise_level(problem, simulated.golden('arm').truth), 1e-5 * rms)
    problem = simulated.with_torque(problem, problem.torque * np.array([1.0, 1.0, 0.0]))
    assert (noise_level(problem, simulated.golden('arm').truth) > 0.0).all()
    nothing = simulated.with_torque(problem, np.zeros_like(problem.torque))
    assert (noise_level(nothing, np.zeros(len(problem.parameters))) > 0.0).all()
