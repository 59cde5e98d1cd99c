"""Fits with the distribution of a fleet as their prior, of robots whose truth is known."""

import dataclasses

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from support.simulated_fleet import OFFSET, SPREAD, simulated_fleet, true_distribution
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Knowledge, Status
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.fleet_prior import (
    FleetLeastSquares,
    FleetPriorSettings,
)
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.recording.processing.signals import ParallelFilter

#: Small and slow motion of 5 s, which tells a part of the parameters.
_SLOW, _SECONDS, _ROBOTS = 0.2, 5.0, 4


@pytest.fixture(scope='module')
def fleet():
    return simulated_fleet(1, _ROBOTS)


@pytest.fixture(scope='module')
def distribution(fleet):
    centre = np.random.default_rng(5).normal(scale=0.2, size=fleet.coordinates.count)
    return true_distribution(fleet, centre)


@pytest.fixture(scope='module')
def section(distribution):
    return distribution.as_prior(50)


def problem_of(arm, mean=None):
    """Rows of 5 s, with a description or the mean of a fleet as their prior."""
    parameters = arm.model.parameters
    if mean is not None:
        parameters = dataclasses.replace(parameters, values=mean, prior=mean)
    return RegressionProblem.from_dataset(
        arm.model, arm.dataset(_SECONDS, 100.0, 0.02), parameters=parameters,
        parallel_filter=ParallelFilter(cutoff=10.0, decimate_to=25.0))


def slow_arms(fleet):
    return [SimulatedArm(70 + k).moved_by(fleet.theta[k], _SLOW) for k in range(_ROBOTS)]


def unseen_error(estimate, arm):
    """Torque error relative to the true torque, without noise, at another and faster motion."""
    t = np.arange(0.0, 20.0, 0.02)
    regressor = arm.model.regressor(*SimulatedArm(arm.seed + 1000).motion(t))
    torque = regressor @ arm.truth
    return np.linalg.norm(regressor @ estimate.parameters.values - torque) / np.linalg.norm(torque)


def test_five_seconds_of_slow_motion_tell_more_of_a_robot_of_a_known_fleet(
    fleet, distribution, section
):
    ratios = []
    for arm in slow_arms(fleet):
        described = EntropicLeastSquares().fit(problem_of(arm))
        known = FleetLeastSquares(fleet=section).fit(problem_of(arm, distribution.theta))
        assert known.status is Status.CONVERGED
        assert known.consistent
        ratios.append(unseen_error(known, arm) / unseen_error(described, arm))
    # The bar for a new robot of a fleet.
    assert np.median(ratios) <= 0.6


def test_intervals_hold_the_truth(fleet, distribution, section):
    inside = []
    for arm in slow_arms(fleet):
        problem = problem_of(arm, distribution.theta)
        estimate = FleetLeastSquares(fleet=section).fit(problem)
        away = estimate.base_values - problem.base.values(arm.truth)
        inside.append(np.abs(away) < 1.96 * estimate.base_standard_deviation())
    # 4 robots of 34 parameters that hang together.
    assert np.mean(inside) > 0.88


def test_what_the_motion_does_not_tell_stays_at_the_mean_of_the_fleet(
    fleet, distribution, section
):
    arm = SimulatedArm(3).moved_by(fleet.theta[0], still=(2,))
    estimate = FleetLeastSquares(fleet=section).fit(problem_of(arm, distribution.theta))
    for name in ('elbow_pitch.viscous_friction', 'elbow_pitch.coulomb_friction'):
        k = estimate.parameters.index(name)
        assert estimate.knowledge[k] is Knowledge.PRIOR
        assert estimate.parameters.values[k] == pytest.approx(distribution.theta[k], rel=1e-6)


def test_a_stronger_prior_stays_nearer_to_the_mean(distribution, section):
    arm = SimulatedArm(3)
    problem = problem_of(arm, distribution.theta)
    away = [
        np.linalg.norm(FleetLeastSquares(prior_strength=strength, fleet=section).fit(
            problem).parameters.values - distribution.theta) for strength in (1.0, 1e3, 1e9)]
    assert away[0] > away[1] > away[2]
    assert away[2] < 1e-2 * away[0]


def test_the_section_is_the_covariance_around_the_mean(distribution, section):
    spread = np.sqrt(np.diag(section.matrix))
    count = 10 * len(section.bodies)
    # Logarithms and steps are the same around any mean; matrix logarithms nearly.
    np.testing.assert_allclose(spread[count:-4], SPREAD, rtol=1e-6)
    np.testing.assert_allclose(spread[-4:], 1.0, rtol=1e-6)
    assert set(section.steps.values()) == {OFFSET}
    np.testing.assert_allclose(np.median(spread[:count]), SPREAD, rtol=0.15)


def test_settings_with_a_fleet_make_its_estimator(section):
    settings = FitSettings(fleet=section)
    assert isinstance(settings.build().estimator, FleetLeastSquares)
    assert settings.build().estimator.prior_strength == 1.0
    # What a command names in place of it takes what it has.
    assert settings.build('lmi').estimator.name == 'lmi'
    with pytest.raises(ConfigurationError, match='lmi has no such setting'):
        FitSettings(estimator='lmi', fleet=section).require_estimator('lmi')


def test_a_fleet_of_other_robots_is_refused_by_the_name_that_is_not_known(section, distribution):
    other = section.model_copy(update={'bodies': ('hand', *section.bodies[1:])})
    with pytest.raises(ConfigurationError, match='hand'):
        FleetLeastSquares(fleet=other).fit(problem_of(SimulatedArm(3), distribution.theta))


def test_a_body_that_is_fixed_in_part_is_refused(section, distribution):
    problem = problem_of(SimulatedArm(3), distribution.theta)
    body = section.bodies[1]
    held = dataclasses.replace(problem, parameters=problem.parameters.fixed(f'{body}.mass'))
    with pytest.raises(ConfigurationError, match=f'some parameters of {body}'):
        FleetLeastSquares(fleet=section).fit(held)


def test_what_is_fixed_leaves_the_prior_of_the_rest(section, distribution):
    problem = problem_of(SimulatedArm(3), distribution.theta)
    held = dataclasses.replace(problem, parameters=problem.parameters.fixed(
        f'{section.bodies[0]}.*', '*.torque_offset'))
    estimate = FleetLeastSquares(fleet=section).fit(held)
    assert estimate.status is Status.CONVERGED
    k = estimate.parameters.index('base_yaw.torque_offset')
    assert estimate.parameters.values[k] == distribution.theta[k]


@pytest.mark.parametrize(('change', 'reason', 'advice'), [
    ({'covariance': ((1.0,), (0.5,))}, 'no lower triangle', 'sysid batch --prior.'),
    ({'covariance': ((1.0,), (2.0, 1.0))}, 'no covariance', 'sysid batch --prior.'),
    ({'terms': {'a.viscous_friction': 0.0, 'b.viscous_friction': 1.0}}, 'positive mean',
     'steps: {a.viscous_friction: 0.1}.'),
    ({'steps': {'c.torque_offset': 1.0}}, 'a step a mean', 'with its mean.'),
])
def test_a_section_that_is_no_distribution_is_refused(change, reason, advice):
    good = {
        'robots': 3, 'terms': {'a.viscous_friction': 1.0, 'b.viscous_friction': 2.0},
        'covariance': ((1.0,), (0.5, 1.0))}
    assert FleetPriorSettings(**good).matrix[0, 1] == 0.5
    with pytest.raises(ConfigurationError, match=reason) as refused:
        FleetPriorSettings(**good | change)
    assert str(refused.value).endswith(advice)
