r"""Linear least squares of parameters that pieces share, and of starts that each has for itself.

.. math:: \min_{\delta\theta,\ \delta x_p} \tfrac12 \sum_p
          \|X_p\, \delta x_p + \Theta_p\, \delta\theta + r_p\|^2

The starts are eliminated piece by piece, by orthogonal factors :math:`[X_p\ \Theta_p\ r_p] = Q_p
R_p`, whose lower rows are what is left for k parameters. Normal equations would not do: motion that
is simulated for long depends on its start :math:`10^5` times more than at first, and what is left
after subtracting squares of that is rounding (Golub and Van Loan 2013, section 5.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.numerics.decomposition import svd
from sysid_ros.numerics.least_squares.damped import DampedStep, deviations_of

# Singular values below this part of the largest, of columns of unit length, are rounding.
_RANK_TOLERANCE = 1e-7
# Damping that holds starts which nothing determines, and no others.
_HOLDING = 1e-24
# Entries of a matrix for which OpenBLAS stays in one thread (8192 of a rank-one update).
_ENTRIES = 8000


@dataclass(frozen=True, eq=False)
class Bordered:
    """The rows of P pieces with z start values each and k shared parameters.

    Attributes:
        factors: Factors R of each piece, or any rows with the same squares: columns of its starts
            before those of the parameters, and residuals last, shape ``(P, m, z + k + 1)``.
        starts: How many start values z there are.
    """

    factors: np.ndarray
    starts: int

    @classmethod
    def of(cls, hessians: np.ndarray, gradients: np.ndarray, starts: int) -> Bordered:
        """From the normal equations of every piece by itself.

        Args:
            hessians: Starts before parameters, shape ``(P, z + k, z + k)``.
            gradients: Of the cost, shape ``(P, z + k)``.
            starts: How many start values z there are.
        """
        scale = np.sqrt(np.diagonal(hessians, axis1=1, axis2=2))
        scale = np.where(scale > 0.0, scale, 1.0)
        values, vectors = np.linalg.eigh(hessians / (scale[:, :, None] * scale[:, None, :]))
        root = np.sqrt(np.maximum(values, 0.0))
        kept = root > _RANK_TOLERANCE * root.max(axis=1, initial=0.0, keepdims=True)
        rows = root[:, :, None] * np.swapaxes(vectors, 1, 2) * scale[:, None, :]
        along = np.einsum('pij,pi->pj', vectors, gradients / scale)
        right = np.where(kept, along / np.where(kept, root, 1.0), 0.0)
        return cls(np.concatenate([rows, right[:, :, None]], axis=2), starts)

    @classmethod
    def of_rows(cls, pieces: Iterable[np.ndarray], starts: int) -> Bordered:
        """From the rows of every piece.

        Args:
            pieces: Derivatives by the starts, by the parameters, and residuals, shape
                ``(m, z + k + 1)`` each, m as it comes.
            starts: How many start values z there are.
        """
        return cls(np.stack([_triangle(rows) for rows in pieces]), starts)

    @cached_property
    def scale(self) -> np.ndarray:
        """Lengths of the parameters' columns, one where it is zero, shape ``(k,)``."""
        return _lengths(self.factors[:, :, self.starts:-1], (0, 1))

    @cached_property
    def scales(self) -> np.ndarray:
        """Lengths of the starts' columns, one where it is zero, shape ``(P, z)``."""
        return _lengths(self.factors[:, :, :self.starts], 1)

    @property
    def gradient(self) -> np.ndarray:
        """Gradient of the cost by the parameters, shape ``(k,)``."""
        factors = self.factors
        return np.einsum('pmk,pm->k', factors[:, :, self.starts:-1], factors[:, :, -1])

    @property
    def gradients(self) -> np.ndarray:
        """Gradient of the cost by the starts, shape ``(P, z)``."""
        factors = self.factors
        return np.einsum('pmz,pm->pz', factors[:, :, :self.starts], factors[:, :, -1])

    @cached_property
    def elimination(self) -> np.ndarray:
        r"""What starts adapt by, :math:`X^+ \Theta`, shape ``(P, z, k)``."""
        factors = self._eliminated(0.0)
        own = factors[:, :self.starts]
        return np.linalg.solve(own[:, :, :self.starts], own[:, :, self.starts:-1])

    @cached_property
    def reduced(self) -> np.ndarray:
        """Information of the parameters, starts adapted, shape ``(k, k)``."""
        rows = self._left(self._eliminated(0.0))[:, :-1]
        return rows.T @ rows

    def _eliminated(self, damping: float) -> np.ndarray:
        """Factors with damped starts ahead of what is left of the parameters."""
        pieces, _, width = self.factors.shape
        held, k = np.zeros((pieces, self.starts, width)), np.arange(self.starts)
        held[:, k, k] = np.sqrt(max(damping, _HOLDING)) * self.scales
        return np.asarray(np.linalg.qr(np.concatenate([self.factors, held], axis=1), mode='r'))

    def _left(self, factors: np.ndarray) -> np.ndarray:
        """Rows that are left of the parameters and residuals, shape ``(m, k + 1)``."""
        left = factors[:, self.starts:, self.starts:]
        return _triangle(left.reshape(-1, left.shape[2]))

    def step(
        self, lower: np.ndarray, upper: np.ndarray, damping: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve within bounds of the parameters' steps.

        Args:
            lower: Least steps, at most zero, shape ``(k,)``.
            upper: Largest steps, at least zero, shape ``(k,)``.
            damping: Marquardt's parameter (1963), in squares of :attr:`scale` and :attr:`scales`.

        Returns:
            Steps of the parameters ``(k,)`` and of the starts ``(P, z)``.
        """
        factors, z = self._eliminated(damping), self.starts
        left = self._left(factors)
        held = np.sqrt(damping) * np.diag(self.scale)
        rows = np.concatenate([left[:, :-1], held])
        right = -np.concatenate([left[:, -1], np.zeros(len(held))])
        shared = _least(rows, right)
        if not ((shared >= lower) & (shared <= upper)).all():
            shared = _bounded(rows, right, lower, upper)
        own = factors[:, :z, z:-1] @ shared + factors[:, :z, -1]
        return shared, -np.linalg.solve(factors[:, :z, :z], own[:, :, None])[:, :, 0]

    def damped_step(self, damping: float, lower: np.ndarray, upper: np.ndarray) -> DampedStep:
        """A damped step within bounds; see :meth:`step`."""
        shared, own = self.step(lower, upper, damping)
        return DampedStep(
            own, shared, self.promised(shared, own), self.size(shared),
            deviations_of(self.reduced, shared), None)

    def promised(self, shared: np.ndarray, own: np.ndarray) -> float:
        """Decrease of the cost that the quadratic model predicts for a step.

        Args:
            shared: Steps of the parameters, shape ``(k,)``.
            own: Steps of the starts, shape ``(P, z)``.
        """
        factors, z = self.factors, self.starts
        change = np.einsum('pmz,pz->pm', factors[:, :, :z], own) + factors[:, :, z:-1] @ shared
        return float(-np.sum(change * (factors[:, :, -1] + 0.5 * change)))

    def size(self, shared: np.ndarray) -> float:
        """Length of the parameters' step in units of their scale."""
        return float(np.linalg.norm(self.scale * shared))

    def steepness(self, lower: np.ndarray, upper: np.ndarray) -> float:
        """Largest part of the gradient over the scale, but for what bounds forbid to follow.

        Args:
            lower: Least steps, zero where a parameter is at its bound, shape ``(k,)``.
            upper: Largest steps, zero where a parameter is at its bound, shape ``(k,)``.
        """
        gradient = self.gradient
        stuck = ((gradient > 0.0) & (lower >= 0.0)) | ((gradient < 0.0) & (upper <= 0.0))
        parts = [np.abs(gradient / self.scale)[~stuck], np.abs(self.gradients / self.scales)]
        return max(float(part.max(initial=0.0)) for part in parts)


def _lengths(columns: np.ndarray, along: int | tuple[int, ...] = 0) -> np.ndarray:
    """Lengths of columns, whose entries are along some axes; one where it is zero."""
    lengths = np.sqrt(np.square(columns).sum(axis=along))
    return np.where(lengths > 0.0, lengths, 1.0)


def _triangle(rows: np.ndarray) -> np.ndarray:
    """Upper triangular factor of rows ``(m, n)``, with as many rows as columns.

    Tall matrices are factorised by blocks, then what is left of these (TSQR): for blocks of this
    size BLAS wakes no threads, which on a busy processor wait for each other at every column.

    References:
        Demmel, Grigori, Hoemmen and Langou 2012.
    """
    width = rows.shape[1]
    block = max(2 * width, _ENTRIES // max(width, 1))
    while len(rows) > block:
        count = -(-len(rows) // block)
        padded = np.zeros((count * block, width))
        padded[:len(rows)] = rows
        factors = np.linalg.qr(padded.reshape(count, block, width), mode='r')
        rows = np.asarray(factors).reshape(count * width, width)
    found = np.linalg.qr(rows, mode='r')
    return np.concatenate([found, np.zeros((width - len(found), width))])


def _least(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least squares, nothing along what the rows do not determine."""
    if not rows.shape[1]:
        return np.zeros(0)
    scale = _lengths(rows)
    left, values, vectors = svd(rows / scale, full_matrices=False)
    kept = values > _RANK_TOLERANCE * values.max(initial=0.0)
    return np.asarray(vectors[kept].T @ ((left.T @ right)[kept] / values[kept]) / scale)


def _bounded(
    rows: np.ndarray, right: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Least squares within bounds, in units in which the columns are alike."""
    scale = _lengths(rows)
    solution = np.zeros(len(lower))
    wide = lower < upper
    if not wide.any():
        return solution
    found = lsq_linear(
        rows[:, wide] / scale[wide], right,
        bounds=(lower[wide] * scale[wide], upper[wide] * scale[wide]), method='bvls')
    solution[wide] = found.x / scale[wide]
    return np.clip(solution, lower, upper)
