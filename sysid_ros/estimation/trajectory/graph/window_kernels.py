"""Compiled: one sample of a fixed-lag smoother of a planar mechanism, as a single call.

It does what :class:`~.smoother.FixedLagSmoother` does step by step, with the same pieces; handing
arrays from one piece to the next would take longer than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph import (
    manifold_kernels,
    planar_response,
    smoother_kernels,
    window_arrays,
)
from sysid_ros.estimation.trajectory.graph.manifold_kernels import (
    LEAST_PIVOT_RATIO,
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
from sysid_ros.estimation.trajectory.graph.window_arrays import (
    ACCELERATION,
    DYNAMICS,
    NOT_CLOSED,
    NOT_DETERMINED,
    POSITION,
    SINGULAR,
    VELOCITY,
    WORSE,
    Program,
    Window,
)
from sysid_ros.numerics.jit import INSIDE, MAKES_ARRAYS, digest
from sysid_ros.numerics.least_squares import chain_kernels
from sysid_ros.numerics.least_squares.chain_kernels import (
    add_nodes,
    add_pairs,
    eliminate,
    substitute,
)

#: Files that are compiled into :func:`advance`.
SOURCES = (*planar_response.SOURCES, planar_response, manifold_kernels, smoother_kernels,
           window_arrays, chain_kernels)
# As in ``graph_chain``; a first guess may be that far from closed.
_CLOSED, _MOST_WAYS, _NEARLY = 1e-8, 30, 1e-6
# What calls functions of other files is not cached by itself, where changes there were not seen.
_INSIDE = INSIDE | MAKES_ARRAYS


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
    for _ in range(_MOST_WAYS):
        _linear(program.exact, program.exact_target[part], states, rows)
        _add_constraints(program.exact_kinds, program, loops, states, n, rows)
        for node in range(w):
            for r in range(rows.shape[1]):
                if program.exact_weight[first + node, r] == 0.0:
                    rows[node, r, :] = 0.0
        tangents(rows, program.ranks[part], program.lightness, basis, way, pivots)
        longest = 0.0
        for node in range(w):
            if not pivots[node] > LEAST_PIVOT_RATIO:
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


@njit(**COMPILED)
def _predict(prediction: np.ndarray, states: np.ndarray) -> None:
    """Let the first state go, and take what the last two say of the next one."""
    w, s = states.shape
    new = np.zeros(s)
    for i in range(s):
        for j in range(s):
            new[i] += prediction[i, j] * states[w - 1, j]
            new[i] += prediction[i, s + j] * states[w - 2, j]
    states[:w - 1] = states[1:].copy()
    states[w - 1] = new


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
    for i in range(s):
        for j in range(d):
            window.directions[i, j] = window.basis[1, i, j] / program.lightness[i]**2
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


@njit(**_INSIDE)
def _advance(
    program: Program, loops: ConstraintArrays, forces: ForceArrays, rank: int,
    values: np.ndarray, mass: np.ndarray, rest: np.ndarray, first: int, most: int,
    tolerance: float, window: Window,
) -> int:
    """One sample: the number of iterations, or how it failed."""
    states, n = window.states, len(mass)
    w, s = states.shape
    if not _forget(program, first, window):
        return NOT_DETERMINED
    _predict(program.prediction, states)
    # Only the new one is not closed yet, and as a first guess it need not be closed as well.
    window.basis[:w - 1] = window.closed[1:]
    if not _close(
        program, loops, n, first + w, states[w - 1:], window.basis[w - 1:], _NEARLY
    ):
        return NOT_CLOSED
    d = window.basis.shape[2]
    chain, steps, out = np.empty((w, d, 2 * d + 1)), np.empty((w, d)), np.empty((w, s))
    linked = np.ones(w, np.bool_)
    linked[w - 1] = False
    before = np.inf
    for iteration in range(1, most + 1):
        ended = _linearise(
            program, loops, forces, rank, values, mass, rest, first + 1, window, chain)
        if ended < 0:
            return ended
        substitute(chain, linked, np.empty(0), steps)
        moved(states, window.basis, steps, out)
        if not _close(program, loops, n, first + 1, out, window.closed, _CLOSED):
            return NOT_CLOSED
        size = _farthest(program.judged, states, out)
        states[:, :] = out
        if size <= tolerance:
            return iteration
        if not size < before:
            break
        before = size
        window.basis[:, :, :] = window.closed
    return WORSE


def _compiled(sources: str) -> Callable[..., tuple[int, int]]:
    """Samples as one call; a digest of the files is part of what is compiled."""

    @njit(**COMPILED)
    def advance(
        program: Program, loops: ConstraintArrays, forces: ForceArrays, rank: int,
        values: np.ndarray, mass: np.ndarray, rest: np.ndarray, first: int, most: int,
        tolerance: float, window: Window, smoothed: np.ndarray,
    ) -> tuple[int, int]:
        sources  # noqa: B018
        iterations = 0
        for k in range(len(smoothed)):
            smoothed[k] = window.states[0]
            ended = _advance(
                program, loops, forces, rank, values, mass, rest, first + k, most, tolerance,
                window)
            if ended < 0:
                return k + 1, ended
            iterations += ended
        return len(smoothed), iterations

    return advance


#: Some samples: the program, the mechanism, the window's first step, most iterations, the longest
#: step that ends them, the window, which is moved on, and an array ``(K, s)`` that is filled with
#: the steps that leave. How many samples were begun, and the iterations of all, or how the last
#: failed.
advance = _compiled(digest(*SOURCES))
