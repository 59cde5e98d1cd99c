r"""The discrete Lagrangian of one step, its forces and all their derivatives, compiled.

A quadrature with places c and weights w makes

.. math:: L_d(q_0, q_1) = h \sum_c w_c\, L(q_0 + c (q_1 - q_0), \bar v), \qquad
          \bar v = (q_1 - q_0)/h,

of which the midpoint (c = 1/2) and the trapezoidal rule (c = 0, 1) are two. With the slope
:math:`L_q`, momenta Mv and forces F there,

.. math:: D_1 L_d + F^- = \sum_c w_c\,(h (1 - c) L_q - Mv + h\,a^- F), \qquad
          D_2 L_d + F^+ = \sum_c w_c\,(h c\, L_q + Mv + h\,a^+ F),

where :math:`a^- = 1 - c,\ a^+ = c` for symmetric forces, and 1 and 0 for those of Caldwell,
Coleman and Correll, which are first order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics.sample_regressor import (
    ACCELERATION,
    BACKWARD,
    FORWARD,
    ONE,
    POSITION,
    SIGN,
)
from sysid_ros.dynamics.spatial_vectors import COMPILED, power, six
from sysid_ros.dynamics.tree_dynamics import TreeValues
from sysid_ros.dynamics.variational.lagrangian import (
    LagrangianRoom,
    along,
    inertial_column,
    lagrangian_room,
    look,
    push,
    push_square,
)
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: What is to be found of a step: its values, also what Newton's method needs, or all.
VALUES, NEWTON, ALL = range(3)


class Quadrature(NamedTuple):
    """Where the Lagrangian of a step is looked at.

    Attributes:
        place: Parts of the way, shape ``(m,)``, as the next three.
        weight: What they count.
        before: Share of the forces that acts at the beginning of the step.
        after: Share that acts at its end.
    """

    place: np.ndarray
    weight: np.ndarray
    before: np.ndarray
    after: np.ndarray


class Drive(NamedTuple):
    """What drives a motion over N intervals between nodes.

    Attributes:
        torque: At the nodes, linear in between, in [N·m] or [N], shape ``(N + 1, n)``.
        joints: The a joints that are also held to a reference, shape ``(a,)``.
        reference: Their reference at the nodes, linear in between, shape ``(N + 1, a)``.
        speed: Velocity of the reference in each interval, shape ``(N, a)``.
        stiffness: Gains on positions, of each interval or of all, shape ``(N or 1, a, a)``.
        damping: Gains on velocities, likewise.
    """

    torque: np.ndarray
    joints: np.ndarray
    reference: np.ndarray
    speed: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


class BalanceRoom(NamedTuple):
    """Room for one step's balance of momentum.

    Attributes:
        tree: Room for one configuration.
        q: Positions at the beginning and the end of the step, shape ``(2, n)``.
        v: Velocity from one to the other, shape ``(n,)``, as the next two.
        at: Positions that are looked at.
        force: Forces there.
        momentum: D1 Ld + F⁻ and D2 Ld + F⁺, shape ``(2, n)``.
        newton: Derivative of the first by the end, shape ``(n, n)``, as the next three.
        first_by_start: Of the first by the beginning.
        second_by_end: Of the second by the end.
        second_by_start: Of the second by the beginning.
        by_parameters: Of both by k parameters, shape ``(2, k, n)``.
    """

    tree: LagrangianRoom
    q: np.ndarray
    v: np.ndarray
    at: np.ndarray
    force: np.ndarray
    momentum: np.ndarray
    newton: np.ndarray
    first_by_start: np.ndarray
    second_by_end: np.ndarray
    second_by_start: np.ndarray
    by_parameters: np.ndarray


def balance_room(system: DiscreteSystem, columns: int) -> BalanceRoom:
    """Room for the steps of a system.

    Args:
        system: The system.
        columns: How many parameters to differentiate by.
    """
    joints = system.tree.coupling.shape[1]
    square, vector = (joints, joints), (joints,)
    return BalanceRoom(lagrangian_room(system), *(np.zeros(shape) for shape in (
        (2, joints), vector, vector, vector, (2, joints), square, square, square, square,
        (2, columns, joints))))


@njit(**COMPILED)
def balance(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
    room: BalanceRoom, node: int, begin: float, part: float, h: float, level: int,
) -> None:
    """Momenta that a step from ``room.q[0]`` to ``room.q[1]`` begins and ends with.

    Args:
        system: What moves.
        values: Its parameter values.
        drive: What drives it.
        rule: The quadrature.
        room: Is filled.
        node: Number of the interval.
        begin: Which part of it has passed at the beginning of the step.
        part: Which part of it the step takes.
        h: How long that is in [s].
        level: What to find.
    """
    for j in range(len(room.v)):
        room.v[j] = (room.q[1, j] - room.q[0, j]) / h
    room.momentum[:] = 0.0
    if level >= NEWTON:
        room.newton[:] = 0.0
    if level == ALL:
        room.first_by_start[:] = 0.0
        room.second_by_end[:] = 0.0
        room.second_by_start[:] = 0.0
        room.by_parameters[:] = 0.0
    for k in range(len(rule.place)):
        c, w = rule.place[k], rule.weight[k]
        for j in range(len(room.v)):
            room.at[j] = room.q[0, j] + c * (room.q[1, j] - room.q[0, j])
        look(system, values, room.tree, room.at, room.v, level >= NEWTON)
        _feed(system, values, drive, room, node, begin + c * part)
        _add_momenta(rule, k, room, h)
        if level >= NEWTON:
            _add_newton(room, c, w, h)
        if level == ALL:
            _add_slopes(room, c, w, h)
            differentiate_by_parameters(system, values, room, h, c, w, w * rule.before[k],
                                        w * rule.after[k])
        if level >= NEWTON:
            _add_rates(system, values, room, w * rule.before[k], w * rule.after[k], level)
            _add_gains(drive, room, node, h, c, w * rule.before[k], w * rule.after[k], level)


@njit(**COMPILED)
def _feed(
    system: DiscreteSystem, values: TreeValues, drive: Drive, room: BalanceRoom, node: int,
    part: float,
) -> None:
    """Forces at a place: what is applied, what holds to the reference, and friction."""
    for j in range(len(room.force)):
        before, after = drive.torque[node, j], drive.torque[node + 1, j]
        room.force[j] = before + part * (after - before)
    gains = min(node, len(drive.stiffness) - 1)
    for c in range(len(drive.joints)):
        before, after = drive.reference[node, c], drive.reference[node + 1, c]
        away = room.at[drive.joints[c]] - before - part * (after - before)
        fast = room.v[drive.joints[c]] - drive.speed[node, c]
        for r in range(len(drive.joints)):
            room.force[drive.joints[r]] -= (
                drive.stiffness[gains, r, c] * away + drive.damping[gains, r, c] * fast)
    for k in range(len(system.tree.signal)):
        if system.tree.signal[k] not in (POSITION, ACCELERATION):
            signal = _friction(system, k, room.v)[0]
            push(system, k, -values.amplitudes[k] * signal, room.force)


@njit(**COMPILED)
def _friction(system: DiscreteSystem, k: int, v: np.ndarray) -> tuple[float, float]:
    """What a force's column is made of, and its slope over the velocity."""
    kind = system.tree.signal[k]
    if kind == ONE:
        return 1.0, 0.0
    speed = along(system, k, v)
    if kind < SIGN:
        return speed, 1.0
    if (kind == FORWARD and speed <= 0.0) or (kind == BACKWARD and speed > 0.0):
        return 0.0, 0.0
    smoothing = system.tree.smoothing[k]
    sign = np.tanh(speed / smoothing)
    return sign, (1.0 - sign * sign) / smoothing


