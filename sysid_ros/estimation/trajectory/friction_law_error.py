r"""Errors of parameters by dry friction that is not the one simulated near standstill.

The sign of dry friction is smoothed over a velocity :math:`v_0`, since simulated motion has to be
differentiable. How friction changes sign in truth is not known, and residuals do not say: it errs
at every reversal, so that neither their size nor how they repeat themselves tells of it. One
step of Gauss and Newton from the solution, under twice the smoothing,

.. math:: \delta\theta_2 = -H_2^{-1}\, (g_2 - g),

with the information H, states adapted, and the gradients g of the cost, says how much the estimate
owes to it. To first order in :math:`v_0` a sharp sign makes as much the other way (Richardson's
extrapolation): with :math:`\theta - \delta\theta_2` dry friction makes the motion that smoothed
friction makes with :math:`\theta`. Where joints stick errors vanish slower: twice as much counts
as one standard deviation beside those of the residuals.

In that sum reversals of many joints cancel by chance, for inertias above all. Friction that errs
here a little more and there a little less leaves what they scatter: with :math:`d_k` the change of
the score of node k, the sandwich :math:`H^{-1} B_d H^{-1}` with the long-run covariance of the d,
as for residuals, times the same factor.

References:
    Roache 1994, Perspective: a method for uniform reporting of grid refinement studies, whose
    factors of safety for extrapolations are 1.25 to 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.trajectory.assessment import determined_parameters, node_ranges
from sysid_ros.estimation.trajectory.friction_smoothing import with_smoother_friction
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.numerics.noise import sandwich

#: Key of a provenance: values by which dry friction makes the motion of the estimate.
DRY_FRICTION = 'dry_friction'
# Smoothing that is tried, in parts of that of the problem: more, which takes no shorter steps.
_PART = 2.0
# Factor of safety of what is extrapolated.
_SAFETY = 2.0
# Dry friction changes by at most this part of it, or nothing can be extrapolated.
_EXTRAPOLATES = 0.5


class FrictionLawError(NamedTuple):
    """What an estimate owes to the smoothing of dry friction.

    Attributes:
        dry: Change of the determined parameters by which dry friction makes the motion that
            smoothed friction makes now, shape ``(r,)``.
        covariance: What the intervals of these parameters count of it, shape ``(r, r)``.
    """

    dry: np.ndarray
    covariance: np.ndarray


def friction_law_error(
    at: Callable[[TrajectoryProblem, TrajectorySolution], TrajectorySolution],
    problem: TrajectoryProblem, found: TrajectorySolution,
) -> FrictionLawError | None:
    """By how much the determined parameters would differ for a sharp sign.

    Args:
        at: What is known of a problem with its parameters as they are, from motion nearby.
        problem: The problem.
        found: Its solution.

    Returns:
        None without smoothed friction, or where motion cannot be simulated with more smoothing.
    """
    if not found.status.ok:
        return None
    smoother = with_smoother_friction(problem, _PART)
    determined = np.flatnonzero(determined_parameters(problem, found.information).mask)
    if smoother is None or not len(determined):
        return None
    try:
        # Both with the noise that the problem names, which the search may have found to be another.
        here, other = (
            at(each.with_values(found.values), found) for each in (problem, smoother))
    except EstimationError:
        return None
    changes = (other.scores - here.scores)[:, determined]
    information = other.information[np.ix_(determined, determined)]
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
    dry = scale * np.linalg.lstsq(
        information * np.outer(scale, scale), scale * changes.sum(axis=0), rcond=None)[0]
    scatter = sandwich(
        here.information[np.ix_(determined, determined)], changes, node_ranges(problem))
    return FrictionLawError(dry, _SAFETY**2 * (np.outer(dry, dry) + scatter))


def with_dry_friction(
    estimate: Estimate, problem: TrajectoryProblem, found: TrajectorySolution,
    error: FrictionLawError | None,
) -> Estimate:
    """An estimate with the values by which dry friction makes its motion, for simulators.

    Args:
        estimate: What is said of the problem.
        problem: The problem.
        found: Its solution.
        error: What it owes to the smoothing.

    Returns:
        The same estimate where torques were measured, where links are sought, since what moves with
        them is no real body, and where dry friction would be another.
    """
    if error is None or problem.actuated is None or problem.frees_bodies:
        return estimate
    names, bounds = problem.parameters.names, problem.parameters
    determined = problem.free[determined_parameters(problem, found.information).mask]
    sizes = np.array([
        abs(found.values[k]) if names[k].endswith('.coulomb_friction') else np.inf
        for k in determined])
    if np.any(np.abs(error.dry) > _EXTRAPOLATES * sizes):
        # A first order that changes so much says nothing of what comes after it.
        return estimate
    values = np.clip(
        found.values[determined] + error.dry, bounds.lower[determined], bounds.upper[determined])
    dry = {names[k]: float(value) for k, value in zip(determined, values, strict=True)}
    return replace(estimate, provenance={**estimate.provenance, DRY_FRICTION: dry})
