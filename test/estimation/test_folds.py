"""Folds: every row is held out once, and never beside the rows that are fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.folds import speed_folds, time_folds
from sysid_ros.estimation.problem import RegressionProblem


@pytest.fixture(scope='module')
def problem() -> RegressionProblem:
    arm = SimulatedArm(seed=1)
    return RegressionProblem.from_dataset(arm.model, arm.dataset(10.0, 50.0))


@pytest.mark.parametrize('count', [2, 3, 7])
def test_every_row_is_held_out_exactly_once(problem: RegressionProblem, count: int) -> None:
    held_out = sum(fold.held_out.usable.astype(int) for fold in time_folds(problem, count))
    np.testing.assert_array_equal(held_out, problem.usable)


def test_rows_beside_a_held_out_stretch_are_not_fitted(problem: RegressionProblem) -> None:
    for fold in time_folds(problem, 4, gap=0.2):
        fitted = np.flatnonzero(fold.training.usable.any(axis=1))
        predicted = np.flatnonzero(fold.held_out.usable.any(axis=1))
        distance = np.abs(fitted[:, None] - predicted).min()
        assert distance > 0.2 * problem.rate


def test_compressed_rows_are_those_of_the_fold(problem: RegressionProblem) -> None:
    random = np.random.default_rng(0).random(problem.usable.shape) > 0.2
    for fold in time_folds(replace(problem, usable=random), 4, gap=0.2):
        for part in (fold.training, fold.held_out):
            plain = replace(part)  # without what was compressed before
            for found, expected in zip(part.factors, plain.factors, strict=True):
                np.testing.assert_allclose(
                    found.T @ found, expected.T @ expected, rtol=1e-9,
                    atol=1e-12 * np.abs(expected.T @ expected).max())


def test_the_base_parameters_are_those_of_the_whole(problem: RegressionProblem) -> None:
    fold = time_folds(problem, 2)[0]
    assert fold.training.base is problem.base
    assert fold.training.counts.sum() < problem.counts.sum()


@pytest.mark.parametrize(('count', 'gap'), [(1, 0.0), (10_000, 0.0), (3, -1.0), (3, np.nan)])
def test_folds_that_cannot_be_made_are_refused(
    problem: RegressionProblem, count: int, gap: float
) -> None:
    with pytest.raises(ConfigurationError):
        time_folds(problem, count, gap)


def test_fast_rows_are_predicted_from_slow_ones_of_other_stretches() -> None:
    arm = SimulatedArm(seed=1)
    data = arm.dataset(10.0, 50.0)
    problem = RegressionProblem.from_dataset(arm.model, data)
    speeds = np.abs(data.v)
    folds = speed_folds(problem, speeds, 4, gap=0.2)
    held_out = sum(fold.held_out.usable.astype(int) for fold in folds)
    fast = speeds > np.median(speeds, axis=0)
    np.testing.assert_array_equal(held_out, fast)
    for fold in folds:
        assert not (fold.training.usable & fast).any()
        fitted = np.flatnonzero(fold.training.usable.any(axis=1))
        predicted = np.flatnonzero(fold.held_out.usable.any(axis=1))
        assert np.abs(fitted[:, None] - predicted).min() > 0.2 * problem.rate


def test_speeds_of_other_rows_are_refused(problem: RegressionProblem) -> None:
    with pytest.raises(ConfigurationError, match='do not belong to the rows'):
        speed_folds(problem, np.ones((3, 4)))


@pytest.mark.parametrize('rest', [(0.0, 0.3), (0.45, 0.8), (0.7, 1.0)])
def test_of_a_robot_that_rests_for_long_every_stretch_holds_as_much_motion(
    rest: tuple[float, float]
) -> None:
    # Before, a stretch of rest alone had no fast rows, and whatever was compared could not be.
    arm = SimulatedArm(seed=1)
    data = arm.dataset(20.0, 50.0)
    start, stop = (round(part * len(data)) for part in rest)
    held = np.concatenate([np.arange(start), np.full(stop - start, start), np.arange(
        start, len(data) - (stop - start))])
    resting = slice(start, stop)
    q, v, a, tau = (getattr(data, name)[held].copy() for name in ('q', 'v', 'a', 'tau'))
    v[resting], a[resting] = 0.0, 0.0
    still = replace(data, q=q, v=v, a=a, tau=tau)
    problem = RegressionProblem.from_dataset(arm.model, still)
    speeds = np.abs(v)
    moving = [int((speeds[fold.stretch] > 0.0).any(axis=1).sum()) for fold in time_folds(problem)]
    assert max(moving) - min(moving) <= 2
    for fold in speed_folds(problem, speeds):
        assert (fold.held_out.usable.sum(axis=0) > 0).any()
        assert np.linalg.norm(fold.held_out.torque[fold.held_out.usable]) > 0.0
