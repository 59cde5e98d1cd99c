"""Compiled: one sample of a fixed-lag smoother of a planar mechanism, as a single call.

It does what :class:`~.smoother.FixedLagSmoother` does step by step, with the same pieces; handing
arrays from one piece to the next would take longer than the arithmetic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory import chain_kernels
from sysid_ros.estimation.trajectory.chain_kernels import (
    add_nodes,
    add_pairs,
    eliminate,
    substitute,
)
from sysid_ros.estimation.trajectory.graph import (
    manifold_kernels,
    planar_response,
    smoother_kernels,
)
from sysid_ros.estimation.trajectory.graph.manifold_kernels import (
    moved,
    reduced_nodes,
    reduced_pairs,
    tangents,
)
from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    COMPILED,
    ConstraintArrays,
    ForceArrays,
)
from sysid_ros.estimation.trajectory.graph.planar_constraints import constrain
from sysid_ros.estimation.trajectory.graph.planar_response import respond
from sysid_ros.estimation.trajectory.graph.smoother_kernels import (
    assemble,
    marginal,
    remembered,
)

#: Files that are compiled into :func:`advance`.
SOURCES = (*planar_response.SOURCES, planar_response, manifold_kernels, smoother_kernels,
           chain_kernels)
# What calls functions of other files is not cached by itself, where changes there were not seen.
_INSIDE = {**COMPILED, 'cache': False}
#: Kinds of factors that a mechanism defines.
POSITION, VELOCITY, ACCELERATION, DYNAMICS = range(4)
#: How a sample can end, beside the number of iterations it took.
NOT_CLOSED, SINGULAR, NOT_DETERMINED, WORSE = -1, -2, -3, -4


class Program(NamedTuple):
    """Factors of a graph as arrays: N steps, states of s numbers, h exact and m soft rows.

    Attributes:
        place: Where positions, velocities and accelerations lie in a state, -1 for none, (3,).
        exact_kinds: Kind and first row of exact factors of the mechanism, shape ``(e, 2)``.
        soft_kinds: Likewise of soft ones.
        dynamics: Where the accelerations of the dynamics lie, and torques, -1 if known, (2,).
        chosen: Coordinates that the dynamics are said for, shape ``(c,)``.
        exact: Linear exact rows, shape ``(h, s)``, zero for others.
        exact_target: Shape ``(N, h)``.
        exact_weight: Zero where they are not said, one elsewhere, likewise.
        soft: Linear soft rows, shape ``(m, s)``.
        soft_target: Shape ``(N, m)``.
        soft_weight: Likewise.
        torque: Known torques, shape ``(N, u)``.
        here: Rows between steps, by the first, shape ``(l, s)``.
        after: Likewise, by the second.
        constant: What is added, shape ``(N - 1, l)``.
        pair_weight: Likewise.
        ranks: Of the exact rows, shape ``(N,)``.
        prediction: A state from the last two, shape ``(s, 2 s)``.
        judged: Numbers of a state whose steps say whether to go on.
    """

    place: np.ndarray
    exact_kinds: np.ndarray
    soft_kinds: np.ndarray
    dynamics: np.ndarray
    chosen: np.ndarray
    exact: np.ndarray
    exact_target: np.ndarray
    exact_weight: np.ndarray
    soft: np.ndarray
    soft_target: np.ndarray
    soft_weight: np.ndarray
    torque: np.ndarray
    here: np.ndarray
    after: np.ndarray
    constant: np.ndarray
    pair_weight: np.ndarray
    ranks: np.ndarray
    prediction: np.ndarray
    judged: np.ndarray


class Window(NamedTuple):
    """The w steps of a smoother's window, with d directions each, and what is remembered.

    Attributes:
        states: Shape ``(w, s)``.
        information: What steps that have left say of the first one, shape ``(d, d)``.
        gradient: Its gradient, shape ``(d,)``.
        anchor: Where it was made, shape ``(s,)``.
        directions: Along which basis, shape ``(s, d)``.
        basis: Of the states that were linearised last, shape ``(w, s, d)``.
        linearised: These states.
        nodes: Their soft rows, shape ``(w, m, d + 1)``.
        pairs: Those between them, shape ``(w - 1, l, 2 d + 1)``.
        found: What is remembered there, shape ``(d, d)``.
        slope: Its gradient, shape ``(d,)``.
    """

    states: np.ndarray
    information: np.ndarray
    gradient: np.ndarray
    anchor: np.ndarray
    directions: np.ndarray
    basis: np.ndarray
    linearised: np.ndarray
    nodes: np.ndarray
    pairs: np.ndarray
    found: np.ndarray
    slope: np.ndarray


@njit(**COMPILED)
def _linear(
    matrix: np.ndarray, target: np.ndarray, states: np.ndarray, rows: np.ndarray
) -> None:
    """Write the rows of linear factors at some states."""
    s = matrix.shape[1]
    for node in range(len(states)):
        for r in range(len(matrix)):
            value = -target[node, r]
            for i in range(s):
                rows[node, r, i] = matrix[r, i]
                value += matrix[r, i] * states[node, i]
            rows[node, r, s] = value


@njit(**COMPILED)
def _motion(program: Program, states: np.ndarray, n: int) -> tuple:
    """Positions, velocities and accelerations of some states; zero where there are none."""
    motion = np.zeros((3, len(states), n))
    for k in range(3):
        if program.place[k] >= 0:
            motion[k] = states[:, program.place[k]:program.place[k] + n]
    return motion[0], motion[1], motion[2]


@njit(**_INSIDE)
def _add_constraints(
    kinds: np.ndarray, program: Program, loops: ConstraintArrays, states: np.ndarray, n: int,
    rows: np.ndarray,
) -> None:
    """Write the rows of a mechanism's constraints and their derivatives by time."""
    w, m = len(states), len(loops.kind)
    q, v, a = _motion(program, states, n)
    gap, bias = np.empty((w, m)), np.empty((w, m))
    jacobian, rate, slope = np.empty((w, m, n)), np.empty((w, m, n)), np.empty((w, m, n))
    constrain(loops, q, v, a, gap, jacobian, rate, bias, slope)
    at_q, at_v, at_a = program.place[0], program.place[1], program.place[2]
    last = rows.shape[2] - 1
    for k in range(len(kinds)):
        kind, first = kinds[k, 0], kinds[k, 1]
        if kind == DYNAMICS:
            continue
        for node in range(w):
            for r in range(m):
                row = rows[node, first + r]
                row[last] = gap[node, r] if kind == POSITION else 0.0
                row[last] += bias[node, r] if kind == ACCELERATION else 0.0
                for i in range(n):
                    slant = jacobian[node, r, i]
                    if kind == POSITION:
                        row[at_q + i] = slant
                    elif kind == VELOCITY:
                        row[at_q + i], row[at_v + i] = rate[node, r, i], slant
                        row[last] += slant * v[node, i]
                    else:
                        row[at_q + i], row[at_a + i] = slope[node, r, i], slant
                        row[at_v + i] = 2.0 * rate[node, r, i]
                        row[last] += slant * a[node, i]


