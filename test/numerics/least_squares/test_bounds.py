"""Quadratic programs with bounds against scipy's general minimiser."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from sysid_ros.numerics.least_squares.bounds import bounded_minimum


def test_the_minimum_in_a_box_is_that_of_scipy(rng):
    for _ in range(30):
        factor = rng.normal(size=(8, 6)) * 10.0**rng.uniform(-4, 4, size=6)
        hessian, gradient = factor.T @ factor, factor.T @ rng.normal(size=8)
        free = -np.linalg.solve(hessian, gradient)
        lower, upper = -np.abs(free) * rng.uniform(0, 2, 6), np.abs(free) * rng.uniform(0, 2, 6)
        lower[0] = upper[0] = 0.0
        found = bounded_minimum(hessian, gradient, lower, upper)
        assert (lower <= found).all() and (found <= upper).all()
        scale = np.maximum(np.abs(free), 1e-300)
        best = scipy.optimize.minimize(
            lambda x, h=hessian, g=gradient, s=scale: (
                0.5 * (s * x) @ h @ (s * x) + g @ (s * x),
                s * (h @ (s * x) + g)),
            found / scale, jac=True, method='L-BFGS-B', bounds=list(
                zip(lower / scale, upper / scale, strict=True)),
            options={'ftol': 1e-15, 'gtol': 1e-12})
        value = 0.5 * found @ hessian @ found + gradient @ found
        assert value <= best.fun + 1e-9 * abs(best.fun)


def test_there_is_no_minimum_where_nothing_bends():
    assert bounded_minimum(np.diag([1.0, 0.0]), np.ones(2), -np.ones(2), np.ones(2)) is None
    assert bounded_minimum(np.zeros((0, 0)), *np.zeros((3, 0))).shape == (0,)
