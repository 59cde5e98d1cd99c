r"""Compiled: what a smoother remembers of steps that have left its window.

It is a quadratic function of the window's first state and of parameters,
:math:`\tfrac12 u^T \Lambda u + \eta^T u` with :math:`u = (Z_0^T (x - x_0), \theta - \theta_0)` at
the point where the step before was left behind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.numerics import dense
from sysid_ros.numerics.jit import CACHED, ENTRY, INSIDE, MAKES_ARRAYS, digest

#: Files that are compiled into :data:`marginal`.
SOURCES = (dense,)

_PART = INSIDE | MAKES_ARRAYS
_COMPILED = CACHED | MAKES_ARRAYS


@njit(**_COMPILED)
def remembered(
    information: np.ndarray, gradient: np.ndarray, anchor: np.ndarray, directions: np.ndarray,
    states: np.ndarray, basis: np.ndarray, moved: np.ndarray, found: np.ndarray,
    slope: np.ndarray,
) -> None:
    """What is remembered, in coordinates along another basis at another point.

    Args:
        information: The matrix, shape ``(d + k, d + k)``.
        gradient: Shape ``(d + k,)``.
        anchor: Where it was made, shape ``(n,)``.
        directions: Transposed inverse from the left of the basis there, shape ``(n, d)``.
        states: The other point.
        basis: The basis there.
        moved: How far parameters have moved since, shape ``(k,)``.
        found: Filled with the matrix.
        slope: Filled with the gradient.
    """
    n, d = basis.shape
    size = len(gradient)
    turn, way = np.zeros((size, size)), np.zeros(size)
    for i in range(d):
        for m in range(n):
            way[i] += directions[m, i] * (states[m] - anchor[m])
            for j in range(d):
                turn[i, j] += directions[m, i] * basis[m, j]
    for k in range(size - d):
        turn[d + k, d + k] = 1.0
        way[d + k] = moved[k]
    half, pull = np.zeros((size, size)), gradient.copy()
    for i in range(size):
        for m in range(size):
            pull[i] += information[i, m] * way[m]
            for j in range(size):
                half[i, j] += information[i, m] * turn[m, j]
    found[:, :] = 0.0
    slope[:] = 0.0
    for i in range(size):
        for m in range(size):
            slope[i] += turn[m, i] * pull[m]
            for j in range(size):
                found[i, j] += turn[m, i] * half[m, j]


@njit(**_COMPILED)
def assemble(
    information: np.ndarray, slope: np.ndarray, free: np.ndarray, chain: np.ndarray,
    corner: np.ndarray,
) -> None:
    """Add what is remembered to the normal equations, and hold coordinates that are nothing.

    Args:
        information: Along the first state's basis, shape ``(d + k, d + k)``.
        slope: Shape ``(d + k,)``.
        free: How many coordinates of each step are something, shape ``(N,)``.
        chain: As of ``chain_kernels``, shape ``(N, d, 2 d + k + 1)``; is added to.
        corner: As of ``chain_kernels``, shape ``(k, k + 1)``; is added to.
    """
    d, k = chain.shape[1], len(corner)
    for i in range(d):
        for j in range(d):
            chain[0, i, j] += information[i, j]
        for j in range(k):
            chain[0, i, 2 * d + j] += information[i, d + j]
        chain[0, i, 2 * d + k] += slope[i]
    for i in range(k):
        for j in range(k):
            corner[i, j] += information[d + i, d + j]
        corner[i, k] += slope[d + i]
    for node in range(len(chain)):
        for i in range(free[node], d):
            chain[node, i, i] += 1.0


@njit(**_COMPILED)
def _scatter(
    information: np.ndarray, slope: np.ndarray, here: np.ndarray, d: int, whole: np.ndarray
) -> None:
    """Add what is remembered and rows of one step to equations with those of the next between."""
    size, last = len(slope), len(whole)
    for i in range(size):
        row = i if i < d else i + d
        whole[row, last] += slope[i]
        for r in range(len(here)):
            whole[row, last] += here[r, i] * here[r, size]
        for j in range(size):
            column = j if j < d else j + d
            whole[row, column] += information[i, j]
            for r in range(len(here)):
                whole[row, column] += here[r, i] * here[r, j]


@njit(**_PART)
def _marginal(
    information: np.ndarray, slope: np.ndarray, free: int, here: np.ndarray, between: np.ndarray,
    found: np.ndarray, gradient: np.ndarray,
) -> bool:
    """What the first step of a window says of the next one and of parameters.

    Args:
        information: What is remembered, along the first state's basis, ``(d + k, d + k)``.
        slope: Its gradient, shape ``(d + k,)``.
        free: How many coordinates of the first step are something.
        here: Rows of its own factors, shape ``(m, d + k + 1)``.
        between: Rows of those to the next step, shape ``(m, 2 d + k + 1)``.
        found: Filled, along the next state's basis, shape ``(d + k, d + k)``.
        gradient: Filled, shape ``(d + k,)``.

    Returns:
        Whether the first step is determined.
    """
    size = len(slope)
    d = between.shape[1] - here.shape[1]
    whole = np.zeros((d + size, d + size + 1))
    last = d + size
    _scatter(information, slope, here, d, whole)
    for r in range(len(between)):
        for i in range(last):
            if between[r, i] != 0.0:
                for j in range(last + 1):
                    whole[i, j] += between[r, i] * between[r, j]
    for i in range(free, d):
        whole[i, i] += 1.0
    if not dense.eliminate(whole, d, 0.0):
        return False
    for i in range(size):
        gradient[i] = whole[d + i, last]
        for j in range(size):
            found[i, j] = 0.5 * (whole[d + i, d + j] + whole[d + j, d + i])
    return True


def _compiled(sources: str) -> Callable[..., bool]:
    """The marginal as one call; a digest of the files is part of what is compiled."""

    @njit(**ENTRY | MAKES_ARRAYS)
    def marginal(
        information: np.ndarray, slope: np.ndarray, free: int, here: np.ndarray,
        between: np.ndarray, found: np.ndarray, gradient: np.ndarray,
    ) -> bool:
        sources  # noqa: B018
        return _marginal(information, slope, free, here, between, found, gradient)

    return marginal


#: See :func:`_marginal`.
marginal = _compiled(digest(*SOURCES))
