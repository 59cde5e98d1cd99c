"""Estimators by name: what they are called, and what is loaded for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import (
    ALIASES,
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    make_estimator,
    make_trajectory_estimator,
    settings_of,
    shown_name,
)
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.identification import IdentificationSettings
from sysid_ros.settings import parse_settings


@pytest.mark.parametrize('name', TRAJECTORY_ESTIMATORS)
def test_estimators_of_states_and_parameters_are_found_by_their_own_names(name):
    assert make_trajectory_estimator(name).name == name
    assert 'prior_strength' in settings_of(name)


@pytest.mark.parametrize('name', REGRESSION_ESTIMATORS)
def test_regression_estimators_are_found_by_their_own_names(name):
    assert type(make_estimator(name)) is REGRESSION_ESTIMATORS[name]


@pytest.mark.parametrize(('alias', 'name'), ALIASES.items())
def test_a_name_of_the_field_is_another_name_of_an_estimator(alias, name):
    make = make_estimator if name in REGRESSION_ESTIMATORS else make_trajectory_estimator
    assert make(alias) == make(name)
    assert settings_of(alias) == settings_of(name)
    assert shown_name(name) == f'{name} ({alias})'


def test_settings_take_an_alias_for_an_estimator_and_its_section():
    own, alias = (FitSettings.model_validate({
        'estimator': name, name: {'prior_strength': 0.5}}) for name in ('entropic', 'log_det'))
    assert own == alias and alias.estimator == 'entropic'
    alias.require_estimator('log_det')
    assert alias.build('log_det').estimator == make_estimator('entropic', prior_strength=0.5)
    discrete = FitSettings.model_validate({'maximal_coordinates': {'lever': 0.1}})
    assert discrete.build_trajectory('maximal_coordinates') == make_trajectory_estimator(
        'discrete', lever=0.1)


@pytest.mark.parametrize(('fit', 'words'), [
    ({'log_det': {}, 'entropic': {}}, 'fit.log_det: two sections are of one estimator'),
    ({'log_det': {'prior_strength': -1.0}}, 'fit.entropic.prior_strength: the value cannot be'),
    ({'log_det': {'prior_strenth': 1.0}}, "Did you mean 'prior_strength'"),
    ({'log_dett': {}}, 'log_dett'),
])
def test_a_wrong_section_is_refused_by_whatever_name(fit, words):
    with pytest.raises(ConfigurationError, match=words):
        parse_settings(IdentificationSettings, {
            'recording': {'format': 'rosbag', 'file': 'bag'}, 'fit': fit}, 'settings.yaml')


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
