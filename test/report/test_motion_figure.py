"""The figure of a fitted motion."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from support import trajectory_problems as made
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.problem import Observation
from sysid_ros.estimation.trajectory.sensors import Tachometer
from sysid_ros.report import joint_axes, motion_figure


def drawn(problem) -> Figure:
    """The figure of a problem and its fit."""
    return joint_axes.drawn(
        motion_figure.motion_strips(problem, CollocationEstimator().solve(problem)))


def test_readings_are_drawn_with_the_fit_and_what_is_left():
    problem, _, _ = made.swinging(nodes=61)
    upper, lower = drawn(problem).axes
    (measured, fitted, *_), errors = upper.get_lines(), lower.get_lines()
    observation = problem.segments[0].observations[0]
    np.testing.assert_array_equal(measured.get_ydata(), observation.values[:, 0])
    left = (measured.get_ydata() - fitted.get_ydata()) / observation.sigma
    np.testing.assert_allclose(errors[0].get_ydata(), left, atol=1e-9)
    # Of white noise: a standard deviation of one.
    assert 0.7 < np.std(left) < 1.3
    assert 'rad' in upper.get_ylabel() and 'σ' in lower.get_ylabel()
    title = upper.figure.texts[0].get_text()
    assert title.startswith(f'{problem.model.robot.name[:24]}: readings')
    inside = float(title.split('; ')[1].split(' %')[0])
    every = np.concatenate([line.get_ydata() for line in lower.get_lines()[:len(problem.segments)]])
    assert inside == pytest.approx(100.0 * np.mean(np.abs(every) <= 1.96), abs=0.5)
    assert 85.0 < inside <= 100.0


def test_speeds_have_strips_of_their_own():
    problem, _, motion = made.swinging(nodes=61, segments=1)
    segment = problem.segments[0]
    speed = Observation(Tachometer.of(['swing']), segment.t, motion[0][1], np.array([0.01]))
    both = replace(segment, observations=(*segment.observations, speed))
    labels = [axis.get_ylabel() for axis in drawn(replace(problem, segments=(both,))).axes]
    assert len(labels) == 4
    assert 'swing speed' in labels[2] and 'rad/s' in labels[2]


def test_recordings_are_drawn_one_after_the_other():
    segments = [SimpleNamespace(t=np.array([first, last])) for first, last in (
        (0.0, 2.0), (3.0, 4.0), (0.0, 1.0), (2.0, 3.0), (0.5, 1.0))]
    assert motion_figure._shifts(segments) == [0.0, 0.0, 4.0, 4.0, 6.5]
