"""Damped Gauss-Newton steps against minima that are known, and searches that cannot end well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize

from sysid_ros.numerics.least_squares.damped import DampedGaussNewton, DampedStep, Ended


@dataclass(frozen=True)
class Dense:
    """Residuals of a function and its Jacobian, by dense normal equations."""

    function: object
    jacobian: object
    x: np.ndarray
    linearised = None

    @property
    def residual(self):
        return self.function(self.x)

    @property
    def cost(self):
        return 0.5 * float(self.residual @ self.residual)

    def damped_step(self, damping, scale):
        rows, right = self.jacobian(self.x), self.residual
        hessian = rows.T @ rows
        try:
            step = -np.linalg.solve(
                hessian + damping * np.diag(np.diagonal(hessian)), rows.T @ right)
        except np.linalg.LinAlgError:
            return None
        promised = -(right @ rows @ step) - 0.5 * step @ hessian @ step
        return DampedStep(np.zeros(0), step, promised, float(np.linalg.norm(step)), None)

    def steepness(self):
        rows, right = self.jacobian(self.x), self.residual
        sizes = np.linalg.norm(rows, axis=0) * np.linalg.norm(right)
        return float(np.max(np.abs(right @ rows) / np.maximum(sizes, 1e-300)))

    def moved(self, step):
        return Dense(self.function, self.jacobian, self.x + step.values)


def valley(x):
    return np.array([10.0 * (x[1] - x[0]**2), 1.0 - x[0], 0.3 * (x[0] + x[1])])


def slopes(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0], [0.3, 0.3]])


def search(point, **options):
    return DampedGaussNewton(point, **({
        'max_iterations': 200, 'tolerance': 1e-12, 'gradient_tolerance': 1e-10, 'damping': 1e-3,
    } | options))


@pytest.mark.parametrize('start', [(-1.2, 1.0), (3.0, -4.0), (0.0, 0.0)])
def test_the_minimum_is_that_of_an_independent_solver(start):
    found = search(Dense(valley, slopes, np.array(start)))
    assert found.run() is Ended.CONVERGED
    expected = scipy.optimize.least_squares(
        valley, start, jac=slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    np.testing.assert_allclose(found.point.x, expected, rtol=1e-5)


def test_the_cost_never_rises_and_refused_steps_are_damped_more():
    found = search(Dense(valley, slopes, np.array([-1.2, 1.0])))
    found.run()
    costs = [line.cost for line in found.log]
    assert (np.diff(costs) <= 0.0).all()
    refused = [k for k, line in enumerate(found.log[:-1]) if line.decrease <= 0.0]
    assert refused
    assert all(found.log[k + 1].damping > found.log[k].damping for k in refused)


def test_a_last_step_that_promises_nothing_is_only_tried_where_it_is_to_be():
    start = Dense(valley, slopes, np.array([-1.2, 1.0]))
    tried, left = (
        search(start, tolerance=1e-3, confirmed=confirmed) for confirmed in (True, False))
    assert tried.run() is left.run() is Ended.CONVERGED
    assert len(tried.log) == len(left.log) + 1
    assert tried.log[:-1] == left.log


def test_where_no_step_decreases_the_cost_the_search_says_that_it_is_stuck():
    # The slopes have the wrong sign.
    found = search(Dense(valley, lambda x: -slopes(x), np.array([-1.2, 1.0])))
    assert found.run() is Ended.STALLED
    np.testing.assert_array_equal(found.point.x, [-1.2, 1.0])


def test_points_that_cannot_be_evaluated_are_refused():
    def broken(x):
        return valley(x) if x[0] < 0.5 else np.full(3, np.nan)

    found = search(Dense(broken, slopes, np.array([-1.2, 1.0])), max_iterations=60)
    found.run()
    assert np.isfinite(found.point.cost)
    assert found.point.x[0] < 0.5
    assert any(line.decrease == -np.inf for line in found.log)


def test_running_out_of_iterations_is_said():
    found = search(Dense(valley, slopes, np.array([-1.2, 1.0])), max_iterations=2)
    assert found.run() is Ended.ITERATION_LIMIT
    assert len(found.log) == 2


@dataclass(frozen=True)
class Extrapolated(Dense):
    """A model that leads somewhere else."""

    target: np.ndarray | None = None

    def linearised(self):
        return Dense(self.function, self.jacobian, self.x)

    def damped_step(self, damping, scale):
        step = self.target - self.x
        return DampedStep(np.zeros(0), step, self.cost, float(np.linalg.norm(step)), None)


@pytest.mark.parametrize(('target', 'taken'), [((0.5, 0.3), True), ((9.0, 9.0), False)])
def test_a_model_that_reaches_farther_is_good_for_one_step_or_left(target, taken):
    found = search(Extrapolated(
        valley, slopes, np.array([-1.2, 1.0]), np.array(target)))
    assert found.run() is Ended.CONVERGED
    assert (found.log[0].decrease > 0.0) == taken
    # It was refused for its own sake: the first step by slopes is damped no more.
    assert taken or found.log[1].damping == found.log[0].damping
    assert found.point.linearised is None
