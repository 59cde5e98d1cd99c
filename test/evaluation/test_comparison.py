"""All estimators side by side: one that fails does not end it, and the best is taken."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.comparison import compare
from sysid_ros.evaluation.cross_validation import cross_validate, enough_folds
from sysid_ros.evaluation.evaluation import HeldOut, evaluate
from sysid_ros.report.evidence import comparison_section

NAMES = ('ols', 'lmi', 'entropic')


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def problem(golden):
    return golden.problem(0.02)


@pytest.fixture(scope='module')
def judged(golden, problem):
    held_out = HeldOut(golden.problem(0.02, seed=31), golden.dataset(0.02, seed=31))

    def judge(estimator, estimate):
        folds = cross_validate(estimator, problem, estimate, count=3)
        return evaluate(estimate, problem, held_out, folds=folds)
    return judge


def makers(*names, **others):
    return {name: partial(make_estimator, name) for name in names} | others


class Failing:
    """An estimator that gives up."""

    def __init__(self, error):
        self.error = error

    def fit(self, problem):
        raise self.error


@pytest.fixture(scope='module')
def comparison(problem, judged):
    return compare(makers(*NAMES), problem, judged, preferred='lmi')


def test_every_estimator_has_a_row_with_its_figures(comparison):
    assert tuple(each.name for each in comparison.contenders) == NAMES
    for each in comparison.contenders:
        assert each.unseen_error == each.evaluation.held_out.candidate.relative_error
        assert each.fold_error == each.evaluation.folds.error
        assert each.seconds > 0.0
        assert 0 < each.known < len(each.evaluation.estimate.parameters)
        assert each.simulation_error < 0.1
        joint, ratio = each.worst_joint
        assert joint in ('waist', 'elbow', 'wrist')
        assert ratio < 0.2


def test_the_safest_of_those_that_predict_alike_is_recommended(comparison):
    best = max(comparison.contenders, key=lambda each: each.smallest_margin)
    assert comparison.recommended is best
    assert comparison.reason.startswith(f'{best.name}, as good on left-out stretches of the ')


def rejudged(judged, changes):
    """Evaluations with some of their fields changed, by estimator."""
    def evaluated(estimator, estimate):
        found = judged(estimator, estimate)
        return changes.get(estimate.estimator, lambda same: same)(found)
    return evaluated


def not_committable(found):
    return replace(found, verdict=replace(found.verdict, committable=False))


def with_fold_error(found, factor):
    def worse(fold):
        candidate = replace(fold.prediction.candidate, relative_error=(
            factor * fold.prediction.candidate.relative_error))
        return replace(fold, prediction=replace(fold.prediction, candidate=candidate))

    return replace(found, folds=replace(found.folds, folds=tuple(map(worse, found.folds.folds))))


def with_unseen_error(found, factor):
    candidate = found.held_out.candidate
    changed = replace(candidate, relative_error=factor * candidate.relative_error)
    return replace(found, held_out=replace(found.held_out, candidate=changed))


def test_an_estimator_that_cannot_be_applied_is_left_out_with_its_reason(problem, judged):
    rows = replace(problem, motion=None)
    found = compare(makers('ols', 'iv'), rows, judged, preferred='ols')
    assert [each.name for each in found.contenders] == ['ols']
    assert 'the motion behind the rows is needed' in found.failures['iv']
    assert 'iv failed: ' in comparison_section(found)
    assert found.recommended.name == 'ols'


def test_the_data_to_judge_by_has_no_part_in_the_choice(problem, judged, comparison):
    chosen = comparison.recommended.name
    other = next(name for name in NAMES if name != chosen)
    changes = {
        chosen: lambda found: not_committable(with_unseen_error(found, 3.0)),
        other: lambda found: with_unseen_error(found, 0.1),
    }
    found = compare(makers(*NAMES), problem, rejudged(judged, changes), preferred=other)
    assert found.recommended.name == chosen
    assert found.reason.endswith('; but it is not committable.')


def test_the_best_on_left_out_stretches_is_recommended(problem, judged):
    changes = {'lmi': lambda found: with_fold_error(found, 0.5)}
    found = compare(makers(*NAMES), problem, rejudged(judged, changes), preferred='ols')
    assert found.recommended.name == 'lmi'
    assert found.reason == (
        'lmi, which predicts left-out stretches of the training data best.')


def test_bodies_that_nothing_can_have_are_left_out_however_well_they_predict(problem, judged):
    def unreal(found):
        better = with_fold_error(found, 0.1)
        margins = dict.fromkeys(better.estimate.margins, -1.0)
        return replace(better, estimate=replace(better.estimate, margins=margins))

    found = compare(
        makers(*NAMES), problem, rejudged(judged, {'ols': unreal}), preferred='ols')
    assert found.recommended.name != 'ols'
    assert found.reason.endswith('of those with bodies that can exist.')


def test_a_fit_that_did_not_converge_is_not_recommended(problem, judged):
    def unfinished(found):
        return replace(with_fold_error(found, 0.1), estimate=replace(
            found.estimate, status=Status.ITERATION_LIMIT))

    found = compare(
        makers(*NAMES), problem, rejudged(judged, {'ols': unfinished}), preferred='ols')
    assert found.recommended.name != 'ols'
    assert Status.ITERATION_LIMIT.value in comparison_section(found)


@pytest.mark.parametrize('error', [
    EstimationError('nothing converges'), np.linalg.LinAlgError('nothing converges'),
    ValueError('nothing converges')])
def test_an_estimator_that_fails_gets_its_reason_and_the_others_go_on(problem, judged, error):
    found = compare(
        makers('ols', broken=lambda: Failing(error)), problem, judged, preferred='broken')
    assert list(found.failures) == ['broken']
    assert 'nothing converges' in found.failures['broken']
    assert found.recommended.name == 'ols'
    assert 'broken failed: ' in comparison_section(found)


def test_where_all_fail_nothing_is_recommended(problem, judged):
    found = compare(
        {'broken': lambda: Failing(ValueError('no'))}, problem, judged, preferred='broken')
    assert found.recommended is None
    assert found.contenders == ()


def test_without_folds_the_one_of_the_settings_is_taken(problem):
    found = compare(
        makers(*NAMES), problem, lambda _, estimate: evaluate(estimate, problem), preferred='lmi')
    assert found.recommended.name == 'lmi'
    assert 'nothing tells them apart' in found.reason


def test_folds_are_made_where_there_are_rows_enough_for_each(golden, problem):
    assert enough_folds(problem) == 5
    assert enough_folds(golden.problem(0.02, samples=30)) == 0


def test_too_little_data_for_any_estimator_is_refused_once(golden, judged):
    with pytest.raises(EstimationError, match='too little data'):
        compare(makers(*NAMES), golden.problem(0.02, samples=10), judged, preferred='ols')


def test_a_comparison_is_plain_values(comparison):
    data = comparison.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [row['estimator'] for row in data['estimators']] == list(NAMES)
    assert data['recommended'] == comparison.recommended.name
