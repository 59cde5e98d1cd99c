"""What robots of one type have in common: a prior for the next one, and who is unlike the others.

A fleet of which a part is built differently, as with another gear, is split into clusters, each
with a distribution of its own; robots that fit none are outliers, and go into no distribution. What
the others of its cluster say of each robot is held against what its own fit says: leave-one-out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.regression.consistent.fleet_coordinates import FleetCoordinates
from sysid_ros.fleet.anomalies import FALSE_ALARMS, PartScores, find_split, known_directions
from sysid_ros.fleet.distribution import (
    LEAST,
    FleetDistribution,
    FleetPosterior,
    estimate_distribution,
)
from sysid_ros.fleet.observations import FleetObservations

#: First entry of a prior as JSON.
FORMAT = 'sysid_ros fleet prior 1'
# Groups of robots that are left out in turn, where there are more robots than that.
_GROUPS = 20
# Rounds in which a distribution is estimated again without some of its robots.
_ROUNDS_WITHOUT = 10
# Rounds in which the robots are chosen by which others are judged, and the least part of them.
_ROUNDS, _LEAST_CORE = 10, 0.6


@dataclass(frozen=True, eq=False)
class FleetCluster:
    """Robots that share a distribution.

    Attributes:
        robots: Names of the robots.
        distribution: Their distribution.
        prior_strength: Weight of a log-det prior around their mean: the inverse of the largest
            variance of relative changes among bodies and kinds of terms, in what data determines.
        part: Body or joint by which they differ from their sister cluster; empty where there is
            none.
    """

    robots: tuple[str, ...]
    distribution: FleetDistribution
    prior_strength: float
    part: str = ''

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            'robots': list(self.robots), 'part': self.part,
            'prior_strength': self.prior_strength, 'distribution': self.distribution.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FleetCluster:
        """The inverse of :meth:`to_json`."""
        return cls(
            tuple(data['robots']), FleetDistribution.from_json(data['distribution']),
            float(data['prior_strength']), str(data['part']))


@dataclass(frozen=True)
class Outlier:
    """A robot that fits no cluster.

    Attributes:
        robot: Its name.
        part: Body or joint that is unlike those of the others.
        parameter: Base parameter in which that shows most, by the name of its first.
        value: What the robot's fits say of it.
        expected: What the others say.
        deviation: Standard deviation of that difference within the cluster.
    """

    robot: str
    part: str
    parameter: str
    value: float
    expected: float
    deviation: float


@dataclass(frozen=True)
class LeftOut:
    """A robot as the others of its cluster foretell it.

    Attributes:
        robot: Its name.
        error: Torque that the mean of the others leaves unexplained, relative to the torque, by
            the base parameters at random motion.
        prior_error: The same of the description.
        distance: Mean squared distance from the others by how sure both are: about 1.
    """

    robot: str
    error: float
    prior_error: float
    distance: float


@dataclass(frozen=True, eq=False)
class FleetPrior:
    """What a fleet has in common.

    Attributes:
        clusters: Distributions, the one of most robots first.
        outliers: Robots in none of them.
        left_out: What the others say of each robot of a cluster.
        false_alarms: Rate at which an outlier or a cluster is named in a fleet that has none.
    """

    clusters: tuple[FleetCluster, ...]
    outliers: tuple[Outlier, ...]
    left_out: tuple[LeftOut, ...]
    false_alarms: float

    def cluster_of(self, robot: str) -> FleetCluster | None:
        """The cluster of a robot; None of an outlier."""
        return next((each for each in self.clusters if robot in each.robots), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            'format': FORMAT, 'false_alarms': self.false_alarms,
            'clusters': [each.to_json() for each in self.clusters],
            'outliers': [asdict(each) for each in self.outliers],
            'left_out': [asdict(each) for each in self.left_out]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FleetPrior:
        """The inverse of :meth:`to_json`.

        Raises:
            EstimationError: It is no prior of a fleet.
        """
        try:
            if data['format'] != FORMAT:
                raise EstimationError(
                    'the prior has another format', found=data['format'], allowed=FORMAT,
                    fix='Make it anew with this version: sysid batch --prior')
            return cls(
                tuple(map(FleetCluster.from_json, data['clusters'])),
                tuple(Outlier(**each) for each in data['outliers']),
                tuple(LeftOut(**each) for each in data['left_out']),
                float(data['false_alarms']))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise EstimationError(
                f'cannot be read as the prior of a fleet: {error!r}',
                fix='Make it anew: sysid batch --prior') from error


def fleet_prior(
    observed: FleetObservations, coordinates: FleetCoordinates, torque_factor: np.ndarray,
    names: Sequence[str], *, false_alarms: float = FALSE_ALARMS,
) -> FleetPrior:
    """Estimate what robots of one type have in common, and name those that are unlike.

    Args:
        observed: What the fits know of N robots.
        coordinates: Coordinates of their parameters.
        torque_factor: R with torque ‖R β‖ of base parameters β at random motion, ``(r, r)``.
        names: Names of the base parameters, r of them.
        false_alarms: Rate for a fleet in which all robots are of one distribution.

    Raises:
        EstimationError: There are fewer than three robots.
    """
    clusters, lost = _clusters(observed, coordinates, 0.5 * false_alarms, '')
    clusters.sort(key=lambda each: -len(each.robots))
    clusters, lost = _joined(clusters, lost, observed, 0.5 * false_alarms)
    outliers = [
        _outlier(observed.only(np.array([observed.robots.index(name)])), clusters, names)
        for name in observed.robots if name in lost]
    left_out = [
        each for cluster in clusters for each in _left_out(cluster, observed, torque_factor)]
    order = {name: k for k, name in enumerate(observed.robots)}
    left_out.sort(key=lambda each: order[each.robot])
    return FleetPrior(tuple(clusters), tuple(outliers), tuple(left_out), false_alarms)


def _clusters(
    observed: FleetObservations, coordinates: FleetCoordinates, rate: float, part: str,
    start: FleetDistribution | None = None,
) -> tuple[list[FleetCluster], set[str]]:
    """Clusters of robots, split in two as often as chance does not explain; and outliers."""
    members, fleet, posterior = _without_outliers(observed, coordinates, rate, start)
    lost = {name for name, one in zip(observed.robots, members, strict=True) if not one}
    own = observed.only(members)
    split = find_split(fleet, posterior, rate)
    if split is None:
        return [FleetCluster(own.robots, fleet, _prior_strength(fleet, posterior), part)], lost
    clusters: list[FleetCluster] = []
    for chosen in (~split.second, split.second):
        inner, more = _clusters(own.only(chosen), coordinates, rate, split.part, fleet)
        clusters, lost = clusters + inner, lost | more
    return clusters, lost


def _prior_strength(fleet: FleetDistribution, posterior: FleetPosterior) -> float:
    """See :attr:`FleetCluster.prior_strength`."""
    variances = []
    for indices, _ in fleet.coordinates.blocks:
        directions = known_directions(fleet, posterior, indices)
        if fleet.coordinates.logarithmic[indices].all() and directions.size:
            block = fleet.predictive[np.ix_(indices, indices)]
            variances.append(float(np.mean(np.sum(directions * (block @ directions), axis=0))))
    return 1.0 / max(variances) if variances else 1.0


def _without_outliers(
    observed: FleetObservations, coordinates: FleetCoordinates, rate: float,
    start: FleetDistribution | None,
) -> tuple[np.ndarray, FleetDistribution, FleetPosterior]:
    """Members of a fleet, its distribution and its members; outliers are taken out in rounds."""
    core = np.ones(len(observed.robots), dtype=bool)
    fleet, posterior = estimate_distribution(observed, coordinates, start)
    scores = PartScores.of(fleet, posterior, core)
    for _ in range(_ROUNDS):
        if (scores.core == core).all() or scores.core.sum() < max(LEAST, _LEAST_CORE * len(core)):
            break
        core = scores.core
        fleet, _ = estimate_distribution(observed.only(core), coordinates, fleet)
        scores = PartScores.of(fleet, fleet.posterior(observed, members=True), core)
    members = scores.within(len(core), rate)
    if members.sum() < LEAST or (members == core).all():
        return core, fleet, fleet.posterior(observed.only(core), members=True)
    fleet, posterior = estimate_distribution(observed.only(members), coordinates, fleet)
    return members, fleet, posterior


def _joined(
    clusters: list[FleetCluster], lost: set[str], observed: FleetObservations, rate: float
) -> tuple[list[FleetCluster], set[str]]:
    """Outliers of one cluster that are like robots of another belong to it."""
    if len(clusters) < 2:
        return clusters, lost
    joined = []
    for cluster in clusters:
        names = [*cluster.robots, *sorted(lost)]
        own = observed.only(np.array([observed.robots.index(name) for name in names]))
        members = np.arange(len(names)) < len(cluster.robots)
        scores = PartScores.of(
            cluster.distribution, cluster.distribution.posterior(own, members=True), members)
        alike = scores.within(len(cluster.robots), rate)
        found = {name for name, one in zip(names, alike, strict=True) if one and name in lost}
        lost = lost - found
        joined.append(replace(cluster, robots=tuple(
            name for name in observed.robots if name in {*cluster.robots, *found})))
    return joined, lost


def _outlier(
    observed: FleetObservations, clusters: Sequence[FleetCluster], names: Sequence[str]
) -> Outlier:
    """What is unlike in a robot, beside the cluster that it is nearest to."""
    away = [_difference(observed, cluster.distribution) for cluster in clusters]
    nearest = min(range(len(clusters)), key=lambda k: float(np.max(away[k][2])))
    fleet = clusters[nearest].distribution
    difference, deviation, ratio = away[nearest]
    k = int(ratio.argmax())
    part = _unlike_part(observed, fleet)
    value = float(observed.values[0, k])
    return Outlier(
        observed.robots[0], part, names[k], value, value - float(difference[k]),
        float(deviation[k]))


def _unlike_part(observed: FleetObservations, fleet: FleetDistribution) -> str:
    """The part of one robot whose coordinates are furthest from the fleet's by its spread."""
    posterior = fleet.posterior(observed)
    away = posterior.mean[0] - fleet.mean
    known = fleet.predictive - posterior.covariance[0]
    ratios = {
        part: np.max(np.abs(away[indices]) / np.sqrt(np.diag(fleet.predictive)[indices]))
        for part, indices in fleet.coordinates.parts.items()
        if np.diag(known)[indices].max() > 0.0}
    return max(ratios, key=lambda part: float(ratios[part]))


