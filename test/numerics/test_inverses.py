"""Inverses of small matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_parts import PartsOf
from sysid_ros.numerics import inverses

parts = PartsOf(inverses)


def table(size, width, seed=1):
    return np.random.default_rng(seed).normal(size=(size, width))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('rank', [0, 1, 3, 6])
def test_a_generalised_inverse_is_one_whatever_the_rank(rank):
    matrix = table(6, rank, 4) @ table(rank, 6, 5)
    work, inverse = np.empty((6, 12)), np.empty((6, 6))
    work[:, :6] = matrix
    assert parts.generalised_inverse(work, rank, np.zeros(6, dtype=np.int64), 1e-12, inverse)
    close(matrix @ inverse @ matrix, matrix)
    assert np.linalg.matrix_rank(inverse) == rank
    if rank == 6:
        close(inverse, np.linalg.inv(matrix))


@pytest.mark.parametrize('claimed', [4, 5, 6])
def test_a_rank_that_is_claimed_too_large_is_found_out(claimed):
    work, inverse = np.empty((6, 12)), np.empty((6, 6))
    work[:, :6] = table(6, 3, 4) @ table(3, 6, 5)
    order = np.zeros(6, dtype=np.int64)
    assert not parts.generalised_inverse(work, claimed, order, 1e-12, inverse)


def test_the_inverse_of_three_rows_is_that_of_numpy():
    matrix, inverse = table(3, 3), np.empty((3, 3))
    parts.invert_3(matrix, inverse)
    close(inverse, np.linalg.inv(matrix))
