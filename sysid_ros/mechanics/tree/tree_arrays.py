"""Parameter values and workspace of the compiled dynamics of a tree, for one sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.mechanics.joint_terms.dispatch import BY_LOAD
from sysid_ros.mechanics.regressor.sample_regressor import SampleModel


class TreeValues(NamedTuple):
    """Parameter values of a tree, and which of them to differentiate by.

    Attributes:
        bodies: Mass, first moments and second moments xx, xy, yy, xz, yz, zz of every body at
            its joint frame in [kg, kg·m, kg·m²], shape ``(b, 10)``.
        amplitudes: Of the columns of joint terms, shape ``(t,)``.
        slots: Place of a parameter among those to differentiate by, -1 for none, ``(p,)``.
        free_bodies: Whether a body has such a parameter, shape ``(b,)``.
        coupled: Whether bodies do not simply follow the joints of their own index.
        loaded: Whether the friction of a joint grows with its load.
    """

    bodies: np.ndarray
    amplitudes: np.ndarray
    slots: np.ndarray
    free_bodies: np.ndarray
    coupled: bool
    loaded: bool


class TreeWorkspace(NamedTuple):
    r"""Workspace of RNEA, CRBA, forward dynamics and their derivatives, for one sample.

    Attributes:
        pose: Axes of every body in the world, row by row, then its origin, shape ``(b, 12)``.
        screw: The joint's axis in the world, shape ``(b, 3)``.
        inward: Angular velocity and both accelerations of a body in its own axes, ``(9,)``.
        ten: Columns of one body, shape ``(10,)``.
        axis: Spatial axes S, shape ``(b, 6)``, as the next seven.
        axis_rate: Their first rates :math:`\dot\psi`.
        axis_second_rate: Their second rates :math:`\ddot\psi`.
        twist: Twists of the bodies.
        rate: Bias accelerations of the bodies: without accelerations of the joints.
        joint_rate: Spatial accelerations of the bodies by accelerations of the joints.
        wrench: Bias force on each body.
        load: Force on the composite body of each joint.
        own: Mass, first and second moments of each body in the world, shape ``(b, 10)``.
        composite: The same of the composite body: all that the joint of a body carries.
        momenta: Momentum and D of the composite body of each joint, shape ``(b, 12)``.
        pairs: Mass matrix and derivatives of the torque by position and by velocity, body by
            body, shape ``(3, b, b)``.
        mass: Mass matrix, shape ``(n, n)``; its lower Cholesky factor once solved with.
        acceleration: Accelerations of the joints, shape ``(n,)``.
        by_position: Derivatives of the acceleration, shape ``(n, n)``.
        by_velocity: Derivatives of the acceleration, shape ``(n, n)``.
        by_parameters: Derivatives of the acceleration, shape ``(n, k)``.
        gear: Loads of gears, their signs, friction and torque per load, as
            :mod:`~sysid_ros.mechanics.tree.loaded_gears` has them, shape ``(4, n)``.
    """

    pose: np.ndarray
    screw: np.ndarray
    inward: np.ndarray
    ten: np.ndarray
    axis: np.ndarray
    axis_rate: np.ndarray
    axis_second_rate: np.ndarray
    twist: np.ndarray
    rate: np.ndarray
    joint_rate: np.ndarray
    wrench: np.ndarray
    load: np.ndarray
    own: np.ndarray
    composite: np.ndarray
    momenta: np.ndarray
    pairs: np.ndarray
    mass: np.ndarray
    acceleration: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_parameters: np.ndarray
    gear: np.ndarray


def tree_values(
    model: SampleModel, values: np.ndarray, slots: np.ndarray, coupled: bool
) -> TreeValues:
    """Parameter values in the order of the compiled dynamics, inertias as second moments.

    Args:
        model: The model.
        values: All parameter values, bodies before joint terms, shape ``(p,)``.
        slots: See :class:`TreeValues`, shape ``(p,)``.
        coupled: See :class:`TreeValues`.
    """
    values = np.asarray(values, dtype=float)
    first = len(values) - len(model.terms.weights)
    inertial = np.zeros((len(model.parent), 10))
    inertial[model.column >= 0] = values[:first].reshape(-1, 10)
    # Second moments have half the trace less the moments of inertia on their diagonal.
    inertial[:, 4:] *= -1.0
    inertial[:, [4, 6, 9]] -= 0.5 * inertial[:, [4, 6, 9]].sum(axis=1, keepdims=True)
    free_bodies = np.zeros(len(model.parent), dtype=bool)
    free_bodies[model.column >= 0] = (slots[:first].reshape(-1, 10) >= 0).any(axis=1)
    loaded = bool(model.terms.laws.code[:, BY_LOAD].any())
    return TreeValues(inertial, values[first:].copy(), slots, free_bodies, coupled, loaded)


def tree_workspace(model: SampleModel, columns: int) -> TreeWorkspace:
    """Workspace for the samples of a model.

    Args:
        model: The model.
        columns: How many parameters to differentiate by.
    """
    bodies, joints = model.coupling.shape
    shapes = (
        (bodies, 12), (bodies, 3), (9,), (10,), *((bodies, 6),) * 8, (bodies, 10),
        (bodies, 10), (bodies, 12), (3, bodies, bodies), (joints, joints), (joints,),
        (joints, joints), (joints, joints), (joints, columns), (4, joints))
    return TreeWorkspace(*(np.zeros(shape) for shape in shapes))
