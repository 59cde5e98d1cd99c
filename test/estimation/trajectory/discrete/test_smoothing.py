"""Steps of discrete dynamics by filter and smoother: against normal equations, and differences."""

from __future__ import annotations

import numpy as np
import pytest

from support import mechanisms
from sysid_ros.estimation.trajectory.discrete.impulses import MissingImpulses, fill_missing
from sysid_ros.estimation.trajectory.discrete.linear_motion import LinearMotion, SegmentLeastSquares
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals

# Time between nodes; steps of two segments, parameters, and directions in which first states are
# free.
H, STEPS, P, FREE = 0.01, (6, 4), 3, 4


@pytest.fixture(scope='module')
def parts():
    """Random residuals of two segments: missing impulses, readings on and between nodes."""
    rng = np.random.default_rng(5)
    mechanism = mechanisms.every_kind(rng)
    n = 6 * len(mechanism.bodies)
    weights, space = rng.uniform(0.5, 2.0, n), mechanisms.space_of(mechanism)
    segments, first = [], 0
    for steps in STEPS:
        states = mechanisms.random_states(rng, mechanism, 1)
        while len(states) <= steps:
            states = np.vstack([
                states, space.moved(states[-1:], 0.1 * rng.normal(size=(1, 2 * n)))])
        slopes = 0.3 * rng.normal(size=(steps, n, 2 * n + P))
        values, turns = np.empty((steps, 2 * n)), np.empty((steps, 2, n // 6, 3, 3))
        fill_missing(H, states, rng.normal(size=(steps, n)), weights, True, values, turns)
        places = np.sort(rng.integers(0, steps, 9))
        violated = rng.normal(size=(2 * n, 2 * n + P + 1))
        # Nothing is said of the first state along some directions, nor of parameters.
        silent = np.linalg.qr(rng.normal(size=(2 * n, FREE)))[0]
        violated[:, :2 * n] -= violated[:, :2 * n] @ silent @ silent.T
        violated[:, 2 * n:-1] = 0.0
        segments.append((
            MissingImpulses(np.arange(steps) + first, values, slopes, turns, weights, H),
            [Residuals(np.arange(steps + 1) + first,
                       rng.normal(size=(steps + 1, 2, 2 * n + P + 1)), False),
             Residuals(places + first, rng.normal(size=(9, 1, 4 * n + P + 1)), True),
             Residuals(np.array([2, steps]) + first, rng.normal(size=(2, 3, 2 * n + P + 1)),
                       False, huber=0.8)],
            Residuals(np.array([first]), violated[None], False)))
        first += steps + 1
    return n, segments


def linear(n, segments):
    """The step by filter and smoother; derivatives are copied, since they are taken over."""
    found, cost = [], 0.0
    for missing, observed, violated in segments:
        own = MissingImpulses(
            missing.nodes, missing.values, missing.slopes.copy(), missing.turns, missing.weights,
            H)
        copies = [
            Residuals(part.nodes, part.rows.copy(), part.pairs, part.huber) for part in observed]
        found.append(SegmentLeastSquares.of(
            int(missing.nodes[0]), own, copies,
            np.delete(violated.rows[0], slice(2 * n, 2 * n + P), axis=1)))
        cost += missing.cost + violated.cost + sum(part.cost for part in observed)
    return LinearMotion(tuple(found), cost, np.empty((sum(STEPS) + 2, 2 * n, 2 * n)))


def heavier(part, damping):
    """Readings that are not to change, weighted by the damping."""
    rows = np.sqrt(damping) * part.reweighted().rows
    rows[:, :, -1] = 0.0
    return Residuals(part.nodes, rows, part.pairs)


def all_of(segments, damping=0.0):
    """All residuals, readings damped."""
    return [
        residuals for missing, observed, violated in segments
        for residuals in (missing, violated, *observed, *(
            heavier(part, damping) for part in observed if damping > 0.0))]


@pytest.mark.parametrize('damping', [0.0, 0.7])
def test_a_step_by_filter_and_smoother_is_that_of_normal_equations(parts, damping):
    n, segments = parts
    equations = NormalEquations.of(sum(STEPS) + 2, 2 * n, P, all_of(segments, damping))
    eliminated = equations.eliminated()
    information = eliminated.information
    scale = damping * np.diagonal(information)
    states, moved = equations.eliminated(0.0, scale).step(np.full(P, -np.inf), np.full(P, np.inf))
    motion = linear(n, segments)
    found = motion.damped_step(damping, None, np.full(P, -np.inf), np.full(P, np.inf))
    assert found.values == pytest.approx(moved, rel=1e-8)
    assert found.states == pytest.approx(states, rel=1e-8, abs=1e-10)
    assert found.scale == pytest.approx(np.diagonal(information), rel=1e-9)
    # Promised is what the residuals lose that are not damped.
    plain = NormalEquations.of(sum(STEPS) + 2, 2 * n, P, all_of(segments))
    gradient, slope = plain.gradient
    promised = -np.vdot(gradient, states) - slope @ moved - 0.5 * plain.second_derivative(states,
        moved)
    assert found.promised == pytest.approx(promised, rel=1e-9)
    assert motion.cost == pytest.approx(plain.cost)


def test_bounds_hold_a_step(parts):
    n, segments = parts
    free = linear(n, segments).damped_step(0.0, None, np.full(P, -np.inf), np.full(P, np.inf))
    lower, upper = np.full(P, -np.inf), np.full(P, np.inf)
    lower[0], upper[1] = sorted([0.0, 0.4 * free.values[0]])[0], 0.3 * abs(free.values[1])
    equations = NormalEquations.of(sum(STEPS) + 2, 2 * n, P, all_of(segments))
    states, moved = equations.eliminated().step(lower, upper)
    found = linear(n, segments).damped_step(0.0, None, lower, upper)
    assert found.values == pytest.approx(moved, rel=1e-8)
    assert found.states == pytest.approx(states, rel=1e-8, abs=1e-10)


def test_what_motion_tells_of_parameters_is_what_normal_equations_say(parts):
    n, segments = parts
    residuals = all_of(segments)
    eliminated = NormalEquations.of(sum(STEPS) + 2, 2 * n, P, residuals).eliminated()
    information, scores = linear(n, segments).known()
    assert information == pytest.approx(eliminated.information, rel=1e-8)
    assert scores == pytest.approx(eliminated.scores(residuals), rel=1e-7, abs=1e-8)


def test_the_steepest_slope_is_that_of_normal_equations_in_units_of_the_course(parts):
    n, segments = parts
    motion, none = linear(n, segments), np.zeros(P, dtype=bool)
    plain = NormalEquations.of(sum(STEPS) + 2, 2 * n, P, all_of(segments))
    (gradient, slope), cosines = plain.gradient, []
    units = np.concatenate([segment.linearised.units for segment in motion.segments])
    for block, own, unit in zip(plain.chain, gradient, units, strict=True):
        turn = np.eye(2 * n)
        for body in range(n // 6):
            first = 12 * body
            turn[first:first + 3, first:first + 3] *= H
            turn[first + 3:first + 6, first + 3:first + 6] = unit[body]
        upper = np.triu(block[:, :2 * n])
        curvature = turn.T @ (upper + np.triu(upper, 1).T) @ turn
        cosines.append(np.abs(turn.T @ own) / np.sqrt(np.diagonal(curvature)))
    size = np.sqrt(2.0 * plain.cost)
    own = np.abs(slope) / np.sqrt(plain.curvature[1])
    assert motion.steepness(none, none) == pytest.approx(
        max(np.max(cosines), own.max()) / size, rel=1e-9)
    # A parameter at a bound that holds it does not count.
    held = motion.steepness(slope > 0.0, slope < 0.0)
    assert held == pytest.approx(np.max(cosines) / size, rel=1e-9)
