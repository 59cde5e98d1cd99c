"""The same low-pass and decimation for regressor and torque, and a running median."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.processing.decimation import Samples
from sysid_ros.recording.processing.low_pass import NOTHING, LowPass
from sysid_ros.settings import StrictSettings

Segments = Sequence[tuple[int, int]]


class ParallelFilter(StrictSettings):
    """Parallel filter: one low-pass and decimation for the regressor's columns and the torque.

    Filtering one side only biases the estimate, so both go through here. The
    filter's edges are cut off BEFORE decimating: as many samples at both ends
    of every segment as the impulse response needs to fall to 1e-3 of its peak,
    because rows nearer to an end depend on how the signal was continued there.

    Attributes:
        cutoff: Cut-off frequency in [Hz]; no filtering where left out.
        order: Order of the Butterworth filter that is run each way.
        bandwidth: Highest cut-off in [Hz] that filters of the signals themselves have, where there
            is none here: decimation then relies on it.
        decimate_to: Rate to keep in [Hz], about twice the cut-off or a little more;
            no decimation where left out. The factor is the nearest whole number.
        row_speed: What the speed of a row is, below which it may be left out: that of the sample
            at its ``centre``, or of its ``slowest`` main ingredient.
    """

    cutoff: float | None = Field(default=None, gt=0)
    order: int = Field(default=4, ge=1, le=10)
    bandwidth: float | None = Field(default=None, gt=0)
    decimate_to: float | None = Field(default=None, gt=0)
    row_speed: Literal['centre', 'slowest'] = 'centre'

    @property
    def low_pass(self) -> LowPass | None:
        """The low-pass; None when there is no cut-off."""
        return None if self.cutoff is None else LowPass(cutoff=self.cutoff, order=self.order)

    def factor(self, rate: float) -> int:
        """Whole number of samples from one kept row to the next.

        Args:
            rate: Sampling rate in [Hz].

        Raises:
            ConfigurationError: ``decimate_to`` is above the sampling rate, has
                no low-pass before it, or lets frequencies fold back.
        """
        if self.decimate_to is None:
            return 1
        if self.decimate_to > rate * (1 + 1e-6):
            raise ConfigurationError(
                'cannot decimate to more than the sampling rate', where='decimate_to',
                found=f'{self.decimate_to:g} Hz', allowed=f'at most {rate:g} Hz',
                fix='Lower processing: {parallel_filter: {decimate_to: …}}, or leave it out',
            )
        factor = max(round(rate / self.decimate_to), 1)
        if factor == 1:
            return 1
        highest = self.cutoff or self.bandwidth
        if highest is None:
            raise ConfigurationError(
                'decimation needs a low-pass before it', where='cutoff', found='none',
                allowed=f'at most {self.decimate_to / 2:g} Hz',
                fix='Write processing: {parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}',
            )
        if rate / factor < 2 * highest * (1 - 1e-6):
            raise ConfigurationError(
                'decimation would fold frequencies back', where='decimate_to',
                found=f'{rate / factor:g} Hz', allowed=f'at least {2 * highest:g} Hz',
                fix='Raise decimate_to to twice the cut-off or lower the cut-off',
            )
        return factor

    def memory(self, rate: float, left: float = NOTHING) -> int:
        """Samples from which on a row does not know where the signal was cut.

        Args:
            rate: Sampling rate in [Hz].
            left: What counts as nothing, in parts of the slowest mode of the filter.
        """
        return 0 if self.low_pass is None else self.low_pass.memory(rate, left)

    def memory_per_sample(self, rate: float) -> float:
        """Numbers in memory per sample while :meth:`rows_of` filters, beyond some megabytes.

        Args:
            rate: Sampling rate in [Hz].
        """
        return 1.0 if self.low_pass is None else self.low_pass.memory_per_sample(self.factor(rate))

    def trimmed(self, rate: float) -> int:
        """Samples cut off at both ends of every segment, before decimating."""
        return 0 if self.low_pass is None else self.low_pass.half_length(rate)

    def retained_samples(self, rate: float, segments: Segments) -> tuple[np.ndarray, Segments]:
        """Samples that the edges and the decimation leave, without filtering.

        Args:
            rate: Sampling rate in [Hz].
            segments: Half-open index ranges of gap-free samples.

        Returns:
            Their indices, shape ``(T',)``, and the segments in terms of the rows
            that are left. Segments shorter than both edges vanish.

        Raises:
            RecordingError: Nothing is left; how long a segment must be is said.
        """
        trim, factor = self.trimmed(rate), self.factor(rate)
        indices, retained, rows = [], [], 0
        for start, stop in segments:
            index = np.arange(start + trim, stop - trim, factor)
            if len(index):
                indices.append(index)
                retained.append((rows, rows + len(index)))
                rows += len(index)
        if not indices:
            longest = max((stop - start for start, stop in segments), default=0)
            raise RecordingError(
                'no segment is longer than the edges of the parallel filter',
                found=f'{longest} samples ({longest / rate:.3g} s)',
                allowed=f'more than {2 * trim} samples ({2 * trim / rate:.3g} s)',
                fix='Record longer without gaps, or raise the cut-off',
            )
        return np.concatenate(indices), tuple(retained)

    def apply(
        self, columns: np.ndarray, rate: float, segments: Segments
    ) -> tuple[np.ndarray, np.ndarray, Segments]:
        """Filter, cut the edges off, decimate: the columns of either side.

        Args:
            columns: Samples, shape ``(T, ...)``.
            rate: Sampling rate in [Hz].
            segments: Half-open index ranges of gap-free samples.

        Returns:
            Rows of shape ``(T', ...)``, the indices of the samples they are
            centred on, shape ``(T',)``, and the segments of the rows.

        Raises:
            RecordingError: Nothing is left, or a sample is not finite.
            ConfigurationError: The rates do not fit together.
        """
        index, retained = self.retained_samples(rate, segments)
        rows = np.empty((len(index), *columns.shape[1:]))
        edges = 2 * self.trimmed(rate)
        surviving = [(start, stop) for start, stop in segments if stop - start > edges]
        for (start, stop), (first, last) in zip(surviving, retained, strict=True):
            rows[first:last] = self.rows_at(columns[start:stop], rate, index[first:last] - start)
        return rows, index, retained

    def rows_at(self, columns: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """Low-passed samples of one gap-free stretch, no matter how near to its ends.

        Args:
            columns: Samples, shape ``(T, ...)``.
            rate: Sampling rate in [Hz].
            index: Samples wanted, shape ``(K,)``, increasing.

        Returns:
            Rows, shape ``(K, ...)``.

        Raises:
            RecordingError: A sample is not finite, or the stretch is shorter than the filter.
        """
        return self.rows_of(lambda part: columns[part], len(columns), rate, index)

    def rows_of(
        self, samples: Samples, length: int, rate: float, index: np.ndarray
    ) -> np.ndarray:
        """Filtered rows of samples that come in parts, none of which stays in memory.

        Args:
            samples: Gives a slice of the samples, shape ``(K, ...)``.
            length: Number of samples.
            rate: Sampling rate in [Hz].
            index: Samples wanted, shape ``(K,)``, increasing.

        Returns:
            Rows, shape ``(K, ...)``.

        Raises:
            RecordingError: A sample is not finite, or the stretch is shorter than the filter.
        """
        if self.low_pass is None:
            return samples(slice(0, length))[index]
        return self.low_pass.rows(samples, length, rate, index)

    def apply_mask(self, mask: np.ndarray, rate: float, segments: Segments) -> np.ndarray:
        """Rows all of whose main ingredients are usable.

        See :meth:`LowPass.usable`.

        Args:
            mask: True where a sample is usable, shape ``(T, ...)``.
            rate: Sampling rate in [Hz].
            segments: Half-open index ranges of gap-free samples.

        Returns:
            Usable rows, shape ``(T', ...)``, in the order of :meth:`apply`.
        """
        return self.mask_at(mask, rate, self.retained_samples(rate, segments)[0])

    def mask_at(self, mask: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """Mask of rows at given samples, none of them nearer to an end than the support.

        Args:
            mask: True where a sample is usable, shape ``(T, ...)``.
            rate: Sampling rate in [Hz].
            index: Samples of the rows, shape ``(K,)``.

        Returns:
            Usable rows, shape ``(K, ...)``.
        """
        if self.low_pass is None:
            return np.asarray(mask[index])
        return self.low_pass.usable(mask, rate, index)

    def speeds_at(self, v: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """How fast each joint is in rows.

        Where a joint turns round, dry friction is not yet at its limit; a filter spreads what
        it does there over the rows around, so that a row may be taken to be as slow as its slowest
        main ingredient (:attr:`row_speed`).

        Args:
            v: Velocities, shape ``(T, n)``.
            rate: Sampling rate in [Hz].
            index: Samples of the rows, shape ``(K,)``.

        Returns:
            Speeds, shape ``(K, n)``.
        """
        if self.low_pass is None or self.row_speed == 'centre':
            return np.abs(v[index])
        return self.low_pass.slowest(np.abs(v), rate, index)


def median_filter(values: np.ndarray, window: int) -> np.ndarray:
    """Running median of one gap-free segment, shape ``(T, n)``; the ends are mirrored."""
    from scipy.ndimage import median_filter as running_median

    return running_median(values, size=(window, 1), mode='mirror')
