"""How far a batch is, and how long it takes to the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sysid_ros.fleet.fit import FitOutcome
from sysid_ros.fleet.record import FitStatus

#: Takes a line that says how far a batch is.
Show = Callable[[str], None]


@dataclass
class Progress:
    """Counts what is done, and says how long the rest takes at the pace so far.

    Attributes:
        total: Number of fits.
        clock: Time in [s].
    """

    total: int
    clock: Callable[[], float] = time.monotonic
    _done: int = 0
    _fitted: int = 0
    _status: Counter[FitStatus] = field(default_factory=Counter)
    _start: float = 0.0

    def __post_init__(self) -> None:
        self._start = self.clock()

    def add(self, outcome: FitOutcome) -> None:
        """Count a fit that is done."""
        self._done += 1
        self._fitted += outcome.fitted
        self._status[outcome.record.status] += 1

    @property
    def seconds_to_go(self) -> float | None:
        """Time to the end in [s] if all the rest has to be fitted; None before a fit is done."""
        if not self._fitted:
            return None
        return (self.clock() - self._start) / self._fitted * (self.total - self._done)

    def line(self) -> str:
        """How far it is, for people."""
        parts = [f'{self._done} of {self.total}']
        if self._done > self._fitted:
            parts.append(f'{self._done - self._fitted} as they were')
        if self._status[FitStatus.FAILED]:
            parts.append(f'{self._status[FitStatus.FAILED]} failed')
        if (left := self.seconds_to_go) is not None and self._done < self.total:
            parts.append(f'{duration(left)} to go')
        return ', '.join(parts)


def duration(seconds: float) -> str:
    """A time in [s] for people, as ``40 s``, ``12 min`` or ``3 h 5 min``."""
    if seconds < 100.0:
        return f'{seconds:.0f} s'
    minutes = round(seconds / 60.0)
    return f'{minutes} min' if minutes < 100 else f'{minutes // 60} h {minutes % 60} min'
