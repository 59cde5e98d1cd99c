r"""Charts of consistent inertial parameters: ten numbers without any constraint.

The pseudo-inertia of a body factors as :math:`L = U U^T` with the upper triangular

.. math::
    U = e^{\alpha} \begin{bmatrix}
        e^{d_1} & s_{12} & s_{13} & t_1 \\ 0 & e^{d_2} & s_{23} & t_2 \\
        0 & 0 & e^{d_3} & t_3 \\ 0 & 0 & 0 & 1 \end{bmatrix}.

Every :math:`\eta = (\alpha, d_1, d_2, d_3, s_{12}, s_{23}, s_{13}, t_1, t_2, t_3)` belongs to
exactly one consistent body and every consistent body to exactly one of them. The mass is
:math:`e^{2\alpha}` and the centre of mass :math:`t` (Rucker and Wensing 2022).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import (
    PSEUDO_INERTIA_BASIS,
    inertial_from_pseudo,
    pseudo_inertia,
)

# Row and column in U of s12, s23, s13, t1, t2, t3.
_ROWS = np.array([0, 1, 0, 0, 1, 2])
_COLUMNS = np.array([1, 2, 2, 3, 3, 3])
_DIAGONAL = np.arange(3)


def log_cholesky(phi: np.ndarray) -> np.ndarray:
    r"""Log-Cholesky parameters :math:`\eta` of consistent bodies.

    Args:
        phi: Inertial parameters in Pinocchio's order, shape ``(..., 10)``.

    Returns:
        Shape ``(..., 10)``: alpha, d1, d2, d3, s12, s23, s13 without unit but for the
        logarithm of kg and m, and t1, t2, t3 in [m].

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent body.

    References:
        Rucker and Wensing 2022, "Smooth parameterization of rigid-body inertia", section III.
    """
    U = upper_cholesky(phi)
    scale = U[..., 3, 3]
    unit = U / scale[..., None, None]
    diagonal = np.log(unit[..., _DIAGONAL, _DIAGONAL])
    return np.concatenate([
        np.log(scale)[..., None], diagonal, unit[..., _ROWS, _COLUMNS],
    ], axis=-1)


def from_log_cholesky(eta: np.ndarray) -> np.ndarray:
    r"""Inertial parameters of log-Cholesky parameters: the inverse of :func:`log_cholesky`.

    Args:
        eta: Log-Cholesky parameters, shape ``(..., 10)``.

    Returns:
        Consistent inertial parameters, shape ``(..., 10)``.

    Raises:
        ParameterError: ``eta`` has another shape or a non-finite entry.
    """
    U = triangular_factor(eta)
    return inertial_from_pseudo(U @ np.swapaxes(U, -1, -2))


def log_cholesky_jacobian(eta: np.ndarray) -> np.ndarray:
    r"""Jacobian :math:`\partial\phi / \partial\eta` of :func:`from_log_cholesky`.

    Args:
        eta: Log-Cholesky parameters, shape ``(..., 10)``.

    Returns:
        Shape ``(..., 10, 10)``, one column for each entry of ``eta``.

    Raises:
        ParameterError: ``eta`` has another shape or a non-finite entry.
    """
    U = triangular_factor(eta)
    half = triangular_slopes(eta) @ np.swapaxes(U, -1, -2)[..., None, :, :]
    return np.swapaxes(inertial_from_pseudo(half + np.swapaxes(half, -1, -2)), -1, -2)


def log_cholesky_curvature(eta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    r"""Curvature of the chart along a gradient, :math:`\sum_k g_k\,\nabla^2\phi_k(\eta)`.

    Args:
        eta: Log-Cholesky parameters, shape ``(10,)``.
        gradient: Gradient g of some function of the inertial parameters, shape ``(10,)``.

    Returns:
        What the chart adds to the Hessian of that function, symmetric, shape ``(10, 10)``.

    Raises:
        ParameterError: ``eta`` has another shape or a non-finite entry.
    """
    U, slopes = triangular_factor(eta), triangular_slopes(eta)
    # <G, dL> = g . dphi for every symmetric dL, as the basis matrices are not orthonormal.
    G = np.tensordot(gradient, _DUAL_BASIS, axes=1)
    curvature = 2.0 * np.einsum('aij,ik,bkj->ab', slopes, G, slopes)
    # U is linear in s and t, and exponential in alpha and d.
    along = 2.0 * np.einsum('ij,ik,akj->a', U, G, slopes)
    curvature[0] += along
    curvature[1:, 0] += along[1:]
    curvature[1 + _DIAGONAL, 1 + _DIAGONAL] += along[1 + _DIAGONAL]
    return curvature


def upper_cholesky(phi: np.ndarray) -> np.ndarray:
    r"""The upper triangular U with a positive diagonal and :math:`U U^T = L(\phi)`.

    Args:
        phi: Inertial parameters, shape ``(..., 10)``.

    Returns:
        Shape ``(..., 4, 4)``.

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent body.
    """
    # The lower factor of the matrix with rows and columns in reverse, reversed.
    turned = pseudo_inertia(phi)[..., ::-1, ::-1]
    try:
        return np.linalg.cholesky(turned)[..., ::-1, ::-1]
    except np.linalg.LinAlgError as error:
        raise ParameterError(
            'the body is not physically consistent', fix='Use consistent_neighbour(phi)'
        ) from error


def triangular_factor(eta: np.ndarray) -> np.ndarray:
    r"""The factor U of log-Cholesky parameters ``(..., 10)``, shape ``(..., 4, 4)``.

    Raises:
        ParameterError: ``eta`` has another shape or a non-finite entry.
    """
    eta = np.asarray(eta, dtype=float)
    if eta.shape[-1:] != (10,) or not np.isfinite(eta).all():
        raise ParameterError(
            'log-Cholesky parameters are ten finite numbers', found=eta.tolist(),
            allowed='shape (..., 10)',
        )
    U = np.zeros((*eta.shape[:-1], 4, 4))
    U[..., _DIAGONAL, _DIAGONAL] = np.exp(eta[..., 1:4])
    U[..., 3, 3] = 1.0
    U[..., _ROWS, _COLUMNS] = eta[..., 4:]
    return np.exp(eta[..., 0])[..., None, None] * U


def triangular_slopes(eta: np.ndarray) -> np.ndarray:
    r"""Derivatives of U by each entry of ``eta`` ``(..., 10)``, shape ``(..., 10, 4, 4)``.

    Raises:
        ParameterError: ``eta`` has another shape or a non-finite entry.
    """
    U = triangular_factor(eta)
    slopes = np.zeros((*U.shape[:-2], 10, 4, 4))
    slopes[..., 0, :, :] = U
    slopes[..., 1 + _DIAGONAL, _DIAGONAL, _DIAGONAL] = U[..., _DIAGONAL, _DIAGONAL]
    slopes[..., 4 + np.arange(6), _ROWS, _COLUMNS] = U[..., 3, 3, None]
    return slopes


def _dual_basis() -> np.ndarray:
    """Matrices F with phi_k = <F_k, L>, shape ``(10, 4, 4)``."""
    flat = PSEUDO_INERTIA_BASIS.reshape(10, 16)
    return np.linalg.solve(flat @ flat.T, flat).reshape(10, 4, 4)


_DUAL_BASIS = _dual_basis()
