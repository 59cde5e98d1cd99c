"""The estimator by factor graphs: motion, noisy torques and parameters, by least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.convergence_advice import SHORT_PIECES
from sysid_ros.estimation.trajectory.finer_nodes import (
    between_nodes,
    finer_segment,
    hermite_motion,
)
from sysid_ros.estimation.trajectory.graph.factors import Factor, Prior, Trapezoidal
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.robot_mechanism import RobotMechanism, RobotReading
from sysid_ros.estimation.trajectory.graph.variables import FreeParameters
from sysid_ros.estimation.trajectory.interpolation import Between
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.sensors import Sensor
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.tree.acceleration import accelerations
from sysid_ros.numerics.least_squares.chain import NormalEquations

# Part of their own curvature that is added to states that nothing determines.
_BREATH = 1e-14
# Steps of segments are the same if they differ by this part.
_SAME = 1e-6
# Steps of the graph from node to node to begin with.
_REFINEMENT = 4
# Noise of torques that is proposed where a fit ended early, in parts of the torques.
_TORQUE_NOISE = 0.02
# How far accelerations may be off where the fit does not converge otherwise, in parts of them.
_SOFT = 0.01


@dataclass(frozen=True)
class GraphEstimator(TrajectoryLeastSquares):
    """Least squares for motion, torques and parameters on a factor graph.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        torque_noise: Standard deviation of recorded torques in [N·m] or [N]; None where they
            are known exactly.
        refinement: Steps of the graph from node to node: the trapezoidal rule is off by the square
            of their length. None for four, and for more where parameters tell the difference.
        integration: Standard deviation of the trapezoidal rule from step to step, for
            positions and velocities alike.
        dynamics: Standard deviation of accelerations in [rad/s²] or [m/s²].
        max_iterations: As for all.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    torque_noise: float | None = None
    refinement: int | None = None
    integration: float = 1e-6
    dynamics: float = 1e-3
    tolerance: float = 1e-9

    name: ClassVar[str] = 'graph'

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_above_zero('torque_noise', 'refinement', 'integration', 'dynamics')

    @property
    def step_order(self) -> int | None:
        """That of the trapezoidal rule; None where its steps are those asked for."""
        return None if self.refinement is not None else 2

    def with_half_steps(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[Self, TrajectoryProblem]:
        """The method with twice as many steps of the graph; see the base class."""
        return replace(self, refinement=2 * self._refinement), problem

    @property
    def _refinement(self) -> int:
        """Steps of the graph from node to node."""
        return _REFINEMENT if self.refinement is None else self.refinement

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known with the motion as it is; see :class:`TrajectoryLeastSquares`.

        Raises:
            EstimationError: Readings are not on the nodes, or segments have different steps.
        """
        graph = self._graph(problem)
        states = self._states(problem, graph, motion)
        chain, free = graph.chain(), graph.parameters.start
        equations = NormalEquations.of(
            len(states), chain.dimension, len(free), chain.residuals(states, free))
        eliminated = equations.eliminated(_BREATH * equations.curvature[0])
        information, scores = np.zeros((len(free),) * 2), np.zeros((len(states), len(free)))
        if eliminated is not None:
            information = eliminated.information
            scores = eliminated.scores(chain.residuals(states, free))
        return self._assemble_solution(problem, graph, states, problem.parameters.values,
            TrajectorySolution(
            values=problem.parameters.values, status=Status.CONVERGED, iterations=(),
            positions=(), velocities=(), residuals=(), information=information, scores=scores))

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The best motion and free parameters; see :class:`TrajectoryLeastSquares`."""
        graph = self._graph(problem)
        method = LevenbergMarquardt(
            max_iterations=log.at_most(self._most), tolerance=self.tolerance, damping=1e-8,
            parameter_tolerance=self.parameter_tolerance, freedom=problem.freedom)
        states = graph.layout.split(self._states(problem, graph, start))
        found = log.run('graph', partial(graph.solve, states, method))
        return self._assemble_solution(problem, graph, found.states, found.parameters, replace(
            start, values=found.parameters, status=found.status, iterations=found.iterations))

    def remedies(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[str, ...]:
        """Torques that may be off; see :class:`TrajectoryLeastSquares`."""
        largest = max(float(np.sqrt(np.mean(part.torque**2))) for part in problem.segments)
        if self.torque_noise is not None or largest == 0.0:
            return (SHORT_PIECES,)
        return (
            'how far torques are believed, in N·m or N: '
            f'fit: {{graph: {{torque_noise: {_TORQUE_NOISE * largest:.2g}}}}}.', SHORT_PIECES)

    def softened(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[TrajectoryLeastSquares, str] | None:
        """With accelerations that may be off by a part of what they are; see there."""
        density = found.acceleration_density(problem) / np.sqrt(problem.segments[0].step)
        dynamics = float(f'{_SOFT * np.median(density):.2g}')
        if dynamics <= self.dynamics:
            return None
        return replace(self, dynamics=dynamics), f'fit: {{graph: {{dynamics: {dynamics:g}}}}}'

    def _graph(self, problem: TrajectoryProblem) -> FactorGraph:
        """All segments as one graph, whose integrators do not reach from one to the next."""
        mechanism, segments = RobotMechanism(problem.model), problem.segments
        steps = np.array([segment.step for segment in segments])
        if np.ptp(steps) > _SAME * steps[0]:
            raise EstimationError(
                'stretches of one graph have different steps', found=steps.tolist(),
                fix='Resample the recording')
        ends = np.cumsum(self._counts(problem))
        inside = np.setdiff1d(np.arange(ends[-1] - 1), ends - 1).tolist()
        torque = np.vstack([
            between_nodes(segment.torque, self._refinement) for segment in segments])
        factors: list[Factor] = [
            Trapezoidal('q', self.integration, at=inside),
            Trapezoidal('v', self.integration, at=inside),
            Dynamics(self.dynamics, torque=None if self.torque_noise is not None else torque)]
        if self.torque_noise is not None:
            # As much noise a second, whatever the steps.
            noise = self.torque_noise * np.sqrt(self._refinement)
            factors.append(Prior('torque', torque, noise, title='torque'))
        parameters, free = problem.parameters, problem.free
        matrix = np.eye(len(parameters))[:, free]
        free_parameters = FreeParameters(
            tuple(parameters.names[k] for k in free), matrix,
            np.where(parameters.free, 0.0, parameters.values), parameters.values[free],
            parameters.lower[free], parameters.upper[free])
        return FactorGraph(
            mechanism, float(steps[0]) / self._refinement, int(ends[-1]),
            [*factors, *self._readings(problem)], free_parameters)

    def _states(
        self, problem: TrajectoryProblem, graph: FactorGraph, motion: TrajectorySolution | None
    ) -> np.ndarray:
        """States of a motion, accelerations as the torques cause them."""
        pairs = initial_states(problem) if motion is None else zip(
            motion.positions, motion.velocities, strict=True)
        finer = [finer_segment(segment, self._refinement) for segment in problem.segments]
        motions = [
            hermite_motion(segment.t, *pair, fine.t)
            for segment, fine, pair in zip(problem.segments, finer, pairs, strict=True)]
        q, v = (np.vstack(part) for part in zip(*motions, strict=True))
        torque = np.vstack([segment.torque for segment in finer])
        a = accelerations(problem.model, problem.parameters.values, q, v, torque)
        return graph.states({'q': q, 'v': v, 'a': a, 'torque': torque})

    def _counts(self, problem: TrajectoryProblem) -> list[int]:
        """Steps of the graph in each segment."""
        return [self._counts_of(segment) for segment in problem.segments]

    def _counts_of(self, segment: Segment) -> int:
        return (len(segment.t) - 1) * self._refinement + 1

    def _readings(self, problem: TrajectoryProblem) -> list[Factor]:
        """A factor for each sensor of each segment, said for the steps it read at."""
        counts = self._counts(problem)
        factors: list[Factor] = []
        for first, segment in zip(
            np.cumsum([0, *counts[:-1]]), problem.segments, strict=True
        ):
            for observation in segment.observations:
                steps = self._steps(segment, observation.sensor, observation.t)
                values = np.full((sum(counts), observation.sensor.width), np.nan)
                values[first + steps] = observation.values
                factors.append(RobotReading(observation.sensor, values, observation.sigma))
        return factors

    def _assemble_solution(
        self, problem: TrajectoryProblem, graph: FactorGraph, states: np.ndarray,
        values: np.ndarray, solution: TrajectorySolution,
    ) -> TrajectorySolution:
        """The solution with its motion, and what readings are off by."""
        motion = graph.layout.split(states)
        ends = np.cumsum(self._counts(problem))[:-1]
        q, v, a = (np.split(motion[name], ends) for name in ('q', 'v', 'a'))
        residuals = []
        for k, segment in enumerate(problem.segments):
            residuals.append(tuple(
                observation.values - observation.sensor.read(
                    problem.model.robot, *(
                        part[k][self._steps(segment, observation.sensor, observation.t)]
                        for part in (q, v, a)), values=values, columns=problem.free).value
                for observation in segment.observations))
        positions, velocities = (
            tuple(piece[::self._refinement] for piece in part) for part in (q, v))
        return replace(
            solution, positions=positions, velocities=velocities, residuals=tuple(residuals))

    def _steps(self, segment: Segment, sensor: Sensor, t: np.ndarray) -> np.ndarray:
        """The steps of the graph that readings are on, from its first on, shape ``(K,)``.

        Raises:
            EstimationError: One is between steps.
        """
        fine = finer_segment(segment, self._refinement)
        between = Between.of(fine, t)
        if not between.on_nodes:
            raise EstimationError(
                'readings lie between the steps of a graph', where=sensor.name,
                found=f'steps of {fine.step:.4g} s, from node to node {segment.step:.4g} s',
                fix='Choose a step that all stamps are multiples of, as in '
                'fit: {trajectory: {step: 0.005}}, or steps of the graph in between, as in '
                f'fit: {{graph: {{refinement: {2 * self._refinement}}}}}, or estimate by '
                'collocation')
        return between.node
