"""A long recording aligned window by window, as if it had been aligned at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.long_bag import LongBag
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.align import Clock, align, align_from, common_rate
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Recording

# A window is at least so many times longer than its overlap with the next.
_LEAST = 4.0

# A number that stands alone, and is no part of a name.
_NUMBER = re.compile(r"(?<![\w'.])\d+(\.\d+)?(e[+-]?\d+)?(?![\w'])")


@dataclass(frozen=True, eq=False)
class Part:
    """One window's share of a data set.

    Attributes:
        dataset: Motion and torque.
        goes_on: Whether it follows the part before without a gap.
    """

    dataset: Dataset
    goes_on: bool


@dataclass(frozen=True)
class _Window:
    """A stretch of time in [s], what is read to align it, and what is trimmed of that."""

    start: float
    stop: float
    first: float
    last: float
    trim: tuple[float, float]


@dataclass
class AlignedWindows:
    """The data set of a long bag, in parts.

    Windows overlap by as much as filters remember, on one clock; each gives the part between
    its overlaps. What is masked as stuck or saturated is decided within each window.

    Attributes:
        bag: The bag.
        joint_names: Joints of the model, in the order of the columns wanted.
        processing: Filters, derivatives, gaps.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        effort_limits: Largest torque by joint in [N·m] or [N].
        start: Where to begin, as a fraction of the bag's duration.
        stop: Where to end.
        warnings: What there is to say; complete when all parts were taken.
    """

    bag: LongBag
    joint_names: Sequence[str]
    processing: Processing
    continuous: frozenset[str]
    effort_limits: Mapping[str, float]
    start: float = 0.0
    stop: float = 1.0
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        periods = [self.bag.periods[name] for name in self.joint_names if name in self.bag.periods]
        if not periods:
            raise RecordingError(
                'none of the joints was recorded', where=str(self.bag.path),
                found=', '.join(self.bag.periods), allowed=', '.join(self.joint_names),
                fix='Name the joints of this bag in recording: {joints: […]}, or take another bag',
            )
        self.rate = common_rate(periods, self.processing, str(self.bag.path))
        self._windows = self._cut()

    def __iter__(self) -> Iterator[Part]:
        """Align window by window.

        Raises:
            RecordingError: No window can be used; what is wrong with the first is said.
            ConfigurationError: A filter does not fit the sampling rate.
        """
        clock, last = Clock(self.rate), None
        problem: RecordingError | None = None
        self.warnings[:] = [self._sentence()]
        for window in self._windows:
            try:
                dataset, following = self._align(window, clock)
                core = dataset.between(window.start, window.stop)
            except RecordingError as error:
                problem = problem or error
                self.warnings.append(f'a window could not be used: {error}')
                continue
            if last is not None:
                core = self._unwrapped(core, dataset, last)
            goes_on = last is not None and follows(last, core, clock, following)
            clock, last = following, core
            self.warnings += core.warnings
            yield Part(core, goes_on)
        if last is None and problem is not None:
            raise problem
        self.warnings[:] = without_repetition(self.warnings)

    def sample(self) -> tuple[Recording, Dataset]:
        """One window's recording and data set: that in the middle, if it can be used.

        Raises:
            RecordingError: No window can be used; what is wrong with the first tried is said.
            ConfigurationError: A filter does not fit the sampling rate.
        """
        middle = len(self._windows) // 2
        problem: RecordingError | None = None
        for window in sorted(self._windows, key=lambda one: abs(self._windows.index(one) - middle)):
            try:
                recording = self.bag.between(window.start, window.stop)
                return recording, align(
                    recording, self.joint_names, self.processing, self.continuous,
                    self.effort_limits,
                )
            except RecordingError as error:
                problem = problem or error
        assert problem is not None  # there is a window at least
        raise problem

    def _cut(self) -> list[_Window]:
        first, last = self.start * self.bag.duration, self.stop * self.bag.duration
        overlap, trim = self.processing.overlap(self.rate), self.processing.trim
        shortest = max(_LEAST * overlap, sum(trim) + overlap)
        longest = max(self.bag.window - 2 * overlap, shortest)
        count = max(min(math.ceil((last - first) / longest), int((last - first) / shortest)), 1)
        edges = np.linspace(first, last, count + 1).tolist()
        windows = []
        for k, (start, stop) in enumerate(pairwise(edges)):
            begins = k == 0 and self.start == 0.0
            ends = k == count - 1 and self.stop == 1.0
            windows.append(_Window(
                -math.inf if begins else start, math.inf if ends else stop,
                # What lies beyond a part of the bag must not leak into it.
                -math.inf if begins else max(start - overlap, first),
                math.inf if ends else min(stop + overlap, last),
                (trim[0] if begins else 0.0, trim[1] if ends else 0.0),
            ))
        return windows

    def _align(self, window: _Window, clock: Clock) -> tuple[Dataset, Clock]:
        processing = self.processing.model_copy(update={'trim': window.trim})
        return align_from(
            clock, self.bag.between(window.first, window.last), self.joint_names, processing,
            self.continuous, self.effort_limits,
        )

    def _unwrapped(self, core: Dataset, dataset: Dataset, last: Dataset) -> Dataset:
        """Positions of joints that turn on, going on from those of the part before."""
        at = int(np.searchsorted(dataset.t, last.t[-1]))
        shared = at < len(dataset) and dataset.t[at] == last.t[-1]
        here = dataset.q[at] if shared else core.q[0]
        turns = np.rint((last.q[-1] - here) / (2 * np.pi))
        turns[[name not in self.continuous for name in self.joint_names]] = 0.0
        return replace(core, q=core.q + 2 * np.pi * turns) if turns.any() else core

    def _sentence(self) -> str:
        count = len(self._windows)
        span = (self.stop - self.start) * self.bag.duration / count
        return (
            f'the bag needs more memory than recording.memory_limit allows, '
            f'{self.bag.settings.memory_limit:g} MB, so it was read in {count} windows of '
            f'{span:.4g} s, and stuck sensors and saturated torques were looked for in each'
        )


def follows(last: Dataset, core: Dataset, before: Clock, now: Clock) -> bool:
    """Whether a part follows the last one: on the same count, one period later.

    Args:
        last: The part before.
        core: The part.
        before: Clock of the part before.
        now: Clock of the part.
    """
    slack = 0.5 / core.rate
    same = before.anchor((float(last.t[-1]), np.inf), slack) == now.anchor(
        (float(core.t[0]), np.inf), slack)
    return same and float(core.t[0] - last.t[-1]) < 1.5 / core.rate


def without_repetition(sentences: Iterable[str]) -> tuple[str, ...]:
    """Sentences that differ in numbers only are said once, with how often there are more.

    Args:
        sentences: What windows have to say.
    """
    kinds: dict[str, list[str]] = {}
    for sentence in dict.fromkeys(sentences):
        kinds.setdefault(_NUMBER.sub('#', sentence), []).append(sentence)
    return tuple(
        same[0] if len(same) == 1 else f'{same[0]} (and {len(same) - 1} times more)'
        for same in kinds.values()
    )
