"""Steps of states with orientations, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_ros.estimation.trajectory.state_space import StateSpace


def test_a_step_and_back(rng):
    space = StateSpace(2 + 4 + 1 + 4 + 3, quaternions=(2, 7))
    assert space.dimension == 12
    states = rng.normal(size=(30, space.size))
    for start in space.quaternions:
        part = states[:, start:start + 4]
        part /= np.linalg.norm(part, axis=1)[:, None]
    steps = 0.5 * rng.normal(size=(30, space.dimension))
    moved = space.moved(states, steps)
    np.testing.assert_allclose(space.between(states, moved), steps, rtol=1e-12, atol=1e-14)
    turned = Rotation.from_rotvec(steps[:, 2:5]) * Rotation.from_quat(states[:, 2:6])
    np.testing.assert_allclose(
        Rotation.from_quat(moved[:, 2:6]).as_matrix(), turned.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(moved[:, 6], states[:, 6] + steps[:, 5])
    np.testing.assert_allclose(moved[:, 11:], states[:, 11:] + steps[:, 9:])


def test_vectors_are_added(rng):
    space = StateSpace(3)
    states, steps = rng.normal(size=(2, 5, 3))
    np.testing.assert_array_equal(space.moved(states, steps), states + steps)
    np.testing.assert_array_equal(space.between(states, states + steps), states + steps - states)
