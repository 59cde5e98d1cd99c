"""What a stretch of motion says of additional parameters before they are fitted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sysid_ros.evaluation.simulated_stretch import _linear_gain


def problem(rng):
    """Information and slope of five parameters in units of very different size."""
    matrix = rng.normal(size=(12, 5)) * 10.0 ** rng.uniform(-3.0, 3.0, size=5)
    return matrix.T @ matrix, matrix.T @ rng.normal(size=12)


def best_gain(information, slope, bounded):
    """The largest over all sets of bounded steps that are zero, of steps that keep the bounds."""
    gains = [0.0]
    for zero in product(*[(False, True) if one else (False,) for one in bounded]):
        left = np.flatnonzero(~np.array(zero))
        step = np.zeros(len(slope))
        step[left] = -np.linalg.solve(information[np.ix_(left, left)], slope[left])
        if (step[bounded] >= 0.0).all():
            gains.append(-(step @ information @ step + 2.0 * slope @ step))
    return max(gains)


@pytest.mark.parametrize('bounds', [0, 3])
def test_the_gain_is_that_of_the_best_step_within_bounds(draws, bounds):
    bounded = np.arange(5) < bounds
    for number, rng in draws.numbered(20):
        information, slope = problem(rng)
        lower = np.where(bounded, 0.0, -np.inf)
        with draws.saved_on_failure(number, information=information, slope=slope):
            gain = _linear_gain(information, slope, lower, np.full(5, np.inf))
            assert gain == pytest.approx(best_gain(information, slope, bounded), rel=1e-6)


def test_parameters_that_do_not_show_gain_nothing():
    information = np.diag([4.0, 0.0])
    gain = _linear_gain(
        information, np.array([2.0, 0.0]), np.full(2, -np.inf), np.full(2, np.inf))
    assert gain == pytest.approx(1.0)