@njit(**COMPILED)
def _add_momenta(rule: Quadrature, k: int, room: BalanceRoom, h: float) -> None:
    c, w, joints = rule.place[k], rule.weight[k], room.tree.joints
    for j in range(len(room.v)):
        slope, push = h * joints[1, j], h * room.force[j]
        room.momentum[0, j] += w * ((1.0 - c) * slope - joints[0, j] + rule.before[k] * push)
        room.momentum[1, j] += w * (c * slope + joints[0, j] + rule.after[k] * push)


@njit(**COMPILED)
def _add_newton(room: BalanceRoom, c: float, w: float, h: float) -> None:
    mass, mixed, curve = room.tree.tables[0], room.tree.tables[1], room.tree.tables[2]
    for i in range(len(mass)):
        for j in range(len(mass)):
            room.newton[i, j] += w * (
                h * c * (1.0 - c) * curve[i, j] + (1.0 - c) * mixed[j, i] - c * mixed[i, j]
                - mass[i, j] / h)


@njit(**COMPILED)
def _add_slopes(room: BalanceRoom, c: float, w: float, h: float) -> None:
    mass, mixed, curve = room.tree.tables[0], room.tree.tables[1], room.tree.tables[2]
    d = 1.0 - c
    for i in range(len(mass)):
        for j in range(len(mass)):
            inertia, bend = mass[i, j] / h, h * curve[i, j]
            both = mixed[i, j] + mixed[j, i]
            room.first_by_start[i, j] += w * (d * d * bend - d * both + inertia)
            room.second_by_end[i, j] += w * (c * c * bend + c * both + inertia)
            room.second_by_start[i, j] += w * (
                c * d * bend + d * mixed[i, j] - c * mixed[j, i] - inertia)


