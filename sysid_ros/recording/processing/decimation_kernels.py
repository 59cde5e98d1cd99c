"""What recurs from block to block of a filtered signal, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import ENTRY


@njit(**ENTRY)
def run_over_blocks(
    transition: np.ndarray, parts: np.ndarray, state: np.ndarray, backwards: bool
) -> None:
    r"""Linear recurrence :math:`p_i \leftarrow p_i + T s_i`, with the next state atop each part.

    Args:
        transition: T, of the state in a part, shape ``(m, k)``.
        parts: What each of the B blocks adds, shape ``(B, m, C)``; replaced by the sums.
        state: Before the first block, shape ``(k, C)``; replaced by that behind the last.
        backwards: Whether the last block comes first.
    """
    rows, size = transition.shape
    columns = state.shape[1]
    for number in range(len(parts)):
        part = parts[len(parts) - 1 - number if backwards else number]
        for row in range(rows):
            for j in range(size):
                # Along columns, which lie side by side.
                for column in range(columns):
                    part[row, column] += transition[row, j] * state[j, column]
        for row in range(size):
            for column in range(columns):
                state[row, column] = part[row, column]
