"""Compiled: many steps in one call: simulation, predicted velocities, published residuals."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import (
    body_terms,
    contact_modes,
    mechanism_arrays,
    parameter_slopes,
    poses,
    retraction,
    rows,
    slopes,
    step,
)
from sysid_ros.estimation.trajectory.discrete.contact_modes import (
    activate,
    bound,
    delassus_factors,
    pressed,
    solve_contact_modes,
    solve_in_modes,
    speed_along,
)
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    BodyParameters,
    FreeParameterMap,
    MechanismArrays,
    Workspace,
)
from sysid_ros.estimation.trajectory.discrete.poses import integrate_poses, twist_between
from sysid_ros.estimation.trajectory.discrete.retraction import move
from sysid_ros.estimation.trajectory.discrete.rows import Rows, evaluate_row, row_second_derivative
from sysid_ros.estimation.trajectory.discrete.slopes import differentiate, respond
from sysid_ros.estimation.trajectory.discrete.step import prepare, turn
from sysid_ros.mechanics.joint_terms import dispatch, stribeck
from sysid_ros.numerics import dense, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.jit import ENTRY, INSIDE, MAKES_ARRAYS, digest
from sysid_ros.numerics.tables import copy

#: Files that are compiled into the entries.
SOURCES: tuple[ModuleType, ...] = (
    body_terms, compiled, *dispatch.SOURCES, stribeck, dense, mechanism_arrays, contact_modes,
    parameter_slopes, poses, retraction, rows, slopes, spatial_vectors, step, tables)

_ENTRY = ENTRY | MAKES_ARRAYS | {'fastmath': False}
_PART = INSIDE | MAKES_ARRAYS | {'fastmath': False}


class ContactModes(NamedTuple):
    """Modes of K steps, as a ``Workspace`` has them of one.

    Attributes:
        pushing: Whether a contact pushes; of other rows it says nothing; shape ``(K, m)``.
        sign: Which way the impulse of a row points, 1 or -1, shape ``(K, m)``.
        slip: Which way a drive slips, 1 or -1, or 0 where it sticks, shape ``(K, f)``.
    """

    pushing: np.ndarray
    sign: np.ndarray
    slip: np.ndarray

    @classmethod
    def of(cls, steps: int, constraints: int, drives: int) -> ContactModes:
        """Modes to begin with: contacts push, nothing slips."""
        return cls(
            np.ones((steps, constraints), dtype=bool), np.ones((steps, constraints)),
            np.zeros((steps, drives)))


@njit(**_PART)
def _recall(modes: ContactModes, k: int, work: Workspace) -> None:
    """Begin with the modes of a step."""
    for r in range(len(work.sign)):
        work.pushing[r], work.sign[r] = modes.pushing[k, r], modes.sign[k, r]
    for j in range(len(work.slip)):
        work.slip[j] = modes.slip[k, j]


@njit(**_PART)
def _keep(modes: ContactModes, k: int, work: Workspace) -> None:
    """Keep the modes of a step."""
    for r in range(len(work.sign)):
        modes.pushing[k, r], modes.sign[k, r] = work.pushing[r], work.sign[r]
    for j in range(len(work.slip)):
        modes.slip[k, j] = work.slip[j]


def _simulation(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def simulate(
        arrays: MechanismArrays, parameters: BodyParameters, h: float, torques: np.ndarray,
        first: int, states: np.ndarray, impulses: np.ndarray, modes: ContactModes, work: Workspace,
    ) -> int:
        sources  # noqa: B018
        for k in range(first, len(torques)):
            _recall(modes, k if k == first else k - 1, work)
            if not prepare(arrays, parameters, h, states[k], torques[k], work):
                return k
            delassus_factors(work)
            if not solve_contact_modes(arrays, work):
                return k
            _keep(modes, k, work)
            impulses[k] = work.impulse
            integrate_poses(h, states[k], work.velocity, states[k + 1])
        return -1

    return simulate


@njit(**_PART)
def _derive(
    arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
    state: np.ndarray, torque: np.ndarray, ahead: np.ndarray, secant: bool, work: Workspace,
    table: np.ndarray, velocity: np.ndarray, slopes: np.ndarray,
) -> None:
    """The next velocity and its derivatives, in modes that were found."""
    count = activate(arrays, work)
    copy(work.velocity, velocity)
    if secant:
        for body in range(len(work.positions)):
            for c in range(6):
                velocity[6 * body + c] = ahead[13 * body + 7 + c]
    differentiate(
        arrays, parameters, free_map, h, state, torque, work.velocity, velocity, count, work, table)
    respond(arrays, work, count, table)
    for r in range(len(velocity)):
        velocity[r] = work.velocity[r]
        for c in range(table.shape[1]):
            slopes[r, c] = table[r, c]


def _prediction(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def predict(
        arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
        states: np.ndarray, torques: np.ndarray, first: int, modes: ContactModes, frozen: bool,
        secant: bool, work: Workspace, table: np.ndarray, velocities: np.ndarray,
        slopes: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        for k in range(first, len(torques)):
            _recall(modes, k, work)
            if not prepare(arrays, parameters, h, states[k], torques[k], work):
                return k
            delassus_factors(work)
            if frozen:
                if not solve_in_modes(arrays, work):
                    return k
            elif not solve_contact_modes(arrays, work):
                return k
            else:
                _keep(modes, k, work)
            _derive(
                arrays, parameters, free_map, h, states[k], torques[k],
                states[min(k + 1, len(states) - 1)], secant, work, table, velocities[k], slopes[k])
        return -1

    return predict


def _response(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def respond_in_modes(
        arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
        state: np.ndarray, torque: np.ndarray, ahead: np.ndarray, secant: bool, work: Workspace,
        table: np.ndarray, velocity: np.ndarray, slopes: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        _derive(
            arrays, parameters, free_map, h, state, torque, ahead, secant, work, table, velocity,
            slopes)

    return respond_in_modes


@njit(**_PART)
def _explicit_impulses(arrays: MechanismArrays, u: np.ndarray, work: Workspace) -> None:
    """Modes and impulses that a velocity calls for, as if it were the next one."""
    m = len(work.gap)
    for k in range(m):
        work.impulse[k] = (work.right[k] - speed_along(work, k, u)) / work.stable[1, k]
        work.pushing[k] = work.impulse[k] > 0.0
        if arrays.one_sided[k] and not work.pushing[k]:
            work.impulse[k] = 0.0
        work.sign[k] = 1.0 if work.impulse[k] >= 0.0 or arrays.one_sided[k] else -1.0
    for j in range(len(work.slip)):
        work.slip[j] = 1.0 if speed_along(work, m + j, u) >= 0.0 else -1.0
        work.impulse[m + j] = 0.0
        if arrays.dry[j]:
            work.impulse[m + j] = -work.slip[j] * bound(arrays, work, j)


@njit(**_PART)
def _missing(
    u: np.ndarray, work: Workspace, residual: np.ndarray, by_velocity: np.ndarray
) -> None:
    """The impulse that is missing for a velocity; its derivative is the mass matrix, so far."""
    n = len(u)
    for r in range(n):
        residual[r] = -work.momentum[r]
        for c in range(n):
            total = work.mass[r, c] if r <= c else 0.0
            for i in range(min(r, c + 1)):
                total += work.mass[r, i] * work.mass[i, c]
            by_velocity[r, c] = total
            residual[r] += total * u[c]
        for k in range(len(work.impulse)):
            residual[r] -= work.whole[k, r] * work.impulse[k]


@njit(**_PART)
def _missing_impulse_derivatives(
    arrays: MechanismArrays, count: int, work: Workspace, table: np.ndarray, by_velocity: np.ndarray
) -> None:
    """Derivatives of missing impulses, those of the impulses of constraints included.

    By what came before, in place of minus those of F, and by the velocity.
    """
    n, m = len(work.momentum), len(work.gap)
    for r in range(n):
        for c in range(table.shape[1]):
            table[r, c] = -table[r, c]
    for a in range(count):
        k = work.active[a]
        for r in range(n):
            along = work.whole[k, r]
            for j in range(len(work.slip)):
                if arrays.dry[j]:
                    along -= work.slip[j] * pressed(arrays, work, j, a) * work.whole[m + j, r]
            along /= work.stable[1, k]
            for c in range(n):
                by_velocity[r, c] += along * work.whole[k, c]
            for c in range(table.shape[1]):
                table[r, c] -= along * table[n + a, c]


def _publication(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def published(
        arrays: MechanismArrays, parameters: BodyParameters, free_map: FreeParameterMap, h: float,
        states: np.ndarray, torques: np.ndarray, exact: bool, work: Workspace, table: np.ndarray,
        by_velocity: np.ndarray, residual: np.ndarray, rows: np.ndarray, turns: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        n, bodies = len(work.velocity), len(work.positions)
        whole = 12 * bodies
        for k in range(len(torques)):
            if not prepare(arrays, parameters, h, states[k], torques[k], work):
                return k
            for part in range(2):
                u = work.velocity
                twist_between(h, states[k], states[k + 1], exact, u, turns[0], turns[1])
                if part == 0:
                    for body in range(bodies):
                        for c in range(6):
                            u[6 * body + c] = states[k + 1, 13 * body + 7 + c]
                _explicit_impulses(arrays, u, work)
                count = activate(arrays, work)
                differentiate(
                    arrays, parameters, free_map, h, states[k], torques[k], u, u, count, work,
                    table)
                _missing(u, work, residual, by_velocity)
                _missing_impulse_derivatives(arrays, count, work, table, by_velocity)
                for r in range(n):
                    row = rows[k, part * n + r]
                    row[:] = 0.0
                    for c in range(whole):
                        row[c] = table[r, c]
                    for c in range(whole, table.shape[1]):
                        row[whole + c] = table[r, c]
                    row[-1] = residual[r]
                    for body in range(bodies):
                        _by_ends(h, part, body, by_velocity, r, turns, row, whole)
        return -1

    return published


@njit(**_PART)
def _by_ends(
    h: float, part: int, body: int, by_velocity: np.ndarray, r: int, turns: np.ndarray,
    row: np.ndarray, whole: int,
) -> None:
    """Add what a row owes to the velocity after, or to the poses it was told from."""
    for c in range(3):
        linear, angular = by_velocity[r, 6 * body + c], by_velocity[r, 6 * body + 3 + c]
        if part == 0:
            row[whole + 12 * body + 6 + c] += linear
            row[whole + 12 * body + 9 + c] += angular
            continue
        row[12 * body + c] -= linear / h
        row[whole + 12 * body + c] += linear / h
        for s in range(3):
            row[12 * body + 3 + s] += angular * turns[0, body, c, s]
            row[whole + 12 * body + 3 + s] += angular * turns[1, body, c, s]


def _assembly(sources: str) -> Callable[..., bool]:
    @njit(**_ENTRY)
    def assemble(
        arrays: MechanismArrays, parameters: BodyParameters, h: float, state: np.ndarray,
        torque: np.ndarray, work: Workspace,
    ) -> bool:
        sources  # noqa: B018
        found = prepare(arrays, parameters, h, state, torque, work)
        if found:
            delassus_factors(work)
        return found

    return assemble


def _tried(sources: str) -> Callable[..., bool]:
    @njit(**_ENTRY)
    def try_modes(arrays: MechanismArrays, work: Workspace, change: bool) -> bool:
        sources  # noqa: B018
        return solve_contact_modes(arrays, work) if change else solve_in_modes(arrays, work)

    return try_modes


def _evaluation(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def evaluate_rows(
        rows: Rows, states: np.ndarray, work: Workspace, values: np.ndarray, directions: np.ndarray,
        slopes: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for k in range(len(states)):
            for body in range(len(work.positions)):
                turn(states[k], body, work)
            for r in range(len(rows.kind)):
                values[k, r] = evaluate_row(rows, r, work.positions, work.rotations, directions[k])
            for r in range(slopes.shape[1]):
                row_second_derivative(rows, r, work.positions, work.rotations, slopes[k])

    return evaluate_rows


def _retraction(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def retract(
        arrays: MechanismArrays, light: np.ndarray, states: np.ndarray, steps: np.ndarray,
        after: np.ndarray, work: Workspace, wanted: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for k in range(len(states)):
            move(arrays, light, states[k], steps[k], after[k], work, wanted)

    return retract


_DIGEST = digest(*SOURCES)

#: Steps from states[first] on; fills states, impulses and modes. Returns the first step whose modes
#: were not found, or -1. The modes of the first step are where it begins.
simulate = _simulation(_DIGEST)
#: Next velocities of K states, and their derivatives by pose and velocity of one body after the
#: other, then by parameters, shape ``(K, n, 12 b + k)``; in the modes that are given, if these are
#: frozen; those by parameters at the velocities of the K + 1 states, if they are to be secants.
#: Returns like :data:`simulate`.
predict = _prediction(_DIGEST)
#: The same of one state, whose problem and modes are in the workspace.
respond_in_modes = _response(_DIGEST)
#: Impulses that are missing between K + 1 states, velocities first, then poses, as rows of
#: :class:`~sysid_ros.numerics.least_squares.chain.Residuals` (Discrete multibody dynamics, eqs.
#: 3.7 and 3.8; dry friction always slips).
published = _publication(_DIGEST)
#: The problem of one step but its modes; False if the mass matrix is not positive definite.
assemble = _assembly(_DIGEST)
#: Its solution in the modes of the workspace, or in those they lead to if they may change; False if
#: it is singular, or no modes are found.
try_modes = _tried(_DIGEST)
#: Values and directions of rows at K states, and slopes of as many as there is room for.
evaluate_rows = _evaluation(_DIGEST)
#: K states after steps; see :func:`~sysid_ros.estimation.trajectory.discrete.retraction.move`.
retract = _retraction(_DIGEST)
