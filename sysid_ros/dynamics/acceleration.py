r"""Accelerations of a torque model and their derivatives, for many samples at once.

With the torque :math:`\tau(q, v, a, \theta)` of the model, linear in a with the mass matrix M,
the acceleration under a torque u solves :math:`\tau(q, v, a, \theta) = u`, and by the implicit
function theorem :math:`\partial a / \partial x = -M^{-1}\, \partial\tau / \partial x` for
positions, velocities and parameters, :math:`\partial a / \partial u = M^{-1}`. All of it comes
from the regressor and its gradient, so that whatever a
:class:`~sysid_ros.dynamics.torque_model.TorqueModel` expresses can be differentiated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.dynamics.load_friction import LoadFriction
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ModelError

# Samples worked on at a time, so that arrays of every parameter stay small.
_BLOCK = 2048


class Acceleration(NamedTuple):
    """Accelerations at S samples, and their derivatives.

    Attributes:
        value: In [rad/s²] or [m/s²], shape ``(S, n)``.
        by_position: Shape ``(S, n, n)``.
        by_velocity: Shape ``(S, n, n)``.
        by_torque: Inverse mass matrices, shape ``(S, n, n)``.
        by_parameters: With respect to some parameters, shape ``(S, n, k)``.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_torque: np.ndarray
    by_parameters: np.ndarray


def require_smooth(model: TorqueModel) -> None:
    """Refuse a model whose torque jumps with the velocity, or depends on itself.

    Args:
        model: The model.

    Raises:
        ModelError: Dry friction is not smoothed, or grows with the load.
    """
    for term in model.terms:
        if isinstance(term, LoadFriction):
            raise ModelError(
                'motion under friction that grows with the load cannot be computed',
                where=model.robot.name, fix='Leave friction by load out',
            )
        if getattr(term, 'smoothing', None) == 0.0 and getattr(term, 'dry', True):
            raise ModelError(
                'dry friction jumps where the velocity changes its sign, and has no derivative',
                where=model.robot.name, found=f'{type(term).__name__} with coulomb_smoothing 0',
                fix='Give coulomb_smoothing a number above zero, as 0.01 rad/s',
            )


def accelerations(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
) -> np.ndarray:
    """Accelerations under torques.

    Args:
        model: Torque model without jumps; see :func:`require_smooth`.
        values: Parameter values, shape ``(p,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        torque: Joint torques in [N·m] or [N], shape ``(S, n)``.

    Returns:
        Shape ``(S, n)``.

    Raises:
        numpy.linalg.LinAlgError: A mass matrix is singular.
    """
    here, found = model.at(values), np.empty(q.shape)
    for start in range(0, len(q), _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = _solved(here, values, q[part], v[part], torque[part])[0]
    return found


def linearised_accelerations(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
    columns: np.ndarray,
) -> Acceleration:
    """Accelerations under torques, with their derivatives.

    Args:
        model: Torque model without jumps; see :func:`require_smooth`.
        values: Parameter values, shape ``(p,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        torque: Joint torques in [N·m] or [N], shape ``(S, n)``.
        columns: Indices of the k parameters to differentiate by, shape ``(k,)``.

    Raises:
        numpy.linalg.LinAlgError: A mass matrix is singular.
    """
    samples, joints = q.shape
    square = (samples, joints, joints)
    result = Acceleration(
        np.empty((samples, joints)), np.empty(square), np.empty(square), np.empty(square),
        np.empty((samples, joints, len(columns))))
    here = model.at(values)
    for start in range(0, samples, _BLOCK):
        part = slice(start, start + _BLOCK)
        motion = q[part], v[part]
        a, mass = _solved(here, values, *motion, torque[part])
        by_q, by_v, _ = _torque_derivatives(here, values, *motion, a)
        by_theta = model.jacobian(values, *motion, a)[:, :, columns]
        inverse = np.linalg.inv(mass)
        result.value[part], result.by_torque[part] = a, inverse
        for target, slope in zip(
            (result.by_position, result.by_velocity, result.by_parameters),
            (by_q, by_v, by_theta), strict=True,
        ):
            np.negative(inverse @ slope, out=target[part])
    return result


def _solved(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and mass matrices."""
    samples, joints = q.shape
    blocks = joints + 1
    unit = np.vstack([np.zeros_like(q), np.repeat(np.eye(joints), samples, axis=0)])
    found = model.regressor(np.tile(q, (blocks, 1)), np.tile(v, (blocks, 1)), unit) @ values
    found = found.reshape(blocks, samples, joints)
    mass = np.moveaxis(found[1:] - found[0], 0, 2)
    return np.linalg.solve(mass, (torque - found[0])[..., None])[..., 0], mass


def _torque_derivatives(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Derivatives of the torque by q, v and a, shape ``(3, S, n, n)``, joints of torque first."""
    samples, joints = q.shape
    derivatives = np.empty((3, samples, joints, joints))
    for joint in range(joints):
        weights = np.zeros((samples, joints, len(values)))
        weights[:, joint] = values
        derivatives[:, :, joint] = model.regressor_gradient(q, v, a, weights)
    return derivatives
