"""What data determine, against constructed cases."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.uncertainty import determined


def test_what_moves_unseen_is_found_in_any_units(rng):
    # Five parameters, of which the last two are combinations of others, and one does nothing.
    rows = rng.normal(size=(40, 3)) * [1e-3, 1.0, 1e4]
    together = np.column_stack([rows, 2.0 * rows[:, 0] - 3e-3 * rows[:, 1], np.zeros(40)])
    found = determined(together.T @ together, range(5))
    assert found.mask.tolist() == [True, True, True, False, False]
    assert found.held.tolist() == [3, 4]
    np.testing.assert_allclose(together @ found.combinations.T, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.combinations[0], [-2.0, 3e-3, 0.0, 1.0, 0.0], atol=1e-9)
    assert found.partners(0, np.ones(5)).tolist() == [0, 1, 3]
    assert found.partners(0, np.array([1.0, 1e3, 1.0, 1.0, 1.0])).tolist() == [0, 3]
    assert found.partners(1, np.ones(5)).tolist() == [4]


def test_those_first_in_order_are_kept(rng):
    rows = rng.normal(size=(30, 2))
    same = np.column_stack([rows, rows.sum(axis=1)])
    for order, held in (([0, 1, 2], 2), ([2, 1, 0], 0), ([2, 0, 1], 1)):
        assert determined(same.T @ same, order).held.tolist() == [held]
    # What may not be kept is held, though the data would tell it.
    assert determined(np.eye(3), [0, 2]).held.tolist() == [1]