@njit(**COMPILED)
def _add_rates(
    system: DiscreteSystem, values: TreeValues, room: BalanceRoom, before: float, after: float,
    level: int,
) -> None:
    """Derivatives of friction, which looks at velocities."""
    for k in range(len(system.tree.signal)):
        if system.tree.signal[k] in (POSITION, ACCELERATION, ONE):
            continue
        rate = -values.amplitudes[k] * _friction(system, k, room.v)[1]
        push_square(system, k, before * rate, room.newton)
        if level == ALL:
            push_square(system, k, -before * rate, room.first_by_start)
            push_square(system, k, after * rate, room.second_by_end)
            push_square(system, k, -after * rate, room.second_by_start)


@njit(**COMPILED)
def _add_gains(
    drive: Drive, room: BalanceRoom, node: int, h: float, c: float, before: float,
    after: float, level: int,
) -> None:
    """Derivatives of what holds to the reference."""
    gains = min(node, len(drive.stiffness) - 1)
    for r in range(len(drive.joints)):
        for s in range(len(drive.joints)):
            i, j = drive.joints[r], drive.joints[s]
            hold, brake = h * drive.stiffness[gains, r, s], drive.damping[gains, r, s]
            by_end, by_start = -c * hold - brake, brake - (1.0 - c) * hold
            room.newton[i, j] += before * by_end
            if level == ALL:
                room.first_by_start[i, j] += before * by_start
                room.second_by_end[i, j] += after * by_end
                room.second_by_start[i, j] += after * by_start


@njit(**COMPILED)
def differentiate_by_parameters(
    system: DiscreteSystem, values: TreeValues, room: BalanceRoom, h: float, c: float,
    w: float, before: float, after: float,
) -> None:
    """Add the derivatives of both momenta by parameters at a place that was looked at.

    Args:
        system: What moves.
        values: Its parameter values.
        room: Its ``by_parameters`` are added to.
        h: Duration of the step in [s].
        c: The place.
        w: Its weight.
        before: Share of the forces at the beginning, times the weight.
        after: Share at the end, likewise.
    """
    for i in range(len(system.tree.parent)):
        if values.sought[i]:
            for k in range(10):
                slot = values.slots[system.tree.column[i] + k]
                if slot >= 0:
                    _add_inertial(system, room, i, k, slot, h, c, w)
    first, out = len(values.slots) - len(system.tree.signal), room.by_parameters
    for k in range(len(system.tree.signal)):
        slot, kind = values.slots[first + k], system.tree.signal[k]
        if slot < 0:
            continue
        if kind == POSITION:
            pull = -w * h * along(system, k, room.at)
            early, late = (1.0 - c) * pull, c * pull
        elif kind == ACCELERATION:
            late = w * along(system, k, room.v)
            early = -late
        else:
            drag = -h * _friction(system, k, room.v)[0]
            early, late = before * drag, after * drag
        for j in range(system.span[k, 0], system.span[k, 1]):
            out[0, slot, j] += early * system.tree.weights[k, j]
            out[1, slot, j] += late * system.tree.weights[k, j]


@njit(**COMPILED)
def _add_inertial(
    system: DiscreteSystem, room: BalanceRoom, i: int, k: int, slot: int, h: float, c: float,
    w: float,
) -> None:
    """What an inertial parameter of body i does at the joints that carry it."""
    (momentum, weight), out, j = inertial_column(system, room.tree, i, k), room.by_parameters, i
    while j >= 0:
        axis = six(room.tree.axis, j)
        own = w * power(axis, momentum)
        slope = w * h * (power(six(room.tree.change, j), momentum) + power(axis, weight))
        early, late = (1.0 - c) * slope - own, c * slope + own
        if system.coupled:
            for joint in range(out.shape[2]):
                share = system.tree.coupling[j, joint]
                out[0, slot, joint] += share * early
                out[1, slot, joint] += share * late
        else:
            out[0, slot, j] += early
            out[1, slot, j] += late
        j = system.tree.parent[j]