@njit(**_INSIDE)
def _close(
    program: Program, loops: ConstraintArrays, n: int, first: int, states: np.ndarray,
    basis: np.ndarray, short: float,
) -> bool:
    """Move states the shortest way to where all exact rows hold; writes the bases there."""
    w, s = states.shape
    part = slice(first, first + w)
    rows = np.empty((w, len(program.exact), s + 1))
    way, pivots = np.empty((w, s)), np.empty(w)
    for _ in range(30):
        _linear(program.exact, program.exact_target[part], states, rows)
        _add_constraints(program.exact_kinds, program, loops, states, n, rows)
        for node in range(w):
            for r in range(rows.shape[1]):
                if program.exact_weight[first + node, r] == 0.0:
                    rows[node, r, :] = 0.0
        tangents(rows, program.ranks[part], basis, way, pivots)
        longest = 0.0
        for node in range(w):
            if not pivots[node] > 1e-9:
                return False
            for i in range(s):
                states[node, i] += way[node, i]
                longest = max(longest, abs(way[node, i]))
        if not longest < np.inf:
            return False
        if longest <= short:
            return True
    return False


@njit(**COMPILED)
def _farthest(judged: np.ndarray, states: np.ndarray, others: np.ndarray) -> float:
    """The longest step of numbers that count."""
    size = 0.0
    for node in range(len(states)):
        for i in judged:
            size = max(size, abs(others[node, i] - states[node, i]))
    return size


@njit(**_INSIDE)
def _forget(program: Program, first: int, window: Window) -> bool:
    """Let the first step go; what it says stays."""
    s, d = window.directions.shape
    information, gradient = np.empty((d, d)), np.empty(d)
    if not marginal(
        window.found, window.slope, s - program.ranks[first], window.nodes[0], window.pairs[0],
        information, gradient
    ):
        return False
    window.information[:, :] = information
    window.gradient[:] = gradient
    window.anchor[:] = window.linearised[1]
    window.directions[:, :] = window.basis[1]
    return True


