"""The semidefinite fit: optimal, the same by both ways to the solver, honest when it fails."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import effective_noise

# Noisy and short enough for the fit to lean on what physics allows.
LEANING = ('arm', 'single joint', 'mimic joint', 'geared rotor')
every_leaning_problem = pytest.mark.parametrize('robot', LEANING)
STRENGTH = 1e-3


def problem_of(robot, seed=1):
    return simulated.golden(robot).problem(0.5, seed=seed, samples=150)


def no_further_constraint(theta, parameters):
    return []


class Objective:
    """The objective of the definition, from the rows."""

    def __init__(self, problem):
        unconstrained, _, _ = WeightedLeastSquares().iterate(problem)
        self.problem, self.sigma = problem, effective_noise(problem, unconstrained)

    def steps(self, theta):
        away = theta - self.problem.reference
        return np.linalg.lstsq(self.problem.scale, away, rcond=None)[0]

    def __call__(self, z):
        theta = self.problem.reference + self.problem.scale @ z
        misfit = np.sum((self.problem.residuals(theta) / self.sigma) ** 2)
        return misfit + STRENGTH * z @ z

    def gradient(self, z):
        theta = self.problem.reference + self.problem.scale @ z
        residual = self.problem.residuals(theta) / self.sigma**2
        rows = np.einsum('tjp,tj->p', self.problem.regressor, residual)
        return -2.0 * self.problem.scale.T @ rows + 2.0 * STRENGTH * z


@every_leaning_problem
def test_both_ways_to_the_solver_agree(robot):
    problem = problem_of(robot)
    objective = Objective(problem)
    fast = SemidefiniteLeastSquares(prior_strength=STRENGTH).fit(problem)
    general = SemidefiniteLeastSquares(
        prior_strength=STRENGTH, constraints=no_further_constraint).fit(problem)
    assert fast.status is general.status is Status.CONVERGED
    assert fast.iterations > 0
    values = [objective(objective.steps(e.parameters.values)) for e in (fast, general)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    torque = problem.regressor @ (fast.parameters.values - general.parameters.values)
    assert np.linalg.norm(torque) < 1e-6 * np.linalg.norm(problem.torque)


@every_leaning_problem
def test_no_allowed_point_is_better(robot, rng):
    problem = problem_of(robot)
    objective = Objective(problem)
    estimate = SemidefiniteLeastSquares(prior_strength=STRENGTH).fit(problem)
    best = objective.steps(estimate.parameters.values)
    gradient = objective.gradient(best)
    # Not simply the free minimiser: the constraints hold it back.
    assert np.linalg.norm(gradient) > 1e-3
    allowed = feasible_set(problem, Plausibility())
    centre = objective.steps(simulated.golden(robot).truth)
    others = [np.zeros(len(best)), centre]
    others.append(objective.steps(EntropicLeastSquares().fit(problem).parameters.values))
    for _ in range(200):
        # From the middle of the set as far as the constraints let it go.
        ray, length = rng.normal(size=len(best)), 4.0
        while not allowed.contains(centre + length * ray):
            length *= 0.7
        others.append(centre + length * ray)
    tolerance = 1e-6 * objective(best)
    for other in others:
        assert allowed.contains(other)
        # Convex: the optimum has no direction of descent into the set.
        assert gradient @ (other - best) > -tolerance
        assert objective(other) >= objective(best) - tolerance


def test_where_physics_allows_the_free_minimiser_it_is_the_answer():
    problem = simulated.golden('arm').problem(0.001)
    objective = Objective(problem)
    estimate = SemidefiniteLeastSquares(prior_strength=STRENGTH).fit(problem)
    assert estimate.iterations == 0
    assert not any('leans on' in note for note in estimate.notes)
    best = objective.steps(estimate.parameters.values)
    scale = np.linalg.norm(objective.gradient(np.zeros(len(best))))
    assert np.linalg.norm(objective.gradient(best)) < 1e-9 * scale


def test_what_no_row_sees_stays_at_the_prior_however_weak_it_is():
    problem = simulated.golden('arm').problem(0.5, seed=1, samples=150, still=(0,))
    estimate = SemidefiniteLeastSquares(prior_strength=1e-6).fit(problem)
    directions = DataDirections(problem, np.ones(3))
    assert directions.silent.any()
    terms = [k for k in np.flatnonzero(directions.silent)
             if problem.parameters.names[k].startswith('waist.')]
    np.testing.assert_allclose(
        estimate.parameters.values[terms], problem.parameters.prior[terms], atol=1e-9)


def test_bounds_it_leans_on_are_told():
    estimate = SemidefiniteLeastSquares().fit(problem_of('arm'))
    assert any(note.startswith('The fit leans on these bounds: ') for note in estimate.notes)


def test_constraints_of_the_user_hold():
    problem = simulated.golden('arm').problem(0.01)

    def equal_friction(theta, parameters):
        first, second = (parameters.index(f'{joint}.viscous_friction')
                         for joint in ('waist', 'elbow'))
        return [theta[first] == theta[second], theta[parameters.index('hand.mass')] >= 1.7]

    estimate = SemidefiniteLeastSquares(constraints=equal_friction).fit(problem)
    parameters = estimate.parameters
    assert estimate.status is Status.CONVERGED
    assert estimate.settings['own_constraints'] is True
    assert parameters['waist.viscous_friction'] == pytest.approx(
        parameters['elbow.viscous_friction'], abs=1e-6)
    assert parameters['hand.mass'] >= 1.7 - 1e-6


def test_constraints_that_contradict_physics_are_said_to_be_infeasible():
    problem = simulated.golden('arm').problem(0.01)

    def heavy_hand(theta, parameters):
        return [theta[parameters.index('hand.mass')] >= 20.0]

    estimate = SemidefiniteLeastSquares(constraints=heavy_hand).fit(problem)
    assert estimate.status is Status.INFEASIBLE
    np.testing.assert_array_equal(estimate.parameters.values, problem.parameters.prior)


@pytest.mark.parametrize('constraints', [None, no_further_constraint])
def test_running_out_of_iterations_is_said(constraints):
    problem = problem_of('arm')
    estimate = SemidefiniteLeastSquares(max_iterations=2, constraints=constraints).fit(problem)
    assert estimate.status is Status.ITERATION_LIMIT
    assert estimate.consistent


@pytest.mark.parametrize(('word', 'status'), [
    (cp.OPTIMAL, Status.CONVERGED), (cp.OPTIMAL_INACCURATE, Status.INACCURATE),
    (cp.INFEASIBLE, Status.INFEASIBLE), (cp.INFEASIBLE_INACCURATE, Status.INFEASIBLE),
    (cp.USER_LIMIT, Status.ITERATION_LIMIT), (cp.UNBOUNDED, Status.FAILED),
    ('a word of a later version', Status.FAILED),
])
def test_only_optimal_is_success(monkeypatch, word, status):
    problem = problem_of('arm')
    monkeypatch.setattr(cp.Problem, 'status', property(lambda _: word))
    estimate = SemidefiniteLeastSquares(constraints=no_further_constraint).fit(problem)
    assert estimate.status is status
    at_prior = np.array_equal(estimate.parameters.values, problem.parameters.prior)
    assert at_prior == (not status.found_values)


def pretend(monkeypatch, change):
    """Let the interior-point method end in another way."""
    real = ConstrainedLeastSquares.minimise
    monkeypatch.setattr(
        ConstrainedLeastSquares, 'minimise',
        lambda self, start, **options: change(self, *real(self, start, **options)))


@pytest.mark.parametrize('status', [Status.FAILED, Status.INACCURATE])
def test_where_the_interior_point_method_fails_the_general_way_is_taken(monkeypatch, status):
    problem = problem_of('arm')
    objective = Objective(problem)
    best = SemidefiniteLeastSquares().fit(problem).parameters.values
    pretend(monkeypatch, lambda self, z, _, iterations: (0.0 * z, status, iterations))
    estimate = SemidefiniteLeastSquares().fit(problem)
    assert estimate.status is Status.CONVERGED
    assert objective(objective.steps(estimate.parameters.values)) == pytest.approx(
        objective(objective.steps(best)), rel=1e-6)


def test_a_mass_held_above_the_total_is_said_to_be_infeasible():
    golden = simulated.golden('arm')
    values = golden.model.parameters.with_values({'hand.mass': 20.0}).fixed('hand.mass')
    problem = simulated.replace(golden.problem(0.01), parameters=values)
    assert SemidefiniteLeastSquares().fit(problem).status is Status.INFEASIBLE


def test_a_prior_on_the_boundary_is_left_where_the_solution_is_inside():
    golden = simulated.golden('arm')
    # Held so light that the other parameters must leave the prior.
    values = golden.model.parameters.with_values({'hand.mass': 0.01}).fixed('hand.mass')
    problem = simulated.replace(golden.problem(0.01), parameters=values)
    estimate = SemidefiniteLeastSquares().fit(problem)
    assert estimate.status is Status.CONVERGED
    assert estimate.consistent
    assert estimate.parameters['hand.mass'] == 0.01


@pytest.mark.parametrize('name', ['lmi', 'entropic'])
def test_a_solution_outside_of_what_is_allowed_is_not_believed(monkeypatch, name):
    pretend(monkeypatch, lambda self, z, status, iterations: (10.0 * z, status, iterations))
    assert make_estimator(name).fit(problem_of('arm')).status is Status.INACCURATE


def test_friction_the_solver_leaves_a_hair_below_zero_is_zero(monkeypatch):
    problem = simulated.golden('arm').problem(0.01)
    joint, friction = 1, problem.parameters.index('elbow.viscous_friction')
    torque = problem.torque.copy()
    # As if the drive pushed: the friction that fits best is below zero.
    torque[:, joint] -= 5.0 * problem.regressor[:, joint, friction]

    def beyond(self, z, status, iterations):
        row = self.allowed.matrix[self.allowed.labels.index('elbow.viscous_friction >= 0')]
        return z + 1e-8 * row, status, iterations

    pretend(monkeypatch, beyond)
    estimate = SemidefiniteLeastSquares().fit(simulated.with_torque(problem, torque))
    assert estimate.status is Status.CONVERGED
    assert any('elbow.viscous_friction >= 0' in note for note in estimate.notes)
    assert estimate.parameters.values[friction] == 0.0


def test_a_solver_that_gives_up_is_a_failed_fit(monkeypatch):
    def give_up(*_, **__):
        raise cp.SolverError('no')

    monkeypatch.setattr(cp.Problem, 'solve', give_up)
    problem = problem_of('arm')
    estimate = SemidefiniteLeastSquares(constraints=no_further_constraint).fit(problem)
    assert estimate.status is Status.FAILED
    np.testing.assert_array_equal(estimate.parameters.values, problem.parameters.prior)
