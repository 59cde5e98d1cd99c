r"""All that least squares needs from any number of rows, in one small triangle per joint.

Tall-skinny QR: a chunk of rows is stacked below the triangle of the rows before it and both
are made one triangle. Nothing but rounding is lost, which the normal equations would square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.linalg.lapack

from sysid_ros.errors import EstimationError
from sysid_ros.numerics.column_rank import ColumnRank, column_rank

# Rows per step: enough for the work to outweigh the calls, few enough to stay in the cache.
_CHUNK = 512
# Columns that a block reflector of LAPACK takes at once.
_BLOCK = 8


@dataclass(frozen=True, eq=False)
class JointFactors:
    r"""Triangular factors :math:`R_j` of :math:`[\Gamma_j \mid \tau_j]`, joint by joint.

    For any parameters :math:`\|R_j [\theta; -1]\|` is the size of the joint's residuals.
    Joints are kept apart so that their weights may change, and because most columns are zero
    in the rows of most joints.

    Attributes:
        triangles: Upper triangular, shape ``(n, p + 1, p + 1)``; rows and columns of
            parameters that never acted on a joint are zero.
        counts: Rows folded in so far, shape ``(n,)``.
    """

    triangles: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls, joints: int, parameters: int) -> JointFactors:
        """Factors of no rows at all, of n joints and p parameters."""
        columns = parameters + 1
        return cls(np.zeros((joints, columns, columns)), np.zeros(joints, dtype=int))

    def folded(
        self, regressor: np.ndarray, torque: np.ndarray, usable: np.ndarray | None = None
    ) -> JointFactors:
        """The factors with further rows.

        Args:
            regressor: Rows of the regressor, shape ``(T, n, p)``, with any T.
            torque: Rows of the torque in [N·m] or [N], shape ``(T, n)``.
            usable: True where a row counts, shape ``(T, n)``; all by default.

        Returns:
            New factors, as if all rows had been given at once.

        Raises:
            EstimationError: The arrays do not fit each other or these factors, or a usable
                row holds a value that is not finite.

        References:
            Demmel, Grigori, Hoemmen and Langou 2012 (sequential TSQR).
        """
        joints, columns, _ = self.triangles.shape
        if usable is None:
            usable = np.ones(torque.shape, dtype=bool)
        expected = (len(regressor), joints)
        if not (regressor.shape == (*expected, columns - 1)
                and torque.shape == usable.shape == expected):
            raise EstimationError(
                'the rows do not belong to these factors',
                found=f'{regressor.shape}, {torque.shape} and {usable.shape}',
                allowed=f'(T, {joints}, {columns - 1}), (T, {joints}) and (T, {joints})',
            )
        triangles = self.triangles.copy()
        for joint, triangle in enumerate(triangles):
            _fold(triangle, regressor[:, joint], torque[:, joint], usable[:, joint])
        if not np.isfinite(triangles).all():
            raise EstimationError(
                'the rows hold a value that is not finite',
                fix='Check the recording and the filters',
            )
        return JointFactors(triangles, self.counts + usable.sum(axis=0))

    @classmethod
    def merged(cls, parts: Sequence[JointFactors]) -> JointFactors:
        """Factors of all rows that one or more factors hold.

        Args:
            parts: Factors of the same joints and parameters.
        """
        triangles = np.zeros_like(parts[0].triangles)
        for joint, triangle in enumerate(triangles):
            rows = np.concatenate([
                own[np.any(own, axis=1)] for own in (part.triangles[joint] for part in parts)])
            active = np.flatnonzero(np.any(rows, axis=0))
            if not active.size:
                continue
            # Columns that are zero stay out of the factorisation, so that they stay zero.
            factor = scipy.linalg.qr(
                rows[:, active], mode='r', overwrite_a=True, check_finite=False)[0]
            factor = factor[:len(active)]
            triangle[np.ix_(active[:len(factor)], active)] = factor
        return cls(triangles, np.sum([part.counts for part in parts], axis=0))

    def rank(self) -> ColumnRank:
        """How many combinations of the p parameters the rows of all joints determine."""
        columns = self.triangles.shape[2]
        return column_rank(self.triangles.reshape(-1, columns)[:, :-1])


def _fold(
    triangle: np.ndarray, regressor: np.ndarray, torque: np.ndarray, usable: np.ndarray
) -> None:
    """Fold rows of one joint, shape ``(T, p)``, into its triangle, in place."""
    active: np.ndarray = np.any(triangle, axis=0)
    # Without it a joint whose torque begins with zeros would be told from one without rows.
    active[-1] = True
    compact = triangle[np.ix_(active, active)]
    for start in range(0, len(regressor), _CHUNK):
        counted = usable[start:start + _CHUNK]
        rows, right = regressor[start:start + _CHUNK], torque[start:start + _CHUNK]
        if not counted.all():
            rows, right = rows[counted], right[counted]
        silent = np.flatnonzero(~active)
        woken = silent[np.any(rows[:, silent] != 0.0, axis=0)]
        if woken.size:
            triangle[np.ix_(active, active)] = compact
            active[woken] = True
            compact = triangle[np.ix_(active, active)]
        compact = _stacked(compact, rows[:, active[:-1]], right)
    triangle[np.ix_(active, active)] = compact


def _stacked(triangle: np.ndarray, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Triangle of a triangle with rows ``[rows | right]`` below; shape ``(c, c)``."""
    if not len(rows):
        return triangle
    below = np.empty((len(rows), len(triangle)), order='F')
    below[:, :-1], below[:, -1] = rows, right
    factor, _, _, info = scipy.linalg.lapack.dtpqrt(
        0, min(_BLOCK, len(triangle)), triangle, below, overwrite_a=True, overwrite_b=True
    )
    if info:
        raise EstimationError('LAPACK refuses to factorise the rows', found=f'dtpqrt {info}')
    return factor
