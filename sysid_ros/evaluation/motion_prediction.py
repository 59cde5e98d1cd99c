"""Simulated motion under recorded commands: the candidate beside the prior, open loop.

Where no torque was measured, or not how all joints move, a model is judged by how the robot moves.
Drives that hold positions keep errors from growing: whole segments are simulated from where they
start. Under any other command errors grow with time whatever the model, and stretches of half a
second start anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.estimate import Estimate, ResidualStatistics
from sysid_ros.estimation.trajectory.assessment import encoder_statistics
from sysid_ros.estimation.trajectory.pieces import Piece, compare, cut
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.stable_step import stable_steps
from sysid_ros.estimation.trajectory.starts import hidden_joints, initial_states
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import (
    HORIZON,
    MOST_STRETCHES,
    Simulation,
    SimulationErrors,
    simulation_of,
)
from sysid_ros.mechanics.integrators.sensitivity import SimulatedMotion, Simulator
from sysid_ros.numerics.noise import effective_rows

# Length in [s] of the stretches that are drawn where drives hold positions.
_HELD_HORIZON = 2.0


@dataclass(frozen=True, eq=False)
class MotionPrediction(TorquePrediction):
    """Errors of simulated positions of a candidate and of the prior, by joint."""

    what: ClassVar[str] = 'motion'
    all_of_it: ClassVar[str] = 'the motion'
    constant: ClassVar[str] = 'position'
    signals: ClassVar[str] = 'commands'
    unit: ClassVar[str] = 'rad or m'
    heading: ClassVar[str] = (
        'Errors of the simulated motion, relative to the motion; RMS in rad or m')


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """Segments of a recording, simulated open loop under their commands or torques.

    Attributes:
        problem: What was recorded; of its parameters the prior counts.
    """

    problem: TrajectoryProblem

    @cached_property
    def states(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Measured positions and velocities at the nodes of every segment, smoothed."""
        return initial_states(self.problem)

    def states_at(self, values: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Positions and velocities at the nodes, by parameters where nothing measures a joint.

        Args:
            values: Of all parameters, shape ``(p,)``.
        """
        if self.seen.all():
            return self.states
        return initial_states(self.problem.with_values(values))

    def measured_motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Measured positions, velocities and accelerations at all nodes, shape ``(T, n)`` each."""
        q, v = (np.concatenate(parts) for parts in zip(*self.states, strict=True))
        a = np.concatenate([
            np.gradient(part, segment.t[1] - segment.t[0], axis=0)
            for (_, part), segment in zip(self.states, self.problem.segments, strict=True)])
        return q, v, a

    @cached_property
    def seen(self) -> np.ndarray:
        """Joints whose positions encoders tell, shape ``(n,)``."""
        return ~hidden_joints(self.problem)

    @property
    def holds_positions(self) -> bool:
        """Whether drives keep errors from growing."""
        actuated = self.problem.actuated
        return actuated is not None and actuated.hold_positions

    def pieces(self, horizon: float | None) -> tuple[Piece, ...]:
        """Segments cut into pieces of a length in [s] at most; None for whole ones."""
        return cut(self.problem.segments, horizon)

    def run(self, values: np.ndarray, pieces: Sequence[Piece]) -> list[SimulatedMotion]:
        """Simulate pieces from where they were measured to start.

        Args:
            values: Of all parameters, shape ``(p,)``.
            pieces: Of :meth:`pieces`.
        """
        problem = self.problem
        at = replace(problem, parameters=problem.parameters.with_values(values))
        steps = stable_steps(at)
        simulator = Simulator(
            problem.model, np.zeros(0, dtype=int), False, steps.taken, steps.near_reversals)
        states = self.states_at(values)
        starts = [
            np.array([part[piece.first] for part in states[piece.segment]]) for piece in pieces]
        return simulator.run(values, [
            piece.trajectory(start) for piece, start in zip(pieces, starts, strict=True)])

    def residuals(self, values: np.ndarray) -> list[list[np.ndarray]]:
        """Encoder readings less simulated ones, by segment and observation, ``(K, m)`` each.

        Infinite from where motion could not be simulated.
        """
        pieces = self.pieces(None if self.holds_positions else HORIZON)
        found = [
            [np.full_like(observation.values, np.nan) for observation in segment.observations]
            for segment in self.problem.segments]
        robot = self.problem.model.robot
        for piece, motion in zip(pieces, self.run(values, pieces), strict=True):
            lost = np.isnan(motion.states).any()
            for number, (samples, part) in enumerate(
                    zip(piece.samples, compare(robot, piece, motion), strict=True)):
                found[piece.segment][number][samples.rows] = np.inf if lost else part.values
        return found

    def statistics(self, values: np.ndarray) -> ResidualStatistics:
        """Errors of the simulated positions by joint."""
        return _statistics(self.problem, self.residuals(values))


def _statistics(
    problem: TrajectoryProblem, residuals: Sequence[Sequence[np.ndarray]]
) -> ResidualStatistics:
    lost = any(np.isinf(part).any() for found in residuals for part in found)
    if not lost:
        return encoder_statistics(problem, residuals)
    # How much was measured is the same whatever comes of it.
    none = [[np.where(np.isinf(part), 0.0, part) for part in found] for found in residuals]
    known, joints = encoder_statistics(problem, none), len(problem.model.robot.joint_names)
    return replace(
        known, relative_error=np.inf, relative_per_joint=np.full(joints, np.inf),
        rms_per_joint=np.full(joints, np.inf))


def predict_motion(
    estimate: Estimate, loop: OpenLoop, *, held_out: bool = True
) -> MotionPrediction:
    """Simulate a recording with an estimate and with its prior.

    Args:
        estimate: The estimate.
        loop: The recording.
        held_out: Whether it was kept from the fit.
    """
    problem = loop.problem
    values = [values_of(estimate, problem), problem.parameters.prior]
    candidate, prior = (loop.residuals(each) for each in values)
    return MotionPrediction(
        joint_names=problem.model.robot.joint_names,
        candidate=_statistics(problem, candidate), prior=_statistics(problem, prior),
        held_out=held_out, source=str(problem.provenance.get('source', '')),
        same_recording=estimate.has_seen(str(problem.provenance.get('sha256', ''))),
        spread=_spread(loop), advantage=_advantage(candidate, prior))


def values_of(estimate: Estimate, problem: TrajectoryProblem) -> np.ndarray:
    """Values of an estimate in the order of a problem's parameters, shape ``(p,)``."""
    return np.array([estimate.parameters[name] for name in problem.parameters.names])


def _spread(loop: OpenLoop) -> np.ndarray:
    """Root mean square of each joint's position about its mean, shape ``(n,)``."""
    return np.asarray(np.std(np.concatenate([q for q, _ in loop.states]), axis=0))


def _advantage(
    candidate: Sequence[Sequence[np.ndarray]], prior: Sequence[Sequence[np.ndarray]]
) -> float | None:
    """Mean decrease of squared errors from the prior to a candidate, in standard errors."""
    decrease = np.concatenate([
        np.nansum(before**2 - after**2, axis=1)
        for one, other in zip(candidate, prior, strict=True)
        for after, before in zip(one, other, strict=True)])
    if not np.isfinite(decrease).all():
        return None
    mean = float(decrease.mean())
    rows = effective_rows((decrease - mean)[:, None], np.ones((len(decrease), 1), dtype=bool))
    error = float(np.std(decrease) / np.sqrt(rows[0]))
    return mean / error if error > 0.0 else None


def simulate_commands(estimate: Estimate, loop: OpenLoop) -> Simulation:
    """Simulate stretches of a recording under its commands, with an estimate and its prior.

    Args:
        estimate: The estimate.
        loop: The recording.

    Raises:
        RecordingError: No segment is long enough.
    """
    problem, seen = loop.problem, loop.seen
    horizon = _HELD_HORIZON if loop.holds_positions else HORIZON
    longest = max(float(segment.t[-1] - segment.t[0]) for segment in problem.segments)
    pieces = loop.pieces(min(horizon, longest))
    length = max(piece.last - piece.first for piece in pieces)
    # Pieces of one segment may differ by a step.
    shortest = min(
        piece.last - piece.first for piece in pieces if piece.last - piece.first >= length - 1)
    chosen = [piece for piece in pieces if piece.last - piece.first >= shortest]
    if not shortest:
        raise RecordingError('no stretch is long enough to be simulated', where=str(
            problem.provenance.get('source', '')),
            fix='Record longer pieces without gaps')
    kept = np.unique(np.linspace(0, len(chosen) - 1, min(MOST_STRETCHES, len(chosen))).round())
    chosen = [chosen[int(k)] for k in kept]
    q, v = (
        np.array([loop.states[piece.segment][part][piece.first:piece.first + shortest + 1, seen]
                  for piece in chosen]) for part in range(2))
    errors = []
    for values in (values_of(estimate, problem), problem.parameters.prior):
        states = np.array([motion.states[:shortest + 1] for motion in loop.run(values, chosen)])
        errors.append(SimulationErrors.of(states[:, :, 0, seen], states[:, :, 1, seen], q, v))
    return simulation_of(
        problem.model, np.arange(shortest + 1) * chosen[0].step,
        np.array([piece.begin for piece in chosen]), q, v, errors[0], errors[1],
        source=str(problem.provenance.get('source', '')), seen=seen,
        under='the measured torque' if problem.actuated is None else 'the recorded commands')
