r"""Whether a search that goes on would move parameters by less than is known of them.

Where the model has errors of its own, the cost goes on falling by parts that no tolerance of it
tells from a gain, while parameters stand still. They do where the step of Gauss and Newton that is
left is a hundredth of their standard deviations,

.. math:: |\delta\theta_k| \le \tfrac1{100} \sqrt{s^2\, [H^{-1}]_{kk}}, \qquad
          s^2 = \frac1{m - p} \sum_j \tau_j \sum_t r_{tj}^2,

with the weighted residuals r of all m samples, starts adapted, and the correlation times
:math:`\tau_j` by which their columns tell less than as many independent ones. Joints that stick and
slip make the cost rough: where that step does not come true, and is less than a quarter of the
standard deviations, what damped steps could gain is noise as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sysid_ros.numerics.least_squares.bordered import Bordered
from sysid_ros.numerics.noise import correlation_time, products_by_lag, squared_spectrum

#: Parts of a standard deviation that nobody sees: of a step, and of one that did not come true.
UNSEEN, UNSEEN_REFUSED = 1e-2, 0.25
# Eigenvalues below this part of the largest, of a matrix with a unit diagonal, are rounding.
_RANK_TOLERANCE = 1e-14
_TINY = 1e-300


def step_in_deviations(
    equations: Bordered, residuals: Iterable[np.ndarray], lower: np.ndarray, upper: np.ndarray
) -> float:
    """The step of Gauss and Newton in standard deviations of the parameter that it moves most.

    Args:
        equations: Normal equations of a point.
        residuals: Weighted residuals there, zero where nothing was measured, of one sensor over a
            stretch of time each, shape ``(K, m)``.
        lower: Least step of each parameter, shape ``(k,)``.
        upper: Largest step.
    """
    if not len(equations.gradient):
        return float('inf')
    step = equations.step(lower, upper)[0]
    total, rows = correlated_squares(residuals)
    unknown = len(equations.gradient) + equations.gradients.size
    variance = total / max(rows - unknown, 1)
    scaled = equations.reduced / np.outer(equations.scale, equations.scale)
    values, vectors = np.linalg.eigh(scaled)
    kept = values > _RANK_TOLERANCE * max(float(values.max(initial=0.0)), _RANK_TOLERANCE)
    spread = np.sum(vectors[:, kept] ** 2 / values[kept], axis=1)
    deviation = np.sqrt(variance * spread) / equations.scale
    return float(np.max(np.abs(step) / np.maximum(deviation, _TINY)))


def correlated_squares(residuals: Iterable[np.ndarray]) -> tuple[float, int]:
    """Squares of residuals times the correlation times of their columns, and how many there are.

    Args:
        residuals: Zero where nothing was measured, of one sensor over a stretch of time each,
            shape ``(K, m)``.
    """
    total, rows = 0.0, 0
    for part in residuals:
        for column in part.T:
            squares = float(column @ column)
            rows += int(np.count_nonzero(column))
            if squares > 0.0:
                lags = products_by_lag(squared_spectrum(column), len(column))
                total += squares * correlation_time(lags)
    return total, rows
