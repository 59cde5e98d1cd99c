"""Filtered rows of a recording that comes in parts, built without the full-rate regressor.

The zero-phase filter forgets: samples farther away than its memory do not change a row. So rows
are built a stretch at a time, from the samples of the stretch and as many on either side as the
filter remembers, and are those of the whole recording to rounding.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np

from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import NOTHING
from sysid_ros.recording.processing.masks import faster_than
from sysid_ros.recording.processing.signals import ParallelFilter

# Bytes of regressor that are held to be filtered, as far as the filter's memory allows.
_STRETCH = 64_000_000

_COLUMNS = ('q', 'v', 'a', 'tau', 'mask')


class RegressorStore(Protocol):
    """Where rows of the regressor are kept until all are there."""

    def append(self, rows: np.ndarray) -> None:
        """Append rows of the regressor, shape ``(K, n, p)``."""

    def regressor(self) -> np.ndarray:
        """All rows, shape ``(T', n, p)``."""


class MemoryStore:
    """Rows in memory, when their number is known before.

    Args:
        shape: Rows at most, joints and parameters.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._rows = np.empty(shape)
        self._filled = 0

    def append(self, rows: np.ndarray) -> None:
        """Append rows of the regressor, shape ``(K, n, p)``."""
        self._rows[self._filled:self._filled + len(rows)] = rows
        self._filled += len(rows)

    def regressor(self) -> np.ndarray:
        """All rows, shape ``(T', n, p)``."""
        return self._rows[:self._filled]


class PassingStore:
    """Rows that are taken out as they come."""

    def __init__(self) -> None:
        self._rows: list[np.ndarray] = []

    def append(self, rows: np.ndarray) -> None:
        """Append rows of the regressor, shape ``(K, n, p)``."""
        self._rows.append(rows)

    def regressor(self) -> np.ndarray:
        """All rows since the last call, shape ``(T', n, p)``, at least one."""
        rows, self._rows = np.concatenate(self._rows), []
        return rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a regression.

    Attributes:
        regressor: Shape ``(T', n, p)``.
        torque: In [N·m] or [N], shape ``(T', n)``.
        usable: True where a row counts, shape ``(T', n)``.
        v: Velocities at the samples that rows are centred on, shape ``(T', n)``.
    """

    regressor: np.ndarray
    torque: np.ndarray
    usable: np.ndarray
    v: np.ndarray

    def __len__(self) -> int:
        return len(self.torque)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Rows one after the other.

        Args:
            parts: At least one.
        """
        return cls(*(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)))

    def select(self, which: np.ndarray | slice) -> Rows:
        """Some of the rows, by a mask or a slice."""
        return Rows(*(getattr(self, field.name)[which] for field in fields(self)))


class FileStore:
    """Rows in a temporary file, which the system reads back as they are needed.

    The file has no name and goes when the rows do.

    Args:
        shape: Joints and parameters.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        # Without a buffer, which would try again to write what could not be written.
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (as long as the store)
        weakref.finalize(self, self._file.close)
        self._filled = 0

    def append(self, rows: np.ndarray) -> None:
        """Append rows of the regressor, shape ``(K, n, p)``.

        Raises:
            EstimationError: The file cannot be written, because the disk is full for example.
        """
        try:
            left = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
            while len(left):
                left = left[self._file.write(left.data):]
        except OSError as error:
            raise EstimationError(
                f'the rows cannot be kept on disk: {error}', where=tempfile.gettempdir(),
                fix='Decimate more (processing.parallel_filter.decimate_to), or name a folder '
                'with more room in the environment variable TMPDIR',
            ) from error
        self._filled += len(rows)

    def regressor(self) -> np.ndarray:
        """All rows, shape ``(T', n, p)``."""
        shape = (self._filled, *self._shape)
        return np.asarray(np.memmap(self._file, dtype=float, mode='r', shape=shape))


@dataclass
class _Segment:
    """Samples of a gap-free segment that rows are still to be built from.

    ``first`` is where they begin in the segment, ``row`` the number of the next row.
    """

    columns: dict[str, np.ndarray]
    first: int = 0
    row: int = 0

    @property
    def stop(self) -> int:
        """Index of the sample after its last one."""
        return self.first + len(self.columns['q'])

    def extend(self, more: dict[str, np.ndarray]) -> None:
        """Append samples, arrays by the names of the columns."""
        self.columns = {
            name: np.concatenate([values, more[name]]) for name, values in self.columns.items()
        }

    def drop_before(self, index: int) -> None:
        """Drop the samples before an index."""
        dropped = max(index - self.first, 0)
        self.columns = {name: values[dropped:] for name, values in self.columns.items()}
        self.first += dropped


@dataclass
class RowBuilder:
    """Builds rows part by part.

    Attributes:
        model: Torque model; its joints are the data's, in order.
        parallel: Low-pass and decimation of regressor and torque.
        minimum_velocity: Rows whose joint is slower do not count, in [rad/s] or [m/s].
        store: Keeps the rows of the regressor.
        segments: Half-open ranges of rows without gaps, so far.
        stretch: Bytes of regressor that are held to be filtered.
        left: What of a filter's impulse response counts as nothing, in parts of its slowest mode.
    """

    model: TorqueModel
    parallel: ParallelFilter
    minimum_velocity: float | Sequence[float]
    store: RegressorStore
    segments: list[tuple[int, int]] = field(default_factory=list)
    stretch: int = _STRETCH
    left: float = NOTHING

    def __post_init__(self) -> None:
        self._open: _Segment | None = None
        self._rate = 0.0
        self._longest = 0
        self._rows = 0
        self._torque: list[np.ndarray] = []
        self._usable: list[np.ndarray] = []
        self._velocity: list[np.ndarray] = []

    def add(self, part: Dataset, goes_on: bool = False) -> None:
        """Build rows of a further part.

        Args:
            part: Motion and torque.
            goes_on: Whether its first sample follows the last one of the part before without
                a gap.

        Raises:
            ConfigurationError: A list per joint has the wrong length.
            RecordingError: The filter meets a sample that is not finite.
        """
        self._rate = part.rate
        for start, stop in part.segments:
            columns = {name: getattr(part, name)[start:stop] for name in _COLUMNS}
            if self._open is not None and goes_on and start == 0:
                self._open.extend(columns)
            else:
                self._close()
                self._open = _Segment(columns)
                self.segments.append((self._rows, self._rows))
            self._emit(final=False)

    def drain(self) -> Rows | None:
        """Rows that were built since the last call, whose samples were all there; None if none.

        The store has to be a :class:`PassingStore`.
        """
        if not self._torque:
            return None
        torque, usable, velocity = (
            np.concatenate(own) for own in (self._torque, self._usable, self._velocity))
        self._torque, self._usable, self._velocity = [], [], []
        return Rows(self.store.regressor(), torque, usable, velocity)

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of all parts.

        Returns:
            Regressor ``(T', n, p)``, torque ``(T', n)`` in [N·m] or [N], and True where a row
            counts ``(T', n)``.

        Raises:
            RecordingError: Nothing is left; how long a segment must be is said.
        """
        self._close()
        if not self._rows:
            # The filter says how much it needs.
            self.parallel.retained_samples(self._rate, ((0, self._longest),))
        self.segments = [(start, stop) for start, stop in self.segments if start < stop]
        return self.store.regressor(), np.concatenate(self._torque), np.concatenate(self._usable)

    def _close(self) -> None:
        if self._open is not None:
            self._emit(final=True)
            self._longest = max(self._longest, self._open.stop)
            self._open = None

    def _emit(self, final: bool) -> None:
        """Build the rows whose samples are all there."""
        segment = self._open
        assert segment is not None  # called between opening and closing
        rate, memory = self._rate, self.parallel.memory(self._rate, self.left)
        trim, factor = self.parallel.trimmed(rate), self.parallel.factor(rate)
        stop = segment.stop - (trim if final else memory)
        centres = np.arange(trim + segment.row * factor, stop, factor)
        for block in self._blocks(centres, memory):
            first, last = max(int(block[0]) - memory, 0), min(int(block[-1]) + memory + 1,
                                                              segment.stop)
            # Nearer to the end than the filter's memory, only the true end will do.
            self._append(segment, slice(first - segment.first, last - segment.first),
                         block - first)
            segment.row += len(block)
        segment.drop_before(trim + segment.row * factor - memory)

    def _blocks(self, centres: np.ndarray, memory: int) -> Iterator[np.ndarray]:
        if not len(centres):
            return
        size = 8 * len(self.model.robot.joint_names) * len(self.model.parameters)
        held = size * self.parallel.memory_per_sample(self._rate)
        reach = max(int(self.stretch / held) - 2 * memory, 2 * memory, 1)
        cuts = np.searchsorted(centres, np.arange(centres[0] + reach, centres[-1] + 1, reach))
        yield from (block for block in np.split(centres, cuts) if len(block))

    def _append(self, segment: _Segment, rows: slice, index: np.ndarray) -> None:
        q, v, a, tau, mask = (segment.columns[name][rows] for name in _COLUMNS)
        regressor = self.parallel.rows_of(
            lambda part: self.model.regressor(q[part], v[part], a[part]), len(q), self._rate,
            index)
        torque = self.parallel.rows_at(tau, self._rate, index)
        usable = self.parallel.mask_at(mask, self._rate, index)
        usable &= faster_than(
            self.parallel.speeds_at(v, self._rate, index), self.minimum_velocity,
            self.model.robot.joint_names)
        self.store.append(regressor)
        self._torque.append(torque)
        self._usable.append(usable)
        self._velocity.append(v[index])
        self._rows += len(index)
        self.segments[-1] = (self.segments[-1][0], self._rows)


def require_joints(model: TorqueModel, dataset: Dataset) -> None:
    """Refuse data of other joints than the model's.

    Raises:
        RecordingError: The joints differ, or are in another order.
    """
    if dataset.joint_names != model.robot.joint_names:
        raise RecordingError(
            'the data holds other joints than the model', where=dataset.source,
            found=', '.join(dataset.joint_names), allowed=', '.join(model.robot.joint_names),
            fix='Name the joints of the model, recording: {joints: […]}, and lock others')
