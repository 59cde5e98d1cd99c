"""Simulation of mechanisms, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.complementarity import solve_mlcp
from sysid_ros.estimation.trajectory.discrete.machine import Amounts, Machine, Room, room_for
from sysid_ros.estimation.trajectory.discrete.poses import carry
from sysid_ros.estimation.trajectory.discrete.sweep import Modes


@dataclass(frozen=True, eq=False)
class Motion:
    """A simulated motion of b bodies in K steps.

    Attributes:
        states: Position, quaternion (x, y, z, w), velocity and angular velocity of one body
            after the other, shape ``(K + 1, 13 b)``.
        impulses: Of constraints in [N·s] or [N·m·s] and of the dry friction of drives, shape
            ``(K, m + f)``.
        modes: Which contacts push, which drives slip.
    """

    states: np.ndarray
    impulses: np.ndarray
    modes: Modes


def simulate(
    machine: Machine, amounts: Amounts, start: np.ndarray, torques: np.ndarray, step: float
) -> Motion:
    """Simulate a mechanism with regularised steps (SPOOK).

    Args:
        machine: Bodies and constraints.
        amounts: Parameter values.
        start: First state, shape ``(13 b,)``.
        torques: Commands of the drives from each step to the next, shape ``(K, f)``.
        step: Length of a step in [s].

    Raises:
        EstimationError: A mass matrix is not positive definite, or no impulses fulfil what
            contacts and dry friction demand.
    """
    count, bodies = len(torques), len(amounts.bodies)
    constraints, drives = len(machine.compliance), len(machine.dry)
    room = room_for(bodies, constraints, drives)
    states = np.empty((count + 1, 13 * bodies))
    states[0] = start
    impulses = np.empty((count, constraints + drives))
    modes = Modes.of(count, constraints, drives)
    first = 0
    while first < count:
        stuck = sweep.simulate(
            machine, amounts, step, torques, first, states, impulses, modes, room)
        if stuck < 0:
            break
        complement(machine, amounts, step, states[stuck], torques[stuck], room)
        impulses[stuck] = room.impulse
        carry(step, states[stuck], room.velocity, states[stuck + 1])
        for place in (stuck, stuck + 1):
            if place < count:
                remember(modes, place, room)
        first = stuck + 1
    return Motion(states, impulses, modes)


def remember(modes: Modes, step: int, room: Room) -> None:
    """Keep the modes of a step."""
    modes.pushing[step], modes.sign[step] = room.pushing, room.sign
    modes.slip[step] = room.slip


def complement(
    machine: Machine, amounts: Amounts, step: float, state: np.ndarray, torque: np.ndarray,
    room: Room,
) -> None:
    """Find a step's modes as a mixed linear complementarity problem, where trying did not.

    Args:
        machine: Bodies and constraints.
        amounts: Parameter values.
        step: Length of the step in [s].
        state: Shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        room: Modes, impulses and the next velocity are filled.

    Raises:
        EstimationError: As for :func:`simulate`.
    """
    if not sweep.assemble(machine, amounts, step, state, torque, room):
        raise EstimationError(
            'the mass matrix of the bodies is not positive definite',
            fix='Give every body a mass and moments of inertia')
    problem = _Complementarity(machine, room)
    found = solve_mlcp(problem.matrix, problem.offset, problem.free)
    if not found.status.ok:
        raise EstimationError(
            f'no impulses fulfil what contacts and dry friction demand: {found.status.value}',
            fix='Shorten the step, or raise compliances')
    problem.adopt(found.values)
    if not sweep.try_modes(machine, room):
        raise EstimationError('the constraints of a step contradict each other',
                              fix='Raise compliances')


class _Complementarity:
    r"""A step as a mixed linear complementarity problem (Discrete multibody dynamics, eq. 2.27).

    Its unknowns z are impulses that may have either sign; then, at least zero, those of rows
    that press on friction, forwards and backwards, of contacts, of the friction of drives,
    forwards and backwards, and the speeds at which drives slip.
    """

    def __init__(self, machine: Machine, room: Room) -> None:
        m = len(room.gap)
        self.machine, self.room = machine, room
        dry = np.flatnonzero(machine.dry)
        pressing = np.zeros(m, dtype=bool)
        for j in dry:
            if room.bound[j, 1] != 0.0:
                pressing[machine.loaded[j, 0]:machine.loaded[j, 1]] = True
        two_sided = ~machine.one_sided
        either = np.flatnonzero(two_sided & ~pressing)
        both, contacts = np.flatnonzero(two_sided & pressing), np.flatnonzero(machine.one_sided)
        self.rows = np.concatenate([either, both, both, contacts, m + dry, m + dry])
        self.ways = np.concatenate([
            np.ones(len(either) + len(both)), -np.ones(len(both)),
            np.ones(len(contacts) + len(dry)), -np.ones(len(dry))])
        self.free, self.dry = len(either), dry
        self._fill(m)

    def _fill(self, m: int) -> None:
        room, machine, dry = self.room, self.machine, self.dry
        size, slips = len(self.rows), len(dry)
        pushed, felt = (self.ways[:, None] * part[self.rows] for part in (room.pushed, room.felt))
        soft = np.concatenate([room.stable[1], np.zeros(len(room.slip))])[self.rows]
        matrix = np.zeros((size + slips,) * 2)
        matrix[:size, :size] = felt @ pushed.T + np.diag(soft)
        ahead = scipy.linalg.solve_triangular(
            room.mass, room.momentum, lower=True, unit_diagonal=True)
        offset = np.zeros(size + slips)
        offset[:size] = felt @ ahead - self.ways * room.right[self.rows]
        for k, j in enumerate(dry):
            own = np.flatnonzero(self.rows == m + j)
            matrix[own, size + k] = 1.0
            matrix[size + k, own] = -1.0
            start, stop = machine.loaded[j]
            pressing = np.flatnonzero((self.rows >= start) & (self.rows < stop))
            matrix[size + k, pressing] += room.bound[j, 1] * machine.arms[self.rows[pressing]]
            offset[size + k] = room.bound[j, 0]
        self.matrix, self.offset = matrix, offset

    def adopt(self, values: np.ndarray) -> None:
        """Set the modes that a solution has."""
        room, m = self.room, len(self.room.gap)
        impulse = np.zeros(len(room.impulse))
        np.add.at(impulse, self.rows, self.ways * values[:len(self.rows)])
        room.sign[:] = np.where((impulse[:m] < 0.0) & ~self.machine.one_sided, -1.0, 1.0)
        room.pushing[:] = impulse[:m] > 0.0
        for k, j in enumerate(self.dry):
            way = -np.sign(impulse[m + j]) or np.sign(room.speed[j]) or 1.0
            room.slip[j] = way if values[len(self.rows) + k] > 0.0 else 0.0
