r"""Convex quadratic programs with bounds, :math:`\min_x \tfrac12 x^T H x + g^T x`.

Bounded least squares of the Cholesky factor by the active-set method of Stark and Parker (1995).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize


def bounded_minimum(
    hessian: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray | None:
    """Minimum of a convex quadratic function in a box that holds the origin.

    Args:
        hessian: Positive definite, shape ``(p, p)``.
        gradient: At the origin, shape ``(p,)``.
        lower: Shape ``(p,)``.
        upper: Shape ``(p,)``.

    Returns:
        Shape ``(p,)``; None unless the Hessian is positive definite.
    """
    if not len(gradient):
        return np.zeros(0)
    curvature = np.diagonal(hessian)
    if not (np.isfinite(hessian).all() and (curvature > 0.0).all()):
        return None
    # Scaled, since parameters have many units.
    scale = 1.0 / np.sqrt(curvature)
    try:
        factor = scipy.linalg.cholesky(hessian * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    right = -scipy.linalg.solve_triangular(factor, scale * gradient, trans='T')
    step = scale * scipy.linalg.solve_triangular(factor, right)
    if (lower <= step).all() and (step <= upper).all():
        return np.asarray(step)
    # Parameters that their bounds hold on both sides do not move.
    free = upper > lower
    step = np.zeros(len(gradient))
    if free.any():
        found = scipy.optimize.lsq_linear(
            factor[:, free], right, (lower[free] / scale[free], upper[free] / scale[free]),
            method='bvls', tol=1e-14)
        if not found.success:
            return None
        step[free] = np.clip(scale[free] * found.x, lower[free], upper[free])
    return step
