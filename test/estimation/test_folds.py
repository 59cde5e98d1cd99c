"""Folds: every row is held out once, and never beside the rows that are fitted."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.folds import time_folds
from sysid_ros.estimation.problem import RegressionProblem

SimulatedArm = runpy.run_path(str(Path(__file__).parent.parent / 'simulated_arm.py'))[
    'SimulatedArm'
]


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
