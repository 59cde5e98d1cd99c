"""From fitted values to an honest estimate: all regression estimators end here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.robot.inertia import consistency_margin

# Values that no row sees may stray from the prior by this part of its step unmentioned.
_MOVED = 1e-2


def assess(
    problem: RegressionProblem,
    theta: np.ndarray,
    sigma: np.ndarray,
    *,
    estimator: str,
    settings: Mapping[str, Any],
    status: Status = Status.CONVERGED,
    strength: float = 0.0,
    curvature: np.ndarray | None = None,
    instruments: np.ndarray | None = None,
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
        strength: Weight of the prior in the objective, where its curvature is that alone.
        curvature: Hessian of all else than the rows' misfit in the prior's steps, shape
            ``(f, f)``; by default ``strength`` times the unit matrix.
        instruments: Rows that the values were solved with in place of the regressor's own, if
            any, shape ``(T, n, p)``; not looked at unless ``status.ok``.
        iterations: Iterations of the solver.
        notes: What else to tell.

    Returns:
        The estimate.
    """
    if not status.ok:
        theta = problem.reference
    directions = DataDirections(problem, sigma)
    theta = _silent_terms_kept(problem, directions, theta)
    parameters = problem.parameters.with_values(theta)
    statistics = residual_statistics(problem, theta)
    if instruments is not None and status.ok:
        covariance = directions.instrumented_covariance(theta, instruments)
    else:
        covariance = directions.base_covariance(
            theta, strength if curvature is None else curvature)
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
        notes=(*problem.warnings, *_replaced_priors(problem),
               *_moved_by_physics(problem, directions, theta), *notes),
        provenance={**problem.provenance, 'base_seed': problem.base.seed,
                    'rank_gap': list(problem.base.gap)},
    )


def _silent_terms_kept(
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
