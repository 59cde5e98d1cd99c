"""What the fits of a fleet know of each robot: base parameters and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate

# Makes 95 % intervals of standard deviations.
_NORMAL = 1.96
# Least runs of a robot by whose disagreement its information is scaled.
_REPEATED = 2


@dataclass(frozen=True, eq=False)
class FleetObservations:
    r"""Base parameters :math:`\beta = K\theta` of N robots, as information.

    Attributes:
        robots: Names of the robots, N of them.
        grouping: K, shape ``(r, p)``.
        information: Inverse covariances :math:`\Sigma_i^{-1}`, zero in what a robot's data does
            not tell, shape ``(N, r, r)``.
        weighted: :math:`\Sigma_i^{-1} \hat\beta_i`, shape ``(N, r)``.
        values: :math:`\hat\beta_i`, zero where the data does not tell, shape ``(N, r)``.
    """

    robots: tuple[str, ...]
    grouping: np.ndarray
    information: np.ndarray
    weighted: np.ndarray
    values: np.ndarray

    @classmethod
    def of(
        cls, estimates: Mapping[str, Sequence[Estimate]], grouping: np.ndarray
    ) -> FleetObservations:
        """Combine the estimates of each robot.

        Runs of one robot that disagree by more than their covariances say have these scaled until
        they do not (Birge 1932).

        Args:
            estimates: Estimates by robot, all of the same base parameters.
            grouping: K, shape ``(r, p)``.

        Raises:
            EstimationError: There is no estimate.
        """
        if not estimates:
            raise EstimationError('there is no estimate', fix='Fit robots first: sysid batch')
        found = [_combined(each) for each in estimates.values()]
        information, weighted, values = (np.array(part) for part in zip(*found, strict=True))
        return cls(tuple(estimates), grouping, information, weighted, values)

    def only(self, chosen: np.ndarray) -> FleetObservations:
        """Those of some robots.

        Args:
            chosen: Mask or indices of them.
        """
        indices = np.arange(len(self.robots))[chosen]
        return FleetObservations(
            tuple(self.robots[k] for k in indices), self.grouping, self.information[indices],
            self.weighted[indices], self.values[indices])


def _combined(estimates: Iterable[Estimate]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Information, information times values, and values of one robot."""
    parts = [(_information(each), each.base_values) for each in estimates]
    information = np.sum([own for own, _ in parts], axis=0)
    weighted = np.sum([own @ beta for own, beta in parts], axis=0)
    values = np.linalg.pinv(information, hermitian=True) @ weighted
    if len(parts) >= _REPEATED:
        ranks = sum(np.linalg.matrix_rank(own, hermitian=True) for own, _ in parts)
        freedom = ranks - np.linalg.matrix_rank(information, hermitian=True)
        square = sum((beta - values) @ own @ (beta - values) for own, beta in parts)
        scale = max(square / freedom, 1.0) if freedom > 0 else 1.0
        information, weighted = information / scale, weighted / scale
    return information, weighted, values


def _information(estimate: Estimate) -> np.ndarray:
    """Inverse covariance of what the data tells, zero elsewhere, shape ``(r, r)``."""
    covariance = estimate.base_covariance
    variance = np.diag(covariance)
    known = np.isfinite(variance) & (variance > 0.0)
    information = np.zeros_like(covariance)
    inner = np.ix_(known, known)
    scale = _deviations(estimate)[known]
    correlation = covariance[inner] / np.sqrt(np.outer(variance[known], variance[known]))
    information[inner] = np.linalg.pinv(correlation, hermitian=True) / np.outer(scale, scale)
    return information


def _deviations(estimate: Estimate) -> np.ndarray:
    """Standard deviations of the base parameters, by the larger of noise and disagreement."""
    noise, between = estimate.base_standard_deviation(), estimate.between
    if between is None:
        return noise
    other = between.quantile / _NORMAL * between.base_standard_deviation
    return np.where(np.isfinite(other), np.maximum(noise, other), noise)
