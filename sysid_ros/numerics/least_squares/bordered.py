r"""Normal equations of parameters that pieces share, and of starts that each has for itself.

.. math:: \begin{pmatrix} A & B_1^\top & \cdots \\ B_1 & C_1 & \\ \vdots & & \ddots
          \end{pmatrix} \begin{pmatrix} \delta\theta \\ \delta x_1 \\ \vdots \end{pmatrix}
          = -\begin{pmatrix} g \\ g_1 \\ \vdots \end{pmatrix}

The starts are eliminated piece by piece (Schur complement), which leaves k equations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.numerics.least_squares.damped import DampedStep, deviations_of

# Eigenvalues below this part of the largest, of a matrix with a unit diagonal, are rounding.
_RANK_TOLERANCE = 1e-14


@dataclass(frozen=True, eq=False)
class Bordered:
    """The equations of P pieces with z start values each and k shared parameters.

    Attributes:
        shared: The block A, shape ``(k, k)``.
        mixed: The blocks B, shape ``(P, z, k)``.
        own: The blocks C, shape ``(P, z, z)``.
        gradient: Of the cost by the parameters, shape ``(k,)``.
        gradients: By the starts, shape ``(P, z)``.
    """

    shared: np.ndarray
    mixed: np.ndarray
    own: np.ndarray
    gradient: np.ndarray
    gradients: np.ndarray

    @classmethod
    def of(cls, hessians: np.ndarray, gradients: np.ndarray, starts: int) -> Bordered:
        """From the equations of every piece by itself.

        Args:
            hessians: Starts before parameters, shape ``(P, z + k, z + k)``.
            gradients: Shape ``(P, z + k)``.
            starts: How many start values z there are.
        """
        z = starts
        return cls(
            hessians[:, z:, z:].sum(axis=0), hessians[:, :z, z:], hessians[:, :z, :z],
            gradients[:, z:].sum(axis=0), gradients[:, :z])

    def damped(self, damping: float) -> Bordered:
        """With the diagonal times one plus the damping (Marquardt 1963)."""
        shared, own = self.shared.copy(), self.own.copy()
        for block, scale in ((shared, self.scale), (own, self.scales)):
            k = np.arange(block.shape[-1])
            block[..., k, k] += damping * scale**2
        return replace(self, shared=shared, own=own)

    @cached_property
    def scale(self) -> np.ndarray:
        """Root of the diagonal of A, one where it is zero, shape ``(k,)``."""
        return _scale(self.shared)

    @cached_property
    def scales(self) -> np.ndarray:
        """Root of the diagonals of the blocks C, one where it is zero, shape ``(P, z)``."""
        return _scale(self.own)

    @cached_property
    def elimination(self) -> np.ndarray:
        r"""Elimination of the starts, :math:`C^{-1} B`, shape ``(P, z, k)``."""
        return self._adapted(self.mixed)

    def _adapted(self, right: np.ndarray) -> np.ndarray:
        """Inverses of the blocks C times something, ``(P, z, ...)``; least where singular."""
        scales = self.scales
        unit = self.own / (scales[:, :, None] * scales[:, None, :])
        inverse = np.linalg.pinv(unit, rcond=_RANK_TOLERANCE, hermitian=True)
        return inverse @ (right / scales[:, :, None]) / scales[:, :, None]

    @cached_property
    def reduced(self) -> np.ndarray:
        """Schur complement of A after elimination of the starts, shape ``(k, k)``."""
        reduced = self.shared - np.einsum('pzk,pzl->kl', self.mixed, self.elimination)
        return 0.5 * (reduced + reduced.T)

    def step(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve within bounds of the parameters' steps.

        Args:
            lower: Least steps, at most zero, shape ``(k,)``.
            upper: Largest steps, at least zero, shape ``(k,)``.

        Returns:
            Steps of the parameters ``(k,)`` and of the starts ``(P, z)``.
        """
        gradient = self.gradient - np.einsum('pzk,pz->k', self.elimination, self.gradients)
        values, vectors = np.linalg.eigh(self.reduced / np.outer(self.scale, self.scale))
        kept = values > _RANK_TOLERANCE * max(float(values.max(initial=0.0)), _RANK_TOLERANCE)
        root = np.sqrt(values[kept])
        right = -(vectors[:, kept].T @ (gradient / self.scale)) / root
        shared = vectors[:, kept] @ (right / root) / self.scale
        if not ((shared >= lower) & (shared <= upper)).all():
            rows = root[:, None] * vectors[:, kept].T
            shared = _bounded(rows * self.scale, right, lower, upper)
        own = -self._adapted(self.gradients[:, :, None])[:, :, 0] - self.elimination @ shared
        return shared, own

    def damped_step(self, damping: float, lower: np.ndarray, upper: np.ndarray) -> DampedStep:
        """A damped step within bounds; see :meth:`step`."""
        shared, own = self.damped(damping).step(lower, upper)
        return DampedStep(
            own, shared, self.promised(shared, own), self.size(shared),
            deviations_of(self.reduced, shared), None)

    def promised(self, shared: np.ndarray, own: np.ndarray) -> float:
        """Decrease of the cost that the quadratic model predicts for a step.

        Args:
            shared: Steps of the parameters, shape ``(k,)``.
            own: Steps of the starts, shape ``(P, z)``.
        """
        slope = self.gradient @ shared + np.sum(self.gradients * own)
        second_derivative = shared @ self.shared @ shared + np.einsum('pz,pzy,py->', own, self.own,
            own)
        second_derivative += 2.0 * np.einsum('pz,pzk,k->', own, self.mixed, shared)
        return float(-slope - 0.5 * second_derivative)

    def size(self, shared: np.ndarray) -> float:
        """Length of the parameters' step in units of their scale."""
        return float(np.linalg.norm(self.scale * shared))

    def steepness(self, lower: np.ndarray, upper: np.ndarray) -> float:
        """Largest part of the gradient over the scale, but for what bounds forbid to follow.

        Args:
            lower: Least steps, zero where a parameter is at its bound, shape ``(k,)``.
            upper: Largest steps, zero where a parameter is at its bound, shape ``(k,)``.
        """
        stuck = ((self.gradient > 0.0) & (lower >= 0.0)) | ((self.gradient < 0.0) & (upper <= 0.0))
        parts = [np.abs(self.gradient / self.scale)[~stuck], np.abs(self.gradients / self.scales)]
        return max(float(part.max(initial=0.0)) for part in parts)


def _scale(blocks: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(blocks, axis1=-2, axis2=-1)
    return np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _bounded(
    rows: np.ndarray, right: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Least squares within bounds, in units in which the columns are alike."""
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0.0] = 1.0
    solution = np.zeros(len(lower))
    wide = lower < upper
    if not wide.any():
        return solution
    found = lsq_linear(
        rows[:, wide] / scale[wide], right,
        bounds=(lower[wide] * scale[wide], upper[wide] * scale[wide]), method='bvls')
    solution[wide] = found.x / scale[wide]
    return np.clip(solution, lower, upper)
