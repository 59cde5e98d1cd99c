r"""The affine-invariant geometry of pseudo-inertias: how far one body is from another.

Consistent bodies are the positive definite pseudo-inertias, a space that is curved: in its
own metric the boundary of what physics allows is infinitely far away (Lee and Park 2018).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia

# Upper triangle of a symmetric matrix; its entries times these have the matrix's norm.
_UPPER = np.triu_indices(4)
_UPPER_WEIGHTS = np.where(_UPPER[0] == _UPPER[1], 1.0, np.sqrt(2.0))
# Eigenvalues whose logarithms are nearer than twice this are taken as equal.
_NEAR = 1e-4


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


def geodesic_logarithm(
    phi: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""A body as seen from its prior: ten numbers as long as the geodesic between them.

    The entries of :math:`\log(L_0^{-1/2} L\, L_0^{-1/2})`, those off the diagonal times
    :math:`\sqrt2`, so that the norm is :func:`geodesic_distance`.

    Args:
        phi: Consistent inertial parameters, shape ``(10,)``.
        prior: Consistent inertial parameters, shape ``(10,)``.

    Returns:
        The logarithm ``(10,)`` and its Jacobian with respect to ``phi``, ``(10, 10)``.

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent body.
    """
    values, vectors = np.linalg.eigh(pseudo_inertia(prior))
    if values[0] <= 0.0:
        raise ParameterError('the prior is not physically consistent')
    root = (vectors / np.sqrt(values)) @ vectors.T
    ratio, turn = np.linalg.eigh(root @ pseudo_inertia(phi) @ root)
    if ratio[0] <= 0.0:
        raise ParameterError('an inconsistent body is infinitely far from any other')
    log = np.log(ratio)
    # Daleckii and Krein: in the eigenvectors' frame the derivative is entry by entry.
    slopes = turn.T @ root @ PSEUDO_INERTIA_BASIS @ root @ turn * _divided_differences(ratio)
    stacked = np.concatenate([np.diag(log)[None], slopes])
    entries = (turn @ stacked @ turn.T)[:, _UPPER[0], _UPPER[1]] * _UPPER_WEIGHTS
    return entries[0], entries[1:].T


def _divided_differences(values: np.ndarray) -> np.ndarray:
    """Slopes of the logarithm between every two of some values, shape ``(k, k)``."""
    # With h = log(a/b)/2: (log a - log b) / (a - b) = h / sinh(h) / sqrt(ab), smooth at a = b.
    half = 0.5 * np.log(values[:, None] / values)
    near = np.abs(half) < _NEAR
    safe = np.where(near, 1.0, half)
    shape = np.where(near, 1.0 - half**2 / 6.0, safe / np.sinh(safe))
    return shape / np.sqrt(values[:, None] * values)
