"""Non-negative least squares, on every version of SciPy that is supported."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

from sysid_ros.errors import EstimationError

# Exchanges of the active set for each unknown: degenerate problems need more than SciPy's three.
_EXCHANGES = 30


def nonnegative_least_squares(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x >= 0 of least ``|matrix x - target|`` (Lawson and Hanson 1974).

    Args:
        matrix: Matrix, shape ``(m, n)``; without rows all x are equally good, and zero is given.
        target: Right-hand side, shape ``(m,)``.

    Returns:
        Shape ``(n,)``.

    Raises:
        EstimationError: The active set goes in circles.
    """
    rows, unknowns = matrix.shape
    # Before version 1.12 SciPy takes a problem without rows for one that does not end.
    if not rows or not unknowns:
        return np.zeros(unknowns)
    most = _EXCHANGES * unknowns
    try:
        return np.asarray(nnls(matrix, target, maxiter=most)[0])
    except RuntimeError:
        found = lsq_linear(matrix, target, (0.0, np.inf), method='bvls', max_iter=most)
    if not found.success:
        raise EstimationError(
            'non-negative least squares did not end', found=f'{most} exchanges of the active set')
    # What is on its bound may be there but for a last bit.
    return np.maximum(found.x, 0.0)
