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

from sysid_ros.mechanics.integrators.variational.lagrangian import (
    LagrangianWorkspace,
    evaluate_lagrangian,
    inertial_column,
    lagrangian_second_derivatives,
    lagrangian_workspace,
)
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE, TermArrays, law_slope, law_value
from sysid_ros.mechanics.joint_terms.law import ACCELERATION, CONSTANT, POSITION, VELOCITY
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.mechanics.tree.tree_terms import add_direction, add_outer_product, along
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import power, six
from sysid_ros.numerics.tables import clear, clear_tables

#: What is to be found of a step: its values, also what Newton's method needs, or all.
VALUES, NEWTON, ALL = range(3)


class Quadrature(NamedTuple):
    """Where the Lagrangian of a step is looked at.

    Attributes:
        point: Parts of the way, shape ``(m,)``, as the next three.
        weight: What they count.
        before: Share of the forces that acts at the beginning of the step.
        after: Share that acts at its end.
    """

    point: np.ndarray
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
        damping: Gains on velocities, of each interval or of all, as of ``stiffness``.
    """

    torque: np.ndarray
    joints: np.ndarray
    reference: np.ndarray
    speed: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


class EulerLagrangeWorkspace(NamedTuple):
    """Workspace for the discrete Euler-Lagrange equations of one step.

    Attributes:
        tree: Workspace for one configuration.
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

    tree: LagrangianWorkspace
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


def euler_lagrange_workspace(system: DiscreteSystem, columns: int) -> EulerLagrangeWorkspace:
    """Workspace for the steps of a system.

    Args:
        system: The system.
        columns: How many parameters to differentiate by.
    """
    joints = system.tree.coupling.shape[1]
    square, vector = (joints, joints), (joints,)
    return EulerLagrangeWorkspace(lagrangian_workspace(system), *(np.zeros(shape) for shape in (
        (2, joints), vector, vector, vector, (2, joints), square, square, square, square,
        (2, columns, joints))))


@njit(**INSIDE)
def discrete_euler_lagrange(
    system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
    work: EulerLagrangeWorkspace, node: int, begin: float, part: float, h: float, level: int,
) -> None:
    """Discrete Euler-Lagrange terms D1 Ld + F⁻ and D2 Ld + F⁺ of a step, with derivatives.

    Args:
        system: What moves.
        values: Its parameter values.
        drive: What drives it.
        rule: The quadrature.
        work: Is filled.
        node: Number of the interval.
        begin: Which part of it has passed at the beginning of the step.
        part: Which part of it the step takes.
        h: How long that is in [s].
        level: What to find.
    """
    tree, terms, amplitudes, q, v = work.tree, system.terms, values.amplitudes, work.q, work.v
    at, force, momentum = work.at, work.force, work.momentum
    joints, tables = tree.joints, tree.tables
    newton, first, second = work.newton, work.first_by_start, work.second_by_end
    mixed = work.second_by_start
    for j in range(len(v)):
        v[j] = (q[1, j] - q[0, j]) / h
    _begin(work, level)
    for k in range(len(rule.point)):
        c, w = rule.point[k], rule.weight[k]
        before, after = w * rule.before[k], w * rule.after[k]
        for j in range(len(v)):
            at[j] = q[0, j] + c * (q[1, j] - q[0, j])
        evaluate_lagrangian(system, values, tree, at, v)
        _add_forces(drive, at, v, force, node, begin + c * part)
        for m in range(len(amplitudes)):
            if terms.laws.code[m, VARIABLE] == VELOCITY or terms.laws.code[m, VARIABLE] == CONSTANT:
                add_direction(terms, m, -amplitudes[m] * _friction(terms, m, v), force)
        for j in range(len(v)):
            slope, thrust = h * joints[1, j], h * force[j]
            momentum[0, j] += w * ((1.0 - c) * slope - joints[0, j]) + before * thrust
            momentum[1, j] += w * (c * slope + joints[0, j]) + after * thrust
        if level < NEWTON:
            continue
        lagrangian_second_derivatives(system, amplitudes, tree, at)
        _add_newton(tables, newton, c, w, h)
        _add_rates(terms, amplitudes, v, -before, newton)
        _add_gains(drive, newton, node, before, -c * h, -1.0)
        if level == ALL:
            _add_slopes(tables, first, second, mixed, c, w, h)
            _add_rates(terms, amplitudes, v, before, first)
            _add_rates(terms, amplitudes, v, -after, second)
            _add_rates(terms, amplitudes, v, after, mixed)
            _add_gains(drive, first, node, before, (c - 1.0) * h, 1.0)
            _add_gains(drive, second, node, after, -c * h, -1.0)
            _add_gains(drive, mixed, node, after, (c - 1.0) * h, 1.0)
            differentiate_by_parameters(system, values, work, h, c, w, before, after)


