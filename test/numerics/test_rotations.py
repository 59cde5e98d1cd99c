"""Batches of rotations, against Pinocchio's single ones."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.numerics.rotations import (
    inverse_left_jacobians,
    quaternions,
    rotation_matrices,
    rotation_with_z,
)


def test_quaternions_and_matrices_are_pinocchios(rng):
    vectors = rng.normal(size=(4, 5, 3))
    rotation = np.array([[pin.exp3(each) for each in row] for row in vectors])
    found = quaternions(rotation)
    assert found.shape == (4, 5, 4)
    for row, column in np.ndindex(4, 5):
        expected = pin.Quaternion(rotation[row, column]).coeffs()
        np.testing.assert_allclose(
            found[row, column] * np.sign(found[row, column] @ expected), expected, atol=1e-14)
    np.testing.assert_allclose(rotation_matrices(3.0 * found), rotation, atol=1e-14)


@pytest.mark.parametrize('number', [0.0, np.nan, np.inf])
def test_a_quaternion_that_is_none_gives_no_matrix_and_hinders_no_other(number):
    quaternion = np.array([[number] * 4, [0.0, 0.0, 0.0, 2.0]])
    matrices = rotation_matrices(quaternion)
    assert np.isnan(matrices[0]).all()
    np.testing.assert_array_equal(matrices[1], np.eye(3))


@pytest.mark.parametrize('size', [0.0, 1e-9, 1e-3, 0.9e-2, 1.1e-2, 0.3, 3.0])
def test_inverse_left_jacobians_are_pinocchios(rng, size):
    vectors = rng.normal(size=(20, 3))
    vectors *= size / np.linalg.norm(vectors, axis=1)[:, None]
    expected = [np.linalg.inv(pin.Jexp3(-each)) for each in vectors]
    np.testing.assert_allclose(inverse_left_jacobians(vectors), expected, atol=1e-10)


@pytest.mark.parametrize('axis', [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.6, -0.48, 0.64]])
def test_the_z_axis_of_a_rotation_is_the_given_one(axis):
    rotation = rotation_with_z(np.array(axis))
    np.testing.assert_allclose(rotation[:, 2], axis)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1.0)
