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
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.assessment import (
    base_covariance,
    determined_parameters,
    grouping,
    lost_parameters,
)
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.uncertainty import Determined

# Most rounds.
_ROUNDS = 30
# Squared standard deviations by which parameters may move and the motion with them unnoticed.
_NEGLIGIBLE = 1e-4
# Squared length of a move, in parts of the one before, above which moves do not settle by
# themselves, and the part of the next that is taken then. A part s of a move leaves (1 - s)² of it.
_SHRINKS, _SHARE = 0.5, 0.5
# Part of a standard deviation that is nothing where moves did not settle.
_UNSETTLED = 0.25


class Method(Protocol):
    """An estimator; see :class:`~.least_squares.TrajectoryLeastSquares`."""

    @property
    def prior_strength(self) -> float | None:
        """Weight of the log-det divergence of bodies from their priors."""

    @property
    def plausibility(self) -> Plausibility:
        """Margins and ranges of masses."""

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
        here = self.method.at(self.problem.with_values(found.values), found)
        return replace(self, known=self._still_determined(here))._run(found, here)

    def _still_determined(self, here: TrajectorySolution) -> Determined:
        """What the data determine where the search ended, too.

        Friction that has vanished there no longer tells the shape of its curve.
        """
        mask = self.known.mask
        known = determined_parameters(
            self.problem, np.where(np.outer(mask, mask), here.information, 0.0))
        return self.known if np.array_equal(known.mask, mask) else known

    def _run(self, found: TrajectorySolution, here: TrajectorySolution) -> TrajectorySolution:
        """Rounds from a fit and what is known there."""
        lost = lost_parameters(self.problem, self.known)
        fewer = self.problem.with_values(found.values).with_fixed(np.flatnonzero(lost))
        matrix = grouping(self.problem, self.known)[:, ~lost]
        motion_alone = self.problem.with_fixed(np.arange(len(self.problem.free)))
        before, share = np.inf, 1.0
        for number in range(_ROUNDS):
            if number:
                here = self.method.at(self.problem.with_values(found.values), found)
            quadratic = self._quadratic(here, matrix)
            values, status = consistent_values(
                fewer, found.values, quadratic, self.method.prior_strength or 0.0,
                self.method.plausibility)
            if not status.ok:
                return replace(found, status=status)
            moved = (values - found.values)[fewer.free]
            if self._is_settled(here, quadratic, moved, share):
                return replace(found, values=values)
            size = quadratic.squared(moved)
            # The first move is from values that need not be allowed.
            shrinks = max(_SHRINKS, (1.0 - 0.5 * share)**2)
            share *= _SHARE if number and size > shrinks * before else 1.0
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
        mask = self.known.mask
        return QuadraticModel(
            matrix, here.information[np.ix_(mask, mask)], here.scores.sum(axis=0)[mask])

    def _is_settled(
        self, here: TrajectorySolution, quadratic: QuadraticModel, moved: np.ndarray,
        share: float,
    ) -> bool:
        """Whether a move of the free parameters is nothing in deviations of what is told.

        As for steps of a search, less is asked where a share of moves alone has come true.
        """
        if quadratic.squared(moved) <= _NEGLIGIBLE:
            return True
        deviations = np.sqrt(np.diagonal(base_covariance(self.problem, here, self.known)))
        tolerance = self.method.parameter_tolerance
        if share < _SHARE:
            tolerance = max(tolerance, _UNSETTLED)
        limit = tolerance * deviations
        return bool((np.abs(quadratic.grouping @ moved) <= limit).all())
