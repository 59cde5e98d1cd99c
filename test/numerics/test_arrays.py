"""Kernels get one kind of array, and callers keep theirs."""

import numpy as np
import pytest

from sysid_ros.numerics.arrays import read_only, runs


def test_a_view_is_locked_and_its_array_is_not():
    array = np.arange(6.0).reshape(2, 3)
    view = read_only(array)
    with pytest.raises(ValueError, match='read-only'):
        view[0, 0] = 1.0
    array[0, 0] = 7.0
    assert view[0, 0] == 7.0 and np.shares_memory(view, array)


@pytest.mark.parametrize('array', [np.arange(6).reshape(2, 3), np.arange(6.0).reshape(3, 2).T])
def test_another_kind_of_array_is_copied(array):
    view = read_only(array)
    assert view.flags.c_contiguous and view.dtype == float and not view.flags.writeable
    np.testing.assert_array_equal(view, array)
    assert read_only(array > 2, bool).dtype == bool


@pytest.mark.parametrize('mask, expected', [
    ([], []), ([False, False], []), ([True], [(0, 1)]),
    ([True, True, False, True], [(0, 2), (3, 4)]), ([False, True, True, False], [(1, 3)])])
def test_runs_are_where_a_mask_holds_one_after_another(mask, expected):
    assert runs(np.array(mask, dtype=bool)) == expected
