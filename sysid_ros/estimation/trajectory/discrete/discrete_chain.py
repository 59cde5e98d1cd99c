"""Discrete multibody dynamics as a chain: missing impulses, sensors, and the first state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Literal, cast

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.coordinates import Coordinates, JointMotion
from sysid_ros.estimation.trajectory.discrete.impulses import MissingImpulses, fill_missing
from sysid_ros.estimation.trajectory.discrete.leapfrog import places, step_torques
from sysid_ros.estimation.trajectory.discrete.linear_motion import LinearMotion, SegmentLeastSquares
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    BodyParameters,
    FreeParameterMap,
    MechanismArrays,
    Workspace,
    workspace_for,
)
from sysid_ros.estimation.trajectory.discrete.robot_mechanism import RobotMechanism
from sysid_ros.estimation.trajectory.discrete.stepper import complement, remember
from sysid_ros.estimation.trajectory.discrete.sweep import ContactModes
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.state_space import StateSpace
from sysid_ros.numerics.least_squares.chain import (
    ChainPart,
    Linearised,
    NormalEquations,
    Residuals,
)

#: Missing impulses as steps predict them, or as they were published.
Residual = Literal['implicit', 'published']
#: Rotation between poses, or twice the vector part of its quaternion (eq. 3.24).
RotationResidual = Literal['exact', 'small_angle']


@dataclass(frozen=True, kw_only=True)
class MechanismSpace(StateSpace):
    """Poses and velocities of bodies, moved along their constraints.

    Args:
        size: Numbers of a state.
        quaternions: Where quaternions begin.
        arrays: The bodies and constraints.
        light: Inverse masses and moments of inertia, shape ``(n,)``.
    """

    arrays: MechanismArrays
    light: np.ndarray

    def moved(self, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """States after steps, gaps and their speeds as the steps say at first order."""
        after, rows = np.empty_like(states), len(self.arrays.compliance)
        sweep.retract(
            self.arrays, self.light, states, steps, after,
            workspace_for(len(self.light) // 6, rows, len(self.arrays.dry)), np.empty((2, rows)))
        return after


@dataclass(frozen=True, eq=False)
class DiscreteChain:
    r"""A trajectory problem as a chain of states of all bodies.

    Attributes:
        problem: The problem.
        robot: Its robot in maximal coordinates.
        start: States to begin with, shape ``(N, 13 b)``.
        counted: Positions of the driven joints near which angles are counted, ``(N, n)``.
        state_weight: What a missing impulse weighs, in [1/(N·s)] and [1/(N·m·s)].
        residual: Which missing impulses.
        rotation: Which rotation between poses.
        huber: Readings that are off by more standard deviations than this count by how far,
            not by the square of it.
        frozen: Whether modes stay what they were found to be, so that nothing has a kink.
        lever: Length in [m] at which a missing force weighs like its moment; None for both as
            they are in their units.
        secant: Whether slopes by parameters are meant at the velocities of the next states, not at
            those that steps lead to. There, what a step calls for is linear in parameters (eq.
            3.7), so that a step of the solver lands near however far off they are.
    """

    problem: TrajectoryProblem
    robot: RobotMechanism
    start: np.ndarray
    counted: np.ndarray
    state_weight: float
    residual: Residual = 'implicit'
    rotation: RotationResidual = 'exact'
    huber: float = np.inf
    frozen: bool = False
    lever: float | None = None
    secant: bool = False
    _modes: dict[int, ContactModes] = field(default_factory=dict, repr=False)

    @cached_property
    def space(self) -> StateSpace:
        """Position, quaternion, velocity and angular velocity of every body."""
        size = self.start.shape[1]
        return MechanismSpace(
            size, tuple(range(3, size, 13)), arrays=self.robot.mechanism.arrays,
            light=1.0 / self._masses.ravel())

    @property
    def switches(self) -> bool:
        """Whether steps have modes: joints that stick or slip, contacts that push or not."""
        arrays = self.robot.mechanism.arrays
        return bool(np.any(arrays.dry) or np.any(arrays.one_sided))

    @cached_property
    def first_nodes(self) -> np.ndarray:
        """First node of every segment and, last, the number of all, shape ``(s + 1,)``."""
        return np.cumsum([0, *(len(segment.t) for segment in self.problem.segments)])

    def residuals(
        self, states: np.ndarray, values: np.ndarray
    ) -> Iterator[ChainPart]:
        """Missing impulses, readings of all sensors, and violations of first states."""
        everything = self.full(values)
        parameters = self.robot.parameter_map.body_parameters(
            everything, len(self._masses), self.robot.mechanism.gravity)
        free_map = self.robot.parameter_map.of_free(self.problem.free)
        yield self._first_states(states, len(values))
        for index, segment in enumerate(self.problem.segments):
            part = states[self._part(index)]
            yield self._impulses(index, segment, part, parameters, free_map, len(values))
            motion = self.joint_motion(states, index)
            for observation in segment.observations:
                yield self._observed(index, observation, motion, everything)[0]

    def linearised(self, states: np.ndarray, values: np.ndarray) -> Linearised:
        """All residuals to first order; as published by normal equations."""
        parts = iter(self.residuals(states, values))
        if self.residual == 'published':
            return NormalEquations.of(len(states), self.space.dimension, len(values), parts)
        first, cost, segments = next(parts), 0.0, []
        for index, segment in enumerate(self.problem.segments):
            missing, *observed = islice(parts, 1 + len(segment.observations))
            rows = first.rows[index]
            violated = np.delete(rows, slice(-1 - len(values), -1), axis=1)
            segments.append(SegmentLeastSquares.of(
                int(self.first_nodes[index]), cast(MissingImpulses, missing), observed, violated))
            cost += missing.cost + sum(part.cost for part in observed)
        return LinearMotion(tuple(segments), cost + first.cost, self._covariances)

    @cached_property
    def _covariances(self) -> np.ndarray:
        """Workspace for those of all states."""
        return np.empty((len(self.start), *(self.space.dimension,) * 2))

    def equations(self, states: np.ndarray, values: np.ndarray) -> Iterable[Residuals]:
        """None: impulses may be missing everywhere."""
        return ()

    def cost(self, states: np.ndarray, values: np.ndarray) -> float:
        """The cost, in the modes that belong to states and parameters."""
        return sum(part.cost for part in self.residuals(states, values))

    def full(self, values: np.ndarray) -> np.ndarray:
        """All parameters ``(p,)`` from the free ones ``(k,)``."""
        everything = self.problem.parameters.values.copy()
        everything[self.problem.free] = values
        return everything

    def innovations(
        self, states: np.ndarray, values: np.ndarray
    ) -> tuple[tuple[np.ndarray, ...], ...]:
        """Measured less predicted, by segment and observation; see ``TrajectorySolution``."""
        return tuple(
            tuple(
                self._observed(
                    index, observation, self.joint_motion(states, index), self.full(values))[1]
                for observation in segment.observations)
            for index, segment in enumerate(self.problem.segments))

    def joint_motion(self, states: np.ndarray, index: int) -> JointMotion:
        """Motion of the driven joints in a segment, without jumps of angles."""
        part = self._part(index)
        motion = self._coordinates.of(states[part])
        turns = np.rint((self.counted[part] - motion.position) / (2.0 * np.pi))
        turns[:, ~self._coordinates.turning] = 0.0
        return motion._replace(position=motion.position + 2.0 * np.pi * turns)

    def _part(self, index: int) -> slice:
        return slice(self.first_nodes[index], self.first_nodes[index + 1])

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates(self.robot.mechanism, self.robot.model.robot.joint_names)

    @cached_property
    def _masses(self) -> np.ndarray:
        """Masses and moments of inertia about joints, of the prior, by velocity, ``(b, 6)``."""
        values = self.problem.parameters.prior
        bodies = len(self.robot.robot.body_names)
        own = self.robot.parameter_map.body_parameters(values, bodies,
            self.robot.mechanism.gravity).bodies
        # A thin body turns about its joint; by its own moment of inertia alone, what turns it
        # would be missing for next to nothing.
        joints = self.robot.mechanism.joints[:bodies]
        away = np.array([joint.child_pose[:3, 3] for joint in joints])
        moment = (own[:, 4] + own[:, 6] + own[:, 9]) / 3.0 + own[:, 0] * np.sum(away**2, axis=1)
        if self.lever is not None:
            moment /= self.lever
        return np.repeat(np.column_stack([own[:, 0], moment]), 3, axis=1)

    @cached_property
    def _weights(self) -> np.ndarray:
        return np.asarray(self.state_weight * self._masses.ravel())

    def _impulses(
        self, index: int, segment: Segment, states: np.ndarray, parameters: BodyParameters,
        free_map: FreeParameterMap, free: int,
    ) -> ChainPart:
        """Impulses that are missing between the states of a segment."""
        torques = self.robot.commands(step_torques(segment.torque))
        if self.residual == 'published':
            return self._published(index, segment, states, torques, parameters, free_map, free)
        steps, n = len(torques), self._weights.size
        predicted, slopes = self._predicted(
            index, segment.step, states, torques, parameters, free_map, free)
        values, turns = np.empty((steps, 2 * n)), np.empty((steps, 2, n // 6, 3, 3))
        fill_missing(
            segment.step, states, predicted, self._weights, self.rotation == 'exact', values, turns)
        return MissingImpulses(
            np.arange(steps) + self.first_nodes[index], values, slopes, turns, self._weights,
            segment.step)

    def _predicted(
        self, index: int, step: float, states: np.ndarray, torques: np.ndarray,
        parameters: BodyParameters, free_map: FreeParameterMap, free: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Next velocities of the steps of a segment ``(K, n)``, and their derivatives."""
        arrays, steps, n = self.robot.mechanism.arrays, len(torques), self._weights.size
        constraints, drives = len(arrays.compliance), len(arrays.dry)
        modes = self._modes.setdefault(index, ContactModes.of(steps, constraints, drives))
        work = self._workspace
        velocities, slopes = np.empty((steps, n)), np.empty((steps, n, 2 * n + free))
        table = np.empty((n + constraints + drives, 2 * n + free))
        first = 0
        while first < steps:
            first = sweep.predict(
                arrays, parameters, free_map, step, states, torques, first, modes, self.frozen,
                self.secant, work, table, velocities, slopes)
            if first < 0:
                break
            # Trying did not find the modes of this step.
            try:
                complement(arrays, parameters, step, states[first], torques[first], work)
            except EstimationError:
                # No step can be made here: a trial that is not a number is refused.
                velocities[first:], slopes[first:] = np.nan, 0.0
                break
            remember(modes, first, work)
            sweep.respond_in_modes(
                arrays, parameters, free_map, step, states[first], torques[first],
                states[first + 1], self.secant, work, table, velocities[first], slopes[first])
            first += 1
        return velocities, slopes

    def _published(
        self, index: int, segment: Segment, states: np.ndarray, torques: np.ndarray,
        parameters: BodyParameters, free_map: FreeParameterMap, free: int,
    ) -> Residuals:
        """Missing impulses as eqs. 3.7 and 3.8 have them, all weighted alike."""
        arrays, n = self.robot.mechanism.arrays, self._weights.size
        rows = np.empty((len(torques), 2 * n, 4 * n + free + 1))
        if sweep.published(
            arrays, parameters, free_map, segment.step, states, torques, self.rotation == 'exact',
            self._workspace, np.empty((n + len(arrays.compliance) + len(arrays.dry), 2 * n + free)),
            np.empty((n, n)), np.empty(n), rows, np.empty((2, n // 6, 3, 3)),
        ) >= 0:
            raise EstimationError(
                'the mass matrix of the bodies is not positive definite',
                fix='Give every body a mass and moments of inertia, or shorten the step')
        rows *= self.state_weight
        return Residuals(np.arange(len(torques)) + self.first_nodes[index], rows, pairs=True)

    @cached_property
    def _workspace(self) -> Workspace:
        arrays = self.robot.mechanism.arrays
        return workspace_for(
            len(self.robot.robot.body_names), len(arrays.compliance), len(arrays.dry))

    def _observed(
        self, index: int, observation: Observation, motion: JointMotion, values: np.ndarray
    ) -> tuple[Residuals, np.ndarray]:
        """Weighted residuals of a sensor, and its innovations in its own units."""
        segment = self.problem.segments[index]
        between = places(segment, observation)
        reading, (here, after, by_values) = between.read(
            observation.sensor, self.problem.model.robot,
            np.hstack([motion.position, motion.velocity]), None, values, self.problem.free)
        innovation = observation.values - reading
        # What is missing has no residual, and no derivative.
        weight = np.where(np.isfinite(innovation), 1.0 / observation.sigma, 0.0)
        residual = np.where(np.isfinite(innovation), -innovation / observation.sigma, 0.0)
        by_state = weight[..., None] * (here @ motion.by_state[between.node])
        by_next = None
        if after is not None:
            by_next = weight[..., None] * (after @ motion.by_state[between.node + 1])
        return Residuals.of(
            self.first_nodes[index] + between.node, residual, by_state, by_next,
            weight[..., None] * by_values, self.huber), innovation

    def _first_states(self, states: np.ndarray, free: int) -> Residuals:
        r"""Violations of constraints by the first states, as impulses.

        :math:`\bar M G^\top (G G^\top)^{-1} (g / h,\ G v)` with the matrix of the start
        (Discrete multibody dynamics, eqs. 3.14-3.17).
        """
        first = self.first_nodes[:-1]
        violated = self.robot.violations(states[first])
        across = self._across
        residual = across @ violated.value[..., None]
        return Residuals.of(
            first, residual[..., 0], across @ violated.by_state, None,
            np.zeros((len(first), residual.shape[1], free)))

    @cached_property
    def _across(self) -> np.ndarray:
        """From violations of first states to weighted impulses, shape ``(s, 2 n, 2 m)``."""
        first = self.first_nodes[:-1]
        moving = self.robot.violations(self.start[first]).by_state
        n, half = self._weights.size, moving.shape[1] // 2
        velocities = np.concatenate([np.arange(12 * b + 6, 12 * b + 12) for b in range(n // 6)])
        # G is what violations of velocities change by with velocities.
        inverse = np.linalg.pinv(moving[:, half:, velocities], rcond=1e-10)
        across = np.zeros((len(first), 2 * n, 2 * half))
        for k, segment in enumerate(self.problem.segments):
            across[k, :n, :half] = self._weights[:, None] * inverse[k] / segment.step
            across[k, n:, half:] = self._weights[:, None] * inverse[k]
        return across
