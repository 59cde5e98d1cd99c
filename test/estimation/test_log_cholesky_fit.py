"""Least squares in the log-Cholesky chart: derivatives, optimum, bounds."""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.chart_objective import ChartObjective
from sysid_ros.estimation.regression.feasible_set import Plausibility, feasible_set
from sysid_ros.estimation.regression.log_cholesky import LogCholeskyLeastSquares
from sysid_ros.estimation.regression.parameter_chart import ParameterChart, TermChart
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, consistency_margin, pseudo_inertia

simulated = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / 'golden_problems.py')))

STEP = 1e-6
PLAUSIBLE = Plausibility()


@cache
def noisy(noise=0.5, seed=0, samples=150):
    return simulated.golden('arm').problem(noise, seed=seed, samples=samples)


def objective_of(problem):
    directions, _ = weighted_directions(problem)
    return ChartObjective(
        problem, directions, feasible_set(problem, PLAUSIBLE), PLAUSIBLE.margin)


def somewhere(chart, seed=0, spread=0.3):
    start = chart.start
    return start + spread * np.random.default_rng(seed).normal(size=len(start))


def test_the_chart_begins_at_the_prior_and_terms_inside_their_bounds():
    problem = noisy()
    chart = ParameterChart(problem, 1e-3)
    theta = chart.theta(chart.start)
    bodies = np.concatenate([
        np.arange(len(theta))[problem.parameters.body_slice(body)]
        for body in problem.parameters.bodies
    ])
    np.testing.assert_allclose(theta[bodies], problem.reference[bodies], atol=1e-14)
    inside = (theta > problem.parameters.lower) & (theta < problem.parameters.upper)
    assert inside.all()


def test_wherever_the_chart_is_bodies_keep_the_margin_and_terms_their_bounds():
    problem = noisy()
    chart = ParameterChart(problem, 0.01)
    for seed in range(20):
        theta = chart.theta(somewhere(chart, seed, spread=3.0))
        for body in problem.parameters.bodies:
            block = problem.parameters.body_slice(body)
            margin = consistency_margin(theta[block], problem.parameters.prior[block])
            assert margin >= 0.01 * (1.0 - 1e-6)
        assert (theta >= problem.parameters.lower).all()


@pytest.mark.parametrize(('lower', 'upper'), [
    (-np.inf, np.inf), (0.0, np.inf), (-np.inf, 2.0), (-1.0, 2.0),
])
def test_charts_of_terms_have_their_derivatives_and_their_start(lower, upper):
    chart = TermChart(0, lower, upper, reference=0.4, step=0.7)
    assert chart.value(chart.start)[0] == pytest.approx(0.4)
    for x in (-2.0, 0.3, 1.5):
        value, slope, bend = chart.value(x)
        assert lower < value < upper
        above, below = chart.value(x + STEP), chart.value(x - STEP)
        assert slope == pytest.approx((above[0] - below[0]) / (2 * STEP), rel=1e-7)
        assert bend == pytest.approx((above[1] - below[1]) / (2 * STEP), rel=1e-6, abs=1e-9)


def test_the_jacobian_of_the_chart_is_that_of_finite_differences():
    chart = ParameterChart(noisy(), 1e-3)
    x = somewhere(chart)
    expected = np.transpose([
        (chart.theta(x + STEP * e) - chart.theta(x - STEP * e)) / (2 * STEP)
        for e in np.eye(len(x))
    ])
    np.testing.assert_allclose(
        chart.jacobian(x), expected, atol=1e-8 * np.abs(expected).max())


def test_the_gradient_is_that_of_finite_differences_with_constraints_acting():
    problem = noisy()
    objective = objective_of(problem)
    x = somewhere(objective.chart, spread=0.5)
    # Twice the mass of every body breaks the bound on their sum.
    x[:30:10] += 0.5 * np.log(2.0)
    multipliers = objective.stiffened(objective.unconstrained(), x, 0.1)
    multipliers, miss = objective.updated(multipliers, x)
    assert miss > 0.1
    expected = np.array([
        (objective.value(x + STEP * e, 0.1, multipliers)
         - objective.value(x - STEP * e, 0.1, multipliers)) / (2 * STEP) for e in np.eye(len(x))
    ])
    found = objective.model(x, 0.1, multipliers).gradient
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_the_curvature_of_the_prior_is_that_of_finite_differences():
    # Against the divergence written out: tr(L0^-1 L) - log det(L0^-1 L), and half of z^2.
    problem = noisy()
    objective = objective_of(problem)
    theta = objective.chart.theta(somewhere(objective.chart))
    here, parameters = objective.steps(theta), problem.parameters
    terms = slice(10 * len(parameters.bodies), None)

    def prior(z):
        values = problem.reference + problem.scale @ z
        total = 0.5 * np.sum(z[terms] ** 2)
        for block in map(parameters.body_slice, parameters.bodies):
            ratio = np.linalg.solve(
                pseudo_inertia(parameters.prior[block]), pseudo_inertia(values[block]))
            total += np.trace(ratio) - np.linalg.slogdet(ratio)[1]
        return total

    hessian = objective.prior_curvature(theta, 0.3)
    for k in range(0, len(here), 3):
        along, other = np.eye(len(here))[k] * 1e-3, np.eye(len(here))[k // 2] * 1e-3
        expected = (
            prior(here + along + other) - prior(here + along - other)
            - prior(here - along + other) + prior(here - along - other)) / 4e-6
        assert hessian[k, k // 2] == pytest.approx(0.3 * expected, rel=1e-3, abs=1e-4)
        curved = (prior(here + along) - 2.0 * prior(here) + prior(here - along)) / 1e-6
        assert hessian[k, k] == pytest.approx(0.3 * curved, rel=1e-3)


def test_at_the_minimum_the_model_has_the_true_hessian():
    problem = simulated.golden('arm').problem(0.02)
    objective = objective_of(problem)
    none, strength = objective.unconstrained(), 10.0
    x = objective.chart.start.copy()
    for _ in range(60):
        model = objective.model(x, strength, none)
        length = min(1.0, 1.0 / np.abs(model.step).max())
        x = x + length * model.step
    assert model.decrement < 1e-20
    expected = np.array([
        (objective.model(x + STEP * e, strength, none).gradient
         - objective.model(x - STEP * e, strength, none).gradient) / (2 * STEP)
        for e in np.eye(len(x))
    ])
    found = model.triangle.T @ model.triangle
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


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
    objective = objective_of(problem)
    z = objective.steps(theta)
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
    narrow = Plausibility(mass_factor=1.02, total_mass=0.005)
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
    estimate = LogCholeskyLeastSquares(max_iterations=3).fit(problem)
    assert estimate.status is Status.ITERATION_LIMIT
    z = objective_of(problem).steps(estimate.parameters.values)
    assert feasible_set(problem, PLAUSIBLE).contains(z, 1e-6)
    assert (estimate.parameters.values != problem.reference).any()


def test_a_strong_prior_gives_the_prior():
    problem = noisy()
    estimate = LogCholeskyLeastSquares(prior_strength=1e10).fit(problem)
    bodies = slice(0, 10 * len(problem.parameters.bodies))
    np.testing.assert_allclose(
        estimate.parameters.values[bodies], problem.parameters.prior[bodies], atol=1e-6)
