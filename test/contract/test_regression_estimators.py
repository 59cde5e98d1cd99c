"""What every regression estimator keeps on every golden problem."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, make_estimator
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility

ESTIMATORS = tuple(REGRESSION_ESTIMATORS)
CONSISTENT = ('lmi', 'irls_lmi', 'entropic', 'log_cholesky', 'recursive')
every_estimator = pytest.mark.parametrize('name', ESTIMATORS)
# Instrumental variables also use the motion behind the rows, and refuse rows without one.
every_estimator_from_rows = pytest.mark.parametrize(
    'name', tuple(name for name in ESTIMATORS if name != 'iv'))
every_consistent_estimator = pytest.mark.parametrize('name', CONSISTENT)
every_problem = pytest.mark.parametrize('robot', simulated.NAMES)


@cache
def problem_of(robot, noise=0.0, still=()):
    return simulated.golden(robot).problem(noise, still=still)


def weak(name):
    """The estimator with a prior that only decides what the data does not."""
    return make_estimator(name, **({'prior_strength': 1e-4} if name in CONSISTENT else {}))


@cache
def weak_fit(name, robot, noise=0.0):
    return weak(name).fit(problem_of(robot, noise))


def relative(difference, size):
    return np.linalg.norm(difference) / np.linalg.norm(size)


@every_problem
@every_estimator
def test_exact_data_is_predicted_exactly(name, robot):
    problem = problem_of(robot)
    estimate = weak_fit(name, robot)
    assert estimate.status is Status.CONVERGED
    assert relative(problem.residuals(estimate.parameters.values), problem.torque) < 1e-6
    assert estimate.residuals.relative_error < 1e-6


@every_problem
@every_estimator
def test_exact_data_gives_the_true_base_parameters(name, robot):
    problem, golden = problem_of(robot), simulated.golden(robot)
    estimate = weak_fit(name, robot)
    truth = problem.base.values(golden.truth)
    # In each base parameter's own size: torque per unit differs by orders among them.
    size = np.linalg.norm(problem.regressor[:, :, problem.base.independent], axis=(0, 1))
    error = (estimate.base_values - truth) * size / np.linalg.norm(problem.torque)
    assert np.abs(error).max() < 1e-6


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky'])
def test_without_an_active_bound_a_vanishing_prior_gives_weighted_least_squares(name):
    # Two in a hundred of each joint's torque are noise: no bound is active.
    problem = problem_of('arm', 0.02)
    plain = make_estimator('wls').fit(problem).parameters.values
    steps = np.linalg.lstsq(problem.scale, plain - problem.reference, rcond=None)[0]
    assert feasible_set(problem, Plausibility()).contains(steps)
    found = make_estimator(name, prior_strength=1e-8).fit(problem).parameters.values
    # Weighted least squares ends where noise levels change by 1e-6, and predicted torques by less.
    assert relative(problem.regressor @ (found - plain), problem.torque) < 1e-8


@every_problem
@every_estimator
def test_another_motion_of_exact_data_is_predicted_exactly(name, robot):
    other = simulated.golden(robot).problem(seed=23)
    values = weak_fit(name, robot).parameters.values
    assert relative(other.residuals(values), other.torque) < 1e-6


@every_problem
@every_estimator
def test_noisy_data_gives_base_parameters_within_a_few_sigma(name, robot):
    problem, golden = problem_of(robot, 0.02), simulated.golden(robot)
    estimate = weak_fit(name, robot, 0.02)
    truth = problem.base.values(golden.truth)
    deviation = estimate.base_standard_deviation()
    assert np.isfinite(deviation).all()
    z = np.abs(estimate.base_values - truth) / deviation
    assert z.max() < 4.5
    assert estimate.residuals.relative_error == pytest.approx(0.02, rel=0.15)


@every_problem
@every_estimator
def test_values_known_one_by_one_are_within_a_few_sigma_too(name, robot):
    golden = simulated.golden(robot)
    estimate = weak_fit(name, robot, 0.02)
    known = [k for k, entry in enumerate(estimate.knowledge) if entry is Knowledge.DATA]
    assert known
    error = estimate.parameters.values[known] - golden.truth[known]
    assert np.abs(error / estimate.standard_deviation[known]).max() < 4.5


@every_problem
@every_estimator
def test_the_uncertainty_says_what_is_known(name, robot):
    estimate = weak_fit(name, robot, 0.02)
    for entry, deviation in zip(estimate.knowledge, estimate.standard_deviation, strict=True):
        assert np.isfinite(deviation) == (entry is Knowledge.DATA)
    assert estimate.unidentified == ()
    np.testing.assert_allclose(
        estimate.base_covariance, estimate.base_covariance.T, rtol=1e-6, atol=1e-14)


@every_problem
@every_estimator
def test_the_same_input_gives_the_same_bytes(name, robot):
    golden = simulated.golden(robot)
    texts = {make_estimator(name).fit(golden.problem(0.02)).to_json() for _ in range(2)}
    assert len(texts) == 1


@every_problem
@every_estimator
def test_an_estimate_comes_back_from_json_as_it_was(name, robot):
    estimate = make_estimator(name).fit(problem_of(robot, 0.02, still=(0,)))
    again = Estimate.from_json(estimate.to_json())
    assert again.to_json() == estimate.to_json()
    assert again.status is estimate.status
    assert again.knowledge == estimate.knowledge
    np.testing.assert_array_equal(again.standard_deviation, estimate.standard_deviation)
    np.testing.assert_array_equal(again.base_covariance, estimate.base_covariance)


@every_estimator
def test_a_joint_that_stands_still_is_told_and_its_friction_left_at_the_prior(name):
    problem = problem_of('arm', 0.01, still=(2,))
    estimate = make_estimator(name).fit(problem)
    names = ('wrist.viscous_friction', 'wrist.coulomb_friction', 'wrist.armature')
    for parameter in names:
        k = estimate.parameters.index(parameter)
        assert estimate.knowledge[k] is Knowledge.PRIOR
        assert np.isinf(estimate.standard_deviation[k])
        assert estimate.parameters.values[k] == pytest.approx(
            estimate.parameters.prior[k], abs=1e-12)
    assert set(names) <= {words for words in estimate.unidentified}
    assert np.isinf(estimate.base_standard_deviation()).sum() == len(estimate.unidentified)
    # What does move is still found.
    k = estimate.parameters.index('elbow.viscous_friction')
    assert estimate.knowledge[k] is Knowledge.DATA
    truth = simulated.golden('arm').truth[k]
    assert estimate.parameters.values[k] == pytest.approx(
        truth, abs=5 * estimate.standard_deviation[k])


@every_estimator
def test_a_robot_that_never_moves_tells_of_no_friction(name):
    estimate = make_estimator(name).fit(problem_of('arm', 0.01, still=(0, 1, 2)))
    assert estimate.status.ok
    for k, full in enumerate(estimate.parameters.names):
        if full.endswith(('_friction', '.armature')):
            assert estimate.knowledge[k] is Knowledge.PRIOR
            assert estimate.parameters.values[k] == 0.0


@every_estimator
def test_directions_without_data_stay_at_the_prior_in_its_metric(name):
    # The waist stands still and is vertical: nothing tells of the first body.
    problem = problem_of('arm', 0.01, still=(0,))
    estimate = make_estimator(name).fit(problem)
    block = problem.parameters.body_slice('shoulder')
    moved = estimate.parameters.values[block] - problem.parameters.prior[block]
    size = np.linalg.norm(problem.scale[block], axis=1)
    # The sum of all masses is bounded, which may lean on this body; nothing else may.
    assert np.abs(moved / size).max() < (0.2 if name in CONSISTENT else 1e-9)
    if np.abs(moved / size).max() > 1e-2:
        assert any('not by the data' in note and 'shoulder' in note for note in estimate.notes)


@every_estimator
def test_no_torque_at_all_is_an_estimate_that_knows_nothing_of_the_bodies(name):
    problem = problem_of('arm', still=(0, 1, 2))
    problem = simulated.with_torque(problem, np.zeros_like(problem.torque))
    estimate = make_estimator(name).fit(problem)
    assert not np.isfinite(estimate.residuals.relative_per_joint).any()
    assert Estimate.from_json(estimate.to_json()).to_json() == estimate.to_json()


@every_estimator
def test_a_joint_without_torque_does_not_drown_the_others(name):
    golden = simulated.golden('arm')
    problem = golden.problem(0.02)
    torque = problem.torque.copy()
    # The same robot, whose first drive weighs nothing and rubs nowhere: its torque is exact.
    torque[:, 0] = problem.regressor[:, 0] @ golden.truth
    problem = simulated.with_torque(problem, torque)
    estimate = make_estimator(name).fit(problem)
    error = (estimate.base_values - problem.base.values(golden.truth))
    assert estimate.status.ok
    assert np.isfinite(estimate.base_standard_deviation()).all()
    assert np.abs(error / np.maximum(estimate.base_standard_deviation(), 1e-4)).max() < 5.0


@every_estimator
def test_fixed_parameters_are_left_alone(name):
    golden = simulated.golden('arm')
    # Held at the truth, which is not the prior.
    values = golden.model.parameters.with_values(golden.truth)
    held = values.fixed('upper.*', 'hand.mass', 'elbow.coulomb_friction')
    problem = replace(golden.problem(0.01), parameters=held)
    estimate = make_estimator(name).fit(problem)
    for k in np.flatnonzero(~held.free):
        assert estimate.parameters.values[k] == golden.truth[k]
        assert estimate.knowledge[k] is Knowledge.FIXED
        assert estimate.standard_deviation[k] == 0.0
    assert estimate.status.ok
    assert estimate.residuals.relative_error == pytest.approx(0.01, rel=0.15)


@every_estimator
def test_all_bodies_may_be_fixed(name):
    golden = simulated.golden('arm')
    values = golden.model.parameters.with_values(golden.truth)
    bodies = [f'{body}.*' for body in values.bodies]
    estimate = make_estimator(name).fit(
        replace(golden.problem(0.01), parameters=values.fixed(*bodies)))
    assert estimate.status.ok
    assert estimate.residuals.relative_error == pytest.approx(0.01, rel=0.15)


@every_estimator
def test_with_nothing_free_there_is_nothing_to_fit(name):
    golden = simulated.golden('arm')
    problem = replace(golden.problem(0.01), parameters=golden.model.parameters.fixed('*'))
    with pytest.raises(EstimationError, match='free'):
        make_estimator(name).fit(problem)


@every_estimator
def test_only_offsets_may_be_free(name):
    golden = simulated.golden('arm')
    values = golden.model.parameters.with_values(golden.truth)
    offsets = [n for n in values.names if n.endswith('.torque_offset')]
    held = values.fixed(*[n for n in values.names if n not in offsets])
    estimate = make_estimator(name).fit(replace(golden.problem(0.01), parameters=held))
    for full in offsets:
        k = held.index(full)
        assert estimate.parameters.values[k] == pytest.approx(
            golden.truth[k], abs=5 * estimate.standard_deviation[k])


@every_problem
@every_estimator_from_rows
def test_the_order_of_the_rows_does_not_matter(name, robot):
    problem = problem_of(robot, 0.02)
    order = np.random.default_rng(1).permutation(len(problem.torque))
    shuffled = replace(problem, regressor=problem.regressor[order], torque=problem.torque[order],
                       usable=problem.usable[order])
    first, second = (
        estimate.parameters.values
        for estimate in (weak_fit(name, robot, 0.02), weak(name).fit(shuffled))
    )
    difference = problem.regressor @ (first - second)
    # How far neighbouring residuals resemble each other, and with it the prior's strength in
    # the consistent estimators, does depend on their order.
    assert relative(difference, problem.torque) < (1e-3 if name in CONSISTENT else 1e-10)


@every_estimator
def test_torques_and_masses_in_other_units_give_the_same_fit(name):
    golden, scale = simulated.golden('arm'), 8.0
    problem = golden.problem(0.02)
    heavy = simulated.golden_of(simulated.arm_urdf(mass_scale=scale))
    scaled = replace(
        problem, model=heavy.model, parameters=heavy.model.parameters,
        torque=scale * problem.torque)
    plain, other = make_estimator(name).fit(problem), make_estimator(name).fit(scaled)
    difference = problem.regressor @ (other.parameters.values / scale - plain.parameters.values)
    assert relative(difference, problem.torque) < 1e-6
    np.testing.assert_allclose(
        other.base_standard_deviation() / scale, plain.base_standard_deviation(), rtol=1e-5)


@every_estimator_from_rows
def test_turned_body_frames_give_the_same_robot(name):
    golden = simulated.golden('arm')
    problem = golden.problem(0.02)
    turned, change = simulated.turned_frames(problem, seed=5)
    plain, other = make_estimator(name).fit(problem), make_estimator(name).fit(turned)
    difference = turned.regressor @ (change @ plain.parameters.values - other.parameters.values)
    assert relative(difference, problem.torque) < 1e-6
    for body, margin in plain.margins.items():
        assert other.margins[body] == pytest.approx(margin, rel=1e-3, abs=1e-5)


@every_problem
@every_consistent_estimator
def test_consistent_estimators_stay_inside_of_what_physics_allows(name, robot):
    golden = simulated.golden(robot)
    plausible = Plausibility()
    for seed in range(3):
        problem = golden.problem(0.5, seed=seed, samples=150)
        estimate = make_estimator(name).fit(problem)
        assert estimate.status.ok
        assert estimate.consistent
        assert min(estimate.margins.values()) >= plausible.margin * (1 - 1e-3)
        parameters = estimate.parameters
        assert (parameters.values >= parameters.lower).all()
        assert (parameters.values <= parameters.upper).all()
        masses = [parameters.index(f'{body}.mass') for body in parameters.bodies]
        ratio = parameters.values[masses] / parameters.prior[masses]
        assert (ratio <= plausible.mass_factor * (1 + 1e-6)).all()
        assert (ratio >= (1 - 1e-6) / plausible.mass_factor).all()
        # So do the sum of those that torques feel and, of each body, the ellipsoid around it.
        steps = np.linalg.lstsq(
            problem.scale, parameters.values - problem.reference, rcond=None)[0]
        allowed = feasible_set(problem, plausible)
        assert sum(' within ' in label for label in allowed.labels) == len(masses)
        assert allowed.contains(steps, 1e-5)


@every_estimator
def test_an_inconsistent_prior_is_replaced_and_listed(name):
    broken = simulated.golden_of(simulated.broken_arm_urdf())
    assert 'hand' in broken.model.robot.replaced_priors
    estimate = make_estimator(name).fit(broken.problem(0.01))
    assert estimate.status.ok
    assert any('prior of hand was replaced' in note for note in estimate.notes)


@every_estimator
def test_a_prior_strength_of_zero_or_an_unknown_setting_is_refused(name):
    with pytest.raises(ConfigurationError, match='no such setting'):
        make_estimator(name, strenght=1.0)
    if name in CONSISTENT:
        with pytest.raises(ConfigurationError, match='prior_strength'):
            make_estimator(name, prior_strength=0.0)


def test_an_unknown_estimator_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigurationError, match=r"found 'entropc'.*Did you mean 'entropic'"):
        make_estimator('entropc')


@every_estimator
def test_settings_are_told_in_the_estimate(name):
    estimate = make_estimator(name).fit(problem_of('single joint', 0.02))
    assert estimate.estimator == name
    if name in CONSISTENT:
        assert estimate.settings['prior_strength'] > 0.0
        assert estimate.settings['plausibility']['mass_factor'] == 3.0
    assert estimate.provenance['source'] == 'simulated'
    assert estimate.provenance['base_seed'] == 0
