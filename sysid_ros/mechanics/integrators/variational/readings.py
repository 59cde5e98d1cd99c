"""What belongs to states of a variational integrator: velocities, energies, gaps, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures import closure_arrays, closure_kernels
from sysid_ros.mechanics.integrators.variational import (
    closures,
    discrete_lagrangian,
    lagrangian,
    step,
    system,
)
from sysid_ros.mechanics.integrators.variational.closures import fill_geometric_stiffness
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import differentiate_state
from sysid_ros.mechanics.integrators.variational.lagrangian import (
    evaluate_lagrangian,
    lagrangian_second_derivatives,
)
from sysid_ros.mechanics.integrators.variational.step import (
    StepWorkspace,
    evaluate_closures,
    fill_newton_matrix,
)
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, TermArrays, law_value
from sysid_ros.mechanics.joint_terms.law import POSITION
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.tree import (
    forward_kinematics,
    loaded_gears,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.mechanics.tree.tree_terms import along
from sysid_ros.numerics import by_reference, dense, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.dense import PIVOT_TOLERANCE, lu, solve_lu_rows
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest

#: Files that are compiled into these calls.
SOURCES = (
    by_reference, closure_arrays, closure_kernels, compiled, dense, forward_kinematics,
    loaded_gears, sample_regressor, *dispatch.SOURCES, spatial_vectors, tree_arrays,
    tree_dynamics, tree_terms, discrete_lagrangian, closures, lagrangian, step, system, tables)


@njit(**INSIDE)
def _velocity(
    system: DiscreteSystem, values: TreeValues, work: StepWorkspace, q: np.ndarray, p: np.ndarray
) -> bool:
    """Velocities within the constraints that belong to momenta, into ``work.right``."""
    matrix, order, right, v = work.matrix, work.order, work.right, work.lagrangian.v
    tree, tables, jacobian = (
        work.lagrangian.tree, work.lagrangian.tree.tables, work.closures.jacobian)
    v[:] = 0.0
    right[:] = 0.0
    evaluate_lagrangian(system, values, tree, q, v)
    lagrangian_second_derivatives(system, values.amplitudes, tree, q)
    evaluate_closures(system, work.frames, work.closures, q)
    fill_newton_matrix(tables[0], jacobian, jacobian, matrix)
    for i in range(len(p)):
        right[0, i] = p[i]
    if not lu(matrix, order, PIVOT_TOLERANCE):
        return False
    solve_lu_rows(matrix, order, right)
    return True


@njit(**INSIDE)
def _velocity_slopes(
    system: DiscreteSystem, values: TreeValues, work: StepWorkspace, q: np.ndarray,
    slopes: np.ndarray, out: np.ndarray,
) -> None:
    """Derivatives of the velocity within the constraints, after :func:`_velocity`."""
    inner, frames, closed, joints = work.lagrangian, work.frames, work.closures, len(q)
    at, v, by_parameters, tables, stiffness = (
        inner.at, inner.v, inner.by_parameters, inner.tree.tables, closed.stiffness)
    columns, right, multipliers = work.columns, work.right, work.multipliers
    first = len(columns) - by_parameters.shape[1]
    for j in range(joints):
        at[j], v[j] = q[j], right[0, j]
    for k in range(len(multipliers)):
        multipliers[k] = right[0, joints + k]
    differentiate_state(system, values, inner)
    # What the impulse that projects onto the constraints does where these turn.
    fill_geometric_stiffness(system, frames, closed, multipliers)
    for c in range(len(columns)):
        for i in range(joints):
            total = slopes[1, i, c]
            if c >= first:
                total -= by_parameters[1, c - first, i]
            for j in range(joints):
                total -= (tables[1, i, j] + stiffness[i, j]) * slopes[0, j, c]
            columns[c, i] = total
    for k in range(len(multipliers)):
        for m in range(len(multipliers)):
            multipliers[m] = 1.0 if m == k else 0.0
        fill_geometric_stiffness(system, frames, closed, multipliers)
        _turn(stiffness, v, right, slopes, columns, joints + k)
    solve_lu_rows(work.matrix, work.order, columns)
    for i in range(joints):
        for c in range(len(columns)):
            out[i, c] = columns[c, i]


@njit(**INSIDE)
def _turn(
    second_derivative: np.ndarray, v: np.ndarray, work: np.ndarray, slopes: np.ndarray,
    columns: np.ndarray, row: int,
) -> None:
    """What it asks of velocities that a constraint's direction changes with positions."""
    for j in range(len(v)):
        total = 0.0
        for i in range(len(v)):
            total += second_derivative[i, j] * v[i]
        work[0, j] = total
    for c in range(len(columns)):
        total = 0.0
        for j in range(len(v)):
            total -= work[0, j] * slopes[0, j, c]
        columns[c, row] = total


@njit(**INSIDE)
def _potential(
    terms: TermArrays, amplitudes: np.ndarray, gravity: np.ndarray, own: np.ndarray,
    q: np.ndarray,
) -> float:
    """Potential energy of gravity and springs, after :func:`evaluate_lagrangian`."""
    total = 0.0
    for i in range(len(own)):
        for k in range(3):
            total -= gravity[k] * own[i, 1 + k]
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == POSITION:
            total += 0.5 * amplitudes[k] * law_value(terms.laws, k, along(terms, k, q)) ** 2
    return total


def _reading(sources: str) -> Callable[..., bool]:
    """Readings as one call; the digest stands for the files whose functions are called."""

    @njit(**ENTRY)
    def read(
        system: DiscreteSystem, values: TreeValues, work: StepWorkspace, states: np.ndarray,
        slopes: np.ndarray, velocities: np.ndarray, velocity_slopes: np.ndarray,
        energies: np.ndarray, gaps: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        terms, amplitudes, gravity = system.terms, values.amplitudes, system.tree.gravity
        own, right, gap = work.lagrangian.tree.own, work.right, work.closures.gap
        for t in range(len(states)):
            q, p = states[t, 0], states[t, 1]
            if not _velocity(system, values, work, q, p):
                return False
            energies[t] = _potential(terms, amplitudes, gravity, own, q)
            for j in range(len(q)):
                velocities[t, j] = right[0, j]
                energies[t] += 0.5 * right[0, j] * p[j]
            gaps[t] = 0.0
            for k in range(len(gap)):
                gaps[t] = max(gaps[t], abs(gap[k]))
            if velocity_slopes.shape[2]:
                _velocity_slopes(system, values, work, q, slopes[t], velocity_slopes[t])
        return True

    return read


_DIGEST = digest(*SOURCES)
# Named tuples come by reference.
#: For states ``(T, 2, n)``, positions before momenta, and their derivatives ``(T, 2, n, w)``:
#: fills velocities ``(T, n)``, their derivatives ``(T, n, w)`` where asked for,
#: energies ``(T,)`` and largest gaps of the closures ``(T,)``. False where singular.
read: Callable[..., Any] = _reading(_DIGEST)
