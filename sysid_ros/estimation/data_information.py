"""Information of recordings at hand, for the design of the next motion."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.estimate import ResidualStatistics
from sysid_ros.estimation.problem import RegressionProblem


def data_information(
    problem: RegressionProblem, residuals: ResidualStatistics
) -> np.ndarray:
    r"""Information :math:`\sum_j \frac{m_j}{N_j \sigma_j^2} \Gamma_j^T \Gamma_j` of fitted rows.

    Args:
        problem: The rows, N per joint.
        residuals: Their residuals: noise :math:`\sigma_j`, and the m effective rows that
            correlated noise leaves of N.

    Returns:
        Information on all p parameters, shape ``(p, p)``.
    """
    total = np.zeros((len(problem.parameters),) * 2)
    share = residuals.effective_rows / np.maximum(residuals.rows, 1)
    for triangle, sigma, part in zip(
        problem.factors, residuals.rms_per_joint, share, strict=True
    ):
        if sigma > 0.0:
            rows = triangle[:, :-1] / sigma
            total += part * (rows.T @ rows)
    return total
