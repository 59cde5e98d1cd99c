"""Shooting: whole segments are simulated, and parameters and starts moved until they fit.

Damped Gauss-Newton steps (:mod:`~sysid_ros.numerics.least_squares.damped`). Derivatives are those
of the simulated motion itself, so that there is no model error and no tuning but the step of the
integration. What makes it fail is motion whose sensitivity grows with time: then segments are cut
into pieces that start anew (multiple shooting). Ends of pieces are not tied to the starts of the
next: with starts that are estimated the loss of information is small, and chaos is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.local_motion import local_state
from sysid_ros.estimation.trajectory.pieces import (
    Piece,
    Residuals,
    compare,
    cut,
    recorded_start,
)
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import STATUS, TrajectorySolution
from sysid_ros.estimation.trajectory.starts import hidden_joints, initial_states
from sysid_ros.mechanics.integrators.sensitivity import SimulatedMotion, Simulator
from sysid_ros.mechanics.integrators.variational.simulator import VariationalSimulator
from sysid_ros.numerics.least_squares.bordered import Bordered
from sysid_ros.numerics.least_squares.damped import (
    DampedGaussNewton,
    DampedStep,
    Ended,
    Iteration,
)
from sysid_ros.numerics.noise import correlated_squares

#: How segments are simulated.
Integrator = Literal['runge_kutta', 'midpoint', 'trapezoidal']

# Damping the search begins with, and that a step counts as free below.
_FIRST, _FREE = 1e-3, 1e-2
# Steps after which a search may be given up.
_FEW = 6
# Residuals below this part of the measured values, in root mean square, are rounding.
_EXACT = 1e-13
# Sum of squares from which on motion, or its derivatives, ran away: products of more overflow.
_RUNAWAY = 1e200


@dataclass(frozen=True)
class Shooting:
    """Settings of the solver.

    Args:
        starts: Whether every segment's start is ``'estimated'`` or taken as ``'recorded'``.
        substeps: Steps of the integration from node to node.
        near_reversals: How many shorter steps Runge-Kutta's are cut into at most while friction
            whose sign is smoothed may reverse.
        horizon: Longest piece to simulate in [s], for estimated starts; None for whole
            segments.
        max_iterations: Most simulations with derivatives.
        tolerance: Relative decrease of the cost that is small enough to stop, and gradient
            over scale and size of the residuals.
        parameter_tolerance: Part of a standard deviation of the parameters; a search ends where the
            next step moves them by less. 0 for never.
        integrator: How segments are simulated: by the classical Runge-Kutta method, or by a
            variational integrator with the midpoint rule or the trapezoidal one.
        hopeless: Cost above which a search is given up after a few steps.
        relief: Part that damping falls to, at most, after a step that came true.

    Raises:
        ConfigurationError: A setting is out of range, or pieces are asked for that start as
            recorded.
    """

    starts: Literal['estimated', 'recorded'] = 'estimated'
    substeps: int = 1
    near_reversals: int = 1
    horizon: float | None = None
    max_iterations: int = 100
    tolerance: float = 1e-8
    parameter_tolerance: float = 0.0
    integrator: Integrator = 'runge_kutta'
    hopeless: float = np.inf
    relief: float = 0.01

    def __post_init__(self) -> None:
        for name, good, allowed in (
            ('starts', self.starts in ('estimated', 'recorded'), 'estimated or recorded'),
            ('substeps', self.substeps >= 1, 'one or more'),
            ('near_reversals', self.near_reversals >= 1, 'one or more'),
            ('horizon', self.horizon is None or self.horizon > 0.0, 'above zero'),
            ('horizon', self.horizon is None or self.starts == 'estimated',
             'none with starts as recorded, since nothing was recorded at cuts'),
            ('max_iterations', self.max_iterations >= 1, 'one or more'),
            ('tolerance', 0.0 < self.tolerance < 1.0, 'between zero and one'),
            ('parameter_tolerance', 0.0 <= self.parameter_tolerance < 1.0, 'from zero to one'),
            ('integrator', self.integrator in get_args(Integrator),
             ', '.join(get_args(Integrator))),
        ):
            if not good:
                raise ConfigurationError(
                    'the setting of shooting cannot be used', where=name,
                    found=getattr(self, name), allowed=allowed,
                    fix='Leave it out for its default')

    def simulator(self, problem: TrajectoryProblem) -> Simulator | VariationalSimulator:
        """What simulates the segments of a problem.

        Raises:
            ConfigurationError: The integrator does not know actuators.
            ModelError: The integrator does not know the robot or one of its joint terms.
        """
        by_start = self.starts == 'estimated'
        if self.integrator != 'runge_kutta' and problem.actuated is not None:
            raise ConfigurationError(
                'the integrator does not know actuators', where='integrator',
                found=self.integrator, allowed='runge_kutta')
        if self.integrator == 'runge_kutta':
            return Simulator(
                problem.model, problem.free, by_start, self.substeps, self.near_reversals)
        return VariationalSimulator(
            problem.model, problem.free, by_start, self.substeps, self.integrator)

    def here(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None = None
    ) -> TrajectorySolution:
        """What is known at the values that parameters and starts have, nothing sought.

        Args:
            problem: What was measured.
            motion: As for :meth:`solve`.

        Raises:
            EstimationError: As for :meth:`solve`.
        """
        fixed = _Segments(self, problem, motion)
        return fixed.solution(fixed.first(), Status.CONVERGED, ())

    def solve(
        self, problem: TrajectoryProblem, progress: Callable[[Iteration], None] | None = None,
        motion: TrajectorySolution | None = None,
    ) -> TrajectorySolution:
        """Fit the free parameters, from the values that they have.

        Args:
            problem: What was measured.
            progress: Told of every step that was tried.
            motion: Motion that pieces start from where starts are estimated; None to take what
                was measured around each start.

        Returns:
            The best that was found, whatever the status.

        Raises:
            EstimationError: The motion cannot be simulated with the values that the fit starts
                from, or a start is needed that was not recorded.
            ModelError: A sensor is of a joint that the robot does not have.
            RecordingError: A recorded start cannot be used.
        """
        fixed = _Segments(self, problem, motion)
        most = self.max_iterations
        search = DampedGaussNewton(
            fixed.first(), most if np.isinf(self.hopeless) else min(_FEW, most),
            self.tolerance, self.tolerance, _FIRST, self.relief, free=_FREE, confirmed=False,
            parameter_tolerance=self.parameter_tolerance,
            variance=_Point.variance, progress=progress)
        ended = search.run()
        if search.max_iterations < most and ended is Ended.ITERATION_LIMIT and (
                search.point.cost <= self.hopeless):
            search.max_iterations = most
            ended = search.run()
        return fixed.solution(search.point, STATUS[ended], tuple(search.log))


@dataclass(frozen=True, eq=False)
class _Point:
    """Values with what was simulated and how it compares.

    See :class:`~sysid_ros.numerics.least_squares.damped.Point`.

    Attributes:
        fixed: What all points have in common.
        values: All parameter values, shape ``(p,)``.
        starts: Shape ``(P, 2, n)``.
        motions: One for every piece.
        residuals: One for every piece and observation.
        equations: Their linear least squares.
        cost: Half the sum of squared weighted residuals; infinite where a piece ran away.
    """

    fixed: _Segments
    values: np.ndarray
    starts: np.ndarray
    motions: list[SimulatedMotion]
    residuals: list[tuple[Residuals, ...]]
    equations: Bordered
    cost: float
    linearised: ClassVar[None] = None

    @property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        theta = self.values[self.fixed.free]
        return self.fixed.lower - theta, self.fixed.upper - theta

    def variance(self) -> float:
        """Mean square of weighted residuals, times what correlated ones tell less than others.

        Where the model has errors of its own, most of the residuals are alike for long.
        """
        total, rows = correlated_squares(
            part.weighted for piece in self.residuals for part in piece)
        unknown = len(self.equations.gradient) + self.equations.gradients.size
        return total / max(rows - unknown, 1)

    def damped_step(self, damping: float, scale: Any) -> DampedStep:
        """Damped Gauss-Newton step within the bounds."""
        return self.equations.damped_step(damping, *self._bounds)

    def steepness(self) -> float:
        """Zero where the residuals are rounding."""
        if self.cost <= self.fixed.exact:
            return 0.0
        return self.equations.steepness(*self._bounds) / float(np.sqrt(2.0 * self.cost))

    def moved(self, step: DampedStep) -> _Point:
        """The point after a step, simulated again."""
        fixed, values, starts = self.fixed, self.values.copy(), self.starts
        values[fixed.free] = np.clip(values[fixed.free] + step.values, fixed.lower, fixed.upper)
        if fixed.simulator.by_start:
            starts = starts + step.states.reshape(starts.shape)
        return fixed.evaluate(values, starts)


class _Segments:
    """Segments cut into pieces, and what simulates and compares them."""

    def __init__(
        self, settings: Shooting, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> None:
        self._settings, self._problem, self._motion = settings, problem, motion
        problem.require_smooth()
        self.free = problem.free
        self._pieces = cut(problem.segments, settings.horizon)
        self.simulator = settings.simulator(problem)
        self.lower, self.upper = (
            bound[self.free] for bound in (problem.parameters.lower, problem.parameters.upper))
        squares = sum(
            float(np.nansum((samples.values / samples.sigma) ** 2))
            for piece in self._pieces for samples in piece.samples)
        self.exact = 0.5 * _EXACT**2 * squares

    def first(self) -> _Point:
        """Where the fit starts from.

        Raises:
            EstimationError: The motion cannot be simulated there.
        """
        values = self._problem.parameters.values.copy()
        values[self.free] = np.clip(values[self.free], self.lower, self.upper)
        point = self.evaluate(values, np.array([self._start(p) for p in self._pieces]))
        if not np.isfinite(point.cost):
            raise EstimationError(
                'the motion cannot be simulated with the values that the fit starts from',
                where=self._problem.provenance.get('source'), found=self._lost(point),
                allowed='bodies with positive inertia, and motion that stays finite',
                fix='Start from a description whose links are real bodies, give the integration '
                'more substeps, or cut the stretches with a horizon')
        return point

    def _start(self, piece: Piece) -> np.ndarray:
        segment, motion = self._problem.segments[piece.segment], self._motion
        if self._settings.starts == 'estimated' and motion is not None:
            return np.array([
                motion.positions[piece.segment][piece.first],
                motion.velocities[piece.segment][piece.first]])
        recorded = segment.start is not None or self._settings.starts == 'recorded'
        if piece.first == 0 and recorded:
            return recorded_start(segment, piece.segment)
        if self._smoothed is not None:
            return np.array([part[piece.first] for part in self._smoothed[piece.segment]])
        return local_state(
            self._problem.model.robot, segment, float(segment.t[piece.first]))

    @cached_property
    def _smoothed(self) -> tuple[tuple[np.ndarray, np.ndarray], ...] | None:
        """States at all nodes, where some joint is told by no encoder; else None."""
        problem = self._problem
        return initial_states(problem) if hidden_joints(problem).any() else None

    def _lost(self, point: _Point) -> str:
        lost = [
            piece.segment for piece, motion in zip(self._pieces, point.motions, strict=True)
            if not _is_finite(motion)]
        return f'stretches {", ".join(map(str, sorted(set(lost))))} ran away'

    def evaluate(self, values: np.ndarray, starts: np.ndarray) -> _Point:
        """Simulate and compare."""
        motions = self.simulator.run(
            values, [p.trajectory(x) for p, x in zip(self._pieces, starts, strict=True)])
        robot, width = self._problem.model.robot, self.simulator.width
        residuals: list[tuple[Residuals, ...]] = []
        rows = []
        for piece, motion in zip(self._pieces, motions, strict=True):
            if not _is_finite(motion):
                nothing = Bordered.of_rows([np.zeros((1, width + 1))], self.simulator.starts)
                return _Point(self, values, starts, motions, residuals, nothing, np.inf)
            residuals.append(compare(robot, piece, motion))
            rows.append(_rows(residuals[-1], width))
        equations = Bordered.of_rows(rows, self.simulator.starts)
        cost = 0.5 * sum(float(part[:, -1] @ part[:, -1]) for part in rows)
        return _Point(self, values, starts, motions, residuals, equations, cost)

    def solution(
        self, point: _Point, status: Status, log: tuple[Iteration, ...]
    ) -> TrajectorySolution:
        """A point, as a solution."""
        segments = self._problem.segments
        positions, velocities = (
            tuple(np.empty(segment.torque.shape) for segment in segments) for _ in range(2))
        residuals = tuple(
            tuple(np.empty_like(observation.values) for observation in segment.observations)
            for segment in segments)
        scores = [np.zeros((len(segment.t), len(self.free))) for segment in segments]
        for k, (piece, motion) in enumerate(zip(self._pieces, point.motions, strict=True)):
            nodes = slice(piece.first, piece.last + 1)
            positions[piece.segment][nodes] = motion.states[:, 0]
            velocities[piece.segment][nodes] = motion.states[:, 1]
            for number, (samples, part) in enumerate(
                    zip(piece.samples, point.residuals[k], strict=True)):
                residuals[piece.segment][number][samples.rows] = part.values
                np.add.at(
                    scores[piece.segment], piece.first + samples.nodes, self._score(point, part, k))
        return TrajectorySolution(
            point.values, status, log, positions, velocities, residuals,
            point.equations.reduced, np.concatenate(scores))

    def _score(self, point: _Point, part: Residuals, piece: int) -> np.ndarray:
        """Gradient of the cost of single samples, starts adapted, shape ``(K, k)``."""
        first = self.simulator.starts
        slopes = part.jacobian[:, :, first:]
        slopes = slopes - part.jacobian[:, :, :first] @ point.equations.elimination[piece]
        return -np.einsum('Km,Kmk->Kk', part.weighted, slopes)


def _is_finite(motion: SimulatedMotion) -> bool:
    """Whether neither a motion nor its derivatives ran away, nor their squares would."""
    return all(
        float(np.vdot(part, part)) < _RUNAWAY for part in (motion.states, motion.slopes))


def _rows(parts: Sequence[Residuals], width: int) -> np.ndarray:
    """Derivatives of a piece's residuals by w quantities, then the residuals, ``(m, w + 1)``."""
    return np.concatenate([
        np.column_stack([
            part.jacobian.reshape(part.weighted.size, width), -part.weighted.reshape(-1)])
        for part in parts])
