"""Steps of the prior: a metric for parameters that depends on no frame and on no unit."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sysid_ros.robot.inertia import log_det_divergence
from sysid_ros.robot.parameters import ParameterSet


def prior_steps(
    parameters: ParameterSet, free: np.ndarray, term_scale: np.ndarray
) -> np.ndarray:
    r"""One step of the prior for each of the f free parameters.

    The matrix C in :math:`\theta = \theta_0 + C z` with :math:`C^T H C = 1`. For a body H is the
    Hessian of its log-det divergence at the prior, so a unit of z is a relative change of
    100 %.

    Args:
        parameters: Names and priors, p of them.
        free: Mask of those that may change, shape ``(p,)``.
        term_scale: A step of each parameter that belongs to no body, shape ``(p,)``.

    Returns:
        Shape ``(p, f)``.
    """
    metric = np.diag(term_scale ** -2.0)
    blocks = [parameters.body_slice(body) for body in parameters.bodies]
    if blocks:
        priors = np.stack([parameters.prior[block] for block in blocks])
        for block, hessian in zip(blocks, log_det_divergence(priors, priors)[2], strict=True):
            metric[block, block] = hessian
    chosen = np.flatnonzero(free)
    if not len(chosen):
        return np.zeros((len(parameters), 0))  # which SciPy before 1.12 refuses to solve
    factor = scipy.linalg.cholesky(metric[np.ix_(chosen, chosen)], lower=True)
    matrix = np.zeros((len(parameters), len(chosen)))
    matrix[chosen] = scipy.linalg.solve_triangular(
        factor, np.eye(len(chosen)), lower=True, trans='T'
    )
    return matrix
