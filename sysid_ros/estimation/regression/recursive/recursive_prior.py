r"""Divergences to a prior for the recursion, in the parameters themselves.

``plausible`` is the divergence of :mod:`~sysid_ros.estimation.regression.consistent.log_det`, with
all that physics allows. ``log_det`` is that of Cho, Lee and Shin 2023, eq. (23): log-determinants
of the bodies alone, and half the squared distance of all else. ``l2`` is half the squared distance
of
everything: plain recursive least squares, whose bodies need not be real.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.linalg

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.feasible_set import (
    ACTIVE,
    FeasibleSet,
    feasible_set,
)
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.recursive.barrier import add_barrier_derivatives
from sysid_ros.estimation.regression.recursive.state import Prior, workspace_for
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.parameters import ParameterSet

Regulariser = Literal['plausible', 'log_det', 'l2']

# Coefficients below this part of the largest, each in its parameter's step, are rounding.
_COEFFICIENT_TOLERANCE = 1e-12


def divergence(
    problem: RegressionProblem, kind: Regulariser, plausibility: Plausibility,
    rest_weight: float,
) -> Prior:
    """The divergence to the prior of a problem.

    Args:
        problem: Its parameters say what is free, and what the prior is; its rows how large a
            term is that explains its torque, if it has any.
        kind: Which divergence.
        plausibility: Margins and ranges of masses, for ``plausible``.
        rest_weight: Weight of the squared distance, for the others; the paper's beta.

    Raises:
        ConfigurationError: The prior is not strictly inside of what is allowed.
    """
    if kind == 'plausible':
        return with_slope(_plausible(problem, plausibility))
    free = np.flatnonzero(problem.free)
    bodies = _bodies(problem, 0.0)
    inertial = np.zeros(len(problem.parameters), dtype=bool)
    for body in problem.parameters.bodies:
        inertial[problem.parameters.body_slice(body)] = True
    quadratic_weight = np.where(inertial[free], 0.0 if kind == 'log_det' else 1.0, rest_weight)
    if kind == 'l2':
        bodies = bodies[0][:0], bodies[1][:0], bodies[2][:0]
    return with_slope(Prior(
        problem.reference[free], np.zeros(len(free)), quadratic_weight, *bodies,
        np.zeros((0, len(free))), np.zeros(0), np.zeros((0, 2), dtype=np.int64)))


def _plausible(problem: RegressionProblem, plausibility: Plausibility) -> Prior:
    allowed = feasible_set(problem, plausibility)
    z = allowed.require_interior()
    free = np.flatnonzero(problem.free)
    scale = problem.scale[free]
    matrix = _in_parameters(allowed, scale)
    return Prior(
        problem.reference[free] + scale @ z, np.zeros(len(free)),
        np.where(allowed.unbounded, np.diag(scale) ** -2.0, 0.0),
        *_bodies(problem, plausibility.margin), matrix,
        allowed.bound + matrix @ problem.reference[free], _spans(matrix),
    )


def _in_parameters(allowed: FeasibleSet, scale: np.ndarray) -> np.ndarray:
    """Inequalities of the prior's steps as those of the free parameters, shape ``(m, f)``."""
    matrix = np.linalg.solve(scale.T, allowed.matrix.T).T
    size = np.abs(matrix) * np.linalg.norm(scale, axis=1)
    significant = size > _COEFFICIENT_TOLERANCE * size.max(axis=1, keepdims=True, initial=0.0)
    return np.ascontiguousarray(np.where(significant, matrix, 0.0))


