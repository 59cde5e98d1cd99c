"""From fitted values to an honest estimate: all regression estimators end here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sysid_ros.estimation.estimate import (
    BetweenRecordings,
    Estimate,
    Knowledge,
    ResidualStatistics,
    Status,
)
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.conditioning import Conditioning
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.robot.inertia import consistency_margin

# Values that no row sees may stray from the prior by this part of its step unmentioned.
_MOVED = 1e-2


def assess(
    problem: RegressionProblem, theta: np.ndarray, sigma: np.ndarray, *, estimator: str,
    settings: Mapping[str, Any], status: Status = Status.CONVERGED, iterations: int = 1,
    curvature: np.ndarray | float = 0.0, instruments: np.ndarray | None = None,
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Judge fitted values.

    Args:
        problem: The problem that was solved.
        theta: Fitted values, shape ``(p,)``; the best that were found unless ``status.ok``,
            and not looked at unless ``status.found_values``.
        sigma: Torque noise per joint that weighted the rows in [N·m] or [N], shape ``(n,)``.
        estimator: Name of the estimator.
        settings: Its settings, as plain values.
        status: How the solver ended.
        iterations: Iterations of the solver.
        curvature: What the prior adds to the Hessian of the objective in the prior's steps,
            shape ``(f, f)`` or a multiple of the unit matrix.
        instruments: Rows that the values were solved with in place of the regressor's own, if
            any, shape ``(T, n, p)``; not looked at unless ``status.ok``.
        notes: What else to tell.

    Returns:
        The estimate.
    """
    directions = DataDirections(problem, sigma)
    theta = theta if status.found_values else problem.reference
    theta = silent_terms_at_prior(problem, directions, theta)
    if instruments is not None and status.ok:
        covariance = directions.instrumented_covariance(theta, instruments)
    else:
        covariance = directions.base_covariance(theta, curvature)
    return replace(
        assemble_estimate(
            directions, theta, covariance, residual_statistics(problem, theta),
            estimator=estimator, settings=settings, status=status, iterations=iterations,
            notes=notes,
        ),
        between=_between(directions, theta, curvature, instruments) if status.ok else None)


def _between(
    directions: DataDirections, theta: np.ndarray, curvature: np.ndarray | float,
    instruments: np.ndarray | None,
) -> BetweenRecordings | None:
    """Deviations by how much recordings disagree, where there are several."""
    found = directions.recording_covariance(theta, curvature, instruments)
    if found is None:
        return None
    covariance, recordings = found
    return BetweenRecordings(
        recordings, directions.standard_deviation(covariance), np.sqrt(np.diag(covariance)))


def assemble_estimate(
    directions: DataDirections, theta: np.ndarray, covariance: np.ndarray,
    residuals: ResidualStatistics, *, estimator: str, settings: Mapping[str, Any],
    status: Status, iterations: int, notes: tuple[str, ...],
) -> Estimate:
    """Assemble the estimate of values whose covariance and residuals are known.

    Args:
        directions: What the data determines.
        theta: Values, shape ``(p,)``.
        covariance: Covariance of the base parameters, shape ``(r, r)``; not looked at unless
            ``status.ok``.
        residuals: Statistics of the fitted rows.
        estimator: Name of the estimator.
        settings: Its settings, as plain values.
        status: How the solver ended.
        iterations: Iterations of the solver.
        notes: What else to tell.
    """
    problem = directions.problem
    deviation = np.where(problem.free, np.inf, 0.0)
    if status.ok:
        deviation = directions.standard_deviation(covariance)
    else:
        covariance = np.full_like(covariance, np.inf)
    return Estimate(
        estimator=estimator, settings=settings, status=status, iterations=iterations,
        parameters=problem.parameters.with_values(theta),
        standard_deviation=deviation,
        knowledge=_knowledge(problem, directions), margins=_margins(problem, theta),
        base_names=problem.base.equations, base_covariance=covariance,
        base_values=problem.base.values(np.where(problem.free, theta, 0.0)),
        unidentified=_unidentified(problem, directions), residuals=residuals,
        notes=(*_notes(problem, directions, theta), *notes), provenance=_provenance(problem),
    )


def _unidentified(problem: RegressionProblem, directions: DataDirections) -> tuple[str, ...]:
    lost = zip(problem.base.equations, directions.undetermined, strict=True)
    return tuple(equation for equation, undetermined in lost if undetermined)


def _notes(
    problem: RegressionProblem, directions: DataDirections, theta: np.ndarray
) -> tuple[str, ...]:
    return (
        *problem.warnings, *_replaced_priors(problem), *Conditioning.of(problem).notes(),
        *_moved_by_physics(problem, directions, theta),
    )


def _provenance(problem: RegressionProblem) -> dict[str, Any]:
    return {
        **problem.provenance, 'base_seed': problem.base.seed, 'rank_gap': list(problem.base.gap),
    }


def silent_terms_at_prior(
    problem: RegressionProblem, directions: DataDirections, theta: np.ndarray
) -> np.ndarray:
    """Terms that act on no row at their prior, where a barrier may have moved them."""
    parameters = problem.parameters
    term = np.ones(len(parameters), dtype=bool)
    for body in parameters.bodies:
        term[parameters.body_slice(body)] = False
    allowed = np.clip(problem.reference, parameters.lower, parameters.upper)
    return np.where(problem.free & term & directions.silent, allowed, theta)


def _moved_by_physics(
    problem: RegressionProblem, directions: DataDirections, theta: np.ndarray
) -> tuple[str, ...]:
    """Bodies with values that left the prior though no row asked for it."""
    step = np.linalg.norm(problem.scale, axis=1)
    moved = directions.silent & problem.free
    moved &= np.abs(theta - problem.reference) > _MOVED * step
    parameters = problem.parameters
    bodies = [body for body in parameters.bodies if moved[parameters.body_slice(body)].any()]
    return (
        'Moved by the bounds of masses and inertias, not by the data: '
        f'some values of {", ".join(bodies)}.',
    ) if bodies else ()


def _knowledge(problem: RegressionProblem, directions: DataDirections) -> tuple[Knowledge, ...]:
    # The first that applies; a column of zeros may yet follow its body, which the prior's
    # metric, the only one that does not depend on the frame of the parameters, relates it to.
    cases = (
        (~problem.free, Knowledge.FIXED), (directions.alone, Knowledge.DATA),
        (directions.silent, Knowledge.PRIOR), (directions.absent, Knowledge.COUPLED),
    )
    return tuple(
        next((kind for mask, kind in cases if mask[k]), Knowledge.COMBINATION)
        for k in range(len(problem.parameters))
    )


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
