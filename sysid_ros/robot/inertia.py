r"""Geometry of inertial parameters: which ten numbers can belong to a rigid body.

The inertial parameters of a body are ordered as in Pinocchio,
``m, m·cx, m·cy, m·cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``, at the origin of the joint frame.
They belong to a real mass distribution exactly when the pseudo-inertia

.. math::
    L(\phi) = \begin{bmatrix} \Sigma & h \\ h^T & m \end{bmatrix}, \qquad
    \Sigma = \tfrac12 \mathrm{tr}(I)\,1_3 - I

is positive definite (Wensing, Kim and Slotine 2018).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ParameterError

INERTIAL_FIELDS = (
    'mass', 'first_moment_x', 'first_moment_y', 'first_moment_z',
    'inertia_xx', 'inertia_xy', 'inertia_yy', 'inertia_xz', 'inertia_yz', 'inertia_zz',
)
INERTIAL_UNITS = ('kg',) + ('kg·m',) * 3 + ('kg·m²',) * 6

# Row and column in the inertia matrix of the last six parameters.
_INERTIA_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def _pseudo_inertia_basis() -> np.ndarray:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
    for k, (row, column) in enumerate(_INERTIA_ENTRIES):
        inertia = np.zeros((3, 3))
        inertia[row, column] = inertia[column, row] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    basis.setflags(write=False)
    return basis


#: Derivatives :math:`E_k = \partial L / \partial \phi_k`, shape ``(10, 4, 4)``.
PSEUDO_INERTIA_BASIS = _pseudo_inertia_basis()


def _checked(phi: np.ndarray) -> np.ndarray:
    phi = np.asarray(phi, dtype=float)
    if phi.shape[-1:] != (10,):
        raise ParameterError(
            'inertial parameters have the wrong shape', found=phi.shape, allowed='(..., 10)'
        )
    if not np.isfinite(phi).all():
        raise ParameterError('inertial parameters are not finite', found=phi.tolist())
    return phi


def inertia_matrix(phi: np.ndarray) -> np.ndarray:
    """Rotational inertia at the frame origin in [kg·m²], shape ``(..., 3, 3)``.

    Args:
        phi: Inertial parameters, shape ``(..., 10)``.

    Raises:
        ParameterError: ``phi`` has another shape or a non-finite entry.
    """
    phi = _checked(phi)
    return phi[..., [[4, 5, 7], [5, 6, 8], [7, 8, 9]]]


def inertial_parameters(mass: float, com: np.ndarray, inertia_at_com: np.ndarray) -> np.ndarray:
    """Parameters at the frame origin from mass, centre of mass and central inertia.

    Args:
        mass: Mass in [kg].
        com: Centre of mass in the frame in [m], shape ``(3,)``.
        inertia_at_com: Inertia about the centre of mass in the frame's axes in
            [kg·m²], shape ``(3, 3)``.

    Returns:
        Inertial parameters, shape ``(10,)``.

    Raises:
        ParameterError: A number is not finite.
    """
    com = np.asarray(com, dtype=float)
    at_origin = inertia_at_com + mass * (com @ com * np.eye(3) - np.outer(com, com))
    entries = [at_origin[row, column] for row, column in _INERTIA_ENTRIES]
    return _checked(np.concatenate([[mass], mass * com, entries]))


def central_inertia(phi: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it: the inverse of :func:`inertial_parameters`.

    Args:
        phi: Inertial parameters, shape ``(10,)``, with a mass other than zero.

    Returns:
        Mass in [kg], centre of mass ``(3,)`` in [m], central inertia ``(3, 3)`` in [kg·m²].

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or no mass.
    """
    phi = _checked(phi)
    mass = float(phi[0])
    if mass == 0.0:
        raise ParameterError('a body without mass has no centre of mass', found='mass 0')
    com = phi[1:4] / mass
    return mass, com, inertia_matrix(phi) - mass * (com @ com * np.eye(3) - np.outer(com, com))


def pseudo_inertia(phi: np.ndarray) -> np.ndarray:
    r"""Pseudo-inertia matrix :math:`L(\phi)`.

    Args:
        phi: Inertial parameters, shape ``(..., 10)``.

    Returns:
        Symmetric matrices, shape ``(..., 4, 4)``; positive definite exactly when the
        parameters belong to a real mass distribution.

    Raises:
        ParameterError: ``phi`` has another shape or a non-finite entry.

    References:
        Wensing, Kim and Slotine 2018, eq. (11).
    """
    return np.tensordot(_checked(phi), PSEUDO_INERTIA_BASIS, axes=1)


def inertial_from_pseudo(pseudo: np.ndarray) -> np.ndarray:
    r"""Inertial parameters of a pseudo-inertia: the inverse of :func:`pseudo_inertia`.

    Args:
        pseudo: Symmetric matrices, shape ``(..., 4, 4)``.

    Returns:
        Inertial parameters, shape ``(..., 10)``.
    """
    pseudo = np.asarray(pseudo, dtype=float)
    sigma = pseudo[..., :3, :3]
    inertia = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - sigma
    entries = [inertia[..., row, column] for row, column in _INERTIA_ENTRIES]
    moments = [pseudo[..., axis, 3] for axis in range(3)]
    return np.stack([pseudo[..., 3, 3], *moments, *entries], axis=-1)


