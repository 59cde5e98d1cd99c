"""What the data does not tell keeps the prior, and torques that it tells stay as they are."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Knowledge
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.release.revert_to_prior import revert_to_prior
from sysid_ros.robot.inertia import is_consistent

UNDETERMINED = (Knowledge.PRIOR, Knowledge.COUPLED)


def fitted(arm, *, still=(), estimator='entropic', fixed=()):
    """An estimate and its problem; some joints do not move."""
    data = arm.dataset(10.0, 250.0, noise=0.03)
    if still:
        q, v, a = data.q.copy(), data.v.copy(), data.a.copy()
        for joint in still:
            k = arm.joint_names.index(joint)
            q[:, k], v[:, k], a[:, k] = 0.3, 0.0, 0.0
        noise = data.tau - arm.torque(data.t)
        values = arm.model.torque(arm.truth, q, v, a)
        data = replace(data, q=q, v=v, a=a, tau=values + noise)
    parameters = arm.model.parameters.fixed(*fixed) if fixed else None
    problem = RegressionProblem.from_dataset(
        arm.model, data, parallel_filter=ParallelFilter(cutoff=10.0, decimate_to=25.0),
        parameters=parameters)
    return make_estimator(estimator).fit(problem), problem


@pytest.fixture(scope='module')
def arm(simulated_arm):
    return simulated_arm(1)


@pytest.fixture(scope='module')
def fit(arm):
    return fitted(arm)


def undetermined(estimate):
    return [
        name for name, knowledge in
        zip(estimate.parameters.names, estimate.knowledge, strict=True) if knowledge in UNDETERMINED
    ]


def test_what_has_no_effect_on_torque_goes_back_and_no_torque_changes(arm, fit):
    estimate, problem = fit
    handed = revert_to_prior(arm.model, estimate)
    silent = undetermined(estimate)
    assert silent
    assert set(silent) <= set(handed.kept)
    only = estimate.parameters.with_values({
        name: handed.parameters[name] for name in silent})
    assert (only.values != estimate.parameters.values).any()
    change = problem.predicted(only.values) - problem.predicted(estimate.parameters.values)
    assert np.abs(change).max() < 1e-9 * np.abs(problem.torque).max()


def test_everything_listed_has_exactly_the_prior_and_nothing_else_was_touched(arm, fit):
    estimate, _ = fit
    handed = revert_to_prior(arm.model, estimate)
    for name in estimate.parameters.names:
        before, now = estimate.parameters[name], handed.parameters[name]
        prior = estimate.parameters.prior[estimate.parameters.index(name)]
        assert now == (prior if name in handed.kept else before), name


def test_every_body_stays_real(arm, fit):
    handed = revert_to_prior(arm.model, fit[0])
    for body in handed.parameters.bodies:
        assert is_consistent(handed.parameters.inertial(body))


def test_terms_that_are_truly_absent_keep_their_prior(arm, fit):
    """Nothing has an offset in truth; and friction that is far from the prior is handed over."""
    handed = revert_to_prior(arm.model, fit[0])
    offsets = [f'{joint}.torque_offset' for joint in arm.joint_names]
    assert sum(name in handed.kept for name in offsets) >= 3
    assert not any(name.endswith('_friction') for name in handed.kept)
    assert not any(name.startswith('forearm.') for name in handed.kept)


def test_all_that_was_put_back_shifts_the_estimate_by_no_more_than_chance(arm, fit):
    estimate, problem = fit
    handed = revert_to_prior(arm.model, estimate)
    base = base_parameters(arm.model, free=estimate.parameters.free)
    shift = base.values(handed.parameters.values - estimate.parameters.values)
    distance = shift @ np.linalg.solve(estimate.base_covariance, shift)
    assert 0.0 < distance < chi2.ppf(0.95, 4)
    before = np.linalg.norm(problem.residuals(estimate.parameters.values))
    after = np.linalg.norm(problem.residuals(handed.parameters.values))
    assert after < 1.001 * before


def test_a_significant_change_is_handed_over_however_small(arm, fit):
    """With a covariance a million times smaller, every change of what is told is significant."""
    estimate, _ = fit
    sure = replace(estimate, base_covariance=estimate.base_covariance * 1e-12)
    assert set(revert_to_prior(arm.model, sure).kept) == set(undetermined(estimate))


def test_an_estimate_that_knows_nearly_nothing_hands_nothing_over(arm, fit):
    estimate, _ = fit
    unsure = replace(estimate, base_covariance=estimate.base_covariance * 1e12)
    handed = revert_to_prior(arm.model, unsure)
    assert set(handed.kept) == set(estimate.parameters.names)
    assert (handed.parameters.values == estimate.parameters.prior).all()


def test_friction_of_a_joint_that_did_not_move_keeps_the_prior(arm):
    estimate, problem = fitted(arm, still=('wrist_roll',))
    handed = revert_to_prior(arm.model, estimate)
    assert 'wrist_roll.viscous_friction' in handed.kept
    assert 'wrist_roll.coulomb_friction' in handed.kept
    assert 'elbow_pitch.viscous_friction' not in handed.kept
    after = np.linalg.norm(problem.residuals(handed.parameters.values))
    assert after < 1.001 * np.linalg.norm(problem.residuals(estimate.parameters.values))
    for body in handed.parameters.bodies:
        assert is_consistent(handed.parameters.inertial(body))


def test_where_no_real_body_has_the_prior_beside_what_is_known_it_is_said(arm, fit):
    """A first body whose inertia about its axis grew beyond what the prior's others allow."""
    estimate, _ = fit
    body = estimate.parameters.bodies[0]
    values = estimate.parameters.values.copy()
    block = estimate.parameters.body_slice(body)
    values[block] = 20.0 * estimate.parameters.prior[block]
    heavy = replace(estimate, parameters=estimate.parameters.with_values(values))
    handed = revert_to_prior(arm.model, heavy)
    assert not any(name.startswith(f'{body}.') for name in handed.kept)
    assert any(body in note for note in handed.notes)
    assert is_consistent(handed.parameters.inertial(body))


@pytest.mark.parametrize('spoil', [
    lambda covariance: covariance * 0.0,
    lambda covariance: covariance * 1e-320,
    lambda covariance: np.where(np.eye(len(covariance)) > 0.0, covariance, np.nan),
])
def test_a_covariance_that_is_none_is_one_clear_error(arm, fit, spoil):
    estimate, _ = fit
    with pytest.raises(EstimationError, match='covariance of the base parameters cannot be used'):
        revert_to_prior(arm.model, replace(
            estimate, base_covariance=spoil(estimate.base_covariance)))


@pytest.mark.parametrize('seed', [None, -1, 'one', [1]])
def test_a_seed_that_is_none_is_one_clear_error(arm, fit, seed):
    estimate, _ = fit
    with pytest.raises(EstimationError, match='base_seed: the seed cannot be used'):
        revert_to_prior(arm.model, replace(
            estimate, provenance={**estimate.provenance, 'base_seed': seed}))


def test_what_was_fixed_by_request_is_not_listed_and_stays(arm):
    estimate, _ = fitted(arm, fixed=('shoulder.*', '*.torque_offset'))
    handed = revert_to_prior(arm.model, estimate)
    fixed = [name for name in estimate.parameters.names
             if name.startswith('shoulder.') or name.endswith('.torque_offset')]
    assert not set(fixed) & set(handed.kept)
    assert all(handed.parameters[name] == estimate.parameters[name] for name in fixed)