def _difference(
    observed: FleetObservations, fleet: FleetDistribution
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Base parameters of one robot less the fleet's, their deviation, and the ratio, ``(r,)``."""
    covariance = _predicted_covariance(observed, fleet)[0]
    told = np.diag(observed.information[0]) > 0.0
    difference = np.where(told, observed.values[0] - observed.grouping @ fleet.theta, 0.0)
    deviation = np.sqrt(np.diag(covariance))
    return difference, deviation, np.abs(difference) / deviation


def _predicted_covariance(
    observed: FleetObservations, fleet: FleetDistribution
) -> np.ndarray:
    """Covariance of what fits find of a robot of the fleet, shape ``(N, r, r)``."""
    _, slope = fleet.coordinates.parameters(fleet.mean[None])
    slope = observed.grouping @ slope[0]
    own = np.linalg.pinv(observed.information, hermitian=True)
    return own + slope @ fleet.predictive @ slope.T


def _left_out(
    cluster: FleetCluster, observed: FleetObservations, torque_factor: np.ndarray
) -> list[LeftOut]:
    """Robots of a cluster as the others foretell them, one by one or in twenty groups."""
    own = observed.only(np.array([observed.robots.index(name) for name in cluster.robots]))
    count = len(own.robots)
    if count <= LEAST:
        return []
    groups = np.arange(count) % min(count, _GROUPS)
    prior = own.grouping @ cluster.distribution.coordinates.reference.prior
    found = []
    for group in range(groups.max() + 1):
        out = groups == group
        fleet, _ = estimate_distribution(
            own.only(~out), cluster.distribution.coordinates, cluster.distribution,
            _ROUNDS_WITHOUT)
        left = own.only(out)
        away = left.values - left.grouping @ fleet.theta
        torque = np.linalg.norm(left.values @ torque_factor.T, axis=1)
        errors = np.linalg.norm(away @ torque_factor.T, axis=1) / torque
        priors = np.linalg.norm((left.values - prior) @ torque_factor.T, axis=1) / torque
        distances = _mean_squared(left, fleet, away)
        found += [
            LeftOut(name, *map(float, figures)) for name, *figures in zip(
                left.robots, errors, priors, distances, strict=True)]
    return found


def _mean_squared(
    left: FleetObservations, fleet: FleetDistribution, away: np.ndarray
) -> np.ndarray:
    """Squared distances by the covariances, per base parameter, shape ``(N,)``."""
    covariance = _predicted_covariance(left, fleet)
    solved = np.linalg.solve(covariance, away[:, :, None])[:, :, 0]
    return np.einsum('nr,nr->n', away, solved) / away.shape[1]
