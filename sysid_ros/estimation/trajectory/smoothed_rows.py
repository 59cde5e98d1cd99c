"""Rows of a regression along motion smoothed out of what a trajectory problem measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.starts import initial_states

# Rows of the regression, at most; what is smooth needs no more.
_ROWS = 4000
# Part of each segment at its ends that is left out: splines are worst there.
_ENDS = 0.02


def smoothed_rows(problem: TrajectoryProblem) -> RegressionProblem:
    """Rows of torques along the smoothed motion, linear at the shapes as they are.

    Args:
        problem: The problem; actuators make torques by its parameters.

    Raises:
        EstimationError: Encoders do not tell the positions of all joints.
    """
    total = sum(len(segment.t) for segment in problem.segments)
    every = max(1, -(-total // _ROWS))
    motions, torques, ranges, first = [], [], [], 0
    for segment, (q, v) in zip(problem.segments, initial_states(problem), strict=True):
        a = np.gradient(v, segment.step, axis=0)
        left_out = 1 + int(_ENDS * len(q))
        part = slice(left_out, len(q) - left_out, every)
        motions.append((q[part], v[part], a[part]))
        torques.append(problem.torques(segment, q, v)[part])
        ranges.append((first, first + len(torques[-1])))
        first += len(torques[-1])
    values = problem.parameters.values
    model = problem.model if problem.model.is_linear else problem.model.at(values)
    motion = (np.concatenate(part) for part in zip(*motions, strict=True))
    torque = np.concatenate(torques)
    shapes = [name in model.shapes for name in problem.parameters.names]
    parameters = problem.parameters
    return RegressionProblem(
        model=model, parameters=replace(parameters, free=parameters.free & ~np.array(shapes)),
        regressor=model.regressor(*motion), torque=torque, usable=np.ones(torque.shape, bool),
        segments=tuple(ranges), rate=1.0 / (every * problem.segments[0].step))
