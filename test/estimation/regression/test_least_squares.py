"""Ordinary and weighted least squares against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.least_squares import (
    OrdinaryLeastSquares,
    WeightedLeastSquares,
)
from sysid_ros.estimation.regression.noise import noise_level

every_problem = pytest.mark.parametrize('robot', simulated.NAMES)


def problem_of(robot, **options):
    return simulated.golden(robot).problem(0.05, **options)


def weighted_rows(problem, sigma):
    rows = (problem.regressor / sigma[None, :, None])[problem.usable]
    return rows, (problem.torque / sigma)[problem.usable]


@every_problem
def test_base_parameters_are_those_of_numpy(robot):
    problem = problem_of(robot)
    rows, torque = weighted_rows(problem, np.ones(problem.torque.shape[1]))
    columns = rows[:, problem.base.independent]
    size = np.linalg.norm(columns, axis=0)
    expected = np.linalg.lstsq(columns / size, torque, rcond=None)[0]
    found = OrdinaryLeastSquares().fit(problem).base_values * size
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.linalg.norm(torque))


@every_problem
@pytest.mark.parametrize('estimator', [OrdinaryLeastSquares(), WeightedLeastSquares()])
def test_of_all_minimisers_it_takes_the_nearest_to_the_prior(robot, estimator):
    problem = problem_of(robot, still=(0,))
    if isinstance(estimator, WeightedLeastSquares):
        theta, sigma, _ = estimator.iterate(problem)
    else:
        theta, sigma = estimator.fit(problem).parameters.values, np.ones(problem.torque.shape[1])
    rows, torque = weighted_rows(problem, sigma)
    matrix = rows @ problem.scale
    z = np.linalg.lstsq(problem.scale, theta - problem.reference, rcond=None)[0]
    # Optimal: no gradient of the misfit, and none of the distance along the rows' null space.
    gradient = matrix.T @ (rows @ theta - torque)
    assert np.linalg.norm(gradient) < 1e-7 * np.linalg.norm(matrix) * np.linalg.norm(torque)
    _, values, directions = np.linalg.svd(matrix, full_matrices=False)
    silent = directions[np.sum(values > 1e-9 * values[0]):]
    assert len(silent) > 0
    assert np.abs(silent @ z).max() < 1e-7 * max(np.linalg.norm(z), 1.0)


def test_the_prior_itself_comes_back_from_its_own_torques():
    problem = problem_of('arm')
    torque = problem.regressor @ problem.parameters.prior
    estimate = OrdinaryLeastSquares().fit(simulated.with_torque(problem, torque))
    np.testing.assert_allclose(
        estimate.parameters.values, problem.parameters.prior, rtol=1e-9, atol=1e-9)


@every_problem
def test_the_weights_are_those_of_its_own_residuals(robot):
    noise = np.linspace(0.01, 0.2, len(simulated.golden(robot).model.robot.joint_names))
    problem = simulated.golden(robot).problem(noise)
    theta, sigma, iterations = WeightedLeastSquares().iterate(problem)
    np.testing.assert_allclose(noise_level(problem, theta), sigma, rtol=1e-5)
    assert iterations < 50
    rows, torque = weighted_rows(problem, sigma)
    columns = rows[:, problem.base.independent]
    size = np.linalg.norm(columns, axis=0)
    expected = np.linalg.lstsq(columns / size, torque, rcond=None)[0]
    found = problem.base.values(theta) * size
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.linalg.norm(torque))


def test_a_noisy_joint_spoils_the_weighted_fit_less():
    golden = simulated.golden('arm')
    errors = {'ols': [], 'wls': []}
    for seed in range(20):
        problem = golden.problem(np.array([0.01, 0.01, 0.5]), seed=seed)
        truth = problem.base.values(golden.truth)
        for estimator in (OrdinaryLeastSquares(), WeightedLeastSquares()):
            found = estimator.fit(problem).base_values
            errors[estimator.name].append(np.abs(found - truth))
    ratio = np.median(errors['wls'], axis=0) / np.median(errors['ols'], axis=0)
    assert np.median(ratio) < 0.7


def test_too_few_iterations_are_said_and_the_best_point_has_no_intervals():
    problem = problem_of('arm')
    estimate = WeightedLeastSquares(max_iterations=1).fit(problem)
    assert estimate.status is Status.ITERATION_LIMIT
    assert estimate.iterations == 1
    assert estimate.residuals.relative_error < 0.06
    assert np.isinf(estimate.standard_deviation).all()


@pytest.mark.parametrize('settings', [{'tolerance': 0.0}, {'max_iterations': 0}])
def test_an_iteration_that_cannot_end_is_refused(settings):
    with pytest.raises(ConfigurationError, match='the iteration cannot end'):
        WeightedLeastSquares(**settings)
