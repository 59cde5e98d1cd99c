"""Trajectory problems whose nodes are closer than those that were asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.trajectory.problem import Segment, TrajectoryProblem


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
