"""Playback of measured torques: what is sought, what was recorded, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.estimation.trajectory.playback.costs import Compared, Cost
from sysid_ros.mechanics.integrators.variational.driven_trajectory import (
    DiscreteMotion,
    DrivenTrajectory,
)
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.integrators.variational.resting import resting


@dataclass(frozen=True)
class FreeParameter:
    """A positive parameter that is sought.

    Attributes:
        name: Name for people.
        members: Names of the model's parameters that are equal to it.
        start: Where the search begins, above zero.
        lower: Least value, above zero.
        upper: Largest value.

    Raises:
        EstimationError: The numbers are not in order.
    """

    name: str
    members: tuple[str, ...]
    start: float
    lower: float = 1e-6
    upper: float = 1e6

    def __post_init__(self) -> None:
        if not 0.0 < self.lower <= self.start <= self.upper < np.inf:
            raise EstimationError(
                'a positive parameter is sought outside of its bounds', where=self.name,
                found=f'start {self.start:g}', allowed=f'{self.lower:g} to {self.upper:g}')
        if not self.members:
            raise EstimationError('a parameter is sought that is none of the model',
                                  where=self.name)


@dataclass(frozen=True, eq=False)
class InputNoise:
    """White noise of what a playback is driven by.

    Attributes:
        torque: Standard deviation of the torque at each of the n joints in [N·m] or [N], zero
            where none was measured, shape ``(n,)``.
        smoothing: What made the reference of measured positions of the held joints, shape
            ``(N + 1, a)``: linear, and the same forwards and backwards in time.
    """

    torque: np.ndarray
    smoothing: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Playback:
    """A recording that is played back.

    Attributes:
        trajectory: Its start, measured torques, and what holds the arm near its measured motion.
        costs: What the simulated motion is compared with.
        noise: How noisy its inputs were; None where that is not known.
        held: Joints that stood where the trajectory starts while everything else hung at rest: the
            others start where springs and weight balance, which is found for every trial. None
            where the start is known as it is.

    Raises:
        RecordingError: Torques and measurements have not as many nodes.
    """

    trajectory: DrivenTrajectory
    costs: tuple[Cost, ...]
    noise: InputNoise | None = None
    held: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        nodes = len(self.trajectory.torque)
        for cost in self.costs:
            if cost.nodes != nodes:
                raise RecordingError(
                    'torques and measurements have not as many nodes', found=cost.nodes,
                    allowed=nodes)
        if not np.isfinite(self.trajectory.torque).all():
            raise RecordingError('the torques are not known at all nodes')

    def started(self, integrator: VariationalIntegrator, values: np.ndarray) -> DrivenTrajectory:
        """The trajectory from where it starts with some parameter values, shape ``(p,)``.

        Raises:
            EstimationError: There is no place of rest.
        """
        if self.held is None:
            return self.trajectory
        rest = resting(integrator, values, self.trajectory.start[0], self.held)
        start, slopes = (
            np.stack([x, np.zeros_like(x)]) for x in (rest.positions, rest.slopes))
        return replace(self.trajectory, start=start, start_slopes=slopes)


class Point(NamedTuple):
    """The problem at a place of its parameters.

    Attributes:
        logs: Logarithms of the sought parameters, shape ``(k,)``.
        cost: Half the sum of squares; infinite where a motion ended early.
        trajectories: One for each recording, from where it starts.
        motions: One for each recording.
        compared: One for each recording and cost; empty where a motion ended early.
    """

    logs: np.ndarray
    cost: float
    trajectories: tuple[DrivenTrajectory, ...]
    motions: tuple[DiscreteMotion, ...]
    compared: tuple[tuple[Compared, ...], ...]


@dataclass(frozen=True, eq=False)
class PlaybackProblem:
    """Recordings of one system, of which some positive parameters are sought.

    The search is in logarithms, so that no step leads below zero. How many steps each interval
    takes is kept from where it was last looked at with :meth:`scheduled`, or the cost would jump.

    Attributes:
        integrator: Simulates; differentiates by the members of the sought parameters.
        values: Parameter values of the model, shape ``(p,)``.
        free_parameters: The k parameters.
        playbacks: The recordings.
        schedules: Least number of steps of every interval, one array for each recording.
    """

    integrator: VariationalIntegrator
    values: np.ndarray
    free_parameters: tuple[FreeParameter, ...]
    playbacks: tuple[Playback, ...]
    schedules: tuple[np.ndarray, ...] | None = field(default=None)

    @property
    def first(self) -> np.ndarray:
        """Logarithms that the search begins at, shape ``(k,)``."""
        return np.log([entry.start for entry in self.free_parameters])

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the bounds, shape ``(k,)`` each."""
        return (np.log([entry.lower for entry in self.free_parameters]),
                np.log([entry.upper for entry in self.free_parameters]))

    def at(self, logs: np.ndarray) -> np.ndarray:
        """Parameter values of the model, shape ``(p,)``."""
        values = np.array(self.values, dtype=float)
        for group, log in zip(self.integrator.free_parameters, logs, strict=True):
            values[list(group)] = np.exp(log)
        return values

    def evaluate(self, logs: np.ndarray, *, derivatives: bool = False) -> Point:
        """Simulate and compare.

        Args:
            logs: Logarithms of the sought parameters, shape ``(k,)``.
            derivatives: Whether forward sensitivities are wanted.

        Raises:
            EstimationError: There is no place of rest where the search begins.
        """
        values, cost = self.at(logs), 0.0
        trajectories, motions, compared = list[DrivenTrajectory](), list[DiscreteMotion](), []
        for number, playback in enumerate(self.playbacks):
            schedule = None if self.schedules is None else [self.schedules[number]]
            try:
                trajectories.append(playback.started(self.integrator, values))
            except EstimationError:
                # A trial without a place of rest is one that cannot be simulated.
                if np.array_equal(logs, self.first):
                    raise
                return Point(logs, np.inf, tuple(trajectories), tuple(motions), ())
            motion = self.integrator.run(
                values, trajectories[-1:], schedules=schedule, derivatives=derivatives)[0]
            motions.append(motion)
            if not motion.status.ok:
                return Point(logs, np.inf, tuple(trajectories), tuple(motions), ())
            compared.append(tuple(part.compare(motion.positions) for part in playback.costs))
            cost += sum(part.cost for part in compared[-1])
        return Point(logs, cost, tuple(trajectories), tuple(motions), tuple(compared))

    def gradient(self, point: Point) -> np.ndarray:
        """Gradient of the cost by the logarithms, by the adjoint, shape ``(k,)``."""
        values, total = self.at(point.logs), np.zeros(len(self.free_parameters))
        for trajectory, motion, parts in zip(
                point.trajectories, point.motions, point.compared, strict=True):
            total += self.integrator.adjoint(
                values, trajectory, motion,
                np.sum([part.gradient for part in parts], axis=0)).values
        return total * np.exp(point.logs)

    def rows(self, point: Point) -> list[tuple[np.ndarray, np.ndarray]]:
        """Residuals ``(N + 1, m)`` and their derivatives by the logarithms ``(N + 1, m, k)``.

        One pair for each recording, at a point with derivatives.
        """
        scale, found = np.exp(point.logs), []
        for motion, parts in zip(point.motions, point.compared, strict=True):
            slopes = motion.slopes[:, 0] * scale
            found.append((
                np.concatenate([part.values for part in parts], axis=1),
                np.concatenate([part.by_position @ slopes for part in parts], axis=1)))
        return found

    def ended(self, point: Point) -> str:
        """How the motion that ended early did, in words."""
        motion = point.motions[-1]
        time = motion.reached * self.playbacks[len(point.motions) - 1].trajectory.step
        return f'{motion.status.value} It came to {time:.3g} s of recording {len(point.motions)}.'

    def scheduled(self, point: Point) -> PlaybackProblem:
        """The problem with the steps that a point took, or more where it had more."""
        taken = tuple(motion.steps for motion in point.motions)
        if self.schedules is not None:
            taken = tuple(
                np.maximum(old, new) for old, new in zip(self.schedules, taken, strict=True))
        return PlaybackProblem(
            self.integrator, self.values, self.free_parameters, self.playbacks, taken)


