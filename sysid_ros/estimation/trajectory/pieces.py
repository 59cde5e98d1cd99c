"""Pieces of segments that are simulated as one, and what sensors measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.problem import Observation, Segment
from sysid_ros.estimation.trajectory.sensors import Sensor
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, SimulatedMotion
from sysid_ros.robot.model import RobotModel

# A sample this near to a node, in steps, is at it.
_AT_NODE = 1e-9


@dataclass(frozen=True, eq=False)
class PieceSamples:
    """The samples of one observation that lie in a piece.

    Attributes:
        sensor: The sensor.
        values: What it measured, NaN where nothing, shape ``(K, m)``.
        sigma: Standard deviation of its noise, shape ``(m,)``.
        rows: Which samples of the observation these are.
        nodes: Node of the piece at or before every sample, shape ``(K,)``.
        parts: How far it lies behind that, in steps, shape ``(K,)``.
    """

    sensor: Sensor
    values: np.ndarray
    sigma: np.ndarray
    rows: slice
    nodes: np.ndarray
    parts: np.ndarray


@dataclass(frozen=True, eq=False)
class Piece:
    """Part of a segment between two of its nodes.

    Attributes:
        segment: Index of the segment.
        first: Its node that the piece starts at.
        last: Its node that the piece ends at.
        torque: Joint torques at the nodes, shape ``(N + 1, n)``.
        step: Time from node to node in [s].
        samples: Those of every observation of the segment that lie in the piece.
        commands: What actuators were told.
        begin: Time of the first node in [s], on the clock of the commands.
    """

    segment: int
    first: int
    last: int
    torque: np.ndarray
    step: float
    samples: tuple[PieceSamples, ...]
    commands: HeldCommand | None = None
    begin: float = 0.0

    def trajectory(self, start: np.ndarray) -> InputTrajectory:
        """The piece from a start, shape ``(2, n)``."""
        return InputTrajectory(start, self.torque, self.step, self.commands, self.begin)


class Residuals(NamedTuple):
    """Of the samples of one observation.

    Attributes:
        values: Measured less predicted in the sensor's units, NaN where nothing was measured,
            shape ``(K, m)``.
        weighted: The same over the noise, zero where nothing was measured.
        jacobian: Derivatives of the weighted prediction, zero where nothing was measured, shape
            ``(K, m, w)``.
    """

    values: np.ndarray
    weighted: np.ndarray
    jacobian: np.ndarray


def cut(segments: Sequence[Segment], horizon: float | None) -> tuple[Piece, ...]:
    """Cut segments into pieces of even length.

    Args:
        segments: The segments.
        horizon: Longest piece in [s]; None for whole segments.
    """
    pieces = []
    for index, segment in enumerate(segments):
        for first, last in piece_bounds(segment, horizon):
            pieces.append(_piece(segment, index, int(first), int(last)))
    return tuple(pieces)


def piece_bounds(segment: Segment, horizon: float | None) -> np.ndarray:
    """First and last node of pieces of even length, shape ``(P, 2)``.

    Args:
        segment: What is cut.
        horizon: Longest piece in [s]; None for the whole segment.
    """
    steps = len(segment.t) - 1
    longest = steps if horizon is None else max(int(horizon / segment.step + _AT_NODE), 1)
    count = -(-steps // longest)
    bounds = np.arange(count + 1) * steps // count
    return np.column_stack([bounds[:-1], bounds[1:]])


def _piece(segment: Segment, index: int, first: int, last: int) -> Piece:
    samples = tuple(
        _samples_of(observation, segment, first, last) for observation in segment.observations)
    torque = np.ascontiguousarray(segment.torque[first:last + 1], dtype=float)
    return Piece(
        index, first, last, torque, segment.step, samples, segment.commands,
        float(segment.t[first]))


def samples_inside(
    observation: Observation, segment: Segment, first: int, last: int
) -> tuple[slice, np.ndarray]:
    """Samples from a first node on, those at the last only where the segment ends there.

    Args:
        observation: What was measured.
        segment: The segment.
        first: The first node.
        last: The last node.

    Returns:
        Which samples, K of them, and their places in steps from the first node, shape ``(K,)``.
    """
    place = (observation.t - segment.t[0]) / segment.step
    node = np.round(place)
    place = np.where(np.abs(place - node) < _AT_NODE * len(segment.t), node, place)
    ends = last == len(segment.t) - 1
    inside = np.flatnonzero((place >= first) & ((place < last) | ends))
    rows = slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)
    return rows, place[rows] - first


def _samples_of(observation: Observation, segment: Segment, first: int, last: int) -> PieceSamples:
    rows, place = samples_inside(observation, segment, first, last)
    nodes = np.clip(np.floor(place).astype(int), 0, last - first)
    return PieceSamples(
        observation.sensor, observation.values[rows], observation.sigma, rows, nodes,
        place - nodes)


def compare(robot: RobotModel, piece: Piece, motion: SimulatedMotion) -> tuple[Residuals, ...]:
    """Residuals of a piece and their derivatives, one for every observation.

    Args:
        robot: The robot.
        piece: What was measured.
        motion: What was simulated of it.
    """
    return tuple(_compare(robot, samples, motion, piece.step) for samples in piece.samples)


def _compare(
    robot: RobotModel, samples: PieceSamples, motion: SimulatedMotion, step: float
) -> Residuals:
    states, slopes = _between(samples, motion, step)
    needed = states[:, 2] if samples.sensor.needs_acceleration else None
    reading = samples.sensor.read(robot, states[:, 0], states[:, 1], needed)
    jacobian = np.zeros((*reading.value.shape, slopes.shape[-1]))
    parts = (reading.by_position, reading.by_velocity, reading.by_acceleration)
    for k, part in enumerate(parts):
        if part is not None and np.any(part):
            jacobian += part @ slopes[:, k]
    values = samples.values - reading.value
    missing = np.isnan(samples.values)
    jacobian /= samples.sigma[:, None]
    jacobian[missing] = 0.0
    weighted = np.where(missing, 0.0, values / samples.sigma)
    return Residuals(values, weighted, jacobian)


def _between(
    samples: PieceSamples, motion: SimulatedMotion, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """States at samples and their derivatives; between nodes by cubic Hermite polynomials.

    Positions go through positions and velocities of the nodes, velocities through velocities
    and accelerations; accelerations are the slope of the latter.
    """
    if not samples.parts.any():
        return motion.states[samples.nodes], motion.slopes[samples.nodes]
    nodes = np.minimum(samples.nodes, len(motion.states) - 2)
    weights = _hermite(samples.parts + samples.nodes - nodes, step)
    states, slopes = (
        np.einsum('Kabc,Kbc...->Ka...', weights, np.stack([x[nodes], x[nodes + 1]], axis=1))
        for x in motion)
    return states, slopes


def _hermite(part: np.ndarray, step: float) -> np.ndarray:
    """Weights of both nodes' position, velocity and acceleration, shape ``(K, 3, 2, 3)``."""
    s, h = part, step
    values = np.array([
        [(1.0 + 2.0 * s) * (1.0 - s) ** 2, h * s * (1.0 - s) ** 2],
        [s**2 * (3.0 - 2.0 * s), h * s**2 * (s - 1.0)]])
    slopes = np.array([
        [6.0 * s * (s - 1.0) / h, (1.0 - s) * (1.0 - 3.0 * s)],
        [6.0 * s * (1.0 - s) / h, s * (3.0 * s - 2.0)]])
    weights = np.zeros((len(s), 3, 2, 3))
    weights[:, 0, :, :2] = weights[:, 1, :, 1:] = np.moveaxis(values, 2, 0)
    weights[:, 2, :, 1:] = np.moveaxis(slopes, 2, 0)
    return weights


def recorded_start(segment: Segment, index: int) -> np.ndarray:
    """The recorded start of a segment, shape ``(2, n)``.

    Args:
        segment: The segment.
        index: Its number, for errors.

    Raises:
        EstimationError: It was not recorded.
    """
    if segment.start is None:
        raise EstimationError(
            'the start of a stretch was not recorded', where=f'stretch {index}',
            fix='Have starts estimated, or record positions and velocities')
    return segment.start
