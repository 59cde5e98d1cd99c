"""Singular value decomposition that converges where LAPACK's fastest algorithm does not."""

from __future__ import annotations

import numpy as np


def svd(
    matrix: np.ndarray, full_matrices: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular value decomposition of a matrix: divide and conquer, else QR iterations.

    Divide and conquer (LAPACK's gesdd) gives up on some harmless matrices, one of many thousands.
    There the older algorithm (gesvd) is slower, and converges.

    Args:
        matrix: Shape ``(m, n)``.
        full_matrices: Whether the first and the last are square.

    Returns:
        Left singular vectors, singular values, transposed right ones, as those of NumPy.

    Raises:
        numpy.linalg.LinAlgError: An entry is not finite, or neither converges.
    """
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
        from scipy import linalg  # only where it is needed

        left, values, right = linalg.svd(
            matrix, full_matrices=full_matrices, lapack_driver='gesvd')
    return left, values, right