def playback_problem(
    integrator: VariationalIntegrator, parameters: Mapping[str, float],
    free_parameters: Sequence[FreeParameter], playbacks: Sequence[Playback],
) -> PlaybackProblem:
    """Put a problem together.

    Args:
        integrator: With settings as wanted; what it differentiates by is set here.
        parameters: Known values of the model by name; the prior where left out.
        free_parameters: What is sought.
        playbacks: The recordings.

    Raises:
        ParameterError: The model has no such parameter.
        EstimationError: There is no recording, or nothing is sought, or something twice.
    """
    if not (playbacks and free_parameters):
        raise EstimationError('there is nothing to seek, or nothing to find it in')
    own = integrator.model.parameters
    groups = tuple(tuple(own.index(name) for name in entry.members) for entry in free_parameters)
    every = [name for entry in free_parameters for name in entry.members]
    twice = sorted({name for name in every if every.count(name) > 1})
    if twice:
        raise EstimationError(
            'a parameter of the model belongs to several that are sought',
            found=', '.join(twice))
    made = VariationalIntegrator(
        integrator.model, integrator.closures, integrator.assembly, groups, 0,
        integrator.rule, integrator.forces, integrator.substeps, integrator.most_substeps)
    return PlaybackProblem(
        made, own.with_values(dict(parameters)).values, tuple(free_parameters), tuple(playbacks))
