from types import SimpleNamespace

import numpy as np
import pytest

from support.report_runs import finished_run
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.report.headline import gain, headline, percent, worst_joint


def prediction(errors, sizes, prior=None, overall=0.1, prior_overall=0.4, rows=100,
               spread=None):
    """Errors of joints, relative to torques of some sizes."""
    errors, sizes = np.array(errors), np.array(sizes)
    prior = np.ones(len(errors)) if prior is None else np.array(prior)
    return SimpleNamespace(
        what='torque', spread=spread, joint_names=tuple(f'joint_{k}' for k in range(len(errors))),
        candidate=SimpleNamespace(
            relative_per_joint=errors, rms_per_joint=errors * sizes, relative_error=overall,
            rows=np.full(len(errors), rows)),
        prior=SimpleNamespace(
            relative_per_joint=prior, rms_per_joint=prior * sizes, relative_error=prior_overall))


def test_the_worst_joint_is_that_with_the_largest_error_of_those_with_torque():
    assert worst_joint(prediction([0.1, 0.3, 0.2], [10.0, 5.0, 8.0])) == 1
    assert worst_joint(prediction([0.1, 1.0, 0.2], [10.0, 0.01, 8.0])) == 2
    assert worst_joint(prediction([np.nan, np.nan], [1.0, 1.0])) is None


def test_three_sentences_say_gain_worst_joint_and_what_the_data_told():
    estimate = Estimate.load(finished_run() / 'estimate.json')
    first, second, third = headline(
        {'held-out': prediction([0.1, 0.3], [10.0, 5.0])}, estimate)
    assert first.startswith('On motion that was not fitted the torque is 10 % off, 4 times less')
    assert second == 'The worst joint is joint_1: 30 % off, 100 % before.'
    assert f'Of {len(estimate.parameters)} parameters' in third


def test_a_joint_with_next_to_no_torque_is_the_worst_where_the_description_is_better():
    estimate = Estimate.load(finished_run() / 'estimate.json')
    for prior, worst in ((0.9, 'joint_1: 170 % off, 90 %'), (2.0, 'joint_0: 30 % off')):
        light = prediction([0.3, 1.7], [50.0, 0.1], [1.0, prior])
        assert worst in headline({'held-out': light}, estimate)[1]


def test_a_model_that_is_worse_than_the_description_is_said_to_be():
    worse = prediction([0.5], [1.0], overall=0.6, prior_overall=0.3)
    estimate = Estimate.load(finished_run() / 'estimate.json')
    assert gain(worse) == pytest.approx(0.5)
    assert '2 times more than the description' in headline({'training': worse}, estimate)[0]


def test_a_model_that_is_as_good_as_the_description_is_not_said_to_be_one_time_better():
    alike = prediction([0.5], [1.0], overall=0.0088, prior_overall=0.0087)
    estimate = Estimate.load(finished_run() / 'estimate.json')
    assert '0.88 % off, as far as the description' in headline({'training': alike}, estimate)[0]


def test_a_robot_that_stood_still_is_not_said_to_have_gained_anything():
    # Errors of 0.01 N·m about torques that vary by 0.01 N·m: a constant is as near.
    still = prediction(
        [0.01], [1.0], [0.73], overall=0.01, prior_overall=0.73, spread=np.array([0.01]))
    estimate = Estimate.load(finished_run() / 'estimate.json')
    first, second, _ = headline({'held-out': still}, estimate)
    assert first == (
        'On motion that was not fitted the torque is 1 % off, no nearer than a constant would be, '
        'which is no evidence for the model.')
    assert second == 'The worst joint is joint_0: 1 % off.'
    assert np.isnan(gain(still))
    moved = prediction(
        [0.01], [1.0], [0.73], overall=0.01, prior_overall=0.73, spread=np.array([0.8]))
    assert '73 times less' in headline({'held-out': moved}, estimate)[0]


def test_without_torque_nothing_is_claimed():
    none = prediction([np.nan], [1.0], overall=np.nan, prior_overall=np.nan)
    estimate = Estimate.load(finished_run() / 'estimate.json')
    assert 'No torque was measured' in headline({'held-out': none}, estimate)[0]
    assert np.isnan(gain(none))
    slow = prediction([np.nan], [1.0], overall=np.nan, prior_overall=np.nan, rows=0)
    assert 'No row to judge by counts' in headline({'held-out': slow}, estimate)[0]


@pytest.mark.parametrize(
    ('part', 'text'), [(0.0123, '1.2 %'), (0.996, '100 %'), (0.1, '10 %'), (0.0995, '10 %'),
                       (np.nan, 'not comparable')])
def test_percentages_have_two_digits(part, text):
    assert percent(part) == text
