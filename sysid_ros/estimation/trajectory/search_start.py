"""Where a search for motion and parameters begins, and what the data determine there.

Parameters are those of a regression on smoothed motion, and for all states those that fit short
pieces of simulated motion, where either is better than the first guess.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.assessment import (
    determined_parameters,
    grouping,
    lost_parameters,
)
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values
from sysid_ros.estimation.trajectory.pieces_start import fit_worse, pieces_start
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.regression_start import regression_start
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.uncertainty import Determined


class Method(Protocol):
    """An estimator; see :class:`~.least_squares.TrajectoryLeastSquares`."""

    @property
    def seeks_all_states(self) -> bool:
        """Whether states at all nodes are sought."""

    @property
    def prior_strength(self) -> float | None:
        """Weight of the log-det divergence of bodies from their priors."""

    @property
    def plausibility(self) -> Plausibility:
        """Margins and ranges of masses."""

    def beginning(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What a search begins with."""


class SearchStart(NamedTuple):
    """Where a search begins.

    Attributes:
        motion: What is known there.
        known: What the data determine there.
        problem: The problem, its parameters there.
    """

    motion: TrajectorySolution
    known: Determined
    problem: TrajectoryProblem

    @classmethod
    def of(
        cls, method: Method, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> SearchStart:
        """The start at the parameters of a problem.

        Args:
            method: The estimator.
            problem: The problem.
            motion: Motion to begin with; None to smooth it out of what was measured.

        Raises:
            EstimationError: The motion of a joint was not observed, or cannot be simulated.
        """
        start = method.beginning(problem, motion)
        return cls(start, determined_parameters(problem, start.information), problem)


def search_start(
    method: Method, problem: TrajectoryProblem, motion: TrajectorySolution | None, log: SearchLog
) -> SearchStart:
    """Where a search begins: at the first guess or at what is better.

    Args:
        method: The estimator.
        problem: The problem, its parameters at the first guess.
        motion: Motion to begin with; then the parameters stay.
        log: Takes every step.

    Raises:
        EstimationError: The motion of a joint was not observed, or cannot be simulated.
    """
    if motion is not None:
        return SearchStart.of(method, problem, motion)
    start = _regressed(method, problem) or SearchStart.of(method, problem, None)
    if method.seeks_all_states:
        pieces = start.problem.with_fixed(start.known.held)
        values = pieces_start(pieces, log)
        if values is not pieces.parameters.values:
            return _at_pieces(method, start, values)
    return start


def _at_pieces(method: Method, start: SearchStart, values: np.ndarray) -> SearchStart:
    """The start at values that fit short pieces of the motion, with bodies that can exist.

    Pieces move what they tell. A moment of inertia that they do not tell, beside a first moment
    that they made larger, may be no body's any more, which maximal coordinates cannot simulate.
    """
    try:
        return SearchStart.of(method, start.problem.with_values(values), None)
    except EstimationError:
        known, lost = start.known, lost_parameters(start.problem, start.known)
        cost = QuadraticModel(
            grouping(start.problem, known)[:, ~lost],
            start.motion.information[np.ix_(known.mask, known.mask)],
            np.zeros(np.count_nonzero(known.mask)))
        allowed, status = consistent_values(
            start.problem.with_values(values).with_fixed(np.flatnonzero(lost)), values, cost,
            method.prior_strength or 0.0, method.plausibility)
        if not status.ok:
            return start
        return SearchStart.of(method, start.problem.with_values(allowed), None)


def _regressed(method: Method, problem: TrajectoryProblem) -> SearchStart | None:
    """The start at values of a regression; None where there are none, or motion fits worse by them.

    Torques of a joint that nothing drives are predicted best by bodies that are too light, and a
    law of friction that motion hardly tells may come out at any size.
    """
    values = regression_start(problem)
    if values is problem.parameters.values or fit_worse(problem, values):
        return None
    try:
        start = SearchStart.of(method, problem.with_values(values), None)
        lost = lost_parameters(start.problem, start.known)
        if not lost.any():
            return start
        # What these data do not tell stays at the prior, and all else goes with that.
        reduced = problem.with_fixed(np.flatnonzero(lost))
        return SearchStart.of(method, problem.with_values(regression_start(reduced)), None)
    except EstimationError:
        return None
