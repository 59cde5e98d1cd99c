"""Levels of noise of sensors and of the process, from what collocation leaves of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.estimation.trajectory.collocation import Collocation
from sysid_ros.estimation.trajectory.noise_levels import GroupedResiduals, Levels, restricted
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem

#: What is said where no process noise shows.
HIDDEN = (
    'The dynamics may as well hold exactly: these readings show no process noise, so leave '
    'process_noise out.')
# What is said where some does.
_RANDOM = (
    'Intervals take process noise for random. Where it is friction that the model lacks, what '
    'stands in for it may be off by more.')
# A level whose relative standard deviation is above this is hardly told.
_VAGUE = 0.5
# Changes count in tenths of standard deviations where these are larger.
_KNOWN = 10.0


@dataclass(frozen=True, eq=False)
class _Groups:
    """Which level each residual shares: one for each number of each sensor, and of each joint.

    Attributes:
        sensors: First group of each sensor, by name, with how many numbers it has.
        joints: First group of the process, one for each joint.
    """

    sensors: dict[str, tuple[int, int]]
    joints: int

    @classmethod
    def of(cls, problem: TrajectoryProblem) -> _Groups:
        """Groups of residuals: one for each number of each sensor, alike in all segments."""
        sensors: dict[str, tuple[int, int]] = {}
        first = 0
        for segment in problem.segments:
            for observation in segment.observations:
                name, width = observation.sensor.name, observation.sensor.width
                if name not in sensors:
                    sensors[name] = first, width
                    first += width
        return cls(sensors, first)

    def sensor(self, name: str) -> np.ndarray:
        """Groups of a sensor's numbers."""
        first, width = self.sensors[name]
        return np.arange(first, first + width)

    def process(self, joints: int) -> np.ndarray:
        """Groups of what is between nodes: positions, then velocities of every joint."""
        return self.joints + np.tile(np.arange(joints), 2)


def renewed_levels(
    chain: Collocation, states: np.ndarray, values: np.ndarray, determined: np.ndarray
) -> tuple[TrajectoryProblem, np.ndarray, float, tuple[str, ...]]:
    """Levels of all noise as a fit with process noise shows them, alike in all segments.

    Args:
        chain: The problem as it was solved, with process noise.
        states: The solution's states, shape ``(N, 2 n)``.
        values: Its free parameters, shape ``(k,)``.
        determined: Mask of those that the data determine.

    Returns:
        The problem with the sensors' levels, the process noise of each joint, the largest
        relative change of a level, less where it is hardly known, and all levels in words.

    Raises:
        EstimationError: The data do not determine the motion.
    """
    problem, groups = chain.problem, _Groups.of(chain.problem)
    indices, joints = np.flatnonzero(determined), len(problem.model.robot.joint_names)
    parts = tuple(
        restricted(part.reweighted(), chain.space.dimension, indices)
        for part in chain.residuals(states, values))
    free = problem.free[indices]
    lower = problem.parameters.lower[free] - values[indices]
    upper = problem.parameters.upper[free] - values[indices]
    found = GroupedResiduals(
        len(states), chain.space.dimension, parts, tuple(_labels(problem, groups, joints)),
        np.minimum(lower, 0.0), np.maximum(upper, 0.0)).levels()
    noise = np.asarray(chain.process_noise) * found.ratio[groups.joints:]
    segments = tuple(_weighed(segment, groups, found) for segment in problem.segments)
    renewed = replace(problem, segments=segments)
    # No level has to be found far better than it is known.
    known = np.where(found.shown & np.isfinite(found.deviation), _KNOWN * found.deviation, 0.0)
    change = float(np.max(np.abs(found.ratio - 1.0) / np.maximum(known, 1.0)))
    return renewed, noise, change, _words(renewed, groups, noise, found)


def _labels(problem: TrajectoryProblem, groups: _Groups, joints: int) -> list[np.ndarray]:
    """Groups of each part of the residuals, in the order in which a chain has them."""
    sensors = [
        groups.sensor(observation.sensor.name)
        for segment in problem.segments for observation in segment.observations]
    return [*sensors, *([groups.process(joints)] * len(problem.segments))]


def _weighed(segment: Segment, groups: _Groups, found: Levels) -> Segment:
    def renewed(observation: Observation) -> Observation:
        ratio = found.ratio[groups.sensor(observation.sensor.name)]
        return replace(observation, sigma=observation.sigma * ratio)

    return replace(segment, observations=tuple(map(renewed, segment.observations)))


def _words(
    problem: TrajectoryProblem, groups: _Groups, noise: np.ndarray, found: Levels
) -> tuple[str, ...]:
    words = []
    for name in groups.sensors:
        level = np.mean([
            observation.sigma for segment in problem.segments
            for observation in segment.observations if observation.sensor.name == name], axis=0)
        levels = map(_said, level, groups.sensor(name), [found] * len(level))
        words.append(f'Noise of {name}: {", ".join(levels)}.')
    robot = problem.model.robot
    said = (
        f'{joint} {_said(level, groups.joints + k, found)} '
        f'{"m" if kind == "prismatic" else "rad"}/s²/√Hz'
        for k, (joint, kind, level) in enumerate(zip(
            robot.joint_names, robot.joint_types, noise, strict=True)))
    words.append(f'Process noise: {", ".join(said)}.')
    words.append(_RANDOM if found.shown[groups.joints:].any() else HIDDEN)
    return tuple(words)


def _said(level: float, group: int, found: Levels) -> str:
    if not found.shown[group]:
        return f'too little to show (taken as {level:.2g}, the least that would)'
    if not found.deviation[group] <= _VAGUE:
        return f'{level:.2g} (hardly told)'
    return f'{level:.3g} ± {level * found.deviation[group]:.1g}'
