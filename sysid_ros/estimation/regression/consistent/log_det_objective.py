r"""The objective of a fit with a log-det prior of bodies, and its quadratic models."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.estimation.regression.consistent.interior_point.program import (
    ConstrainedLeastSquares,
)
from sysid_ros.estimation.regression.directions import DataDirections

# Curvatures below this part of a body's least are no rows of their own.
_NO_CURVATURE = 1e-6


class LogDetObjective:
    r"""Half the squared weighted residual and s times the divergence from the prior.

    With whitened pseudo-inertias :math:`\bar L_i(z)`, one at the prior, the divergence of a body
    is :math:`\mathrm{tr}\,\bar L_i - \log\det\bar L_i - 4`; that of a joint term
    is half its squared distance in the prior's steps.

    Args:
        directions: What the weighted rows tell.
        allowed: What physics allows.
        margin: Smallest consistency margin of a body, which ``allowed`` has subtracted.
        strength: Weight s of the prior.
    """

    def __init__(
        self, directions: DataDirections, allowed: FeasibleSet, margin: float, strength: float
    ) -> None:
        self.allowed, self.strength = allowed, strength
        self._weights, self._rows, self._target = directions.principal_rows
        self._margin = margin * np.eye(4)
        of_terms = np.ones(self._rows.shape[1], dtype=bool)
        for start, stop in allowed.steps.tolist():
            of_terms[start:stop] = False
        self._terms = np.flatnonzero(of_terms)

    @cached_property
    def inside(self) -> np.ndarray:
        """A point strictly inside of what is allowed, shape ``(f,)``."""
        return self.allowed.require_interior()

    @property
    def start(self) -> np.ndarray:
        """Where the minimum is sought from, strictly inside, shape ``(f,)``."""
        return self.inside

    def misfit(self, z: np.ndarray) -> float:
        """Half the squared weighted residual."""
        residual = self._residual(z)
        return 0.5 * float(residual @ residual)

    def value(self, z: np.ndarray) -> float:
        """The objective; infinite where a body is not consistent."""
        try:
            roots = np.linalg.cholesky(self._pseudo_inertias(z))
        except np.linalg.LinAlgError:
            return np.inf
        # With L = R R^T, tr L sums squares of R, log det L twice the logarithms of its diagonal.
        diagonal = np.diagonal(roots, axis1=1, axis2=2)
        divergence = np.sum(roots**2) - 2.0 * np.sum(np.log(diagonal)) - 4.0 * len(roots)
        terms = z[self._terms]
        return self.misfit(z) + self.strength * float(divergence + 0.5 * terms @ terms)

    def prior_gradient(self, z: np.ndarray) -> np.ndarray:
        """Gradient of the weighted prior at a consistent point, shape ``(f,)``."""
        inverse = np.linalg.inv(self._pseudo_inertias(z))
        gradient = np.einsum('cfij,cij->f', self.allowed.slopes, np.eye(4) - inverse)
        gradient[self._terms] += z[self._terms]
        return self.strength * gradient

    def prior_curvature(self, z: np.ndarray) -> np.ndarray:
        """Hessian of the weighted prior at a consistent point, shape ``(f, f)``."""
        hessian = np.zeros((len(z), len(z)))
        hessian[self._terms, self._terms] = self.strength
        for (start, stop), rows in zip(self.allowed.steps, self._curvature_roots(z), strict=True):
            hessian[start:stop, start:stop] = rows.T @ rows
        return hessian

    def predicted(self, z: np.ndarray, step: np.ndarray) -> tuple[float, float]:
        """Slope of the objective along a step ``(f,)``, and the decrease its model predicts."""
        change = self._weights * (self._rows @ step)
        slope = float(self._residual(z) @ change + self.prior_gradient(z) @ step)
        second_derivative = change @ change + self.strength * step[self._terms] @ step[self._terms]
        for (start, stop), rows in zip(self.allowed.steps, self._curvature_roots(z), strict=True):
            along = rows @ step[start:stop]
            second_derivative += along @ along
        return slope, -(slope + 0.5 * float(second_derivative))

    def model(self, z: np.ndarray) -> ConstrainedLeastSquares:
        """Newton's model of the objective at a consistent point, with all constraints.

        Each body's least curvature is a weight of its steps, which makes the model strictly
        convex; what exceeds it becomes further rows.
        """
        quadratic = np.full(len(z), self.strength)
        weights, rows = [self._weights], [self._rows]
        for (start, stop), roots in zip(self.allowed.steps, self._curvature_roots(z), strict=True):
            # Of a factor, since squares would lose the least curvature beside a boundary.
            _, values, vectors = np.linalg.svd(roots, full_matrices=False)
            quadratic[start:stop] = values[-1] ** 2
            excess = (values - values[-1]) * (values + values[-1])
            more = excess > _NO_CURVATURE * values[-1] ** 2
            weights.append(np.sqrt(excess[more]))
            rows.append(np.zeros((np.count_nonzero(more), len(z))))
            rows[-1][:, start:stop] = vectors[more]
        scales, known = np.concatenate(weights), np.vstack(rows)
        target = scales * (known @ z)
        target[:len(self._target)] = self._target
        return ConstrainedLeastSquares(
            scales, known, target, quadratic, self.prior_gradient(z) - quadratic * z, self.allowed)

    def _residual(self, z: np.ndarray) -> np.ndarray:
        return self._weights * (self._rows @ z) - self._target

    def _pseudo_inertias(self, z: np.ndarray) -> np.ndarray:
        """Whitened pseudo-inertias, shape ``(c, 4, 4)``."""
        return self.allowed.pseudo_inertias(z) + self._margin

    def _curvature_roots(self, z: np.ndarray) -> list[np.ndarray]:
        """Of each body R with R^T R the Hessian of its weighted divergence, ``(16, steps)``."""
        inverses = np.linalg.inv(np.linalg.cholesky(self._pseudo_inertias(z)))
        return [
            np.sqrt(self.strength) * (
                inverse @ slopes[start:stop] @ inverse.T).reshape(-1, 16).T
            for inverse, slopes, (start, stop) in zip(
                inverses, self.allowed.slopes, self.allowed.steps, strict=True)
        ]
