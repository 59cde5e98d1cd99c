r"""A filter before the commands that is to be found: where a search for it begins.

A slow drive may have a filter or much friction, and a search that begins with the wrong one stays
there. But joints under position servos follow what they are told, :math:`q_j \approx a_j + b_j
y_j(t - d)` with the filtered command y and a delay d. Of some time constants the search begins with
the one by which they do best.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.actuators.actuators import FILTER
from sysid_ros.mechanics.actuators.position_servo import PositionServo

# Time constants and delays that are tried in [s].
_CONSTANTS = np.geomspace(0.005, 1.0, 24)
_DELAYS = np.array([0.0, 0.01, 0.02, 0.04, 0.08])


def with_filter_that_joints_follow(problem: TrajectoryProblem) -> TrajectoryProblem:
    """The problem with the time constant of a filter that is sought begun where joints follow best.

    Args:
        problem: The problem, its parameters at the first guess.
    """
    drives, parameters = problem.actuated, problem.parameters
    if drives is None or problem.near or FILTER not in parameters:
        return problem
    servos = [drives.joint_names.index(each.joint) for each in drives.actuators.joints
              if each.kind is PositionServo]
    if not servos or not parameters.free[parameters.index(FILTER)]:
        return problem
    errors = sum(
        _unexplained(problem, k, q[:, servos], servos)
        for k, (q, _) in enumerate(initial_states(problem)))
    best, _ = np.unravel_index(np.argmin(errors), np.shape(errors))
    return problem.with_values(
        parameters.with_values({FILTER: float(_CONSTANTS[best])}).values)


def _unexplained(
    problem: TrajectoryProblem, segment: int, q: np.ndarray, joints: list[int]
) -> np.ndarray:
    """Squared motion that filtered commands do not explain, in parts of all, by constant and delay.

    Args:
        problem: The problem.
        segment: Number of the segment.
        q: Positions of joints at its nodes in [rad] or [m], shape ``(N + 1, m)``.
        joints: These joints.
    """
    t, commands = problem.segments[segment].t, problem.segments[segment].commands
    assert commands is not None  # required of problems with actuators
    moved = q - q.mean(axis=0)
    size = np.maximum(np.sum(moved**2, axis=0), np.finfo(float).tiny)
    found = np.empty((len(_CONSTANTS), len(_DELAYS)))
    for i, constant in enumerate(_CONSTANTS):
        filtered = commands.filtered(float(constant))
        for k, delay in enumerate(_DELAYS):
            y = filtered.at(t - delay)[:, joints]
            y = y - y.mean(axis=0)
            given = np.maximum(np.sum(y**2, axis=0), np.finfo(float).tiny)
            found[i, k] = np.sum(1.0 - np.sum(moved * y, axis=0)**2 / (size * given))
    return len(t) * found
