"""Segments that are cut into pieces, and fits of all states that begin and end with such."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from support import trajectory_problems as made
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.graph_estimator import GraphEstimator
from sysid_ros.estimation.trajectory.pieces_start import pieces_start
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.shorter_segments import joined, shorter_segments

KINDS = pytest.mark.parametrize('kind', [
    CollocationEstimator, GraphEstimator, MaximalCoordinatesEstimator])


def off(problem, truth, factor):
    """The problem with first moments and friction off by a factor."""
    names = problem.parameters.names
    changed = ['first_moment' in name or 'friction' in name for name in names]
    values = np.where(changed, factor, 1.0) * truth
    return replace(problem, parameters=replace(problem.parameters, values=values, prior=values))


def error_of(problem, values, truth):
    columns = [problem.parameters.index(name) for name in (
        'rod.first_moment_z', 'swing.viscous_friction')]
    return np.max(np.abs(values[columns] / truth[columns] - 1.0))


def test_every_reading_belongs_to_one_piece_and_neighbours_share_a_node():
    problem, _, _ = made.swinging(nodes=201)
    cut = shorter_segments(problem, 0.5)
    assert [len(segment.t) for segment in cut.segments] == [51] * 8
    for whole, pieces in zip(problem.segments, (cut.segments[:4], cut.segments[4:]), strict=True):
        for before, after in zip(pieces[:-1], pieces[1:], strict=True):
            assert before.t[-1] == after.t[0]
        read = np.concatenate([piece.observations[0].values for piece in pieces])
        np.testing.assert_array_equal(read, whole.observations[0].values)
        assert pieces[0].start is whole.start and pieces[1].start is None


def test_readings_between_nodes_and_stamps_off_by_rounding_stay_inside():
    problem, _, _ = made.swinging(nodes=201)
    segment = problem.segments[0]
    observation, = segment.observations
    t = observation.t.copy()
    t[50] += 1e-12
    t[51:150] += 0.004
    observation = replace(observation, t=t)
    problem = replace(problem, segments=(replace(segment, observations=(observation,)),))
    cut = shorter_segments(problem, 0.5)
    assert sum(len(piece.observations[0].t) for piece in cut.segments) == len(t)


def test_pieces_too_short_for_their_starts_are_refused():
    problem, _, _ = made.swinging(nodes=201)
    with pytest.raises(EstimationError, match='too little data'):
        shorter_segments(problem, 0.011)


@KINDS
def test_a_horizon_is_what_motion_is_cut_by_and_the_motion_is_that_of_whole_segments(kind):
    problem, truth, motion = made.swinging(nodes=201, fixed=('rod.inertia_yy',))
    estimate, solution = kind(horizon=0.5).fitted(off(problem, truth, 0.8))
    assert estimate.status is Status.CONVERGED
    index = problem.parameters.index('rod.first_moment_z')
    assert estimate.parameters.values[index] == pytest.approx(truth[index], rel=0.01)
    for k, (q, v) in enumerate(motion):
        assert np.max(np.abs(solution.positions[k] - q)) < 0.01
        assert solution.velocities[k].shape == v.shape
        assert solution.residuals[k][0].shape == q.shape
    assert estimate.standard_deviation[index] < 0.01 * abs(truth[index])


def test_a_solution_of_pieces_is_joined_at_the_nodes_that_they_share():
    problem, truth, _ = made.swinging(nodes=101)
    cut = shorter_segments(problem, 0.5)
    found = CollocationEstimator().at(cut, None)
    whole = joined(problem, 0.5, found)
    assert [len(part) for part in whole.positions] == [101, 101]
    np.testing.assert_array_equal(whole.positions[0][50], found.positions[1][0])
    np.testing.assert_array_equal(whole.positions[1][100], found.positions[3][50])


@KINDS
def test_where_whole_motion_does_not_converge_pieces_that_do_are_kept_and_said(kind, monkeypatch):
    problem, truth, _ = made.swinging(nodes=201, fixed=('rod.inertia_yy',))
    search = kind.search

    def fails_over_long_motion(self, problem, start, log):
        found = search(self, problem, start, log)
        long = problem.segments[0].t[-1] - problem.segments[0].t[0] > 0.6
        return replace(found, status=Status.ITERATION_LIMIT) if long else found

    monkeypatch.setattr(kind, 'search', fails_over_long_motion)
    estimate, solution = kind().fitted(off(problem, truth, 0.8))
    assert estimate.status is Status.CONVERGED
    assert error_of(problem, estimate.parameters.values, truth) < 0.05
    note, = (note for note in estimate.notes if 'did not converge' in note)
    assert f'fit: {{{kind.name}: {{horizon: 0.5}}}}' in note
    assert len(solution.positions) == 2 and len(solution.positions[0]) == 201
    assert any(line.stage.startswith('pieces of 1 s, ') for line in solution.iterations)


@pytest.mark.parametrize(('kind', 'soft'), [
    (CollocationEstimator, lambda method: method.process_noise is not None),
    (GraphEstimator, lambda method: method.dynamics > 0.01)])
def test_where_exact_dynamics_do_not_converge_soft_ones_are_kept_and_said(kind, soft, monkeypatch):
    problem, truth, _ = made.swinging(nodes=201, fixed=('rod.inertia_yy',))
    search = kind.search

    def fails_unless_soft(self, problem, start, log):
        found = search(self, problem, start, log)
        return found if soft(self) else replace(found, status=Status.ITERATION_LIMIT)

    monkeypatch.setattr(kind, 'search', fails_unless_soft)
    estimate = kind().fit(off(problem, truth, 0.8))
    assert estimate.status is Status.CONVERGED
    assert error_of(problem, estimate.parameters.values, truth) < 0.05
    note, = (note for note in estimate.notes if 'did not converge' in note)
    line = re.search(r'fit: (\{.*\})', note)[1]
    own = getattr(FitSettings.model_validate(yaml.safe_load(line)), kind.name)
    assert soft(replace(kind(), **own.given()))


def test_short_pieces_lead_from_a_poor_guess_near_the_truth():
    problem, truth, _ = made.swinging(nodes=201, fixed=('rod.inertia_yy',))
    poor, log = off(problem, truth, 0.5), SearchLog(100)
    values = pieces_start(poor, log)
    assert error_of(problem, poor.parameters.values, truth) == pytest.approx(0.5)
    assert error_of(problem, values, truth) < 0.1
    assert [stage.name for stage in log.stages] == [
        'start over pieces of 0.1 s', 'start over pieces of 0.3 s']


def test_a_guess_that_fits_is_left_alone():
    problem, _, _ = made.swinging(nodes=201)
    log = SearchLog(100)
    assert pieces_start(problem, log) is problem.parameters.values and not log.stages


def test_what_cannot_be_simulated_keeps_its_guess():
    problem, truth, _ = made.swinging(nodes=201)
    values = truth.copy()
    values[problem.parameters.index('rod.inertia_yy')] = -0.03
    values[problem.parameters.index('rod.mass')] = 1e-9
    values[problem.parameters.index('rod.first_moment_z')] = 0.0
    lost = replace(problem, parameters=problem.parameters.with_values(values))
    assert pieces_start(lost, SearchLog(100)) is lost.parameters.values


def test_motion_that_is_adapted_to_consistent_bodies_keeps_its_modes():
    problem, truth, _ = made.swinging(nodes=101, fixed=('rod.inertia_yy',))
    solution = MaximalCoordinatesEstimator(prior_strength=1e4).solve(off(problem, truth, 0.8))
    assert solution.status is Status.CONVERGED
    later = {line.stage for line in solution.iterations if 'consistent bodies' in line.stage}
    assert later and all(stage.endswith('modes held') for stage in later)
