"""The estimator by discrete multibody dynamics: a Furuta pendulum whose truth is not discrete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import furuta_problems as furuta
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator


@pytest.fixture(scope='module')
def release():
    return furuta.problem_of(furuta.motion('release', 4.0), 0.005, furuta.FOUR)


def test_four_parameters_are_found_from_encoders_alone(release):
    found = MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=1e6).solve(release)
    assert found.status.ok and len(found.iterations) <= 8
    # A step of 5 ms: the bias of the inertias is far below a percent by now.
    for name, within in zip(furuta.FOUR, (0.02, 0.005, 0.1, 0.1), strict=True):
        assert abs(furuta.error(release, found.values, name)) < within


def test_however_stiff_joints_are_parameters_are_the_same(release):
    found = [
        MaximalCoordinatesEstimator(
            prior_strength=None, compliance=compliance, angular_compliance=compliance,
            tolerance=1e-9, state_error_weight=1e4,
        ).solve(release)
        for compliance in (1e-7, 1e-10)]
    assert all(solution.status.ok for solution in found)
    soft, stiff = (solution.values[release.free] for solution in found)
    # Those of the compliances themselves differ by what 1e-7 m/N gives way.
    assert soft[:2] == pytest.approx(stiff[:2], rel=1e-4)


@pytest.mark.slow
def test_what_a_swing_up_does_not_tell_is_said():
    recorded = furuta.motion('swing_up', 6.0, True)
    problem = furuta.problem_of(recorded, 0.01, furuta.THIRTEEN, friction='bearings')
    method = MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=100.0)
    estimate = method.fit(problem)
    # Moments of inertia begin three times too large.
    assert estimate.status.ok and estimate.iterations <= 10
    silent = {
        name for name in furuta.THIRTEEN
        if np.isinf(estimate.standard_deviation[problem.parameters.index(name)])}
    assert silent == {'arm.inertia_xx', 'arm.inertia_yy', 'gravity.tilt_z'}
    assert 'gravity.tilt_z' in estimate.notes[0]
    # The stand leans by 10 and 20 mrad; y of the truth is up, z here.
    for name, lean in (('gravity.tilt_x', 0.01), ('gravity.tilt_y', -0.02)):
        assert estimate.parameters[name] == pytest.approx(lean, abs=2e-3)


def test_parameters_beside_those_of_the_model_are_for_those_who_know_them():
    problem = furuta.problem_of(furuta.motion('release', 4.0), 0.01, furuta.FOUR)
    with pytest.raises(EstimationError, match='does not know.*gravity.tilt_x.*discrete'):
        CollocationEstimator().fit(problem)


@pytest.mark.parametrize(('setting', 'match'), [
    ({'state_error_weight': 0.0}, 'not above zero'), ({'compliance': -1e-8}, 'not above zero'),
    ({'damping': -0.1}, 'damping time is negative'), ({'residual': 'exact'}, 'no such choice'),
    ({'gyroscopic': 'mean'}, 'no such choice'), ({'lever': 0.0}, 'not above zero'),
])
def test_settings_out_of_range_are_refused(setting, match):
    with pytest.raises(ConfigurationError, match=match):
        MaximalCoordinatesEstimator(**setting)


def test_a_body_that_cannot_be_stepped_is_named(release):
    values = release.parameters.values.copy()
    values[release.parameters.index('rod.inertia_xx')] = -1.0
    bounds = np.full(len(values), -np.inf)
    wrong = replace(release, parameters=replace(
        release.parameters, values=values, lower=bounds))
    with pytest.raises(EstimationError, match='no step can be made'):
        MaximalCoordinatesEstimator().fit(wrong)
