"""The estimator by collocation: states at all nodes and parameters, by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, get_args

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import LACKS, Status
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.collocation_noise import HIDDEN, renewed_levels
from sysid_ros.estimation.trajectory.convergence_advice import SHORT_PIECES
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.settings import Scheme
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.estimation.trajectory.step_error import step_errors
from sysid_ros.numerics.least_squares.chain import NormalEquations

# Orders of the rules in the length of a step.
_ORDERS: dict[Scheme, int] = {'trapezoidal': 2, 'hermite_simpson': 4, 'variational': 2}
# Weight of equations that hold exactly, for what is known of the parameters once they do: the
# heavier, the more rounding is left where parameters tell nothing.
_EXACT = 1e6
# Part of their own curvature that is added to states that nothing determines.
_BREATH = 1e-14
# Iterations after which a search with exact dynamics begins again with soft ones, how soft these
# are in parts of the motion, and how accurate.
_PATIENCE, _SOFTNESS, _ROUGHLY = 60, (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4), 1e-3
# How soft they stay where exact ones do not converge, before their level is found.
_SOFT = 0.03


@dataclass(frozen=True)
class CollocationEstimator(TrajectoryLeastSquares):
    """Joint least squares for the motion at all nodes and the parameters.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        scheme: ``trapezoidal``, ``hermite_simpson`` or ``variational``.
        process_noise: Square root of the spectral density of white noise of the
            accelerations, in [rad/s²/√Hz] or [m/s²/√Hz], one for all joints or by joint; None
            where the dynamics hold exactly. With ``estimate_noise`` it is where the search for
            each joint's begins.
        huber: Readings that are off by more standard deviations than this count by how far.
        max_iterations: As for all.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    scheme: Scheme = 'hermite_simpson'
    process_noise: float | Mapping[str, float] | None = None
    huber: float = np.inf
    tolerance: float = 1e-10

    name: ClassVar[str] = 'collocation'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_above_zero('process_noise', 'huber')
        if self.scheme not in get_args(Scheme):
            raise ConfigurationError(
                'there is no such rule of collocation', where='scheme', found=repr(self.scheme),
                allowed=', '.join(get_args(Scheme)),
                fix='Say scheme: hermite_simpson')
        if self.scheme == 'variational' and self.process_noise is not None:
            raise ConfigurationError(
                'discrete mechanics holds exactly', where='process_noise',
                found=self.process_noise, fix='Leave it out, or choose hermite_simpson')

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known with the motion as it is; see :class:`TrajectoryLeastSquares`."""
        pairs = initial_states(problem) if motion is None else zip(
            motion.positions, motion.velocities, strict=True)
        states = np.vstack([np.hstack(pair) for pair in pairs])
        chain, values = self._chain(problem), problem.parameters.values
        free = values[problem.free]
        equations = self._equations(chain, states, free)
        eliminated = equations.eliminated(_BREATH * equations.curvature[0])
        information, scores = np.zeros((len(free),) * 2), np.zeros((len(states), len(free)))
        if eliminated is not None:
            information = eliminated.information
            scores = eliminated.scores(chain.residuals(states, free))
        q, v = zip(*chain.split(states), strict=True)
        return TrajectorySolution(
            values=values, status=Status.CONVERGED, iterations=(), positions=q, velocities=v,
            residuals=chain.innovations(states, free), information=information, scores=scores)

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The best motion and free parameters; see :class:`TrajectoryLeastSquares`.

        Dynamics that hold exactly make a narrow valley of the cost, along which a search from
        afar creeps. If it does not arrive soon it begins again with soft dynamics, noise of the
        process, and what fits these begins the search with harder ones.
        """
        soft = self.process_noise is None and self.scheme != 'variational'
        found = self._searched(
            problem, start, log, _PATIENCE if soft else self._most, f'{self.scheme} rule')
        if found.status.ok or not soft:
            return found
        best = start
        for softness in _SOFTNESS:
            if not log.left:
                return found
            density = softness * start.acceleration_density(problem)
            levels = dict(zip(problem.model.robot.joint_names, density.tolist(), strict=True))
            softer = replace(self, process_noise=levels, tolerance=_ROUGHLY)
            best = softer._searched(
                problem.with_values(best.values), best, log, _PATIENCE,
                f'soft dynamics {softness:g}')
        return self._searched(
            problem.with_values(best.values), best, log, _PATIENCE, f'{self.scheme} rule again')

    def softened(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[TrajectoryLeastSquares, str] | None:
        """With noise of accelerations, whose level is found; see there."""
        if self.process_noise is not None or self.scheme == 'variational':
            return None
        density = float(f'{_SOFT * np.median(found.acceleration_density(problem)):.2g}')
        return replace(self, process_noise=density, estimate_noise=True), (
            f'fit: {{collocation: {{process_noise: {density:g}, estimate_noise: true}}}}')

    def shortfall(self, words: tuple[str, ...], line: str) -> tuple[str, ...]:
        """That process noise shows which nobody asked for; see there."""
        return () if HIDDEN in words else (f'{LACKS}{line}.',)

    def _searched(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog, most: int,
        stage: str,
    ) -> TrajectorySolution:
        """The best motion and free parameters from one start, by so many steps at most."""
        parameters, free = problem.parameters, problem.free
        states = np.hstack([np.vstack(start.positions), np.vstack(start.velocities)])
        chain = self._chain(problem)
        solver = LevenbergMarquardt(
            max_iterations=log.at_most(most), tolerance=self.tolerance,
            parameter_tolerance=self.parameter_tolerance, freedom=problem.freedom)
        found = log.run(stage, partial(
            solver.minimise, chain, states, parameters.values[free], parameters.lower[free],
            parameters.upper[free]))
        values = parameters.values.copy()
        values[free] = found.values
        q, v = zip(*chain.split(found.states), strict=True)
        return replace(
            start, values=values, status=found.status, iterations=found.iterations,
            positions=q, velocities=v)

    def _renewed(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[CollocationEstimator, TrajectoryProblem, float, tuple[str, ...]]:
        if self.process_noise is None:
            _, renewed, change, words = super()._renewed(problem, found)
            return self, renewed, change, words
        determined = determined_parameters(problem, found.information).mask
        renewed, noise, change, words = renewed_levels(*self._there(problem, found), determined)
        renewed = replace(renewed, parameters=problem.parameters)
        joints = problem.model.robot.joint_names
        levels = dict(zip(joints, noise.tolist(), strict=True))
        return replace(self, process_noise=levels), renewed, change, words

    def _chain(self, problem: TrajectoryProblem) -> Collocation:
        problem.require_smooth()
        return Collocation(problem, self.scheme, self._density(problem), self.huber)

    def _density(self, problem: TrajectoryProblem) -> np.ndarray | None:
        """Process noise of each joint, shape ``(n,)``."""
        joints, given = problem.model.robot.joint_names, self.process_noise
        if given is None:
            return None
        if not isinstance(given, Mapping):
            return np.full(len(joints), given)
        if set(given) != set(joints):
            raise ConfigurationError(
                'process noise is not given for each joint', where='process_noise',
                found=', '.join(given), allowed=', '.join(joints),
                fix='Give one number for all joints, or one for each')
        return np.array([given[name] for name in joints])

    @property
    def step_order(self) -> int | None:
        """That of the rule; None with noise of the process, which covers its error."""
        return None if self.process_noise is not None else _ORDERS[self.scheme]

    def remedies(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[str, ...]:
        """Dynamics that may be off, or outliers; see :class:`TrajectoryLeastSquares`."""
        if self.process_noise is None:
            return super().remedies(problem, found)
        if np.isfinite(self.huber):
            return (SHORT_PIECES,)
        return ('readings that are far off count less: fit: {collocation: {huber: 3}}.',
                SHORT_PIECES)

    def moved_by_steps(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> np.ndarray | None:
        """By how much steps moved the base parameters; see :class:`TrajectoryLeastSquares`.

        Discrete mechanics has velocities of its own, whose errors are not those of states.
        """
        if self.scheme == 'variational':
            return None
        chain, states, free = self._there(problem, found)
        errors = step_errors(chain, states, free) / chain.unit
        eliminated = []
        for missing in (errors, np.zeros_like(errors)):
            equations = self._equations(chain, states, free, missing)
            eliminated.append(equations.eliminated(_BREATH * equations.curvature[0]))
        with_errors, without = eliminated
        if with_errors is None or without is None:
            raise EstimationError(
                'the data do not determine the motion',
                where=problem.provenance.get('source'), fix='Observe the position of every joint')
        determined = np.flatnonzero(determined_parameters(problem, found.information).mask)
        slope = (with_errors.corner - without.corner)[determined, -1]
        return np.linalg.solve(with_errors.information[np.ix_(determined, determined)], slope)

    def _there(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[Collocation, np.ndarray, np.ndarray]:
        """The chain at a solution, its states ``(N, 2 n)`` and free parameters ``(k,)``."""
        there = replace(problem, parameters=problem.parameters.with_values(found.values))
        states = np.hstack([np.vstack(found.positions), np.vstack(found.velocities)])
        return self._chain(there), states, found.values[problem.free]

    def _equations(
        self, chain: Collocation, states: np.ndarray, values: np.ndarray,
        missing: np.ndarray | float = 0.0,
    ) -> NormalEquations:
        """Normal equations in which what holds exactly weighs more than all else.

        Where equations hold, only their derivatives tell of the parameters, and what they miss
        of the dynamics, in their unit, shape ``(N, 2 n)``.
        """
        root = np.sqrt(_EXACT)
        errors = np.broadcast_to(missing, states.shape)
        parts = list(chain.residuals(states, values))
        for part in chain.equations(states, values):
            rows = root * part.rows
            rows[:, :, -1] = -root * errors[part.nodes]
            parts.append(replace(part, rows=rows))
        return NormalEquations.of(
            len(states), chain.space.dimension, len(values), parts)

    def state_covariances(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[np.ndarray, ...]:
        """How well the motion is known, for white noise of the given size.

        Args:
            problem: The problem that was solved.
            found: Its solution.

        Returns:
            Covariances of positions and velocities at the nodes, in that order, shape
            ``(N + 1, 2 n, 2 n)`` for each segment.

        Raises:
            EstimationError: The data do not determine the motion.
        """
        chain, states, free = self._there(problem, found)
        eliminated = self._equations(chain, states, free).eliminated()
        if eliminated is None:
            raise EstimationError(
                'the data do not determine the motion',
                where=problem.provenance.get('source'), fix='Observe the position of every joint')
        determined = np.flatnonzero(determined_parameters(problem, eliminated.information).mask)
        parameters = np.zeros_like(eliminated.information)
        known = np.ix_(determined, determined)
        parameters[known] = np.linalg.inv(eliminated.information[known])
        covariances = eliminated.state_covariances(parameters)
        return tuple(np.split(covariances, chain.first_nodes[1:-1]))
