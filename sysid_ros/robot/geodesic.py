r"""The affine-invariant geometry of pseudo-inertias: how far one body is from another.

Consistent bodies are the positive definite pseudo-inertias, a space that is curved: in its
own metric the boundary of what physics allows is infinitely far away (Lee and Park 2018).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import pseudo_inertia


def geodesic_distance(phi: np.ndarray, other: np.ndarray) -> np.ndarray:
    r"""Affine-invariant distance between consistent bodies.

    .. math:: d(\phi, \phi') = \|\log(L'^{-1/2} L\, L'^{-1/2})\|_F
        = \Big(\sum_i \log^2 \lambda_i(L'^{-1} L)\Big)^{1/2}

    The length of the shortest path between the pseudo-inertias in the cone of positive
    definite matrices. It is symmetric, obeys the triangle inequality, grows without bound
    towards the boundary of what physics allows, and does not depend on the frame or the units
    the parameters are written in. For neighbours its square is twice their log-det
    divergence, up to third order.

    Args:
        phi: Consistent inertial parameters, shape ``(..., 10)``.
        other: Consistent inertial parameters of the same shape.

    Returns:
        Distances without unit, shape ``(...)``.

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent body.

    References:
        Lee and Park 2018, "A geometric algorithm for robust multibody inertial parameter
        identification", section II.
    """
    try:
        factor = np.linalg.cholesky(pseudo_inertia(other))
        np.linalg.cholesky(pseudo_inertia(phi))
    except np.linalg.LinAlgError as error:
        raise ParameterError('an inconsistent body is infinitely far from any other') from error
    left = np.linalg.solve(factor, pseudo_inertia(phi))
    ratio = np.linalg.solve(factor, np.swapaxes(left, -1, -2))
    values = np.linalg.eigvalsh(0.5 * (ratio + np.swapaxes(ratio, -1, -2)))
    return np.sqrt(np.sum(np.log(values) ** 2, axis=-1))
