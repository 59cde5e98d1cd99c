"""Estimates on paper: JSON that keeps everything, and nothing else is read."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import FORMAT, Estimate, Knowledge, Status
from sysid_ros.estimation.estimator import make_estimator


@pytest.fixture(scope='module')
def estimate():
    problem = simulated.golden('arm').problem(0.05, still=(2,), fixed=('elbow.armature',))
    return make_estimator('wls').fit(problem)


def without(text, key):
    data = json.loads(text)
    del data[key]
    return json.dumps(data)


def with_entry(text, key, value):
    return json.dumps(json.loads(text) | {key: value})


def spoilt_covariance(text, value):
    data = json.loads(text)
    known = [k for k, row in enumerate(data['base_covariance']) if row[k] is not None]
    row = data['base_covariance'][known[0]]
    row[known[0] if value else known[1]] = value
    return json.dumps(data)


def test_everything_comes_back_from_json(estimate):
    again = Estimate.from_json(estimate.to_json())
    for name in ('standard_deviation', 'base_values', 'base_covariance'):
        np.testing.assert_array_equal(getattr(again, name), getattr(estimate, name))
    for name in ('values', 'prior', 'lower', 'upper', 'free'):
        np.testing.assert_array_equal(
            getattr(again.parameters, name), getattr(estimate.parameters, name))
    for name in ('estimator', 'status', 'knowledge', 'base_names', 'unidentified', 'notes',
                 'iterations'):
        assert getattr(again, name) == getattr(estimate, name)
    for name, value in vars(estimate.residuals).items():
        np.testing.assert_array_equal(getattr(again.residuals, name), value)
    assert dict(again.margins) == dict(estimate.margins)
    outliers = {'elbow': [(3, 5), (8, 9)]}
    assert Estimate.from_json(replace(estimate, outliers=outliers).to_json()).outliers == outliers
    assert dict(again.settings) == dict(estimate.settings)
    assert dict(again.provenance) == dict(estimate.provenance)


def test_nothing_is_known_from_data_where_the_fit_did_not_converge(estimate):
    problem = simulated.golden('arm').problem(0.05, still=(2,), fixed=('elbow.armature',))
    stopped = make_estimator('wls', max_iterations=1).fit(problem)
    assert stopped.status is Status.ITERATION_LIMIT
    told = (Knowledge.DATA, Knowledge.COMBINATION)
    assert {Knowledge.DATA, Knowledge.PRIOR, Knowledge.FIXED} <= set(estimate.knowledge)
    for ended in (stopped, estimate.with_status(Status.INACCURATE)):
        expected = tuple(
            Knowledge.UNSETTLED if entry in told else entry for entry in estimate.knowledge)
        assert ended.knowledge == expected
        assert Estimate.from_json(ended.to_json()).knowledge == expected


def test_the_text_is_strict_json_with_the_status_as_a_sentence(estimate):
    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(estimate.to_json(), parse_constant=refuse)
    assert data['format'] == FORMAT
    assert data['status'] == 'CONVERGED'
    assert data['message'] == 'The fit converged.'
    assert None in data['standard_deviation']


def test_a_residual_of_no_torque_is_written_as_null(estimate):
    statistics = replace(estimate.residuals, relative_error=float('nan'))
    text = replace(estimate, residuals=statistics).to_json()
    assert json.loads(text)['residuals']['relative_error'] is None
    assert np.isnan(Estimate.from_json(text).residuals.relative_error)


@pytest.mark.parametrize('spoil', [
    lambda text: text.replace(FORMAT, 'sysid_ros estimate 0'),
    lambda text: text.replace('CONVERGED', 'GREAT'),
    lambda text: text[:-10],
    lambda text: without(text, 'format'),
    lambda text: without(text, 'parameters'),
    lambda text: with_entry(text, 'residuals', []),
    lambda text: with_entry(text, 'provenance', []),
    lambda text: with_entry(text, 'notes', [5]),
    lambda text: with_entry(text, 'standard_deviation', [1.0]),
    lambda text: with_entry(text, 'base_values', [None]),
    lambda text: with_entry(text, 'base_values', [10**400]),
    lambda text: with_entry(text, 'base_covariance', [['a']]),
    lambda text: with_entry(text, 'base_covariance', [[1.0, 2.0]]),
    lambda text: spoilt_covariance(text, -1.0),
    lambda text: spoilt_covariance(text, None),
    lambda text: text.replace('"iterations": ', '"iterations": NaN, "more": '),
    lambda text: '[' * 100_000,
    lambda text: '[]',
    lambda text: '"estimate"',
    lambda text: '',
])
def test_what_is_not_an_estimate_is_refused(estimate, spoil):
    with pytest.raises(EstimationError, match='estimate'):
        Estimate.from_json(spoil(estimate.to_json()))


def test_another_format_is_named(estimate):
    other = estimate.to_json().replace(FORMAT, 'sysid_ros estimate 0')
    with pytest.raises(EstimationError, match='found sysid_ros estimate 0; allowed sysid_ros est'):
        Estimate.from_json(other)


def test_a_file_is_read_and_a_missing_one_is_one_clear_error(estimate, tmp_path):
    path = tmp_path / 'estimate.json'
    path.write_text(estimate.to_json(), encoding='utf-8')
    assert Estimate.load(path).to_json() == estimate.to_json()
    with pytest.raises(EstimationError, match=r'nowhere\.json: cannot be read'):
        Estimate.load(tmp_path / 'nowhere.json')


def test_a_pickle_is_not_an_estimate(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ('unpickled',))

    path = tmp_path / 'estimate.json'
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(EstimationError):
        Estimate.load(path)


def test_only_a_converged_fit_is_all_right():
    assert [status for status in Status if status.ok] == [Status.CONVERGED]


def test_statuses_and_knowledge_are_whole_phrases():
    for status in Status:
        assert status.value.endswith('.')
        assert status.ok or 'the values are the' in status.value
    assert len({entry.value for entry in Knowledge}) == len(Knowledge)


def test_standard_deviations_are_the_diagonal_of_the_covariance(estimate):
    found = estimate.base_standard_deviation()
    np.testing.assert_allclose(found**2, np.diag(estimate.base_covariance))


def test_a_base_parameter_is_known_by_its_relative_standard_deviation(estimate):
    count = len(estimate.base_values)
    values = np.ones(count)
    values[:3] = [-1.0, 0.0, 1e-6]
    made = replace(
        estimate, base_values=values, base_covariance=np.diag(np.full(count, 0.2**2)))
    assert made.base_parameters_known(0.1) == 0
    assert made.base_parameters_known(0.3) == count - 2
    covariance = made.base_covariance.copy()
    covariance[-1, :] = covariance[:, -1] = np.inf
    assert replace(made, base_covariance=covariance).base_parameters_known(0.3) == count - 3


def test_consistent_means_every_margin_is_above_zero(estimate):
    assert replace(estimate, margins={'a': 0.1, 'b': 1.0}).consistent
    for margin in (0.0, -0.1, float('nan')):
        assert not replace(estimate, margins={'a': 1.0, 'b': margin}).consistent
