"""What belongs to states of a variational integrator: velocities, energies, gaps, compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from sysid_ros.dynamics import sample_regressor, spatial_vectors, tree_dynamics, tree_terms
from sysid_ros.dynamics.sample_regressor import POSITION
from sysid_ros.dynamics.spatial_vectors import COMPILED
from sysid_ros.dynamics.tree_dynamics import TreeValues
from sysid_ros.dynamics.variational import balance, closures, lagrangian, linear_solve, step, system
from sysid_ros.dynamics.variational.balance import differentiate_by_parameters
from sysid_ros.dynamics.variational.closures import stiffen
from sysid_ros.dynamics.variational.lagrangian import along, look
from sysid_ros.dynamics.variational.linear_solve import decompose, solve
from sysid_ros.dynamics.variational.step import StepRoom, close_at
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: Files that are compiled into these calls.
SOURCES = (
    sample_regressor, spatial_vectors, tree_dynamics, tree_terms, balance, closures, lagrangian,
    linear_solve, step, system)


@njit(**COMPILED)
def _velocity(
    system: DiscreteSystem, values: TreeValues, room: StepRoom, q: np.ndarray, p: np.ndarray
) -> bool:
    """Velocities within the constraints that belong to momenta, into ``room.right``."""
    inner, joints = room.balance, len(q)
    for j in range(joints):
        inner.q[0, j], inner.at[j], inner.v[j] = q[j], q[j], 0.0
    look(system, values, inner.tree, inner.at, inner.v, True)
    close_at(system, room, 0)
    room.matrix[:] = 0.0
    room.right[:] = 0.0
    for i in range(joints):
        room.right[0, i] = p[i]
        for j in range(joints):
            room.matrix[i, j] = inner.tree.tables[0, i, j]
        for k in range(system.rows):
            room.matrix[i, joints + k] = room.closures.jacobian[k, i]
            room.matrix[joints + k, i] = room.closures.jacobian[k, i]
    if not decompose(room.matrix, room.order):
        return False
    solve(room.matrix, room.order, room.right)
    return True


@njit(**COMPILED)
def _velocity_slopes(
    system: DiscreteSystem, values: TreeValues, room: StepRoom, slopes: np.ndarray,
    out: np.ndarray,
) -> None:
    """Derivatives of the velocity of a tree, after :func:`_velocity`."""
    inner, joints, width = room.balance, out.shape[0], out.shape[1]
    first = width - inner.by_parameters.shape[1]
    for j in range(joints):
        inner.v[j] = room.right[0, j]
    look(system, values, inner.tree, inner.at, inner.v, True)
    inner.by_parameters[:] = 0.0
    differentiate_by_parameters(system, values, inner, 0.0, 0.0, 1.0, 0.0, 0.0)
    for c in range(width):
        for i in range(joints):
            total = slopes[1, i, c]
            for j in range(joints):
                total -= inner.tree.tables[1, i, j] * slopes[0, j, c]
            room.columns[c, i] = total
    for c in range(first, width):
        for i in range(joints):
            room.columns[c, i] -= inner.by_parameters[1, c - first, i]
    solve(room.matrix, room.order, room.columns)
    for i in range(joints):
        for c in range(width):
            out[i, c] = room.columns[c, i]


@njit(**COMPILED)
def _potential(
    system: DiscreteSystem, values: TreeValues, room: StepRoom, q: np.ndarray
) -> float:
    """Potential energy of gravity and springs, after :func:`look`."""
    tree, total, g = room.balance.tree, 0.0, system.tree.gravity
    for i in range(len(system.tree.parent)):
        for k in range(3):
            total -= g[k] * tree.own[i, 1 + k]
    for k in range(len(system.tree.signal)):
        if system.tree.signal[k] == POSITION:
            total += 0.5 * values.amplitudes[k] * along(system, k, q) ** 2
    return total


def _reading(sources: str) -> Callable[..., bool]:
    """Readings as one call; the digest stands for the files whose functions are called."""

    @njit(cache=True, **COMPILED)
    def read(
        system: DiscreteSystem, values: TreeValues, room: StepRoom, states: np.ndarray,
        slopes: np.ndarray, velocities: np.ndarray, velocity_slopes: np.ndarray,
        energies: np.ndarray, gaps: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        for t in range(len(states)):
            q, p = states[t, 0], states[t, 1]
            if not _velocity(system, values, room, q, p):
                return False
            energies[t] = _potential(system, values, room, q)
            for j in range(len(q)):
                velocities[t, j] = room.right[0, j]
                energies[t] += 0.5 * room.right[0, j] * p[j]
            gaps[t] = 0.0
            for k in range(system.rows):
                gaps[t] = max(gaps[t], abs(room.closures.gap[k]))
            if velocity_slopes.shape[2]:
                _velocity_slopes(system, values, room, slopes[t], velocity_slopes[t])
        return True

    return read


_DIGEST = hashlib.sha256(b''.join(
    Path(str(module.__file__)).read_bytes() for module in SOURCES)).hexdigest()
#: For states ``(T, 2, n)``, positions before momenta, and their derivatives ``(T, 2, n, w)``:
#: fills velocities ``(T, n)``, their derivatives ``(T, n, w)`` where asked for and the system is
#: a tree, energies ``(T,)`` and largest gaps of the closures ``(T,)``. False where singular.
read: Callable[..., Any] = _reading(_DIGEST)


def _beginning(sources: str) -> Callable[..., None]:
    """The first momentum as one call; see :func:`_reading`."""

    @njit(cache=True, **COMPILED)
    def begin(
        system: DiscreteSystem, values: TreeValues, room: StepRoom, q: np.ndarray,
        v: np.ndarray, starts: int,
    ) -> None:
        sources  # noqa: B018
        inner, slopes, joints = room.balance, room.slopes, len(q)
        for j in range(joints):
            inner.q[0, j], inner.at[j], inner.v[j] = q[j], q[j], v[j]
            room.speed[0, j] = room.speed[1, j] = v[j]
        room.multipliers[:] = 0.0
        look(system, values, inner.tree, inner.at, inner.v, True)
        inner.by_parameters[:] = 0.0
        differentiate_by_parameters(system, values, inner, 0.0, 0.0, 1.0, 0.0, 0.0)
        slopes[:] = 0.0
        for i in range(joints):
            room.p[0, i] = inner.tree.joints[0, i]
            for c in range(inner.by_parameters.shape[1]):
                slopes[1, starts + c, i] = inner.by_parameters[1, c, i]
            if starts:
                slopes[0, i, i] = 1.0
                for j in range(joints):
                    slopes[1, j, i] = inner.tree.tables[1, i, j]
                    slopes[1, joints + j, i] = inner.tree.tables[0, i, j]

    return begin


#: Fill the room with the state of positions and velocities ``(n,)``, and with its derivatives by
#: the start, if these come first, and by parameters.
begin: Callable[..., Any] = _beginning(_DIGEST)


def _inspection(sources: str) -> Callable[..., None]:
    """A look at closures as one call; see :func:`_reading`."""

    @njit(cache=True, **COMPILED)
    def inspect(
        system: DiscreteSystem, values: TreeValues, room: StepRoom, q: np.ndarray,
        multipliers: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        inner = room.balance
        for j in range(len(q)):
            inner.q[0, j], inner.at[j], inner.v[j] = q[j], q[j], 0.0
        look(system, values, inner.tree, inner.at, inner.v, True)
        inner.by_parameters[:] = 0.0
        differentiate_by_parameters(system, values, inner, 1.0, 0.0, 1.0, 1.0, 0.0)
        close_at(system, room, 0)
        stiffen(system, room.frames, room.closures, multipliers)

    return inspect


#: Fill the room with gaps, their Jacobian, geometric stiffness, mass matrix, and the force of
#: gravity and springs with its derivatives, at rest at positions ``(n,)`` under impulses ``(r,)``.
inspect: Callable[..., Any] = _inspection(_DIGEST)
