r"""Compiled: normal equations of a chain of states with parameters, factored and solved.

Of node k they hold, side by side, its diagonal block, the block beside it, that of the
parameters and the gradient: :math:`[D_k \mid E_k \mid F_k \mid g_k]`, one row a coordinate of
the state. An elimination in place makes of it :math:`[R_k \mid U_k \mid W_k \mid y_k]` with
:math:`R_k^T R_k = D_k`, and takes :math:`U_k^T [U_k \mid W_k \mid y_k]` off the next node. So all
inner loops run along rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.numerics import dense
from sysid_ros.numerics.dense import cholesky, solve_upper, solve_upper_columns
from sysid_ros.numerics.jit import CACHED, ENTRY, INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into eliminations and what follows from them.
SOURCES = (dense,)
# Sums may be reordered, but a value that is not a number must stay one.
_COMPILED = CACHED | MAKES_ARRAYS
_PART = INSIDE | MAKES_ARRAYS


@njit(**_COMPILED)
def add_pairs(
    nodes: np.ndarray, rows: np.ndarray, chain: np.ndarray, corner: np.ndarray
) -> None:
    r"""Add residuals that touch a node and the next to the normal equations.

    Args:
        nodes: First node of each of K blocks, shape ``(K,)``.
        rows: :math:`[\partial r/\partial x_k \mid \partial r/\partial x_{k+1} \mid
            \partial r/\partial\theta \mid r]` of each, shape ``(K, m, 2 n + p + 1)``.
        chain: Upper triangles of D, then E, F and g, ``(N, n, 2 n + p + 1)``; is added to.
        corner: Upper triangle of the parameters' block and their gradient, shape
            ``(p, p + 1)``; is added to.
    """
    n = chain.shape[1]
    for b in range(len(nodes)):
        here, after, block = chain[nodes[b]], chain[nodes[b] + 1], rows[b]
        _add_product(1.0, block, 0, here, n)
        _add_product(1.0, block, n, after, 2 * n)
        _add_corner(1.0, block, 2 * n, corner)


@njit(**_COMPILED)
def add_nodes(
    nodes: np.ndarray, rows: np.ndarray, chain: np.ndarray, corner: np.ndarray
) -> None:
    r"""Add residuals that touch one node to the normal equations.

    Args:
        nodes: Node of each of K blocks, shape ``(K,)``.
        rows: :math:`[\partial r/\partial x_k \mid \partial r/\partial\theta \mid r]` of each,
            shape ``(K, m, n + p + 1)``.
        chain: As for :func:`add_pairs`.
        corner: As for :func:`add_pairs`.
    """
    n = chain.shape[1]
    for b in range(len(nodes)):
        _add_product(1.0, rows[b], 0, chain[nodes[b]], 2 * n)
        _add_corner(1.0, rows[b], n, corner)


@njit(**_COMPILED)
def _add_product(
    sign: float, rows: np.ndarray, first: int, target: np.ndarray, behind: int
) -> None:
    """Add the products of a node's columns with themselves and all that follow, four rows at once.

    Args:
        sign: 1, or -1 to subtract them.
        rows: Rows of residuals, or of a node that is eliminated, shape ``(m, .)``.
        first: First column of the node.
        target: Shape ``(n, .)``; is added to.
        behind: Column of the target that belongs to the rows' first one behind the node's.
    """
    n, count, width = len(target), len(rows), rows.shape[1]
    rest = uint64(first + n)
    for r in range(0, count - count % 4, 4):
        u, v, w, x = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        for i in range(n):
            a, b = sign * u[first + i], sign * v[first + i]
            c, d = sign * w[first + i], sign * x[first + i]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                here, there = target[i], target[i][behind:]
                for j in range(uint64(i), uint64(n)):
                    m = uint64(first) + j
                    here[j] += a * u[m] + b * v[m] + c * w[m] + d * x[m]
                for j in range(uint64(width) - rest):
                    m = rest + j
                    there[j] += a * u[m] + b * v[m] + c * w[m] + d * x[m]
    for r in range(count - count % 4, count):
        u = rows[r]
        for i in range(n):
            a = sign * u[first + i]
            if a != 0.0:
                here, there = target[i], target[i][behind:]
                for j in range(uint64(i), uint64(n)):
                    here[j] += a * u[uint64(first) + j]
                for j in range(uint64(width) - rest):
                    there[j] += a * u[rest + j]


@njit(**_COMPILED)
def _add_corner(sign: float, rows: np.ndarray, first: int, corner: np.ndarray) -> None:
    """Add the products of the parameters' columns with themselves and the residuals."""
    count = len(corner)
    for row in rows:
        for i in range(count):
            factor = sign * row[first + i]
            if factor != 0.0:
                target = corner[i]
                for j in range(uint64(i), uint64(count + 1)):
                    target[j] += factor * row[uint64(first) + j]


