r"""Compiled: normal equations of a chain of states with parameters, factored and solved.

Of node k they hold, side by side, its diagonal block, the block beside it, that of the
parameters and the gradient: :math:`[D_k \mid E_k \mid F_k \mid g_k]`, one row a coordinate of
the state. An elimination in place makes of it :math:`[R_k \mid U_k \mid W_k \mid y_k]` with
:math:`R_k^T R_k = D_k`, and takes :math:`U_k^T [U_k \mid W_k \mid y_k]` off the next node. So all
inner loops run along rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

# Sums may be reordered, but a value that is not a number must stay one.
_COMPILED = {
    'cache': True, 'error_model': 'numpy', 'fastmath': {'reassoc', 'contract', 'arcp', 'nsz'},
}


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
        chain: As :func:`add_pairs` filled it.
        corner: Likewise.
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


@njit(**_COMPILED)
def eliminate(chain: np.ndarray, corner: np.ndarray, linked: np.ndarray) -> int:
    """Eliminate the states from the normal equations, in place.

    Args:
        chain: As :func:`add_pairs` filled it; becomes R, U, W and y.
        corner: Likewise; becomes the Schur complement and its gradient, upper triangle.
        linked: Whether a node is linked to the next one, shape ``(N,)``.

    Returns:
        The first node whose block is not positive definite, or -1.
    """
    n = chain.shape[1]
    for k in range(len(chain)):
        here = chain[k]
        if not _eliminate_block(here):
            return k
        if linked[k]:
            _add_product(-1.0, here, n, chain[k + 1], 2 * n)
        _add_corner(-1.0, here, 2 * n, corner)
    return -1


@njit(**_COMPILED)
def _eliminate_block(block: np.ndarray) -> bool:
    """Upper Cholesky factor of the first columns in place; the others are solved for."""
    n, width = len(block), uint64(block.shape[1])
    for i in range(n):
        row, whole = block[i], i - i % 4
        for k in range(0, whole, 4):
            u, v, w, x = block[k], block[k + 1], block[k + 2], block[k + 3]
            a, b, c, d = u[i], v[i], w[i], x[i]
            for j in range(uint64(i), width):
                row[j] -= a * u[j] + b * v[j] + c * w[j] + d * x[j]
        for k in range(whole, i):
            u = block[k]
            a = u[i]
            for j in range(uint64(i), width):
                row[j] -= a * u[j]
        if not (row[i] > 0.0 and row[i] < np.inf):
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(uint64(i), width):
            row[j] *= scale
    return True


@njit(**_COMPILED)
def substitute(
    chain: np.ndarray, linked: np.ndarray, moved: np.ndarray, states: np.ndarray
) -> None:
    """Steps of the states that belong to a step of the parameters.

    Args:
        chain: As :func:`eliminate` left it.
        linked: As for :func:`eliminate`.
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
            for j in range(uint64(i + 1), uint64(n)):
                value -= row[j] * step[j]
            step[i] = value / row[i]


@njit(**_COMPILED)
def adapted(chain: np.ndarray, linked: np.ndarray, slopes: np.ndarray) -> None:
    r"""How the states follow the parameters: :math:`X = H_{xx}^{-1} F`.

    Args:
        chain: As :func:`eliminate` left it.
        linked: As for :func:`eliminate`.
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
            for m in range(i + 1, n):
                factor, other = row[m], slopes[k, m]
                for j in range(p):
                    target[j] -= factor * other[j]
            for j in range(p):
                target[j] /= row[i]


@njit(**_COMPILED)
def add_scores(
    nodes: np.ndarray, rows: np.ndarray, pairs: bool, slopes: np.ndarray, scores: np.ndarray
) -> None:
    """Add each node's share of the gradient by the parameters, the states adapted to them.

    Args:
        nodes: First node of each of K blocks, shape ``(K,)``.
        rows: As for :func:`add_pairs` or :func:`add_nodes`.
        pairs: Which of the two.
        slopes: As :func:`adapted` filled them.
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


@njit(**_COMPILED)
def covariances(chain: np.ndarray, linked: np.ndarray, blocks: np.ndarray) -> None:
    r"""Diagonal blocks of the inverse of the states' normal equations, parameters known.

    :math:`P_k = R_k^{-1} (1 + U_k P_{k+1} U_k^T) R_k^{-T}`, from the last to the first.

    Args:
        chain: As :func:`eliminate` left it.
        linked: As for :func:`eliminate`.
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
            for i in range(n):
                for j in range(n):
                    half[i, j] = 0.0
                    for m in range(n):
                        half[i, j] += here[i, n + m] * after[m, j]
            for i in range(n):
                for j in range(n):
                    for m in range(n):
                        inner[i, j] += half[i, m] * here[j, n + m]
        # From both sides by the inverse of the triangle.
        _divide(here, inner)
        for i in range(n):
            for j in range(n):
                block[i, j] = inner[j, i]
        _divide(here, block)


@njit(**_COMPILED)
def _divide(triangle: np.ndarray, matrix: np.ndarray) -> None:
    """Solve with the upper triangle in the first columns, in place."""
    n = len(triangle)
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            factor = triangle[i, m]
            for j in range(n):
                matrix[i, j] -= factor * matrix[m, j]
        for j in range(n):
            matrix[i, j] /= triangle[i, i]
