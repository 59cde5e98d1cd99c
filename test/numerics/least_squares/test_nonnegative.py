"""Non-negative least squares, against its optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from sysid_ros.errors import EstimationError
from sysid_ros.numerics.least_squares import nonnegative
from sysid_ros.numerics.least_squares.nonnegative import nonnegative_least_squares


def is_optimal(matrix, target, x):
    """Karush, Kuhn and Tucker: no x is negative, and none can grow or shrink with profit."""
    gradient = matrix.T @ (matrix @ x - target)
    tolerance = 1e-9 * np.linalg.norm(matrix) * np.linalg.norm(target)
    return (x >= 0.0).all() and (gradient >= -tolerance).all() and abs(gradient @ x) <= tolerance


def drawn(rng):
    rows, unknowns = rng.integers(1, 12, size=2)
    matrix = rng.normal(size=(rows, unknowns))
    matrix[:, rng.random(unknowns) < 0.2] = 0.0
    return matrix, rng.normal(size=rows)


def endless(*_, **__):
    raise RuntimeError('too many iterations')


def test_the_minimum_is_found(draws):
    for number, rng in draws.numbered(50):
        matrix, target = drawn(rng)
        with draws.saved_on_failure(number, matrix=matrix, target=target):
            assert is_optimal(matrix, target, nonnegative_least_squares(matrix, target))


def test_the_minimum_is_found_where_the_active_set_of_scipy_does_not_end(draws, monkeypatch):
    monkeypatch.setattr(nonnegative, 'nnls', endless)
    for number, rng in draws.numbered(50):
        matrix, target = drawn(rng)
        with draws.saved_on_failure(number, matrix=matrix, target=target):
            assert is_optimal(matrix, target, nonnegative_least_squares(matrix, target))


def test_what_is_on_its_bound_but_for_a_last_bit_is_not_negative(monkeypatch):
    almost = OptimizeResult(success=True, x=np.array([-2.8e-17, 1.0, 1.0]))
    monkeypatch.setattr(nonnegative, 'nnls', endless)
    monkeypatch.setattr(nonnegative, 'lsq_linear', lambda *_, **__: almost)
    np.testing.assert_array_equal(
        nonnegative_least_squares(np.eye(3), np.array([0.0, 1.0, 1.0])), [0.0, 1.0, 1.0])


def test_an_active_set_that_goes_in_circles_is_told(monkeypatch):
    monkeypatch.setattr(nonnegative, 'nnls', endless)
    monkeypatch.setattr(
        nonnegative, 'lsq_linear', lambda *_, **__: OptimizeResult(success=False, x=np.ones(3)))
    with pytest.raises(EstimationError, match='did not end'):
        nonnegative_least_squares(np.eye(3), np.ones(3))


@pytest.mark.parametrize('shape', [(0, 2), (3, 0), (0, 0)])
def test_without_rows_or_unknowns_zero_is_given(shape):
    np.testing.assert_array_equal(
        nonnegative_least_squares(np.zeros(shape), np.ones(shape[0])), np.zeros(shape[1]))
