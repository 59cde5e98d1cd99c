"""What sums over samples tell, when the samples themselves are gone."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.estimate import Estimate, ResidualStatistics, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assemble_estimate, silent_terms_at_prior
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.recursive.recursion import Recursion

# What is told of a direction, below this part of the best told one, is rounding of sums.
_RANK_TOLERANCE = 1e-12
_WHITE = (
    'Intervals take the noise as white and of the size that was given; residuals are '
    'innovations, which tell how well each sample was predicted before it was taken in.'
)


def estimate_from_sums(state: Recursion, status: Status) -> Estimate:
    """The estimate of a recursion.

    Args:
        state: The recursion, at its minimum.
        status: How it was reached.
    """
    problem = _rows_of_sums(state)
    directions = DataDirections(problem, np.ones(len(state.noise)))
    theta = silent_terms_at_prior(problem, directions, state.theta)
    covariance = directions.lost_as_infinite(state.base_covariance(problem.base))
    return assemble_estimate(
        directions, theta, covariance, _innovations(state), estimator=state.settings.name,
        settings=state.settings.describe(), status=status, iterations=state.iterations,
        notes=(_WHITE,),
    )


def _rows_of_sums(state: Recursion) -> RegressionProblem:
    """The problem, with as few rows as tell the same as all samples did."""
    header, free = state.header, state.free
    joints, columns = header.torque.shape[1], len(header.parameters) + 1
    own = np.searchsorted(free, header.base.independent)
    steps = DataDirections(header, np.ones(joints)).steps
    values, vectors = np.linalg.eigh(steps.T @ state.information[np.ix_(own, own)] @ steps)
    known = values > max(_RANK_TOLERANCE * values[-1], 0.0)
    roots, vectors = np.sqrt(values[known]), vectors[:, known]
    count = int(known.sum())
    factors = np.zeros((joints, columns, columns))
    rows = roots[:, None] * np.linalg.solve(steps.T, vectors).T
    factors[0, :count, :-1] = rows @ header.base.matrix
    factors[0, :count, -1] = (vectors.T @ (steps.T @ state.vector[own])) / roots
    return header.with_factors(factors, 'scale', 'base')


def _innovations(state: Recursion) -> ResidualStatistics:
    rows, torque, innovation = state.tally
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(torque > 0.0, np.sqrt(innovation / torque), np.nan)
        overall = np.sqrt(innovation.sum() / torque.sum())
    return ResidualStatistics(
        relative_error=float(overall), relative_per_joint=relative,
        rms_per_joint=np.sqrt(innovation / np.maximum(rows, 1.0)), rows=rows.astype(int),
        effective_rows=np.maximum(rows, 1.0),
    )