def _bodies(
    problem: RegressionProblem, margin: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place, held values and floor of all bodies with a free parameter, ``(c, 10)`` each."""
    parameters, free = problem.parameters, problem.free
    position = np.where(free, np.cumsum(free) - 1, -1)
    blocks = [parameters.body_slice(body) for body in parameters.bodies]
    blocks = [block for block in blocks if free[block].any()]
    place = np.array([position[block] for block in blocks], dtype=np.int64).reshape(-1, 10)
    floor = margin * np.array([parameters.prior[block] for block in blocks]).reshape(-1, 10)
    values = np.array([parameters.values[block] for block in blocks]).reshape(-1, 10)
    return place, np.where(place < 0, values - floor, 0.0), floor


def elimination_order(problem: RegressionProblem, prior: Prior) -> np.ndarray:
    """An order of the free parameters in which linear systems take fewer products.

    Those of which the divergence is quadratic come first, since their part of a system stays the
    same; then those that no torque sees: each is coupled with its own body's alone.

    Args:
        problem: Its parameters say what is free.
        prior: The divergence.

    Returns:
        Their places among the free parameters, shape ``(f,)``.
    """
    seen = (problem.base.matrix[:, problem.free] != 0.0).any(axis=0)
    return np.lexsort((seen, ~quadratic(prior)))


def quadratic(prior: Prior) -> np.ndarray:
    """Mask of the free parameters of which the divergence is quadratic, shape ``(f,)``."""
    alone = ~(prior.matrix != 0.0).any(axis=0)
    alone[prior.place[prior.place >= 0]] = False
    return alone


def reordered(prior: Prior, order: np.ndarray) -> Prior:
    """The divergence for free parameters in another order.

    Args:
        prior: The divergence.
        order: Places of the parameters in the order so far, shape ``(f,)``.
    """
    new = np.argsort(order)
    matrix = np.ascontiguousarray(prior.matrix[:, order])
    return prior._replace(
        reference=prior.reference[order], slope=prior.slope[order],
        quadratic_weight=prior.quadratic_weight[order],
        place=np.where(prior.place < 0, -1, new[prior.place]), matrix=matrix,
        span=_spans(matrix), eliminated=int(np.cumprod(quadratic(prior)[order]).sum()))


def _spans(matrix: np.ndarray) -> np.ndarray:
    """First entry of each row that is not zero and the one after its last, shape ``(m, 2)``."""
    used = matrix != 0.0
    return np.column_stack([
        used.argmax(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1)
    ]).astype(np.int64).reshape(-1, 2)


def with_slope(prior: Prior) -> Prior:
    """The divergence, whose gradient at the reference is made zero."""
    count = len(prior.reference)
    work = workspace_for(count, 1)
    add_barrier_derivatives(prior._replace(slope=np.zeros(count)), prior.reference, work, 1.0, 1.0,
        0)
    return prior._replace(slope=-work.right)


def curvature(prior: Prior, theta: np.ndarray) -> np.ndarray:
    """Hessian of the divergence at free parameters ``(f,)``, strictly inside, ``(f, f)``.

    Active inequalities count as in :meth:`FeasibleSet.barrier_hessian`.
    """
    count, reached = len(theta), prior.matrix @ theta
    prior = prior._replace(bound=reached + np.maximum(prior.bound - reached, ACTIVE))
    work = workspace_for(count, 1)
    add_barrier_derivatives(prior, theta, work, 1.0, 1.0, 0)
    upper = np.triu(work.system.matrix[:count, :count])
    return upper + np.triu(upper, 1).T


def gradient(prior: Prior, theta: np.ndarray) -> np.ndarray:
    """Gradient of the divergence at free parameters ``(f,)``, strictly inside, ``(f,)``."""
    work = workspace_for(len(theta), 1)
    add_barrier_derivatives(prior, theta, work, 1.0, 1.0, 0)
    return -work.right


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """A matrix whose square, transposed, is the inverse of a positive definite one, ``(f, f)``.

    Args:
        matrix: Shape ``(f, f)``; its entries may differ by orders of magnitude.
    """
    # With ones on the diagonal all digits count.
    scale = np.diag(matrix) ** -0.5
    root = np.linalg.cholesky(scale[:, None] * matrix * scale)
    return np.asarray(scipy.linalg.solve_triangular(root, np.diag(scale), lower=True))


def without_rows(
    model: TorqueModel, parameters: ParameterSet | None = None
) -> RegressionProblem:
    """A problem whose rows are still to come.

    Args:
        model: Torque model.
        parameters: Prior, bounds and mask in place of the model's own.
    """
    joints = len(model.robot.joint_names)
    parameters = parameters or model.parameters
    return RegressionProblem(
        model=model, parameters=parameters, regressor=np.zeros((0, joints, len(parameters))),
        torque=np.zeros((0, joints)), usable=np.zeros((0, joints), dtype=bool), segments=(),
        rate=0.0,
    )


def header_of(problem: RegressionProblem) -> RegressionProblem:
    """All of a problem but its rows, with the scale of joint terms that they told."""
    header: RegressionProblem = replace(
        problem, regressor=problem.regressor[:0].copy(), torque=problem.torque[:0].copy(),
        usable=problem.usable[:0].copy(), segments=(), motion=None)
    return header.seeded(scale=problem.scale, **problem.at_hand('base'))
