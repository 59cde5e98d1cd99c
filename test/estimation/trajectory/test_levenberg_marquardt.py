"""Levenberg and Marquardt's method on chains, against closed forms and SciPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from scipy.spatial.transform import Rotation

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.state_space import (
    StateSpace,
)
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals


@dataclass
class Growth:
    """A population that grows by a factor and towards a limit; two parameters.

    Exactly, or up to noise: x' = a x (1 - x / b).
    """

    measured: np.ndarray
    noise: float | None
    huber: float = np.inf
    space = StateSpace(1)

    def residuals(self, states, values):
        nodes = np.flatnonzero(np.isfinite(self.measured))
        one = np.ones((len(nodes), 1, 1))
        yield Residuals.of(
            nodes, states[nodes] - self.measured[nodes, None], one, None,
            np.zeros((len(nodes), 1, 2)), self.huber)
        if self.noise is not None:
            yield self._defect(states, values, 1.0 / self.noise)

    def equations(self, states, values):
        return () if self.noise is not None else (self._defect(states, values, 1.0),)

    def _defect(self, states, values, weight):
        x, y, (a, b) = states[:-1], states[1:], values
        by_values = np.stack([-x * (1.0 - x / b), -a * x * x / b**2 * np.ones_like(x)], axis=2)
        by_state = -(a * (1.0 - 2.0 * x / b))[..., None]
        return Residuals.of(
            np.arange(len(x)), weight * (y - a * x * (1.0 - x / b)), weight * by_state,
            weight * np.ones_like(by_state), weight * by_values)


def grown(a, b, start, count):
    """A motion of the population."""
    states = [start]
    for _ in range(count - 1):
        states.append(a * states[-1] * (1.0 - states[-1] / b))
    return np.array(states)


def everywhere(p=2):
    return np.full(p, -np.inf), np.full(p, np.inf)


def test_exact_data_give_the_truth_back():
    truth = np.array([1.7, 4.0])
    states = grown(*truth, 0.1, 40)
    problem = Growth(states, None)
    found = LevenbergMarquardt().minimise(
        problem, states[:, None] * 1.1, np.array([1.4, 5.0]), *everywhere())
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.values, truth, rtol=1e-7)
    np.testing.assert_allclose(found.states[:, 0], states, atol=1e-8)
    assert found.open <= 1e-9


def test_equations_that_hold_exactly_give_scipys_shooting(rng):
    states = grown(1.7, 4.0, 0.1, 40)
    measured = states + 0.05 * rng.normal(size=40)
    measured[7:11] = np.nan
    found = LevenbergMarquardt().minimise(
        Growth(measured, None), np.where(np.isfinite(measured), measured, 1.0)[:, None],
        np.array([1.5, 4.5]), *everywhere())
    known = np.isfinite(measured)
    best = scipy.optimize.least_squares(
        lambda x: (grown(*x, 40) - measured)[known], [1.5, 4.5, 0.1], xtol=1e-14, ftol=1e-14,
        gtol=1e-14)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.values, best.x[:2], rtol=1e-6)
    assert found.states[0, 0] == pytest.approx(best.x[2], rel=1e-5)
    # The noise is known to the solver as one unit.
    covariance = np.linalg.inv(best.jac.T @ best.jac)[:2, :2]
    heavy = LevenbergMarquardt(weight=1e8).minimise(
        Growth(measured, None), found.states, found.values, *everywhere())
    np.testing.assert_allclose(
        np.linalg.inv(heavy.eliminated.information), covariance, rtol=1e-3)


def test_noisy_equations_give_scipys_least_squares(rng):
    measured = grown(1.7, 4.0, 0.1, 12) + 0.05 * rng.normal(size=12)
    problem = Growth(measured, 0.3)

    def stacked(x):
        parts = problem.residuals(x[2:, None], x[:2])
        return np.concatenate([part.values.ravel() for part in parts])

    best = scipy.optimize.least_squares(
        stacked, np.concatenate([[1.5, 4.5], measured]), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    found = LevenbergMarquardt().minimise(
        problem, measured[:, None], np.array([1.5, 4.5]), *everywhere())
    assert found.status is Status.CONVERGED
    assert found.equations.cost == pytest.approx(best.cost, rel=1e-9)
    np.testing.assert_allclose(found.values, best.x[:2], rtol=1e-5)


def test_parameters_stay_within_their_bounds(rng):
    measured = grown(1.7, 4.0, 0.1, 40) + 0.02 * rng.normal(size=40)
    lower, upper = np.array([0.0, 4.2]), np.array([1.65, 9.0])
    found = LevenbergMarquardt().minimise(
        Growth(measured, 0.1), measured[:, None], np.array([1.0, 6.0]), lower, upper)
    assert found.status is Status.CONVERGED
    assert (lower <= found.values).all() and (found.values <= upper).all()
    free = LevenbergMarquardt().minimise(
        Growth(measured, 0.1), measured[:, None], np.array([1.0, 6.0]), *everywhere())
    assert found.equations.cost > free.equations.cost
    assert found.values[1] == 4.2


def test_outliers_count_less():
    states = grown(1.7, 4.0, 0.1, 60)
    measured = states.copy()
    measured[::9] += 3.0
    values = {}
    for huber in (np.inf, 0.01):
        found = LevenbergMarquardt().minimise(
            Growth(measured, 0.01, huber), measured[:, None], np.array([1.5, 4.5]), *everywhere())
        values[huber] = found.values
    off = {huber: np.abs(found - [1.7, 4.0]).max() for huber, found in values.items()}
    assert off[0.01] < 0.2 * off[np.inf]


def test_running_out_of_iterations_is_said():
    states = grown(1.7, 4.0, 0.1, 40)
    told = []
    found = LevenbergMarquardt(max_iterations=2).minimise(
        Growth(states, None), states[:, None] * 1.3, np.array([1.2, 6.0]), *everywhere(),
        progress=told.append)
    assert found.status is Status.ITERATION_LIMIT
    assert len(found.iterations) == 2 and tuple(told) == found.iterations


@pytest.mark.parametrize('raises', [False, True])
def test_a_trial_that_diverges_raises_the_damping(raises):
    class Wild(Growth):
        calls = 0

        def residuals(self, states, values):
            self.calls += 1
            for part in super().residuals(states, values):
                if self.calls in (2, 3):
                    if raises:
                        raise np.linalg.LinAlgError('Singular matrix')
                    part.rows[:] = np.nan
                yield part

    states = grown(1.7, 4.0, 0.1, 40)
    found = LevenbergMarquardt().minimise(
        Wild(states, 0.5), 1.1 * states[:, None], np.array([1.4, 5.0]), *everywhere())
    assert [line.decrease for line in found.iterations[:2]] == [-np.inf, -np.inf]
    assert found.iterations[2].damping > found.iterations[0].damping
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.values, [1.7, 4.0], rtol=1e-5)


@pytest.mark.parametrize('wrong', [1.0, -1.0])
def test_a_first_step_that_was_foretold_wrong_is_left_at_that(wrong, rng):
    measured = grown(1.7, 4.0, 0.1, 40) + 0.01 * rng.normal(size=40)
    problem, start = Growth(measured, 0.5), (1.1 * measured[:, None], np.array([1.4, 5.0]))

    def predict(states, values):
        parts = list(problem.residuals(states, values))
        for part in parts:
            part.rows[:, :, -1] *= wrong
        return NormalEquations.of(len(states), 1, 2, parts)

    plain = LevenbergMarquardt().minimise(problem, *start, *everywhere())
    found = LevenbergMarquardt().minimise(problem, *start, *everywhere(), predict=predict)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-6)
    # The log tells of the step that went uphill.
    refused = [line.decrease < 0.0 for line in found.iterations]
    assert refused[0] == (wrong < 0.0)
    assert len(found.iterations) == len(plain.iterations) + refused[0]
    assert found.iterations[refused[0]].damping == found.iterations[0].damping


def test_what_nothing_determines_stays_where_it_was():
    class Deaf(Growth):
        def _defect(self, states, values, weight):
            part = super()._defect(states, np.array([values[0], 4.0]), weight)
            part.rows[:, :, -2] = 0.0
            return part

    states = grown(1.7, 4.0, 0.1, 40)
    found = LevenbergMarquardt().minimise(
        Deaf(states, 0.1), states[:, None], np.array([1.2, 9.0]), *everywhere())
    assert found.status is Status.CONVERGED
    assert found.values == pytest.approx([1.7, 9.0])
    assert np.linalg.matrix_rank(found.eliminated.information) == 1


@dataclass
class Turning:
    """Orientations that turn by the same rotation vector from node to node."""

    measured: np.ndarray
    space = StateSpace(4, (0,))

    def residuals(self, states, values):
        yield self._with_slopes(
            lambda x, y, w: self.space.between(self.measured, x) / 0.01, states, values, False)
        yield self._with_slopes(
            lambda x, y, w: (self.space.between(x, y) - w) / 0.1, states[:-1], values, True,
            states[1:])

    def equations(self, states, values):
        return ()

    def _with_slopes(self, function, here, values, pairs, after=None):
        """Residuals with derivatives by central differences along the steps of the space."""
        step, columns = 1e-5, []
        for k in range(3):
            move = np.zeros((len(here), 3))
            move[:, k] = step
            columns.append(function(self.space.moved(here, move), after, values)
                            - function(self.space.moved(here, -move), after, values))
        if pairs:
            for k in range(3):
                move = np.zeros((len(here), 3))
                move[:, k] = step
                columns.append(function(here, self.space.moved(after, move), values)
                                - function(here, self.space.moved(after, -move), values))
        for k in range(3):
            columns.append(function(here, after, values + step * np.eye(3)[k])
                            - function(here, after, values - step * np.eye(3)[k]))
        residual = function(here, after, values)
        rows = np.stack([*(column / (2.0 * step) for column in columns), residual], axis=2)
        return Residuals(np.arange(len(here)), rows, pairs)


def test_orientations_turn_on_their_manifold(rng):
    turn, now, path = np.array([0.2, -0.5, 0.3]), Rotation.random(random_state=4), []
    for _ in range(40):
        path.append(now.as_quat())
        now = Rotation.from_rotvec(turn) * now
    noisy = (Rotation.from_rotvec(0.01 * rng.normal(size=(40, 3)))
             * Rotation.from_quat(np.array(path))).as_quat()
    # The start is far off: some orientations are turned by two radians.
    start = (Rotation.from_rotvec(2.0 * rng.uniform(-0.5, 0.5, size=(40, 3)))
             * Rotation.from_quat(noisy)).as_quat()
    found = LevenbergMarquardt().minimise(Turning(noisy), start, np.zeros(3), *everywhere(3))
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.values, turn, atol=4e-3)
    np.testing.assert_allclose(np.linalg.norm(found.states, axis=1), 1.0, rtol=1e-12)
    back = Rotation.from_quat(np.array(path)).inv()
    error = (Rotation.from_quat(found.states) * back).magnitude()
    assert np.sqrt(np.mean(error**2)) < 0.02
