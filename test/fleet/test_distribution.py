"""The distribution of a simulated fleet whose truth is known, and what it says of a new robot."""

import dataclasses

import numpy as np
import pytest

from support.simulated_fleet import (
    SPREAD,
    arm_model,
    coordinates_of,
    simulated_fleet,
    true_distribution,
)
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.fleet.distribution import FleetDistribution, estimate_distribution
from sysid_ros.fleet.observations import FleetObservations

_ROBOTS = 40


@pytest.fixture(scope='module')
def fleet():
    return simulated_fleet(3, _ROBOTS)


@pytest.fixture(scope='module')
def distribution(fleet):
    return estimate_distribution(fleet.observed, fleet.coordinates)[0]


@pytest.fixture(scope='module')
def new_robots():
    """Robots of the same fleet, of which few rows were recorded."""
    return simulated_fleet(4, 60, rows=20)


def test_mean_and_spread_are_those_of_the_robots(fleet, distribution):
    grouping = fleet.observed.grouping
    mean = (fleet.theta @ grouping.T).mean(axis=0)
    slope = grouping @ distribution.coordinates.parameters(distribution.mean[None])[1][0]
    deviation = np.sqrt(np.diag(slope @ distribution.mean_covariance @ slope.T))
    away = (grouping @ distribution.theta - mean) / deviation
    assert np.sqrt(np.mean(away**2)) < 1.5
    spread = distribution.spread[fleet.coordinates.logarithmic]
    assert np.median(spread) == pytest.approx(SPREAD, rel=0.2)


def covered(distribution, robots):
    """Share of base parameters within their 95 % intervals by a distribution."""
    observed = robots.observed
    posterior = distribution.posterior(observed)
    theta, slope = distribution.coordinates.parameters(posterior.mean)
    slope = observed.grouping @ slope
    deviation = np.sqrt(np.diagonal(
        slope @ posterior.covariance @ np.swapaxes(slope, 1, 2), axis1=1, axis2=2))
    error = (theta - robots.theta) @ observed.grouping.T
    return np.mean(np.abs(error) < 1.96 * deviation)


def test_intervals_of_new_robots_cover_the_truth_as_often_as_they_say(
    fleet, distribution, new_robots
):
    # 60 robots of 34 parameters: chance alone moves the share by 1 %.
    assert 0.92 < covered(distribution, new_robots) < 0.98
    centre = np.random.default_rng(5).normal(scale=0.2, size=fleet.coordinates.count)
    assert 0.93 < covered(true_distribution(fleet, centre), new_robots) < 0.97


def test_a_new_robot_is_known_better_with_its_fleet_than_alone(distribution, new_robots):
    observed = new_robots.observed
    theta = distribution.coordinates.parameters(distribution.posterior(observed).mean)[0]
    truth = new_robots.theta @ observed.grouping.T
    scale = np.abs(truth).mean(axis=0)
    with_fleet = np.abs(theta @ observed.grouping.T - truth) / scale
    alone = np.abs(observed.values - truth) / scale
    assert np.sqrt(np.mean(with_fleet**2)) < 0.6 * np.sqrt(np.mean(alone**2))


def test_what_no_recording_determines_stays_as_wide_as_the_fleet(fleet, distribution):
    observed = fleet.observed
    blind = dataclasses.replace(
        observed, information=0.0 * observed.information, weighted=0.0 * observed.weighted)
    posterior = distribution.posterior(blind)
    np.testing.assert_allclose(posterior.mean, np.tile(distribution.mean, (_ROBOTS, 1)), atol=1e-9)
    np.testing.assert_allclose(posterior.covariance[0], distribution.predictive, atol=1e-9)


def test_it_comes_back_from_json(distribution):
    again = FleetDistribution.from_json(distribution.to_json())
    np.testing.assert_array_equal(again.theta, distribution.theta)
    np.testing.assert_array_equal(again.predictive, distribution.predictive)


def test_two_robots_are_no_fleet(fleet):
    with pytest.raises(EstimationError, match='too few robots'):
        estimate_distribution(fleet.observed.only(np.arange(2)), fleet.coordinates)


@pytest.fixture
def estimate(fits):
    return Estimate.load(fits.folder / 'estimate.json')


def test_runs_of_a_robot_that_agree_are_as_sure_as_their_number(estimate):
    grouping = np.eye(len(estimate.base_values))
    once = FleetObservations.of({'arm': [estimate]}, grouping)
    twice = FleetObservations.of({'arm': [estimate, estimate]}, grouping)
    np.testing.assert_allclose(twice.values, once.values, rtol=1e-6)
    np.testing.assert_allclose(twice.information, 2.0 * once.information, rtol=1e-6)


def test_runs_of_a_robot_that_disagree_are_less_sure(estimate):
    grouping = np.eye(len(estimate.base_values))
    away = 8.0 * np.sqrt(np.diag(estimate.base_covariance))
    other = dataclasses.replace(estimate, base_values=estimate.base_values + away)
    twice = FleetObservations.of({'arm': [estimate, other]}, grouping)
    once = FleetObservations.of({'arm': [estimate]}, grouping)
    assert np.trace(twice.information[0]) < 0.2 * np.trace(once.information[0])


def test_what_a_fit_does_not_determine_is_no_information(estimate):
    covariance = estimate.base_covariance.copy()
    covariance[2] = covariance[:, 2] = np.inf
    blind = dataclasses.replace(estimate, base_covariance=covariance)
    observed = FleetObservations.of({'arm': [blind]}, np.eye(len(covariance)))
    assert not observed.information[0, 2].any()
    assert np.isfinite(observed.information).all()


def test_no_estimates_are_no_fleet():
    with pytest.raises(EstimationError, match='no estimate'):
        FleetObservations.of({}, coordinates_of(arm_model()).reference.values[None])
