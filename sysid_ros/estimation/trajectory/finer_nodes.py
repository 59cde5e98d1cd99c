"""Trajectory problems whose nodes are closer than those that were asked for, and their motion."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sysid_ros.estimation.trajectory.problem import Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution


def finer_segments(problem: TrajectoryProblem, steps: int) -> TrajectoryProblem:
    """The same problem with more nodes.

    Args:
        problem: The problem.
        steps: From node to node; 1 leaves it as it is.
    """
    if steps == 1:
        return problem
    return replace(problem, segments=tuple(
        finer_segment(segment, steps) for segment in problem.segments))


def finer_segment(segment: Segment, steps: int) -> Segment:
    """The same segment with more nodes, torques on the straight lines that they were on.

    Args:
        segment: The segment.
        steps: From node to node.
    """
    count = (len(segment.t) - 1) * steps + 1
    return replace(
        segment, t=np.linspace(segment.t[0], segment.t[-1], count),
        torque=between_nodes(segment.torque, steps))


def between_nodes(values: np.ndarray, steps: int) -> np.ndarray:
    """Values at nodes ``(N + 1, n)``, and on straight lines in between, ``(N steps + 1, n)``."""
    if steps == 1:
        return values
    nodes = np.arange(len(values))
    fine = np.arange((len(values) - 1) * steps + 1) / steps
    return np.column_stack([np.interp(fine, nodes, column) for column in values.T])


def motion_at_nodes(
    found: TrajectorySolution, own: TrajectoryProblem, other: TrajectoryProblem
) -> TrajectorySolution:
    """The motion of a solution at other nodes, on Hermite's polynomials where there were none.

    Args:
        found: The solution.
        own: Its problem.
        other: The same with other nodes, from the same first to the same last.
    """
    motions = [
        hermite_motion(segment.t, q, v, wanted.t) for segment, q, v, wanted in zip(
            own.segments, found.positions, found.velocities, other.segments, strict=True)]
    positions, velocities = zip(*motions, strict=True)
    known = {each.name: getattr(found, each.name) for each in fields(TrajectorySolution)}
    return TrajectorySolution(**known | {'positions': positions, 'velocities': velocities})


def hermite_motion(
    t: np.ndarray, q: np.ndarray, v: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities between nodes, on the polynomials of Hermite.

    Args:
        t: Nodes in [s], shape ``(N,)``.
        q: Positions there in [rad] or [m], shape ``(N, n)``.
        v: Velocities there in [rad/s] or [m/s], shape ``(N, n)``.
        wanted: Times from the first node to the last in [s], shape ``(M,)``.

    Returns:
        Both, shape ``(M, n)`` each.
    """
    if len(t) == len(wanted):
        return q, v
    from scipy.interpolate import CubicHermiteSpline  # slow to import, and not always needed

    between = CubicHermiteSpline(t, q, v)
    return between(wanted), between(wanted, 1)
