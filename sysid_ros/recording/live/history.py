"""Samples of the last seconds, as they came and merged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.recording.bag.joint_state_cdr import FIELDS


@dataclass(frozen=True, eq=False)
class _Block:
    """Samples of some joints that came together; stamps in [ns], one column per joint."""

    columns: np.ndarray
    stamps: np.ndarray
    values: Mapping[str, np.ndarray]

    def rows(self, quantity: str, column: int | slice) -> np.ndarray:
        """Samples of one quantity; NaN when it was not given."""
        values = self.values.get(quantity)
        if values is None:
            values = np.full((len(self.stamps), len(self.columns)), np.nan)
        return values[:, column]


class LiveHistory:
    """Samples of n joints, kept for some time.

    Args:
        joints: Number of joints.
        seconds: How long they are kept.
    """

    def __init__(self, joints: int, seconds: float) -> None:
        self._joints = joints
        self._kept = round(seconds * 1e9)
        self._blocks: deque[_Block] = deque()
        self._last: int | None = None

    def add(
        self, columns: np.ndarray, stamps: np.ndarray, values: Mapping[str, np.ndarray]
    ) -> None:
        """Append samples.

        Args:
            columns: Joints, by number and increasing, shape ``(k,)``.
            stamps: Stamps in [ns], increasing, shape ``(R,)``.
            values: Quantity to samples, shape ``(R, k)``.
        """
        self._blocks.append(_Block(columns, stamps, values))
        newest = int(stamps[-1])
        self._last = newest if self._last is None else max(self._last, newest)
        oldest = self._last - self._kept
        while self._blocks[0].stamps[-1] < oldest:
            self._blocks.popleft()

    def clear(self) -> None:
        """Forget all."""
        self._blocks.clear()
        self._last = None

    def of_joint(
        self, joint: int, quantities: Sequence[str], seconds: float
    ) -> tuple[np.ndarray, ...]:
        """Stamps in [ns] and samples of one joint in the last seconds, oldest first.

        Args:
            joint: Its number.
            quantities: What is wanted of it.
            seconds: How far back.
        """
        parts = []
        for block in self._since(seconds):
            at = np.flatnonzero(block.columns == joint)
            if len(at):
                rows = (block.rows(name, int(at[0])) for name in quantities)
                parts.append((block.stamps, *rows))
        return self._joined(parts, [() for _ in quantities], seconds)

    def window(self, seconds: float) -> tuple[np.ndarray, ...]:
        """Stamps in [ns], positions, velocities and efforts of all joints, merged.

        Joints that come in messages of their own are taken as they were last known.

        Args:
            seconds: How far back.

        Returns:
            Stamps, shape ``(T,)``, and three arrays of shape ``(T, n)``.
        """
        blocks = self._since(seconds)
        if all(len(block.columns) == self._joints for block in blocks):
            every = slice(None)
            parts = [
                (block.stamps, *(block.rows(name, every) for name in FIELDS)) for block in blocks]
            return self._joined(parts, [(self._joints,)] * len(FIELDS), seconds)
        columns = [self.of_joint(joint, FIELDS, seconds) for joint in range(self._joints)]
        stamps = min((own[0] for own in columns), key=len)
        rows = [np.searchsorted(own[0], stamps, side='right') - 1 for own in columns]
        known = np.min(rows, axis=0) >= 0
        return stamps[known], *(
            np.stack([own[1 + k][row[known]] for own, row in zip(columns, rows, strict=True)], 1)
            for k in range(len(FIELDS)))

    def _since(self, seconds: float) -> list[_Block]:
        first = self._first(seconds)
        found: list[_Block] = []
        for block in reversed(self._blocks):
            if block.stamps[-1] < first:
                break
            found.append(block)
        return found[::-1]

    def _first(self, seconds: float) -> int:
        # Whole nanoseconds since 1970 do not fit into a float.
        return 0 if self._last is None else self._last - round(seconds * 1e9)

    def _joined(
        self, parts: Sequence[tuple[np.ndarray, ...]], shapes: Sequence[tuple[int, ...]],
        seconds: float,
    ) -> tuple[np.ndarray, ...]:
        if not parts:
            return np.empty(0, dtype=np.int64), *(np.empty((0, *shape)) for shape in shapes)
        joined = tuple(np.concatenate(own) for own in zip(*parts, strict=True))
        near = joined[0] >= self._first(seconds)
        return tuple(own[near] for own in joined)
