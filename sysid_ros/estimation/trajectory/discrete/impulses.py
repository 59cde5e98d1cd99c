r"""Impulses that are missing between neighbouring states, as residuals of a chain.

With the velocity u that a step leads to from one state, and the constant velocity d between two
poses, they are :math:`\bar M (v_{k+1} - u)` and :math:`\bar M (d - u)` with masses
:math:`\bar M` that no parameter changes, lest small inertias be rewarded. Since u comes from the
implicit step, stiff constraints do not make them stiff, as they do the residuals that were
published, :math:`(\bar M + G^\top \Sigma^{-1} G)` in place of :math:`\bar M`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete import poses
from sysid_ros.estimation.trajectory.discrete.poses import twist_between
from sysid_ros.numerics.jit import CACHED, IN_ORDER, MAKES_ARRAYS, digest

#: Files that are compiled into :data:`fill_missing`.
SOURCES = (poses,)


@dataclass(frozen=True, eq=False)
class MissingImpulses:
    r"""Weighted missing impulses of K steps of b bodies, n = 6 b, and their derivatives.

    Attributes:
        nodes: First node of each, shape ``(K,)``.
        values: Of velocities, then of poses, shape ``(K, 2 n)``.
        slopes: Derivatives of u by the state and by k parameters, shape ``(K, n, 12 b + k)``.
        turns: Derivatives of the angular part of d by the rotation before and after,
            shape ``(K, 2, b, 3, 3)``.
        weights: What the parts of either velocity weigh, shape ``(n,)``.
        step: Time between nodes in [s].
    """

    nodes: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    turns: np.ndarray
    weights: np.ndarray
    step: float

    pairs = True

    @property
    def cost(self) -> float:
        """Half the sum of their squares."""
        return 0.5 * float(np.vdot(self.values, self.values))

    def reweighted(self) -> MissingImpulses:
        """Themselves: none is an outlier."""
        return self

    @cached_property
    def rows(self) -> np.ndarray:
        """Derivatives and, last, values of the impulses, ``(steps, 2n, width + 2n + 1)``."""
        steps, n, width = self.slopes.shape
        rows = np.zeros((steps, 2 * n, width + 2 * n + 1))
        fill_rows(self.slopes, self.turns, self.weights, self.step, rows)
        rows[:, :, -1] = self.values
        return rows

    def add_to(self, chain: np.ndarray, corner: np.ndarray) -> None:
        """Add them to normal equations; see :func:`add_pairs` of the chain's."""
        add_impulses(
            self.nodes, self.values, self.slopes, self.turns, self.weights, self.step, chain,
            corner, np.empty((len(self.weights), chain.shape[2])))


@njit(cache=True, **IN_ORDER)
def fill_rows(
    slopes: np.ndarray, turns: np.ndarray, weights: np.ndarray, h: float, rows: np.ndarray
) -> None:
    """Derivatives of missing impulses by the state, the next one and parameters."""
    n = len(weights)
    whole = 2 * n
    for k in range(len(slopes)):
        for r in range(n):
            w, body, c = weights[r], r // 6, r % 6
            for part in range(2):
                row = rows[k, part * n + r]
                for i in range(whole):
                    row[i] = -w * slopes[k, r, i]
                for i in range(whole, slopes.shape[2]):
                    row[whole + i] = -w * slopes[k, r, i]
            rows[k, r, whole + 12 * body + 6 + c] += w
            row = rows[k, n + r]
            if c < 3:
                row[12 * body + c] -= w / h
                row[whole + 12 * body + c] += w / h
            else:
                for s in range(3):
                    row[12 * body + 3 + s] += w * turns[k, 0, body, c - 3, s]
                    row[whole + 12 * body + 3 + s] += w * turns[k, 1, body, c - 3, s]


@njit(**CACHED | MAKES_ARRAYS)
def add_impulses(
    nodes: np.ndarray, values: np.ndarray, slopes: np.ndarray, turns: np.ndarray,
    weights: np.ndarray, h: float, chain: np.ndarray, corner: np.ndarray, dense: np.ndarray,
) -> None:
    r"""Add missing impulses to the normal equations of a chain.

    With rows A of the derivatives of u, and B and C of d by the state and the next one, which
    have three numbers at most, those of velocities are :math:`w\,(-A, e)` and those of poses
    :math:`w\,(B - A, C)`. What is dense of both is one product of half as many rows.

    Args:
        nodes: As in :class:`MissingImpulses`, with all up to ``h``.
        values: Shape ``(K, 2 n)``.
        slopes: Shape ``(K, n, 12 b + k)``.
        turns: Shape ``(K, 2, b, 3, 3)``.
        weights: Shape ``(n,)``.
        h: Time between nodes in [s].
        chain: Is added to, as by :func:`~.chain_kernels.add_pairs`.
        corner: Is added to, as by :func:`~.chain_kernels.add_pairs`.
        dense: Workspace, shape ``(n, .)``, as wide as the chain.
    """
    n, root = len(weights), np.sqrt(2.0)
    whole, last = 2 * n, chain.shape[2] - 1
    for k in range(len(nodes)):
        here, after = chain[nodes[k]], chain[nodes[k] + 1]
        for r in range(n):
            w, row = weights[r], dense[r]
            for i in range(whole):
                row[i], row[whole + i] = root * w * slopes[k, r, i], 0.0
            for i in range(whole, slopes.shape[2]):
                row[whole + i] = root * w * slopes[k, r, i]
            row[last] = -(values[k, r] + values[k, n + r]) / root
            body, c = r // 6, r % 6
            row[whole + 12 * body + 6 + c] -= w / root
            if c < 3:
                row[whole + 12 * body + c] -= w / (root * h)
            else:
                for s in range(3):
                    row[whole + 12 * body + 3 + s] -= w / root * turns[k, 1, body, c - 3, s]
            _add_sparse(k, r, values, slopes, turns, w, h, here, after)
        _add_dense(dense, here, corner)


