"""Steps of states with orientations, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sysid_ros.estimation.trajectory.state_space import (
    StateSpace,
    quaternion_of,
    quaternion_product,
    rotation_vector_of,
)


@pytest.mark.parametrize('size', [1e-9, 1e-5, 1e-3, 0.3, 3.0])
def test_rotation_vectors_and_quaternions_are_scipys(rng, size):
    vectors = size * rng.normal(size=(20, 3)) / np.sqrt(3.0)
    vectors[0] = 0.0
    vectors *= np.minimum(1.0, 3.1 / np.maximum(np.linalg.norm(vectors, axis=1), 1e-9))[:, None]
    quaternions = quaternion_of(vectors)
    np.testing.assert_allclose(quaternions, Rotation.from_rotvec(vectors).as_quat(), atol=1e-15)
    np.testing.assert_allclose(rotation_vector_of(quaternions), vectors, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(rotation_vector_of(-quaternions), vectors, rtol=1e-12, atol=1e-18)


def test_products_are_scipys(rng):
    first, second = Rotation.random(9, random_state=1), Rotation.random(9, random_state=2)
    product = quaternion_product(first.as_quat(), second.as_quat())
    np.testing.assert_allclose(
        Rotation.from_quat(product).as_matrix(), (first * second).as_matrix(), atol=1e-14)


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
