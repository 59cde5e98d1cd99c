r"""Upper bounds of joint terms that the motion does not bound.

The torque of a term, :math:`\theta_k \Gamma_k`, cannot exceed what drives its joint by much, and
where the joint moves that bounds the parameter. Where it stands still :math:`\Gamma_k` is the
flicker of the encoder, and any friction or drive inertia explains as much as any other. What
bounds it there is the torque that it would take to move the joint slowly.
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
# A torque that is smaller counts as this, in [N·m] or [N].
_LEAST_TORQUE = 1e-3


def with_plausible_terms(problem: RegressionProblem, factor: float) -> RegressionProblem:
    """The problem with upper bounds for terms of joints that hardly move.

    Args:
        problem: Rows and prior.
        factor: How many times the torque of its joints a term may take at slow motion, and how
            many times the prior a parameter may be.
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
    upper = np.where(motion < slow, np.minimum(parameters.upper, bound), parameters.upper)
    if np.array_equal(upper, parameters.upper):
        return problem
    return problem.replaced('factors', parameters=replace(parameters, upper=upper))