@njit(**INSIDE)
def _begin(work: EulerLagrangeWorkspace, level: int) -> None:
    """Make zero what places are added to."""
    clear(work.momentum)
    if level >= NEWTON:
        clear(work.newton)
    if level == ALL:
        for table in (work.first_by_start, work.second_by_end, work.second_by_start):
            clear(table)
        clear_tables(work.by_parameters)


@njit(**INSIDE)
def _add_forces(
    drive: Drive, at: np.ndarray, v: np.ndarray, force: np.ndarray, node: int, part: float
) -> None:
    """Forces at a place: what is applied, and what holds to the reference."""
    torque, reference, speed, held = drive.torque, drive.reference, drive.speed, drive.joints
    stiffness, damping = drive.stiffness, drive.damping
    for j in range(len(force)):
        force[j] = torque[node, j] + part * (torque[node + 1, j] - torque[node, j])
    gains = min(node, len(stiffness) - 1)
    for c in range(len(held)):
        before, after = reference[node, c], reference[node + 1, c]
        away = at[held[c]] - before - part * (after - before)
        fast = v[held[c]] - speed[node, c]
        for r in range(len(held)):
            force[held[r]] -= stiffness[gains, r, c] * away + damping[gains, r, c] * fast


@njit(**INSIDE)
def _friction(terms: TermArrays, k: int, v: np.ndarray) -> float:
    """Force per unit of a column that depends on velocities or on nothing."""
    x = 1.0 if terms.laws.code[k, VARIABLE] == CONSTANT else along(terms, k, v)
    return law_value(terms.laws, k, x)


@njit(**INSIDE)
def _add_newton(tables: np.ndarray, newton: np.ndarray, c: float, w: float, h: float) -> None:
    for i in range(len(newton)):
        for j in range(len(newton)):
            newton[i, j] += w * (
                h * c * (1.0 - c) * tables[2, i, j] + (1.0 - c) * tables[1, j, i]
                - c * tables[1, i, j] - tables[0, i, j] / h)


@njit(**INSIDE)
def _add_slopes(
    tables: np.ndarray, first: np.ndarray, second: np.ndarray, mixed: np.ndarray, c: float,
    w: float, h: float,
) -> None:
    d = 1.0 - c
    for i in range(len(first)):
        for j in range(len(first)):
            inertia, second_derivative = tables[0, i, j] / h, h * tables[2, i, j]
            both = tables[1, i, j] + tables[1, j, i]
            first[i, j] += w * (d * d * second_derivative - d * both + inertia)
            second[i, j] += w * (c * c * second_derivative + c * both + inertia)
            mixed[i, j] += w * (
                c * d * second_derivative + d * tables[1, i, j] - c * tables[1, j, i] - inertia)


@njit(**INSIDE)
def _add_rates(
    terms: TermArrays, amplitudes: np.ndarray, v: np.ndarray, share: float, table: np.ndarray
) -> None:
    """Derivatives of friction, which looks at velocities, times a share."""
    for k in range(len(amplitudes)):
        if terms.laws.code[k, VARIABLE] == VELOCITY:
            x = along(terms, k, v)
            slope = law_slope(terms.laws, k, x, law_value(terms.laws, k, x))
            add_outer_product(terms, k, share * amplitudes[k] * slope, table)


