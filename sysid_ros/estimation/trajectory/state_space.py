"""Spaces that states live in: vectors, with orientations as unit quaternions among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation


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
            step, state = Rotation.from_rotvec(steps[:, turn]), Rotation.from_quat(states[:, whole])
            result[:, whole] = (step * state).as_quat()
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
            here, there = Rotation.from_quat(states[:, whole]), Rotation.from_quat(others[:, whole])
            steps[:, turn] = (there * here.inv()).as_rotvec()
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
