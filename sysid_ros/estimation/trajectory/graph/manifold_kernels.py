r"""Compiled: directions in which equations stay fulfilled, and the shortest way to fulfil them.

The equations' derivatives are :math:`A x = -c` at each node. Householder reflections of
:math:`A^T`, columns pivoted, give an orthonormal basis Z of the null space of A and the shortest
x. Equations that repeat others come last in the pivoting, and are left out: their number is
known beforehand, since at a point that rounding moved it cannot be told from the numbers.

Lengths are those of x over its lightness l. So Z is orthonormal after division by l, and
:math:`Z^T \operatorname{diag}(l)^{-2}` its inverse from the left.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import CACHED, MAKES_ARRAYS

#: Smallest pivot over the largest at which equations still determine where to go.
LEAST_PIVOT_RATIO = 1e-9

_COMPILED = CACHED | MAKES_ARRAYS


@njit(**_COMPILED)
def tangents(
    rows: np.ndarray, ranks: np.ndarray, lightness: np.ndarray, basis: np.ndarray,
    way: np.ndarray, pivots: np.ndarray,
) -> None:
    """Null spaces and shortest corrections of N nodes.

    Args:
        rows: Derivatives and values of the equations, shape ``(N, h, n + 1)``.
        ranks: How many of them are independent, shape ``(N,)``.
        lightness: How far each number goes for its share of the shortest way, shape ``(n,)``.
        basis: Filled with Z, its last columns zero where there are fewer directions, shape
            ``(N, n, d)``.
        way: Filled with the shortest way to fulfil them, shape ``(N, n)``.
        pivots: Filled with the size of the last pivot over that of the first, shape ``(N,)``.
    """
    count, h, wide = rows.shape
    n = wide - 1
    columns, heads = np.empty((h, n)), np.empty(n)
    order, vector, right = np.empty(h, np.int64), np.empty(n), np.empty(h)
    for node in range(count):
        rank = ranks[node]
        for r in range(h):
            order[r] = r
            right[r] = -rows[node, r, n]
            for i in range(n):
                columns[r, i] = rows[node, r, i] * lightness[i]
        pivots[node] = _reflect(columns, heads, order, rank)
        # The triangle's transpose: column k of it lies in what came before its reflection.
        for i in range(n):
            vector[i] = 0.0
        for k in range(rank):
            value = right[order[k]]
            for i in range(k):
                value -= columns[k, i] * vector[i]
            vector[k] = value / heads[k]
        _turn_back(columns, rank, vector)
        for i in range(n):
            way[node, i] = vector[i] * lightness[i]
        for j in range(basis.shape[2]):
            for i in range(n):
                vector[i] = 0.0
            if rank + j < n:
                vector[rank + j] = 1.0
                _turn_back(columns, rank, vector)
            for i in range(n):
                basis[node, i, j] = vector[i] * lightness[i]


@njit(**_COMPILED)
def _reflect(columns: np.ndarray, heads: np.ndarray, order: np.ndarray, rank: int) -> float:
    """Reflect vectors into a triangle, the longest that is left first.

    Args:
        columns: The vectors, shape ``(h, n)``; hold above the diagonal the triangle, below and
            on it unit vectors of the reflections.
        heads: Filled with the diagonal of the triangle.
        order: Is permuted with the vectors.
        rank: How many reflections there are.

    Returns:
        The last diagonal entry over the first.
    """
    h, n = columns.shape
    for k in range(rank):
        longest, best = -1.0, k
        for r in range(k, h):
            size = 0.0
            for i in range(k, n):
                size += columns[r, i] * columns[r, i]
            if size > longest:
                longest, best = size, r
        if best != k:
            order[k], order[best] = order[best], order[k]
            for i in range(n):
                columns[k, i], columns[best, i] = columns[best, i], columns[k, i]
        size = np.sqrt(longest)
        heads[k] = -size if columns[k, k] > 0.0 else size
        columns[k, k] -= heads[k]
        norm = 0.0
        for i in range(k, n):
            norm += columns[k, i] * columns[k, i]
        scale = 1.0 / np.sqrt(norm) if norm > 0.0 else 0.0
        for i in range(k, n):
            columns[k, i] *= scale
        for r in range(k + 1, h):
            product = 0.0
            for i in range(k, n):
                product += columns[k, i] * columns[r, i]
            for i in range(k, n):
                columns[r, i] -= 2.0 * product * columns[k, i]
    return abs(heads[rank - 1] / heads[0]) if rank else 1.0


@njit(**_COMPILED)
def _turn_back(columns: np.ndarray, rank: int, vector: np.ndarray) -> None:
    """Reflections in reverse order, which undo the turn into the triangle."""
    n = len(vector)
    for k in range(rank - 1, -1, -1):
        product = 0.0
        for i in range(k, n):
            product += columns[k, i] * vector[i]
        for i in range(k, n):
            vector[i] -= 2.0 * product * columns[k, i]


@njit(**_COMPILED)
def reduced_nodes(
    rows: np.ndarray, weight: np.ndarray, basis: np.ndarray, out: np.ndarray
) -> None:
    """Weighted rows of residuals by steps along the bases in place of all states.

    Args:
        rows: By states, by parameters and the residual, shape ``(N, m, n + p + 1)``.
        weight: Shape ``(N, m)``.
        basis: Shape ``(N, n, d)``.
        out: Filled, shape ``(N, m, d + p + 1)``.
    """
    n, d = basis.shape[1], basis.shape[2]
    for node in range(len(rows)):
        for r in range(rows.shape[1]):
            row, target = rows[node, r], out[node, r]
            for j in range(d):
                target[j] = 0.0
            for i in range(n):
                factor = weight[node, r] * row[i]
                if factor != 0.0:
                    for j in range(d):
                        target[j] += factor * basis[node, i, j]
            for j in range(row.shape[0] - n):
                target[d + j] = weight[node, r] * row[n + j]


@njit(**_COMPILED)
def reduced_pairs(
    here: np.ndarray, after: np.ndarray, weight: np.ndarray, constant: np.ndarray,
    states: np.ndarray, basis: np.ndarray, nodes: np.ndarray, out: np.ndarray,
) -> None:
    """Rows of residuals that are linear in a state and the next, along the bases.

    Args:
        here: Their derivatives by the state, shape ``(m, n)``.
        after: Their derivatives by the next state, shape ``(m, n)``.
        weight: Of each at each place, shape ``(K, m)``.
        constant: What is added, shape ``(K, m)``.
        states: Shape ``(N, n)``.
        basis: Shape ``(N, n, d)``.
        nodes: First node of each place, shape ``(K,)``.
        out: Filled, shape ``(K, m, 2 d + p + 1)``.
    """
    n, d = basis.shape[1], basis.shape[2]
    last = out.shape[2] - 1
    for k in range(len(nodes)):
        node = nodes[k]
        for r in range(len(here)):
            target = out[k, r]
            for j in range(last + 1):
                target[j] = 0.0
            value = constant[k, r]
            for i in range(n):
                factor = here[r, i]
                if factor != 0.0:
                    value += factor * states[node, i]
                    for j in range(d):
                        target[j] += weight[k, r] * factor * basis[node, i, j]
                factor = after[r, i]
                if factor != 0.0:
                    value += factor * states[node + 1, i]
                    for j in range(d):
                        target[d + j] += weight[k, r] * factor * basis[node + 1, i, j]
            target[last] = weight[k, r] * value


@njit(**_COMPILED)
def moved(
    states: np.ndarray, basis: np.ndarray, steps: np.ndarray, out: np.ndarray
) -> None:
    """States after steps along the bases, shapes ``(N, n)``, ``(N, n, d)`` and ``(N, d)``."""
    for node in range(len(states)):
        for i in range(states.shape[1]):
            value = states[node, i]
            for j in range(basis.shape[2]):
                value += basis[node, i, j] * steps[node, j]
            out[node, i] = value
