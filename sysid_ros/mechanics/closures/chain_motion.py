"""Motion of all joints of a closed chain, and the projection of tree rows on its driven joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Samples of the tree's regressor at a time, so that it stays in the cache.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class ChainMotion:
    r"""Motion of all m joints of the tree, from that of the n driven ones.

    Attributes:
        q: Positions in [rad] or [m], shape ``(T, m)``.
        v: Velocities, shape ``(T, m)``.
        a: Accelerations, shape ``(T, m)``.
        coupling: The matrix G, shape ``(T, m, n)``, with :math:`\dot q = G \dot q_a`.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    coupling: np.ndarray

    def on_driven(self, rows: np.ndarray) -> np.ndarray:
        r"""Rows of torques of the tree as the driven joints feel them, :math:`G^T Y`.

        Args:
            rows: Shape ``(T, m, ...)``.

        Returns:
            Shape ``(T, n, ...)``.
        """
        flat = rows.reshape(*rows.shape[:2], -1)
        projected = np.swapaxes(self.coupling, 1, 2) @ flat
        return projected.reshape(len(rows), self.coupling.shape[2], *rows.shape[2:])

    def driven_rows(
        self, rows: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Rows that a function of the tree's motion gives, as the driven joints feel them.

        Args:
            rows: Gives ``(K, m, p)`` for q, v and a of K samples. It is asked for few samples
                at a time, since rows of the tree are many more than those that are left.

        Returns:
            Shape ``(T, n, p)``.
        """
        parts = []
        for start in range(0, max(len(self.q), 1), _BLOCK):
            block = slice(start, start + _BLOCK)
            part = ChainMotion(self.q[block], self.v[block], self.a[block], self.coupling[block])
            parts.append(part.on_driven(rows(part.q, part.v, part.a)))
        return np.concatenate(parts)
