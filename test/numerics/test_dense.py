"""Factorisations and solves of small matrices, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from support.compiled_parts import PartsOf
from sysid_ros.numerics import dense

parts = PartsOf(dense)
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 30]


def random_matrices(test):
    draw = given(size=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
    return settings(deadline=None)(draw(test))



def square(size, seed=0):
    return np.random.default_rng(seed).normal(size=(size, size))


def positive_definite(size, seed=0):
    root = square(size, seed)
    return root @ root.T + 0.1 * np.eye(size)


def table(size, width, seed=1):
    return np.random.default_rng(seed).normal(size=(size, width))


def factored(matrix, tolerance=0.0):
    factors, order = matrix.copy(), np.zeros(len(matrix), dtype=np.int64)
    return parts.lu(factors, order, tolerance), factors, order


def close(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize('size', SIZES)
def test_cholesky_is_that_of_scipy_and_reads_the_upper_triangle_only(size):
    matrix = positive_definite(size)
    factor = np.triu(matrix) + np.tril(np.full((size, size), np.nan), -1)
    assert parts.cholesky(factor)
    expected = scipy.linalg.cholesky(matrix) if size else matrix
    close(np.triu(factor), expected, 1e-12)


@pytest.mark.parametrize('size', SIZES)
def test_columns_behind_a_matrix_are_solved_for_by_its_factor(size):
    matrix, right = positive_definite(size), table(size, 3)
    work = np.hstack([matrix, right])
    assert parts.cholesky(work)
    close(np.triu(work[:, :size]).T @ work[:, size:], right, 1e-12)


@pytest.mark.parametrize('size', SIZES)
def test_solutions_with_a_cholesky_factor_are_those_of_numpy(size):
    matrix, right = positive_definite(size), table(size, 5)
    factor, x, columns = matrix.copy(), right[:, 0].copy(), right.copy()
    assert parts.cholesky(factor)
    parts.solve_cholesky(factor, x)
    parts.solve_cholesky_columns(factor, columns)
    expected = np.linalg.solve(matrix, right)
    close(x, expected[:, 0])
    close(columns, expected)


@pytest.mark.parametrize('size', SIZES)
def test_lu_factors_are_those_of_scipy(size):
    matrix = square(size)
    regular, factors, order = factored(matrix)
    assert regular
    expected, exchanges = scipy.linalg.lu_factor(matrix) if size else (matrix, order)
    close(factors, expected)
    assert order.tolist() == exchanges.tolist()


@pytest.mark.parametrize('size', SIZES)
def test_solutions_with_lu_factors_are_those_of_numpy(size):
    matrix, right = square(size), table(size, 5)
    _, factors, order = factored(matrix)
    x, columns, rows = right[:, 0].copy(), right.copy(), right.T.copy()
    transposed = right[:, 0].copy()
    parts.solve_lu(factors, order, x)
    parts.solve_lu_columns(factors, order, columns)
    parts.solve_lu_rows(factors, order, rows)
    parts.solve_lu_transposed(factors, order, transposed)
    expected = np.linalg.solve(matrix, right)
    close(x, expected[:, 0])
    close(columns, expected)
    close(rows, expected.T)
    close(transposed, np.linalg.solve(matrix.T, right[:, 0]))


@pytest.mark.parametrize('size', [1, 2, 3, 6])
def test_what_is_larger_than_the_system_is_left_as_it_is(size):
    matrix, right = square(9), table(9, 2)
    factors, order, x = matrix.copy(), np.zeros(9, dtype=np.int64), right[:, 0].copy()
    assert parts.lu(factors, order[:size], 0.0)
    parts.solve_lu(factors, order, x[:size])
    close(x[:size], np.linalg.solve(matrix[:size, :size], right[:size, 0]))
    assert (factors[size:] == matrix[size:]).all()
    assert (factors[:, size:] == matrix[:, size:]).all()
    assert (x[size:] == right[size:, 0]).all()


@pytest.mark.parametrize('size', SIZES)
def test_triangles_are_solved_with_as_by_scipy(size):
    matrix, right = square(size) + 3.0 * size * np.eye(size), table(size, 3)
    solve = scipy.linalg.solve_triangular
    for name, options in (
            ('solve_upper', {}), ('solve_upper_transposed', {'trans': 1}),
            ('solve_unit_lower', {'lower': True, 'unit_diagonal': True})):
        expected = solve(matrix, right, **options) if size else right
        x, columns = right[:, 0].copy(), right.copy()
        getattr(parts, name)(matrix, x)
        getattr(parts, f'{name}_columns')(matrix, columns)
        scale = np.abs(expected).max(initial=1.0)
        close(x / scale, expected[:, 0] / scale)
        close(columns / scale, expected / scale)


@pytest.mark.parametrize('count', [0, 1, 3, 5])
def test_elimination_leaves_the_schur_complement(count):
    matrix = square(5, 3) + 9.0 * np.eye(5)
    work = np.hstack([matrix, table(5, 2)])
    first, right, below, rest = np.split(work[:count], [count], axis=1) + np.split(
        work[count:].copy(), [count], axis=1)
    first, right = first.copy(), right.copy()
    assert parts.eliminate(work, count, 0.0)
    close(work[count:, count:], rest - below @ np.linalg.solve(first, right), 1e-12)
    lower = np.tril(work[:count, :count], -1) + np.eye(count)
    close(lower @ np.triu(work[:count, :count]), first, 1e-12)
    close(lower @ work[:count, count:], right, 1e-12)


@pytest.mark.parametrize('size', [1, 2, 5, 10])
def test_the_triangle_is_that_of_numpys_qr(size):
    columns = table(size, 15) * np.geomspace(1.0, 1e-12, size)[:, None]
    expected = np.linalg.qr(columns[:, :12].T, mode='r')
    expected *= np.sign(np.diag(expected))[:, None]
    triangle = np.zeros((size, size))
    assert parts.qr_triangle(columns.copy(), 12, triangle)
    np.testing.assert_allclose(triangle, expected, rtol=1e-9, atol=1e-15)


def test_a_column_of_zeros_has_no_triangle():
    assert not parts.qr_triangle(np.zeros((2, 5)), 5, np.zeros((2, 2)))


@random_matrices
def test_a_singular_matrix_has_no_lu_factors(size, seed):
    # Columns of unit vectors, the last of which is made up of others, but for rounding.
    vectors = np.linalg.qr(square(size, seed))[0]
    matrix = vectors[:, :-1] @ np.hstack([np.eye(size - 1), np.ones((size - 1, 1))])
    assert not factored(matrix, 1e-12)[0]


@random_matrices
def test_a_nearly_singular_matrix_is_solved_as_well_as_its_condition_allows(size, seed):
    left, _, right = np.linalg.svd(square(size, seed))
    matrix = left @ np.diag(np.geomspace(1.0, 1e-9, size)) @ right
    expected = table(size, 1, seed)[:, 0]
    regular, factors, order = factored(matrix, 1e-13)
    assert regular
    x = matrix @ expected
    parts.solve_lu(factors, order, x)
    # Backward stable: the residual is small, whatever the error is.
    assert np.abs(matrix @ (x - expected)).max() <= 1e-13 * size * np.abs(x).max()


@random_matrices
def test_a_matrix_that_is_not_positive_definite_has_no_cholesky_factor(size, seed):
    vectors = np.linalg.qr(square(size, seed))[0]
    values = np.geomspace(1.0, 1e-3, size)
    values[seed % size] = -1e-6
    assert not parts.cholesky(vectors @ np.diag(values) @ vectors.T)


@random_matrices
def test_a_nearly_singular_matrix_has_a_cholesky_factor_that_makes_it_up(size, seed):
    vectors = np.linalg.qr(square(size, seed))[0]
    matrix = vectors @ np.diag(np.geomspace(1.0, 1e-10, size)) @ vectors.T
    factor = matrix.copy()
    assert parts.cholesky(factor)
    close(np.triu(factor).T @ np.triu(factor), matrix, 1e-14 * size)


@pytest.mark.parametrize('wrong', [np.nan, np.inf])
@pytest.mark.parametrize('place', [0, 2, 4])
def test_what_is_not_finite_has_no_factors(wrong, place):
    matrix = positive_definite(5)
    matrix[place, place] = wrong
    assert not parts.cholesky(matrix.copy())
    assert not factored(matrix)[0]


def test_a_zero_pivot_is_exchanged_or_found_out():
    matrix = np.array([[0.0, 2.0], [3.0, 0.0]])
    assert factored(matrix)[0]
    assert not parts.eliminate(matrix.copy(), 2, 0.0)
    assert not factored(np.zeros((2, 2)))[0]
