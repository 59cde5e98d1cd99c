"""Clusters and outliers of simulated fleets, by name; and what the others say of each robot."""

import numpy as np
import pytest

from support.simulated_fleet import simulated_fleet
from sysid_ros.errors import EstimationError
from sysid_ros.fleet.prior import FleetPrior, fleet_prior
from sysid_ros.mechanics.base_parameters import base_parameters

#: Another gear in the elbow of the last fourteen of forty: dry and viscous friction twice.
_GEARED = tuple(f'arm_{k}' for k in range(26, 40))


def prior_of(fleet):
    base = base_parameters(fleet.model)
    names = [base.names[k] for k in base.independent]
    return fleet_prior(fleet.observed, fleet.coordinates, base.factor, names)


def change_some(truth, coordinates):
    parts = coordinates.parts
    truth[26:, parts['joint elbow_pitch'][:2]] += np.log(2.3)
    # Friction three times and a third of what is usual: eight standard deviations.
    truth[3, parts['joint base_yaw'][:2]] += 1.2
    truth[35, parts['joint wrist_roll'][:2]] -= 1.2


@pytest.fixture(scope='module')
def mixed():
    return prior_of(simulated_fleet(1, 40, change=change_some))


@pytest.mark.slow
@pytest.mark.parametrize(('seed', 'count'), [(0, 6), (1, 6), (2, 6), (3, 25)])
def test_a_fleet_of_one_kind_has_no_outliers_and_no_clusters(seed, count):
    prior = prior_of(simulated_fleet(seed, count))
    assert [one.robot for one in prior.outliers] == []
    assert len(prior.clusters) == 1
    assert len(prior.left_out) == count


@pytest.mark.parametrize('seed', range(12))
def test_three_robots_are_a_fleet(seed):
    prior = prior_of(simulated_fleet(seed, 3))
    assert len(prior.clusters) == 1 and not prior.left_out


@pytest.mark.slow
def test_clusters_are_named_by_their_robots_and_the_part_they_differ_in(mixed):
    first, second = mixed.clusters
    assert set(second.robots) == set(_GEARED) - {'arm_35'}
    assert first.part == second.part == 'joint elbow_pitch'
    assert mixed.cluster_of('arm_30') is second


@pytest.mark.slow
def test_outliers_are_named_with_their_part_and_go_into_no_cluster(mixed):
    assert {one.robot: one.part for one in mixed.outliers} == {
        'arm_3': 'joint base_yaw', 'arm_35': 'joint wrist_roll'}
    assert mixed.cluster_of('arm_3') is None
    outlier = mixed.outliers[0]
    assert outlier.parameter in ('base_yaw.coulomb_friction', 'base_yaw.viscous_friction')
    assert outlier.value > outlier.expected + 4.0 * outlier.deviation


def test_the_others_foretell_a_robot_that_is_left_out_better_than_its_description(mixed):
    assert all(one.error < 0.6 * one.prior_error for one in mixed.left_out)
    # About 1 where spread and covariances are right.
    assert np.median([one.distance for one in mixed.left_out]) == pytest.approx(1.0, abs=0.35)


@pytest.mark.slow
def test_an_outlier_moves_the_prior_of_the_others_by_nothing():
    def change(truth, coordinates):
        truth[5, coordinates.parts['joint base_yaw'][:2]] += 2.0

    with_outlier = prior_of(simulated_fleet(2, 20, change=change))
    assert [one.robot for one in with_outlier.outliers] == ['arm_5']
    clean = simulated_fleet(2, 20)
    others = np.array([name != 'arm_5' for name in clean.observed.robots])
    base = base_parameters(clean.model)
    without = fleet_prior(
        clean.observed.only(others), clean.coordinates, base.factor,
        [base.names[k] for k in base.independent])
    before, after = (one.clusters[0].distribution for one in (without, with_outlier))
    slope = base.matrix @ before.coordinates.parameters(before.mean[None])[1][0]
    deviation = np.sqrt(np.diag(slope @ before.predictive @ slope.T))
    # Two ways to the same optimum, each to its accuracy.
    assert (np.abs(base.matrix @ (after.theta - before.theta)) < 0.2 * deviation).all()


def test_it_comes_back_from_json(mixed):
    again = FleetPrior.from_json(mixed.to_json())
    assert again.outliers == mixed.outliers
    assert again.left_out == mixed.left_out
    assert [each.robots for each in again.clusters] == [each.robots for each in mixed.clusters]


@pytest.mark.parametrize('data', [{}, {'format': 'another'}, [], {'format': None, 'clusters': 3}])
def test_what_is_no_prior_is_refused(data):
    with pytest.raises(EstimationError, match='prior'):
        FleetPrior.from_json(data)
