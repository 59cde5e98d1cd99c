"""Levels of noise of groups of residuals, against dense algebra and dense likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.noise_levels import GroupedResiduals, restricted
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals

NODES, DIMENSION, PARAMETERS = 40, 2, 3
# Two links are missing: the chain consists of three stretches.
LINKS = np.setdiff1d(np.arange(NODES - 1), [11, 25])
FREE = np.full(PARAMETERS, np.inf)


def chain(seed=0, levels=(1.0, 1.0, 1.0)):
    """A random chain: a sensor of one number, and two kinds of what is between nodes."""
    rng = np.random.default_rng(seed)
    sensor = Residuals.of(
        np.arange(NODES), levels[0] * rng.normal(size=(NODES, 1)),
        rng.normal(size=(NODES, 1, DIMENSION)), None, rng.normal(size=(NODES, 1, PARAMETERS)))
    k = len(LINKS)
    between = Residuals.of(
        LINKS, np.array(levels[1:])[[0, 1, 1]] * rng.normal(size=(k, 3)),
        rng.normal(size=(k, 3, DIMENSION)), rng.normal(size=(k, 3, DIMENSION)),
        rng.normal(size=(k, 3, PARAMETERS)))
    return GroupedResiduals(
        NODES, DIMENSION, (sensor, between), (np.array([0]), np.array([1, 2, 2])), -FREE, FREE)


def dense(grouped):
    """Jacobian, residuals and group of every row."""
    rows, residuals, groups = [], [], []
    for part, group in zip(grouped.parts, grouped.groups, strict=True):
        for k, node in enumerate(part.nodes):
            for m, own in enumerate(group):
                row = np.zeros(NODES * DIMENSION + PARAMETERS)
                width = (1 + part.pairs) * DIMENSION
                row[node * DIMENSION:node * DIMENSION + width] = part.rows[k, m, :width]
                row[NODES * DIMENSION:] = part.rows[k, m, width:-1]
                rows.append(row)
                residuals.append(part.values[k, m])
                groups.append(own)
    return np.array(rows), np.array(residuals), np.array(groups)


def minus_likelihood(logarithms, jacobian, residual, groups):
    """Of the restricted likelihood, by variances' logarithms (Patterson and Thompson 1971)."""
    weight = np.exp(-logarithms)[groups]
    normal = jacobian.T @ (weight[:, None] * jacobian)
    left = residual - jacobian @ np.linalg.solve(normal, jacobian.T @ (weight * residual))
    return 0.5 * (
        np.sum(-np.log(weight)) + np.linalg.slogdet(normal)[1] + np.sum(weight * left**2))


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    grouped = chain()
    jacobian, _, _ = dense(grouped)
    hat = np.diagonal(jacobian @ np.linalg.solve(jacobian.T @ jacobian, jacobian.T))
    eliminated = NormalEquations.of(NODES, DIMENSION, PARAMETERS, grouped.parts).eliminated()
    covariance = np.linalg.inv(eliminated.information)
    found = [eliminated.leverages(part, covariance).ravel() for part in grouped.parts]
    np.testing.assert_allclose(np.concatenate(found), hat, atol=1e-11)
    assert hat.sum() == pytest.approx(NODES * DIMENSION + PARAMETERS)


@pytest.mark.parametrize('seed', range(3))
def test_levels_are_those_of_the_largest_restricted_likelihood(seed):
    grouped = chain(seed, (3.0, 1.0, 1.5))
    arrays = dense(grouped)
    best = minimize(
        minus_likelihood, np.zeros(3), args=arrays, method='BFGS', options={'gtol': 1e-9})
    found = grouped.levels()
    assert found.shown.all()
    np.testing.assert_allclose(found.ratio, np.exp(0.5 * best.x), rtol=1e-6)
    hessian = approx_fprime(
        best.x, lambda x: approx_fprime(x, minus_likelihood, 1e-5, *arrays), 1e-4)
    # Half of it, from variances to levels; slopes are taken over a tenth of the logarithm.
    deviation = 0.5 * np.sqrt(np.diagonal(np.linalg.inv(hessian)))
    np.testing.assert_allclose(found.deviation, deviation, rtol=0.02)


@pytest.mark.parametrize('guess', [1e-3, 1e3])
def test_levels_do_not_depend_on_the_first_guess(guess):
    grouped = chain(1, (3.0, 1.0, 1.5))
    right = grouped.levels()
    part, between = grouped.parts
    guessed = GroupedResiduals(
        NODES, DIMENSION, (part, Residuals(between.nodes, between.rows / guess, True)),
        grouped.groups, -FREE, FREE)
    found = guessed.levels()
    assert found.shown.all()
    np.testing.assert_allclose(found.ratio * [1.0, guess, guess], right.ratio, rtol=1e-4)


@pytest.mark.parametrize('seed', [0, 4, 5])
def test_a_level_that_does_not_show_is_said_not_to(seed):
    # Residuals that are zero: in these three cases the likelihood is largest at no noise at all.
    grouped = chain(seed, (1.0, 0.0, 1.0))
    found = grouped.levels()
    np.testing.assert_array_equal(found.shown, [True, False, True])
    assert found.deviation[1] == np.inf and np.isfinite(found.deviation[[0, 2]]).all()
    # It is where it would have one degree of freedom, however it began.
    _, left = grouped.squares_and_redundancy(found.ratio)
    assert left[1] == pytest.approx(1.0, abs=0.05)
    assert found.ratio[1] < 0.3


def test_a_motion_that_nothing_determines_hides_the_noise():
    grouped = chain()
    nothing = tuple(Residuals(part.nodes, 0.0 * part.rows, part.pairs) for part in grouped.parts)
    with pytest.raises(EstimationError, match='noise'):
        GroupedResiduals(NODES, DIMENSION, nothing, grouped.groups, -FREE, FREE).levels()


def test_parameters_that_are_not_moved_are_left_out():
    part = chain().parts[1]
    fewer = restricted(part, DIMENSION, [0, 2])
    np.testing.assert_array_equal(fewer.rows[:, :, -3:-1], part.rows[:, :, [-4, -2]])
    np.testing.assert_array_equal(fewer.rows[:, :, :4], part.rows[:, :, :4])
    assert fewer.rows.flags.c_contiguous