@njit(**CACHED | MAKES_ARRAYS)
def _add_dense(dense: np.ndarray, here: np.ndarray, corner: np.ndarray) -> None:
    """Add products of the columns of the state and of the parameters with all that follow."""
    whole, width = here.shape
    for r in range(0, len(dense), 2):
        u, v = dense[r], dense[r + 1]
        for i in range(whole):
            a, b, target = u[i], v[i], here[i]
            if a != 0.0 or b != 0.0:
                for j in range(i, width):
                    target[j] += a * u[j] + b * v[j]
        for i in range(len(corner)):
            a, b, target = u[2 * whole + i], v[2 * whole + i], corner[i]
            for j in range(i, len(corner) + 1):
                target[j] += a * u[2 * whole + j] + b * v[2 * whole + j]


@njit(**CACHED | MAKES_ARRAYS)
def _add_sparse(
    k: int, r: int, values: np.ndarray, slopes: np.ndarray, turns: np.ndarray, w: float, h: float,
    here: np.ndarray, after: np.ndarray,
) -> None:
    """Add products of what one row has of B, C and e."""
    whole, n = here.shape[0], here.shape[0] // 2
    count, last = slopes.shape[2] - whole, here.shape[1] - 1
    body, c = r // 6, r % 6
    speed = 12 * body + 6 + c
    after[speed, speed] += w * w
    after[speed, last] += w * values[k, r]
    for i in range(count):
        after[speed, 2 * whole + i] -= w * w * slopes[k, r, whole + i]
    first = 12 * body + c if c < 3 else 12 * body + 3
    for s in range(1 if c < 3 else 3):
        i = first + s
        before = -1.0 / h if c < 3 else turns[k, 0, body, c - 3, s]
        ahead = 1.0 / h if c < 3 else turns[k, 1, body, c - 3, s]
        for j in range(i, whole):
            here[i, j] -= w * w * before * slopes[k, r, j]
        for j in range(i + 1):
            here[j, i] -= w * w * before * slopes[k, r, j]
        for j in range(count):
            here[i, 2 * whole + j] -= w * w * before * slopes[k, r, whole + j]
            after[i, 2 * whole + j] -= w * w * ahead * slopes[k, r, whole + j]
        here[i, last] += w * before * values[k, n + r]
        after[i, last] += w * ahead * values[k, n + r]
        for t in range(1 if c < 3 else 3):
            j = first + t
            back = -1.0 / h if c < 3 else turns[k, 0, body, c - 3, t]
            on = 1.0 / h if c < 3 else turns[k, 1, body, c - 3, t]
            here[i, whole + j] += w * w * before * on
            if j >= i:
                here[i, j] += w * w * before * back
                after[i, j] += w * w * ahead * on


def _missing(sources: str) -> Callable[..., None]:
    """See :data:`fill_missing`; the digest is of what it calls of another file."""

    @njit(cache=True, **IN_ORDER)
    def fill_missing(
        h: float, states: np.ndarray, predicted: np.ndarray, weights: np.ndarray, exact: bool,
        values: np.ndarray, turns: np.ndarray,
    ) -> None:
        sources  # noqa: B018
        n = len(weights)
        twist = np.empty(n)
        for k in range(len(predicted)):
            twist_between(h, states[k], states[k + 1], exact, twist, turns[k, 0], turns[k, 1])
            for r in range(n):
                speed = states[k + 1, 13 * (r // 6) + 7 + r % 6]
                values[k, r] = weights[r] * (speed - predicted[k, r])
                values[k, n + r] = weights[r] * (twist[r] - predicted[k, r])

    return fill_missing


#: Weighted missing impulses between K + 1 states, from predicted velocities, shape ``(K, 2 n)``,
#: and what :class:`MissingImpulses` calls turns.
fill_missing = _missing(digest(*SOURCES))
