"""Traces of joint states over the last seconds, decimated for the eye."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from sysid_ros.recording.bag.joint_state_cdr import FIELDS, Batch, JointStateDecoder

# Joints that a stranger's messages may make us remember.
_MOST_JOINTS = 64
# Time over which the rate of messages is counted in [s].
_RATE_OVER = 1.0


class JointTraces:
    """Position, velocity and effort of every joint that is heard, at a rate that can be drawn.

    Filled in by one thread, read by others.

    Args:
        seconds: How far back they go in [s].
        rate: Points per second in [Hz].

    Attributes:
        damaged: Batches that held a message which could not be decoded.
    """

    def __init__(self, seconds: float = 10.0, rate: float = 50.0) -> None:
        self._bin, self.damaged = round(1e9 / rate), 0
        self._decoder, self._lock = JointStateDecoder(), threading.Lock()
        self._columns: dict[str, int] = {}
        self._now = np.full((len(FIELDS), 0), np.nan)
        self._points: deque[tuple[int, int, np.ndarray]] = deque(maxlen=round(seconds * rate))
        self._arrivals: deque[tuple[int, int]] = deque()
        self._count, self._last_bin = 0, -1

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order in which they were first heard."""
        return tuple(self._columns)

    def receive(self, payloads: Sequence[bytes], received: Sequence[int]) -> None:
        """Take in serialized messages.

        Args:
            payloads: The messages, in the order of arrival.
            received: When each came in [ns] since 1970.
        """
        if not payloads:
            return
        try:
            batches = self._decoder.decode(payloads)
        except Exception:  # noqa: BLE001 (rosbags raises errors of many kinds)
            self.damaged += 1
            return
        stamps = np.asarray(received, dtype=np.int64)
        with self._lock:
            self._arrivals.append((int(stamps[-1]), len(payloads)))
            for batch in batches:
                self._take(batch, stamps[batch.rows])

    def _take(self, batch: Batch, stamps: np.ndarray) -> None:
        """Keep the last message of every bin of time."""
        columns = self._columns_of(batch.names)
        bins = stamps // self._bin
        last = np.flatnonzero(np.append(np.diff(bins) != 0, True))
        for row in last.tolist():
            for number, name in enumerate(FIELDS):
                values = batch.values[name][row]
                if len(values) == len(columns):
                    self._now[number, columns] = values
            point = (self._count, int(stamps[row]), self._now.copy())
            if bins[row] == self._last_bin and self._points:
                self._points[-1] = (self._points[-1][0], *point[1:])
                continue
            self._last_bin = int(bins[row])
            self._points.append(point)
            self._count += 1

    def _columns_of(self, names: Sequence[str]) -> np.ndarray:
        new = [name for name in names if name not in self._columns]
        for name in new[:_MOST_JOINTS - len(self._columns)]:
            self._columns[name] = len(self._columns)
        missing = len(self._columns) - self._now.shape[1]
        if missing:
            self._now = np.pad(self._now, ((0, 0), (0, missing)), constant_values=np.nan)
        return np.array([self._columns[name] for name in names if name in self._columns], int)

    def rate(self, now: int) -> float:
        """Messages per second over the last second.

        Args:
            now: The time in [ns] since 1970.
        """
        with self._lock:
            while self._arrivals and now - self._arrivals[0][0] > 1e9 * _RATE_OVER:
                self._arrivals.popleft()
            return sum(count for _, count in self._arrivals) / _RATE_OVER

    def age(self, now: int) -> float:
        """Time since the last message in [s]; infinite before the first.

        Args:
            now: The time in [ns] since 1970.
        """
        with self._lock:
            return 1e-9 * (now - self._points[-1][1]) if self._points else math.inf

    def latest(self) -> np.ndarray:
        """Position, velocity and effort of every joint now, shape ``(3, n)``; NaN: not known."""
        with self._lock:
            return self._now.copy()

    def since(self, number: int, now: int) -> dict[str, Any]:
        """Points from one on, as plain values for a page.

        Args:
            number: Number of the first point that is wanted; the last point may still change.
            now: The time in [ns] since 1970.

        Returns:
            ``joints``; ``next``, the number to ask for next time; and ``points``, each its number,
            its age in [s], and rows of positions, velocities and efforts, None where not known.
        """
        with self._lock:
            points, known = list(self._points), list(self._columns)
        return {
            'joints': known, 'next': points[-1][0] if points else 0,
            'points': [
                (index, round(1e-9 * (now - stamp), 3), *(_plain(row) for row in values))
                for index, stamp, values in points if index >= number]}


def _plain(row: np.ndarray) -> list[float | None]:
    return [float(f'{value:.5g}') if math.isfinite(value) else None for value in row.tolist()]
