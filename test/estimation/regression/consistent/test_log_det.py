"""The log-det fit: derivatives, and its minimum against solvers that know nothing of it."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import effective_noise
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.robot.inertia import log_det_divergence

ALPHA = 0.1
Divergence = simulated.Divergence


def problem_of(robot, noise=0.05, **options):
    return simulated.golden(robot).problem(noise, **options)


def pieces(problem):
    """Weighted rows, target and constraints, as in the definition."""
    unconstrained, _, _ = WeightedLeastSquares().iterate(problem)
    sigma = effective_noise(problem, unconstrained)
    rows, torque = problem.weighted(sigma)
    return (
        rows @ problem.scale, torque - rows @ problem.reference,
        feasible_set(problem, Plausibility()), sigma,
    )


def objective_of(problem):
    matrix, target, allowed, _ = pieces(problem)
    return Divergence(matrix, target, allowed)


def inside(objective, rng, size=0.02):
    return objective.start + size * rng.normal(size=len(objective.start))


def steps(problem, theta):
    return np.linalg.lstsq(problem.scale, theta - problem.reference, rcond=None)[0]


@pytest.mark.parametrize('strength', [1e-6, 1e-3, 0.1, 1e3])
@pytest.mark.parametrize('noise', [0.0, 0.05, 0.5])
@pytest.mark.parametrize('robot', simulated.NAMES)
def test_no_movement_lowers_the_objective(robot, noise, strength):
    problem = problem_of(robot, noise, samples=150)
    estimator = EntropicLeastSquares(prior_strength=strength)
    directions, _ = weighted_directions(problem)
    weights, known, target = directions.principal_rows
    objective = Divergence(
        weights[:, None] * known, target, feasible_set(problem, Plausibility()))
    z, status, _ = estimator.minimise(directions, objective.allowed)
    assert status is Status.CONVERGED
    assert objective.allowed.contains(z)
    # What the quadratic model at the solution would still gain, computed without squares.
    stack = np.vstack([objective.matrix, np.sqrt(strength) * objective.hessian_root(z)])
    slope = np.concatenate([objective.matrix @ z - target, np.zeros(len(stack) - len(target))])
    pull = strength * objective.divergence_gradient(z)
    orthogonal, triangle = np.linalg.qr(stack)
    newton = orthogonal.T @ slope + np.linalg.solve(triangle.T, pull)
    assert newton @ newton <= 1e-7 * max(strength, objective.value(z, strength))


def test_outside_of_what_is_allowed_the_objective_is_infinite():
    problem = problem_of('arm')
    objective = objective_of(problem)
    for name, value in (('elbow.armature', -0.1), ('hand.inertia_zz', -1.0), ('hand.mass', 9.0)):
        theta = problem.parameters.with_values({name: value}).values
        assert objective.value(steps(problem, theta), ALPHA) == np.inf


def test_the_divergence_is_zero_at_its_start_and_grows_from_there(rng):
    objective = objective_of(problem_of('arm'))

    def divergence(z):
        return objective.value(z, 1.0) - objective.misfit(z)

    assert divergence(objective.start) == pytest.approx(0.0, abs=1e-9)
    assert all(divergence(inside(objective, rng)) > 0.0 for _ in range(20))


def test_for_one_free_body_the_divergence_is_the_published_one(rng):
    problem = problem_of('arm', fixed=('shoulder.*', 'upper.*', '*_friction', '*_offset',
                                       '*.armature'))
    plausible = Plausibility(margin=1e-9, mass_factor=1e6, total_mass=1e6)
    matrix, target, _, _ = pieces(problem)
    objective = Divergence(matrix, target, feasible_set(problem, plausible))
    block = problem.parameters.body_slice('hand')
    for _ in range(5):
        z = inside(objective, rng, 0.2)
        theta = problem.reference + problem.scale @ z
        expected = log_det_divergence(theta[block], problem.parameters.prior[block])[0]
        expected += sum(
            s / s0 - np.log(s / s0) - 1.0 for s, s0 in zip(
                feasible_set(problem, plausible).slack(z),
                feasible_set(problem, plausible).slack(objective.start), strict=True))
        found = objective.value(z, 1.0) - objective.misfit(z)
        assert found == pytest.approx(expected, rel=1e-5)


def written_out(problem):
    """Misfit and divergence written out: pieces, start, and which steps have no barrier."""
    matrix, target, allowed, _ = pieces(problem)
    start = Divergence(matrix, target, allowed).start
    offsets = np.array([
        any(problem.parameters.names[k].endswith('_offset') for k in np.flatnonzero(column))
        for column in problem.scale.T
    ])
    return matrix, target, allowed, start, offsets


@pytest.mark.parametrize('robot', ['single joint', 'arm'])
def test_the_minimum_is_that_of_cvxpy(robot):
    problem = problem_of(robot)
    matrix, target, allowed, start, offsets = written_out(problem)
    z = cp.Variable(matrix.shape[1])
    first, slack0 = allowed.pseudo_inertias(start), allowed.slack(start)
    divergence = 0.5 * cp.sum_squares(z[offsets] - start[offsets])
    constraints = []
    for constant, slopes, at_start in zip(
        allowed.constant, allowed.slopes, first, strict=True
    ):
        pseudo = cp.Variable((4, 4), symmetric=True)
        flat = slopes.reshape(len(slopes), 16).T
        constraints.append(
            cp.reshape(pseudo, (16,), order='C') == flat @ z + constant.ravel())
        divergence += cp.trace(np.linalg.inv(at_start) @ pseudo) - cp.log_det(pseudo)
        divergence += np.linalg.slogdet(at_start)[1] - 4.0
    ratio = cp.multiply(1.0 / slack0, allowed.bound - allowed.matrix @ z)
    divergence += cp.sum(ratio - cp.log(ratio) - 1.0)
    size = np.linalg.norm(target)
    objective = 0.5 * cp.sum_squares((matrix @ z - target) / size) + ALPHA / size**2 * divergence
    program = cp.Problem(cp.Minimize(objective), constraints)
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)

    estimate = EntropicLeastSquares(prior_strength=ALPHA).fit(problem)
    found = steps(problem, estimate.parameters.values)
    mine = Divergence(matrix, target, allowed)
    assert mine.value(found, ALPHA) == pytest.approx(mine.value(z.value, ALPHA), rel=1e-6)
    # The minimum of the two, not only of one of them.
    assert mine.value(found, ALPHA) <= mine.value(z.value, ALPHA) * (1 + 1e-9)
    theta = problem.reference + problem.scale @ z.value
    torque = problem.regressor @ (theta - estimate.parameters.values)
    assert np.linalg.norm(torque) < 1e-4 * np.linalg.norm(problem.torque)


def test_the_minimum_is_that_of_scipy():
    problem = problem_of('single joint')
    matrix, target, allowed, start, offsets = written_out(problem)
    first, slack0 = allowed.pseudo_inertias(start), allowed.slack(start)

    def objective(z):
        ratios = np.linalg.solve(first, allowed.pseudo_inertias(z))
        left = allowed.slack(z) / slack0
        eigenvalues = np.linalg.eigvals(ratios).real
        if (left <= 0.0).any() or (eigenvalues <= 0.0).any():
            return 1e30
        divergence = np.sum(eigenvalues - np.log(eigenvalues) - 1.0)
        divergence += np.sum(left - np.log(left) - 1.0)
        divergence += 0.5 * np.sum((z - start)[offsets] ** 2)
        return 0.5 * np.sum((matrix @ z - target) ** 2) + ALPHA * divergence

    estimate = EntropicLeastSquares(prior_strength=ALPHA).fit(problem)
    found = steps(problem, estimate.parameters.values)
    # In coordinates in which the misfit and the prior weigh alike in all directions. The
    # objective is convex: there is one minimum, which scipy finds from beside it.
    root = np.linalg.inv(np.linalg.cholesky(matrix.T @ matrix + ALPHA * np.eye(len(start)))).T
    beside = found + 0.1 * (start - found)
    solution = scipy.optimize.minimize(
        lambda u: objective(beside + root @ u), np.zeros(len(start)), jac='3-point',
        method='BFGS', options={'gtol': 1e-5},
    )
    assert objective(beside) > objective(found) * (1 + 1e-4)
    assert objective(found) == pytest.approx(solution.fun, rel=1e-7)


def test_a_prior_outside_of_what_is_allowed_is_refused():
    golden = simulated.golden('arm')
    # Held at a mass that its own moments of inertia contradict.
    values = golden.model.parameters.with_values({'hand.mass': 0.01}).fixed('hand.mass')
    problem = simulated.replace(golden.problem(0.01), parameters=values)
    with pytest.raises(ConfigurationError, match='not strictly inside'):
        EntropicLeastSquares().fit(problem)


def test_an_overwhelming_prior_is_kept():
    problem = problem_of('arm')
    estimate = EntropicLeastSquares(prior_strength=1e12).fit(problem)
    start = problem.reference + problem.scale @ objective_of(problem).start
    np.testing.assert_allclose(estimate.parameters.values, start, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize('robot', ['arm', 'mimic joint', 'single joint'])
def test_a_vanishing_prior_gives_the_semidefinite_fit(robot):
    problem = problem_of(robot, 0.5, seed=1, samples=150)
    best = SemidefiniteLeastSquares(prior_strength=1e-9).fit(problem)
    assert best.iterations > 0
    matrix, target, _, _ = pieces(problem)

    def misfit(estimate):
        z = steps(problem, estimate.parameters.values)
        return np.sum((matrix @ z - target) ** 2)

    gaps = []
    for strength in (1e-1, 1e-3, 1e-5):
        estimate = EntropicLeastSquares(prior_strength=strength).fit(problem)
        assert estimate.status is Status.CONVERGED
        gaps.append(misfit(estimate) / misfit(best) - 1.0)
    assert gaps[0] > gaps[1] > gaps[2] > -1e-7
    assert gaps[2] < 1e-4


def test_every_iteration_counts_and_too_few_are_said():
    problem = problem_of('arm')
    whole = EntropicLeastSquares().fit(problem)
    assert whole.status is Status.CONVERGED
    short = EntropicLeastSquares(max_iterations=whole.iterations - 1).fit(problem)
    assert short.status is Status.ITERATION_LIMIT
    # The best point that was reached is next to the solution.
    assert short.consistent
    np.testing.assert_allclose(
        problem.predicted(short.parameters.values), problem.predicted(whole.parameters.values),
        atol=1e-3 * np.abs(problem.torque).max())


@pytest.mark.parametrize('strength', [1.0, 1e-1, 1e-3, 1e-6])
def test_a_weak_prior_on_a_boundary_takes_few_iterations(strength):
    problem = problem_of('arm', 0.5, seed=1, samples=150)
    estimate = EntropicLeastSquares(prior_strength=strength).fit(problem)
    assert estimate.status is Status.CONVERGED
    assert estimate.iterations <= 25


def test_a_weak_prior_survives_exact_data():
    # The squared rows exceed the prior by more than double precision holds.
    problem = problem_of('arm', 0.0)
    estimate = EntropicLeastSquares(prior_strength=1e-9).fit(problem)
    assert estimate.status is Status.CONVERGED
    assert estimate.residuals.relative_error < 1e-9


def test_principal_rows_keep_the_objective(rng):
    problem = problem_of('arm', still=(0,))
    matrix, target, _, sigma = pieces(problem)
    weights, directions, aim = DataDirections(problem, sigma).principal_rows
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(weights)), atol=1e-10)
    first, second = rng.normal(size=(2, matrix.shape[1]))

    def whole(z):
        return np.sum((matrix @ z - target) ** 2)

    def principal(z):
        return np.sum((weights * (directions @ z) - aim) ** 2)

    assert whole(first) - whole(second) == pytest.approx(
        principal(first) - principal(second), rel=1e-9)
