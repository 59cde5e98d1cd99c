"""Least squares by Householder QR against NumPy's by singular values."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_parts import PartsOf
from sysid_ros.numerics import householder

householder_least_squares = PartsOf(householder).householder_least_squares


@pytest.mark.parametrize(('count', 'unknowns'), [(1, 1), (3, 3), (6, 2), (7, 5)])
def test_the_solution_is_that_by_singular_values(count, unknowns, rng):
    rows, solution = rng.normal(size=(count, unknowns + 3)), np.empty((unknowns, 3))
    expected = np.linalg.lstsq(rows[:, :unknowns], rows[:, unknowns:], rcond=None)[0]
    assert householder_least_squares(rows.copy(), unknowns, solution) > 0.0
    np.testing.assert_allclose(solution, expected, rtol=1e-10, atol=1e-12)


def test_the_pivot_is_what_a_column_has_of_its_own():
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1e-3, 0.0]])
    pivot = householder_least_squares(rows, 2, np.empty((2, 1)))
    assert pivot == pytest.approx(1e-3, rel=1e-5)


def test_columns_that_depend_on_each_other_have_no_solution(rng):
    columns = rng.normal(size=(5, 2))
    dependent = np.column_stack([columns, columns @ [1.0, -2.0], np.ones(5)])
    assert householder_least_squares(dependent, 3, np.empty((3, 1))) == 0.0
    fewer = rng.normal(size=(2, 4))
    assert householder_least_squares(fewer, 3, np.empty((3, 1))) == 0.0
