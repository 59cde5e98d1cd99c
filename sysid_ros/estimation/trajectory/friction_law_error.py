r"""Errors of parameters by dry friction that is not the one simulated near standstill.

The sign of dry friction is smoothed over a velocity :math:`v_0`, since simulated motion has to be
differentiable. How friction changes sign in truth is not known, and residuals do not say: it errs
alike at every reversal, so that neither their size nor how they repeat themselves tells of it. One
step of Gauss and Newton from the solution, under twice the smoothing,

.. math:: \delta\theta_2 = -H_2^{-1}\, (g_2 - g),

with the information H, states adapted, and the gradients g of the cost, says how much the estimate
owes to it. To first order in :math:`v_0` a sharp sign makes as much the other way. That is an
extrapolation, and where joints stick errors vanish slower: twice as much counts as one standard
deviation beside those of the residuals.

References:
    Roache 1994, Perspective: a method for uniform reporting of grid refinement studies, whose
    factors of safety for extrapolations are 1.25 to 3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.friction_smoothing import with_smoother_friction
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

# Smoothing that is tried, in parts of that of the problem: more, which takes no shorter steps.
_PART = 2.0
# Factor of safety of what is extrapolated.
_SAFETY = 2.0


def friction_law_error(
    at: Callable[[TrajectoryProblem, TrajectorySolution], TrajectorySolution],
    problem: TrajectoryProblem, found: TrajectorySolution,
) -> np.ndarray | None:
    """By how much the determined parameters would differ for a sharp sign.

    Args:
        at: What is known of a problem with its parameters as they are, from motion nearby.
        problem: The problem.
        found: Its solution.

    Returns:
        Shape ``(r,)``; None without smoothed friction, or where motion cannot be simulated with
        more smoothing.
    """
    if not found.status.ok:
        return None
    smoother = with_smoother_friction(problem, _PART)
    kept = np.flatnonzero(determined_parameters(problem, found.information).kept)
    if smoother is None or not len(kept):
        return None
    try:
        other = at(smoother.with_values(found.values), found)
    except EstimationError:
        return None
    gradient = (other.scores.sum(axis=0) - found.scores.sum(axis=0))[kept]
    information = other.information[np.ix_(kept, kept)]
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
    step = scale * np.linalg.lstsq(
        information * np.outer(scale, scale), scale * gradient, rcond=None)[0]
    return np.asarray(_SAFETY * step)

