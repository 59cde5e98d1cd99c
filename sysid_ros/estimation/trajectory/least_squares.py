"""What estimators of states and parameters share: from a problem to an honest estimate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import CHANGE, Estimate, Status
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.assessment import assess
from sysid_ros.estimation.trajectory.consistency_rounds import ConsistencyRounds
from sysid_ros.estimation.trajectory.convergence_advice import convergence_notes, soft_dynamics
from sysid_ros.estimation.trajectory.finer_nodes import motion_at_nodes
from sysid_ros.estimation.trajectory.friction_law_error import friction_law_error, with_dry_friction
from sysid_ros.estimation.trajectory.pieces_start import pieces_start
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import Progress, SearchLog
from sysid_ros.estimation.trajectory.search_start import search_start
from sysid_ros.estimation.trajectory.sensor_levels import levels_from_residuals
from sysid_ros.estimation.trajectory.shorter_segments import joined, shorter_segments
from sysid_ros.estimation.trajectory.shorter_steps import SteppedEstimator, with_short_steps
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

# Rounds of estimating noise, and the change of all levels that ends them.
_ROUNDS, _SETTLED = 10, 1e-2
# So many steps are not shared out among searches.
_FEW = 100
# Longest pieces that segments are cut into where these do not converge, and the shortest, in [s].
_LONGEST, _SHORTEST = 1.0, 0.2


@dataclass(frozen=True)
class TrajectoryLeastSquares(SteppedEstimator):
    """Least squares for motion and parameters.

    Args:
        prior_strength: Weight of the log-det divergence of bodies from their priors, in
            squared standard deviations of the sensors' noise; it keeps them physically
            consistent, and chooses where no motion could. None for neither.
        estimate_noise: Whether levels of noise, of the sensors and of what else the estimator
            gives a level, are found from the residuals, in place of those given.
        horizon: Longest piece of motion in [s] whose states hang together, or that is simulated at
            once; None for whole segments, or the longest pieces that converge.
        max_iterations: Most steps of all its searches together.
        parameter_tolerance: Part of a standard deviation of the parameters: a search ends, beside
            by the cost, where the next step would move none of them, and no combination, by more.
            0 for never.
        plausibility: Margins and ranges of masses; without a strength of the prior nothing holds
            them.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    prior_strength: float | None = 0.1
    estimate_noise: bool = False
    horizon: float | None = None
    max_iterations: int = 600
    parameter_tolerance: float = 0.01
    plausibility: Plausibility = field(default_factory=Plausibility)

    name: ClassVar[str]
    #: Whether commands of actuators are turned into torques; others want torques.
    simulates_actuators: ClassVar[bool] = False
    #: Whether states at all nodes are sought, so that shooting over short pieces begins the search,
    #: and segments are cut where it does not converge.
    seeks_all_states: ClassVar[bool] = True
    #: Whether the sign of dry friction is smoothed, which moves parameters at every reversal.
    smooths_friction: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._require_above_zero('prior_strength', 'horizon', 'max_iterations')
        if not 0.0 <= self.parameter_tolerance < 1.0:
            raise ConfigurationError(
                'the part of a standard deviation cannot be used', where='parameter_tolerance',
                found=self.parameter_tolerance, allowed='from 0, for never, to below 1',
                fix='Leave it out for its default')

    def _require_above_zero(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            for number in value.values() if isinstance(value, Mapping) else [value]:
                if number is not None and not number > 0.0:
                    raise ConfigurationError(
                        'the number is not above zero', where=name, found=value,
                        fix='Give a number above 0, or leave it out')

    @property
    def _most(self) -> int:
        """Most steps of one search, so that some are left for another way."""
        return max(self.max_iterations // 4, _FEW)

    @abstractmethod
    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known at parameters as they are, nothing sought.

        Args:
            problem: The problem, its parameters where they are looked at.
            motion: Where the motion is known from; None to smooth it out of what was measured.

        Raises:
            EstimationError: The motion of a joint was not observed, or cannot be simulated.
        """

    def known_at(
        self, problem: TrajectoryProblem, found: TrajectorySolution, held: bool
    ) -> TrajectorySolution:
        """What is known where a search ended.

        Args:
            problem: The problem, its parameters there.
            found: Where it ended.
            held: Whether the search was of another problem, with parameters held or bodies bounded.
        """
        return replace(self.at(problem, found), status=found.status)

    def beginning(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What a search begins with: as :meth:`at`, but scores may be missing."""
        return self.at(problem, motion)

    @abstractmethod
    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The motion and free parameters that fit best.

        Args:
            problem: The problem, its parameters where the search begins.
            start: Motion to begin with.
            log: Takes every step, and says how many may be tried, at least one.
        """

    def fit(self, problem: TrajectoryProblem) -> Estimate:
        """Infer the parameters of a problem.

        Args:
            problem: The problem.

        Returns:
            The estimate; unless the solver converged its values are the best it found.

        Raises:
            EstimationError: The motion of a joint was not observed, or cannot be simulated.
        """
        return self.fitted(problem)[0]

    def fitted(self, problem: TrajectoryProblem) -> tuple[Estimate, TrajectorySolution]:
        """Infer the parameters of a problem, and its motion; see :meth:`fit`."""
        if problem.actuated is not None and not self.simulates_actuators:
            raise ConfigurationError(
                'the estimator needs torques, and does not simulate actuators', where=self.name,
                found='robot: {actuators: …}', fix='Say fit: {estimator: shooting}')
        problem = self.prepared(problem)
        log = SearchLog(self.max_iterations)
        fit = self._solved(problem, log)
        cut = shorter_segments(problem, fit.horizon)
        short = with_short_steps(fit.method, cut, fit.solution, fit.words, log)
        method, finer = short.method, short.problem
        solution = replace(short.solution, iterations=tuple(log.iterations))
        error = friction_law_error(method.at, finer, solution) if self.smooths_friction else None
        unseen = short.covariance if error is None else short.covariance + error.covariance
        estimate = with_dry_friction(assess(
            finer, solution, estimator=self.name, settings=self.describe(),
            notes=(*short.words, *fit.remarks), error=unseen), finer, solution, error)
        more = (
            (*short.remarks(estimate.base_names), *method.doubts(finer, solution, estimate))
            if solution.status.ok else self._advice(finer, solution, log))
        if finer is not cut:
            solution = motion_at_nodes(solution, finer, cut)
        if fit.horizon is not None:
            solution = joined(problem, fit.horizon, solution)
        return replace(estimate, notes=(*estimate.notes, *more)), solution

    def _advice(
        self, problem: TrajectoryProblem, found: TrajectorySolution, log: SearchLog
    ) -> tuple[str, ...]:
        """Why a fit ended early, and what to change, in words."""
        return (
            *convergence_notes(problem, found, log, self.name),
            *(f'{CHANGE}{remedy}' for remedy in self.remedies(problem, found)))

    def remedies(self, problem: TrajectoryProblem, found: TrajectorySolution) -> tuple[str, ...]:
        """Settings to change where a fit ended early, the likeliest first, with lines to paste.

        Args:
            problem: The problem.
            found: The best point.
        """
        return (soft_dynamics(problem, found),)

    def prepared(self, problem: TrajectoryProblem) -> TrajectoryProblem:
        """The problem with what its data cannot tell at all held, and warned of.

        Args:
            problem: The problem.
        """
        return problem

    def doubts(
        self, problem: TrajectoryProblem, found: TrajectorySolution, estimate: Estimate
    ) -> tuple[str, ...]:
        """What else than noise the parameters could be off by, in words.

        Args:
            problem: The problem.
            found: Its solution.
            estimate: What is said of the parameters.
        """
        return ()

    def solve(
        self, problem: TrajectoryProblem, progress: Progress | None = None
    ) -> TrajectorySolution:
        """Find parameters and motion; see :meth:`fit`.

        Args:
            problem: The problem.
            progress: Told of every step that was tried.
        """
        fit = self._solved(problem, SearchLog(self.max_iterations, progress))
        found, horizon = fit.solution, fit.horizon
        return found if horizon is None else joined(problem, horizon, found)

    def continued(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> TrajectorySolution:
        """Parameters and motion that fit best, from the solution of nearly the same problem.

        Args:
            problem: The problem, its parameters where the search begins.
            found: Motion to begin with.

        Raises:
            EstimationError: The motion cannot be simulated.
        """
        return self._minimised(problem, found, SearchLog(self.max_iterations))

    def describe(self) -> dict[str, Any]:
        """Settings as plain values, None for no limit."""
        return {
            name: None if value == np.inf else value for name, value in vars(self).items()
        } | {'plausibility': self.plausibility.model_dump()}

    def _solved(self, problem: TrajectoryProblem, log: SearchLog) -> _Fit:
        """The solution with the whole log, whatever it took."""
        horizon = self.horizon if self.seeks_all_states else None
        cut = shorter_segments(problem, horizon)
        fit = _Fit(self, horizon, *self.with_noise(cut, None, log))
        if not fit.solution.status.ok and log.left:
            fit = self._softly(fit, cut, log)
        if not fit.solution.status.ok and self.seeks_all_states:
            fit = self._over_pieces(fit, problem, log)
        return fit._replace(solution=replace(fit.solution, iterations=tuple(log.iterations)))

    def softened(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[TrajectoryLeastSquares, str] | None:
        """The method with dynamics that may be off, where they have to hold.

        Args:
            problem: The problem.
            found: What did not converge.

        Returns:
            The method, and its settings as a line to paste; None where there is none.
        """
        return None

    def shortfall(self, words: tuple[str, ...], line: str) -> tuple[str, ...]:
        """What speaks against intervals where dynamics had to be softened, in words.

        Args:
            words: Levels of noise that were found.
            line: Settings that ask for soft dynamics.
        """
        return ()

    def _softly(self, fit: _Fit, problem: TrajectoryProblem, log: SearchLog) -> _Fit:
        """The fit with dynamics that may be off, if it converges, or what was found before."""
        softened = self.softened(problem, fit.solution)
        if softened is None:
            return fit
        method, line = softened
        # From the first guess: where exact dynamics crept to is no better.
        with log.within('dynamics that may be off'):
            found, words = method.with_noise(problem, None, log)
        if not found.status.ok:
            return fit
        return _Fit(method, fit.horizon, found, words, (
            'Dynamics that hold exactly did not converge; the values are those of dynamics that '
            f'may be off. To ask for that at once: {line}.', *self.shortfall(words, line)))

    def _over_pieces(self, fit: _Fit, problem: TrajectoryProblem, log: SearchLog) -> _Fit:
        """The fit over the longest pieces that converge, or what was found before."""
        values = pieces_start(problem.with_values(fit.solution.values), log)
        longest = max(float(part.t[-1] - part.t[0]) for part in problem.segments)
        length = min(_LONGEST, 0.5 * min(longest, fit.horizon or np.inf))
        while length >= _SHORTEST and log.left:
            try:
                cut = shorter_segments(problem, length).with_values(values)
                with log.within(f'pieces of {length:.2g} s'):
                    found, words = self.with_noise(cut, self.beginning(cut, None), log)
            except EstimationError:
                # So short that there is too little data, or that no motion can be told.
                break
            if found.status.ok:
                return _Fit(self, length, found, words, (
                    'Longer motion did not converge; the values are those of pieces of '
                    f'{length:.2g} s, each from a start of its own. To ask for no more: '
                    f'fit: {{{self.name}: {{horizon: {length:.2g}}}}}.',))
            length *= 0.5
        return fit

    def with_noise(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None, log: SearchLog
    ) -> tuple[TrajectorySolution, tuple[str, ...]]:
        """The solution, and levels of noise in words, from some motion or the first guess."""
        found = self._minimised(problem, motion, log)
        words: tuple[str, ...] = ()
        if not self.estimate_noise:
            return found, words
        method: TrajectoryLeastSquares = self
        for number in range(_ROUNDS):
            if not found.status.ok:
                return found, words
            method, problem, change, words = method._renewed(problem, found)
            if change <= _SETTLED:
                return found, words
            if not log.left:
                return replace(found, status=Status.ITERATION_LIMIT), words
            with log.within(f'levels of noise {number + 1}'):
                found = method._minimised(problem.with_values(found.values), found, log)
        return replace(found, status=Status.INACCURATE), words

    def _renewed(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[TrajectoryLeastSquares, TrajectoryProblem, float, tuple[str, ...]]:
        """The method and the problem with levels of noise as the residuals show them.

        Returns:
            Both, the largest relative change of a level, and the levels in words.
        """
        renewed, change, words = levels_from_residuals(problem, found)
        return self, renewed, change, words

    def _minimised(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None, log: SearchLog
    ) -> TrajectorySolution:
        """Parameters and motion for noise as it is."""
        start, known, problem = search_start(self, problem, motion, log)
        # What the data do not determine is held where it is, or it would drift.
        found = self.search(problem.with_fixed(known.held), start, log)
        # Bounds of all else hold in the search itself.
        bounded = self.prior_strength is not None and problem.frees_bodies
        if found.status.ok and bounded:
            found = ConsistencyRounds(self, problem, known, log).run(found)
        return self.known_at(
            problem.with_values(found.values), found, bounded or len(known.held) > 0)


class _Fit(NamedTuple):
    """How a problem was solved in the end.

    Attributes:
        method: The method, which may be softer than the one that was asked for.
        horizon: What segments were cut by in [s]; None where they were not.
        solution: That of the pieces.
        words: Levels of noise that were found.
        remarks: What else was done.
    """

    method: TrajectoryLeastSquares
    horizon: float | None
    solution: TrajectorySolution
    words: tuple[str, ...]
    remarks: tuple[str, ...] = ()
