"""Sensors that freeze while their stamps go on, seen as it happens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_ros.recording.checks.faults import stuck_runs


class Stillness:
    """How long each joint's position has been the same to the bit, and whether it is stuck.

    A joint at rest repeats its value too; what tells a stuck sensor is that it stops dead in
    mid-motion. Each stretch of equal values is looked at once, when it has lasted long enough.

    Args:
        joints: Number of joints.
        frozen_after: Shortest stretch that counts, in [s].
    """

    def __init__(self, joints: int, frozen_after: float) -> None:
        self._frozen_after = round(frozen_after * 1e9)
        self._value = np.full(joints, np.nan)
        self._since = np.zeros(joints, dtype=np.int64)
        self._judged = np.zeros(joints, dtype=bool)
        self.stuck = np.zeros(joints, dtype=bool)

    def forget(self) -> None:
        """Begin anew, for a new segment."""
        self._value[:] = np.nan
        self.stuck[:] = False

    def update(
        self, columns: np.ndarray, stamps: np.ndarray, values: np.ndarray,
        history: Callable[[int], tuple[np.ndarray, ...]],
    ) -> int:
        """Update with new samples.

        Args:
            columns: Joints that were measured, by number, shape ``(k,)``.
            stamps: Stamps in [ns], increasing, shape ``(R,)``.
            values: Their positions, shape ``(R, k)``.
            history: Stamps and positions of one joint in the last seconds, with these.

        Returns:
            How many sensors were found stuck.
        """
        before = self._value[columns][None]
        if len(values) > 1:
            before = np.concatenate([before, values[:-1]])
        changes = values != before
        changed = changes.any(axis=0)
        latest = len(stamps) - 1 - np.argmax(changes[::-1], axis=0)
        self._since[columns[changed]] = stamps[latest[changed]]
        self._judged[columns[changed]] = False
        self.stuck[columns[changed]] = False
        self._value[columns] = values[-1]
        still = stamps[-1] - self._since[columns] > self._frozen_after
        found = 0
        for joint in columns[still & ~self._judged[columns]].tolist():
            self._judged[joint] = True
            self.stuck[joint] = self._stopped_dead(*history(joint))
            found += int(self.stuck[joint])
        return found

    def _stopped_dead(self, stamps: np.ndarray, values: np.ndarray) -> bool:
        if len(stamps) < 2 or stamps[-1] == stamps[0]:
            return False
        period = (stamps[-1] - stamps[0]) / (len(stamps) - 1)
        least = max(int(np.ceil(self._frozen_after / period)), 2)
        runs = stuck_runs(values, least)
        return bool(runs) and runs[-1][0] > 0 and runs[-1][1] == len(values)
