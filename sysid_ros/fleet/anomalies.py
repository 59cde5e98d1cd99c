r"""Robots unlike their fleet, and fleets that are two: with a rate of false alarms.

How far a body of a robot is from the mean is measured by :math:`T = u^T u` with u its coordinates'
posterior mean, whitened by what a robot of the fleet would show, :math:`\Lambda - V_i`, in the k
directions that its data determines. Of one of the n + 1 robots that :math:`\Lambda` was estimated
with, T is what it would be without it, :math:`T / (1 - T / n)`; then
:math:`T (n - k + 1) / (n k)` has the distribution F of Hotelling's test (1931). Terms of a joint,
whose variances are estimated one by one, have Student's t each, and their normal scores add up in
squares. The probability as a normal score is held against the median and the median deviation of
the fleet itself, so that covariances of fits that are too small raise no alarm. Clusters are found
by the best split in two along principal axes, whose part of the variance is held against that of
normal samples. Both rates are for the whole fleet (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
import scipy.stats

from sysid_ros.fleet.distribution import FleetDistribution, FleetPosterior

#: Rate of false alarms for a whole fleet, half for outliers and half for clusters.
FALSE_ALARMS = 0.01
#: Normal score from which on a robot does not count where others are judged.
CORE = 3.0
# Directions of a part count if a robot's data determines so much of its variance in them.
_KNOWN = 0.2
# The median absolute deviation as a standard deviation.
_NORMAL_MAD = 1.4826
# Scores beyond which probabilities are rounding.
_LARGEST = 30.0
# A cluster has so many robots at least, and this part of them.
_LEAST_CLUSTER, _LEAST_PART = 4, 0.1
# Part of the variance that a split takes at least: a uniform distribution has 0.75.
_LEAST_SPLIT = 0.8
# Normal samples, and numbers in them, that splits are held against.
_SAMPLES, _NUMBERS = 4000, 4_000_000


@dataclass(frozen=True, eq=False)
class PartScores:
    """How unlike its fleet each part of each robot is.

    Attributes:
        parts: Names of the g parts that data determines.
        scores: Normal scores, standard normal in a fleet without outliers, shape ``(N, g)``.
    """

    parts: tuple[str, ...]
    scores: np.ndarray

    @classmethod
    def of(
        cls, fleet: FleetDistribution, posterior: FleetPosterior, members: np.ndarray
    ) -> PartScores:
        """Scores of robots.

        Args:
            fleet: Distribution of the fleet.
            posterior: The robots, N of them, with this distribution as their prior.
            members: Which of them the distribution was estimated with, mask of shape ``(N,)``.
        """
        names, columns = [], []
        for name, indices in fleet.coordinates.parts.items():
            score = _body_score if name in fleet.coordinates.bodies else _joint_score
            column = np.array([
                score(*each, int(members.sum()) - 1, bool(member)) for each, member in zip(
                    _whitened(fleet, posterior, indices), members, strict=True)])
            if np.isfinite(column[members]).any():
                names.append(name)
                columns.append(column)
        scores = np.stack(columns, axis=1) if columns else np.zeros((len(members), 0))
        return cls(tuple(names), _calibrated(scores, members))

    def within(self, count: int, rate: float) -> np.ndarray:
        """Robots none of whose parts is further from the fleet than chance allows, ``(N,)``.

        Args:
            count: Number of robots in the fleet.
            rate: Rate of false alarms for the whole fleet.
        """
        tests = max(count * len(self.parts), 1)
        return np.asarray((self.scores <= scipy.stats.norm.isf(rate / tests)).all(axis=1))

    @property
    def core(self) -> np.ndarray:
        """Robots that count where others are judged, mask of shape ``(N,)``."""
        return np.asarray((self.scores <= CORE).all(axis=1))


def _body_score(
    away: np.ndarray, covariance: np.ndarray, n: int, member: bool
) -> float:
    """Normal score of the squared distance of a body; NaN where too few robots determine it."""
    known, directions = np.linalg.eigh(np.eye(len(away)) - covariance)
    chosen = known > _KNOWN
    k = int(chosen.sum())
    if not k or n <= k:
        return float('nan')
    square = float(np.sum((away @ directions[:, chosen]) ** 2 / known[chosen]))
    square = float(_without_itself(square, n)) if member else square
    # By logarithms, which do not end where probabilities do.
    chance = scipy.stats.f.logsf(square * (n - k + 1) / (n * k), k, n - k + 1)
    return _normal_score(chance)


def _joint_score(
    away: np.ndarray, covariance: np.ndarray, n: int, member: bool
) -> float:
    """Normal score of the terms of a joint, whose variances are estimated one by one."""
    known = 1.0 - np.diag(covariance)
    chosen = known > _KNOWN
    if not chosen.any() or n < 2:
        return float('nan')
    squares = away[chosen] ** 2 / known[chosen]
    squares = _without_itself(squares, n) if member else squares
    scores = scipy.special.ndtri_exp(scipy.stats.t.logsf(np.sqrt(squares), n))
    return _normal_score(scipy.stats.chi2.logsf(float(scores @ scores), len(scores)))


def _without_itself(square: Any, n: int) -> Any:
    """Squared distance of a robot by the scatter of the others, from that by all of them."""
    return square / np.maximum(1.0 - square / n, 1e-3)


def _normal_score(log_chance: float) -> float:
    return float(min(-scipy.special.ndtri_exp(log_chance), _LARGEST))


def _calibrated(scores: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Scores by the medians of the fleet, and its deviation from them where that is larger."""
    own = scores[members]
    if not own.size:
        return scores
    away = scores - np.nanmedian(own, axis=0)
    scale = _NORMAL_MAD * np.nanmedian(np.abs(away[members]))
    return np.nan_to_num(away / max(scale, 1.0), nan=0.0)


