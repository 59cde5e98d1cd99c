"""Changes of a simulated arm: found, named, and not seen where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from support import golden_problems as golden
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.online.change_detection import (
    ChangeDetector,
    ChangeSettings,
    base_information,
)
from sysid_ros.robot.inertia import inertial_parameters

NOISE = np.array([0.3, 0.3, 0.1])
RATE = golden.RATE


@pytest.fixture(scope='module')
def arm():
    return golden.golden('arm')


def motion(arm, samples, seed):
    return golden.motion(arm.model.robot, samples, seed)


def torque(arm, theta, motion, seed):
    tau = arm.model.torque(theta, *motion)
    return tau + NOISE * np.random.default_rng(seed).normal(size=tau.shape)


def detector(arm, committed=None, **options):
    committed = arm.truth if committed is None else committed
    return ChangeDetector(arm.model, committed, NOISE, RATE, **options)


def changed(arm, name, by):
    theta = arm.truth.copy()
    theta[arm.model.parameters.index(name)] += by
    return theta


def test_a_robot_that_did_not_change_raises_no_alarm(arm):
    moved = motion(arm, 6000, 1)
    assert detector(arm).extend(*moved, torque(arm, arm.truth, moved, 1)) == []


def test_a_load_is_found_and_named_and_weighed(arm):
    load = inertial_parameters(0.8, np.array([0.2, 0.05, 0.02]), 1e-3 * np.eye(3))
    theta = arm.truth.copy()
    theta[arm.model.parameters.body_slice('hand')] += load
    moved, onset = motion(arm, 700, 2), 453
    tau = torque(arm, arm.truth, moved, 2)
    tau[onset:] = torque(arm, theta, tuple(x[onset:] for x in moved), 3)
    found = detector(arm).extend(*moved, tau)
    assert onset < found[0].sample <= onset + 50
    last = found[-1]
    assert (last.kind, last.where) == ('payload', 'hand')
    assert last.since >= onset - 10
    assert last.names[:2] == ('hand.mass', 'hand.first_moment_x')
    # The first joint is vertical and the others parallel: one first moment is not told alone.
    assert last.values[1] == pytest.approx(load[1], abs=4.0 * last.deviations[1])
    assert last.values[0] == pytest.approx(0.8, abs=4.0 * last.deviations[0])
    assert last.deviations[0] < 0.2
    assert last.words.startswith('The load on hand changed: hand.mass +0.')


def test_friction_of_a_joint_is_named(arm):
    moved = motion(arm, 600, 4)
    theta = changed(arm, 'wrist.coulomb_friction', 0.4)
    last = detector(arm).extend(*moved, torque(arm, theta, moved, 4))[-1]
    assert (last.kind, last.where) == ('friction', 'wrist')
    k = last.names.index('wrist.coulomb_friction')
    assert last.values[k] == pytest.approx(0.4, abs=4.0 * last.deviations[k])
    assert 'Friction of wrist changed' in last.words


def test_what_no_single_cause_explains_is_a_change_of_parameters(arm):
    moved = motion(arm, 600, 5)
    theta = changed(arm, 'waist.coulomb_friction', 0.5)
    theta[arm.model.parameters.index('elbow.armature')] += 0.5
    last = detector(arm).extend(*moved, torque(arm, theta, moved, 5))[-1]
    assert last.kind == 'parameters'
    assert 'no load or joint alone' in last.words


@pytest.mark.parametrize('known', [True, False])
def test_what_was_committed_is_not_believed_beyond_its_deviations(arm, known):
    base = detector(arm).base
    # Known from some twenty samples only.
    rows = arm.model.regressor(*motion(arm, 20, 6))[:, :, base.independent]
    information = np.einsum('tjr,tjs->rs', rows / NOISE[:, None] ** 2, rows)
    information += 1e-2 * np.diag(np.diag(information))
    random = np.random.default_rng(6)
    root = np.linalg.cholesky(information)
    committed = arm.truth.copy()
    committed[base.independent] += np.linalg.solve(root.T, random.normal(size=len(root)))
    moved = motion(arm, 2000, 7)
    found = detector(arm, committed, base_information=information if known else None).extend(
        *moved, torque(arm, arm.truth, moved, 7))
    assert bool(found) == (not known)


def test_a_committed_estimate_is_what_is_compared_with(arm):
    estimate = make_estimator('recursive').fit(arm.problem(0.02, still=(2,)))
    assert np.isinf(estimate.base_standard_deviation()).any()
    watched = detector(
        arm, estimate.parameters.values, base_information=base_information(estimate))
    # The wrist, whose friction is not known from the fit, stands still here too.
    moved = golden.motion(arm.model.robot, 1000, 12, (2,))
    assert watched.extend(*moved, torque(arm, arm.truth, moved, 12)) == []
    theta = changed(arm, 'elbow.viscous_friction', 0.8)
    assert watched.extend(*moved, torque(arm, theta, moved, 12))[-1].where == 'elbow'


def test_the_rate_of_false_alarms_is_what_was_set_or_less(arm):
    per_hour, seconds, alarms = 7200.0, 200, 0
    for seed in range(5):
        moved = motion(arm, round(seconds * RATE / 5), 10 + seed)
        alarms += len(detector(arm, settings=ChangeSettings(
            false_alarms_per_hour=per_hour)).extend(*moved, torque(arm, arm.truth, moved, seed)))
    bound = per_hour * seconds / 3600.0
    assert bound / 20.0 < alarms < bound


def test_samples_in_any_pieces_give_the_same_changes(arm):
    moved = motion(arm, 200, 8)
    tau = torque(arm, changed(arm, 'elbow.viscous_friction', 0.5), moved, 8)
    whole, single = detector(arm), detector(arm)
    found = whole.extend(*moved, tau)
    steps = [single.step(*sample) for sample in zip(*moved, tau, strict=True)]
    seen = [change for change in steps if change is not None]
    assert [c.sample for c in found] == [c.sample for c in seen]
    assert [c.statistic for c in found] == pytest.approx([c.statistic for c in seen], rel=1e-6)


def test_after_a_commit_old_samples_do_not_count(arm):
    theta = changed(arm, 'elbow.viscous_friction', 0.5)
    moved = motion(arm, 300, 9)
    watched = detector(arm)
    assert watched.extend(*moved, torque(arm, theta, moved, 9))
    watched.forget()
    assert watched.extend(*moved, torque(arm, arm.truth, moved, 9)) == []


def test_samples_that_are_not_finite_are_left_out(arm):
    moved = motion(arm, 300, 10)
    tau = torque(arm, arm.truth, moved, 10)
    tau[::7, 1] = np.nan
    assert detector(arm).extend(*moved, tau) == []


def test_a_block_in_which_nothing_can_be_used_raises_no_alarm(arm):
    moved = motion(arm, 50, 11)
    assert detector(arm).extend(*moved, np.full((50, 3), np.nan)) == []


def test_what_does_not_belong_to_the_model_is_refused(arm):
    with pytest.raises(EstimationError, match='do not belong'):
        ChangeDetector(arm.model, arm.truth, np.ones(2), RATE)
    with pytest.raises(EstimationError, match='do not belong'):
        detector(arm, base_information=np.eye(3))
    with pytest.raises(ConfigurationError, match='no such moving link'):
        detector(arm, link='finger')
