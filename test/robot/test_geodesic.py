"""The affine-invariant distance of bodies, against its definition by matrix functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from sysid_ros.errors import ParameterError
from sysid_ros.robot.geodesic import geodesic_distance
from sysid_ros.robot.inertia import (
    inertial_from_pseudo,
    inertial_parameters,
    log_det_divergence,
    pseudo_inertia,
    transform_inertial,
)


def random_bodies(rng, count):
    factors = np.tril(0.5 * rng.normal(size=(count, 4, 4)), -1)
    factors += np.exp(0.5 * rng.normal(size=(count, 1, 4))) * np.eye(4)
    return inertial_from_pseudo(factors @ np.swapaxes(factors, -1, -2))


def test_the_distance_comes_from_the_generalised_eigenvalues(rng):
    for first, second in random_bodies(rng, 20).reshape(10, 2, 10):
        values = scipy.linalg.eigvalsh(pseudo_inertia(first), pseudo_inertia(second))
        expected = np.sqrt(np.sum(np.log(values) ** 2))
        assert geodesic_distance(first, second) == pytest.approx(expected, rel=1e-9)


def test_it_is_a_distance(rng):
    a, b, c = random_bodies(rng, 3)
    assert geodesic_distance(a, a) == pytest.approx(0.0, abs=1e-12)
    assert geodesic_distance(a, b) == pytest.approx(geodesic_distance(b, a), rel=1e-12)
    assert geodesic_distance(a, c) < geodesic_distance(a, b) + geodesic_distance(b, c)
    batch = geodesic_distance(np.array([a, b]), np.array([c, c]))
    assert batch.tolist() == [geodesic_distance(a, c), geodesic_distance(b, c)]


def test_it_does_not_depend_on_the_frame_nor_on_the_units(rng):
    first, second = random_bodies(rng, 2)
    expected = geodesic_distance(first, second)
    pose = np.eye(4)
    pose[:3, :3] = scipy.linalg.expm(np.cross(np.eye(3), rng.normal(size=3)))
    pose[:3, 3] = rng.normal(size=3)
    moved = [transform_inertial(phi, pose) for phi in (first, second)]
    assert geodesic_distance(*moved) == pytest.approx(expected, rel=1e-9)
    # Grams and millimetres.
    units = 1000.0 * np.array([1.0, *[1e3] * 3, *[1e6] * 6])
    assert geodesic_distance(first * units, second * units) == pytest.approx(expected, rel=1e-9)


def test_a_body_of_twice_the_density_is_two_logarithms_of_two_away(rng):
    phi, = random_bodies(rng, 1)
    assert geodesic_distance(2.0 * phi, phi) == pytest.approx(2.0 * np.log(2.0), rel=1e-12)


def test_along_a_geodesic_distances_add_up(rng):
    start, end = (pseudo_inertia(phi) for phi in random_bodies(rng, 2))
    root = np.real(scipy.linalg.sqrtm(start))
    inverse = np.linalg.inv(root)
    middle = root @ scipy.linalg.fractional_matrix_power(inverse @ end @ inverse, 0.3) @ root
    a, b, c = (inertial_from_pseudo(np.real(matrix)) for matrix in (start, middle, end))
    whole = geodesic_distance(a, c)
    assert geodesic_distance(a, b) == pytest.approx(0.3 * whole, rel=1e-8)
    assert geodesic_distance(b, c) == pytest.approx(0.7 * whole, rel=1e-8)


def test_neighbours_are_as_far_as_the_divergence_says(rng):
    phi, = random_bodies(rng, 1)
    for _ in range(5):
        near = phi * (1.0 + 1e-4 * rng.normal(size=10))
        divergence = log_det_divergence(near, phi)[0]
        assert geodesic_distance(near, phi) ** 2 == pytest.approx(2.0 * divergence, rel=1e-2)


def test_inconsistent_bodies_are_refused_on_either_side(rng):
    sound, = random_bodies(rng, 1)
    thin = inertial_parameters(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.5]))
    for pair in ((thin, sound), (sound, thin)):
        with pytest.raises(ParameterError, match='infinitely far'):
            geodesic_distance(*pair)
