r"""Compiled: accelerations of the driven joints of a tree or a closed chain, and derivatives.

With the torques :math:`\tau` of the tree, :math:`\dot q = G \dot q_a` and
:math:`\ddot q = G \ddot q_a + \gamma`, the driven joints feel

.. math:: u = G^\top \tau, \qquad \delta u = G^\top \delta\tau - G^\top K G\, \delta q_a,

for :math:`J G = 0` holds everywhere, so that :math:`J\,\delta G = -\delta J\, G`, and
:math:`\tau` less u is :math:`J^\top \lambda` of the closures, whose derivative by positions is K.
Passive joints follow from :math:`J v = 0` and :math:`J a + \dot J v = 0`, differentiated. All of
it goes through one generalised inverse of J's passive columns, since closures of planar loops
repeat each other. A tree is a chain without passive joints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures import (
    closure_arrays,
    closure_kernels,
    closure_motion,
)
from sysid_ros.mechanics.closures.closure_arrays import Closures
from sysid_ros.mechanics.closures.closure_kernels import fill_jacobian, fill_stiffness
from sysid_ros.mechanics.closures.closure_motion import (
    ClosureWorkspace,
    closure_workspace,
    fill_bias,
    fill_derivatives,
)
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.regressor.sample_regressor import SampleModel
from sysid_ros.mechanics.tree import (
    forward_kinematics,
    loaded_gears,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.mechanics.tree.forward_kinematics import body_forward_kinematics, spatial_axis
from sysid_ros.mechanics.tree.tree_arrays import TreeValues, TreeWorkspace, tree_workspace
from sysid_ros.mechanics.tree.tree_dynamics import (
    base_acceleration,
    forward_dynamics,
    mass_matrix_and_bias,
    rnea_derivatives,
)
from sysid_ros.numerics import dense, householder, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.dense import PIVOT_TOLERANCE, lu, solve_lu, solve_lu_columns
from sysid_ros.numerics.householder import householder_least_squares
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.numerics.spatial_vectors import put, six, spatial_plus
from sysid_ros.numerics.tables import clear

#: Files that are compiled into :func:`accelerate_driven`.
SOURCES = (
    closure_arrays, closure_kernels, closure_motion, compiled, dense, *dispatch.SOURCES,
    forward_kinematics, householder, loaded_gears, sample_regressor, spatial_vectors, tables,
    tree_arrays, tree_dynamics, tree_terms)
#: How a sample can end: well, where loops are singular, or where a mass matrix is.
MOVES, STUCK, WEIGHTLESS = range(3)


class DrivenSystem(NamedTuple):
    """A tree of m joints with its closures, n of the joints driven and u passive.

    Attributes:
        tree: The tree.
        closures: What closes its loops.
        driven: The driven joints, shape ``(n,)``.
        passive: The passive ones, shape ``(u,)``.
    """

    tree: SampleModel
    closures: Closures
    driven: np.ndarray
    passive: np.ndarray


class DrivenWorkspace(NamedTuple):
    r"""Workspace for one sample.

    Attributes:
        tree: For the tree.
        closures: For its h closures.
        augmented: The closures' passive columns, and what they are solved with, ``(h, u + h)``.
        inverse: Their generalised inverse, shape ``(u, h)``.
        coupling: The matrix G, shape ``(m, n)``.
        v: Velocities of all joints, shape ``(m,)``.
        still: Zeros, shape ``(m,)``.
        coupling_bias: :math:`\gamma`, shape ``(m,)``.
        load: Torques of the tree, shape ``(m,)``.
        multipliers: :math:`\lambda`, shape ``(h,)``.
        weighted: Mass matrix times G, shape ``(m, n)``.
        square: Mass matrix of the driven joints, then its LU factors, shape ``(n, n)``.
        passive_slopes: Derivatives of passive velocities and accelerations by driven positions,
            and of passive accelerations by driven velocities, shape ``(3, u, n)``.
        rows: Of closures by driven joints, shape ``(h, n)``.
        table: Of the tree by driven joints, shape ``(m, n)``.
        order: Exchanges of rows of ``square``, shape ``(n,)``.
    """

    tree: TreeWorkspace
    closures: ClosureWorkspace
    augmented: np.ndarray
    inverse: np.ndarray
    coupling: np.ndarray
    v: np.ndarray
    still: np.ndarray
    coupling_bias: np.ndarray
    load: np.ndarray
    multipliers: np.ndarray
    weighted: np.ndarray
    square: np.ndarray
    passive_slopes: np.ndarray
    rows: np.ndarray
    table: np.ndarray
    order: np.ndarray


def driven_workspace(system: DrivenSystem, columns: int) -> DrivenWorkspace:
    """Workspace for the samples of a system.

    Args:
        system: The system.
        columns: How many parameters k to differentiate by.
    """
    m, n, u, h = (
        system.tree.coupling.shape[1], len(system.driven), len(system.passive),
        int(system.closures.row[-1]))
    tables = (
        np.zeros(shape) for shape in (
            (h, u + h), (u, h), (m, n), (m,), (m,), (m,), (m,), (h,), (m, n), (n, n), (3, u, n),
            (h, n), (m, n)))
    return DrivenWorkspace._make((
        tree_workspace(system.tree, columns), closure_workspace(system.closures, m), *tables,
        np.zeros(n, dtype=np.int64)))


@njit(**INSIDE)
def _driven_coupling(
    system: DrivenSystem, work: DrivenWorkspace, q: np.ndarray, v: np.ndarray
) -> bool:
    """Coupling G = dq/dq_a and all velocities; False where q_a does not determine them."""
    tree, jacobian, augmented = work.tree, work.closures.jacobian, work.augmented
    for i in range(len(system.tree.parent)):
        position = system.tree.coupling_offset[i]
        for j in range(len(q)):
            position += system.tree.coupling[i, j] * q[j]
        body_forward_kinematics(system.tree, tree.pose, tree.screw, i, position)
        spatial_axis(system.tree.revolute[i], tree.pose, tree.screw, tree.axis, i)
    fill_jacobian(system.closures, tree, work.closures.ends, jacobian)
    u, h = work.inverse.shape
    for r in range(h):
        for k in range(u):
            augmented[r, k] = jacobian[r, system.passive[k]]
        for s in range(h):
            augmented[r, u + s] = 1.0 if r == s else 0.0
    if householder_least_squares(augmented, u, work.inverse) == 0.0:
        return False
    work.coupling[:] = 0.0
    for j in range(len(v)):
        work.coupling[system.driven[j], j] = 1.0
        for k in range(u):
            for r in range(h):
                work.coupling[system.passive[k], j] -= (
                    work.inverse[k, r] * jacobian[r, system.driven[j]])
    _multiply_vector(work.coupling, v, work.v)
    return True


@njit(**INSIDE)
def _driven_acceleration(
    system: DrivenSystem, values: TreeValues, work: DrivenWorkspace, q: np.ndarray,
    torque: np.ndarray, value: np.ndarray,
) -> bool:
    """Forward dynamics of the driven joints; False where their mass matrix is singular."""
    tree, n = work.tree, len(torque)
    # Friction by load is that of trees alone, all of whose joints are driven.
    if values.loaded and not forward_dynamics(system.tree, values, tree, q, work.v, torque):
        return False
    mass_matrix_and_bias(system.tree, values, tree, q, work.v, work.still)
    base = base_acceleration(system.tree)
    fill_bias(system.closures, tree, base, work.closures.ends, work.closures.bias)
    work.coupling_bias[:] = 0.0
    for k in range(len(system.passive)):
        for r in range(len(work.multipliers)):
            work.coupling_bias[system.passive[k]] -= work.inverse[k, r] * work.closures.bias[r]
    if not _driven_mass_matrix(work):
        return False
    for c in range(n):
        value[c] = torque[c]
        for i in range(len(q)):
            value[c] += work.coupling[i, c] * tree.acceleration[i]
            value[c] -= work.weighted[i, c] * work.coupling_bias[i]
    solve_lu(work.square, work.order, value)
    # What was left of no torque is that of velocities and weight, the other way.
    for i in range(len(q)):
        work.load[i] = -tree.acceleration[i]
    _multiply_vector(work.coupling, value, tree.acceleration)
    for i in range(len(q)):
        tree.acceleration[i] += work.coupling_bias[i]
    for i in range(len(q)):
        for k in range(len(q)):
            work.load[i] += tree.mass[i, k] * tree.acceleration[k]
    return True


@njit(**INSIDE)
def _driven_mass_matrix(work: DrivenWorkspace) -> bool:
    """LU of the driven joints' mass matrix G^T M G; False where it is singular."""
    _multiply(work.tree.mass, work.coupling, work.weighted)
    _project(work.coupling, 1.0, work.weighted, work.square)
    return lu(work.square, work.order, PIVOT_TOLERANCE)


