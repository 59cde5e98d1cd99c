"""What collocation leaves of the dynamics between nodes, and that it is said where it matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as problems
from sysid_ros.errors import UnreachableError
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.step_error import step_errors, too_long

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


def test_steps_that_are_too_long_are_named_and_short_ones_are_not():
    problem, _, _ = problems.swinging(nodes=401, fixed=HELD)
    short, long = CollocationEstimator(), CollocationEstimator(scheme='trapezoidal')
    assert 'Steps of 0.01 s are too long' in ' '.join(long.fit(problem).notes)
    # Of fourth order, or with noise of the process, which covers that.
    for method in (short, replace(long, process_noise=1.0)):
        assert 'too long' not in ' '.join(method.fit(problem).notes)


def test_a_fit_is_not_lost_where_steps_cannot_be_judged(monkeypatch):
    def broken(*_):
        raise UnreachableError('the loops cannot be closed', where='swing')

    monkeypatch.setattr(CollocationEstimator, 'moved_by_steps', broken)
    problem, _, _ = problems.swinging(fixed=HELD)
    estimate = CollocationEstimator().fit(problem)
    assert estimate.status.ok
    assert 'cannot be told: swing: the loops' in ' '.join(estimate.notes)


def test_half_a_standard_deviation_goes_unnoticed():
    deviation, names = np.array([1.0, 2.0]), ('a', 'b')
    assert too_long(np.array([0.4, 0.9]), deviation, names, 0.01) == ()
    words, = too_long(np.array([0.4, -1.2]), deviation, names, 0.01)
    assert 'move b by 0.6 standard deviations' in words
    assert too_long(np.zeros(0), np.zeros(0), (), 0.01) == ()
