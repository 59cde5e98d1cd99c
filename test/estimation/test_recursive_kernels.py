"""The compiled parts of a recursive step against NumPy, and what steps share."""

from __future__ import annotations

import hashlib
import inspect
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.estimation.regression import recursive_kernels
from sysid_ros.estimation.regression.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.recursive_barrier import barrier
from sysid_ros.estimation.regression.recursive_factor import eliminate, solve, take_off
from sysid_ros.estimation.regression.recursive_prior import quadratic
from sysid_ros.estimation.regression.recursive_state import elimination_for
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.robot.inertia import pseudo_inertia

golden = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / 'golden_problems.py')))


def positive(rng, count, zeros=0):
    """A symmetric positive definite matrix, whose first rows are coupled with their pair only."""
    root = rng.normal(size=(count, count + 2))
    matrix = root @ root.T + 0.1 * np.eye(count)
    matrix[:zeros] = matrix[:, :zeros] = 0.0
    for k in range(zeros):
        matrix[k, k] = 2.0
        other = k ^ 1
        if other < zeros:
            matrix[k, other] = 1.0
    return matrix


def system_of(matrix, right):
    """Workspace with the upper triangle and a right-hand side."""
    count = len(matrix)
    work = elimination_for(count)
    work.matrix[:count, :count], work.matrix[:count, count] = np.triu(matrix), right
    return work


@pytest.mark.parametrize('count', [1, 2, 3, 4, 7, 8, 9, 15, 16, 23, 66])
@pytest.mark.parametrize('zeros', [0, 5])
def test_elimination_solves_linear_systems(count, zeros, rng):
    matrix, right = positive(rng, count, min(zeros, count)), rng.normal(size=count)
    work, solution = system_of(matrix, right), np.zeros(count)
    assert eliminate(work, 0, 0, count)
    product = solve(work, count, solution)
    expected = np.linalg.solve(matrix, right)
    size = np.linalg.cond(matrix) * np.linalg.norm(expected)
    assert np.linalg.norm(solution - expected) <= 1e-14 * size
    assert product == pytest.approx(right @ expected, rel=1e-10)
    factor = np.triu(work.matrix[:count, :count])
    np.testing.assert_allclose(factor.T @ np.diag(work.inverse) @ factor, matrix, atol=1e-11)
    np.testing.assert_allclose(work.inverse, 1.0 / np.diag(factor), rtol=1e-12)


@pytest.mark.parametrize('first', [1, 4, 6, 11, 20])
@pytest.mark.parametrize('apart', [False, True])
def test_what_comes_first_is_eliminated_once(first, apart, rng):
    # With the rest in the same array, or in another one; then the rest as if it were all.
    count = 20
    matrix, right = positive(rng, count), rng.normal(size=count)
    work = system_of(matrix, np.zeros(count))
    rest = work.matrix.copy() if apart else work.matrix
    if apart:
        work.matrix[first:] = np.nan
        work.matrix[first:, :first] = 0.0
    assert eliminate(work, 0, 0, first)
    take_off(work, rest, first, count)
    left = matrix[first:, first:] - matrix[first:, :first] @ np.linalg.solve(
        matrix[:first, :first], matrix[:first, first:])
    np.testing.assert_allclose(np.triu(rest[first:count, first:count]), np.triu(left), atol=1e-11)
    work.matrix[first:] = rest[first:]
    work.matrix[first:count, count] = right[first:]
    done = work.matrix[:first].copy()
    assert eliminate(work, first, first, count)
    np.testing.assert_array_equal(work.matrix[:first], done)
    work.matrix[:first, count] = 0.0
    solution = np.zeros(count)
    solve(work, count, solution)
    np.testing.assert_allclose(
        solution[first:], np.linalg.solve(left, right[first:]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize('wrong', [0.0, -1.0, np.nan, np.inf])
def test_what_is_not_positive_is_said(wrong, rng):
    for k in (0, 5, 11):
        matrix = positive(rng, 12)
        matrix[k, k] = wrong
        assert not eliminate(system_of(matrix, np.zeros(12)), 0, 0, 12)


def started(**settings):
    rows = golden.golden('arm').problem(0.02)
    return RecursiveLeastSquares(**settings).start(rows, weighted_directions(rows)[0].sigma), rows


def test_the_barrier_is_minus_the_logarithms_of_the_determinants(rng):
    state, _ = started(regulariser='log_det')
    theta = state.prior.reference.copy()
    for k in rng.integers(0, 30, 10):
        theta[k] *= 1.02
    pseudo = pseudo_inertia(theta[:30].reshape(3, 10))
    assert barrier(state.prior, theta, False) == pytest.approx(
        -np.linalg.slogdet(pseudo)[1].sum(), rel=1e-12)
    assert barrier(state.prior, theta, True) == 0.0
    for k in (0, 4, 6, 9, 10, 24):
        outside = theta.copy()
        outside[k] = -1e-3
        assert barrier(state.prior, outside, False) == np.inf
        assert barrier(state.prior, outside, True) == np.inf


@pytest.mark.parametrize(
    ('regulariser', 'settled'), [('plausible', 3), ('log_det', 12), ('l2', 42)])
def test_parameters_of_which_the_prior_is_quadratic_come_first(regulariser, settled):
    state, rows = started(regulariser=regulariser)
    assert state._prior.settled == quadratic(state.prior).sum() == settled
    # What no torque sees follows: of the first link all but the moment about its axis.
    told = (rows.base.matrix[:, state._columns] != 0.0).any(axis=0)
    assert not told[settled:settled + 9].any() or regulariser == 'l2'


@pytest.mark.parametrize('regulariser', ['plausible', 'log_det', 'l2'])
def test_iterations_of_one_step_are_those_of_several(regulariser):
    together, rows = started(regulariser=regulariser, max_iterations=4, tolerance=1e-300)
    apart, _ = started(regulariser=regulariser, max_iterations=1, tolerance=1e-300)
    together.extend_rows(rows.regressor[:1], rows.torque[:1])
    apart.extend_rows(rows.regressor[:1], rows.torque[:1])
    for _ in range(3):
        recursive_kernels.iterate(apart._prior, apart._state, apart._workspace, apart._options, 1)
    step = np.linalg.norm(rows.scale, axis=1)
    assert together.iterations == apart.iterations == 4
    # One sample of weight 1e4 beside a prior of 0.1: eight digits are left of the rest.
    np.testing.assert_allclose(together.theta / step, apart.theta / step, rtol=1e-6, atol=1e-6)


def test_the_cache_of_the_steps_looks_at_the_files_they_call():
    digest = hashlib.sha256(b''.join(
        Path(module.__file__).read_bytes() for module in recursive_kernels.SOURCES)).hexdigest()
    for ours, same, other in zip(
            (recursive_kernels.iterate, recursive_kernels.advance),
            recursive_kernels._compiled(digest), recursive_kernels._compiled('another'),
            strict=True):
        key = inspect.getattr_static(type(ours._cache), '_index_key')
        codegen = ours.targetctx.codegen()
        assert key(ours._cache, (), codegen) == key(same._cache, (), codegen)
        assert key(ours._cache, (), codegen) != key(other._cache, (), codegen)
