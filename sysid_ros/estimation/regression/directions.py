r"""What the rows of a problem determine, and what they do not.

Base parameters :math:`\beta = K\theta` are written as :math:`\beta = \beta_0 + S\gamma`
with :math:`S S^T = K C C^T K^T`, so that a unit of :math:`\gamma` is a prior change of
100 %; directions of :math:`\gamma` without effect on the rows are the ones the data does not
determine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.robust.leave_one_out import leave_one_out
from sysid_ros.estimation.regression.robust.sandwich import noise_information
from sysid_ros.numerics.decomposition import svd

# Singular values of the rows below this fraction of the largest carry rounding only.
_RANK_TOLERANCE = 1e-9
# A part of a parameter's step smaller than this is rounding.
_ALONE = 1e-8
# A base parameter is lost when more than this part of its step lies in unknown directions.
_LOST = 1e-6

# Columns below this part of the largest act on no row.
_ZERO_COLUMN = 1e-12
# What known directions hold of a step below this is rounding.
_ROUNDED = 1e-13


@dataclass(frozen=True, eq=False)
class DataDirections:
    r"""Which directions of the base parameters weighted rows determine.

    Attributes:
        problem: The problem.
        sigma: Torque noise per joint that weighted the rows, shape ``(n,)``.
    """

    problem: RegressionProblem
    sigma: np.ndarray

    @cached_property
    def _spread(self) -> tuple[np.ndarray, np.ndarray]:
        """S, shape ``(r, r)``, and the orthonormal rows of S⁻¹ K C, shape ``(r, f)``."""
        # From the QR of (K C)^T, not the Cholesky factor of its square, to keep digits.
        directions, triangle = np.linalg.qr((self.problem.base.matrix @ self.problem.scale).T)
        return triangle.T, directions.T

    @cached_property
    def steps(self) -> np.ndarray:
        """The matrix S: by row, each base parameter's change per prior step, ``(r, r)``."""
        return self._spread[0]

    @cached_property
    def _decomposition(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, _ = self._weighted
        return svd(rows[:, self.problem.base.independent] @ self.steps)

    @cached_property
    def _weighted(self) -> tuple[np.ndarray, np.ndarray]:
        return self.problem.weighted(self.sigma)

    @cached_property
    def known(self) -> np.ndarray:
        r"""Orthonormal directions of :math:`\gamma` that the rows determine, ``(r, k)``."""
        _, values, directions = self._decomposition
        return directions[values > _RANK_TOLERANCE * values[0]].T

    @cached_property
    def unknown(self) -> np.ndarray:
        r"""Orthonormal directions of :math:`\gamma` that they do not, ``(r, r - k)``."""
        _, values, directions = self._decomposition
        return directions[values <= _RANK_TOLERANCE * values[0]].T

    @cached_property
    def principal_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""The least-squares objective in its k principal directions.

        Directions that carry rounding only are gone, so that they cannot drown a weak prior; so is
        what rounding holds of a step in the others, which a weak prior would let grow without end.

        Weights ``(k,)``, orthonormal directions of the prior's steps z ``(k, f)``, and the target
        ``(k,)``: up to a constant the objective is
        :math:`\|\mathrm{diag}(weights)\,directions\,z - target\|^2`.
        """
        rows, torque = self._weighted
        left, values, _ = self._decomposition
        count = self.known.shape[1]
        target = left.T @ (torque - rows @ self.problem.reference)
        directions = self.known.T @ self._spread[1]
        directions[:, np.abs(directions).max(axis=0, initial=0.0) < _ROUNDED] = 0.0
        return values[:count], directions, target[:count]

    def solve(self, strength: float = 0.0) -> np.ndarray:
        r"""Least-squares steps of the prior, all that is not determined left at the prior.

        Args:
            strength: Weight of :math:`\|z\|^2` in the objective.

        Returns:
            Steps z, shape ``(f,)``: of all minimisers the one nearest to the prior in its
            metric.
        """
        weights, directions, target = self.principal_rows
        return directions.T @ (weights * target / (weights**2 + strength))

    def base_covariance(self, theta: np.ndarray, curvature: np.ndarray | float) -> np.ndarray:
        r"""Covariance of the base parameters for torque noise of any colour.

        Args:
            theta: Fitted values, shape ``(p,)``; their residuals tell the noise.
            curvature: What the prior added to the Hessian of the objective in the prior's
                steps z, shape ``(f, f)`` or a multiple of the unit matrix.

        Returns:
            The sandwich :math:`H^{-1} (B + P) H^{-1}`, shape ``(r, r)``, with infinite
            entries for base parameters in an unknown direction; the curvature P of the prior
            counts as the information of one draw from it.
        """
        columns = self._columns
        gram = np.zeros((columns.shape[1],) * 2)
        for factor, sigma in zip(self.problem.factors, self.sigma, strict=True):
            rows = factor[:, self.problem.base.independent] @ columns / sigma
            gram += rows.T @ rows
        prior = self._reduced(curvature)
        inverse = np.linalg.inv(gram + prior)
        information = noise_information(self.problem, theta, self.sigma, columns, inverse)
        return self.lost_as_infinite(
            columns @ inverse @ (information + prior) @ inverse @ columns.T)

    def instrumented_covariance(self, theta: np.ndarray, instruments: np.ndarray) -> np.ndarray:
        r"""Covariance of the base parameters that were solved with instruments Z.

        Args:
            theta: Fitted values, shape ``(p,)``; their residuals tell the noise.
            instruments: Rows of another regressor, shape ``(T, n, p)``, that show every known
                direction.

        Returns:
            :math:`G^{-1} B G^{-T}`, shape ``(r, r)``, with :math:`G = Z^T W \Gamma` and the
            noise B that the instruments let through, at their frequencies; infinite entries as
            in :meth:`base_covariance`.

        References:
            Söderström and Stoica 1989, eq. (8.31).
        """
        rows, own = self._weighed(instruments), self._weighed(self.problem.regressor)
        # The fit leaves no residual along the instruments, as least squares on them would.
        inverse = np.linalg.inv(rows.T @ rows)
        information = noise_information(
            self.problem, theta, self.sigma, self._columns, inverse, instruments)
        back = self._columns @ np.linalg.inv(rows.T @ own)
        return self.lost_as_infinite(back @ information @ back.T)

    def recording_covariance(
        self, theta: np.ndarray, curvature: np.ndarray | float,
        instruments: np.ndarray | None = None,
    ) -> tuple[np.ndarray, int] | None:
        r"""Covariance of the base parameters by how much G recordings disagree.

        Errors of the model repeat in all rows of one motion, and differ between motions: a
        covariance from residuals of rows does not hold them. With each recording left out in turn,
        the values change by :math:`\delta_g = -(H - H_g)^{-1} s_g`, with the recording's part
        :math:`H_g` of the Hessian and its score :math:`s_g`, exactly so for least squares. The
        jackknife :math:`\tfrac{G - 1}{G} \sum_g \delta_g \delta_g^T` (CR3) goes with a quantile
        of Student's t with G - 1 degrees of freedom.

        Args:
            theta: Fitted values, shape ``(p,)``.
            curvature: As for :meth:`base_covariance`.
            instruments: As for :meth:`instrumented_covariance`, where the values were solved
                with some.

        Returns:
            The covariance, shape ``(r, r)``, with infinite entries as in :meth:`base_covariance`
            and wherever one recording alone tells a direction; and G. None with less than two.

        References:
            Bell and McCaffrey 2002; Cameron and Miller 2015, section VI.B.
        """
        problem = self.problem
        parts = [slice(*ends) for ends in problem.recordings
                 if problem.usable[slice(*ends)].any()]
        if len(parts) < 2:
            return None
        residual = problem.residuals(theta) / self.sigma
        grams, scores = [], []
        for part in parts:
            own = self._weighed(problem.regressor, part)
            rows = own if instruments is None else self._weighed(instruments, part)
            grams.append(rows.T @ own)
            scores.append(rows.T @ residual[part].reshape(-1))
        moves, alone = leave_one_out(
            sum(grams, start=self._reduced(curvature)), grams, scores)
        spread = self._columns @ moves.T
        covariance = self.lost_as_infinite(
            (len(parts) - 1) / len(parts) * spread @ spread.T)
        share = np.linalg.norm(self._columns @ (alone / np.linalg.norm(alone, axis=0)), axis=1)
        lost = share > _LOST * np.linalg.norm(self.steps, axis=1)
        covariance[lost, :] = covariance[:, lost] = np.inf
        return covariance, len(parts)

    def _weighed(self, regressor: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Weighted usable rows in the known directions, shape ``(T n, k)``."""
        rows = regressor[part][:, :, self.problem.base.independent] @ self._columns
        rows *= (self.problem.usable[part] / self.sigma)[..., None]
        return rows.reshape(-1, rows.shape[2])

    @property
    def _columns(self) -> np.ndarray:
        """Change of the base parameters by the known directions, shape ``(r, k)``."""
        return self.steps @ self.known

    def lost_as_infinite(self, covariance: np.ndarray) -> np.ndarray:
        """Mark base parameters in an unknown direction in their covariance ``(r, r)``."""
        touched = self.undetermined
        covariance[touched, :] = np.inf
        covariance[:, touched] = np.inf
        return covariance

    def _reduced(self, curvature: np.ndarray | float) -> np.ndarray:
        """Curvature in the known directions, all others free to follow, shape ``(k, k)``."""
        matrix = np.asarray(curvature, dtype=float)
        directions = self.known.T @ self._spread[1]
        if matrix.ndim == 0:
            return matrix * np.eye(len(directions))
        return np.linalg.inv(directions @ np.linalg.inv(matrix) @ directions.T)

    @cached_property
    def undetermined(self) -> np.ndarray:
        """Mask of the base parameters that lie in an unknown direction, shape ``(r,)``."""
        share = np.linalg.norm(self.steps @ self.unknown, axis=1)
        return share > _LOST * np.linalg.norm(self.steps, axis=1)

    @cached_property
    def absent(self) -> np.ndarray:
        """Mask of the free parameters with zero columns, shape ``(p,)``."""
        size = np.linalg.norm(self._weighted[0], axis=0)
        size *= np.linalg.norm(self.problem.scale, axis=1)
        return self.problem.free & (size <= _ZERO_COLUMN * size.max())

    @cached_property
    def alone(self) -> np.ndarray:
        """Mask of the parameters that the data determines one by one, shape ``(p,)``."""
        seen, unseen = self._split
        return unseen <= _ALONE * np.hypot(seen, unseen)

    @cached_property
    def silent(self) -> np.ndarray:
        """Mask of the free parameters that act on no row at all, shape ``(p,)``."""
        seen, unseen = self._split
        return (seen <= _ALONE * unseen) & (unseen > 0.0)

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of the parts of each parameter's prior step that rows see and do not see.

        The unseen part is computed as such: as the rest of the whole it would drown in
        rounding, and a small part of a large step is still a combination.
        """
        scale = self.problem.scale
        directions = self.known.T @ self._spread[1]
        components = scale @ directions.T
        seen = np.linalg.norm(components, axis=1)
        return seen, np.linalg.norm(scale - components @ directions, axis=1)

    def standard_deviation(self, base_covariance: np.ndarray) -> np.ndarray:
        """Per parameter, infinite unless known alone, zero where fixed, shape ``(p,)``."""
        deviation = np.where(self.problem.free, np.inf, 0.0)
        finite = ~self.undetermined
        matrix = self.problem.base.matrix[finite]
        covariance = base_covariance[np.ix_(finite, finite)]
        known = self.alone & self.problem.free
        weights = np.linalg.lstsq(matrix.T, np.eye(len(known))[:, known], rcond=None)[0]
        lost = ~np.isfinite(np.diag(covariance))
        covariance = np.where(lost[:, None] | lost, 0.0, covariance)
        size = np.sqrt(np.einsum('rk,rs,sk->k', weights, covariance, weights))
        touched = np.abs(weights[lost]).max(axis=0, initial=0.0) > _ALONE * np.abs(
            weights).max(axis=0, initial=0.0)
        deviation[known] = np.where(touched, np.inf, size)
        return deviation