@njit(**_INSIDE)
def _dynamics(
    program: Program, loops: ConstraintArrays, forces: ForceArrays, rank: int,
    values: np.ndarray, mass: np.ndarray, rest: np.ndarray, first: int, row: int,
    states: np.ndarray, rows: np.ndarray,
) -> bool:
    """Write the rows of the dynamics; whether masses determine the motion."""
    w, s = states.shape
    n, m, u = len(mass), len(loops.kind), len(forces.inputs)
    q, v, _ = _motion(program, states, n)
    at, at_torque = program.dynamics[0], program.dynamics[1]
    torque = np.empty((w, u))
    torque[:, :] = program.torque[first:first + w] if at_torque < 0 else (
        states[:, at_torque:at_torque + u])
    response, by_q = np.empty((w, n + m)), np.empty((w, n + m, n))
    by_v, by_torque = np.empty((w, n + m, n)), np.empty((w, n + m, u))
    if respond(
        loops, forces, rank, values, mass, rest, q, v, torque, response, by_q, by_v,
        by_torque, np.empty((w, n + m, 0))
    ) >= 0:
        return False
    at_q, at_v = program.place[0], program.place[1]
    for node in range(w):
        for c in range(len(program.chosen)):
            i, line = program.chosen[c], rows[node, row + c]
            line[at + c] = 1.0
            line[s] = states[node, at + c] - response[node, i]
            for j in range(n):
                line[at_q + j] = -by_q[node, i, j]
                line[at_v + j] = -by_v[node, i, j]
            if at_torque >= 0:
                for j in range(u):
                    line[at_torque + j] = -by_torque[node, i, j]
    return True


@njit(**_INSIDE)
def _linearise(
    program: Program, loops: ConstraintArrays, forces: ForceArrays, rank: int,
    values: np.ndarray, mass: np.ndarray, rest: np.ndarray, first: int, window: Window,
    chain: np.ndarray,
) -> int:
    """Set up the equations of a window at its states and eliminate these; zero, or a failure."""
    states = window.states
    w, s = states.shape
    n = len(mass)
    part = slice(first, first + w)
    rows = np.zeros((w, len(program.soft), s + 1))
    _linear(program.soft, program.soft_target[part], states, rows)
    for k in range(len(program.soft_kinds)):
        if program.soft_kinds[k, 0] != DYNAMICS:
            _add_constraints(
                program.soft_kinds[k:k + 1], program, loops, states, n, rows)
            continue
        if not _dynamics(
            program, loops, forces, rank, values, mass, rest, first,
            program.soft_kinds[k, 1], states, rows
        ):
            return SINGULAR
    reduced_nodes(rows, program.soft_weight[part], window.basis, window.nodes)
    between, nodes = slice(first, first + w - 1), np.arange(w)
    reduced_pairs(
        program.here, program.after, program.pair_weight[between],
        program.constant[between], states, window.basis, nodes[:-1], window.pairs)
    window.linearised[:, :] = states
    remembered(
        window.information, window.gradient, window.anchor, window.directions, states[0],
        window.basis[0], np.empty(0), window.found, window.slope)
    chain[:, :, :] = 0.0
    corner = np.zeros((0, 1))
    add_nodes(nodes, window.nodes, chain, corner)
    add_pairs(nodes[:-1], window.pairs, chain, corner)
    assemble(window.found, window.slope, s - program.ranks[part], chain, corner)
    linked = np.ones(w, np.bool_)
    linked[w - 1] = False
    return NOT_DETERMINED if eliminate(chain, corner, linked) >= 0 else 0


def _compiled(sources: str) -> Callable[..., int]:
    """The whole sample as one call; a digest of the files is part of what is compiled."""

    @njit(**COMPILED)
    def advance(
        program: Program, loops: ConstraintArrays, forces: ForceArrays, rank: int,
        values: np.ndarray, mass: np.ndarray, rest: np.ndarray, first: int, most: int,
        tolerance: float, window: Window,
    ) -> int:
        sources  # noqa: B018
        states, n = window.states, len(mass)
        w, s = states.shape
        if not _forget(program, first, window):
            return NOT_DETERMINED
        new = np.zeros(s)
        for i in range(s):
            for j in range(s):
                new[i] += program.prediction[i, j] * states[w - 1, j]
                new[i] += program.prediction[i, s + j] * states[w - 2, j]
        states[:w - 1] = states[1:].copy()
        states[w - 1] = new
        # A first guess need not be closed as well as what comes of it.
        if not _close(program, loops, n, first + 1, states, window.basis, 1e-6):
            return NOT_CLOSED
        d = window.basis.shape[2]
        chain, steps, out = np.empty((w, d, 2 * d + 1)), np.empty((w, d)), np.empty((w, s))
        linked, basis = np.ones(w, np.bool_), np.empty((w, s, d))
        linked[w - 1] = False
        before = np.inf
        for iteration in range(1, most + 1):
            ended = _linearise(
                program, loops, forces, rank, values, mass, rest, first + 1, window, chain)
            if ended < 0:
                return ended
            substitute(chain, linked, np.empty(0), steps)
            moved(states, window.basis, steps, out)
            if not _close(program, loops, n, first + 1, out, basis, 1e-8):
                return NOT_CLOSED
            size = _farthest(program.judged, states, out)
            states[:, :] = out
            if size <= tolerance:
                return iteration
            if not size < before:
                break
            before = size
            window.basis[:, :, :] = basis
        return WORSE

    return advance


#: One sample: the program, the mechanism, its first step so far, most iterations, the longest
#: step that ends them, and the window, which is moved on. The number of iterations, or how it
#: failed.
advance = _compiled(hashlib.sha256(b''.join(
    Path(str(module.__file__)).read_bytes() for module in SOURCES)).hexdigest())
