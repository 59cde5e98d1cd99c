"""Symmetric 4×4 matrices against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_parts import PartsOf
from sysid_ros.numerics import symmetric_4

matrices = PartsOf(symmetric_4)


def positive(rng, condition=1e3):
    """A positive definite 4×4 matrix."""
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return turn @ np.diag(np.geomspace(1.0, 1.0 / condition, 4)) @ turn.T


def workspace():
    """Room for three matrices, of which nothing may be expected."""
    return np.full((3, 4, 4), np.nan)


def symmetric(rng):
    matrix = rng.normal(size=(4, 4))
    return matrix + matrix.T


def test_eigenvalues_are_those_of_numpy(rng):
    for matrix in (symmetric(rng), positive(rng, 1e8), np.eye(4), np.zeros((4, 4))):
        found, vectors = matrix.copy(), np.empty((4, 4))
        matrices.eigen_4(found, vectors)
        np.testing.assert_allclose(np.sort(np.diag(found)), np.linalg.eigvalsh(matrix), atol=1e-14)
        np.testing.assert_allclose(
            vectors @ np.diag(np.diag(found)) @ vectors.T, matrix, atol=1e-14)


def test_the_scaling_makes_matrix_and_multiplier_the_same_diagonal(rng):
    for _ in range(10):
        primal, dual = positive(rng), positive(rng, 1e5)
        inverse, values = np.empty((4, 4)), np.empty(4)
        assert matrices.nesterov_todd_4(primal, dual, inverse, values, workspace())
        root = np.linalg.inv(inverse)
        np.testing.assert_allclose(inverse @ primal @ inverse.T, np.diag(values), atol=1e-12)
        np.testing.assert_allclose(root.T @ dual @ root, np.diag(values), atol=1e-12)


@pytest.mark.parametrize('which', [0, 1])
def test_there_is_no_scaling_of_a_matrix_that_is_not_positive_definite(rng, which):
    pair = [positive(rng), positive(rng)]
    pair[which] -= 0.5 * np.eye(4)
    assert not matrices.nesterov_todd_4(*pair, np.empty((4, 4)), np.empty(4), workspace())


@pytest.mark.parametrize('large', [1.0, 1e4, 1e8])
def test_the_smallest_eigenvalue_is_found(rng, large):
    shifted, factor = np.empty((4, 4)), np.zeros((4, 4))
    for values in ([-1.0, 2.0, 3.0, large], [-1.0, -1.0, -1.0, large], [1.0, 1.0, 1.0, 1.0],
                   [-large, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, large], [-1.0, -1.0, large, large]):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        matrix = turn @ np.diag(values) @ turn.T
        found = matrices.smallest_eigenvalue_4(0.5 * (matrix + matrix.T), shifted, factor)
        # Of several alike, a little less is found.
        assert -1e-8 * abs(min(values)) < found - min(values) + 1e-12 * large
        assert found - min(values) < 1e-12 * large


def test_a_step_reaches_exactly_to_the_boundary(rng):
    values = np.array([0.1, 1.0, 2.0, 5.0])
    for _ in range(20):
        step = symmetric(rng)
        reach = matrices.step_length_4(values, step, 1e9, workspace())
        moved = np.diag(values) + reach * step
        assert abs(np.linalg.eigvalsh(moved)[0]) < 1e-12 * np.abs(moved).max()
        assert matrices.step_length_4(values, step, 0.5 * reach, workspace()) == 0.5 * reach
    assert matrices.step_length_4(values, np.eye(4), 7.0, workspace()) == 7.0


def test_flattened_matrices_keep_their_products(rng):
    first, second = symmetric(rng), symmetric(rng)
    flat, other, back = np.empty(10), np.empty(10), np.empty((4, 4))
    matrices.flatten_4(first, flat)
    matrices.flatten_4(second, other)
    matrices.unflatten_4(flat, back)
    assert flat @ other == pytest.approx(np.trace(first @ second))
    np.testing.assert_allclose(back, first, rtol=1e-15)
    result = np.empty((4, 4))
    matrices.congruence_4(second, first, result)
    np.testing.assert_allclose(result, second @ first @ second.T, rtol=1e-12)
