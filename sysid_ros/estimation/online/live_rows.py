"""Rows of a regression from joint states as they come in.

Stretches that overlap by as much as the filters remember are aligned on one clock, so that every
row is made once and is that of the whole recording. A row is as late as the filters need to see
what comes after it; that would be twice as late for rounding alone to be left of the cuts.
"""

from __future__ import annotations

import math

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.rows import PassingStore, RowBuilder, Rows
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.recording.processing.align import Clock
from sysid_ros.recording.processing.windows import follows

# Of an impulse response, in parts of its slowest mode, where its tail is cut off.
_LEFT = 1e-5


class LiveRows:
    """Makes rows of joint states that come in.

    Args:
        setup: What joint states mean, how they are filtered, and which rows count.

    Attributes:
        problem: Why the last joint states gave no row, in words; empty when they gave some.
    """

    def __init__(self, setup: FitSetup) -> None:
        self._setup = setup
        self._start = math.nan
        self.problem = ''
        self._first = 0.0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._clock, self._until = Clock(), -math.inf
        self._last: Dataset | None = None
        # What is asked for, and what is needed: a window begins with the sample after its time.
        self._overlap = self._needed = 0.0
        self._builder = RowBuilder(
            self._setup.model, self._setup.settings.processing.parallel_filter,
            self._setup.settings.fit.minimum_velocity, PassingStore(), left=_LEFT)

    @property
    def rate(self) -> float:
        """Rows per second in [Hz]; NaN before the first joint states."""
        rate, parallel = self._clock.rate, self._builder.parallel
        return math.nan if rate is None else rate / parallel.factor(rate)

    @property
    def since(self) -> float:
        """Time in [s] since 1970 from which on joint states are needed; minus infinity for all."""
        return self._start + self._until - self._overlap if self._until > -math.inf else -math.inf

    @property
    def until(self) -> float:
        """Time in [s] since 1970 up to which joint states became rows."""
        return self._start + self._until

    def take(self, window: LiveWindow) -> Rows | None:
        """Rows that have become complete, each once.

        Args:
            window: Joint states that reach back to :attr:`since` at least; if they do not, or
                the clock was set back, what comes is taken for the beginning of a recording.

        Returns:
            The rows; None if there are none yet.
        """
        if not len(window.t):
            return None
        if math.isnan(self._start):
            self._start = window.begin
        begin, end = window.begin - self._start, window.begin - self._start + window.duration
        lost = begin > max(self._until - self._needed, self._first)
        if lost or end < self._until:
            self._begin_anew()
            self._first = begin
        try:
            self._add(window, end)
        except RecordingError as error:
            self.problem = str(error)
            return None
        self.problem = ''
        return self._builder.drain()

    def _add(self, window: LiveWindow, end: float) -> None:
        needed = window.after(self.since)
        recording = needed.recording(self._setup.settings.recording, self._start)
        dataset, clock = self._setup.align_from(self._clock, recording)
        self._needed = self._setup.settings.processing.reach(dataset.rate, _LEFT)
        self._overlap = self._needed + 2.0 / dataset.rate
        first, stop = self._until, end - self._overlap
        if stop <= max(first, float(dataset.t[0])):
            return
        core = dataset.between(first, stop)
        self._builder.add(core, self._follows(core, clock))
        self._clock, self._last, self._until = clock, core, stop

    def _follows(self, core: Dataset, clock: Clock) -> bool:
        return self._last is not None and follows(self._last, core, self._clock, clock)
