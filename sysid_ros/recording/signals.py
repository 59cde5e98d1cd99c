"""Zero-phase filters of uniformly sampled signals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording import butterworth
from sysid_ros.recording.filter_kernels import filter_both_ways
from sysid_ros.settings import StrictSettings

Segments = Sequence[tuple[int, int]]

# An impulse response is over where it stays below this fraction of its peak.
_TAIL = 1e-3

# Traces of a joint that turns round reach so many times as far as what else counts.
_FARTHER = 1.5

# Highest cut-off as a part of the sampling rate; at one half there is no filter left.
_HIGHEST = 0.49

# Scratch memory of filtering many columns, in bytes.
_SCRATCH = 16_000_000

#: What is left of an impulse response, in parts of its slowest mode, where it counts as nothing.
NOTHING = 1e-12


class LowPass(StrictSettings):
    """Zero-phase Butterworth low-pass.

    It is run forwards and backwards, so the gain at the cut-off is 1/2 (-6 dB)
    and there is no delay.

    Attributes:
        cutoff: Cut-off frequency in [Hz], below half the sampling rate.
        order: Order of the Butterworth filter that is run each way.
    """

    cutoff: float = Field(gt=0)
    order: int = Field(default=4, ge=1, le=10)

    def half_length(self, rate: float) -> int:
        """Samples after which the impulse response stays below 1e-3 of its peak."""
        response = _impulse_response(self.cutoff, self.order, rate)
        return int(np.flatnonzero(np.abs(response) > _TAIL * response[0])[-1])

    def support(self, rate: float) -> int:
        """Samples on either side that carry 99 % of the impulse response's energy."""
        response = _impulse_response(self.cutoff, self.order, rate)
        energy = np.cumsum(np.concatenate([response[:1] ** 2, 2 * response[1:] ** 2]))
        return int(np.searchsorted(energy, 0.99 * energy[-1]))

    def memory(self, rate: float, left: float = NOTHING) -> int:
        """Samples after which nothing is left of the impulse response.

        A sample that is farther than this from where a signal was cut is filtered as if it
        had not been cut.

        Args:
            rate: Sampling rate in [Hz].
            left: What counts as nothing, in parts of the slowest mode.
        """
        return _decay(self.cutoff, self.order, rate, left)

    def apply(
        self, values: np.ndarray, rate: float, keep: np.ndarray | None = None
    ) -> np.ndarray:
        """Filter one gap-free segment along its first axis.

        Args:
            values: Samples, shape ``(T, ...)``; many columns are filtered a few at a time.
            rate: Sampling rate in [Hz].
            keep: Samples wanted, shape ``(K,)``, increasing; all where left out.

        Returns:
            Filtered samples, shape ``(T, ...)`` or ``(K, ...)``. The first and last
            :meth:`half_length` samples still feel the ends.

        Raises:
            ConfigurationError: The cut-off is not below half the sampling rate.
            RecordingError: The segment holds a non-finite sample, or is not
                longer than the filter.
        """
        sections = _sections(self.cutoff, self.order, rate)
        pad = self.half_length(rate)
        if len(values) <= pad:
            raise RecordingError(
                'a segment is too short for the filter',
                found=f'{len(values)} samples ({len(values) / rate:.3g} s)',
                allowed=f'more than {pad} samples ({pad / rate:.3g} s)',
                fix='Record longer without gaps, or raise the cut-off',
            )
        keep = np.arange(len(values)) if keep is None else keep
        columns = np.ascontiguousarray(values, dtype=float).reshape(len(values), -1)
        filtered = np.zeros((len(keep), columns.shape[1]))
        # Half of a regressor's entries are zero whatever the robot does.
        live = np.flatnonzero(columns.any(axis=0))
        steady = butterworth.steady_state(sections)
        width = max(_SCRATCH // (8 * (len(columns) + 2 * pad)), 1)
        for first in range(0, len(live), width):
            some = live[first:first + width]
            # Five times as fast as columns[:, some].
            taken = np.take(columns, some, axis=1)
            filtered[:, some] = filter_both_ways(sections, steady, taken, pad)[keep]
        # A sample that is not a number reaches the end, and from there every other.
        if not np.isfinite(filtered).all():
            raise RecordingError('a signal to be filtered holds a non-finite sample')
        return filtered.reshape(len(keep), *np.shape(values)[1:])

    def usable(self, mask: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """Filtered samples all of whose main ingredients are usable.

        A filtered sample blends its neighbours. It is kept when every one within the part of the
        impulse response that carries 99 % of its energy is usable; what is farther away enters
        with little weight.

        Args:
            mask: True where a sample is usable, shape ``(T, ...)``.
            rate: Sampling rate in [Hz].
            index: Samples wanted, none of them nearer to an end than :meth:`support`, ``(K,)``.

        Returns:
            Shape ``(K, ...)``.
        """
        reach = self.support(rate)
        bad = np.cumsum(~mask, axis=0, dtype=np.int64)
        bad = np.concatenate([np.zeros_like(bad[:1]), bad])
        return np.asarray(bad[index + reach + 1] == bad[index - reach])

    def slowest(self, speeds: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """Smallest speed among the main ingredients of filtered samples.

        Friction that turns round is a jump, of which a filter leaves traces farther away than
        :meth:`usable` looks.

        Args:
            speeds: Of each sample, shape ``(T, n)``.
            rate: Sampling rate in [Hz].
            index: Samples wanted, shape ``(K,)``.

        Returns:
            Shape ``(K, n)``.
        """
        from scipy.ndimage import minimum_filter1d

        window = 2 * int(_FARTHER * self.support(rate)) + 1
        return np.asarray(minimum_filter1d(speeds, window, axis=0)[index])


class ParallelFilter(StrictSettings):
    """The same low-pass and decimation for the regressor's columns and the torque.

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
            )
        factor = max(round(rate / self.decimate_to), 1)
        if factor == 1:
            return 1
        highest = self.cutoff or self.bandwidth
        if highest is None:
            raise ConfigurationError(
                'decimation needs a low-pass before it', where='cutoff', found='none',
                allowed=f'at most {self.decimate_to / 2:g} Hz',
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

    def trimmed(self, rate: float) -> int:
        """Samples cut off at both ends of every segment, before decimating."""
        return 0 if self.low_pass is None else self.low_pass.half_length(rate)

    def kept(self, rate: float, segments: Segments) -> tuple[np.ndarray, Segments]:
        """Samples that survive, without filtering anything.

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
        indices, kept, rows = [], [], 0
        for start, stop in segments:
            index = np.arange(start + trim, stop - trim, factor)
            if len(index):
                indices.append(index)
                kept.append((rows, rows + len(index)))
                rows += len(index)
        if not indices:
            longest = max((stop - start for start, stop in segments), default=0)
            raise RecordingError(
                'no segment is longer than the edges of the parallel filter',
                found=f'{longest} samples ({longest / rate:.3g} s)',
                allowed=f'more than {2 * trim} samples ({2 * trim / rate:.3g} s)',
                fix='Record longer without gaps, or raise the cut-off',
            )
        return np.concatenate(indices), tuple(kept)

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
        index, kept = self.kept(rate, segments)
        rows = np.empty((len(index), *columns.shape[1:]))
        edges = 2 * self.trimmed(rate)
        surviving = [(start, stop) for start, stop in segments if stop - start > edges]
        for (start, stop), (first, last) in zip(surviving, kept, strict=True):
            rows[first:last] = self.rows_at(columns[start:stop], rate, index[first:last] - start)
        return rows, index, kept

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
        if self.low_pass is None:
            return columns[index]
        return self.low_pass.apply(columns, rate, index)

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
        return self.mask_at(mask, rate, self.kept(rate, segments)[0])

    def mask_at(self, mask: np.ndarray, rate: float, index: np.ndarray) -> np.ndarray:
        """The same for rows at given samples, none of them nearer to an end than the support.

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


def _check_cutoff(cutoff: float, rate: float) -> None:
    if cutoff > _HIGHEST * rate:
        raise ConfigurationError(
            'the cut-off is not below half the sampling rate', where='cutoff',
            found=f'{cutoff:g} Hz', allowed=f'at most {_HIGHEST * rate:g} Hz',
            fix='Lower the cut-off or record faster',
        )


@lru_cache(maxsize=64)
def _sections(cutoff: float, order: int, rate: float) -> np.ndarray:
    _check_cutoff(cutoff, rate)
    return butterworth.sections(order, cutoff, rate)


@lru_cache(maxsize=64)
def _decay(cutoff: float, order: int, rate: float, left: float = NOTHING) -> int:
    """Samples until the slowest mode has decayed to nothing."""
    _check_cutoff(cutoff, rate)
    slowest = butterworth.slowest_pole(order, cutoff, rate)
    return max(math.ceil(math.log(left) / math.log(max(slowest, 1e-3))), 16)


@lru_cache(maxsize=64)
def _impulse_response(cutoff: float, order: int, rate: float) -> np.ndarray:
    """Right half of the zero-phase filter's impulse response, peak first."""
    return butterworth.zero_phase_response(
        order, cutoff, rate, _decay(cutoff, order, rate))