def is_consistent(phi: np.ndarray) -> bool:
    """Whether every body in ``phi``, shape ``(..., 10)``, is a real mass distribution."""
    return bool((np.linalg.eigvalsh(pseudo_inertia(phi))[..., 0] > 0.0).all())


def consistency_margin(phi: np.ndarray, prior: np.ndarray) -> np.ndarray:
    r"""Smallest eigenvalue of :math:`L_0^{-1/2} L(\phi) L_0^{-1/2}`, without unit.

    The eigenvalues of L alone mix kg with kg·m²; measured against a prior body they are
    ratios: 1 for the prior itself, 0 on the boundary of what physics allows.

    Args:
        phi: Inertial parameters, shape ``(..., 10)``.
        prior: Consistent inertial parameters of the same shape.

    Returns:
        Margins, shape ``(...)``; positive exactly for consistent bodies.

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent prior.
    """
    try:
        factor = np.linalg.cholesky(pseudo_inertia(prior))
    except np.linalg.LinAlgError as error:
        raise ParameterError(
            'the prior is not physically consistent', fix='Use consistent_neighbour(prior)'
        ) from error
    left = np.linalg.solve(factor, pseudo_inertia(phi))
    whitened = np.linalg.solve(factor, np.swapaxes(left, -1, -2))
    symmetric = 0.5 * (whitened + np.swapaxes(whitened, -1, -2))
    return np.linalg.eigvalsh(symmetric)[..., 0]


def log_det_divergence(
    phi: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Log-determinant (Bregman) divergence of bodies from their priors.

    .. math:: D(\phi \| \phi_0) = \mathrm{tr}(L_0^{-1} L) - \log\det(L_0^{-1} L) - 4

    It is convex, infinite on the boundary of the consistent set, and does not depend
    on the frame or the units the parameters are written in.

    Args:
        phi: Consistent inertial parameters, shape ``(..., 10)``.
        prior: Consistent inertial parameters, shape ``(..., 10)``.

    Returns:
        Value ``(...)``, gradient ``(..., 10)`` and Hessian ``(..., 10, 10)`` with respect to
        ``phi``.

    Raises:
        ParameterError: Wrong shape, a non-finite entry, or an inconsistent body.

    References:
        Lee, Wensing and Park 2020, "Geometric robot dynamic identification", eq. (24).
    """
    here, there = pseudo_inertia(phi), pseudo_inertia(prior)
    try:
        roots = [np.linalg.inv(np.linalg.cholesky(matrix)) for matrix in (here, there)]
    except np.linalg.LinAlgError as error:
        raise ParameterError('an inconsistent body has no log-det divergence') from error
    inverse, inverse_prior = (np.swapaxes(root, -1, -2) @ root for root in roots)
    ratio = inverse_prior @ here
    value = np.trace(ratio, axis1=-2, axis2=-1) - np.linalg.slogdet(ratio)[1] - 4.0
    gradient = np.tensordot(inverse_prior - inverse, PSEUDO_INERTIA_BASIS, axes=((-2, -1), (1, 2)))
    scaled = inverse[..., None, :, :] @ PSEUDO_INERTIA_BASIS
    hessian = np.einsum('...kij,...lji->...kl', scaled, scaled)
    return value, gradient, hessian


def transform_inertial(phi: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Inertial parameters of the same body in another frame.

    Args:
        phi: Inertial parameters in the body's own frame, shape ``(10,)``.
        pose: Homogeneous pose of that frame in the target frame, shape ``(4, 4)``.

    Returns:
        Inertial parameters in the target frame, shape ``(10,)``.
    """
    return inertial_from_pseudo(pose @ pseudo_inertia(phi) @ pose.T)


def consistent_neighbour(
    phi: np.ndarray, *, relative_floor: float = 1e-2, smallest_radius: float = 5e-3,
    smallest_mass: float = 1e-3,
) -> np.ndarray:
    """A body near ``phi`` that is safely inside what physics allows.

    Mass and centre of mass are kept; the principal second moments of mass about the
    centre are raised to a floor. A consistent body above the floor is returned as it is.

    Args:
        phi: Inertial parameters, shape ``(10,)``.
        relative_floor: Floor of the second moments relative to the largest.
        smallest_radius: Radius of gyration in [m] that no axis falls below.
        smallest_mass: Mass in [kg] given to a body with less.

    Returns:
        Consistent inertial parameters, shape ``(10,)``.

    Raises:
        ParameterError: ``phi`` has another shape or a non-finite entry.
    """
    phi = _checked(phi)
    if phi[0] < smallest_mass:
        sphere = 0.4 * smallest_mass * (10.0 * smallest_radius) ** 2 * np.eye(3)
        return inertial_parameters(smallest_mass, np.zeros(3), sphere)
    mass, com, inertia = central_inertia(phi)
    second_moment = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    values, vectors = np.linalg.eigh(second_moment)
    floor = max(relative_floor * values[-1], mass * smallest_radius**2)
    # Without the slack, rounding would raise a body again that was raised before.
    if values[0] >= (1.0 - 1e-9) * floor:
        return phi.copy()
    raised = (vectors * np.maximum(values, floor)) @ vectors.T
    return inertial_parameters(mass, com, np.trace(raised) * np.eye(3) - raised)
