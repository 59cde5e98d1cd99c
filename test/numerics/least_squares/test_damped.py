"""Damped Gauss-Newton steps against minima that are known, and searches that cannot end well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.optimize

from sysid_ros.numerics.least_squares.bordered import Bordered
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
        return DampedStep(
            np.zeros(0), step, promised, float(np.linalg.norm(step)),
            float(np.sqrt(step @ hessian @ step)), None)

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
        size = float(np.linalg.norm(step))
        return DampedStep(np.zeros(0), step, self.cost, size, size, None)


@pytest.mark.parametrize(('target', 'taken'), [((0.5, 0.3), True), ((9.0, 9.0), False)])
def test_a_model_that_reaches_farther_is_good_for_one_step_or_left(target, taken):
    found = search(Extrapolated(
        valley, slopes, np.array([-1.2, 1.0]), np.array(target)))
    assert found.run() is Ended.CONVERGED
    assert (found.log[0].decrease > 0.0) == taken
    # It was refused for its own sake: the first step by slopes is damped no more.
    assert taken or found.log[1].damping == found.log[0].damping
    assert found.point.linearised is None


def rough(noise, *, tolerance=1e-12, **options):
    """A line through noisy points whose cost is rough, as that of joints that stick."""
    rng = np.random.default_rng(5)
    rows = np.column_stack([np.ones(400), np.linspace(-1.0, 1.0, 400)])
    right = rows @ [1.0, -0.5] + rng.normal(size=400)

    @dataclass(frozen=True)
    class Rough(Dense):
        @property
        def cost(self):
            # Of the values alone: what their differences tell of the slope is false.
            return super().cost * (1.0 + noise * np.sin(1e9 * self.x.sum()))

    point = Rough(lambda x: rows @ x - right, lambda x: rows, np.array([30.0, 20.0]))
    found = search(point, tolerance=tolerance, gradient_tolerance=0.0, **options)
    exact = np.linalg.lstsq(rows, right, rcond=None)[0]
    deviation = np.sqrt(np.diagonal(np.linalg.inv(rows.T @ rows)))
    return found, exact, deviation


def test_a_search_ends_where_the_next_step_moves_no_parameter_by_a_part_of_its_deviation():
    def variance(point):
        return 2.0 * point.cost / 398

    found, exact, deviation = rough(
        1e-6, tolerance=1e-300, parameter_tolerance=0.01, variance=variance)
    assert found.run() is Ended.CONVERGED
    assert (np.abs(found.point.x - exact) < 0.01 * deviation).all()
    # Without that it hunts after the roughness.
    hunting, *_ = rough(1e-6, tolerance=1e-300)
    assert hunting.run() is not Ended.CONVERGED
    assert len(found.log) < 0.5 * len(hunting.log)


def test_a_parameter_that_is_well_known_does_not_end_a_search_for_one_that_is_not():
    # The second parameter's information is small, and its step is long in its own deviations.
    rows = np.zeros((200, 2))
    rows[:100, 0], rows[100:, 1] = 1.0, 1e-3
    rng = np.random.default_rng(3)
    right = rows @ [2.0, 5000.0] + rng.normal(size=200)
    point = Dense(lambda x: rows @ x - right, lambda x: rows, np.array([2.0, 0.0]))
    found = search(
        point, tolerance=1e-300, gradient_tolerance=0.0, parameter_tolerance=0.01,
        variance=lambda p: 2.0 * p.cost / 198)
    assert found.run() is Ended.CONVERGED
    exact = np.linalg.lstsq(rows, right, rcond=None)[0]
    assert abs(found.point.x[1] - exact[1]) < 0.01 / np.sqrt(100 * 1e-6)


@dataclass(frozen=True)
class Kinked(Dense):
    """A line through noisy points whose cost is least here: no step comes true."""

    here: np.ndarray | None = None

    @property
    def cost(self):
        return super().cost * (1.0 + (0.0 if np.array_equal(self.x, self.here) else 1.0))

    def moved(self, step):
        return replace(self, x=self.x + step.values)


@pytest.mark.parametrize(('away', 'tolerance', 'steps', 'how'), [
    # A fifth of a deviation from the minimum: nothing is lost by ending where no step comes true.
    (0.2, 0.01, 1, Ended.CONVERGED), (0.5, 0.01, None, Ended.STALLED),
    (0.2, 0.0, None, Ended.STALLED)])
def test_where_a_step_did_not_come_true_a_quarter_of_a_deviation_is_nothing(
    away, tolerance, steps, how
):
    rows = np.ones((400, 1))
    right = np.random.default_rng(6).normal(size=400)
    start = right.mean(keepdims=True) + away / np.sqrt(400)
    found = search(
        Kinked(lambda x: rows @ x - right, lambda x: rows, start, here=start), tolerance=0.0,
        gradient_tolerance=0.0, parameter_tolerance=tolerance,
        variance=lambda point: float(np.var(right)))
    assert found.run() is how
    assert steps is None or len(found.log) == steps


@dataclass(frozen=True)
class Creeping(Dense):
    """A line through noisy points, of which every step goes a ten-thousandth of the way."""

    def damped_step(self, damping, scale):
        if damping < 1e-9:
            return None
        whole = super().damped_step(0.0, scale)
        step, rows = 1e-4 * whole.values, self.jacobian(self.x)
        promised = -(self.residual @ rows @ step) - 0.5 * step @ rows.T @ rows @ step
        return whole._replace(values=step, promised=promised, deviations=1e-4 * whole.deviations)

    def moved(self, step):
        return replace(self, x=self.x + step.values)


@pytest.mark.parametrize(('away', 'options', 'steps', 'how'), [
    (3.0, {}, 20, Ended.STALLED),
    # It creeps, and goes on: twenty steps lead by more than a quarter of a deviation.
    (1000.0, {}, 50, Ended.ITERATION_LIMIT),
    (3.0, {'parameter_tolerance': 0.0}, 50, Ended.ITERATION_LIMIT),
    (3.0, {'variance': None}, 50, Ended.ITERATION_LIMIT)])
def test_a_search_ends_where_many_steps_in_a_row_get_nowhere(away, options, steps, how):
    rows = np.ones((400, 1))
    right = np.random.default_rng(7).normal(size=400)
    start = right.mean(keepdims=True) + away / np.sqrt(400)
    found = search(Creeping(lambda x: rows @ x - right, lambda x: rows, start), **({
        'tolerance': 0.0, 'gradient_tolerance': 0.0, 'parameter_tolerance': 0.01,
        'variance': lambda point: float(np.var(right)), 'max_iterations': 50} | options))
    assert found.run() is how
    assert len(found.log) == steps


@pytest.mark.parametrize('options', [
    {'parameter_tolerance': 0.0, 'variance': lambda point: 1e9}, {'parameter_tolerance': 0.5}])
def test_parameters_end_no_search_that_was_not_told_to_or_knows_no_deviations(options):
    plain = search(Dense(valley, slopes, np.array([-1.2, 1.0])))
    other = search(Dense(valley, slopes, np.array([-1.2, 1.0])), **options)
    plain.run()
    other.run()
    assert other.log == plain.log


def test_a_parameter_at_its_bound_makes_no_step_long():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(500, 1))
    residual = rng.normal(size=500) - rows[:, 0]
    equations = Bordered.of((rows.T @ rows)[None], (-rows.T @ residual)[None], 0)
    free = equations.damped_step(0.0, np.array([-9.0]), np.array([9.0]))
    held = equations.damped_step(0.0, np.array([0.0]), np.array([9.0]))
    assert free.deviations > 10.0 and held.deviations == 0.0


@pytest.mark.parametrize('kind', ['dense', 'bordered'])
def test_the_length_of_a_step_is_that_of_its_parameters_with_states_adapted(kind):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(40, 5))
    hessian, gradient = rows.T @ rows, rng.normal(size=5)
    step = Bordered.of(hessian[None], gradient[None], 3 if kind == 'bordered' else 0).damped_step(
        0.0, np.full(5 if kind == 'dense' else 2, -np.inf),
        np.full(5 if kind == 'dense' else 2, np.inf))
    # The covariance of some parameters is a block of that of all.
    covariance = np.linalg.inv(hessian)[-len(step.values):, -len(step.values):]
    expected = np.sqrt(step.values @ np.linalg.inv(covariance) @ step.values)
    assert step.deviations == pytest.approx(expected, rel=1e-9)
