"""Efforts that joints gave and do not give any more, as they come in."""

from __future__ import annotations

import numpy as np


class LostEfforts:
    """Counts samples without a finite effort of joints that gave one before.

    A joint whose effort was never given has none to lose: nothing measures it.

    Args:
        joints: Number n of joints.

    Attributes:
        in_a_row: Samples without effort since the last one with it, shape ``(n,)``.
    """

    def __init__(self, joints: int) -> None:
        self.in_a_row = np.zeros(joints, dtype=int)
        self._given = np.zeros(joints, dtype=bool)

    def update(self, columns: np.ndarray, efforts: np.ndarray) -> int:
        """Take in samples of some joints.

        Args:
            columns: The k joints, by number.
            efforts: Their efforts in the order of arrival in [N·m] or [N], shape ``(R, k)``.

        Returns:
            Samples in which at least one of them has lost its effort.
        """
        there = np.isfinite(efforts)
        given = self._given[columns] | np.logical_or.accumulate(there, axis=0)
        since = np.where(there.any(axis=0), np.argmax(there[::-1], axis=0), len(there))
        before = np.where(there.any(axis=0), 0, self.in_a_row[columns])
        self.in_a_row[columns] = np.where(given[-1], before + since, 0)
        self._given[columns] = given[-1]
        return int(np.count_nonzero((given & ~there).any(axis=1)))
