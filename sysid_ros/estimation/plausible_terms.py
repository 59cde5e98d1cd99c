r"""Bounds of joint terms by what drives their joints.

The torque of a term, :math:`\theta_k \Gamma_k`, is balanced by the effort of its joint and by the
torque of the bodies, and cannot exceed both by much. Its root mean square over the rows bounds the
parameter: viscous friction by the speed, drive inertia by the acceleration, a spring by the
deflection. Where the joint stands still :math:`\Gamma_k` is the flicker of the encoder, and any
friction or drive inertia explains as much as any other. What bounds it there is the torque that it
would take to move the joint slowly.

Dry friction or a constant torque above the effort limit of the description would hold the joint
whatever its drive does, and the drive could not have moved against more viscous friction or inertia
than its limit overcomes. Where efforts exceed that limit themselves, it is not one.
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
# Units of terms that are a torque, or a force, by themselves; and of those that a drive overcomes.
_TORQUES = ('N·m', 'N')
_OVERCOME = ('N·m·s/rad', 'N·s/m', 'kg·m²', 'kg')
# A torque that is smaller counts as this, in [N·m] or [N].
_LEAST_TORQUE = 1e-3


def with_plausible_terms(
    problem: RegressionProblem, factor: float, effort_limits: bool = True
) -> RegressionProblem:
    """The problem with bounds for joint terms, by torques and by effort limits.

    Args:
        problem: Rows and prior.
        factor: How many times the torque of its joints a term may take, at the recorded or at slow
            motion, and how many times the prior a parameter may be.
        effort_limits: Whether effort limits of the description bound frictions, drive inertias
            and constant torques.
    """
    parameters, bodies = problem.parameters, 10 * len(problem.parameters.bodies)
    slow = np.array([_MOVED.get(unit, 0.0) for unit in parameters.units])
    slow[:bodies] = 0.0
    motion, torque = _motion_and_torque(problem)
    motion = np.maximum(motion, slow)
    limits = _effort_limits(problem, motion) if effort_limits else np.full(len(slow), np.inf)
    # A constant torque has either sign, and a sum of zero with what it is to balance.
    signed = parameters.lower < 0.0
    bounded = (slow > 0.0) & ~signed
    bound = np.full(len(slow), np.inf)
    bound[bounded] = factor * np.maximum(
        np.maximum(torque, _LEAST_TORQUE)[bounded] / motion[bounded],
        np.abs(parameters.prior[bounded]))
    upper = np.minimum(parameters.upper, np.minimum(bound, limits))
    lower = np.where(signed, np.maximum(parameters.lower, -limits), parameters.lower)
    if np.array_equal(upper, parameters.upper) and np.array_equal(lower, parameters.lower):
        return problem
    return problem.replaced('factors', parameters=replace(parameters, lower=lower, upper=upper))


def _motion_and_torque(problem: RegressionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squares of each parameter's column, and of the torque of its joints, ``(p,)``.

    The torque is the effort or, where that is larger, what the bodies take by the prior: a spring
    that carries a weight, and the friction of a joint that nothing drives, leave little effort.
    """
    bodies = slice(10 * len(problem.parameters.bodies))
    squares = np.sum(problem.factors[:, :, :-1] ** 2, axis=1)
    rigid = problem.factors[:, :, bodies] @ problem.reference[bodies]
    torques = np.maximum(
        np.sum(problem.factors[:, :, -1] ** 2, axis=1), np.sum(rigid**2, axis=1))
    acts = squares > 0.0
    rows = np.maximum(problem.counts @ acts, 1)
    return np.sqrt(squares.sum(axis=0) / rows), np.sqrt(torques @ acts / rows)


def _effort_limits(problem: RegressionProblem, motion: np.ndarray) -> np.ndarray:
    """Largest size of each parameter by the effort limit of its joint; infinite without, ``(p,)``.

    Args:
        problem: Rows and prior. A limit that its prior or its efforts do not keep bounds nothing.
        motion: Root mean square of each parameter's column, ``(p,)``.
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
        if parameters.units[k] in (*_TORQUES, *_OVERCOME):
            limit = limits.get(parameters.names[k].rpartition('.')[0], np.inf)
            most = limit if parameters.units[k] in _TORQUES else limit / motion[k]
            found[k] = most if abs(parameters.prior[k]) < most else np.inf
    return found
