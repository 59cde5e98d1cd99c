r"""From fitted values to an honest estimate: residuals, covariance, what the data told.

All regression estimators end here. Base parameters :math:`\beta = K\theta` are written
as :math:`\beta = \beta_0 + S\gamma` with :math:`S S^T = K C C^T K^T`, so that a unit of
:math:`\gamma` is a prior change of 100 %; directions of :math:`\gamma` without effect on the
rows are the ones the data does not determine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sysid_ros.estimation.estimate import Estimate, Knowledge, ResidualStatistics, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.robot.inertia import consistency_margin

# Singular values of the rows below this fraction of the largest carry rounding only.
_RANK_TOLERANCE = 1e-9
# A parameter is known alone when less than this share of it lies in unknown directions.
_ALONE = 1e-6


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
    def _step(self) -> np.ndarray:
        """The matrix S, shape ``(r, r)``."""
        spread = self.problem.base.matrix @ self.problem.scale
        # From the QR of (K C)^T, not the Cholesky factor of its square, to keep digits.
        return np.linalg.qr(spread.T, mode='r').T

    @cached_property
    def _decomposition(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, _ = self.problem.weighted(self.sigma)
        return np.linalg.svd(rows[:, self.problem.base.independent] @ self._step)

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

    def solve(self) -> np.ndarray:
        """Least-squares parameters, with all that is not determined left at the prior.

        Returns:
            Shape ``(p,)``: of all minimisers the one nearest to the prior in its metric.
        """
        problem = self.problem
        rows, torque = problem.weighted(self.sigma)
        left, values, _ = self._decomposition
        count = self.known.shape[1]
        remaining = torque - rows @ problem.reference
        gamma = self.known @ ((left.T @ remaining)[:count] / values[:count])
        spread = problem.base.matrix @ problem.scale
        step = np.linalg.lstsq(spread, self._step @ gamma, rcond=None)[0]
        return problem.reference + problem.scale @ step

    def base_covariance(self, noise: np.ndarray, strength: float) -> np.ndarray:
        r"""Covariance of the base parameters for torque noise that may be correlated.

        Args:
            noise: Variance per joint, times the number of rows that tell as much as one
                independent row, shape ``(n,)``.
            strength: Weight of the prior that was added to the objective.

        Returns:
            The sandwich :math:`H^{-1} B H^{-1}`, shape ``(r, r)``, with infinite entries
            for base parameters in an unknown direction.
        """
        columns = self._step @ self.known
        gram = np.zeros((columns.shape[1],) * 2)
        meat = gram.copy()
        for factor, sigma, variance in zip(self.problem.factors, self.sigma, noise, strict=True):
            rows = factor[:, self.problem.base.independent] @ columns / sigma
            information = rows.T @ rows
            gram += information
            meat += information * variance / sigma**2
        prior = strength * np.eye(len(gram))
        inverse = np.linalg.inv(gram + prior)
        covariance = columns @ inverse @ (meat + prior) @ inverse @ columns.T
        touched = self.undetermined
        covariance[touched, :] = np.inf
        covariance[:, touched] = np.inf
        return covariance

    @cached_property
    def undetermined(self) -> np.ndarray:
        """Mask of the base parameters that lie in an unknown direction, shape ``(r,)``."""
        share = np.linalg.norm(self._step @ self.unknown, axis=1)
        return share > _ALONE * np.linalg.norm(self._step, axis=1)

    @cached_property
    def alone(self) -> np.ndarray:
        """Mask of the parameters that the data determines one by one, shape ``(p,)``."""
        return self._share_unknown < _ALONE

    @cached_property
    def silent(self) -> np.ndarray:
        """Mask of the parameters that act on no row at all, shape ``(p,)``."""
        return self._share_unknown > 1.0 - _ALONE

    @cached_property
    def _share_unknown(self) -> np.ndarray:
        """Share of each parameter's prior step that no row can see, between 0 and 1."""
        functional = self.known.T @ np.linalg.solve(
            self._step, self.problem.base.matrix @ self.problem.scale
        )
        scale = self.problem.scale
        seen = scale @ functional.T
        size = np.sum(scale**2, axis=1)
        with np.errstate(invalid='ignore'):
            share = 1.0 - np.sum(seen**2, axis=1) / size
        return np.where(size > 0.0, share, 0.0)

    def standard_deviation(self, base_covariance: np.ndarray) -> np.ndarray:
        """Per parameter, infinite unless known alone, zero where fixed, shape ``(p,)``."""
        deviation = np.where(self.problem.free, np.inf, 0.0)
        finite = ~self.undetermined
        matrix = self.problem.base.matrix[finite]
        covariance = base_covariance[np.ix_(finite, finite)]
        for k in np.flatnonzero(self.alone & self.problem.free):
            unit = np.zeros(matrix.shape[1])
            unit[k] = 1.0
            weights = np.linalg.lstsq(matrix.T, unit, rcond=None)[0]
            deviation[k] = np.sqrt(weights @ covariance @ weights)
        return deviation


