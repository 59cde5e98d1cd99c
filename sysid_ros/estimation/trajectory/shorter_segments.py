"""Trajectory problems whose segments are cut into pieces that start anew, and their solutions.

Motion with exact dynamics depends the more on parameters and start the longer it is, so that a
search for states and parameters creeps, whatever the transcription, and where the model lacks
something no parameters fit all of it. Pieces with starts of their own cost little information, and
none of them is so long.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sysid_ros.estimation.trajectory.pieces import piece_bounds, samples_inside
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution


def shorter_segments(problem: TrajectoryProblem, horizon: float | None) -> TrajectoryProblem:
    """The same problem with segments no longer than a horizon; neighbours share a node.

    A reading at that node belongs to the later piece.

    Args:
        problem: The problem.
        horizon: Longest segment in [s]; None to leave them as they are.

    Raises:
        EstimationError: There is too little data for so many starts.
    """
    if horizon is None:
        return problem
    return replace(problem, segments=tuple(
        _piece(segment, int(first), int(last)) for segment in problem.segments
        for first, last in piece_bounds(segment, horizon)))


def _piece(segment: Segment, first: int, last: int) -> Segment:
    observations = tuple(
        _part(observation, segment, first, last) for observation in segment.observations)
    return Segment(
        segment.t[first:last + 1], segment.torque[first:last + 1], observations,
        segment.start if first == 0 else None)


def _part(observation: Observation, segment: Segment, first: int, last: int) -> Observation:
    rows, _ = samples_inside(observation, segment, first, last)
    # Stamps at a node may be off by rounding.
    t = np.clip(observation.t[rows], segment.t[first], segment.t[last])
    return replace(observation, t=t, values=observation.values[rows])


def joined(
    problem: TrajectoryProblem, horizon: float, found: TrajectorySolution
) -> TrajectorySolution:
    """The solution of a problem that was cut, as one of the whole segments.

    Args:
        problem: The problem before it was cut.
        horizon: What it was cut by.
        found: The solution of its pieces; its scores stay those of the pieces' nodes.
    """
    positions, velocities, residuals, first = [], [], [], 0
    for segment in problem.segments:
        count = len(piece_bounds(segment, horizon))
        part = slice(first, first + count)
        positions.append(_nodes(found.positions[part]))
        velocities.append(_nodes(found.velocities[part]))
        residuals.append(tuple(
            np.concatenate(own) for own in zip(*found.residuals[part], strict=True)))
        first += count
    known = {each.name: getattr(found, each.name) for each in fields(TrajectorySolution)}
    return TrajectorySolution(**known | {
        'positions': tuple(positions), 'velocities': tuple(velocities),
        'residuals': tuple(residuals)})


def _nodes(pieces: tuple[np.ndarray, ...]) -> np.ndarray:
    """Values at the nodes of pieces, those of the later one where two meet."""
    return np.concatenate([*(piece[:-1] for piece in pieces[:-1]), pieces[-1]])
