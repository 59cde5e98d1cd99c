"""Ellipsoids around points, and the inertial parameters that mass inside of them can have."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from sysid_ros.robot.ellipsoid import Ellipsoid
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, inertial_from_pseudo


def random_ellipsoid(rng: np.random.Generator) -> Ellipsoid:
    root = np.diag(rng.uniform(0.03, 0.5, 3)) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Ellipsoid(rng.uniform(-0.5, 0.5, 3), root.T @ root)


def inside(ellipsoid: Ellipsoid, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random points of an ellipsoid, also on its surface, shape ``(count, 3)``."""
    way = rng.normal(size=(count, 3))
    ball = way / np.linalg.norm(way, axis=1)[:, None] * rng.choice([0.2, 0.9, 1.0], (count, 1))
    return ellipsoid.centre + ball @ np.linalg.cholesky(ellipsoid.shape).T


def of_points(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Inertial parameters of point masses, shape ``(10,)``."""
    lifted = np.column_stack([points, np.ones(len(points))])
    return inertial_from_pseudo(lifted.T @ (masses[:, None] * lifted))


def test_point_masses_inside_always_satisfy_the_row(rng) -> None:
    for _ in range(200):
        ellipsoid = random_ellipsoid(rng)
        count = int(rng.integers(1, 8))
        phi = of_points(inside(ellipsoid, rng, count), rng.uniform(0.0, 3.0, count))
        assert ellipsoid.realisable @ phi >= -1e-9 * phi[0]
        assert ellipsoid.spread(phi) <= 1.0 + 1e-9


def test_the_row_is_what_the_points_are_short_of_the_surface(rng) -> None:
    ellipsoid = random_ellipsoid(rng)
    points, masses = rng.uniform(-1.0, 1.0, (20, 3)), rng.uniform(0.1, 2.0, 20)
    away = points - ellipsoid.centre
    level = np.einsum('ki,ij,kj->k', away, np.linalg.inv(ellipsoid.shape), away)
    phi = of_points(points, masses)
    assert ellipsoid.realisable @ phi == pytest.approx(masses @ (1.0 - level))
    assert ellipsoid.spread(phi) == pytest.approx(masses @ level / masses.sum())


def test_a_real_body_with_its_centre_of_mass_outside_never_satisfies_the_row(rng) -> None:
    for _ in range(200):
        ellipsoid = random_ellipsoid(rng)
        way = rng.normal(size=3)
        surface = np.linalg.cholesky(ellipsoid.shape) @ (way / np.linalg.norm(way))
        centre = ellipsoid.centre + rng.uniform(1.001, 3.0) * surface
        spread = 0.2 * rng.uniform() * rng.normal(size=(10, 3))
        phi = of_points(centre + spread - spread.mean(axis=0), np.ones(10))
        np.testing.assert_allclose(phi[1:4] / phi[0], centre)
        assert ellipsoid.realisable @ phi < 0.0


def test_the_row_allows_just_what_some_density_inside_has(rng) -> None:
    ellipsoid = Ellipsoid(np.array([0.1, -0.05, 0.2]), np.diag([0.04, 0.01, 0.09]))
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 41)] * 3), -1).reshape(-1, 3)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1.0 + 1e-9]
    points = ellipsoid.centre + grid * [0.2, 0.1, 0.3]
    rows = np.array([of_points(point[None], np.ones(1)) for point in points]).T
    moments = np.array([2.0, *(2.0 * (ellipsoid.centre + [0.05, 0.02, -0.1]))])
    for _ in range(3):
        wanted = np.concatenate([np.zeros(4), rng.normal(size=6)])
        found = linprog(-wanted @ rows, A_eq=rows[:4], b_eq=moments)
        phi = cp.Variable(10)
        pseudo = sum(phi[k] * PSEUDO_INERTIA_BASIS[k] for k in range(10))
        program = cp.Problem(cp.Maximize(wanted @ phi), [
            pseudo >> 0, phi[:4] == moments, ellipsoid.realisable @ phi >= 0])
        program.solve(solver=cp.CLARABEL)
        # A grid of point masses comes near the bound, never beyond it.
        size = 2.0 * np.linalg.norm(wanted) * 0.09
        assert -1e-6 * size <= program.value + found.fun <= 0.02 * size


def test_the_ellipsoid_around_points_holds_them_in_the_least_volume(rng) -> None:
    for count in (4, 8, 40):
        points = rng.normal(size=(count, 3)) * [0.3, 0.1, 0.02] + [1.0, 2.0, -3.0]
        points = points @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        found = Ellipsoid.around(points)
        away = points - found.centre
        assert np.einsum('ki,ij,kj->k', away, np.linalg.inv(found.shape), away).max() <= 1 + 1e-9
        # The least one as a convex program: |A x + b| <= 1 with the largest determinant.
        root, offset = cp.Variable((3, 3), PSD=True), cp.Variable(3)
        program = cp.Problem(cp.Maximize(cp.log_det(root)), [
            cp.norm(root @ point + offset) <= 1.0 for point in points - points.mean(axis=0)])
        program.solve(solver=cp.CLARABEL)
        least = 1.0 / np.linalg.det(root.value)
        assert 1.0 - 1e-4 <= np.sqrt(np.linalg.det(found.shape)) / least <= 1.06


@pytest.mark.parametrize('points', [
    np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]]),
    np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0]]),
])
def test_points_without_extent_are_some_thickness_apart(points) -> None:
    axes = np.sqrt(np.linalg.eigvalsh(Ellipsoid.around(points).shape))
    assert (axes >= 1e-3 - 1e-9).all()
    assert axes[-1] < 0.5


def test_a_grown_ellipsoid_has_longer_semi_axes_about_the_same_centre(rng) -> None:
    small = random_ellipsoid(rng)
    large = small.grown(1.5)
    np.testing.assert_array_equal(large.centre, small.centre)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(large.shape), 2.25 * np.linalg.eigvalsh(small.shape))
    ball = Ellipsoid.ball(np.ones(3), 0.2)
    phi = of_points(np.array([[1.0, 1.0, 1.2]]), np.array([3.0]))
    assert ball.spread(phi) == pytest.approx(1.0)
