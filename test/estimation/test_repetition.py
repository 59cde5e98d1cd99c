"""Motion that repeats itself is told, and its repetitions stay together in folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.folds import speed_folds, time_folds
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.repetition import repetition


def periodic(period, seconds, rate, rng, joints=3):
    t = np.arange(round(seconds * rate)) / rate
    harmonics = np.arange(1, 6)
    phase = rng.uniform(0.0, 2.0 * np.pi, (joints, 5))
    angle = 2.0 * np.pi * t[:, None, None] * harmonics / period + phase
    return (np.sin(angle) * rng.uniform(0.2, 1.0, (joints, 5))).sum(axis=2)


@pytest.mark.parametrize(('period', 'seconds', 'rate'), [(10.0, 35.0, 100.0), (4.0, 60.0, 1000.0)])
def test_the_period_is_found_through_the_noise_of_encoders(rng, period, seconds, rate):
    q = periodic(period, seconds, rate, rng)
    found = repetition(q + 1e-3 * rng.normal(size=q.shape))
    assert found / rate == pytest.approx(period, abs=0.02)


def test_a_joint_that_stands_still_does_not_matter(rng):
    q = periodic(5.0, 20.0, 100.0, rng)
    q[:, 1] = 0.3
    assert repetition(q) / 100.0 == pytest.approx(5.0, abs=0.02)
    assert repetition(np.full((500, 2), 0.7)) is None


def test_motion_that_does_not_repeat_itself_has_no_period(rng):
    for _ in range(20):
        t = np.arange(2000) / 100.0
        omega = 2.0 * np.pi * rng.uniform(0.05, 0.8, (4, 5))
        q = np.sin(t[:, None, None] * omega + rng.uniform(0.0, 6.3, (4, 5))).sum(axis=2)
        assert repetition(q) is None


def test_a_motion_that_came_only_once_and_a_bit_has_no_period(rng):
    assert repetition(periodic(10.0, 13.0, 100.0, rng)) is None


@pytest.fixture(scope='module')
def problem():
    arm = SimulatedArm(seed=1)
    once = arm.dataset(8.0, 50.0)
    samples = len(once.t)
    again = {name: np.tile(getattr(once, name), (3, 1)) for name in ('q', 'v', 'a', 'tau', 'mask')}
    data = replace(
        once, t=np.arange(3 * samples) / once.rate, segments=((0, 3 * samples),), **again)
    return RegressionProblem.from_dataset(arm.model, data)


def test_repetitions_of_one_motion_are_held_out_together(problem):
    period = len(problem.torque) // 3
    folds = time_folds(problem, 4, gap=0.2)
    held_out = np.array([fold.stretch for fold in folds])
    np.testing.assert_array_equal(held_out.sum(axis=0), 1)
    for fold, stretch in zip(folds, held_out, strict=True):
        # No place of the period that is predicted is fitted in another repetition, nor near it.
        np.testing.assert_array_equal(*stretch[:2 * period].reshape(2, -1))
        predicted = np.flatnonzero(stretch) % period
        fitted = np.flatnonzero(fold.training.usable.any(axis=1)) % period
        away = np.abs(predicted[:, None] - fitted)
        assert np.minimum(away, period - away).min() >= 0.2 * problem.rate
        assert len(fitted) > 0


def test_fast_rows_are_predicted_from_slow_ones_of_other_parts_of_the_period(problem):
    speeds = np.abs(problem.motion.dataset.v)
    for fold in speed_folds(problem, speeds, 4, gap=0.2):
        used = fold.training.usable.any(axis=1)
        assert not (used & fold.stretch).any()
        assert fold.held_out.usable.any()
