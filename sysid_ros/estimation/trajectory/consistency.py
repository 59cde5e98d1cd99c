r"""Physically consistent parameters that fit trajectories as well as any.

With the states adapted to them, parameters near the best fit cost
:math:`\tfrac12 d^T I d + s^T d` more than there. To that is added what entropic regression adds
to its rows: the log-det divergence of all bodies from their priors, and barriers at the bounds of
masses and friction. So bodies are real ones, and where the data leave a choice it is made by the
prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.prior_steps import prior_steps
from sysid_ros.estimation.regression.consistent.consistent import verified
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.mechanics.base_parameters import BaseParameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.decomposition import svd
from sysid_ros.robot.parameters import ParameterSet


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Quadratic model of a cost over base parameters, states eliminated.

    Attributes:
        grouping: Makes r base parameters of the k free ones, shape ``(r, k)``.
        information: Second derivative by the base parameters, shape ``(r, r)``.
        gradient: First derivative, shape ``(r,)``.
    """

    grouping: np.ndarray
    information: np.ndarray
    gradient: np.ndarray

    def squared(self, moved: np.ndarray) -> float:
        """What a change of the free parameters, shape ``(k,)``, is in squared deviations."""
        change = self.grouping @ moved
        return float(change @ self.information @ change)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """What a feasible set and an entropic fit need to know of a cost that is quadratic."""

    model: TorqueModel
    parameters: ParameterSet
    free: np.ndarray
    reference: np.ndarray
    scale: np.ndarray
    base: BaseParameters
    principal_rows: tuple[np.ndarray, np.ndarray, np.ndarray]


def consistent_values(
    problem: TrajectoryProblem, values: np.ndarray, cost: QuadraticModel, strength: float,
    plausibility: Plausibility,
) -> tuple[np.ndarray, Status]:
    """The best of the parameters that physics allows, near a fit.

    Args:
        problem: The problem, k of its parameters free.
        values: Where the cost is known, shape ``(p,)``; not necessarily consistent.
        cost: What the cost is near there.
        strength: Weight of the divergence.
        plausibility: Margins and ranges of masses.

    Returns:
        All parameters, shape ``(p,)``, and how the solver ended; not as hoped, and at the same
        values, where the information is not positive definite, or no body is consistent with
        parameters that are held away from their prior.

    Raises:
        ConfigurationError: The prior is not strictly inside what is allowed.
    """
    parameters = problem.parameters
    reference = np.where(parameters.free, parameters.prior, parameters.values)
    size = np.abs(parameters.prior)
    steps = prior_steps(parameters, parameters.free, np.where(size > 0.0, size, 1.0))
    own = steps[parameters.free]
    here = np.linalg.solve(own, (values - reference)[parameters.free])
    try:
        root = np.linalg.cholesky(cost.information)
    except np.linalg.LinAlgError:
        # What seemed determined where the search began is not where it ended.
        return values, Status.INACCURATE
    rows = root.T @ cost.grouping @ own
    left, weights, right = svd(rows, full_matrices=False)
    target = left.T @ (rows @ here - np.linalg.solve(root, cost.gradient))
    quadratic = _Quadratic(
        problem.model, parameters, parameters.free, reference, steps, problem.base,
        (weights, right, target))
    allowed = feasible_set(quadratic, plausibility)
    try:
        z, status, _ = EntropicLeastSquares(prior_strength=strength).minimise(quadratic, allowed)
    except ConfigurationError:
        fixed = ~parameters.free
        if np.array_equal(parameters.values[fixed], parameters.prior[fixed]):
            raise
        # What is held on the way of a search has left no room for a body.
        return values, Status.INACCURATE
    z, status = verified(allowed, z, status)
    return reference + steps @ z, status