@njit(**_COMPILED)
def second_derivative(
    chain: np.ndarray, corner: np.ndarray, states: np.ndarray, parameters: np.ndarray
) -> float:
    """Second derivative of the cost along a step.

    Args:
        chain: Filled by :func:`add_pairs`.
        corner: Filled by :func:`add_pairs`.
        states: Steps of the states, shape ``(N, n)``.
        parameters: Of the parameters, shape ``(p,)``.
    """
    n, p, total = states.shape[1], len(parameters), 0.0
    for k in range(len(chain)):
        for i in range(n):
            row, rest = chain[k, i], 0.0
            for j in range(i + 1, n):
                rest += row[j] * states[k, j]
            if k + 1 < len(chain):
                for j in range(n):
                    rest += row[n + j] * states[k + 1, j]
            for j in range(p):
                rest += row[2 * n + j] * parameters[j]
            total += states[k, i] * (row[i] * states[k, i] + 2.0 * rest)
    for i in range(p):
        rest = 0.0
        for j in range(i + 1, p):
            rest += corner[i, j] * parameters[j]
        total += parameters[i] * (corner[i, i] * parameters[i] + 2.0 * rest)
    return total


@njit(**_PART)
def _eliminate(chain: np.ndarray, corner: np.ndarray, linked: np.ndarray) -> int:
    """Eliminate the states from the normal equations, in place.

    Args:
        chain: Filled by :func:`add_pairs`; becomes R, U, W and y.
        corner: Filled by :func:`add_pairs`; becomes the Schur complement, upper triangle, and
            its gradient.
        linked: Whether a node is linked to the next one, shape ``(N,)``.

    Returns:
        The first node whose block is not positive definite, or -1.
    """
    n = chain.shape[1]
    for k in range(len(chain)):
        here = chain[k]
        if not cholesky(here):
            return k
        if linked[k]:
            _add_product(-1.0, here, n, chain[k + 1], 2 * n)
        _add_corner(-1.0, here, 2 * n, corner)
    return -1


@njit(**_PART)
def _substitute(
    chain: np.ndarray, linked: np.ndarray, moved: np.ndarray, states: np.ndarray
) -> None:
    """Steps of the states that belong to a step of the parameters.

    Args:
        chain: As :data:`eliminate` left it.
        linked: As for :data:`eliminate`.
        moved: The parameters' step, shape ``(p,)``.
        states: Filled, shape ``(N, n)``.
    """
    count, n = states.shape
    p = len(moved)
    for k in range(count - 1, -1, -1):
        here, step = chain[k], states[k]
        for i in range(n - 1, -1, -1):
            row = here[i]
            value = -row[2 * n + p]
            for j in range(p):
                value -= row[2 * n + j] * moved[j]
            if linked[k]:
                after = states[k + 1]
                for j in range(n):
                    value -= row[n + j] * after[j]
            step[i] = value
        solve_upper(here, step)


@njit(**_PART)
def _adapted(chain: np.ndarray, linked: np.ndarray, slopes: np.ndarray) -> None:
    r"""How the states follow the parameters: :math:`X = H_{xx}^{-1} F`.

    Args:
        chain: As :data:`eliminate` left it.
        linked: As for :data:`eliminate`.
        slopes: Filled with X; the states move by -X per unit, shape ``(N, n, p)``.
    """
    count, n, p = slopes.shape
    for k in range(count - 1, -1, -1):
        here = chain[k]
        for i in range(n - 1, -1, -1):
            row, target = here[i], slopes[k, i]
            for j in range(p):
                target[j] = row[2 * n + j]
            if linked[k]:
                for m in range(n):
                    factor, other = row[n + m], slopes[k + 1, m]
                    for j in range(p):
                        target[j] -= factor * other[j]
        solve_upper_columns(here, slopes[k])