@njit(**INSIDE)
def _passive_derivatives(system: DrivenSystem, work: DrivenWorkspace) -> None:
    """Derivatives of passive velocities and accelerations by the motion of driven joints."""
    closures, u = work.closures, len(system.passive)
    for part in range(3):
        table = (closures.dv_dq, closures.da_dq, closures.da_dv)[part]
        _multiply(table, work.coupling, work.rows)
        if part == 1:
            for r in range(len(work.rows)):
                for k in range(u):
                    factor = closures.da_dv[r, system.passive[k]]
                    for j in range(work.rows.shape[1]):
                        work.rows[r, j] += factor * work.passive_slopes[0, k, j]
        for k in range(u):
            for j in range(work.rows.shape[1]):
                value = 0.0
                for r in range(len(work.rows)):
                    value -= work.inverse[k, r] * work.rows[r, j]
                work.passive_slopes[part, k, j] = value


@njit(**INSIDE)
def _driven_derivatives(
    system: DrivenSystem, values: TreeValues, work: DrivenWorkspace, q: np.ndarray,
    by_position: np.ndarray, by_velocity: np.ndarray, by_torque: np.ndarray,
    by_parameters: np.ndarray,
) -> None:
    """Derivatives of the forward dynamics, after :func:`_driven_acceleration`."""
    tree, closures, n = work.tree, work.closures, len(by_torque)
    rnea_derivatives(system.tree, values, tree, q, work.v)
    for r in range(len(work.multipliers)):
        work.multipliers[r] = 0.0
        for k in range(len(system.passive)):
            work.multipliers[r] += work.inverse[k, r] * work.load[system.passive[k]]
    # From here on the bodies' accelerations are those of the motion, the joints' among them.
    for i in range(len(tree.rate)):
        put(tree.rate, i, spatial_plus(six(tree.rate, i), six(tree.joint_rate, i), 1.0))
    base = base_acceleration(system.tree)
    fill_derivatives(system.closures, system.tree.parent, tree, base, closures)
    fill_stiffness(
        system.closures, tree, closures.ends, closures.rod_jacobian, work.multipliers,
        closures.stiffness)
    _passive_derivatives(system, work)
    # What the closures' forces change by is taken off first: it is of positions as well.
    for i in range(len(q)):
        for k in range(len(q)):
            tree.by_position[i, k] -= closures.stiffness[i, k]
    _multiply(tree.by_position, work.coupling, work.table)
    _add_passive_columns(system, tree.by_velocity, work.passive_slopes[0], work.table)
    _add_passive_columns(system, tree.mass, work.passive_slopes[1], work.table)
    _solve_negative(work, work.table, by_position)
    _multiply(tree.by_velocity, work.coupling, work.table)
    _add_passive_columns(system, tree.mass, work.passive_slopes[2], work.table)
    _solve_negative(work, work.table, by_velocity)
    _solve_negative(work, tree.by_parameters, by_parameters)
    for r in range(n):
        for c in range(n):
            by_torque[r, c] = 1.0 if r == c else 0.0
    solve_lu_columns(work.square, work.order, by_torque)


