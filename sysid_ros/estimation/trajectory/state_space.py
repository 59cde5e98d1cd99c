"""Spaces that states live in: vectors, with orientations as unit quaternions among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Below this angle in [rad] a series replaces what would be divided by it.
_SMALL = 1e-4


@dataclass(frozen=True)
class StateSpace:
    r"""States of ``size`` numbers, some of which are quaternions (x, y, z, w).

    A step has one number for each coordinate, and for each quaternion a rotation vector in the
    world's axes: :math:`q' = \exp(\tfrac12\omega) \otimes q`.

    Args:
        size: Numbers of a state.
        quaternions: Where quaternions begin, increasing.
    """

    size: int
    quaternions: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """Numbers of a step."""
        return self.size - len(self.quaternions)

    def moved(self, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """States after steps.

        Args:
            states: Shape ``(S, size)``.
            steps: Shape ``(S, dimension)``.

        Returns:
            Shape ``(S, size)``.
        """
        if not self.quaternions:
            return np.asarray(states + steps)
        result = states.copy()
        vectors, turns = self._split()
        result[:, vectors[0]] += steps[:, vectors[1]]
        for whole, turn in turns:
            result[:, whole] = quaternion_product(
                quaternion_of(steps[:, turn]), states[:, whole])
            # Rounding would add up over many steps.
            result[:, whole] /= np.linalg.norm(result[:, whole], axis=1)[:, None]
        return result

    def between(self, states: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The steps from states to others, the inverse of :meth:`moved`; ``(S, dimension)``.

        Args:
            states: Shape ``(S, size)``.
            others: Shape ``(S, size)``.
        """
        if not self.quaternions:
            return np.asarray(others - states)
        steps = np.empty((len(states), self.dimension))
        vectors, turns = self._split()
        steps[:, vectors[1]] = others[:, vectors[0]] - states[:, vectors[0]]
        for whole, turn in turns:
            back = states[:, whole] * [-1.0, -1.0, -1.0, 1.0]
            steps[:, turn] = rotation_vector_of(quaternion_product(others[:, whole], back))
        return steps

    def _split(
        self
    ) -> tuple[tuple[np.ndarray, np.ndarray], list[tuple[slice, slice]]]:
        """Vector coordinates in states and in steps, and the same of every quaternion."""
        alone = np.ones(self.size, dtype=bool)
        turned = np.ones(self.dimension, dtype=bool)
        turns = []
        for count, start in enumerate(self.quaternions):
            whole, turn = slice(start, start + 4), slice(start - count, start - count + 3)
            alone[whole], turned[turn] = False, False
            turns.append((whole, turn))
        return (np.flatnonzero(alone), np.flatnonzero(turned)), turns


def quaternion_of(vector: np.ndarray) -> np.ndarray:
    """Unit quaternions (x, y, z, w) of rotation vectors in [rad], ``(S, 3)`` to ``(S, 4)``."""
    angle = np.linalg.norm(vector, axis=1)[:, None]
    # sin(x / 2) / x
    with np.errstate(invalid='ignore', divide='ignore'):
        part = np.where(
            angle < _SMALL, 0.5 - angle**2 / 48.0, np.sin(0.5 * angle) / angle)
    return np.hstack([part * vector, np.cos(0.5 * angle)])


def rotation_vector_of(quaternion: np.ndarray) -> np.ndarray:
    """Shortest rotation vectors in [rad] of unit quaternions, ``(S, 4)`` to ``(S, 3)``."""
    sign = np.where(quaternion[:, 3:] < 0.0, -1.0, 1.0)
    vector, real = sign * quaternion[:, :3], sign * quaternion[:, 3:]
    sine = np.linalg.norm(vector, axis=1)[:, None]
    with np.errstate(invalid='ignore', divide='ignore'):
        # angle / sin(angle / 2)
        part = np.where(sine < _SMALL, 2.0 + sine**2 / 3.0, 2.0 * np.arctan2(sine, real) / sine)
    return np.asarray(part * vector)


def quaternion_product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Products of quaternions (x, y, z, w), shape ``(S, 4)``: rotate by the second, then first."""
    u, a = first[:, :3], first[:, 3:]
    v, b = second[:, :3], second[:, 3:]
    return np.hstack([
        a * v + b * u + np.cross(u, v), a * b - np.sum(u * v, axis=1, keepdims=True)])