@njit(**_COMPILED)
def add_scores(
    nodes: np.ndarray, rows: np.ndarray, pairs: bool, slopes: np.ndarray, scores: np.ndarray
) -> None:
    """Add each node's share of the gradient by the parameters, the states adapted to them.

    Args:
        nodes: First node of each of K blocks, shape ``(K,)``.
        rows: As for :func:`add_pairs` or :func:`add_nodes`.
        pairs: Which of the two.
        slopes: As :data:`adapted` filled them.
        scores: Is added to, shape ``(N, p)``.
    """
    n, p = slopes.shape[1], slopes.shape[2]
    first = 2 * n if pairs else n
    for b in range(len(nodes)):
        k = nodes[b]
        for r in range(rows.shape[1]):
            row, target = rows[b, r], scores[k]
            residual = row[first + p]
            for j in range(p):
                target[j] += residual * row[first + j]
            for i in range(n):
                factor, slope = residual * row[i], slopes[k, i]
                for j in range(p):
                    target[j] -= factor * slope[j]
            if pairs:
                for i in range(n):
                    factor, slope = residual * row[n + i], slopes[k + 1, i]
                    for j in range(p):
                        target[j] -= factor * slope[j]


@njit(**_PART)
def _covariances(chain: np.ndarray, linked: np.ndarray, blocks: np.ndarray) -> None:
    r"""Diagonal blocks of the inverse of the states' normal equations, parameters known.

    :math:`P_k = R_k^{-1} (1 + U_k P_{k+1} U_k^T) R_k^{-T}`, from the last to the first.

    Args:
        chain: As :data:`eliminate` left it.
        linked: As for :data:`eliminate`.
        blocks: Filled, shape ``(N, n, n)``.
    """
    count, n = blocks.shape[:2]
    inner, half = np.empty((n, n)), np.empty((n, n))
    for k in range(count - 1, -1, -1):
        here, block = chain[k], blocks[k]
        inner[:] = 0.0
        for i in range(n):
            inner[i, i] = 1.0
        if linked[k]:
            after = blocks[k + 1]
            half[:] = 0.0
            for i in range(n):
                for m in range(n):
                    factor = here[i, n + m]
                    for j in range(n):
                        half[i, j] += factor * after[m, j]
            for i in range(n):
                for j in range(n):
                    total = 0.0
                    for m in range(n):
                        total += half[i, m] * here[j, n + m]
                    inner[i, j] += total
        # From both sides by the inverse of the triangle.
        solve_upper_columns(here, inner)
        for i in range(n):
            for j in range(n):
                block[i, j] = inner[j, i]
        solve_upper_columns(here, block)


def _compiled(sources: str) -> tuple[Callable[..., Any], ...]:
    """Entries from Python; a digest of the files is part of what is compiled."""

    @njit(**ENTRY)
    def eliminate(chain: np.ndarray, corner: np.ndarray, linked: np.ndarray) -> int:
        sources  # noqa: B018
        return _eliminate(chain, corner, linked)

    @njit(**ENTRY)
    def substitute(
        chain: np.ndarray, linked: np.ndarray, moved: np.ndarray, states: np.ndarray
    ) -> None:
        sources  # noqa: B018
        _substitute(chain, linked, moved, states)

    @njit(**ENTRY)
    def adapted(chain: np.ndarray, linked: np.ndarray, slopes: np.ndarray) -> None:
        sources  # noqa: B018
        _adapted(chain, linked, slopes)

    @njit(**ENTRY | MAKES_ARRAYS)
    def covariances(chain: np.ndarray, linked: np.ndarray, blocks: np.ndarray) -> None:
        sources  # noqa: B018
        _covariances(chain, linked, blocks)

    return eliminate, substitute, adapted, covariances


#: See the parts of the same names.
eliminate, substitute, adapted, covariances = _compiled(digest(*SOURCES))
