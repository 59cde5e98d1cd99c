"""Compiled: accelerations of planar mechanisms, forces of their constraints, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph import (
    planar_arrays,
    planar_constraints,
    planar_forces,
    saddle_point,
)
from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    COMPILED,
    ConstraintArrays,
    ForceArrays,
)
from sysid_ros.estimation.trajectory.graph.planar_constraints import add_curvature, constrain
from sysid_ros.estimation.trajectory.graph.planar_forces import add_forces, regress
from sysid_ros.estimation.trajectory.graph.saddle_point import (
    add_product,
    apply,
    fill_saddle,
)
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.numerics import dense, inverses
from sysid_ros.numerics.dense import PIVOT_TOLERANCE
from sysid_ros.numerics.inverses import generalised_inverse
from sysid_ros.numerics.jit import INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :func:`respond`.
SOURCES = (
    dense, inverses, planar_arrays, planar_constraints, planar_forces, saddle_point,
    *dispatch.SOURCES)
# What calls functions of other files is not cached by itself, where changes there were not seen.
_INSIDE = INSIDE | MAKES_ARRAYS


class _Workspace(NamedTuple):
    """Workspace for one sample of n coordinates, m constraints and p parameters.

    Attributes:
        gap: The constraints, shape ``(1, m)``.
        bias: Their bias accelerations, shape ``(1, m)``.
        jacobian: Their derivatives, shape ``(1, m, n)``.
        rate: Derivatives of their rates, shape ``(1, m, n)``.
        slope: Derivatives of their second derivatives, shape ``(1, m, n)``.
        still: Zeros, shape ``(1, n)``.
        saddle: The equations' matrix with space for its inverse behind it, shape ``(n + m, 2 (n +
            m))``.
        inverse: Its inverse, shape ``(n + m, n + m)``.
        order: Exchanges of its rows, shape ``(n + m,)``.
        right: The right-hand side, shape ``(n + m,)``.
        curvature: Derivative of the constraints' forces by positions, shape ``(n, n)``.
        force_q: Derivatives of forces by the coordinates that they act along, shape ``(n,)``.
        force_v: Derivatives of forces by velocities along the coordinates they act along.
        rows: What a unit of each parameter takes, shape ``(n, p)``.
    """

    gap: np.ndarray
    bias: np.ndarray
    jacobian: np.ndarray
    rate: np.ndarray
    slope: np.ndarray
    still: np.ndarray
    saddle: np.ndarray
    inverse: np.ndarray
    order: np.ndarray
    right: np.ndarray
    curvature: np.ndarray
    force_q: np.ndarray
    force_v: np.ndarray
    rows: np.ndarray


@njit(**_INSIDE)
def _workspace(n: int, m: int, parameters: int) -> _Workspace:
    size = n + m
    return _Workspace(
        np.empty((1, m)), np.empty((1, m)), np.empty((1, m, n)), np.empty((1, m, n)),
        np.empty((1, m, n)), np.zeros((1, n)), np.empty((size, 2 * size)),
        np.empty((size, size)), np.empty(size, np.int64), np.empty(size), np.empty((n, n)),
        np.empty(n), np.empty(n), np.empty((n, parameters)))


@njit(**_INSIDE)
def _solve_saddle_point(
    loops: ConstraintArrays, arrays: ForceArrays, rank: int, values: np.ndarray,
    mass: np.ndarray, rest: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
    work: _Workspace, response: np.ndarray,
) -> bool:
    """Solve the equations of one sample; False where their matrix has a lower rank."""
    constrain(
        loops, q, v, work.still, work.gap, work.jacobian, work.rate, work.bias, work.slope)
    work.force_q[:], work.force_v[:] = 0.0, 0.0
    work.right[:len(rest)] = rest
    for k in range(len(arrays.inputs)):
        work.right[arrays.inputs[k]] += torque[k]
    add_forces(arrays, values, q[0], v[0], work.right, work.force_q, work.force_v)
    fill_saddle(mass, work.jacobian[0], work.bias[0], work.saddle, work.right)
    if not generalised_inverse(work.saddle, rank, work.order, PIVOT_TOLERANCE, work.inverse):
        return False
    apply(work.inverse, work.right, response)
    return True


@njit(**_INSIDE)
def _differentiate(
    loops: ConstraintArrays, arrays: ForceArrays, q: np.ndarray, v: np.ndarray, work: _Workspace,
    response: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, by_torque: np.ndarray,
) -> None:
    """Derivatives of the sample that was solved just before."""
    n = q.shape[1]
    constrain(
        loops, q, v, response[:, :n], work.gap, work.jacobian, work.rate, work.bias, work.slope)
    work.curvature[:, :] = 0.0
    add_curvature(loops, q[0], response[0, n:], work.curvature)
    by_q[:, :] = 0.0
    by_v[:, :] = 0.0
    add_product(-1.0, work.inverse, 0, work.curvature, by_q)
    add_product(-1.0, work.inverse, n, work.slope[0], by_q)
    add_product(-2.0, work.inverse, n, work.rate[0], by_v)
    for i in range(len(by_q)):
        for j in range(n):
            by_q[i, j] += work.inverse[i, j] * work.force_q[j]
            by_v[i, j] += work.inverse[i, j] * work.force_v[j]
        for k in range(len(arrays.inputs)):
            by_torque[i, k] = work.inverse[i, arrays.inputs[k]]


def _compiled(sources: str) -> Callable[..., int]:
    """The whole response as one call; a digest of the files is part of what is compiled."""

    @njit(**COMPILED)
    def respond(
        loops: ConstraintArrays, arrays: ForceArrays, rank: int, values: np.ndarray,
        mass: np.ndarray, rest: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
        response: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, by_torque: np.ndarray,
        by_values: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        n = q.shape[1]
        work = _workspace(n, len(loops.kind), by_values.shape[2])
        for s in range(len(q)):
            here = slice(s, s + 1)
            if not _solve_saddle_point(
                loops, arrays, rank, values, mass, rest, q[here], v[here], torque[s], work,
                response[s]
            ):
                return s
            _differentiate(
                loops, arrays, q[here], v[here], work, response[here], by_q[s], by_v[s],
                by_torque[s])
            if by_values.shape[2]:
                work.rows[:, :] = 0.0
                regress(arrays, q[s], v[s], response[s, :n], work.rows)
                by_values[s, :, :] = 0.0
                add_product(-1.0, work.inverse, 0, work.rows, by_values[s])
        return -1

    return respond


#: Accelerations and multipliers of S samples, with their derivatives:
#:
#: .. math:: \begin{pmatrix} M & J^T \\ J & 0 \end{pmatrix}
#:           \begin{pmatrix} a \\ \lambda \end{pmatrix}
#:           = \begin{pmatrix} Q \\ -\dot J v \end{pmatrix}
#:
#: and the same matrix for all derivatives (implicit function theorem). Given are constraints,
#: bodies and forces; the rank of the matrix, since of constraints that repeat others only one
#: counts; parameters ``(p,)``; the mass matrix ``(n, n)`` and forces of gravity ``(n,)``;
#: coordinates and velocities ``(S, n)``; torques ``(S, u)``. Filled are accelerations, then
#: multipliers ``(S, n + m)``, and their derivatives by positions and by velocities
#: ``(S, n + m, n)``, by torques ``(S, n + m, u)`` and by parameters ``(S, n + m, p)``, or of
#: width 0 where these are not wanted. It gives the first sample whose matrix has a lower rank,
#: or -1.
respond = _compiled(digest(*SOURCES))
