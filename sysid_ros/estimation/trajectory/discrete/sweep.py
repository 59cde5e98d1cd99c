"""Compiled: many steps in one call: simulation, predicted velocities, published residuals."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros import compiled
from sysid_ros.compiled import ENTRY, INSIDE, MAKES_ARRAYS
from sysid_ros.dynamics import spatial_vectors, tables
from sysid_ros.dynamics.tables import copy
from sysid_ros.estimation.trajectory.discrete import (
    body_terms,
    dense,
    machine,
    modes,
    parameter_slopes,
    poses,
    retraction,
    rows,
    slopes,
    step,
)
from sysid_ros.estimation.trajectory.discrete.digest import digest
from sysid_ros.estimation.trajectory.discrete.machine import Amounts, Machine, Room, Sought
from sysid_ros.estimation.trajectory.discrete.modes import (
    activate,
    bound,
    in_modes,
    pressed,
    reach,
    settle,
    speed_along,
)
from sysid_ros.estimation.trajectory.discrete.poses import carry, twist_between
from sysid_ros.estimation.trajectory.discrete.retraction import move
from sysid_ros.estimation.trajectory.discrete.rows import Rows, bend, look
from sysid_ros.estimation.trajectory.discrete.slopes import differentiate, respond
from sysid_ros.estimation.trajectory.discrete.step import prepare, turn

#: Files that are compiled into the entries.
SOURCES: tuple[ModuleType, ...] = (
    body_terms, compiled, dense, machine, modes, parameter_slopes, poses, retraction, rows, slopes,
    spatial_vectors, step, tables)

_ENTRY = ENTRY | MAKES_ARRAYS | {'fastmath': False}
_PART = INSIDE | MAKES_ARRAYS | {'fastmath': False}


class Modes(NamedTuple):
    """Modes of K steps, as a ``Room`` has them of one.

    Attributes:
        pushing: Whether a contact pushes; of other rows it says nothing; shape ``(K, m)``.
        sign: Which way the impulse of a row points, 1 or -1, shape ``(K, m)``.
        slip: Which way a drive slips, 1 or -1, or 0 where it sticks, shape ``(K, f)``.
    """

    pushing: np.ndarray
    sign: np.ndarray
    slip: np.ndarray

    @classmethod
    def of(cls, steps: int, constraints: int, drives: int) -> Modes:
        """Modes to begin with: contacts push, nothing slips."""
        return cls(
            np.ones((steps, constraints), dtype=bool), np.ones((steps, constraints)),
            np.zeros((steps, drives)))


@njit(**_PART)
def _recall(modes: Modes, k: int, room: Room) -> None:
    """Begin with the modes of a step."""
    for r in range(len(room.sign)):
        room.pushing[r], room.sign[r] = modes.pushing[k, r], modes.sign[k, r]
    for j in range(len(room.slip)):
        room.slip[j] = modes.slip[k, j]


@njit(**_PART)
def _keep(modes: Modes, k: int, room: Room) -> None:
    """Keep the modes of a step."""
    for r in range(len(room.sign)):
        modes.pushing[k, r], modes.sign[k, r] = room.pushing[r], room.sign[r]
    for j in range(len(room.slip)):
        modes.slip[k, j] = room.slip[j]


def _simulation(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def simulate(
        machine: Machine, amounts: Amounts, h: float, torques: np.ndarray, first: int,
        states: np.ndarray, impulses: np.ndarray, modes: Modes, room: Room,
    ) -> int:
        sources  # noqa: B018
        for k in range(first, len(torques)):
            _recall(modes, k if k == first else k - 1, room)
            if not prepare(machine, amounts, h, states[k], torques[k], room):
                return k
            reach(room)
            if not settle(machine, room):
                return k
            _keep(modes, k, room)
            impulses[k] = room.impulse
            carry(h, states[k], room.velocity, states[k + 1])
        return -1

    return simulate


@njit(**_PART)
def _derive(
    machine: Machine, amounts: Amounts, sought: Sought, h: float, state: np.ndarray,
    torque: np.ndarray, ahead: np.ndarray, secant: bool, room: Room, table: np.ndarray,
    velocity: np.ndarray, slopes: np.ndarray,
) -> None:
    """The next velocity and its derivatives, in modes that were found."""
    count = activate(machine, room)
    copy(room.velocity, velocity)
    if secant:
        for body in range(len(room.positions)):
            for c in range(6):
                velocity[6 * body + c] = ahead[13 * body + 7 + c]
    differentiate(
        machine, amounts, sought, h, state, torque, room.velocity, velocity, count, room, table)
    respond(machine, room, count, table)
    for r in range(len(velocity)):
        velocity[r] = room.velocity[r]
        for c in range(table.shape[1]):
            slopes[r, c] = table[r, c]


def _prediction(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def predict(
        machine: Machine, amounts: Amounts, sought: Sought, h: float, states: np.ndarray,
        torques: np.ndarray, first: int, modes: Modes, frozen: bool, secant: bool, room: Room,
        table: np.ndarray, velocities: np.ndarray, slopes: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        for k in range(first, len(torques)):
            _recall(modes, k, room)
            if not prepare(machine, amounts, h, states[k], torques[k], room):
                return k
            reach(room)
            if frozen:
                if not in_modes(machine, room):
                    return k
            elif not settle(machine, room):
                return k
            else:
                _keep(modes, k, room)
            _derive(
                machine, amounts, sought, h, states[k], torques[k],
                states[min(k + 1, len(states) - 1)], secant, room, table, velocities[k], slopes[k])
        return -1

    return predict


def _response(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def respond_in_modes(
        machine: Machine, amounts: Amounts, sought: Sought, h: float, state: np.ndarray,
        torque: np.ndarray, ahead: np.ndarray, secant: bool, room: Room, table: np.ndarray,
        velocity: np.ndarray, slopes: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        _derive(
            machine, amounts, sought, h, state, torque, ahead, secant, room, table, velocity,
            slopes)

    return respond_in_modes


@njit(**_PART)
def _push_explicitly(machine: Machine, u: np.ndarray, room: Room) -> None:
    """Modes and impulses that a velocity calls for, as if it were the next one."""
    m = len(room.gap)
    for k in range(m):
        room.impulse[k] = (room.right[k] - speed_along(room, k, u)) / room.stable[1, k]
        room.pushing[k] = room.impulse[k] > 0.0
        if machine.one_sided[k] and not room.pushing[k]:
            room.impulse[k] = 0.0
        room.sign[k] = 1.0 if room.impulse[k] >= 0.0 or machine.one_sided[k] else -1.0
    for j in range(len(room.slip)):
        room.slip[j] = 1.0 if speed_along(room, m + j, u) >= 0.0 else -1.0
        room.impulse[m + j] = 0.0
        if machine.dry[j]:
            room.impulse[m + j] = -room.slip[j] * bound(machine, room, j)


@njit(**_PART)
def _missing(
    u: np.ndarray, room: Room, residual: np.ndarray, by_velocity: np.ndarray
) -> None:
    """The impulse that is missing for a velocity; its derivative is the mass matrix, so far."""
    n = len(u)
    for r in range(n):
        residual[r] = -room.momentum[r]
        for c in range(n):
            total = room.mass[r, c] if r <= c else 0.0
            for i in range(min(r, c + 1)):
                total += room.mass[r, i] * room.mass[i, c]
            by_velocity[r, c] = total
            residual[r] += total * u[c]
        for k in range(len(room.impulse)):
            residual[r] -= room.whole[k, r] * room.impulse[k]


@njit(**_PART)
def _stiffen(
    machine: Machine, count: int, room: Room, table: np.ndarray, by_velocity: np.ndarray
) -> None:
    """Derivatives of missing impulses, those of the impulses of constraints included.

    By what came before, in place of minus those of F, and by the velocity.
    """
    n, m = len(room.momentum), len(room.gap)
    for r in range(n):
        for c in range(table.shape[1]):
            table[r, c] = -table[r, c]
    for a in range(count):
        k = room.active[a]
        for r in range(n):
            along = room.whole[k, r]
            for j in range(len(room.slip)):
                if machine.dry[j]:
                    along -= room.slip[j] * pressed(machine, room, j, a) * room.whole[m + j, r]
            along /= room.stable[1, k]
            for c in range(n):
                by_velocity[r, c] += along * room.whole[k, c]
            for c in range(table.shape[1]):
                table[r, c] -= along * table[n + a, c]


def _publication(sources: str) -> Callable[..., int]:
    @njit(**_ENTRY)
    def published(
        machine: Machine, amounts: Amounts, sought: Sought, h: float, states: np.ndarray,
        torques: np.ndarray, exact: bool, room: Room, table: np.ndarray, by_velocity: np.ndarray,
        residual: np.ndarray, rows: np.ndarray, turns: np.ndarray,
    ) -> int:
        sources  # noqa: B018
        n, bodies = len(room.velocity), len(room.positions)
        whole = 12 * bodies
        for k in range(len(torques)):
            if not prepare(machine, amounts, h, states[k], torques[k], room):
                return k
            for part in range(2):
                u = room.velocity
                twist_between(h, states[k], states[k + 1], exact, u, turns[0], turns[1])
                if part == 0:
                    for body in range(bodies):
                        for c in range(6):
                            u[6 * body + c] = states[k + 1, 13 * body + 7 + c]
                _push_explicitly(machine, u, room)
                count = activate(machine, room)
                differentiate(
                    machine, amounts, sought, h, states[k], torques[k], u, u, count, room,
                    table)
                _missing(u, room, residual, by_velocity)
                _stiffen(machine, count, room, table, by_velocity)
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
        machine: Machine, amounts: Amounts, h: float, state: np.ndarray, torque: np.ndarray,
        room: Room,
    ) -> bool:
        sources  # noqa: B018
        found = prepare(machine, amounts, h, state, torque, room)
        if found:
            reach(room)
        return found

    return assemble


def _tried(sources: str) -> Callable[..., bool]:
    @njit(**_ENTRY)
    def try_modes(machine: Machine, room: Room, change: bool) -> bool:
        sources  # noqa: B018
        return settle(machine, room) if change else in_modes(machine, room)

    return try_modes


def _looking(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def look_along(
        rows: Rows, states: np.ndarray, room: Room, values: np.ndarray, directions: np.ndarray,
        slopes: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for k in range(len(states)):
            for body in range(len(room.positions)):
                turn(states[k], body, room)
            for r in range(len(rows.kind)):
                values[k, r] = look(rows, r, room.positions, room.rotations, directions[k])
            for r in range(slopes.shape[1]):
                bend(rows, r, room.positions, room.rotations, slopes[k])

    return look_along


def _retraction(sources: str) -> Callable[..., None]:
    @njit(**_ENTRY)
    def retract(
        machine: Machine, light: np.ndarray, states: np.ndarray, steps: np.ndarray,
        after: np.ndarray, room: Room, wanted: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        for k in range(len(states)):
            move(machine, light, states[k], steps[k], after[k], room, wanted)

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
#: The same of one state, whose problem and modes are in the room.
respond_in_modes = _response(_DIGEST)
#: Impulses that are missing between K + 1 states, velocities first, then poses, as rows of
#: :class:`~sysid_ros.estimation.trajectory.chain.Residuals` (Discrete multibody dynamics, eqs.
#: 3.7 and 3.8; dry friction always slips).
published = _publication(_DIGEST)
#: The problem of one step but its modes; False if the mass matrix is not positive definite.
assemble = _assembly(_DIGEST)
#: Its solution in the modes of the room, or in those they lead to if they may change; False if it
#: is singular, or no modes are found.
try_modes = _tried(_DIGEST)
#: Values and directions of rows at K states, and slopes of as many as there is room for.
look_along = _looking(_DIGEST)
#: K states after steps; see :func:`~sysid_ros.estimation.trajectory.discrete.retraction.move`.
retract = _retraction(_DIGEST)
