"""Estimators by name: what they are called, and what is loaded for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import (
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    make_estimator,
    make_trajectory_estimator,
    settings_of,
)


@pytest.mark.parametrize('name', TRAJECTORY_ESTIMATORS)
def test_estimators_of_states_and_parameters_are_found_by_their_own_names(name):
    assert make_trajectory_estimator(name).name == name
    assert 'prior_strength' in settings_of(name)


@pytest.mark.parametrize('name', REGRESSION_ESTIMATORS)
def test_regression_estimators_are_found_by_their_own_names(name):
    assert type(make_estimator(name)) is REGRESSION_ESTIMATORS[name]


@pytest.mark.parametrize('make', [make_estimator, make_trajectory_estimator, settings_of])
def test_an_estimator_that_does_not_exist_is_answered_with_those_that_do(make):
    with pytest.raises(ConfigurationError, match='there is no such estimator.*allowed'):
        make('entropy')


def test_a_fit_by_regression_loads_nothing_compiled_for_trajectories():
    loaded = subprocess.run(
        [sys.executable, '-c', 'import sysid_ros.cli.fit, sys; print(*sys.modules)'],
        check=True, capture_output=True, text=True).stdout.split()
    assert 'sysid_ros.cli.fit' in loaded
    compiled = ('chain_kernels', 'bordered', 'discrete', 'shooting')
    assert not [name for name in loaded if name.rpartition('.')[2] in compiled]
