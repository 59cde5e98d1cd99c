r"""Level of missing impulses, by restricted maximum likelihood (Patterson and Thompson 1971).

With the levels of the sensors' noise given, readings are those of a linear Gaussian model of the
motion. Its states are eliminated by the Kalman filter, whose innovations :math:`\nu_i` with
variances :math:`s_i` have the likelihood

.. math:: -2 \log L(\rho) = \sum_i \log s_i + \sum_i \frac{\nu_i^2}{s_i}
          + \log \det \mathcal I(\rho) + \mathrm{const}

where :math:`\rho` is the ratio of the level of missing impulses to that given, and
:math:`\mathcal I` the information on what has no prior: the free part of first states, and
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from sysid_ros.estimation.trajectory.discrete.linear_motion import LinearMotion, SegmentLeastSquares

# Logarithm of the ratio: the farthest it moves at once, how well it is found, and the change over
# which the curvature is taken.
_FARTHEST, _FOUND, _APART = np.log(100.0), 0.05, 0.2
# Part of the largest eigenvalue below which nothing is known.
_SILENT = 1e-10


@dataclass(frozen=True)
class ImpulseLevel:
    """Level of missing impulses.

    Attributes:
        ratio: Of the likeliest level to that given.
        deviation: Standard deviation of its logarithm; infinite where the likelihood has no
            maximum within reach.
    """

    ratio: float
    deviation: float


def likeliest_level(linear: LinearMotion, determined: np.ndarray) -> ImpulseLevel:
    """The level of missing impulses under which the readings are likeliest.

    Args:
        linear: The motion to first order, at its best states and parameters.
        determined: Which of the p parameters the data determine, shape ``(p,)``.
    """
    def deviance(logarithm: float) -> float:
        return minus_twice_log_likelihood(linear, determined, float(np.exp(logarithm)))

    found = minimize_scalar(
        deviance, bounds=(-_FARTHEST, _FARTHEST), method='bounded', options={'xatol': _FOUND})
    best = float(found.x)
    before, after = deviance(best - _APART), deviance(best + _APART)
    curvature = (before - 2.0 * float(found.fun) + after) / _APART**2
    inside = abs(best) < _FARTHEST - _APART and curvature > 0.0
    return ImpulseLevel(
        float(np.exp(best)), float(np.sqrt(2.0 / curvature)) if inside else np.inf)


def minus_twice_log_likelihood(linear: LinearMotion, determined: np.ndarray, ratio: float) -> float:
    """Minus twice the restricted log-likelihood of the readings, up to a constant.

    Args:
        linear: The motion to first order, parameters where they are.
        determined: Which of the p parameters the data determine, shape ``(p,)``.
        ratio: Of the level of missing impulses to that given.

    Returns:
        Infinite where it cannot be computed.
    """
    softer = replace(linear, segments=tuple(_softened(part, ratio) for part in linear.segments))
    total, information = 0.0, np.zeros((len(determined), len(determined)))
    for model in softer.quadratic_models():
        filtered, free = model.filtered, len(model.follows)
        start = filtered.information[:free, :free]
        total += float(
            np.sum(np.log(filtered.variances)) + np.sum(np.log(filtered.pair_variances))
            + model.information[-1, -1] + _log_determinant(start + np.triu(start, 1).T))
        information += model.information[:-1, :-1]
    total += _log_determinant(information[np.ix_(determined, determined)])
    return total if np.isfinite(total) else np.inf


def _softened(segment: SegmentLeastSquares, ratio: float) -> SegmentLeastSquares:
    """The segment with missing impulses, violations of the first state too, in another unit."""
    linearised = segment.linearised
    return replace(
        segment, violated=segment.violated / ratio,
        linearised=linearised._replace(
            weights=linearised.weights / ratio, missing=linearised.missing / ratio))


def _log_determinant(information: np.ndarray) -> float:
    """Logarithm of the product of the eigenvalues that are not zero, in units of the diagonal."""
    if not np.isfinite(information).all():
        return np.inf
    size = np.diagonal(information)
    scale = np.sqrt(np.where(size > 0.0, size, 1.0))
    values = np.linalg.eigvalsh(information / np.outer(scale, scale))
    known = values > _SILENT * values.max(initial=0.0)
    return float(np.sum(np.log(values[known])) + 2.0 * np.sum(np.log(scale)))