@dataclass(frozen=True, eq=False)
class Split:
    """Two clusters of robots.

    Attributes:
        part: Body or joint that they differ in most.
        second: Which robots are in the smaller one, mask of shape ``(N,)``.
        share: Part of the variance along the axis that is between the two.
    """

    part: str
    second: np.ndarray
    share: float


def find_split(
    fleet: FleetDistribution, posterior: FleetPosterior, rate: float
) -> Split | None:
    """The two clusters that a fleet consists of; None where chance may have made them.

    Args:
        fleet: Distribution of the fleet.
        posterior: Its robots, N of them.
        rate: Rate of false alarms for the whole fleet.
    """
    count = len(posterior.mean)
    least = max(_LEAST_CLUSTER, int(np.ceil(_LEAST_PART * count)))
    axes = _axes(fleet, posterior)
    if count < 2 * least or not axes:
        return None
    most = max(_LEAST_SPLIT, _share_by_chance(count, least, rate / len(axes)))
    best: Split | None = None
    for part, values in axes:
        order = np.argsort(values, kind='stable')
        shares = _shares(values[order][None], least)[0]
        k = int(shares.argmax())
        if shares[k] > (most if best is None else best.share):
            upper = np.zeros(count, dtype=bool)
            upper[order[least + k:]] = True
            best = Split(part, upper if 2 * upper.sum() <= count else ~upper, float(shares[k]))
    return best


def known_directions(
    fleet: FleetDistribution, posterior: FleetPosterior, indices: np.ndarray
) -> np.ndarray:
    """Directions of whitened coordinates that the data of the robots determines, ``(d, k)``.

    Args:
        fleet: Distribution of the fleet.
        posterior: Its robots.
        indices: The d coordinates.
    """
    inner = np.ix_(indices, indices)
    root = _inverse_root(fleet.covariance[inner])
    own = posterior.covariance.mean(axis=0)[inner]
    known, directions = np.linalg.eigh(np.eye(len(indices)) - root @ own @ root)
    return directions[:, known > _KNOWN]


def _axes(
    fleet: FleetDistribution, posterior: FleetPosterior
) -> list[tuple[str, np.ndarray]]:
    """Robots along the principal axes of each part that their data determines."""
    found = []
    for name, indices in fleet.coordinates.parts.items():
        root = _inverse_root(fleet.covariance[np.ix_(indices, indices)])
        values = (posterior.mean - fleet.mean)[:, indices] @ root
        values = values @ known_directions(fleet, posterior, indices)
        values = values - values.mean(axis=0)
        _, axes = np.linalg.eigh(values.T @ values)
        found += [(name, column) for column in (values @ axes).T]
    return found


def _shares(ordered: np.ndarray, least: int) -> np.ndarray:
    """Part of the variance between the first and the last of ordered values, for each split.

    Args:
        ordered: Samples of N values in order, shape ``(m, N)``.
        least: Fewest values on a side.
    """
    count = ordered.shape[1]
    away = ordered - ordered.mean(axis=1, keepdims=True)
    first = np.arange(least, count - least + 1)
    sums = np.cumsum(away, axis=1)[:, first - 1]
    between = sums**2 * count / (first * (count - first))
    return between / np.sum(away**2, axis=1, keepdims=True)


def _share_by_chance(count: int, least: int, rate: float) -> float:
    """Part of the variance that the best split of normal samples takes at a rate."""
    random = np.random.default_rng(0)
    samples = random.normal(size=(max(min(_SAMPLES, _NUMBERS // count), 200), count))
    best = _shares(np.sort(samples, axis=1), least).max(axis=1)
    logit = np.log(best / (1.0 - best))
    # The tail beyond the samples is that of a Student with few degrees of freedom: rather too long.
    quantile = scipy.stats.t.isf(rate, 20)
    return float(1.0 / (1.0 + np.exp(-logit.mean() - quantile * logit.std())))


def _whitened(
    fleet: FleetDistribution, posterior: FleetPosterior, indices: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Coordinates of a part of each robot and their covariance, both by those of the fleet."""
    inner = np.ix_(indices, indices)
    root = _inverse_root(fleet.covariance[inner])
    return [
        ((mean - fleet.mean)[indices] @ root, root @ covariance[inner] @ root)
        for mean, covariance in zip(posterior.mean, posterior.covariance, strict=True)]


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T