@njit(**INSIDE)
def _add_gains(
    drive: Drive, table: np.ndarray, node: int, share: float, position: float, velocity: float
) -> None:
    """Derivatives of what holds to the reference, times a share.

    Args:
        drive: What drives the motion.
        table: Is added to, shape ``(n, n)``.
        node: Number of the interval.
        share: The share.
        position: What gains on positions count.
        velocity: What gains on velocities count.
    """
    stiffness, damping, held = drive.stiffness, drive.damping, drive.joints
    gains = min(node, len(stiffness) - 1)
    for r in range(len(held)):
        for s in range(len(held)):
            table[held[r], held[s]] += share * (
                position * stiffness[gains, r, s] + velocity * damping[gains, r, s])


@njit(**INSIDE)
def differentiate_state(
    system: DiscreteSystem, values: TreeValues, work: EulerLagrangeWorkspace
) -> None:
    """Momentum and slope of the Lagrangian at ``work.at`` and ``work.v``, and all derivatives.

    Those by parameters are of all forces at rest, then of the momentum.

    Args:
        system: What moves.
        values: Its parameter values.
        work: Its ``tree`` and ``by_parameters`` are filled.
    """
    by_parameters, tree = work.by_parameters, work.tree
    evaluate_lagrangian(system, values, tree, work.at, work.v)
    lagrangian_second_derivatives(system, values.amplitudes, tree, work.at)
    clear_tables(by_parameters)
    differentiate_by_parameters(system, values, work, 1.0, 0.0, 1.0, 1.0, 0.0)


@njit(**INSIDE)
def differentiate_by_parameters(
    system: DiscreteSystem, values: TreeValues, work: EulerLagrangeWorkspace, h: float, c: float,
    w: float, before: float, after: float,
) -> None:
    """Add the derivatives of both momenta by parameters at a place that was looked at.

    Args:
        system: What moves.
        values: Its parameter values.
        work: Its ``by_parameters`` are added to.
        h: Duration of the step in [s].
        c: The place.
        w: Its weight.
        before: Share of the forces at the beginning, times the weight.
        after: Share of the forces at the end, times the weight.
    """
    terms, slots, free_bodies, at, v = (
        system.terms, values.slots, values.free_bodies, work.at, work.v)
    column, out = system.tree.column, work.by_parameters
    for i in range(len(free_bodies)):
        if free_bodies[i]:
            for k in range(10):
                slot = slots[column[i] + k]
                if slot >= 0:
                    _add_inertial(system, work.tree, out, i, k, slot, h, c, w)
    first = len(slots) - len(terms.weights)
    for k in range(len(terms.weights)):
        slot, variable = slots[first + k], terms.laws.code[k, VARIABLE]
        if slot < 0:
            continue
        if variable == POSITION:
            pull = -w * h * law_value(terms.laws, k, along(terms, k, at))
            early, late = (1.0 - c) * pull, c * pull
        elif variable == ACCELERATION:
            late = w * along(terms, k, v)
            early = -late
        else:
            drag = -h * _friction(terms, k, v)
            early, late = before * drag, after * drag
        add_direction(terms, k, early, out[0, slot])
        add_direction(terms, k, late, out[1, slot])


@njit(**INSIDE)
def _add_inertial(
    system: DiscreteSystem, work: LagrangianWorkspace, out: np.ndarray, i: int, k: int, slot: int,
    h: float, c: float, w: float,
) -> None:
    """What an inertial parameter of body i does at the joints that carry it."""
    tree, coupled, axis, change = system.tree, system.coupled, work.axis, work.change
    parent, coupling, j = tree.parent, tree.coupling, i
    momentum, weight = inertial_column(tree.gravity, work.pose, work.twist, i, k)
    while j >= 0:
        screw = six(axis, j)
        own = w * power(screw, momentum)
        slope = w * h * (power(six(change, j), momentum) + power(screw, weight))
        early, late = (1.0 - c) * slope - own, c * slope + own
        if coupled:
            for joint in range(out.shape[2]):
                share = coupling[j, joint]
                out[0, slot, joint] += share * early
                out[1, slot, joint] += share * late
        else:
            out[0, slot, j] += early
            out[1, slot, j] += late
        j = parent[j]
