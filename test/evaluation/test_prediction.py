"""Held-out prediction: the candidate and the prior on the same rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ParameterError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.prediction import predict


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def estimate(golden):
    return make_estimator('entropic').fit(golden.problem(0.02))


def test_the_errors_are_those_of_the_held_out_rows(golden, estimate):
    other = golden.problem(0.02, seed=31)
    prediction = predict(estimate, other)
    error = other.torque - other.regressor @ estimate.parameters.values
    before = other.torque - other.regressor @ other.parameters.prior
    size = np.linalg.norm(other.torque)
    assert prediction.candidate.relative_error == pytest.approx(np.linalg.norm(error) / size)
    assert prediction.prior.relative_error == pytest.approx(np.linalg.norm(before) / size)
    np.testing.assert_allclose(
        prediction.candidate.rms_per_joint, np.sqrt(np.mean(error**2, axis=0)))
    assert prediction.joint_names == ('waist', 'elbow', 'wrist')
    assert prediction.held_out
    assert prediction.source == 'simulated'


def test_a_good_fit_predicts_down_to_the_noise(golden, estimate):
    prediction = predict(estimate, golden.problem(0.02, seed=31))
    assert prediction.candidate.relative_error == pytest.approx(0.02, rel=0.2)
    assert prediction.prior.relative_error > 0.1


def test_rows_that_were_fitted_are_said_to_be(golden, estimate):
    assert not predict(estimate, golden.problem(0.02), held_out=False).held_out


def test_rows_that_do_not_count_are_left_out(golden, estimate):
    other = golden.problem(0.02, seed=31)
    usable = other.usable.copy()
    usable[::3] = False
    spoilt = replace(other, usable=usable, torque=np.where(usable, other.torque, 1e9))
    found = predict(estimate, spoilt).candidate
    assert found.relative_error < 0.03
    np.testing.assert_array_equal(found.rows, usable.sum(axis=0))


def test_parameters_are_matched_by_name(golden, estimate):
    backwards = estimate.parameters
    order = np.arange(len(backwards))[::-1]
    turned = replace(estimate, parameters=type(backwards)(
        names=tuple(backwards.names[k] for k in order),
        units=tuple(backwards.units[k] for k in order),
        **{name: getattr(backwards, name)[order]
           for name in ('values', 'prior', 'lower', 'upper', 'free')}))
    other = golden.problem(0.02, seed=31)
    assert predict(turned, other).candidate.relative_error == pytest.approx(
        predict(estimate, other).candidate.relative_error)


def test_an_estimate_of_another_robot_is_refused(estimate):
    with pytest.raises(ParameterError, match='no such parameter'):
        predict(estimate, simulated.golden('single joint').problem(0.02))


def test_too_few_rows_for_a_fit_are_enough_for_a_prediction(golden, estimate):
    prediction = predict(estimate, golden.problem(0.02, seed=31, samples=10))
    assert prediction.candidate.rows.tolist() == [10, 10, 10]


@pytest.mark.parametrize(('rows', 'parts', 'better'), [
    (2.0, 0.12, True), (2.0, 0.2, False), (10.0, 0.54, True), (10.0, 0.6, False)])
def test_few_independent_rows_can_win_by_enough(golden, estimate, rows, parts, better):
    """Residuals that are one another's neighbours are worth few: it takes a larger win then."""
    prediction = predict(estimate, golden.problem(0.02, seed=31))
    joint = np.arange(3) == 0
    mine = replace(
        prediction.candidate, rms_per_joint=1.0 * joint, effective_rows=np.full(3, rows))
    before = replace(mine, rms_per_joint=joint / parts)
    assert replace(prediction, candidate=mine, prior=before, advantage=None).better is better
