"""The estimator by shooting: segments are simulated until parameters and starts fit.

Motion that is simulated for long depends so strongly on parameters and starts that a search from
poor guesses ends anywhere. So it begins with short pieces, and what fits them begins the search
over longer ones, up to the horizon that is asked for (continuation; multiple shooting after Bock
1987). Where longer pieces do not converge, the longest that did are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.trajectory.actuator_constants import fix_weak_constants, free_constants
from sysid_ros.estimation.trajectory.actuator_limits import with_reachable_limits
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.command_filter import with_filter_that_joints_follow
from sysid_ros.estimation.trajectory.convergence_advice import soft_dynamics
from sysid_ros.estimation.trajectory.friction_smoothing import smooth_to_begin_with
from sysid_ros.estimation.trajectory.gain_start import with_gains_by_links
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.regression_start import regression_start
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.shooting import Integrator, Shooting
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.stable_step import stable_steps

# Longest first pieces in [s], so short that no guess is too wrong, and the shortest where even
# these do not converge; times as long as the last are the next.
_FIRST, _SHORTEST, _LONGER = 0.3, 0.05, 4.0
# Longest pieces in [s] under actuators that hold no position, where nothing else is asked for: what
# is not known of them adds up, and longer ones only carry it on.
_OPEN_LOOP = 1.2
# Pieces that are no longer by this factor are not worth another search.
_WORTHWHILE = 1.5
# Part of a standard deviation to which it is searched with smoother friction.
_PART = 0.3
# Accuracy and most iterations of a search that only begins the next; most iterations of any, or one
# over this of those of all.
_ROUGHLY, _ROUGH_ITERATIONS, _MOST, _SEARCHES = 1e-3, 30, 100, 6
# Longer pieces whose cost stays so many times that of the last depend on starts too much to fit.
_HOPELESS = 1e4


@dataclass(frozen=True, eq=False)
class ShootingSolution(TrajectorySolution):
    """A solution with the length of the pieces that were simulated.

    Attributes:
        horizon: Longest piece in [s].
        tried: Shortest length in [s] that did not converge, infinite where all did.
    """

    horizon: float
    tried: float = np.inf

    @classmethod
    def of(
        cls, solution: TrajectorySolution, horizon: float, tried: float = np.inf
    ) -> ShootingSolution:
        """A solution with the length of its pieces."""
        known: dict[str, Any] = {
            each.name: getattr(solution, each.name) for each in fields(TrajectorySolution)}
        return cls(**known, horizon=horizon, tried=tried)


@dataclass(frozen=True)
class ShootingEstimator(TrajectoryLeastSquares):
    """Least squares for the starts of segments and the parameters, motion being simulated.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        starts: Whether starts are ``'estimated'`` or taken as ``'recorded'``.
        substeps: Steps of the integration from node to node; None for as many as are accurate
            and, under steep friction, stable.
        horizon: As for all.
        max_iterations: As for all: most simulations with derivatives.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    starts: Literal['estimated', 'recorded'] = 'estimated'
    substeps: int | None = None
    tolerance: float = 1e-8

    name: ClassVar[str] = 'shooting'
    simulates_actuators: ClassVar[bool] = True
    seeks_all_states: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._solver(self.horizon, (self.substeps or 1, 1))

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known with the starts as they are; see :class:`TrajectoryLeastSquares`."""
        if isinstance(motion, ShootingSolution):
            found = self.solver_for(problem, motion.horizon).here(problem, motion)
            return ShootingSolution.of(found, motion.horizon, motion.tried)
        if motion is not None:
            return self._solver(self.horizon, self._steps(problem)).here(problem, motion)
        return self.first_solver(problem, self.first_horizon(problem)).here(problem)

    def beginning(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known before a search, with friction as smooth as one begins with."""
        smoother = smooth_to_begin_with(problem) if motion is None else None
        return self.at(problem if smoother is None else smoother, motion)

    def known_at(
        self, problem: TrajectoryProblem, found: TrajectorySolution, held: bool
    ) -> TrajectorySolution:
        """As the search left it, where nothing was held; see :class:`TrajectoryLeastSquares`."""
        return super().known_at(problem, found, held) if held else found

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The best starts and free parameters; see :class:`TrajectoryLeastSquares`."""
        if not len(problem.free) and self.starts == 'recorded':
            return replace(self.at(problem, start), status=Status.CONVERGED)
        if isinstance(start, ShootingSolution):
            found = solved_over(
                problem, self.solver_for(problem, start.horizon), start.horizon, start, log)
            return replace(found, tried=start.tried)
        smooth = self._smoothly(problem, log)
        if smooth is None:
            return _Continuation(self, problem, log).run()
        there, horizon = problem.with_values(smooth.values), smooth.horizon
        found = solved_over(there, self.solver_for(there, horizon), horizon, smooth, log)
        return replace(found, tried=smooth.tried)

    def _smoothly(self, problem: TrajectoryProblem, log: SearchLog) -> ShootingSolution | None:
        """A rough solution with smoother friction; None where it is smooth enough, or failed.

        Motion under sharp friction is hardly differentiable, and a search in it long.
        """
        smoother = smooth_to_begin_with(problem)
        if smoother is None:
            return None
        rough = replace(self, tolerance=max(_ROUGHLY, self.tolerance), parameter_tolerance=_PART)
        with log.within('smoother friction'):
            found = _Continuation(rough, smoother, log).run()
        return found if found.status.ok and log.left else None

    def prepared(self, problem: TrajectoryProblem) -> TrajectoryProblem:
        """Constants of actuators that hardly show are held; see :class:`TrajectoryLeastSquares`."""
        problem = with_gains_by_links(with_filter_that_joints_follow(problem))
        if not len(free_constants(problem)):
            return problem
        problem = with_reachable_limits(problem)
        at = problem.with_values(regression_start(problem))
        found = self.at(at, None)
        known = determined_parameters(at, found.information)
        names = [problem.parameters.names[k] for k in problem.free[known.held]]
        at = replace(at, parameters=at.parameters.fixed(*names))
        first, longest = self.first_horizon(problem), self.longest(problem)
        found = self.first_solver(at, first).solve(at)
        if longest > first:
            found = self._roughly_longer(at, found, longest)
        there = problem.with_values(found.values)
        return fix_weak_constants(
            problem, self.solver_for(problem, longest).here(there, found))

    def _roughly_longer(
        self, problem: TrajectoryProblem, found: TrajectorySolution, horizon: float
    ) -> TrajectorySolution:
        """A rough search over longer pieces from a solution, or that where these run away."""
        at = problem.with_values(found.values)
        try:
            return self.first_solver(at, horizon).solve(at, motion=found)
        except EstimationError:
            return found

    def doubts(
        self, problem: TrajectoryProblem, found: TrajectorySolution, estimate: Estimate
    ) -> tuple[str, ...]:
        """Steps that are too long, and pieces shorter than those asked for; see there."""
        rough = self._roughness(problem, found)
        if not (isinstance(found, ShootingSolution) and np.isfinite(found.tried)):
            return rough
        return (
            *rough,
            f'Pieces of {found.tried:.2g} s did not converge from what pieces of '
            f'{found.horizon:.2g} s gave; the values are those of the latter. '
            f'To ask for no more: fit: {{{self.name}: {{horizon: {found.horizon:.2g}}}}}.',)

    def remedies(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[str, ...]:
        """Shorter pieces, then dynamics that may be off; see :class:`TrajectoryLeastSquares`."""
        tried = found.horizon if isinstance(found, ShootingSolution) else self.longest(problem)
        shorter = (
            'shorter pieces, over which wrong guesses do less: '
            f'fit: {{{self.name}: {{horizon: {0.5 * tried:.2g}}}}}.',)
        return (
            *self._roughness(problem, found), *(shorter if tried >= 2.0 * _SHORTEST else ()),
            soft_dynamics(problem, found))

    def _roughness(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[str, ...]:
        """Whether steps were too long for the friction that was found, in words."""
        if self.substeps is not None:
            return ()
        there = problem.parameters.with_values(found.values)
        return stable_steps(replace(problem, parameters=there)).doubts(self.name)

    def _solver(self, horizon: float | None, steps: tuple[int, int]) -> Shooting:
        return Shooting(
            self.starts, *steps, horizon, max(_MOST, self.max_iterations // _SEARCHES),
            self.tolerance, self.parameter_tolerance, self._integrator)

    def solver_for(self, problem: TrajectoryProblem, horizon: float) -> Shooting:
        """The solver over pieces of a length; that of whole segments where none is longer."""
        whole = horizon >= self._whole(problem)
        return self._solver(None if whole else horizon, self._steps(problem))

    def first_solver(self, problem: TrajectoryProblem, horizon: float) -> Shooting:
        """A rough one with estimated starts, which only begins the next."""
        substeps, near_reversals = self._steps(problem)
        return Shooting(
            substeps=substeps, near_reversals=near_reversals, horizon=horizon,
            max_iterations=_ROUGH_ITERATIONS, tolerance=max(_ROUGHLY, self.tolerance),
            parameter_tolerance=self.parameter_tolerance, integrator=self._integrator)

    def _steps(self, problem: TrajectoryProblem) -> tuple[int, int]:
        """Steps of the integration from node to node, and what each is cut into near reversals."""
        if self.substeps is not None:
            return self.substeps, 1
        steps = stable_steps(problem)
        return steps.taken, steps.near_reversals

    @staticmethod
    def _whole(problem: TrajectoryProblem) -> float:
        """Length of the longest segment in [s]."""
        return max(float(segment.t[-1] - segment.t[0]) for segment in problem.segments)

    def longest(self, problem: TrajectoryProblem) -> float:
        """Length of the longest piece asked for in [s]."""
        whole, actuated = self._whole(problem), problem.actuated
        if self.horizon is None and actuated and not actuated.hold_positions:
            return min(_OPEN_LOOP, whole)
        return whole if self.horizon is None else min(self.horizon, whole)

    def first_horizon(self, problem: TrajectoryProblem) -> float:
        """Length of the pieces to begin with in [s].

        Drives that hold positions, and good values, keep motion near to what was measured.
        """
        longest, actuated = self.longest(problem), problem.actuated
        if problem.near or (actuated is not None and actuated.hold_positions):
            return longest
        return min(_FIRST, longest)

    @property
    def _integrator(self) -> Integrator:
        return 'runge_kutta'


class _Continuation:
    """Searches over longer and longer pieces, each from where the last one ended.

    Args:
        method: The estimator.
        problem: The problem.
        log: Takes every step.
    """

    def __init__(
        self, method: ShootingEstimator, problem: TrajectoryProblem, log: SearchLog
    ) -> None:
        self._method, self._problem, self._log = method, problem, log
        self._longest = method.longest(problem)
        # What converged over the longest pieces, and what did not; the shortest that did not.
        self._best: ShootingSolution | None = None
        self._reached: list[float] = []
        self._other: ShootingSolution | None = None
        self._failed = np.inf

    def run(self) -> ShootingSolution:
        """The solution over the longest pieces that converge, up to those asked for.

        Raises:
            EstimationError: Not even short pieces can be simulated from the first values.
        """
        horizon: float | None = self._method.first_horizon(self._problem)
        while horizon is not None and self._log.left:
            self._try(horizon)
            horizon = self._next()
        found = self._best or self._other
        assert found is not None  # what cannot be simulated at all was refused
        if found.status.ok and found.horizon < self._longest:
            if self._method.starts == 'recorded' and self._other is not None:
                found = self._other
            elif self._log.left:
                found = self._accurately()
            else:
                found = replace(found, status=Status.ITERATION_LIMIT)
        return replace(found, tried=self._failed)

    def _try(self, horizon: float) -> None:
        try:
            found = self._solved(horizon, rough=horizon < self._longest)
        except EstimationError:
            if self._best is None and 0.5 * horizon < _SHORTEST:
                raise
            self._failed = horizon
            return
        if not found.status.ok:
            self._other, self._failed = found, horizon
            return
        if self._best is None:
            # What did not converge from the first values may from these.
            self._failed = np.inf
        self._best = found
        self._reached.append(horizon)

    def _accurately(self) -> ShootingSolution:
        """The solution to the last digits, over the longest pieces over which there is one.

        Where joints stick, long pieces may end elsewhere after the least step.
        """
        *shorter, longest = self._reached
        first = found = self._solved(longest, rough=False)
        while not found.status.ok and shorter and self._log.left:
            self._failed = found.horizon
            found = self._solved(shorter.pop(), rough=False)
        return found if found.status.ok else first

    def _next(self) -> float | None:
        """Length of the next pieces in [s]; None where there is nothing more to try."""
        if self._best is None:
            shorter = 0.5 * self._failed
            return shorter if shorter >= _SHORTEST else None
        reached = self._best.horizon
        if reached >= self._longest:
            return None
        if np.isinf(self._failed):
            return min(_LONGER * reached, self._longest)
        between = float(np.sqrt(reached * self._failed))
        return between if between >= _WORTHWHILE * reached else None

    def _solved(self, horizon: float, rough: bool) -> ShootingSolution:
        """A search over pieces of a length from the best values and motion so far."""
        best, problem = self._best, self._problem
        if best is not None:
            problem = replace(problem, parameters=problem.parameters.with_values(best.values))
        solver = (
            self._method.first_solver(problem, horizon) if rough
            else self._method.solver_for(problem, horizon))
        if best is not None and best.iterations and horizon > best.horizon:
            solver = replace(solver, hopeless=_HOPELESS * best.iterations[-1].cost)
        return solved_over(problem, solver, horizon, best, self._log)


def solved_over(
    problem: TrajectoryProblem, solver: Shooting, horizon: float,
    motion: TrajectorySolution | None, log: SearchLog,
) -> ShootingSolution:
    """Shooting over pieces of one length, as a stage of a fit.

    Args:
        problem: The problem, its parameters where the search begins.
        solver: The solver.
        horizon: Longest piece in [s].
        motion: Motion that pieces start from, or None.
        log: Takes every step.

    Raises:
        EstimationError: The motion cannot be simulated with these parameters.
    """
    solver = replace(solver, max_iterations=log.at_most(solver.max_iterations))
    found = log.run(
        f'pieces of {horizon:.2g} s', lambda progress: solver.solve(problem, progress, motion))
    return ShootingSolution.of(found, horizon)
