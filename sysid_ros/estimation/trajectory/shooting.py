"""Shooting: whole segments are simulated, and parameters and starts moved until they fit.

Gauss-Newton iterations with Marquardt's damping. Derivatives are those of the simulated motion
itself, so that there is no model error and no tuning but the step of the integration. What
makes it fail is motion whose sensitivity grows with time: then segments are cut into pieces
that start anew (multiple shooting). Ends of pieces are not tied to the starts of the next: with
starts that are estimated the loss of information is small, and chaos is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sysid_ros.dynamics.sensitivity import SimulatedMotion, Simulator
from sysid_ros.dynamics.variational.simulator import VariationalSimulator
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.bordered import Bordered
from sysid_ros.estimation.trajectory.local_motion import local_state
from sysid_ros.estimation.trajectory.pieces import (
    Piece,
    Residuals,
    compare,
    cut,
    recorded_start,
)
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import Iteration, TrajectorySolution

#: How segments are simulated.
Integrator = Literal['runge_kutta', 'midpoint', 'trapezoidal']

# Damping the search begins with, that a step counts as free below, and that ends the search.
_FIRST, _FREE, _LAST = 1e-3, 1e-2, 1e12
# Residuals below this part of the measured values, in root mean square, are rounding.
_EXACT = 1e-13


@dataclass(frozen=True)
class Shooting:
    """Settings of the solver.

    Args:
        starts: Whether every segment's start is ``'estimated'`` or taken as ``'recorded'``.
        substeps: Steps of the integration from node to node.
        horizon: Longest piece to simulate in [s], for estimated starts; None for whole
            segments.
        max_iterations: Most simulations with derivatives.
        tolerance: Relative decrease of the cost that is small enough to stop, and gradient
            over scale and size of the residuals.
        integrator: How segments are simulated: by the classical Runge-Kutta method, or by a
            variational integrator with the midpoint rule or the trapezoidal one.

    Raises:
        ConfigurationError: A setting is out of range, or pieces are asked for that start as
            recorded.
    """

    starts: Literal['estimated', 'recorded'] = 'estimated'
    substeps: int = 1
    horizon: float | None = None
    max_iterations: int = 100
    tolerance: float = 1e-8
    integrator: Integrator = 'runge_kutta'

    def __post_init__(self) -> None:
        for name, good, allowed in (
            ('starts', self.starts in ('estimated', 'recorded'), 'estimated or recorded'),
            ('substeps', self.substeps >= 1, 'one or more'),
            ('horizon', self.horizon is None or self.horizon > 0.0, 'above zero'),
            ('horizon', self.horizon is None or self.starts == 'estimated',
             'none with starts as recorded, since nothing was recorded at cuts'),
            ('max_iterations', self.max_iterations >= 1, 'one or more'),
            ('tolerance', 0.0 < self.tolerance < 1.0, 'between zero and one'),
            ('integrator', self.integrator in get_args(Integrator),
             ', '.join(get_args(Integrator))),
        ):
            if not good:
                raise ConfigurationError(
                    'the setting of shooting cannot be used', where=name,
                    found=getattr(self, name), allowed=allowed)

    def simulator(self, problem: TrajectoryProblem) -> Simulator | VariationalSimulator:
        """What simulates the segments of a problem.

        Raises:
            ModelError: The integrator does not know the robot or one of its joint terms.
        """
        by_start = self.starts == 'estimated'
        if self.integrator == 'runge_kutta':
            return Simulator(problem.model, problem.free, by_start, self.substeps)
        return VariationalSimulator(
            problem.model, problem.free, by_start, self.substeps, self.integrator)

    def here(self, problem: TrajectoryProblem) -> TrajectorySolution:
        """What is known at the values that parameters and starts have, nothing sought.

        Args:
            problem: What was measured.

        Raises:
            EstimationError: As for :meth:`solve`.
        """
        return _Search(self, problem).solution(Status.CONVERGED, ())

    def solve(
        self, problem: TrajectoryProblem, progress: Callable[[Iteration], None] | None = None
    ) -> TrajectorySolution:
        """Fit the free parameters, from the values that they have.

        Args:
            problem: What was measured.
            progress: Told of every step that was tried.

        Returns:
            The best that was found, whatever the status.

        Raises:
            EstimationError: The motion cannot be simulated with the values that the fit starts
                from, or a start is needed that was not recorded.
            ModelError: A sensor is of a joint that the robot does not have.
            RecordingError: A recorded start cannot be used.
        """
        search, log = _Search(self, problem), list[Iteration]()
        status = Status.ITERATION_LIMIT
        for _ in range(self.max_iterations):
            before = len(log)
            ended = search.advance(log)
            if progress is not None and len(log) > before:
                progress(log[-1])
            if ended is not None:
                status = ended
                break
        return search.solution(status, tuple(log))


@dataclass(frozen=True, eq=False)
class _Point:
    """Values with what was simulated and how it compares.

    Attributes:
        values: All parameter values, shape ``(p,)``.
        starts: Shape ``(P, 2, n)``.
        motions: One for every piece.
        residuals: One for every piece and observation.
        equations: Normal equations.
        cost: Half the sum of squared weighted residuals; infinite where a piece ran away.
    """

    values: np.ndarray
    starts: np.ndarray
    motions: list[SimulatedMotion]
    residuals: list[tuple[Residuals, ...]]
    equations: Bordered
    cost: float


class _Search:
    """The best point so far, and how far to trust the linear model about it."""

    def __init__(self, settings: Shooting, problem: TrajectoryProblem) -> None:
        self._settings, self._problem = settings, problem
        problem.require_smooth()
        self._free = problem.free
        self._pieces = cut(problem.segments, settings.horizon)
        self._simulator = settings.simulator(problem)
        self._damping, self._factor = _FIRST, 2.0
        parameters = problem.parameters
        self._lower, self._upper = parameters.lower[self._free], parameters.upper[self._free]
        values = parameters.values.copy()
        values[self._free] = np.clip(values[self._free], self._lower, self._upper)
        self._point = self._evaluate(values, np.array([self._start(p) for p in self._pieces]))
        if not np.isfinite(self._point.cost):
            raise EstimationError(
                'the motion cannot be simulated with the values that the fit starts from',
                where=problem.provenance.get('source'), found=self._lost(),
                allowed='bodies with positive inertia, and motion that stays finite',
                fix='Start from a description whose links are real bodies, give the integration '
                'more substeps, or cut the stretches with a horizon')
        squares = sum(
            float(np.nansum((reach.values / reach.sigma) ** 2))
            for piece in self._pieces for reach in piece.reaches)
        self._exact = 0.5 * _EXACT**2 * squares

    def _start(self, piece: Piece) -> np.ndarray:
        segment = self._problem.segments[piece.segment]
        recorded = segment.start is not None or self._settings.starts == 'recorded'
        if piece.first == 0 and recorded:
            return recorded_start(segment, piece.segment)
        return local_state(
            self._problem.model.robot, segment, float(segment.t[piece.first]))

    def _lost(self) -> str:
        lost = [
            piece.segment for piece, motion in zip(
                self._pieces, self._point.motions, strict=True)
            if not np.isfinite(motion.states).all()]
        return f'stretches {", ".join(map(str, sorted(set(lost))))} ran away'

    def _evaluate(self, values: np.ndarray, starts: np.ndarray) -> _Point:
        motions = self._simulator.run(
            values, [p.trajectory(x) for p, x in zip(self._pieces, starts, strict=True)])
        robot, width = self._problem.model.robot, self._simulator.width
        residuals, cost = [], 0.0
        hessians = np.zeros((len(motions), width, width))
        gradients = np.zeros((len(motions), width))
        for k, (piece, motion) in enumerate(zip(self._pieces, motions, strict=True)):
            if not (np.isfinite(motion.states).all() and np.isfinite(motion.slopes).all()):
                cost = np.inf
                break
            residuals.append(compare(robot, piece, motion))
            for part in residuals[-1]:
                right = part.weighted.reshape(-1)
                rows = part.jacobian.reshape(len(right), width)
                hessians[k] += rows.T @ rows
                gradients[k] -= right @ rows
                cost += 0.5 * float(right @ right)
        equations = Bordered.of(hessians, gradients, self._simulator.starts)
        return _Point(values, starts, motions, residuals, equations, cost)

    def advance(self, log: list[Iteration]) -> Status | None:
        """Try one step; how the search ended, if it did."""
        point, tolerance = self._point, self._settings.tolerance
        theta = point.values[self._free]
        bounds = self._lower - theta, self._upper - theta
        steepness = point.equations.steepness(*bounds)
        if point.cost <= self._exact or steepness <= tolerance * np.sqrt(2.0 * point.cost):
            return Status.CONVERGED
        shared, own = point.equations.damped(self._damping).step(*bounds)
        promised = point.equations.promised(shared, own)
        if promised <= tolerance * point.cost and self._damping <= _FREE:
            return Status.CONVERGED
        trial = self._evaluate(*self._moved(shared, own))
        decrease = point.cost - trial.cost
        gain = decrease / promised if promised > 0.0 else -np.inf
        log.append(Iteration(
            min(point.cost, trial.cost), decrease, gain, self._damping,
            point.equations.size(shared), steepness))
        if not gain > 0.0:
            return self._refuse()
        settled = decrease <= tolerance * point.cost and self._damping <= _FREE
        self._accept(trial, gain)
        return Status.CONVERGED if settled and gain > 0.5 else None

    def _moved(self, shared: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = self._point.values.copy()
        values[self._free] = np.clip(values[self._free] + shared, self._lower, self._upper)
        starts = self._point.starts
        if self._simulator.by_start:
            starts = starts + own.reshape(starts.shape)
        return values, starts

    def _accept(self, trial: _Point, gain: float) -> None:
        """Go there, and trust the more the better it was foretold (Nielsen 1999)."""
        self._point = trial
        self._damping *= max(1.0 / 5.0, 1.0 - (2.0 * min(gain, 1.0) - 1.0) ** 3)
        self._factor = 2.0

    def _refuse(self) -> Status | None:
        """Stay, and trust less, the less the more often that was in vain."""
        self._damping *= self._factor
        self._factor *= 2.0
        return Status.INACCURATE if self._damping > _LAST else None

    def solution(self, status: Status, log: tuple[Iteration, ...]) -> TrajectorySolution:
        """The best point, as a solution."""
        point, segments = self._point, self._problem.segments
        positions, velocities = (
            tuple(np.empty(segment.torque.shape) for segment in segments) for _ in range(2))
        residuals = tuple(
            tuple(np.empty_like(observation.values) for observation in segment.observations)
            for segment in segments)
        scores = [np.zeros((len(segment.t), len(self._free))) for segment in segments]
        for k, (piece, motion) in enumerate(zip(self._pieces, point.motions, strict=True)):
            nodes = slice(piece.first, piece.last + 1)
            positions[piece.segment][nodes] = motion.states[:, 0]
            velocities[piece.segment][nodes] = motion.states[:, 1]
            for number, (reach, part) in enumerate(
                    zip(piece.reaches, point.residuals[k], strict=True)):
                residuals[piece.segment][number][reach.rows] = part.values
                np.add.at(
                    scores[piece.segment], piece.first + reach.nodes, self._score(part, k))
        return TrajectorySolution(
            point.values, status, log, positions, velocities, residuals,
            point.equations.reduced, np.concatenate(scores))

    def _score(self, part: Residuals, piece: int) -> np.ndarray:
        """Gradient of the cost of single samples, starts adapted, shape ``(K, k)``."""
        first = self._simulator.starts
        slopes = part.jacobian[:, :, first:]
        slopes = slopes - part.jacobian[:, :, :first] @ self._point.equations.elimination[piece]
        return -np.einsum('Km,Kmk->Kk', part.weighted, slopes)
