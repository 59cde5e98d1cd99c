"""How far parameters are from standing still, in standard deviations."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.parameter_tolerance import (
    correlated_squares,
    step_in_deviations,
)
from sysid_ros.numerics.least_squares.bordered import Bordered

WIDE = np.full(3, -np.inf), np.full(3, np.inf)


def equations_of(rows, residual):
    """Normal equations without starts, of residuals whose prediction has these derivatives."""
    return Bordered.of((rows.T @ rows)[None], (-rows.T @ residual)[None], 0)


def test_a_step_is_compared_with_what_white_noise_leaves_open():
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(4000, 3)), 2.0 * rng.normal(size=4000)
    found = np.linalg.lstsq(rows, noise, rcond=None)[0]
    # Away from the fit by one, two and three standard deviations.
    deviation = 2.0 / np.sqrt(np.diagonal(rows.T @ rows))
    residual = noise - rows @ (found + np.array([1.0, -2.0, 3.0]) * deviation)
    size = step_in_deviations(equations_of(rows, residual), [residual[:, None]], *WIDE)
    assert size == pytest.approx(3.0, rel=0.1)
    at_fit = noise - rows @ found
    assert step_in_deviations(equations_of(rows, at_fit), [at_fit[:, None]], *WIDE) < 1e-9


def test_rows_that_resemble_their_neighbours_make_steps_smaller():
    rng = np.random.default_rng(1)
    white = rng.normal(size=6000)
    # Sums of nine neighbours: nine rows tell as much as one.
    smooth = np.convolve(white, np.ones(9) / 3.0, 'same')
    total, rows = correlated_squares([smooth[:, None], np.zeros((10, 1))])
    assert rows == 6000
    assert total / (smooth @ smooth) == pytest.approx(9.0, rel=0.3)


def test_a_parameter_at_its_bound_does_not_move():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(500, 1))
    residual = rng.normal(size=500) - rows[:, 0]
    equations = equations_of(rows, residual)
    free = step_in_deviations(equations, [residual[:, None]], np.array([-9.0]), np.array([9.0]))
    held = step_in_deviations(equations, [residual[:, None]], np.array([0.0]), np.array([9.0]))
    assert free > 10.0 and held == 0.0
