"""Fits of the recorded Furuta pendulum by discrete dynamics, and trials on other recordings.

The rod is fitted to its free swing, in which the arm rests, and held while the arm is fitted to
recordings in which it is driven: these tell little of the rod, and what ripples in the motor's
torque would pass for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from support import furuta_recordings as recordings
from support import furuta_robot as robots
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.trajectory.discrete.coordinates import Coordinates
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.discrete.leapfrog import step_torques
from sysid_ros.estimation.trajectory.discrete.stepper import simulate
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog

FREE, DRIVEN = recordings.FREE, recordings.DRIVEN

# Noise of an angle in [rad] as in the paper, and the time from node to node in [s].
SIGMA, STEP = 1e-3, 5e-3
# Missing impulses: the more they weigh, the less of the motor's ripple goes into the parameters.
WEIGHT, LEVER = 1e5, 0.1
_SOFTER = (1e1, 1e3)
# The free swing from letting go until friction of the bearing is all that is left of it, in [s].
SWING = (1.6, 33.0)
# Driven recordings begin a moment before the first command in [s].
_BEFORE = 0.02
# Parts of the torque that come with friction, held in the free swing: the arm rests whatever the
# rod does, in [N·m].
_RESTING = 0.05
# What the arm's steady speed of 15.1 rad/s at 4 V says with the author's friction: the torque is
# 6.8 times what goes with the data sheet's constant and resistance.
GAIN = 6.8
# Where dry friction begins, in [N·m].
_DRY = {'shoulder': 2e-3, 'elbow': 1e-5}
_STRIBECK_VELOCITY = 1.0


@dataclass(frozen=True, eq=False)
class Trial:
    """Recordings as a problem.

    Attributes:
        problem: The problem.
        recorded: Stamps in [s] ``(T,)`` and angles in [rad] ``(T, 2)`` of every segment.
    """

    problem: TrajectoryProblem
    recorded: tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True, eq=False)
class Fitter:
    """Fits of one machine.

    Args:
        machine: What is known of it.
        data: Recordings by name.
        step: Time from node to node in [s].
    """

    machine: Any
    data: Mapping[str, Any]
    step: float = STEP

    @property
    def estimator(self) -> MaximalCoordinatesEstimator:
        """How all is fitted; bounds keep bodies consistent."""
        return MaximalCoordinatesEstimator(
            state_error_weight=WEIGHT, lever=LEVER, prior_strength=None)

    def rod(self, friction: str, span: tuple[float, float] = SWING) -> Trial:
        """The free swing, the rod sought.

        Args:
            friction: One of the robots' ``FRICTION``.
            span: Part of the recording in [s].
        """
        # An arm that rests has dry friction.
        model = self.machine.model('dry' if friction == 'viscous' else friction)
        near = {'shoulder.coulomb_friction': _RESTING} | self._begin(friction, 'elbow')
        held = ['arm.inertia_zz', 'rod.inertia_yy', *robots.TILT, *(
            name for name in model.parameters.names if name.startswith('shoulder.'))]
        if friction == 'viscous':
            held.append('elbow.coulomb_friction')
        parameters = self.machine.parameters(model, friction, held).with_values(near)
        recording = self.data[FREE]
        chosen = (recording.t > span[0]) & (recording.t < span[1])
        return self._trial(model, parameters, [(recording, chosen)])

    def arm(self, names: Sequence[str], friction: str, known: Mapping[str, float]) -> Trial:
        """Driven recordings, the arm sought.

        Args:
            names: The recordings.
            friction: One of the robots' ``FRICTION``.
            known: Values of the rod, held.
        """
        model = self.machine.model(friction)
        held = [*robots.TILT, 'rod.inertia_xx', *(
            f'elbow.{field}' for field in (
                'viscous_friction', 'coulomb_friction', 'bearing_friction', 'stribeck_friction',
                'stribeck_velocity'))]
        near = {'shoulder.drive_gain': GAIN} | self._begin(friction, 'shoulder')
        parameters = self.machine.parameters(model, friction, held)
        near |= {name: known[name] for name in held if name in known and name in parameters}
        # A thin rod turns about all axes across it alike.
        near['rod.inertia_yy'] = near['rod.inertia_xx']
        spans = []
        for recording in (self.data[name] for name in names):
            begin = recording.t[np.flatnonzero(recording.u)[0]] - _BEFORE
            spans.append((recording, recording.t > begin))
        return self._trial(model, parameters.with_values(near), spans)

    def fit(self, trial: Trial) -> Estimate:
        """The estimate of a trial."""
        return self.estimator.fit(trial.problem)

    def author_with_gain(self, trial: Trial) -> dict[str, float]:
        """The values that came with the recordings, the drive gain alone fitted to a trial."""
        parameters = trial.problem.parameters
        own = self.machine.model().parameters
        known = dict(zip(own.names, own.values.tolist(), strict=True))
        near = {name: known.get(name, 0.0) for name in parameters.names
                if not name.endswith(('drive_gain', 'stribeck_velocity'))}
        others = [name for name in parameters.names if name != 'shoulder.drive_gain']
        problem = replace(
            trial.problem, parameters=parameters.with_values(near).fixed(*others))
        return values_of(self.estimator.fit(problem))

    def cost(self, trial: Trial, values: Mapping[str, float]) -> float:
        """Mean squared error of states alone, parameters as they are, in [rad²] a node.

        Args:
            trial: What is tried on.
            values: Parameter values by name; those that the trial does not have do not count.
        """
        motion = self._states(trial, values)
        chain = self.estimator._chain(self._at(trial, values), motion)
        return 2.0 * SIGMA**2 * chain.cost(motion.states, np.zeros(0)) / len(motion.states)

    def forecast(
        self, trial: Trial, values: Mapping[str, float], horizons: Sequence[float]
    ) -> np.ndarray:
        """Root mean square errors of simulation, one row a horizon, in [rad].

        From states estimated with the same parameters, the recording is simulated piece by
        piece, and compared with what was recorded.

        Args:
            trial: What is tried on.
            values: Parameter values by name.
            horizons: Lengths of pieces in [s].
        """
        motion, problem = self._states(trial, values), self._at(trial, values)
        robot, everything = self.estimator.mechanism(problem), problem.parameters.values
        mechanism = robot.mechanism
        parameters = robot.parameter_map.body_parameters(everything, len(mechanism.bodies),
            mechanism.gravity)
        coordinates = Coordinates(mechanism, robots.HINGES)
        ends = np.cumsum([len(segment.t) for segment in problem.segments])
        rows = []
        for horizon in horizons:
            errors = []
            for segment, (t, angles), end in zip(
                    problem.segments, trial.recorded, ends, strict=True):
                states = motion.states[end - len(segment.t):end]
                commands = robot.commands(step_torques(segment.torque))
                true = np.column_stack([np.interp(segment.t, t, angle) for angle in angles.T])
                steps = round(horizon / segment.step)
                for first in range(0, len(commands) - steps + 1, steps):
                    simulated = simulate(
                        mechanism.arrays, parameters, states[first],
                        commands[first:first + steps], segment.step)
                    off = coordinates.of(simulated.states).position
                    errors.append(off - true[first:first + steps + 1])
            # Whole turns do not count.
            apart = np.angle(np.exp(1j * np.concatenate(errors)))
            rows.append(np.sqrt(np.mean(apart**2, axis=0)))
        return np.array(rows)

    def _states(self, trial: Trial, values: Mapping[str, float]) -> Any:
        problem, estimator = self._at(trial, values), self.estimator
        motion = None
        # From soft to hard, or joints that stick keep the motion from where it belongs.
        for weight in (*_SOFTER, WEIGHT):
            estimator = replace(estimator, state_error_weight=weight)
            motion = estimator.search(problem, estimator.at(problem, motion), SearchLog(300))
        if motion is None or not motion.status.ok:
            raise RuntimeError(motion.status.value)
        return motion

    def _at(self, trial: Trial, values: Mapping[str, float]) -> TrajectoryProblem:
        parameters = trial.problem.parameters
        own = {name: value for name, value in values.items() if name in parameters}
        return replace(trial.problem, parameters=parameters.with_values(own).fixed('*'))

    def _begin(self, friction: str, joint: str) -> dict[str, float]:
        """Where friction beside viscous one begins."""
        if friction == 'viscous':
            return {}
        if friction == 'bearings':
            return {f'{joint}.bearing_friction': 1e-3}
        found = {f'{joint}.coulomb_friction': _DRY[joint]}
        if friction == 'Stribeck':
            found |= {f'{hinge}.stribeck_velocity': _STRIBECK_VELOCITY for hinge in robots.HINGES}
        return found

    def _trial(
        self, model: Any, parameters: Any, spans: Sequence[tuple[Any, np.ndarray]]
    ) -> Trial:
        recorded = tuple(
            (recording.t[chosen], recording.angles[chosen], recording.u[chosen])
            for recording, chosen in spans)
        segments = tuple(self.machine.segment(*parts, self.step, SIGMA) for parts in recorded)
        return Trial(
            TrajectoryProblem(model, parameters, segments),
            tuple(parts[:2] for parts in recorded))


def values_of(estimate: Estimate) -> dict[str, float]:
    """Values by name."""
    parameters = estimate.parameters
    return dict(zip(parameters.names, parameters.values.tolist(), strict=True))


def stiffness(machine: Any, values: Mapping[str, float]) -> float:
    """m g l / J of the rod in [1/s²]."""
    return -machine.gravity * values['rod.first_moment_z'] / values['rod.inertia_xx']
