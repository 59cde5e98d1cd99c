"""Regularised steps of mechanisms: derivatives against differences, and against one another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import mechanisms
from support import stepper_scenes as scenes
from support.compiled_parts import PartsOf
from sysid_ros.estimation.trajectory.discrete import rows as rows_file
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.coordinates import Coordinates, evaluate_rows_at
from sysid_ros.estimation.trajectory.discrete.impulses import MissingImpulses, fill_missing
from sysid_ros.estimation.trajectory.discrete.mechanism import Mechanism
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import workspace_for
from sysid_ros.estimation.trajectory.discrete.rows import (
    COSINE,
    DISTANCE,
    PLACE,
    SLIDE,
    TURN,
    WORLD,
)
from sysid_ros.estimation.trajectory.discrete.stepper import complement, remember
from sysid_ros.estimation.trajectory.discrete.sweep import ContactModes
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals

parts = PartsOf(rows_file)
every_kind, random_states, space_of = (
    mechanisms.every_kind, mechanisms.random_states, mechanisms.space_of)
H = 0.01
# Half a step of central differences.
STEP = 1e-6


def predicted(
    mechanism: Mechanism, values: np.ndarray, states: np.ndarray, torques: np.ndarray,
    h: float = H,
) -> tuple[np.ndarray, np.ndarray, ContactModes]:
    """Next velocities with derivatives by states and all parameters, and modes."""
    arrays, parameters = mechanism.arrays, mechanism.body_parameters(values)
    free_map = mechanism.parameter_map.of_free(np.arange(len(values)))
    bodies, m, f = len(mechanism.bodies), len(arrays.compliance), len(arrays.dry)
    work, modes = workspace_for(bodies, m, f), ContactModes.of(len(torques), m, f)
    n, width = 6 * bodies, 12 * bodies + len(values)
    velocities, slopes = np.empty((len(torques), n)), np.empty((len(torques), n, width))
    table, first = np.empty((n + m + f, width)), 0
    while first >= 0:
        first = sweep.predict(
            arrays, parameters, free_map, h, states, torques, first, modes, False, False, work,
            table, velocities, slopes)
        if first >= 0:
            complement(arrays, parameters, h, states[first], torques[first], work)
            remember(modes, first, work)
            sweep.respond_in_modes(
                arrays, parameters, free_map, h, states[first], torques[first], states[first],
                False, work, table, velocities[first], slopes[first])
            first = first + 1 if first + 1 < len(torques) else -1
    return velocities, slopes, modes


def same(one: ContactModes, other: ContactModes) -> np.ndarray:
    """Steps of which all modes are alike."""
    return np.all([
        (a == b).all(axis=1) for a, b in zip(one, other, strict=True)], axis=0)


@pytest.mark.parametrize('averaged', [True, False], ids=['averaged', 'as published'])
@pytest.mark.parametrize('rough', [1.0, 1e4], ids=['slipping', 'sticking'])
def test_derivatives_of_a_step_are_those_of_central_differences(rough, averaged):
    rng = np.random.default_rng(5)
    mechanism = replace(every_kind(rng), averaged=averaged)
    states = random_states(rng, mechanism, 40)
    torques = 0.05 * rng.normal(size=(40, len(mechanism.drives)))
    values = mechanism.parameters.values + 0.0
    values[-3:] = 0.2, -0.1, 0.3
    dry = [name.endswith('coulomb_friction') for name in mechanism.parameters.names]
    values[dry] *= rough
    velocities, slopes, modes = predicted(mechanism, values, states, torques)
    space = space_of(mechanism)
    worst, seen = 0.0, 0
    for column in range(slopes.shape[2]):
        pair = []
        for sign in (-1.0, 1.0):
            moved, changed = states, values.copy()
            if column < space.dimension:
                step = np.zeros((len(states), space.dimension))
                step[:, column] = sign * STEP
                moved = space.moved(states, step)
            else:
                changed[column - space.dimension] += sign * STEP
            pair.append(predicted(mechanism, changed, moved, torques))
        smooth = same(pair[0][2], modes) & same(pair[1][2], modes)
        numeric = (pair[1][0] - pair[0][0]) / (2.0 * STEP)
        size = np.maximum(np.abs(slopes[:, :, column]).max(axis=1), np.abs(velocities).max(axis=1))
        error = np.abs(numeric - slopes[:, :, column]).max(axis=1) / size
        worst, seen = max(worst, error[smooth].max()), seen + smooth.sum()
    assert seen > 0.9 * slopes.shape[0] * slopes.shape[2]
    sticking = (modes.slip[:, :2] == 0.0).mean()
    assert sticking > 0.9 if rough > 1.0 else sticking < 0.6
    assert worst <= 1e-6


@pytest.mark.parametrize(
    ('slope', 'height', 'speed', 'fall'),
    [(0.2, -1e-5, 0.0, 0.0), (0.5, -1e-5, 0.3, 0.0), (0.5, 2e-3, 0.3, -0.5),
     (0.5, 0.02, 0.3, -0.5)],
    ids=['sticks', 'slides', 'closes', 'is open'])
def test_derivatives_of_a_box_on_a_slope_are_those_of_central_differences(
    slope, height, speed, fall
):
    # Four corners: more friction than sticks, contacts that touch and that are about to.
    mechanism = scenes.box(slope, 0.4, compliance=1e-5)
    state = scenes.on_slope(slope, 0.05 + height, speed)
    state[[7, 9]] += fall * np.array([np.sin(slope), np.cos(slope)])
    # A twist makes all corners differ.
    state[10:] = 1e-3, 2e-3, -1e-3
    states, torques = state[None], np.zeros((1, 8))
    values, space = mechanism.parameters.values, space_of(mechanism)
    velocities, slopes, modes = predicted(mechanism, values, states, torques)
    assert (modes.pushing == (height < 0.01)).all()
    assert (modes.slip[:, ::2] == 0.0).any() == (slope == 0.2)
    assert np.abs(slopes).max() < 1e4
    for column in range(space.dimension):
        step, pair = np.zeros((1, space.dimension)), []
        for sign in (-0.1, 0.1):
            step[:, column] = sign * STEP
            found = predicted(mechanism, values, space.moved(states, step), torques)
            assert same(found[2], modes).all()
            pair.append(found[0][0])
        numeric = (pair[1] - pair[0]) / (0.2 * STEP)
        size = max(np.abs(slopes[0, :, column]).max(), 1.0)
        assert slopes[0, :, column] == pytest.approx(numeric, abs=1e-6 * size)


def test_derivatives_of_published_residuals_are_those_of_central_differences():
    rng = np.random.default_rng(6)
    mechanism = every_kind(rng)
    states = random_states(rng, mechanism, 20)
    # Poses a step apart are near each other.
    space = space_of(mechanism)
    close = [states[0]]
    for state in states[1:]:
        step = 0.05 * rng.normal(size=(1, space.dimension))
        moved = space.moved(close[-1][None], step)[0]
        moved.reshape(-1, 13)[:, 7:] = state.reshape(-1, 13)[:, 7:]
        close.append(moved)
    states = np.array(close)
    torques = 0.05 * rng.normal(size=(19, len(mechanism.drives)))
    values = mechanism.parameters.values
    for exact in (True, False):
        rows = published(mechanism, values, states, torques, exact)
        size, whole = np.abs(rows).max(axis=(1, 2)), space.dimension
        for column in range(rows.shape[2] - 1):
            pair = []
            for sign in (-1.0, 1.0):
                moved, changed = states, values.copy()
                if column < 2 * whole:
                    # Of every other pair of states, one is moved at a time.
                    step = np.zeros((len(states), whole))
                    step[column // whole::2, column % whole] = sign * STEP
                    moved = space.moved(states, step)
                else:
                    changed[column - 2 * whole] += sign * STEP
                pair.append(published(mechanism, changed, moved, torques, exact)[:, :, -1])
            numeric = (pair[1] - pair[0]) / (2.0 * STEP)
            chosen = slice(None) if column >= 2 * whole else slice(0, None, 2)
            error = np.abs(numeric - rows[:, :, column])[chosen].max(axis=1) / size[chosen]
            # A speed or an impulse may change its sign in between.
            assert np.sort(error)[-2] <= 1e-6, column


def published(
    mechanism: Mechanism, values: np.ndarray, states: np.ndarray, torques: np.ndarray,
    exact: bool,
) -> np.ndarray:
    """Rows of published residuals."""
    arrays, bodies = mechanism.arrays, len(mechanism.bodies)
    n, m, f, p = 6 * bodies, len(arrays.compliance), len(arrays.dry), len(values)
    rows = np.empty((len(torques), 2 * n, 4 * n + p + 1))
    free_map = mechanism.parameter_map.of_free(np.arange(p))
    assert sweep.published(
        arrays, mechanism.body_parameters(values), free_map, H, states, torques, exact,
        workspace_for(bodies, m, f), np.empty((n + m + f, 2 * n + p)), np.empty((n, n)),
        np.empty(n), rows, np.empty((2, bodies, 3, 3))) == -1
    return rows


def test_what_is_published_is_the_missing_impulse_times_the_stiff_mass():
    # Eq. 3.13, without contacts and dry friction: M_Σ (v⁺ - v*) is the residual.
    rng = np.random.default_rng(7)
    mechanism = every_kind(rng)
    smooth = Mechanism(mechanism.bodies, [
        joint for joint in mechanism.joints if joint.kind in ('spherical', 'weld', 'distance')])
    states, values = random_states(rng, smooth, 8), smooth.parameters.values
    torques = np.zeros((7, 0))
    rows = published(smooth, values, states, torques, True)
    velocities, _, _ = predicted(smooth, values, states[:-1], torques)
    n = velocities.shape[1]
    after = states[1:].reshape(7, -1, 13)[:, :, 7:].reshape(7, -1)
    by_next = rows[:, :n, 2 * n:4 * n].reshape(7, n, n // 6, 12)[:, :, :, 6:].reshape(7, n, n)
    told = np.einsum('krc,kc->kr', by_next, after - velocities)
    assert told == pytest.approx(rows[:, :n, -1], rel=1e-9, abs=1e-9 * np.abs(told).max())


def test_missing_impulses_add_up_as_their_rows_do():
    rng = np.random.default_rng(8)
    mechanism = every_kind(rng)
    states, values = random_states(rng, mechanism, 6), mechanism.parameters.values
    torques = np.zeros((5, len(mechanism.drives)))
    velocities, slopes, _ = predicted(mechanism, values, states[:-1], torques)
    weights, n = rng.uniform(0.5, 2.0, velocities.shape[1]), velocities.shape[1]
    missing, turns = np.empty((5, 2 * n)), np.empty((5, 2, n // 6, 3, 3))
    fill_missing(H, states, velocities, weights, True, missing, turns)
    part = MissingImpulses(np.arange(5), missing, slopes, turns, weights, H)
    whole = Residuals(np.arange(5), part.rows, pairs=True)
    one, other = (
        NormalEquations.of(6, 2 * n, len(values), [kind]) for kind in (part, whole))
    upper = np.triu(np.ones((2 * n, 2 * n)))
    assert part.cost == pytest.approx(whole.cost)
    assert one.chain[:, :, :2 * n] * upper == pytest.approx(
        other.chain[:, :, :2 * n] * upper, rel=1e-10, abs=1e-8)
    assert one.chain[:, :, 2 * n:] == pytest.approx(
        other.chain[:, :, 2 * n:], rel=1e-10, abs=1e-8)
    assert np.triu(one.corner) == pytest.approx(np.triu(other.corner), rel=1e-10, abs=1e-8)


def test_derivatives_of_missing_impulses_are_those_of_central_differences():
    rng = np.random.default_rng(9)
    mechanism = every_kind(rng)
    space, n = space_of(mechanism), 6 * len(mechanism.bodies)
    start = random_states(rng, mechanism, 1)
    states = np.vstack([start, space.moved(start, 0.3 * rng.normal(size=(1, 2 * n)))])
    velocities, weights = rng.normal(size=(1, n)), np.ones(n)

    def missing(moved: np.ndarray, exact: bool) -> tuple[np.ndarray, np.ndarray]:
        values, turns = np.empty((1, 2 * n)), np.empty((1, 2, n // 6, 3, 3))
        fill_missing(H, moved, velocities, weights, exact, values, turns)
        return values, turns

    for exact in (True, False):
        values, turns = missing(states, exact)
        rows = MissingImpulses(
            np.arange(1), values, np.zeros((1, n, 2 * n)), turns, weights, H).rows[0]
        for column in range(4 * n):
            step = np.zeros((2, 2 * n))
            step[column // (2 * n), column % (2 * n)] = STEP
            numeric = (missing(space.moved(states, step), exact)[0]
                       - missing(space.moved(states, -step), exact)[0])[0] / (2.0 * STEP)
            assert rows[:, column] == pytest.approx(numeric, abs=1e-6 * np.abs(values).max())


def test_derivatives_of_gaps_speeds_and_angles_are_those_of_central_differences():
    rng = np.random.default_rng(10)
    mechanism = every_kind(rng)
    states, space = random_states(rng, mechanism, 5), space_of(mechanism)
    rows = mechanism.rows_of(mechanism.constraints)
    coordinates = Coordinates(mechanism, ('hinge_a', 'prismatic_b'))
    found, joints = evaluate_rows_at(mechanism, rows, states), coordinates.of(states)
    for column in range(space.dimension):
        step = np.zeros((5, space.dimension))
        step[:, column] = STEP
        pair = [space.moved(states, sign * step) for sign in (-1.0, 1.0)]
        low, high = (evaluate_rows_at(mechanism, rows, part) for part in pair)
        assert found.by_state[:, :, column] == pytest.approx(
            (high.value - low.value) / (2.0 * STEP), abs=1e-7)
        assert found.speed_by_state[:, :, column] == pytest.approx(
            (high.speed - low.speed) / (2.0 * STEP), abs=1e-7)
        low_joints, high_joints = (coordinates.of(part) for part in pair)
        told = np.concatenate([
            high_joints.position - low_joints.position,
            high_joints.velocity - low_joints.velocity], axis=1) / (2.0 * STEP)
        assert joints.by_state[:, :, column] == pytest.approx(told, abs=1e-7)


def test_what_speeds_of_rows_change_by_along_a_motion_is_what_their_slopes_say():
    rng = np.random.default_rng(11)
    mechanism = every_kind(rng)
    rows = mechanism.rows_of([*mechanism.constraints, *mechanism.drives])
    assert {COSINE, PLACE, SLIDE, DISTANCE, TURN} == set(rows.kind.tolist())
    states, bodies = random_states(rng, mechanism, 4), len(mechanism.bodies)
    every = len(rows.kind)
    slopes, work = np.empty((4, every, 12, 12)), workspace_for(bodies, 0, 0)
    sweep.evaluate_rows(rows, states, work, np.empty((4, every)), np.empty((4, every, 12)), slopes)
    # The workspace is left with the poses of the last state.
    speeds, moved = rng.normal(size=(2, every, 4, 3))
    for k in range(every):
        if rows.second[k] == WORLD:
            speeds[k, 2:], moved[k, 2:] = 0.0, 0.0
        found = parts.second_derivative_along(
            rows, k, work.positions, work.rotations, *(
                tuple(tuple(part) for part in both[k].tolist()) for both in (speeds, moved)))
        told = speeds[k].ravel() @ slopes[-1, k] @ moved[k].ravel()
        assert found == pytest.approx(told, rel=1e-12, abs=1e-12)
