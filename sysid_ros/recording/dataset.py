"""The aligned, frozen view of a recording that an estimation problem needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.recording import frozen_array

# Stamps inside a segment may stray from a uniform clock by this part of a period.
_UNIFORM = 1e-3
# Rates of data sets that are joined may differ by this part: stamps then stay within the above.
_SAME_RATE = 5e-4


@dataclass(frozen=True, eq=False)
class Dataset:
    """Motion and torque of named joints on a uniform clock, write-locked.

    Attributes:
        joint_names: Joints, one per column.
        t: Time in [s], shape ``(T,)``.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities in [rad/s] or [m/s], shape ``(T, n)``.
        a: Accelerations in [rad/s²] or [m/s²], shape ``(T, n)``.
        tau: Joint torques in [N·m] or forces in [N], shape ``(T, n)``.
        mask: True where a torque sample is usable, shape ``(T, n)``. Values that
            are masked are finite but mean nothing.
        segments: Half-open index ranges, one after the other; sampling is uniform
            inside each, and nothing was interpolated from one to the next.
        rate: Sampling rate in [Hz].
        source: Where the data came from, for people.
        sha256: Hash of the source files.
        warnings: What a reader of the result has to know, as sentences.
        counts: How often each fault was found and mended.

    Raises:
        RecordingError: Shapes disagree, a joint is named twice, a value is not finite (the joint
            and time are named), or the segments are not uniform ranges that cover all rows.
    """

    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    mask: np.ndarray
    segments: tuple[tuple[int, int], ...]
    rate: float
    source: str = ''
    sha256: str = ''
    warnings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'joint_names', tuple(self.joint_names))
        for name in ('t', 'q', 'v', 'a', 'tau'):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        object.__setattr__(self, 'mask', frozen_array(self.mask, bool))
        object.__setattr__(self, 'segments', tuple((int(i), int(j)) for i, j in self.segments))
        object.__setattr__(self, 'warnings', tuple(self.warnings))
        object.__setattr__(self, 'counts', MappingProxyType(dict(self.counts)))
        self._check_shapes()
        self._check_finite()
        self._check_segments()

    @classmethod
    def joined(cls, datasets: Sequence[Dataset]) -> Dataset:
        """Several data sets as one, the times of each going on from those before.

        Each begins a segment: nothing reaches from one to the next.

        Args:
            datasets: One at least, of the same joints at the same rate.

        Raises:
            RecordingError: The joints or the rates differ.
        """
        first = datasets[0]
        if len(datasets) == 1:
            return first
        _require_alike(datasets)
        rows = np.cumsum([0, *(len(part) for part in datasets)])
        times, last = [], first.t[0] - 1.0 / first.rate
        for part in datasets:
            times.append(part.t + (last + 1.0 / first.rate - part.t[0]))
            last = times[-1][-1]
        columns = {
            name: np.concatenate([getattr(part, name) for part in datasets])
            for name in ('q', 'v', 'a', 'tau', 'mask')}
        return cls(
            first.joint_names, np.concatenate(times), **columns,
            segments=tuple(
                (int(row) + start, int(row) + stop)
                for row, part in zip(rows[:-1], datasets, strict=True)
                for start, stop in part.segments),
            rate=first.rate, source=', '.join(part.source for part in datasets),
            sha256=', '.join(part.sha256 for part in datasets),
            warnings=tuple(dict.fromkeys(
                warning for part in datasets for warning in part.warnings)),
            counts=dict(sum((Counter(part.counts) for part in datasets), Counter[str]())))

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """Time covered by the segments in [s]; gaps do not count."""
        return len(self.t) / self.rate

    def subset(self, start_fraction: float, stop_fraction: float) -> Dataset:
        """The rows between two fractions of all rows.

        Args:
            start_fraction: First row, as a fraction of all rows, from 0.
            stop_fraction: Row after the last, as a fraction of all rows, to 1.

        Raises:
            RecordingError: The fractions are not in order, or hold no row.
        """
        if not 0 <= start_fraction < stop_fraction <= 1:
            raise RecordingError(
                'the fractions are not a part of the data',
                found=f'{start_fraction} to {stop_fraction}', allowed='0 <= start < stop <= 1',
                fix='Name a start before its stop, as 0.0 and 0.7',
            )
        return self._rows(round(start_fraction * len(self)), round(stop_fraction * len(self)))

    def between(self, start: float, stop: float) -> Dataset:
        """The rows with ``start <= t < stop``, in [s].

        Raises:
            RecordingError: There is no such row.
        """
        return self._rows(*(int(row) for row in np.searchsorted(self.t, (start, stop))))

    def moving(self, threshold: float) -> np.ndarray:
        """Samples whose joint moves faster than a threshold.

        Args:
            threshold: Speed in [rad/s] or [m/s].

        Returns:
            True where the joint moves, shape ``(T, n)``.
        """
        return np.abs(self.v) > threshold

    def still(self, least: np.ndarray) -> tuple[str, ...]:
        """Names of the joints that move by less than this, ``(n,)``, in [rad] or [m]."""
        small = np.ptp(self.q, axis=0) < least
        return tuple(name for name, stands in zip(self.joint_names, small, strict=True) if stands)

    def _rows(self, start: int, stop: int) -> Dataset:
        if stop <= start:
            raise RecordingError(
                'this part of the data holds no row', found=f'rows {start} to {stop}',
                allowed=f'rows within 0 to {len(self)}',
                fix='Name a longer part of it',
            )
        clipped = ((max(i, start) - start, min(j, stop) - start) for i, j in self.segments)
        arrays = {
            name: getattr(self, name)[start:stop] for name in ('t', 'q', 'v', 'a', 'tau', 'mask')
        }
        return replace(self, segments=tuple((i, j) for i, j in clipped if i < j), **arrays)

    def _check_shapes(self) -> None:
        if self.t.ndim != 1 or not len(self.t):
            raise RecordingError(
                'there are no samples', where=self.source,
                fix='See that the recording has rows, and that its start and stop hold some')
        if len(set(self.joint_names)) != len(self.joint_names):
            raise RecordingError(
                'a joint is named twice', where=self.source, found=', '.join(self.joint_names),
                fix='Name each joint once')
        expected = (len(self.t), len(self.joint_names))
        for name in ('q', 'v', 'a', 'tau', 'mask'):
            if getattr(self, name).shape != expected:
                raise RecordingError(
                    'the array has another shape than (samples, joints)', where=name,
                    found=getattr(self, name).shape, allowed=expected,
                )

    def _check_finite(self) -> None:
        if not np.isfinite(self.t).all():
            raise RecordingError(
                'a time is not finite', where=self.source,
                fix='Remove the rows without a stamp')
        words = {'q': 'position', 'v': 'velocity', 'a': 'acceleration', 'tau': 'torque'}
        for name, word in words.items():
            finite = np.isfinite(getattr(self, name))
            if not finite.all():
                bad = np.argwhere(~finite)
                row, column = bad[0]
                raise RecordingError(
                    f'the {word} of joint {self.joint_names[column]!r} is not finite',
                    where=self.source or None,
                    found=f'{getattr(self, name)[row, column]} at {self.t[row]:.6f} s, '
                    f'{len(bad)} such values in all',
                    fix='Remove the samples or mend the recording',
                )

    def _check_segments(self) -> None:
        edges = [0, *(stop for _, stop in self.segments)]
        starts = [start for start, _ in self.segments]
        if starts != edges[:-1] or edges[-1] != len(self.t) or (np.diff(edges) <= 0).any():
            raise RecordingError(
                'the segments do not cover the rows one after the other', found=self.segments,
                allowed=f'ranges from 0 to {len(self.t)}',
            )
        if not 0 < self.rate < np.inf:
            raise RecordingError(
                'the rate is not a positive number', where=self.source, found=self.rate,
                fix='Give the rate in Hz, as 100.0')
        if (np.diff(self.t) <= 0).any():
            raise RecordingError(
                'times are not strictly increasing', where=self.source,
                fix='Sort the rows by time, and leave out those that repeat a stamp')
        for start, stop in self.segments:
            steps = np.diff(self.t[start:stop]) * self.rate
            if (np.abs(steps - 1) > _UNIFORM).any():
                raise RecordingError(
                    'a segment is not sampled uniformly', where=self.source,
                    found=f'a step of {steps[np.argmax(np.abs(steps - 1))]:.4g} periods',
                    fix='Resample it first',
                )


def same_rate(rate: float, other: float) -> bool:
    """Whether two rates in [Hz] differ by no more than clocks do."""
    return abs(rate - other) <= _SAME_RATE * other


def _require_alike(datasets: Sequence[Dataset]) -> None:
    first = datasets[0]
    for part in datasets[1:]:
        if part.joint_names != first.joint_names:
            raise RecordingError(
                'the recordings are of different joints', where=part.source,
                found=', '.join(part.joint_names), allowed=', '.join(first.joint_names),
                fix='Name the same joints in each, recording: {joints: […]}')
        if not same_rate(part.rate, first.rate):
            raise RecordingError(
                'recordings of different rates cannot make up one set of rows', where=part.source,
                found=f'{part.rate:.6g} Hz', allowed=f'{first.rate:.6g} Hz, as in {first.source}',
                fix='Set processing.rate in the settings of each to that of the fastest')
