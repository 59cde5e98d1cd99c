"""The log of a fit of several searches: its stages, its limit, and its table."""

from __future__ import annotations

import csv
import io
from functools import partial
from types import SimpleNamespace

import pytest

from support import trajectory_problems as made
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.graph_estimator import GraphEstimator
from sysid_ros.estimation.trajectory.search_log import SearchLog, iterations_table
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.numerics.least_squares.damped import Iteration


def step(cost, accepted=True):
    return Iteration(cost, 1.0, 0.9, 1e-3, 0.5, 1e-2, accepted, 0.25)


def search(*costs, status=Status.CONVERGED):
    def steps(progress):
        for cost in costs:
            progress(step(cost))
        return SimpleNamespace(status=status)
    return steps


def test_every_step_bears_the_name_of_its_stage():
    told = []
    log = SearchLog(10, told.append)
    log.run('pieces of 0.3 s', search(4.0, 3.0))
    with log.within('consistent bodies 1'):
        log.run('pieces of 1 s', search(2.0, status=Status.ITERATION_LIMIT))
    assert [line.stage for line in log.iterations] == [
        'pieces of 0.3 s', 'pieces of 0.3 s', 'consistent bodies 1, pieces of 1 s']
    assert told == log.iterations
    assert [(stage.status, len(stage.iterations)) for stage in log.stages] == [
        (Status.CONVERGED, 2), (Status.ITERATION_LIMIT, 1)]


def test_the_limit_is_that_of_all_searches_together():
    log = SearchLog(5)
    assert log.at_most(3) == 3
    log.run('one', search(4.0, 3.0, 2.0))
    assert log.left == log.at_most(3) == 2
    log.run('other', search(1.0, 0.5))
    assert log.left == 0


def test_a_search_that_cannot_begin_is_kept_as_such():
    def fails(progress):
        raise EstimationError('ran away')

    log = SearchLog(5)
    with pytest.raises(EstimationError):
        log.run('pieces of 8 s', fails)
    assert log.stages[0].status is None and not log.stages[0].iterations


def test_the_table_has_a_line_for_every_step_and_numbers_that_are_read_again():
    log = SearchLog(5)
    log.run('modes held, "again"', search(4.0, 1.0 / 3.0))
    lines = list(csv.DictReader(io.StringIO(iterations_table(
        [*log.iterations, step(float('inf'), accepted=False)]))))
    assert [line['iteration'] for line in lines] == ['1', '2', '3']
    assert lines[0]['stage'] == 'modes held, "again"'
    assert float(lines[1]['cost']) == pytest.approx(1.0 / 3.0, rel=1e-8)
    assert float(lines[2]['cost']) == float('inf')
    assert [line['accepted'] for line in lines] == ['1', '1', '0']


@pytest.mark.parametrize('kind', [
    CollocationEstimator, ShootingEstimator, GraphEstimator,
    partial(MaximalCoordinatesEstimator, state_error_weight=100.0)])
def test_no_fit_takes_more_steps_than_it_may_in_all_its_stages(kind):
    problem, truth, _ = made.swinging(nodes=101, fixed=('rod.inertia_yy',))
    whole = kind().solve(problem)
    assert whole.status.ok and all(line.stage for line in whole.iterations)
    most = len(whole.iterations) - 1
    told = []
    ended = kind(max_iterations=most).solve(problem, told.append)
    assert not ended.status.ok
    assert len(ended.iterations) == len(told) <= most


def test_a_search_for_the_likeliest_weight_keeps_what_converged_when_it_may_go_no_further():
    problem, _, _ = made.swinging(nodes=101, fixed=('rod.inertia_yy',))
    whole = MaximalCoordinatesEstimator().solve(problem)
    assert any('weight of the dynamics' in line.stage for line in whole.iterations)
    most = len(whole.iterations) - 1
    ended = MaximalCoordinatesEstimator(max_iterations=most).solve(problem)
    assert ended.status.ok and len(ended.iterations) <= most
