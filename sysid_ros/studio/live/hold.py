"""Hold-to-run: a motion that goes on only while a page says again and again that it is held."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable


class HoldToRun:
    """Signs of life of the tab that holds a motion; their loss ends it.

    Args:
        patience: Longest time without a sign in [s].
        clock: Steady clock in [s].

    Attributes:
        patience: As given.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self._clock = patience, clock
        self._lock, self._tab, self._heard = threading.Lock(), '', -math.inf

    def begin(self, tab: str) -> None:
        """A tab holds a motion from now on."""
        with self._lock:
            self._tab, self._heard = tab, self._clock()

    def beat(self, tab: str) -> bool:
        """Take a sign of life; whether the tab still holds a motion.

        Args:
            tab: Who says it.
        """
        with self._lock:
            if not self._tab or tab != self._tab:
                return False
            # One that comes too late does not hold what is being stopped.
            if self._clock() - self._heard <= self.patience:
                self._heard = self._clock()
            return True

    def end(self) -> None:
        """Nothing is held any more: the motion has ended, or is being stopped."""
        with self._lock:
            self._tab = ''

    @property
    def held(self) -> bool:
        """Whether a motion is held."""
        return bool(self._tab)

    @property
    def lost(self) -> bool:
        """Whether a motion is held of which no sign came for too long."""
        with self._lock:
            return bool(self._tab) and self._clock() - self._heard > self.patience
