r"""What the bounds of plausibility cost in the prediction of data that a fit has not seen.

An estimate may sit on a bound since the rows leave a parameter open, or since they ask for more.
The fit without bounds, with the quadratic prior alone,

.. math:: z = \arg\min_z \|W^{1/2}(\Gamma(\theta_0 + C z) - \tau)\|^2 + \alpha\,\|z\|^2,

moves nothing that rows do not tell. Where it oversteps the bounds and predicts held-out rows
better, beyond chance and by much, no noise leads out of what is plausible: efforts, stamps or
description are wrong, or the model lacks what a bound makes up for. Sound recordings of real arms
pay up to a seventh of their error for real bodies and frictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet, feasible_set
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.evaluation.prediction import SIGMAS, error_decrease

# Distance, in steps of the prior, below which an estimate sits on a bound, and by which the fit
# without bounds has to overstep it.
_NEAR = 0.05
# Part of the held-out error that has to be the bounds' doing.
_COSTS = 1.0 / 3.0
# Keys of an estimate's settings.
_BOUNDS, _STRENGTH = 'plausibility', 'prior_strength'


@dataclass(frozen=True)
class BoundCost:
    """What bounds of plausibility cost.

    Attributes:
        labels: The bounds that the estimate sits on, and that the fit without bounds oversteps.
        bounded: Relative error of the estimate on held-out rows.
        free: That of the fit without bounds.
    """

    labels: tuple[str, ...]
    bounded: float
    free: float


def bound_cost(
    training: RegressionProblem, held_out: RegressionProblem, estimate: Estimate
) -> BoundCost | None:
    """What the bounds cost that an estimate sits on; None where that is little, or chance.

    Args:
        training: Rows it was fitted to.
        held_out: Rows to predict.
        estimate: The estimate, by regression.
    """
    settings, values = estimate.settings, estimate.parameters.values
    if estimate.estimator not in REGRESSION_ESTIMATORS or not (
            estimate.status.ok and {_BOUNDS, _STRENGTH} <= settings.keys()):
        return None
    problem, plausibility = frozen_at(training, values), Plausibility(**settings[_BOUNDS])
    if _is_weighed(problem, plausibility):
        return None
    allowed = feasible_set(problem, plausibility)
    directions, _ = weighted_directions(problem)
    free = directions.solve(settings[_STRENGTH])
    labels = _overstepped(allowed, _steps(problem, values), free)
    if not labels:
        return None
    unseen, theta = frozen_at(held_out, values), problem.reference + problem.scale @ free
    bounded, without = (
        residual_statistics(unseen, one).relative_error for one in (values, theta))
    costs = without < (1.0 - _COSTS) * bounded and (
        error_decrease(unseen, values, theta) > SIGMAS)
    return BoundCost(labels, bounded, without) if costs else None


def _is_weighed(problem: RegressionProblem, plausibility: Plausibility) -> bool:
    """Whether masses are held where they were weighed, which has a comparison of its own."""
    bodies = 10 * len(problem.parameters.bodies)
    return plausibility.weighed_mass is not None or bool(
        np.isfinite(problem.parameters.upper[:bodies]).any())


def _steps(problem: RegressionProblem, values: np.ndarray) -> np.ndarray:
    """The prior's steps z ``(f,)`` to parameter values ``(p,)``."""
    free = problem.free
    return np.linalg.solve(problem.scale[free], (values - problem.reference)[free])


def _overstepped(allowed: FeasibleSet, bounded: np.ndarray, free: np.ndarray) -> tuple[str, ...]:
    """Constraints that one point sits on and another one oversteps, both of shape ``(f,)``."""
    eigenvalues = (np.linalg.eigvalsh(allowed.pseudo_inertias(z))[:, 0] for z in (bounded, free))
    slacks = (allowed.slack(z) for z in (bounded, free))
    names = (*allowed.labels, *(f'consistency of {body}' for body in allowed.names))
    here, there = (
        np.concatenate(both) for both in zip(slacks, eigenvalues, strict=True))
    sits = (here < _NEAR) & (there < -_NEAR)
    return tuple(dict.fromkeys(
        name for name, held in zip(names, sits, strict=True) if held))
