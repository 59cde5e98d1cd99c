"""Rounds that make the bodies of a fit of states and parameters physically consistent.

Each round minimises what the cost is to second order, states adapted, with the prior, and then
adapts the motion. What no motion determines follows from the prior; what the data lost is held.
Where the cost is no parabola rounds may jump to and fro: a move that is no shorter than the one
before is taken by half. Allowed parameters are a convex set, so what lies between two of them is
allowed as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.assessment import (
    base_covariance,
    grouping,
    lost_parameters,
)
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.uncertainty import Determined

# Most rounds.
_ROUNDS = 10
# Squared standard deviations by which parameters may move and the motion with them unnoticed.
_NEGLIGIBLE = 1e-4
# Squared length of a move, in parts of the one before, above which moves do not settle by
# themselves, and the part of the next that is taken then.
_SHRINKS, _SHARE = 0.5, 0.5


class Method(Protocol):
    """An estimator; see :class:`~.least_squares.TrajectoryLeastSquares`."""

    @property
    def prior_strength(self) -> float | None:
        """Weight of the log-det divergence of bodies from their priors."""

    @property
    def parameter_tolerance(self) -> float:
        """Part of a standard deviation that is nothing."""

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known at parameters as they are."""

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The motion and free parameters that fit best."""


@dataclass(frozen=True, eq=False)
class ConsistencyRounds:
    """Rounds from a fit to parameters that physics allows, and the motion that belongs to them.

    Attributes:
        method: The estimator.
        problem: The problem.
        known: What its data determine.
        log: Takes every step.
    """

    method: Method
    problem: TrajectoryProblem
    known: Determined
    log: SearchLog

    def run(self, found: TrajectorySolution) -> TrajectorySolution:
        """The parameters and their motion; see the module.

        Args:
            found: The fit.
        """
        lost = lost_parameters(self.problem, self.known)
        fewer = self.problem.with_fixed(np.flatnonzero(lost))
        matrix = grouping(self.problem, self.known)[:, ~lost]
        motion_alone = self.problem.with_fixed(np.arange(len(self.problem.free)))
        before, share = np.inf, 1.0
        for number in range(_ROUNDS):
            here = self.method.at(self.problem.with_values(found.values), found)
            quadratic = self._quadratic(here, matrix)
            values, status = consistent_values(
                fewer, found.values, quadratic, self.method.prior_strength or 0.0)
            if not status.ok:
                return replace(found, status=status)
            moved = (values - found.values)[fewer.free]
            if self._is_settled(here, quadratic, moved):
                return replace(found, values=values)
            size = quadratic.squared(moved)
            # The first move is from values that need not be allowed.
            share *= _SHARE if number and size > _SHRINKS * before else 1.0
            before = size
            found = replace(found, values=found.values + share * (values - found.values))
            if not self.log.left:
                break
            with self.log.within(f'consistent bodies {number + 1}'):
                found = self.method.search(motion_alone.with_values(found.values), found, self.log)
            if not found.status.ok:
                return found
        return replace(found, status=Status.ITERATION_LIMIT)

    def _quadratic(self, here: TrajectorySolution, matrix: np.ndarray) -> QuadraticModel:
        """The cost near some values, states adapted, by what the data determine."""
        kept = self.known.kept
        return QuadraticModel(
            matrix, here.information[np.ix_(kept, kept)], here.scores.sum(axis=0)[kept])

    def _is_settled(
        self, here: TrajectorySolution, quadratic: QuadraticModel, moved: np.ndarray
    ) -> bool:
        """Whether a move of the free parameters is nothing in deviations of what is told."""
        if quadratic.squared(moved) <= _NEGLIGIBLE:
            return True
        deviations = np.sqrt(np.diagonal(base_covariance(self.problem, here, self.known)))
        limit = self.method.parameter_tolerance * deviations
        return bool((np.abs(quadratic.grouping @ moved) <= limit).all())
