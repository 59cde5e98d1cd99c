"""The estimator by discrete multibody dynamics: states of all bodies and parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.convergence_advice import SHORT_PIECES
from sysid_ros.estimation.trajectory.discrete.common_factor import without_common_factor
from sysid_ros.estimation.trajectory.discrete.discrete_chain import (
    DiscreteChain,
    Residual,
    RotationResidual,
)
from sysid_ros.estimation.trajectory.discrete.leapfrog import at_nodes, half_a_step_before
from sysid_ros.estimation.trajectory.discrete.linear_motion import LinearMotion
from sysid_ros.estimation.trajectory.discrete.mode_rounds import minimise_in_modes
from sysid_ros.estimation.trajectory.discrete.robot_mechanism import RobotMechanism, Softness
from sysid_ros.estimation.trajectory.discrete.state_error_level import likeliest_level
from sysid_ros.estimation.trajectory.finer_nodes import finer_segments
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem, position_unit
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.numerics.least_squares.chain import Linearised, NormalEquations

# First damping, and the least part that is left of it after a step that came true: from poor starts
# with wrong parameters to the last digits in few iterations.
_DAMPING, _RELIEF = 0.03, 0.02
# Weight of dynamics with which measured motion goes together at most, and by how much more they
# weigh from one search to the next.
_SOFT, _STRONGER = 1.0, 100.0
# Part of the weight of the dynamics that is proposed where a fit ended early.
_LIGHTER = 0.01
# Rounds of the search for the likeliest weight of the dynamics, and the change of the level of
# missing impulses that ends it, or in parts of its standard deviation.
_ROUNDS, _SETTLED, _KNOWN = 4, 0.2, 10.0
# Longest step in [s] of the dynamics, but for rounding, where nothing is said.
_LONGEST, _ROUNDED = 5e-3, 1e-6
# Part of a step in which violations decay.
_DAMPED = 0.25
# What is said of the weight that was found.
_WEIGHED = 'Weight of missing impulses, from the data: state_error_weight {:.2g}.'
#: Gyroscopic forces of a step, and viscous friction with them.
Gyroscopic = Literal['averaged', 'explicit']
# Part of their own curvature that is added to states that nothing determines.
_BREATH = 1e-14


@dataclass(frozen=True, eq=False)
class DiscreteSolution(TrajectorySolution):
    """A solution with the states of all bodies.

    Attributes:
        states: Of all segments at their nodes, shape ``(N, 13 b)``.
        weight: Of missing impulses in the search that found it, 0 for motion that was measured; see
            :class:`MaximalCoordinatesEstimator`.
    """

    states: np.ndarray
    weight: float


@dataclass(frozen=True)
class MaximalCoordinatesEstimator(TrajectoryLeastSquares):
    r"""Joint least squares for the states of all bodies, in maximal coordinates, and parameters.

    Args:
        prior_strength: As for all.
        estimate_noise: As for all.
        state_error_weight: :math:`\kappa`: what a missing impulse of one [N·s] or [N·m·s] weighs,
            squared, over a reading of a position that is off by one [rad] or [m]; published 100.
            None for the one under which the readings are likeliest.
        first_weight: The weight that the search for the likeliest begins with.
        lever: Length in [m] at which a missing force weighs like its moment, about that of the
            links; None for both in their units, as published, like one of 1 m.
        compliance: Of the forces of joints in [m/N].
        angular_compliance: Of their moments in [rad/(N·m)].
        damping: Time in which violations of constraints decay in [s]; a quarter of a step, which
            makes the least errors, where it is None.
        gyroscopic: Forces of velocity ``averaged`` over both ends of a step, or ``explicit``, with
            viscous friction of the next velocity, as published.
        residual: ``implicit`` for any stiffness, or ``published``.
        refinement: Steps of the dynamics from node to node in :meth:`fit`, whose errors are of
            second order in their length; None for as many as keep them to 5 ms, and for more where
            parameters tell the difference.
        rotation: ``exact`` or ``small_angle``.
        huber: Readings that are off by more standard deviations than this count by how far.
        max_iterations: As for all.
        tolerance: Relative decrease of the cost that ends it.

    Raises:
        ConfigurationError: A setting is out of range.

    References:
        Joint state and parameter estimation for regularized discrete multibody dynamics with
        dry friction, section 3.
    """

    state_error_weight: float | None = None
    first_weight: float = 100.0
    lever: float | None = None
    compliance: float = 1e-8
    angular_compliance: float = 1e-8
    damping: float | None = None
    gyroscopic: Gyroscopic = 'averaged'
    residual: Residual = 'implicit'
    refinement: int | None = None
    rotation: RotationResidual = 'exact'
    huber: float = np.inf
    tolerance: float = 1e-6

    name: ClassVar[str] = 'discrete'
    smooths_friction: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_above_zero(
            'state_error_weight', 'first_weight', 'lever', 'compliance', 'angular_compliance',
            'refinement', 'huber')
        for name, known in (
            ('gyroscopic', ('averaged', 'explicit')), ('residual', ('implicit', 'published')),
            ('rotation', ('exact', 'small_angle')),
        ):
            if getattr(self, name) not in known:
                raise ConfigurationError(
                    'there is no such choice', where=name, found=repr(getattr(self, name)),
                    allowed=', '.join(known),
                    fix='Leave it out for its default')
        if self.damping is not None and not self.damping >= 0.0:
            raise ConfigurationError(
                'the damping time is negative', where='damping', found=self.damping,
                fix='Give a time in s, 0 or more')

    def at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known with the motion as it is; see :class:`TrajectoryLeastSquares`."""
        return self._at(problem, motion, True)

    def beginning(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> TrajectorySolution:
        """What is known before a search, without scores; see :class:`TrajectoryLeastSquares`."""
        return self._at(problem, motion, False)

    def _at(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None, scored: bool
    ) -> TrajectorySolution:
        chain = self._chain(problem, motion)
        states, values = chain.start, problem.parameters.values
        free = values[problem.free]
        linear = chain.linearised(states, free)
        if not np.isfinite(linear.cost):
            raise EstimationError(
                'no step can be made with these parameters', where=problem.provenance.get('source'),
                fix='Give every body a mass and moments of inertia, and raise compliances')
        information, scores = _known(chain, linear, states, free, scored)
        information = without_common_factor(problem, information)
        return _assemble_solution(chain, states, TrajectorySolution(
            values=values, status=Status.CONVERGED, iterations=(), positions=(), velocities=(),
            residuals=chain.innovations(states, free), information=information, scores=scores),
            _weight_of(motion, self._weight))

    def search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        """The best motion and free parameters; see :class:`TrajectoryLeastSquares`.

        Modes of measured motion are wrong wherever noise turns a joint around. Dynamics that weigh
        little let them settle, and then weigh more by steps.
        """
        if isinstance(start, DiscreteSolution):
            weight = _STRONGER * max(start.weight, _SOFT)
            while weight < self._weight and self._chain(problem, start).switches and log.left:
                softer = replace(self, state_error_weight=weight)
                with log.within('lighter dynamics'):
                    start = softer._search(problem, start, log)
                problem, weight = problem.with_values(start.values), _STRONGER * weight
        return self._search(problem, start, log)

    def _search(
        self, problem: TrajectoryProblem, start: TrajectorySolution, log: SearchLog
    ) -> TrajectorySolution:
        parameters, free = problem.parameters, problem.free
        chain = self._chain(problem, start)
        solver = LevenbergMarquardt(
            max_iterations=self._most, tolerance=self.tolerance, damping=_DAMPING, relief=_RELIEF,
            parameter_tolerance=self.parameter_tolerance, freedom=problem.freedom)
        found = minimise_in_modes(
            chain, chain.start, parameters.values[free], parameters.lower[free],
            parameters.upper[free], solver, log,
            settled=isinstance(start, DiscreteSolution) and start.weight > 0.0)
        values = parameters.values.copy()
        values[free] = found.values
        return _assemble_solution(chain, found.states, replace(
            start, values=values, status=found.status, iterations=found.iterations), self._weight)

    def remedies(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[str, ...]:
        """A smaller weight of the dynamics; see :class:`TrajectoryLeastSquares`."""
        return (
            'how far dynamics are believed: '
            f'fit: {{discrete: {{state_error_weight: {_LIGHTER * self._weight:.2g}}}}}.',
            SHORT_PIECES)

    @property
    def _weight(self) -> float:
        """Weight of missing impulses, or that with which a search for it begins."""
        return self.first_weight if self.state_error_weight is None else self.state_error_weight

    def fitted(
        self, problem: TrajectoryProblem
    ) -> tuple[Estimate, TrajectorySolution]:
        """Infer the parameters of a problem, and its motion at its own nodes; see :meth:`fit`."""
        estimate, found = super().fitted(problem)
        known = {name.name: getattr(found, name.name) for name in fields(TrajectorySolution)}
        steps = self._steps(problem)
        return estimate, TrajectorySolution(**known | {
            'positions': tuple(part[::steps] for part in found.positions),
            'velocities': tuple(part[::steps] for part in found.velocities)})

    def prepared(self, problem: TrajectoryProblem) -> TrajectoryProblem:
        """The problem with nodes at all steps of the dynamics; see the base class."""
        return finer_segments(problem, self._steps(problem))

    @property
    def step_order(self) -> int | None:
        """That of the leapfrog; None where its steps or residuals are those asked for."""
        if self.refinement is not None or self.residual == 'published':
            return None
        return 2 if self.gyroscopic == 'averaged' else 1

    def with_half_steps(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[Self, TrajectoryProblem]:
        """The same method, which begins with the weight that was found; see the base class."""
        weight = found.weight if isinstance(found, DiscreteSolution) else self.first_weight
        # Of what disturbs motion at any time a step half as long takes half the square.
        return replace(self, first_weight=2.0 * weight), finer_segments(problem, 2)

    def _steps(self, problem: TrajectoryProblem) -> int:
        """Steps of the dynamics from node to node."""
        longest = max(segment.step for segment in problem.segments)
        return self.refinement or max(math.ceil(longest / _LONGEST * (1.0 - _ROUNDED)), 1)

    def with_noise(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None, log: SearchLog
    ) -> tuple[TrajectorySolution, tuple[str, ...]]:
        """The solution at the likeliest weight of missing impulses; see the base class."""
        found, words = super().with_noise(problem, motion, log)
        if self.state_error_weight is not None or self.residual == 'published':
            return found, words
        method: MaximalCoordinatesEstimator = replace(self, state_error_weight=self._weight)
        for number in range(_ROUNDS):
            if not (found.status.ok and log.left):
                break
            there = problem.with_values(found.values)
            weight, change = method._likeliest_weight(there, found)
            if change <= _SETTLED:
                break
            likelier = replace(method, state_error_weight=weight)
            with log.within(f'weight of the dynamics {number + 1}'):
                renewed, new = likelier.with_noise(there, found, log)
            if not renewed.status.ok:
                # What converged is kept.
                break
            method, found, words = likelier, renewed, new
        return found, (*words, _WEIGHED.format(method._weight))

    def _likeliest_weight(
        self, problem: TrajectoryProblem, found: TrajectorySolution
    ) -> tuple[float, float]:
        """The likeliest weight, and the relative change of the level, less where hardly known."""
        chain = self._chain(problem, found)
        linear = chain.linearised(chain.start, problem.parameters.values[problem.free])
        assert isinstance(linear, LinearMotion)
        level = likeliest_level(linear, determined_parameters(problem, found.information).mask)
        known = _KNOWN * level.deviation if np.isfinite(level.deviation) else 1.0
        return self._weight / level.ratio**2, float(
            abs(np.log(level.ratio)) / max(known, 1.0))

    def mechanism(self, problem: TrajectoryProblem) -> RobotMechanism:
        """The robot of a problem in maximal coordinates.

        Raises:
            ModelError: It has joints, bodies or terms that cannot be stepped.
        """
        damping = self.damping
        if damping is None:
            damping = _DAMPED * problem.segments[0].step
        return RobotMechanism(
            problem.model, problem.parameters.names,
            Softness(self.compliance, self.angular_compliance, damping),
            self.gyroscopic == 'averaged')

    def _chain(
        self, problem: TrajectoryProblem, motion: TrajectorySolution | None
    ) -> DiscreteChain:
        robot = self.mechanism(problem)
        if isinstance(motion, DiscreteSolution):
            states, positions = motion.states, motion.positions
        else:
            pairs = initial_states(problem) if motion is None else tuple(
                zip(motion.positions, motion.velocities, strict=True))
            states = np.vstack([robot.states(q, half_a_step_before(v)) for q, v in pairs])
            positions = tuple(q for q, _ in pairs)
        # The published weights count readings in their unit, and impulses in theirs.
        unit = float(np.min(position_unit(problem)))
        return DiscreteChain(
            problem, robot, states, np.vstack(positions),
            np.sqrt(self._weight) / unit, self.residual, self.rotation, self.huber,
            lever=self.lever)


def _known(
    chain: DiscreteChain, linear: Linearised, states: np.ndarray, values: np.ndarray, scored: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """What motion tells of the free parameters, and node by node, if that is wanted."""
    if isinstance(linear, LinearMotion):
        return linear.known(scored)
    eliminated = None
    if isinstance(linear, NormalEquations):
        eliminated = linear.eliminated(_BREATH * linear.curvature[0])
    if eliminated is None:
        return np.zeros((len(values),) * 2), np.zeros((len(states), len(values)))
    return eliminated.information, eliminated.scores(chain.residuals(states, values))


def _weight_of(motion: TrajectorySolution | None, weight: float) -> float:
    """Weight of the dynamics that a motion was found with; that asked for of one at other nodes."""
    if motion is None:
        return 0.0
    return motion.weight if isinstance(motion, DiscreteSolution) else weight


def _assemble_solution(
    chain: DiscreteChain, states: np.ndarray, solution: TrajectorySolution, weight: float
) -> DiscreteSolution:
    """A solution with its motion."""
    motions = [
        chain.joint_motion(states, index) for index in range(len(chain.problem.segments))]
    known = {name.name: getattr(solution, name.name) for name in fields(TrajectorySolution)}
    known['positions'] = tuple(motion.position for motion in motions)
    known['velocities'] = tuple(at_nodes(motion.velocity) for motion in motions)
    return DiscreteSolution(**known, states=states, weight=weight)
