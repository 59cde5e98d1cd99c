"""The estimator by collocation: states at all nodes and parameters, by least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.trajectory.assessment import (
    assess,
    determined_parameters,
    grouping,
)
from sysid_ros.estimation.trajectory.chain import NormalEquations
from sysid_ros.estimation.trajectory.collocation import Collocation, Scheme
from sysid_ros.estimation.trajectory.consistency import Told, consistent_values
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import Observation, TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import Iteration, TrajectorySolution
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.estimation.trajectory.uncertainty import Determined

# Weight of equations that hold exactly, for what is known of the parameters once they do: the
# heavier, the more rounding is left where parameters tell nothing.
_EXACT = 1e6
# Rounds of estimating noise, and the change of all levels that ends them.
_ROUNDS, _SETTLED = 10, 1e-2
# Squared standard deviations by which parameters may move and the motion with them unnoticed.
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True, eq=False)
class _Found:
    """All parameters ``(p,)`` and the motion ``(N, 2 n)`` that belongs to them."""

    values: np.ndarray
    states: np.ndarray
    status: Status
    iterations: tuple[Iteration, ...]


@dataclass(frozen=True)
class CollocatedLeastSquares:
    """Joint least squares for the motion at all nodes and the parameters.

    Args:
        scheme: ``trapezoidal`` or ``hermite_simpson``.
        process_noise: Square root of the spectral density of white noise of the
            accelerations, in [rad/s²/√Hz] or [m/s²/√Hz]; None where the dynamics hold exactly.
        huber: Readings that are off by more standard deviations than this count by how far.
        prior_strength: Weight of the log-det divergence of bodies from their priors, in
            squared standard deviations of the sensors' noise; it keeps them physically
            consistent, and chooses where the data leave a choice. None for neither.
        estimate_noise: Whether levels of the sensors' noise are found from the residuals, in
            place of those given.
        max_iterations: Most iterations of the solver.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    scheme: Scheme = 'hermite_simpson'
    process_noise: float | None = None
    huber: float = np.inf
    prior_strength: float | None = 0.1
    estimate_noise: bool = False
    max_iterations: int = 300
    tolerance: float = 1e-10

    name: ClassVar[str] = 'collocation'

    def __post_init__(self) -> None:
        if self.scheme not in ('trapezoidal', 'hermite_simpson'):
            raise ConfigurationError(
                'there is no such rule of collocation', where='scheme', found=repr(self.scheme),
                allowed='trapezoidal, hermite_simpson')
        for name in ('process_noise', 'huber', 'prior_strength'):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise ConfigurationError(
                    'the number is not above zero', where=name, found=value)

    def fit(self, problem: TrajectoryProblem) -> Estimate:
        """Infer the parameters of a problem.

        Args:
            problem: The problem.

        Returns:
            The estimate; its values are the prior unless the solver converged.

        Raises:
            EstimationError: The motion of a joint was not observed.
        """
        solution, noise = self._solved(problem, None)
        return assess(
            problem, solution, estimator=self.name, settings=self.describe(), notes=noise)

    def solve(
        self, problem: TrajectoryProblem, progress: Callable[[Iteration], None] | None = None
    ) -> TrajectorySolution:
        """Find parameters and motion; see :meth:`fit`.

        Args:
            problem: The problem.
            progress: Told of every step that was tried.
        """
        return self._solved(problem, progress)[0]

    def _solved(
        self, problem: TrajectoryProblem, progress: Callable[[Iteration], None] | None
    ) -> tuple[TrajectorySolution, tuple[str, ...]]:
        states = np.vstack([np.hstack(pair) for pair in initial_states(problem)])
        for _ in range(_ROUNDS):
            found = self._minimised(problem, states, progress)
            if not self.estimate_noise or found.status is not Status.CONVERGED:
                return found, ()
            problem, change, words = _with_levels(problem, found)
            if change <= _SETTLED:
                return found, words
            states = np.hstack([np.vstack(found.positions), np.vstack(found.velocities)])
        return replace(found, status=Status.INACCURATE), words

    def _minimised(
        self, problem: TrajectoryProblem, states: np.ndarray,
        progress: Callable[[Iteration], None] | None,
    ) -> TrajectorySolution:
        """Parameters and motion for noise as it is."""
        chain = self._chain(problem)
        values = problem.parameters.values
        known = determined_parameters(
            problem, self._information(chain, states, values[problem.free]))
        # What the data do not determine is held where it is, or it would drift.
        found = self._search(_held(problem, known.held), states, values, progress)
        if found.status is Status.CONVERGED and self.prior_strength is not None:
            found = self._made_consistent(problem, known, found, progress)
        return self._told(chain, found)

    def _search(
        self, problem: TrajectoryProblem, states: np.ndarray, values: np.ndarray,
        progress: Callable[[Iteration], None] | None,
    ) -> _Found:
        """The best motion and free parameters from a start."""
        # Those that are held are held at these values.
        problem = replace(problem, parameters=problem.parameters.with_values(values))
        free = problem.free
        bounds = problem.parameters.lower[free], problem.parameters.upper[free]
        solver = LevenbergMarquardt(max_iterations=self.max_iterations, tolerance=self.tolerance)
        found = solver.minimise(self._chain(problem), states, values[free], *bounds, progress)
        everything = values.copy()
        everything[free] = found.values
        return _Found(everything, found.states, found.status, found.iterations)

    def _made_consistent(
        self, problem: TrajectoryProblem, known: Determined, found: _Found,
        progress: Callable[[Iteration], None] | None,
    ) -> _Found:
        """Parameters that physics allows, and the motion that belongs to them.

        Each round minimises what the cost is to second order, states adapted, with the prior.
        What no motion determines follows from the prior; what the data lost is held.
        """
        lost = np.isin(problem.free, problem.base.independent) & ~known.kept
        fewer, matrix = _held(problem, np.flatnonzero(lost)), grouping(problem, known)[:, ~lost]
        motion_alone = _held(problem, np.arange(len(problem.free)))
        for _ in range(_ROUNDS):
            eliminated = self._equations(
                self._chain(problem), found.states, found.values[problem.free]).eliminated()
            if eliminated is None:
                return replace(found, status=Status.FAILED)
            told = Told(
                matrix, eliminated.information[np.ix_(known.kept, known.kept)],
                eliminated.corner[known.kept, -1])
            values, status = consistent_values(
                fewer, found.values, told, self.prior_strength or 0.0)
            if not status.ok:
                return replace(found, status=status)
            moved = (values - found.values)[fewer.free]
            found = replace(found, values=values)
            if told.squared(moved) <= _NEGLIGIBLE:
                return found
            again = self._search(motion_alone, found.states, values, progress)
            found = replace(again, iterations=(*found.iterations, *again.iterations))
            if again.status is not Status.CONVERGED:
                return found
        return replace(found, status=Status.ITERATION_LIMIT)

    def _chain(self, problem: TrajectoryProblem) -> Collocation:
        joints = len(problem.model.robot.joint_names)
        noise = None if self.process_noise is None else np.full(joints, self.process_noise)
        return Collocation(problem, self.scheme, noise, self.huber)

    def _equations(
        self, chain: Collocation, states: np.ndarray, values: np.ndarray
    ) -> NormalEquations:
        """Normal equations in which what holds exactly weighs more than all else."""
        root = np.sqrt(_EXACT)
        parts = list(chain.residuals(states, values))
        for part in chain.equations(states, values):
            rows = root * part.rows
            # Where equations hold, only their derivatives tell of the parameters.
            rows[:, :, -1] = 0.0
            parts.append(replace(part, rows=rows))
        return NormalEquations.of(
            len(states), chain.space.dimension, len(values), parts)

    def _information(
        self, chain: Collocation, states: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Information on the parameters, shape ``(k, k)``."""
        equations = self._equations(chain, states, values)
        # A breath of damping, for states that nothing determines at the start.
        eliminated = equations.eliminated(1e-14 * equations.curvature[0])
        return np.zeros((len(values),) * 2) if eliminated is None else eliminated.information

    def _told(self, chain: Collocation, found: _Found) -> TrajectorySolution:
        free = found.values[chain.problem.free]
        eliminated = self._equations(chain, found.states, free).eliminated()
        count = len(free)
        information, scores = np.zeros((count, count)), np.zeros((len(found.states), count))
        if eliminated is not None:
            information = eliminated.information
            scores = eliminated.scores(chain.residuals(found.states, free))
        motion = chain.split(found.states)
        return TrajectorySolution(
            values=found.values, status=found.status, iterations=found.iterations,
            positions=tuple(q for q, _ in motion), velocities=tuple(v for _, v in motion),
            residuals=chain.innovations(found.states, free), information=information,
            scores=scores)

    def describe(self) -> dict[str, Any]:
        """Settings as plain values, None for no limit."""
        settings = asdict(self)
        return {**settings, 'huber': None if np.isinf(self.huber) else self.huber}


def _held(problem: TrajectoryProblem, chosen: np.ndarray) -> TrajectoryProblem:
    """The problem with some of its free parameters, by their place among these, held."""
    names = [problem.parameters.names[k] for k in problem.free[chosen]]
    return replace(problem, parameters=problem.parameters.fixed(*names)) if names else problem


def _with_levels(
    problem: TrajectoryProblem, found: TrajectorySolution
) -> tuple[TrajectoryProblem, float, tuple[str, ...]]:
    """The problem with levels of noise as the residuals show them, alike in all stretches.

    Degrees of freedom that states and parameters take are shared out by rows.

    Returns:
        The problem, the largest relative change of a level, and the levels in words.
    """
    squares: dict[str, np.ndarray] = {}
    counts: dict[str, np.ndarray] = {}
    rows = 0
    for stretch, residuals in zip(problem.stretches, found.residuals, strict=True):
        for observation, residual in zip(stretch.observations, residuals, strict=True):
            name, known = observation.sensor.name, np.isfinite(residual)
            squares[name] = squares.get(name, 0.0) + np.nansum(residual**2, axis=0)
            counts[name] = counts.get(name, 0) + known.sum(axis=0)
            rows += int(known.sum())
    starts = sum(2 * positions.shape[1] for positions in found.positions)
    left = 1.0 - min((starts + len(problem.free)) / rows, 0.9)
    levels = {
        name: np.sqrt(total / np.maximum(left * counts[name], 1.0))
        for name, total in squares.items()}
    change = 0.0

    def renewed(observation: Observation) -> Observation:
        nonlocal change
        level = np.maximum(levels[observation.sensor.name], np.finfo(float).tiny)
        change = max(change, float(np.max(np.abs(level / observation.sigma - 1.0))))
        return replace(observation, sigma=level)

    stretches = tuple(
        replace(stretch, observations=tuple(renewed(o) for o in stretch.observations))
        for stretch in problem.stretches)
    words = tuple(
        f'Noise of {name}: {", ".join(f"{value:.3g}" for value in level)}.'
        for name, level in levels.items())
    return replace(problem, stretches=stretches), change, words