@njit(**INSIDE)
def _multiply_vector(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """The product of a matrix and a vector."""
    for i in range(len(out)):
        out[i] = 0.0
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]


@njit(**INSIDE)
def _multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """The product of two matrices; what is zero on the left is passed over."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        for k in range(left.shape[1]):
            factor = left[i, k]
            if factor != 0.0:
                for j in range(out.shape[1]):
                    out[i, j] += factor * right[k, j]


@njit(**INSIDE)
def _add_passive_columns(
    system: DrivenSystem, left: np.ndarray, passive: np.ndarray, out: np.ndarray
) -> None:
    """Add columns of the passive joints times the derivatives of these by driven ones."""
    for i in range(len(out)):
        for k in range(len(system.passive)):
            factor = left[i, system.passive[k]]
            for j in range(out.shape[1]):
                out[i, j] += factor * passive[k, j]


@njit(**INSIDE)
def _project(coupling: np.ndarray, sign: float, table: np.ndarray, out: np.ndarray) -> None:
    """Write G^T times a table of the tree, with a sign, shape ``(n, w)``."""
    clear(out)
    for r in range(len(out)):
        for i in range(len(table)):
            factor = sign * coupling[i, r]
            if factor != 0.0:
                for c in range(out.shape[1]):
                    out[r, c] += factor * table[i, c]


@njit(**INSIDE)
def _solve_negative(work: DrivenWorkspace, table: np.ndarray, out: np.ndarray) -> None:
    r"""Solve :math:`G^\top M G\,X = -G^\top T` for torques T of the tree, column by column."""
    _project(work.coupling, -1.0, table, out)
    solve_lu_columns(work.square, work.order, out)


def _compiled(sources: str) -> Callable[..., tuple[int, int]]:
    """Many samples as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def accelerate_driven(
        system: DrivenSystem, values: TreeValues, work: DrivenWorkspace, q: np.ndarray,
        v: np.ndarray, torque: np.ndarray, value: np.ndarray, by_position: np.ndarray,
        by_velocity: np.ndarray, by_torque: np.ndarray, by_parameters: np.ndarray,
    ) -> tuple[int, int]:
        sources  # noqa: B018
        for s in range(len(q)):
            if not _driven_coupling(system, work, q[s], v[s]):
                return s, STUCK
            if not _driven_acceleration(system, values, work, q[s], torque[s], value[s]):
                return s, WEIGHTLESS
            if s < len(by_torque):
                _driven_derivatives(
                    system, values, work, q[s], by_position[s], by_velocity[s], by_torque[s],
                    by_parameters[s])
        return len(q), MOVES

    return accelerate_driven


#: S samples: closed positions of all joints ``(S, m)``, velocities and torques of the driven ones
#: ``(S, n)``; fills accelerations ``(S, n)`` and their derivatives by position, by velocity and
#: by torque ``(S, n, n)``, and by parameters ``(S, n, k)``, or none of these where they have no
#: samples. How many samples went well, and how the next one ended.
accelerate_driven = _compiled(digest(*SOURCES))
