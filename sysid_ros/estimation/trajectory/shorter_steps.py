r"""Steps of a rule that are halved until their error no longer shows in the parameters.

A rule of order p moves parameters by :math:`C h^p` where a step is h long. A fit with half steps,
from the motion and the values of the last one, tells how much (Richardson's extrapolation): of the
difference :math:`\theta_h - \theta_{h/2}` the part :math:`1 / (2^p - 1)` is what the shorter steps
still move. It counts in the intervals, twice, since the order is reached for short steps only.

References:
    Roache 1994, Perspective: a method for uniform reporting of grid refinement studies, whose
    factors of safety for extrapolations are 1.25 to 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from sysid_ros.errors import EstimationError, UnreachableError
from sysid_ros.estimation.trajectory.assessment import (
    base_covariance,
    determined_parameters,
    grouping,
)
from sysid_ros.estimation.trajectory.finer_nodes import finer_segments, motion_at_nodes
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

# Standard deviations by which steps may move a base parameter: they are halved until they do less.
_UNNOTICED = 0.25
# Standard deviations that are said where steps stay too long.
_SAID = 0.5
# Times that steps are halved at most: each takes twice the time of the one before.
_HALVINGS = 2
# Factor of safety of what is extrapolated.
_SAFETY = 2.0


class SteppedEstimator(ABC):
    """An estimator, as far as its steps can be halved; by default they are not judged."""

    @property
    def step_order(self) -> int | None:
        """Order of the rule in the length of a step; None where steps are not to be judged."""
        return None

    def with_half_steps(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[Self, TrajectoryProblem]:
        """The method and the problem with steps half as long, and nodes for them.

        Args:
            problem: The problem.
            found: Its solution, whose levels of noise searches may begin with.
        """
        return self, finer_segments(problem, 2)

    def moved_by_steps(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> np.ndarray | None:
        """By how much steps moved the base parameters, to first order.

        Args:
            problem: The problem that was solved.
            found: Its solution.

        Returns:
            Shape ``(r,)``; None where only a fit with shorter ones can tell.

        Raises:
            EstimationError: The data do not determine the motion.
            UnreachableError: Loops cannot be closed between two nodes.
        """
        return None

    @abstractmethod
    def with_noise(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None, log: SearchLog
    ) -> tuple[TrajectorySolution, tuple[str, ...]]:
        """The solution, and levels of noise in words, from some motion or the first guess.

        Args:
            problem: The problem.
            motion: Motion to begin with; None to smooth it out of what was measured.
            log: Takes every step.
        """


M = TypeVar('M', bound=SteppedEstimator)


class ShortSteps(NamedTuple, Generic[M]):
    """A fit with steps as short as it needs, or as could be had.

    Attributes:
        method: The method with these steps.
        problem: The problem with nodes for them.
        solution: Its solution, at these nodes.
        words: Levels of noise, and what else was found.
        moved: By how much steps still move the base parameters, shape ``(r,)``; zero where
            nothing is known of it.
        judged: Whether something is.
    """

    method: M
    problem: TrajectoryProblem
    solution: TrajectorySolution
    words: tuple[str, ...]
    moved: np.ndarray
    judged: bool = True

    @property
    def covariance(self) -> np.ndarray:
        """What intervals of the base parameters count of it, shape ``(r, r)``."""
        return _SAFETY**2 * np.outer(self.moved, self.moved)

    @property
    def shares(self) -> np.ndarray:
        """What steps still move, in standard deviations by the noise, shape ``(r,)``."""
        known = determined_parameters(self.problem, self.solution.information)
        deviation = np.sqrt(np.diagonal(base_covariance(self.problem, self.solution, known)))
        return np.asarray(np.abs(self.moved) / np.maximum(deviation, np.finfo(float).tiny))

    def with_words(self, said: str) -> ShortSteps[M]:
        """The same fit, and one more sentence on it."""
        return self._replace(words=(*self.words, said))

    def remarks(self, names: Sequence[str]) -> tuple[str, ...]:
        """What the steps do to base parameters of these names where they stay too long."""
        shares = self.shares if self.moved.any() else self.moved
        if not np.any(shares > _SAID):
            return ()
        worst = int(np.argmax(shares))
        return (
            f'Steps are too long: they move {names[worst]} by {shares[worst]:.2g} of the standard '
            'deviations that noise makes, which its interval counts. Halve fit.trajectory.step.',)


def with_short_steps(
    method: M, problem: TrajectoryProblem, found: TrajectorySolution, words: tuple[str, ...],
    log: SearchLog,
) -> ShortSteps[M]:
    """Halve the steps of a fit until they move no base parameter that shows.

    Args:
        method: The estimator.
        problem: The problem.
        found: Its solution.
        words: What is said of it.
        log: Takes every step of the searches.

    Returns:
        The fit with the shortest steps that converged.
    """
    known = determined_parameters(problem, found.information)
    unknown = np.zeros(np.count_nonzero(known.mask))
    best = ShortSteps(method, problem, found, words, unknown, judged=False)
    order = method.step_order
    if order is None or not found.status.ok or not len(unknown):
        return best
    try:
        moved = method.moved_by_steps(problem, found)
        if moved is not None:
            best = best._replace(moved=moved, judged=True)
        for _ in range(_HALVINGS):
            if best.judged and np.all(best.shares <= _UNNOTICED):
                break
            shorter = _halved(best, order, log) if log.left else None
            if shorter is None:
                break
            best = shorter
    except (EstimationError, UnreachableError) as error:
        # The fit is what was asked for, and the steps may have been judged by an earlier halving.
        return best if best.judged else best.with_words(
            f'Whether steps are short enough cannot be told: {error}')
    if not best.judged:
        return best.with_words(
            'Whether steps are short enough cannot be told: half steps did not converge.')
    return best


def _halved(fit: ShortSteps[M], order: int, log: SearchLog) -> ShortSteps[M] | None:
    """The fit with steps half as long; None where it does not converge."""
    method, problem = fit.method.with_half_steps(fit.problem, fit.solution)
    with log.within('half steps'):
        found, words = method.with_noise(
            problem.with_values(fit.solution.values),
            motion_at_nodes(fit.solution, fit.problem, problem), log)
    if not found.status.ok:
        return None
    known = determined_parameters(problem, found.information)
    change = (fit.solution.values - found.values)[problem.free]
    return ShortSteps(
        method, problem, found, words,
        grouping(problem, known) @ change / (2.0**order - 1.0))
