"""What rules leave of the dynamics between nodes, and that steps are halved where it matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.errors import UnreachableError
from sysid_ros.estimation.trajectory import shorter_steps
from sysid_ros.estimation.trajectory.assessment import (
    base_covariance,
    determined_parameters,
)
from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.step_error import step_errors

# Neither of them shows in free swing.
HELD = ('rod.mass', 'rod.first_moment_z')


def with_nodes(problem, step):
    """The same readings of free swing, with more nodes."""
    segments = []
    for segment in problem.segments:
        t = np.linspace(segment.t[0], segment.t[-1], round(np.ptp(segment.t) / step) + 1)
        segments.append(replace(segment, t=t, torque=np.zeros((len(t), 1))))
    return replace(problem, segments=tuple(segments))


def test_true_motion_leaves_nothing_but_at_the_end_of_a_stretch():
    problem, truth, motion = problems.swinging(nodes=101)
    states = np.vstack([np.hstack(pair) for pair in motion])
    errors = step_errors(Collocation(problem, 'hermite_simpson'), states, truth[problem.free])
    # Four parts of a step of 10 ms by a rule of fourth order, against SciPy's at 1e-11; where
    # dry friction turns round, within 10 ms here, less is to be had.
    assert np.abs(errors).max() < 1e-5
    assert np.median(np.abs(errors)) < 1e-9
    assert (errors[[100, 201]] == 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize(('scheme', 'step'), [('trapezoidal', 0.01), ('hermite_simpson', 0.04)])
def test_what_long_steps_do_is_known_to_first_order(scheme, step):
    problem, _, _ = problems.swinging(nodes=round(4.0 / step) + 1, step=step, fixed=HELD)
    method = CollocationEstimator(scheme=scheme, prior_strength=None)
    found = method.solve(problem)
    short = CollocationEstimator(prior_strength=None).solve(with_nodes(problem, 0.005))
    determined = determined_parameters(problem, found.information).mask
    deviation = 1.0 / np.sqrt(np.diagonal(found.information)[determined])
    moved = (found.values - short.values)[problem.free][determined] / deviation
    assert np.abs(moved).max() > 3.0
    foretold = method.moved_by_steps(problem, found) / deviation
    np.testing.assert_allclose(foretold, moved, rtol=0.15, atol=0.3)


def deviations(estimate):
    return np.sqrt(np.diagonal(estimate.base_covariance))


@pytest.mark.slow
def test_steps_are_halved_until_they_no_longer_show():
    problem, truth, _ = problems.swinging(nodes=401, fixed=HELD)
    method = CollocationEstimator(scheme='trapezoidal', prior_strength=None)
    estimate, found = method.fitted(problem)
    stages = {each.stage for each in found.iterations}
    assert any(stage.startswith('half steps') for stage in stages)
    # Motion comes back at the nodes that were asked for.
    assert [len(q) for q in found.positions] == [len(each.t) for each in problem.segments]
    short = CollocationEstimator(prior_strength=None).fit(with_nodes(problem, 0.0025))
    off = np.abs(estimate.base_values - short.base_values) / deviations(estimate)
    coarse = method.solve(problem)
    determined = determined_parameters(problem, coarse.information).mask
    before = np.abs(coarse.values[problem.free][determined] - short.base_values)
    assert (before / deviations(short)).max() > 10.0
    assert off.max() < 1.0


@pytest.mark.slow
@pytest.mark.parametrize('method', [
    CollocationEstimator(), CollocationEstimator(scheme='trapezoidal', process_noise=1.0)],
    ids=['fourth order', 'with noise of the process'])
def test_short_steps_and_those_with_noise_of_the_process_stay(method):
    problem, _, _ = problems.swinging(nodes=801, step=0.005, fixed=HELD)
    _, found = method.fitted(problem)
    assert not any('half steps' in each.stage for each in found.iterations)


def test_a_fit_is_not_lost_where_steps_cannot_be_judged(monkeypatch):
    def broken(*_):
        raise UnreachableError('the loops cannot be closed', where='swing')

    monkeypatch.setattr(CollocationEstimator, 'moved_by_steps', broken)
    problem, _, _ = problems.swinging(fixed=HELD)
    estimate = CollocationEstimator().fit(problem)
    assert estimate.status.ok
    assert 'cannot be told: swing: the loops' in ' '.join(estimate.notes)


@pytest.mark.slow
def test_steps_that_one_halving_judged_are_not_said_to_be_unknown(monkeypatch):
    problem, _, _ = problems.swinging(nodes=401, fixed=HELD)
    method = CollocationEstimator(scheme='trapezoidal', prior_strength=None)
    log = SearchLog(100)
    found, words = method.with_noise(problem, None, log)
    halved, first = shorter_steps._halved, []

    def once(fit, order, log):
        if first:
            raise UnreachableError('the loops do not close')
        first.append(halved(fit, order, log))
        return first[0]._replace(moved=np.full_like(first[0].moved, 1e3))

    monkeypatch.setattr(shorter_steps, '_halved', once)
    short = shorter_steps.with_short_steps(method, problem, found, words, log)
    assert short.judged and not any('cannot be told' in said for said in short.words)
    # What the first halving told counts.
    assert (short.moved == 1e3).all()


def test_what_steps_still_move_counts_in_the_intervals_and_is_said(monkeypatch):
    problem, _, _ = problems.swinging(nodes=401, fixed=HELD)
    method = CollocationEstimator(scheme='trapezoidal', prior_strength=None)
    monkeypatch.setattr(shorter_steps, '_HALVINGS', 0)
    estimate, found = method.fitted(problem)
    moved = method.moved_by_steps(problem, found)
    assert 'Steps are too long: they move' in ' '.join(estimate.notes)
    alone = np.sqrt(np.diagonal(base_covariance(
        problem, found, determined_parameters(problem, found.information))))
    assert (deviations(estimate) >= 2.0 * np.abs(moved)).all()
    assert (np.abs(moved) > alone).any()
    # Richardson's extrapolation, from a fit with half steps, is the same to first order.
    monkeypatch.setattr(shorter_steps, '_HALVINGS', 1)
    monkeypatch.setattr(CollocationEstimator, 'moved_by_steps', lambda *_: None)
    short = shorter_steps.with_short_steps(
        method, problem, found, (), SearchLog(method.max_iterations))
    np.testing.assert_allclose(4.0 * short.moved / alone, moved / alone, rtol=0.15, atol=0.3)
