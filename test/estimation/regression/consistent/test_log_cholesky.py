"""Least squares with a log-det prior inside of hard bounds: derivatives, optimum, bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.log_cholesky import LogCholeskyLeastSquares
from sysid_ros.estimation.regression.consistent.log_det_objective import LogDetObjective
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia

STEP = 1e-6
PLAUSIBLE = Plausibility()


@cache
def noisy(noise=0.5, seed=0, samples=150):
    return simulated.golden('arm').problem(noise, seed=seed, samples=samples)


def objective_of(problem, strength=0.3):
    directions, _ = weighted_directions(problem)
    return LogDetObjective(
        directions, feasible_set(problem, PLAUSIBLE), PLAUSIBLE.margin, strength)


def somewhere(objective, seed=0, spread=0.05):
    inside = objective.inside
    return inside + spread * np.random.default_rng(seed).normal(size=len(inside))


def steps_of(problem, theta):
    return np.linalg.solve(problem.scale[problem.free], (theta - problem.reference)[problem.free])


def test_the_objective_is_the_one_written_out():
    # tr(L0^-1 L) - log det(L0^-1 L) - 4 of each body, half of z^2 of each term, and the misfit.
    problem = noisy()
    for seed in range(3):
        z = somewhere(objective_of(problem), seed)
        theta = problem.reference + problem.scale @ z
        assert objective_of(problem, 0.3).value(z) == pytest.approx(
            objective_value(problem, theta, 0.3), rel=1e-10)


def test_outside_of_consistency_the_objective_is_infinite():
    objective = objective_of(noisy())
    assert objective.value(objective.inside - 2.0 * np.eye(len(objective.inside))[0]) == np.inf


def test_the_gradient_of_the_prior_is_that_of_finite_differences():
    objective = objective_of(noisy())
    z = somewhere(objective)

    def prior(z):
        return objective.value(z) - objective.misfit(z)

    expected = [
        (prior(z + STEP * e) - prior(z - STEP * e)) / (2 * STEP) for e in np.eye(len(z))]
    # The misfit, some thousand times the prior, leaves that many digits less.
    np.testing.assert_allclose(objective.prior_gradient(z), expected, atol=2e-4)


def test_the_curvature_of_the_prior_is_that_of_finite_differences():
    objective = objective_of(noisy())
    z = somewhere(objective)
    expected = np.transpose([
        (objective.prior_gradient(z + STEP * e) - objective.prior_gradient(z - STEP * e))
        / (2 * STEP) for e in np.eye(len(z))])
    np.testing.assert_allclose(
        objective.prior_curvature(z), expected, atol=1e-6 * np.abs(expected).max())


def test_the_model_has_the_slope_and_the_curvature_of_the_objective():
    objective = objective_of(noisy())
    z = somewhere(objective)
    model = objective.model(z)
    step = 1e-3 * np.random.default_rng(1).normal(size=len(z))

    def modelled(point):
        misfit = model.weights * (model.directions @ point) - model.target
        return 0.5 * misfit @ misfit + 0.5 * model.quadratic @ point**2 + model.linear @ point

    slope, decrease = objective.predicted(z, step)
    along = (objective.value(z + STEP * step) - objective.value(z - STEP * step)) / (2 * STEP)
    assert slope == pytest.approx(along, rel=1e-3)
    assert modelled(z) - modelled(z + step) == pytest.approx(decrease, rel=1e-6)
    rows = model.weights[:, None] * model.directions
    hessian = rows.T @ rows + np.diag(model.quadratic)
    directions, _ = weighted_directions(noisy())
    weights, principal, _ = directions.principal_rows
    data = weights[:, None] * principal
    np.testing.assert_allclose(
        hessian, data.T @ data + objective.prior_curvature(z), atol=1e-9 * np.abs(hessian).max())


def by_cvxpy(problem, strength):
    """The same objective and constraints, in the parameters themselves."""
    directions, _ = weighted_directions(problem)
    weights, principal, target = directions.principal_rows
    allowed = feasible_set(problem, PLAUSIBLE)
    z = cp.Variable(problem.scale.shape[1])
    theta = problem.reference + problem.scale @ z
    prior, constraints = 0.0, [allowed.matrix @ z <= allowed.bound]
    for body in problem.parameters.bodies:
        block = problem.parameters.body_slice(body)
        phi = problem.parameters.prior[block]
        whiten = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(phi)))
        basis = (whiten @ PSEUDO_INERTIA_BASIS @ whiten.T).reshape(10, 16).T
        pseudo = cp.reshape(basis @ theta[block], (4, 4), order='C')
        pseudo = 0.5 * (pseudo + pseudo.T)
        constraints.append(pseudo >> PLAUSIBLE.margin * np.eye(4))
        prior += cp.trace(pseudo) - cp.log_det(pseudo) - 4.0
    terms = 10 * len(problem.parameters.bodies)
    prior += 0.5 * cp.sum_squares(z[terms:])
    misfit = 0.5 * cp.sum_squares((weights[:, None] * principal) @ z - target)
    program = cp.Problem(cp.Minimize(misfit + strength * prior), constraints)
    program.solve(solver=cp.CLARABEL)
    return program.value, problem.reference + problem.scale @ z.value


@pytest.mark.parametrize('strength', [0.1, 10.0])
@pytest.mark.parametrize('seed', [0, 2])
def test_the_optimum_is_that_of_cvxpy_and_clarabel(strength, seed):
    problem = noisy(seed=seed)
    expected, theta = by_cvxpy(problem, strength)
    estimate = LogCholeskyLeastSquares(prior_strength=strength).fit(problem)
    assert estimate.status is Status.CONVERGED
    difference = problem.regressor @ (estimate.parameters.values - theta)
    assert np.linalg.norm(difference) < 1e-4 * np.linalg.norm(problem.torque)
    assert objective_value(problem, estimate.parameters.values, strength) == pytest.approx(
        expected, rel=1e-6)


def objective_value(problem, theta, strength):
    z = steps_of(problem, theta)
    weights, principal, target = weighted_directions(problem)[0].principal_rows
    residual = weights * (principal @ z) - target
    terms = 10 * len(problem.parameters.bodies)
    prior = 0.5 * z[terms:] @ z[terms:]
    for body in problem.parameters.bodies:
        block = problem.parameters.body_slice(body)
        ratio = np.linalg.solve(
            pseudo_inertia(problem.parameters.prior[block]), pseudo_inertia(theta[block]))
        prior += np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0
    return 0.5 * residual @ residual + strength * prior


def test_masses_lean_on_their_ranges_to_seven_digits():
    golden = simulated.golden('arm')
    narrow = Plausibility(mass_factor=1.02, weighed_mass=0.005)
    estimate = LogCholeskyLeastSquares(prior_strength=1e-3, plausibility=narrow).fit(
        golden.problem(0.02))
    assert estimate.status is Status.CONVERGED
    parameters = estimate.parameters
    masses = [parameters.index(f'{body}.mass') for body in parameters.bodies]
    ratio = parameters.values[masses] / parameters.prior[masses]
    assert ratio.max() <= 1.02 * (1.0 + 1e-7)
    assert ratio.min() >= (1.0 - 1e-7) / 1.02
    total = parameters.values[masses].sum() / parameters.prior[masses].sum()
    assert abs(total - 1.0) <= 0.005 + 1e-7
    # One of them does lean on a bound, or nothing was shown.
    slack = [1.02 - ratio.max(), ratio.min() - 1.0 / 1.02, 0.005 - abs(total - 1.0)]
    assert min(slack) < 1e-6
    assert any('leans on these bounds' in note for note in estimate.notes)


def test_a_body_some_of_whose_values_are_fixed_keeps_them_to_the_digit():
    golden = simulated.golden('arm')
    values = golden.model.parameters.with_values(golden.truth)
    held = values.fixed('hand.mass', 'hand.inertia_xx', 'upper.first_moment_y')
    problem = replace(golden.problem(0.02), parameters=held)
    estimate = LogCholeskyLeastSquares().fit(problem)
    assert estimate.status is Status.CONVERGED
    np.testing.assert_array_equal(estimate.parameters.values[~held.free],
                                  golden.truth[~held.free])
    assert estimate.consistent


def test_a_wrong_margin_of_the_prior_is_refused_by_the_body():
    golden = simulated.golden('arm')
    prior = golden.model.parameters
    # A fixed mass so small that the rest of the hand contradicts it.
    values = prior.with_values({'hand.mass': 0.05}).fixed('hand.mass')
    problem = replace(golden.problem(0.02), parameters=values)
    with pytest.raises(ConfigurationError, match='hand.*not strictly inside'):
        LogCholeskyLeastSquares().fit(problem)


def test_too_few_iterations_are_said_and_leave_an_allowed_point():
    problem = noisy()
    estimate = LogCholeskyLeastSquares(max_iterations=1).fit(problem)
    assert estimate.status is Status.ITERATION_LIMIT
    z = steps_of(problem, estimate.parameters.values)
    assert feasible_set(problem, PLAUSIBLE).contains(z, 1e-6)
    assert (estimate.parameters.values != problem.reference).any()


def test_a_strong_prior_gives_the_prior():
    problem = noisy()
    estimate = LogCholeskyLeastSquares(prior_strength=1e10).fit(problem)
    bodies = slice(0, 10 * len(problem.parameters.bodies))
    np.testing.assert_allclose(
        estimate.parameters.values[bodies], problem.parameters.prior[bodies], atol=1e-6)
