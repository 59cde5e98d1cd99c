"""Fits that end early say what was tried, where the fit is worst, and lines that can be pasted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from support import trajectory_problems as made
from sysid_ros.estimation.estimate import CHANGE, Status
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.convergence_advice import worst_fit
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.graph_estimator import GraphEstimator
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.estimation.trajectory.variational_estimator import VariationalEstimator


def disturbed(start=0.7, stop=1.1):
    """Two stretches of a pendulum, an encoder off for a while in the second."""
    problem, _, _ = made.swinging(nodes=201)
    first, second = problem.segments
    observation, = second.observations
    t, values = observation.t - second.t[0], observation.values.copy()
    values[(t >= start) & (t < stop)] += 0.3
    second = replace(second, observations=(replace(observation, values=values),))
    return replace(problem, segments=(first, second))


@pytest.mark.parametrize('kind', [
    CollocationEstimator, ShootingEstimator, VariationalEstimator, MaximalCoordinatesEstimator,
    GraphEstimator])
def test_a_fit_that_ends_early_says_what_to_do_by_lines_that_the_settings_take(kind):
    estimate = kind(max_iterations=2).fit(disturbed())
    assert estimate.status is Status.ITERATION_LIMIT
    assert any(note.startswith('Tried one after another: ') for note in estimate.notes)
    assert any('The limit of 2 steps of all searches' in note for note in estimate.notes)
    worst, = (note for note in estimate.notes if 'fits worst' in note)
    assert worst.startswith('swing fits worst, from 1') and 'of stretch 2 of 2' in worst
    assert 10.0 <= float(worst.split()[4]) <= 11.0
    assert [note for note in estimate.notes if note.startswith(CHANGE)]
    lines = [line for note in estimate.notes for line in re.findall(r'fit: \{.*\}', note)]
    assert len(lines) >= 2
    for line in lines:
        settings = FitSettings.model_validate(yaml.safe_load(line)['fit'])
        name = settings.estimator if settings.estimator != 'entropic' else kind.name
        settings.build_trajectory(name)


def test_the_worst_place_is_where_the_residuals_are():
    problem = disturbed()
    noise = [[1e-3 * np.ones_like(o.values) for o in part.observations]
             for part in problem.segments]
    noise[1][0][120:150] = 0.05
    noise[0][0][:] = np.nan
    worst = worst_fit(problem, noise)
    assert (worst.what, worst.unit, worst.segment) == ('swing', 'rad', 1)
    # A stretch of 2 s at 10 s, in windows of half a second.
    assert (worst.start, worst.stop) == pytest.approx((11.0, 11.5))
    assert worst.error == pytest.approx(0.05 * np.sqrt(0.6), rel=0.01)
    assert worst.ratio == pytest.approx(worst.error / 1e-3)


def test_where_nothing_was_measured_there_is_no_worst_place():
    problem = disturbed()
    nothing = [[np.full_like(o.values, np.nan) for o in part.observations]
               for part in problem.segments]
    assert worst_fit(problem, nothing) is None


def test_a_fit_that_converged_is_not_excused():
    problem: TrajectoryProblem = made.swinging(nodes=101)[0]
    notes = ShootingEstimator().fit(problem).notes
    assert not any('Tried' in note or 'worst' in note or CHANGE in note for note in notes)
