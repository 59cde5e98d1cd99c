"""Stamps of messages as they come in: repeated, late, or from a clock that was reset."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np

# A reset clock stays back; a single late message does not. So many messages in a row tell the
# two apart, as they do for bags.
_RESET_MESSAGES = 5

# Before the first message, every stamp is new.
NEVER = np.iinfo(np.int64).min


class StampGate:
    """Lets every stamp of a joint pass once, and in order.

    A stamp that was there already, or an earlier one, is dropped and counted. When messages
    stay behind, their clock was reset: what follows is a segment of its own.

    Args:
        joints: Number of joints.
        reset_tolerance: Stamps that jump back further may be a reset clock, in [s].
        counts: Updated with the messages dropped.
    """

    def __init__(self, joints: int, reset_tolerance: float, counts: Counter[str]) -> None:
        self._tolerance = round(reset_tolerance * 1e9)
        self._counts = counts
        self._behind = 0
        # Stamp less steady time, of the messages that passed last: what a reset changes.
        self._lags: deque[int] = deque(maxlen=_RESET_MESSAGES)
        self._behind_lags: deque[int] = deque(maxlen=_RESET_MESSAGES)
        self.last = np.full(joints, NEVER)
        self.resets = 0

    def split(
        self, columns: np.ndarray, stamps: np.ndarray, steady: np.ndarray
    ) -> list[tuple[np.ndarray, bool]]:
        """Which messages pass.

        Args:
            columns: Joints that the messages hold, by number.
            stamps: Stamps in [ns] in the order of arrival, shape ``(R,)``.
            steady: Times of arrival on the steady clock in [ns], shape ``(R,)``.

        Returns:
            Rows that pass, in stretches, each with whether a new segment begins with it.
        """
        last = int(self.last[columns].max())
        if stamps[0] > last and bool((stamps[1:] > stamps[:-1]).all()):
            self._behind = 0
            self._passed(columns, stamps, steady)
            return [(np.arange(len(stamps)), False)]
        return self._split_one_by_one(columns, stamps, steady, last)

    def _split_one_by_one(
        self, columns: np.ndarray, stamps: np.ndarray, steady: np.ndarray, last: int
    ) -> list[tuple[np.ndarray, bool]]:
        stretches: list[tuple[list[int], bool]] = [([], False)]
        for row, stamp in enumerate(stamps.tolist()):
            if stamp > last:
                self._behind = 0
            elif self._restarts(stamp, last, int(steady[row])):
                stretches.append(([], True))
            else:
                continue
            last = stamp
            stretches[-1][0].append(row)
            self._passed(columns, stamps[row:row + 1], steady[row:row + 1])
        return [(np.array(rows, dtype=int), fresh) for rows, fresh in stretches if rows]

    def _passed(self, columns: np.ndarray, stamps: np.ndarray, steady: np.ndarray) -> None:
        self.last[columns] = stamps[-1]
        tail = slice(-_RESET_MESSAGES, None)
        self._lags.extend((stamps[tail] - steady[tail]).tolist())

    def _restarts(self, stamp: int, last: int, steady: int) -> bool:
        """Whether a stamp that is not new begins a segment; if not, it is counted."""
        if last - stamp > self._tolerance:
            self._behind += 1
            self._behind_lags.append(stamp - steady)
            if self._behind >= _RESET_MESSAGES:
                # A stamp that lay far ahead leaves the others behind without any reset.
                before, after = np.median(self._lags), np.median(self._behind_lags)
                self.resets += bool(after < before - self._tolerance)
                self._behind = 0
                self.last[:] = NEVER
                self._lags.clear()
                return True
        word = 'samples with a repeated stamp dropped' if stamp == last else (
            'stamps out of order dropped')
        self._counts[word] += 1
        return False
