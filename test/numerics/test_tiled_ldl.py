"""The elimination by tiles of registers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.numerics.tiled_ldl import (
    factorise,
    schur_complement,
    solve,
    tiled_ldl_workspace,
)


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
    work = tiled_ldl_workspace(count)
    work.matrix[:count, :count], work.matrix[:count, count] = np.triu(matrix), right
    return work


@pytest.mark.parametrize('count', [1, 2, 3, 4, 7, 8, 9, 15, 16, 23, 66])
@pytest.mark.parametrize('zeros', [0, 5])
def test_elimination_solves_linear_systems(count, zeros, rng):
    matrix, right = positive(rng, count, min(zeros, count)), rng.normal(size=count)
    work, solution = system_of(matrix, right), np.zeros(count)
    assert factorise(work, 0, 0, count)
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
    assert factorise(work, 0, 0, first)
    schur_complement(work, rest, first, count)
    left = matrix[first:, first:] - matrix[first:, :first] @ np.linalg.solve(
        matrix[:first, :first], matrix[:first, first:])
    np.testing.assert_allclose(np.triu(rest[first:count, first:count]), np.triu(left), atol=1e-11)
    work.matrix[first:] = rest[first:]
    work.matrix[first:count, count] = right[first:]
    done = work.matrix[:first].copy()
    assert factorise(work, first, first, count)
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
        assert not factorise(system_of(matrix, np.zeros(12)), 0, 0, 12)
