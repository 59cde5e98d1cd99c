"""Parameters that a search begins with: regression on motion smoothed out of what was measured.

Where every joint is measured and something drives the robot, torques are linear in the
parameters along the smoothed motion. A consistent estimator takes the first guess from the
description's tens of percent to a few, from where searches over states and parameters converge.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.smoothed_rows import smoothed_rows
from sysid_ros.estimation.trajectory.starts import hidden_joints


def regression_start(problem: TrajectoryProblem) -> np.ndarray:
    """Values to begin a search with, shape ``(p,)``.

    Args:
        problem: The problem, its parameters at the first guess.

    Returns:
        Values of bodies that can exist; the first guess where it is near, nothing drives the robot,
        a joint is not measured, or torques along the smoothed motion are predicted no better.
    """
    values = problem.parameters.values
    driven = problem.actuated is not None or any(
        np.any(segment.torque) for segment in problem.segments)
    others = len(problem.parameters) > len(problem.model.parameters)
    if problem.near or not driven or others or not len(problem.free) or (
            hidden_joints(problem).any()):
        # Motion that the first guess makes up would only give that guess back.
        return values
    try:
        rows = smoothed_rows(problem)
        found, status = EntropicLeastSquares().values(rows)
    except (SysidError, np.linalg.LinAlgError):
        # A start is a convenience: what is wrong shows where it matters.
        return values
    if not status.ok:
        return values
    free = problem.parameters.free.copy()
    if problem.actuated is not None:
        # No torque that a motion takes tells who makes it.
        free[problem.actuated.columns] = False
    found = np.where(free, np.clip(found, problem.parameters.lower, problem.parameters.upper),
                     values)
    errors = [np.linalg.norm(rows.torque - rows.regressor @ each) for each in (found, values)]
    return found if errors[0] < errors[1] else values
