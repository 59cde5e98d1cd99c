"""What data determine, against constructed cases."""

from __future__ import annotations

import numpy as np

from support import trajectory_problems
from sysid_ros.estimation.trajectory.assessment import determined_parameters, step_sizes
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


def test_what_no_torque_tells_has_no_share_in_what_is_told(rng):
    # Discrete dynamics weigh impulses, which seem to tell a little of everything by everything.
    problem, _, _ = trajectory_problems.swinging()
    base = problem.base.matrix[:, problem.free]
    seeming = base + 1e-3 * np.abs(base).max(axis=1, keepdims=True) * rng.normal(size=base.shape)
    names = [problem.parameters.names[k] for k in problem.free]
    friction = names.index('swing.viscous_friction')
    assert problem.free[friction] in problem.base.independent
    for rows in (base, seeming):
        known = determined_parameters(problem, rows.T @ rows)
        assert np.isin(problem.free[known.mask], problem.base.independent).all()
        np.testing.assert_allclose(base @ known.combinations.T, 0.0, atol=1e-12)
        size = step_sizes(problem)
        for combination in range(len(known.held)):
            assert friction not in known.partners(combination, size)
