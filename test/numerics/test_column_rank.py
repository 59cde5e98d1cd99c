"""The rank of columns: by the largest drop, whatever their units, and the gap it leaves."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.numerics.column_rank import column_rank


def dependent_columns(rng, rows=60, columns=12, rank=7):
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))


def test_dependent_columns_count_once(rng):
    found = column_rank(dependent_columns(rng))
    assert found.rank == 7
    assert found.gap[0] > 1e-3 > 1e-13 > found.gap[1]
    np.testing.assert_array_equal(found.active, np.arange(12))


def test_units_of_the_columns_do_not_matter(rng):
    columns = dependent_columns(rng) * 10.0 ** rng.uniform(-5.0, 5.0, 12)
    assert column_rank(columns).rank == 7


def test_columns_that_are_rounding_are_not_blown_up_to_rank(rng):
    columns = dependent_columns(rng)
    columns[:, [2, 9]] = 1e-15 * rng.normal(size=(60, 2))
    found = column_rank(columns)
    assert found.rank == 7
    assert not np.isin([2, 9], found.active).any()


def test_independent_columns_all_count(rng):
    found = column_rank(rng.normal(size=(30, 5)))
    assert found.rank == 5
    assert found.gap[1] == 0.0


# Rounding is at 1e-16: half of its digits lie on either side of 1e-8.
@pytest.mark.parametrize(('weak', 'rank'), [(1e-3, 8), (1e-6, 8), (1e-10, 7), (1e-13, 7)])
def test_a_weak_column_counts_when_rounding_lies_farther_below_it_than_it_below_others(
        rng, weak, rank):
    columns = dependent_columns(rng)
    columns[:, 5] = columns[:, 4] + weak * rng.normal(size=60)
    found = column_rank(columns)
    assert found.rank == rank
    assert found.gap[0] > 1e3 * found.gap[1]


def test_fewer_rows_than_columns_bound_the_rank(rng):
    assert column_rank(rng.normal(size=(4, 9))).rank == 4


def test_nothing_has_no_rank():
    for empty in (np.zeros((5, 3)), np.zeros((0, 3)), np.zeros((3, 0))):
        found = column_rank(empty)
        assert found.rank == 0
        assert found.gap == (0.0, 0.0)
        assert not found.active.size
