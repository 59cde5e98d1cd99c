"""Normal equations with a border, against the dense ones."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.numerics.least_squares.bordered import Bordered


def bordered(rng, pieces=3, starts=4, shared=5):
    rows = rng.normal(size=(pieces, 30, starts + shared))
    right = rng.normal(size=(pieces, 30))
    equations = Bordered.of(
        np.einsum('pri,prj->pij', rows, rows), np.einsum('pri,pr->pi', rows, right), starts)
    dense = np.zeros((pieces * 30, shared + pieces * starts))
    dense[:, :shared] = rows[:, :, starts:].reshape(-1, shared)
    for p in range(pieces):
        there = slice(shared + p * starts, shared + (p + 1) * starts)
        dense[30 * p:30 * (p + 1), there] = rows[p, :, :starts]
    return equations, dense, right.reshape(-1)


def test_eliminated_equations_give_the_step_of_the_dense_ones(rng):
    equations, dense, right = bordered(rng)
    bound = np.full(5, np.inf)
    shared, own = equations.step(-bound, bound)
    expected = np.linalg.lstsq(dense, -right, rcond=None)[0]
    np.testing.assert_allclose(np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-8)
    taken = 0.5 * (right @ right - np.sum((right + dense @ expected) ** 2))
    np.testing.assert_allclose(equations.promised(shared, own), taken, rtol=1e-9)


def test_eliminated_equations_within_bounds_give_the_step_of_the_dense_ones(rng):
    equations, dense, right = bordered(rng)
    upper, lower = rng.uniform(0.0, 0.02, (2, 5)) * [[1.0], [-1.0]]
    upper[0], lower[0] = 0.0, 0.0
    shared, own = equations.step(lower, upper)
    wide = np.concatenate([upper, np.full(12, np.inf)])
    narrow = np.concatenate([lower, np.full(12, -np.inf)])
    wide[0], narrow[0] = 1e-14, -1e-14
    expected = lsq_linear(dense, -right, bounds=(narrow, wide), method='bvls').x
    np.testing.assert_allclose(
        np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-7, atol=1e-10)


def test_damping_shortens_the_step_along_the_scale(rng):
    equations, dense, right = bordered(rng)
    bound = np.full(5, np.inf)
    shared, own = equations.damped(0.7).step(-bound, bound)
    square = dense.T @ dense
    square += 0.7 * np.diag(np.diag(square))
    expected = -np.linalg.solve(square, dense.T @ right)
    np.testing.assert_allclose(np.concatenate([shared, own.reshape(-1)]), expected, rtol=1e-8)