def residual_statistics(problem: RegressionProblem, theta: np.ndarray) -> ResidualStatistics:
    """Statistics of the fitted rows.

    Args:
        problem: The problem.
        theta: Parameter values, shape ``(p,)``.
    """
    residual = problem.residuals(theta)
    torque = np.where(problem.usable, problem.torque, 0.0)
    size, measured = np.linalg.norm(residual, axis=0), np.linalg.norm(torque, axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(measured > 0.0, size / measured, np.nan)
    return ResidualStatistics(
        relative_error=float(np.linalg.norm(residual) / np.linalg.norm(torque)),
        relative_per_joint=relative,
        rms_per_joint=size / np.sqrt(np.maximum(problem.counts, 1)),
        rows=problem.counts,
        effective_rows=effective_rows(residual, problem.usable),
    )


def effective_rows(residual: np.ndarray, usable: np.ndarray) -> np.ndarray:
    r"""How many independent rows would tell as much as these correlated ones.

    :math:`N / (1 + 2\sum_k \rho_k)` with the autocorrelations :math:`\rho_k` up to their
    first zero.

    Args:
        residual: Torque residuals, zero where not usable, shape ``(T, n)``.
        usable: Mask of the same shape.

    Returns:
        Shape ``(n,)``, at least 1.
    """
    samples = len(residual)
    length = 2 * samples
    effective = np.maximum(usable.sum(axis=0), 1).astype(float)
    for joint in range(residual.shape[1]):
        products = _autocorrelation(residual[:, joint], length)[:samples]
        pairs = np.round(_autocorrelation(usable[:, joint].astype(float), length)[:samples])
        if products[0] <= 0.0:
            continue
        with np.errstate(divide='ignore', invalid='ignore'):
            rho = np.where(pairs > 0, products / pairs, 0.0) / (products[0] / pairs[0])
        first_zero = int(np.argmax(rho <= 0.0)) or samples
        effective[joint] = max(pairs[0] / (1.0 + 2.0 * rho[1:first_zero].sum()), 1.0)
    return effective


def _autocorrelation(x: np.ndarray, length: int) -> np.ndarray:
    spectrum = np.fft.rfft(x, length)
    return np.fft.irfft(np.abs(spectrum) ** 2, length)


def noise_level(problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
    """Standard deviation of each joint's residual, freedom of the fit taken off, ``(n,)``."""
    squares = np.sum(problem.residuals(theta) ** 2, axis=0)
    share = 1.0 - problem.base.rank / max(problem.counts.sum(), problem.base.rank + 1)
    torque = np.sum(np.where(problem.usable, problem.torque, 0.0) ** 2, axis=0)
    # A perfect fit, as of noise-free data, still needs weights.
    floor = 1e-10 * np.sqrt(torque.sum() / problem.counts.sum())
    return np.maximum(np.sqrt(squares / np.maximum(problem.counts * share, 1.0)), floor)


def effective_noise(problem: RegressionProblem, theta: np.ndarray) -> np.ndarray:
    """Noise levels, raised alike in all joints until the rows count as independent.

    Residuals of neighbouring rows resemble each other; weighing by this keeps a prior's
    strength the same whatever the sampling rate.

    Args:
        problem: The problem.
        theta: Fitted values, shape ``(p,)``.

    Returns:
        Shape ``(n,)``, at least :func:`noise_level`.
    """
    rows = effective_rows(problem.residuals(theta), problem.usable)
    return noise_level(problem, theta) * np.sqrt(problem.counts.sum() / rows.sum())


def assess(
    problem: RegressionProblem,
    theta: np.ndarray,
    sigma: np.ndarray,
    *,
    estimator: str,
    settings: Mapping[str, Any],
    status: Status = Status.CONVERGED,
    strength: float = 0.0,
    iterations: int = 1,
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Judge fitted values.

    Args:
        problem: The problem that was solved.
        theta: Fitted values, shape ``(p,)``; ignored in favour of the prior unless
            ``status.ok``.
        sigma: Torque noise per joint that weighted the rows, shape ``(n,)``.
        estimator: Name of the estimator.
        settings: Its settings, as plain values.
        status: How the solver ended.
        strength: Weight of the prior in the objective.
        iterations: Iterations of the solver.
        notes: What else to tell.

    Returns:
        The estimate.
    """
    if not status.ok:
        theta = problem.reference
    parameters = problem.parameters.with_values(theta)
    directions = DataDirections(problem, sigma)
    statistics = residual_statistics(problem, theta)
    correlated = problem.counts / statistics.effective_rows
    covariance = directions.base_covariance(
        noise_level(problem, theta) ** 2 * correlated, strength
    )
    equations = problem.base.equations
    return Estimate(
        estimator=estimator,
        settings=settings,
        status=status,
        parameters=parameters,
        standard_deviation=directions.standard_deviation(covariance),
        knowledge=_knowledge(problem, directions),
        base_names=equations,
        base_values=problem.base.values(np.where(problem.free, theta, 0.0)),
        base_covariance=covariance,
        unidentified=tuple(
            equation for equation, lost in zip(equations, directions.undetermined, strict=True)
            if lost
        ),
        margins=_margins(problem, theta),
        residuals=statistics,
        iterations=iterations,
        notes=(*problem.warnings, *_replaced_priors(problem), *notes),
        provenance={**problem.provenance, 'base_seed': problem.base.seed,
                    'rank_gap': list(problem.base.gap)},
    )


def _knowledge(problem: RegressionProblem, directions: DataDirections) -> tuple[Knowledge, ...]:
    knowledge = []
    for free, alone, silent in zip(
        problem.free, directions.alone, directions.silent, strict=True
    ):
        if not free:
            knowledge.append(Knowledge.FIXED)
        elif alone:
            knowledge.append(Knowledge.DATA)
        else:
            knowledge.append(Knowledge.PRIOR if silent else Knowledge.COMBINATION)
    return tuple(knowledge)


def _margins(problem: RegressionProblem, theta: np.ndarray) -> dict[str, float]:
    margins = {}
    for body in problem.parameters.bodies:
        block = problem.parameters.body_slice(body)
        margins[body] = float(
            consistency_margin(theta[block], problem.parameters.prior[block])
        )
    return margins


def _replaced_priors(problem: RegressionProblem) -> tuple[str, ...]:
    return tuple(
        f'The prior of {body} was replaced by a consistent neighbour: {reason}.'
        for body, reason in problem.model.robot.replaced_priors.items()
    )
