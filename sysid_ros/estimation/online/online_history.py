"""What an estimate that followed a robot has been, thinned: a month takes as much as an hour."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.online.change import Change
from sysid_ros.estimation.online.online import Committed, OnlineEstimate

# Instants that are held at most, and changes.
_MOST, _MOST_CHANGES = 400, 100


class Instant(NamedTuple):
    """The estimate at one time.

    Attributes:
        time: Seconds since 1970.
        relative_error: As in :class:`OnlineEstimate`.
        values: Of the parameters, shape ``(p,)``.
        deviations: Their standard deviations, shape ``(p,)``.
    """

    time: float
    relative_error: float
    values: np.ndarray
    deviations: np.ndarray


class FoundChange(NamedTuple):
    """A change, and when it was found.

    Attributes:
        time: Seconds since 1970.
        against: Name of what the robot was compared with.
        change: The change.
    """

    time: float
    against: str
    change: Change


class OnlineHistory:
    """Estimates of a robot that is followed, evenly spread over time, and changes of it.

    Attributes:
        newest: The last estimate; None before the first.
        committed: What it is compared with; None for nothing.
        instants: Estimates over time, the last of them the newest.
        changes: Changes in their order.
    """

    def __init__(self) -> None:
        self.newest: OnlineEstimate | None = None
        self.committed: Committed | None = None
        self.instants: list[Instant] = []
        self.changes: list[FoundChange] = []
        self._apart = 0.0

    def add(self, estimate: OnlineEstimate, committed: Committed | None) -> bool:
        """Take in an estimate.

        Args:
            estimate: The estimate.
            committed: What it was compared with.

        Returns:
            Whether a change was found that was not there before.
        """
        before = self.newest
        if before is not None and before.parameters.names != estimate.parameters.names:
            # It began anew with other joint terms.
            self.instants, self._apart = [], 0.0
        self.newest, self.committed = estimate, committed
        self._keep(Instant(
            estimate.time, estimate.relative_error, estimate.parameters.values,
            estimate.standard_deviation))
        change = estimate.change
        if change is None or (before is not None and _alike(before.change, change)):
            return False
        name = '' if committed is None else committed.name
        self.changes = [*self.changes, FoundChange(estimate.time, name, change)][-_MOST_CHANGES:]
        return True

    def _keep(self, instant: Instant) -> None:
        """Keep an instant; the last one gives way to it while it is too near to that before."""
        instants = self.instants
        if len(instants) > 1 and instants[-1].time < instants[-2].time + self._apart:
            instants.pop()
        instants.append(instant)
        if len(instants) > _MOST:
            self.instants = [*instants[:-1:2], instants[-1]]
            self._apart = (instant.time - instants[0].time) / (_MOST // 2)


def _alike(before: Change | None, change: Change) -> bool:
    return before is not None and (before.kind, before.where) == (change.kind, change.where)
