"""Recursive least squares: its parts against finite differences, its results against batches."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from support import golden_problems as golden
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.recursive.kernels import fold
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.recursive.recursive_prior import (
    curvature,
    gradient,
    without_rows,
)
from sysid_ros.estimation.regression.recursive.state import State
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.robot.inertia import log_det_divergence

REGULARISERS = ('plausible', 'log_det', 'l2')
FORGETTING = (('none', 1.0), ('exponential', 0.99), ('directional', 0.95))


@cache
def problem(noise=0.02, **options):
    return golden.golden('arm').problem(noise, **options)


@cache
def noise_of(problem):
    return weighted_directions(problem)[0].sigma


def started(problem, **settings):
    return RecursiveLeastSquares(**settings).start(problem, noise_of(problem))


def run(problem, **settings):
    state = started(problem, **settings)
    state.extend_rows(problem.regressor, problem.torque, problem.usable)
    return state


def distance(first, second):
    return np.linalg.norm(first - second) / np.linalg.norm(second)


def somewhere(state, rng):
    """A point inside of what is allowed, off the prior."""
    root = np.linalg.cholesky(curvature(state.prior, state.prior.reference))
    step = np.linalg.solve(root.T, rng.normal(size=len(root)))
    # Of less than one in this metric, which is strictly inside.
    return state.prior.reference + 0.8 * step / np.linalg.norm(root.T @ step)


@pytest.mark.parametrize('regulariser', REGULARISERS)
def test_the_curvature_is_the_derivative_of_the_gradient(regulariser, rng):
    state = started(problem(), regulariser=regulariser)
    theta = somewhere(state, rng)
    bend = curvature(state.prior, theta)
    np.testing.assert_array_equal(bend, bend.T)
    for k in range(len(theta)):
        size = 1e-6 * np.diag(bend)[k] ** -0.5
        ahead, behind = theta.copy(), theta.copy()
        ahead[k] += size
        behind[k] -= size
        slope = (gradient(state.prior, ahead) - gradient(state.prior, behind)) / (2.0 * size)
        scale = np.sqrt(np.diag(bend) * np.diag(bend)[k])
        assert np.abs((slope - bend[:, k]) / scale).max() < 1e-6


@pytest.mark.parametrize('regulariser', REGULARISERS)
def test_the_divergence_is_least_at_its_reference(regulariser):
    state = started(problem(), regulariser=regulariser)
    bend = curvature(state.prior, state.prior.reference)
    slope = gradient(state.prior, state.prior.reference)
    assert np.abs(slope / np.sqrt(np.diag(bend))).max() < 1e-9
    assert np.linalg.eigvalsh(bend / np.sqrt(np.outer(np.diag(bend), np.diag(bend))))[0] > 0.0


def test_the_bodies_of_the_paper_have_the_log_det_divergence(rng):
    state = started(problem(), regulariser='log_det', rest_weight=0.5)
    theta = somewhere(state, rng)
    bodies = theta[:30].reshape(3, 10)
    _, slopes, bends = log_det_divergence(bodies, problem().parameters.prior[:30].reshape(3, 10))
    np.testing.assert_allclose(gradient(state.prior, theta)[:30], slopes.ravel(), rtol=1e-8)
    bend = curvature(state.prior, theta)
    for c in range(3):
        block = slice(10 * c, 10 * c + 10)
        np.testing.assert_allclose(
            bend[block, block], bends[c], rtol=1e-9, atol=1e-9 * np.abs(bends[c]).max())
    np.testing.assert_array_equal(bend[30:, 30:], 0.5 * np.eye(len(theta) - 30))


@pytest.mark.parametrize('name', golden.NAMES)
def test_the_minimum_is_that_of_the_entropic_batch_fit(name):
    rows = golden.golden(name).problem(0.02)
    state = run(rows, max_iterations=1)
    assert state.converge()
    batch = make_estimator('entropic').fit(rows)
    step = np.linalg.norm(rows.scale, axis=1)
    assert np.abs((state.theta - batch.parameters.values) / step).max() < 2e-4
    assert distance(rows.regressor @ state.theta, rows.regressor @ batch.parameters.values) < 1e-6


def test_one_newton_iteration_a_sample_follows_the_minimum():
    rows = problem(samples=4000)
    state = run(rows, max_iterations=1)
    last = state.theta
    assert state.iterations == 4000
    assert state.converge()
    assert distance(last, state.theta) < 1e-6


def test_least_squares_has_a_closed_form_and_bodies_that_are_not_real():
    rows = golden.golden('arm').problem(0.5, samples=60)
    state = run(rows, regulariser='l2', prior_strength=1e-6, max_iterations=1)
    weighted = rows.regressor / noise_of(rows)[:, None]
    matrix, target = weighted.reshape(-1, len(state.theta)), (rows.torque / noise_of(rows)).ravel()
    weight = 1e-6 * state.prior.quadratic_weight
    expected = np.linalg.solve(
        matrix.T @ matrix + np.diag(weight), matrix.T @ target + weight * rows.parameters.prior)
    assert distance(rows.regressor @ state.theta, rows.regressor @ expected) < 1e-9
    assert min(state.margins().values()) < 0.0


@pytest.mark.parametrize('regulariser', ['plausible', 'log_det'])
def test_every_estimate_is_consistent_from_the_first_sample_on(regulariser):
    rows = golden.golden('arm').problem(0.5, samples=400)
    state = started(rows, regulariser=regulariser, max_iterations=1, prior_strength=1e-3)
    trace = state.extend_rows(rows.regressor, rows.torque, trace=True)
    assert state.failed == 0
    assert min(margins.min() for margins in state.margins(trace).values()) > 0.0
    if regulariser == 'plausible':
        assert (trace >= rows.parameters.lower).all()


@pytest.mark.parametrize(('forgetting', 'memory'), FORGETTING)
@pytest.mark.parametrize('strength', ['constant', 'balanced'])
def test_any_chunking_gives_the_same_bits(forgetting, memory, strength):
    data = golden.golden('arm').dataset(0.02, samples=150)
    motion = (data.q, data.v, data.a, data.tau)
    settings = {
        'forgetting': forgetting, 'memory': memory, 'strength': strength,
        'prior_strength': 0.1 if strength == 'constant' else 1e-3,
    }
    whole, parts, single = (started(problem(), **settings) for _ in range(3))
    trace = whole.extend(*motion, trace=True)
    for part in (slice(0, 7), slice(7, 100), slice(100, 150)):
        parts.extend(*(x[part] for x in motion))
    for sample in zip(*motion, strict=True):
        assert single.step(*sample)
    np.testing.assert_array_equal(trace[-1], whole.theta)
    assert whole.to_bytes() == parts.to_bytes() == single.to_bytes()


@pytest.mark.parametrize(('forgetting', 'memory'), FORGETTING)
def test_a_kept_state_goes_on_bit_for_bit(forgetting, memory, tmp_path):
    rows = problem()
    settings = RecursiveLeastSquares(forgetting=forgetting, memory=memory)
    state, whole = (settings.start(rows, noise_of(rows)) for _ in range(2))
    state.extend_rows(rows.regressor[:333], rows.torque[:333])
    file = tmp_path / 'state'
    file.write_bytes(state.to_bytes())
    again = settings.start(rows, noise_of(rows)).restored(file.read_bytes())
    again.extend_rows(rows.regressor[333:], rows.torque[333:])
    whole.extend_rows(rows.regressor, rows.torque)
    assert again.to_bytes() == whole.to_bytes()
    assert not np.array_equal(again.theta, state.theta)


def test_a_state_of_other_settings_or_a_damaged_one_is_refused():
    state = started(problem())
    kept = state.to_bytes()
    with pytest.raises(EstimationError, match='other settings'):
        started(problem(), prior_strength=0.2).restored(kept)
    for damaged in (b'', kept[:100], kept[:-200]):
        with pytest.raises(EstimationError, match='cannot be read'):
            state.restored(damaged)


@pytest.mark.parametrize('spoil', [
    lambda array: array[:-1], lambda array: array.astype(np.float32), lambda array: array[None]])
@pytest.mark.parametrize('name', ['theta', 'information', 'tally'])
def test_a_state_of_other_shapes_is_refused_before_it_is_written_into(name, spoil):
    state, file = started(problem()), io.BytesIO()
    with np.load(io.BytesIO(state.to_bytes())) as kept:
        np.savez(file, **{key: spoil(kept[key]) if key == name else kept[key] for key in kept})
    with pytest.raises(EstimationError, match=f'{name}: the state cannot be read'):
        state.restored(file.getvalue())


def test_exponential_forgetting_is_a_batch_of_fading_weights():
    rows, memory = problem(), 0.98
    state = run(rows, regulariser='l2', forgetting='exponential', memory=memory)
    fade = memory ** np.arange(len(rows.torque))[::-1]
    weights = fade[:, None] / noise_of(rows) ** 2
    matrix = np.einsum('tj,tjp,tjq->pq', weights, rows.regressor, rows.regressor)
    vector = np.einsum('tj,tjp,tj->p', weights, rows.regressor, rows.torque)
    np.testing.assert_allclose(
        state.information, matrix, rtol=1e-9, atol=1e-9 * np.abs(matrix).max())
    np.testing.assert_allclose(state.vector, vector, rtol=1e-9, atol=1e-9 * np.abs(vector).max())


def test_directional_forgetting_is_the_papers(rng):
    rows, memory = problem(), 0.9
    settings = RecursiveLeastSquares(forgetting='directional', memory=memory)
    state = settings.start(rows, noise_of(rows))
    state.extend_rows(rows.regressor[:50], rows.torque[:50])
    omega, vector, theta = state.information, state.vector, state.theta[state.free]
    gamma, weight = rows.regressor[50], noise_of(rows) ** -2.0
    known = omega @ gamma.T
    taken = (1.0 - memory) * known @ np.linalg.solve(gamma @ known, known.T)
    state.extend_rows(rows.regressor[50:51], rows.torque[50:51])
    expected = omega - taken + gamma.T @ (weight[:, None] * gamma)
    np.testing.assert_allclose(
        state.information, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())
    expected = vector - taken @ theta + gamma.T @ (weight * rows.torque[50])
    np.testing.assert_allclose(state.vector, expected, atol=1e-10 * np.abs(expected).max())


def test_directional_forgetting_keeps_what_no_sample_tells_anew():
    still = problem(still=(2,))
    state = run(problem(), forgetting='directional', memory=0.9)
    before = state.information
    k = problem().parameters.index('wrist.viscous_friction')
    state.extend_rows(still.regressor, still.torque)
    assert state.information[k, k] == pytest.approx(before[k, k], rel=0.6)
    other = run(problem(), forgetting='exponential', memory=0.9)
    other.extend_rows(still.regressor, still.torque)
    assert other.information[k, k] < 1e-12 * before[k, k]


def test_a_changed_parameter_is_followed_when_old_samples_are_forgotten():
    arm = golden.golden('arm')
    changed = arm.truth.copy()
    k = problem().parameters.index('elbow.viscous_friction')
    changed[k] += 0.5
    after = replace(arm, truth=changed).problem(0.02)
    for forgetting, memory in (('none', 1.0), ('exponential', 0.99)):
        state = run(problem(), forgetting=forgetting, memory=memory)
        state.extend_rows(after.regressor, after.torque)
        error = abs(state.theta[k] - changed[k])
        assert error > 0.15 if forgetting == 'none' else error < 0.1, (forgetting, error)


def test_balanced_strength_is_the_trace_of_the_paper():
    rows = problem()
    state = started(rows, strength='balanced', prior_strength=1e-3, max_iterations=1)
    state.extend_rows(rows.regressor[:20], rows.torque[:20])
    bend = curvature(state.prior, state.theta[state.free])
    state.extend_rows(rows.regressor[20:21], rows.torque[20:21])
    expected = 1e-3 * np.trace(state.information @ np.linalg.inv(bend))
    assert state.strength == pytest.approx(expected, rel=1e-9)


def test_a_sample_that_is_not_finite_is_skipped_and_counted():
    data = golden.golden('arm').dataset(0.02, samples=50)
    clean, spoiled = started(problem()), started(problem())
    for k in range(50):
        sample = [x[k].copy() for x in (data.q, data.v, data.a, data.tau)]
        clean.step(*sample)
        spoiled.step(*sample)
        for entry in range(4):
            bad = [x.copy() for x in sample]
            bad[entry][1] = np.nan if k % 2 else np.inf
            assert not spoiled.step(*bad)
    assert (spoiled.skipped, spoiled.samples) == (200, 50)
    np.testing.assert_array_equal(spoiled.theta, clean.theta)


def test_rows_that_do_not_count_may_hold_anything():
    rows = problem()
    usable = np.ones(rows.torque.shape, dtype=bool)
    usable[::3, 1] = False
    spoiled, torque = rows.regressor.copy(), rows.torque.copy()
    spoiled[::3, 1], torque[::3, 1] = np.nan, np.inf
    first, second = started(rows), started(rows)
    first.extend_rows(rows.regressor, rows.torque, usable)
    second.extend_rows(spoiled, torque, usable)
    np.testing.assert_array_equal(first.theta, second.theta)
    assert second.skipped == 0


def test_covariance_is_the_inverse_of_all_information_and_covers():
    arm, z = golden.golden('arm'), []
    for seed in range(40):
        rows = arm.problem(0.05, seed=seed, samples=200)
        state, base = run(rows), rows.base
        assert state.converge()
        deviation = np.sqrt(np.diag(state.base_covariance(base)))
        z.append((base.values(state.theta) - base.values(arm.truth)) / deviation)
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1.0, abs=0.15)
    product = state.posterior_information() @ state.covariance()[np.ix_(state.free, state.free)]
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-6)
    strong = run(problem(), prior_strength=1e4)
    matrix = problem().base.matrix
    np.testing.assert_allclose(
        strong.base_covariance(problem().base), matrix @ strong.covariance() @ matrix.T,
        rtol=1e-6, atol=1e-12)


def test_the_recursive_protocol_leaves_states_alone_and_ends_at_the_batch_fit():
    rows = problem()
    settings = RecursiveLeastSquares()
    first = settings.start(rows)
    kept = first.to_bytes()
    state = settings.update(first, rows)
    assert first.to_bytes() == kept
    kept = state.to_bytes()
    told, fitted = settings.estimate(state), settings.fit(rows)
    assert state.to_bytes() == kept
    assert told.status.ok
    assert distance(told.parameters.values, fitted.parameters.values) < 1e-6
    assert told.knowledge == fitted.knowledge
    assert told.base_names == fitted.base_names
    ratio = told.base_standard_deviation() / fitted.base_standard_deviation()
    assert 0.6 < ratio.min() < ratio.max() < 1.6
    assert told.residuals.relative_error == pytest.approx(fitted.residuals.relative_error, rel=0.5)
    assert Estimate.from_json(told.to_json()).to_json() == told.to_json()


def test_what_no_sample_showed_is_told_by_the_sums_too():
    rows = problem(still=(2,))
    settings = RecursiveLeastSquares()
    told = settings.estimate(settings.update(settings.start(rows), rows))
    fitted = settings.fit(rows)
    assert told.knowledge == fitted.knowledge
    assert told.unidentified == fitted.unidentified
    k = told.parameters.index('wrist.viscous_friction')
    assert told.knowledge[k] is Knowledge.PRIOR
    assert np.isinf(told.standard_deviation[k])


def test_a_recursion_starts_before_the_first_sample_when_the_noise_is_given():
    arm = golden.golden('arm')
    state = RecursiveLeastSquares().start(arm.model, noise=np.full(3, 0.1))
    data = arm.dataset(0.02)
    state.extend(data.q, data.v, data.a, data.tau)
    residual = data.tau - arm.model.torque(state.theta, data.q, data.v, data.a)
    assert distance(data.tau - residual, data.tau) < 0.03
    with pytest.raises(ConfigurationError, match='noise is not known'):
        RecursiveLeastSquares().start(arm.model)
    with pytest.raises(EstimationError, match='noise cannot be used'):
        RecursiveLeastSquares().start(arm.model, noise=np.array([0.1, 0.0, 0.1]))


def test_fixed_parameters_are_taken_off_the_torque():
    arm = golden.golden('arm')
    held = arm.model.parameters.with_values(arm.truth).fixed('upper.*', 'hand.mass')
    state = RecursiveLeastSquares().start(without_rows(arm.model, held), np.full(3, 0.1))
    data = arm.dataset(0.01)
    state.extend(data.q, data.v, data.a, data.tau)
    np.testing.assert_array_equal(state.theta[~held.free], arm.truth[~held.free])
    predicted = arm.model.torque(state.theta, data.q, data.v, data.a)
    assert distance(predicted, data.tau) < 0.02
    assert np.isfinite(state.standard_deviation()).all()


def test_terms_the_kernel_does_not_know_take_the_models_own_rows():
    arm = golden.golden('arm')
    model = replace(arm.model, terms=(*arm.model.terms, DriveGain()))
    data = arm.dataset(0.02, samples=20)
    parameters = model.parameters.fixed('*.drive_gain')
    first, second = (
        RecursiveLeastSquares().start(m, np.full(3, 0.1), p)
        for m, p in ((model, parameters), (arm.model, None)))
    for state in (first, second):
        state.extend(data.q, data.v, data.a, data.tau)
    assert distance(first.theta[second.free], second.theta) < 1e-9


@pytest.mark.parametrize('setting', [
    {'memory': 0.0}, {'memory': 1.1}, {'max_iterations': 0}, {'forgetting': 'all'},
    {'strength': 'weak'}, {'regulariser': 'ridge'}, {'tolerance': 0.0}, {'rest_weight': 0.0},
])
def test_settings_that_cannot_work_are_refused(setting):
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        RecursiveLeastSquares(**setting)


def test_arrays_of_the_wrong_shape_are_refused():
    state, rows = started(problem()), problem()
    with pytest.raises(EstimationError, match='wrong shape'):
        state.extend(*np.zeros((4, 10, 2)))
    with pytest.raises(EstimationError, match='do not fit the model'):
        state.extend_rows(rows.regressor[:, :, :-1], rows.torque)
    with pytest.raises(EstimationError, match='usable'):
        state.extend_rows(rows.regressor, rows.torque, rows.usable[:5])


def test_rounding_does_not_grow_with_the_number_of_samples():
    state = run(problem(samples=70))._state  # so that the sums are compiled as they are used
    for array in state:
        array[:] = 0
    for _ in range(100_000):
        state.recent[:] = 0.1
        fold(state)
    filled = state.information != 0.0
    assert filled.any()
    exact = float(Fraction(0.1) * 100_000)
    np.testing.assert_allclose(state.information[filled], exact, rtol=3e-16)


def test_everything_that_is_kept_is_in_the_state():
    assert set(State._fields) == {
        'theta', 'information', 'rounding', 'recent', 'tally', 'counts', 'outcome'}
