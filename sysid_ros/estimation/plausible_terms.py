r"""Bounds of joint terms by what drives their joints.

The torque of a term, :math:`\theta_k \Gamma_k`, cannot exceed what drives its joint by much, and
where the joint moves that bounds the parameter. Where it stands still :math:`\Gamma_k` is the
flicker of the encoder, and any friction or drive inertia explains as much as any other. What
bounds it there is the torque that it would take to move the joint slowly.

Dry friction or a constant torque above the effort limit of the description would hold the joint
whatever its drive does. Where efforts exceed that limit themselves, it is not one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem

# Root mean square of a term's column from which the torques bound it: speed, acceleration,
# deflection, and the part of the time that dry friction acts, by the unit of the parameter.
_MOVED = {
    'N·m·s/rad': 0.1, 'N·s/m': 0.1, 'kg·m²': 1.0, 'kg': 1.0, 'N·m/rad': 0.1, 'N/m': 0.1,
    'N·m': 0.5, 'N': 0.5,
}
# Units of terms that are a torque, or a force, by themselves.
_TORQUES = ('N·m', 'N')
# A torque that is smaller counts as this, in [N·m] or [N].
_LEAST_TORQUE = 1e-3


def with_plausible_terms(
    problem: RegressionProblem, factor: float, effort_limits: bool = True
) -> RegressionProblem:
    """The problem with bounds for terms of joints that hardly move, and by effort limits.

    Args:
        problem: Rows and prior.
        factor: How many times the torque of its joints a term may take at slow motion, and how
            many times the prior a parameter may be.
        effort_limits: Whether effort limits of the description bound dry friction and constant
            torques.
    """
    parameters, bodies = problem.parameters, len(problem.parameters.bodies)
    squares = np.sum(problem.factors[:, :, :-1] ** 2, axis=1)
    torques = np.sum(problem.factors[:, :, -1] ** 2, axis=1)
    acts = squares > 0.0
    rows = np.maximum(problem.counts @ acts, 1)
    motion, torque = np.sqrt(squares.sum(axis=0) / rows), np.sqrt(torques @ acts / rows)
    slow = np.array([_MOVED.get(unit, 0.0) for unit in parameters.units])
    slow[:10 * bodies] = 0.0
    with np.errstate(divide='ignore'):
        bound = factor * np.maximum(
            np.maximum(torque, _LEAST_TORQUE) / slow, np.abs(parameters.prior))
    limits = _effort_limits(problem) if effort_limits else np.full(len(parameters.upper), np.inf)
    upper = np.minimum(
        np.where(motion < slow, np.minimum(parameters.upper, bound), parameters.upper), limits)
    # A constant torque has either sign.
    lower = np.where(parameters.lower < 0.0, np.maximum(parameters.lower, -limits),
                     parameters.lower)
    if np.array_equal(upper, parameters.upper) and np.array_equal(lower, parameters.lower):
        return problem
    return problem.replaced('factors', parameters=replace(parameters, lower=lower, upper=upper))


def _effort_limits(problem: RegressionProblem) -> np.ndarray:
    """Largest size of each parameter by the effort limit of its joint; infinite without, ``(p,)``.

    What is a torque by itself is bounded, where its prior and all efforts keep the limit.
    """
    parameters, robot = problem.parameters, problem.model.robot
    found = np.full(len(parameters.values), np.inf)
    if robot.loops is not None:
        return found
    largest = np.max(np.abs(problem.torque), axis=0, where=problem.usable, initial=0.0)
    limits = {
        name: limit for name, limit, effort in zip(
            robot.joint_names, robot.limits.effort, largest, strict=True)
        if limit >= effort > 0.0}
    for k in range(10 * len(parameters.bodies), len(found)):
        if parameters.units[k] in _TORQUES:
            limit = limits.get(parameters.names[k].rpartition('.')[0], np.inf)
            found[k] = limit if abs(parameters.prior[k]) < limit else np.inf
    return found
