r"""Runs beside each other: do their parameters agree within their intervals, and do they drift?

Values of one parameter with standard deviations :math:`\sigma_i` are tested for homogeneity by
Cochran's :math:`Q = \sum_i (\theta_i - \bar\theta)^2 / \sigma_i^2`, which is :math:`\chi^2` with
one degree of freedom less than there are runs where they agree; a drift is the slope of a weighted
straight line over the times of the runs, or over their order where these are not known. Both are
held against 5 % over all parameters together (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate

_LEVEL = 0.05
# Two runs make a difference, three a drift.
_DRIFT_RUNS = 3


@dataclass(frozen=True, eq=False)
class ComparedParameter:
    """One parameter in several runs.

    Attributes:
        name: Name of the parameter.
        unit: Its unit.
        values: In each run, shape ``(k,)``.
        deviations: Standard deviations, shape ``(k,)``: by how much recordings disagree where
            a run has several, otherwise by the noise of its rows.
        agreement: Probability of values that are as far apart by chance.
        differs: Whether they are further apart than chance allows.
        drift: Change from run to run or, where times are known, in a week; NaN for fewer than
            three runs or times.
        drifts: Whether that is more than chance allows.
    """

    name: str
    unit: str
    values: np.ndarray
    deviations: np.ndarray
    agreement: float
    differs: bool
    drift: float
    drifts: bool


def compare_parameters(
    estimates: Sequence[Estimate], weeks: Sequence[float] | None = None
) -> tuple[ComparedParameter, ...]:
    """Test parameters that the data of every run told, in the order of the first.

    Args:
        estimates: Two or more; without times in the order in which they were recorded.
        weeks: When they were recorded in [weeks]; None where that is not known of all.

    Raises:
        ConfigurationError: There are fewer than two, or no parameter has an interval in all.
    """
    if len(estimates) < 2:
        raise ConfigurationError(
            'there is nothing to compare', found=f'{len(estimates)} run', allowed='two or more',
            fix='Name two runs: sysid compare runs/first runs/second')
    names = [name for name in estimates[0].parameters.names if all(
        _is_told(estimate, name) for estimate in estimates)]
    if not names:
        raise ConfigurationError(
            'no parameter has an interval in every run',
            fix='Compare runs of the same robot whose fits converged')
    values = np.array([[estimate.parameters[name] for estimate in estimates] for name in names])
    sigma = np.array([
        [interval_deviation(estimate, name) for estimate in estimates] for name in names])
    agreement = np.array([_homogeneity(*pair) for pair in zip(values, sigma, strict=True)])
    times = np.arange(float(len(estimates))) if weeks is None else np.asarray(weeks, dtype=float)
    slopes = [_slope(*pair, times) for pair in zip(values, sigma, strict=True)]
    differs, drifts = _holm(agreement), _holm(np.array([chance for _, chance in slopes]))
    units = estimates[0].parameters.units
    return tuple(
        ComparedParameter(
            name, units[estimates[0].parameters.index(name)], values[k], sigma[k],
            float(agreement[k]), bool(differs[k]), slopes[k][0], bool(drifts[k]))
        for k, name in enumerate(names))


def parameters_left_out(estimates: Sequence[Estimate]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parameters that are not in every run, and those that are but have no interval in every run.

    Args:
        estimates: The runs.
    """
    names = dict.fromkeys(name for estimate in estimates for name in estimate.parameters.names)
    common = [name for name in names if all(name in each.parameters for each in estimates)]
    untold = tuple(name for name in common if not all(
        _is_told(each, name) for each in estimates))
    return tuple(name for name in names if name not in set(common)), untold


def _is_told(estimate: Estimate, name: str) -> bool:
    return name in estimate.parameters and 0.0 < interval_deviation(estimate, name) < np.inf


def interval_deviation(estimate: Estimate, name: str) -> float:
    """Standard deviation of a parameter, scaled so that 1.96 of it make the 95 % interval.

    Args:
        estimate: The estimate.
        name: Name of the parameter.
    """
    k = estimate.parameters.index(name)
    noise, between = float(estimate.standard_deviation[k]), estimate.between
    if between is None or not np.isfinite(between.standard_deviation[k]):
        return noise
    return max(noise, between.quantile / 1.96 * float(between.standard_deviation[k]))


def _homogeneity(values: np.ndarray, sigma: np.ndarray) -> float:
    """Probability of a larger Q by chance."""
    weights = sigma**-2.0
    mean = weights @ values / weights.sum()
    return float(scipy.stats.chi2.sf(weights @ (values - mean) ** 2, len(values) - 1))


def _slope(values: np.ndarray, sigma: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """Slope of a weighted straight line over time, and the probability of it by chance."""
    if len(np.unique(times)) < _DRIFT_RUNS:
        return float('nan'), 1.0
    weights = sigma**-2.0
    away = times - weights @ times / weights.sum()
    information = weights @ away**2
    slope = float(weights @ (away * values) / information)
    return slope, float(2.0 * scipy.stats.norm.sf(abs(slope) * np.sqrt(information)))


def _holm(chances: np.ndarray) -> np.ndarray:
    """Which of several hypotheses fall at 5 % for all of them together."""
    order = np.argsort(chances, kind='stable')
    allowed = _LEVEL / (len(chances) - np.arange(len(chances)))
    passed = np.cumprod(chances[order] <= allowed).astype(bool)
    rejected = np.zeros(len(chances), dtype=bool)
    rejected[order] = passed
    return rejected
