r"""Normal equations of a torque model, accumulated without ever holding its regressor.

A block of samples at a time is written joint by joint into slabs that have a row only for what
acts on that joint, and each slab is multiplied by its transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from sysid_ros.dynamics.regressor import tree_motion
from sysid_ros.dynamics.regressor_kernels import LANES, fill_slabs
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ParameterError
from sysid_ros.robot.tree import KinematicTree

# Samples per block. Not a power of two: the rows of a slab would then compete for the same places
# in the cache.
_BLOCK = 9 * LANES


@dataclass(frozen=True, eq=False)
class NormalEquations:
    r"""What the weighted squares of torque residuals depend on.

    :math:`\sum_j w_j \|\tau_j - \Gamma_j\theta\|^2 = \theta^T A\,\theta - 2\,b^T\theta + c`.
    The condition number of A is the square of the rows': for a fit or a rank take
    :class:`~sysid_ros.estimation.joint_factors.JointFactors`.

    Attributes:
        matrix: :math:`A = \Gamma^T W \Gamma`, the information about the parameters, ``(p, p)``.
        vector: :math:`b = \Gamma^T W \tau`, shape ``(p,)``.
        square: :math:`c = \tau^T W \tau`.
    """

    matrix: np.ndarray
    vector: np.ndarray
    square: float


def normal_equations(
    model: TorqueModel,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    tau: np.ndarray,
    *,
    weights: Sequence[float] | np.ndarray | None = None,
    usable: np.ndarray | None = None,
) -> NormalEquations:
    r"""Accumulate the normal equations of all columns, inertial ones and joint terms.

    Args:
        model: Torque model, with n independent joints and p parameters; nonlinear terms count
            with the columns they have where the model stands.
        q: Joint positions in [rad] or [m], shape ``(T, n)``.
        v: Joint velocities, shape ``(T, n)``.
        a: Joint accelerations, shape ``(T, n)``.
        tau: Joint torques in [N·m] or [N], shape ``(T, n)``.
        weights: Weight :math:`w_j` of each joint's rows, shape ``(n,)``; for torque noise
            :math:`\sigma_j` that is :math:`\sigma_j^{-2}`. All one by default.
        usable: True where a row counts, shape ``(T, n)``; all by default.

    Returns:
        The normal equations.

    Raises:
        ParameterError: The arrays do not fit the robot, a weight is negative, or a row that
            counts holds a value that is not finite.

    References:
        Khalil and Dombre 2002, chapter 12.
    """
    joints = len(model.robot.joint_names)
    for name, array in (('tau', tau), ('usable', usable)):
        if array is not None and array.shape != (len(q), joints):
            raise ParameterError(
                'the shape is not that of the motion', where=name, found=array.shape,
                allowed=(len(q), joints),
            )
    weights = _checked_weights(weights, joints)
    if model.robot.loops is None:
        total = _tree_total(model, (q, v, a), tau, weights, usable)
    else:
        total = _closed_total(model, (q, v, a), tau, weights, usable)
    if not np.isfinite(total).all():
        raise ParameterError(
            'motion or torque holds a value that is not finite', fix='Mask or mend such samples'
        )
    return NormalEquations(total[:-1, :-1], total[:-1, -1], float(total[-1, -1]))


def _tree_total(
    model: TorqueModel, motion: tuple[np.ndarray, ...], tau: np.ndarray, weights: np.ndarray,
    usable: np.ndarray | None,
) -> np.ndarray:
    """Products of all columns and the torque, slab by slab, shape ``(p + 1, p + 1)``."""
    q, v, a = motion
    moved = tree_motion(model.robot, q, v, a)
    # Drive gains divide the columns of their joint: rows of torques times gains weigh less.
    scaled = weights / model.gains**2
    tau = tau * model.gains
    slabs = _Slabs(model)
    for start in range(0, len(q), _BLOCK):
        block = slice(start, start + _BLOCK)
        slabs.fill(*(x[block] for x in moved))
        terms = model.term_regressor(q[block], v[block], a[block])
        for joint in range(tau.shape[1]):
            slabs.add(joint, terms[:, joint], tau[block, joint],
                      None if usable is None else usable[block, joint])
    return slabs.total(scaled)


def _closed_total(
    model: TorqueModel, motion: tuple[np.ndarray, ...], tau: np.ndarray, weights: np.ndarray,
    usable: np.ndarray | None,
) -> np.ndarray:
    """The same where loops are closed, so that every driven joint moves nearly all bodies."""
    total = np.zeros((len(model.parameters) + 1,) * 2)
    for start in range(0, len(tau), _BLOCK):
        block = slice(start, start + _BLOCK)
        regressor = model.regressor(*(x[block] for x in motion))
        rows = np.concatenate([regressor, tau[block, :, None]], axis=2)
        rows *= np.sqrt(weights)[:, None]
        if usable is not None:
            rows[~usable[block]] = 0.0
        flat = rows.reshape(-1, len(total))
        total += flat.T @ flat
    return total


def _checked_weights(weights: Sequence[float] | np.ndarray | None, joints: int) -> np.ndarray:
    checked = np.ones(joints) if weights is None else np.asarray(weights, dtype=float)
    if checked.shape != (joints,) or not (np.isfinite(checked) & (checked >= 0.0)).all():
        raise ParameterError(
            'the weights cannot be used', where='weights', found=checked.tolist(),
            allowed=f'{joints} numbers, zero or more',
        )
    return checked


class _Slabs:
    """Columns that act on each joint as rows of samples, and the sums of their products."""

    def __init__(self, model: TorqueModel) -> None:
        self._model = model
        self._tree = model.robot.tree
        subtrees = _subtrees(self._tree)
        joints = len(model.robot.joint_names)
        # Bodies that a joint moves, by itself or by what is coupled to it, and their columns.
        moved = (np.abs(self._tree.coupling.T) @ subtrees) > 0.0
        self._of_tree = [_inertial_columns(bodies) for bodies in subtrees]
        self._of_joint = [_inertial_columns(bodies) for bodies in moved]
        self._first_row = 10 * (np.cumsum(subtrees, axis=1) - 1)
        # Bodies without parameters have columns here too; the total drops them.
        self._terms = len(model.parameters) - np.count_nonzero(self._tree.columns)
        height = 10 * len(subtrees) + self._terms + 1
        self._tree_slabs = np.zeros((len(subtrees), height, _BLOCK))
        self._slabs = (
            np.zeros((joints, height, _BLOCK)) if self._tree.is_coupled else self._tree_slabs
        )
        self._sums: dict[tuple[int, bytes], np.ndarray] = {}

    def fill(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        """Write the inertial rows of a block, shapes ``(at most _BLOCK, b)``."""
        tree = self._tree
        fill_slabs(
            tree.parent, tree.rotation, tree.translation, tree.axis, tree.revolute,
            self._model.robot.gravity, q, v, a, self._first_row, self._tree_slabs,
        )
        if not tree.is_coupled:
            return
        self._slabs[:] = 0.0
        for body, joint in zip(*np.nonzero(tree.coupling), strict=True):
            rows = self._of_tree[body]
            target = np.searchsorted(self._of_joint[joint], rows)
            self._slabs[joint, target] += (
                tree.coupling[body, joint] * self._tree_slabs[body, :len(rows)]
            )

    def add(
        self, joint: int, terms: np.ndarray, torque: np.ndarray, usable: np.ndarray | None
    ) -> None:
        """Complete the slab of a joint by term columns ``(T, k)`` and torque, and sum it up."""
        slab, inertial = self._slabs[joint], len(self._of_joint[joint])
        active = np.any(terms != 0.0, axis=0)
        last = inertial + np.count_nonzero(active)
        samples = len(torque)
        slab[inertial:last, :samples] = terms[:, active].T
        slab[last, :samples] = torque
        # The last block is shorter, and the slab still holds the one before.
        slab[:last + 1, samples:] = 0.0
        if usable is not None:
            slab[:last + 1, :samples][:, ~usable] = 0.0
        key = (joint, active.tobytes())
        if key not in self._sums:
            self._sums[key] = np.zeros((last + 1, last + 1), order='F')
        self._sums[key] = dsyrk(
            1.0, slab[:last + 1].T, beta=1.0, c=self._sums[key], trans=1, overwrite_c=1
        )

    def total(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum over all joints in the order of parameters, torque last."""
        inertial = 10 * len(self._first_row)
        last = inertial + self._terms
        total = np.zeros((last + 1, last + 1))
        for (joint, active), upper in self._sums.items():
            columns = np.concatenate([
                self._of_joint[joint],
                inertial + np.flatnonzero(np.frombuffer(active, dtype=bool)),
                [last],
            ])
            full = np.triu(upper) + np.triu(upper, 1).T
            total[np.ix_(columns, columns)] += weights[joint] * full
        kept = np.append(self._tree.columns, np.ones(self._terms + 1, dtype=bool))
        return total[np.ix_(kept, kept)]


def _subtrees(tree: KinematicTree) -> np.ndarray:
    """Which bodies each body carries, itself among them, shape ``(b, b)``."""
    subtrees = np.eye(len(tree.parent), dtype=bool)
    for body in range(len(subtrees) - 1, 0, -1):
        if tree.parent[body] >= 0:
            subtrees[tree.parent[body]] |= subtrees[body]
    return subtrees


def _inertial_columns(bodies: np.ndarray) -> np.ndarray:
    """Columns of the inertial parameters of the bodies in a mask."""
    return np.flatnonzero(np.repeat(bodies, 10))
