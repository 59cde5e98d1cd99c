"""Zero-phase low-pass of uniformly sampled signals."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.processing import butterworth
from sysid_ros.recording.processing.decimation import LEAST_BLOCK, LEAST_STEP, Decimation, Samples
from sysid_ros.settings import StrictSettings

# An impulse response is over where it stays below this fraction of its peak.
_TAIL = 1e-3

# Traces of a joint that turns round reach so many times as far as what else counts.
_FARTHER = 1.5

# Highest cut-off as a part of the sampling rate; at one half there is no filter left.
_HIGHEST = 0.49
# Lowest one: below, a filter remembers a billion samples, and its poles round to one.
_LOWEST = 1e-9

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
        if keep is not None and _is_worth_it(_step(keep), np.shape(values)[1:]):
            return self.rows(lambda part: values[part], len(values), rate, keep)
        from scipy.signal import sosfiltfilt  # noqa: PLC0415 (a third of a second to import)

        pad = self._pad(len(values), rate)
        sections = butterworth.sections(self.order, self.cutoff, rate)
        keep = np.arange(len(values)) if keep is None else keep
        columns = np.ascontiguousarray(values, dtype=float).reshape(len(values), -1)
        filtered = np.zeros((len(keep), columns.shape[1]))
        # Half of a regressor's entries are zero whatever the robot does.
        live = np.flatnonzero(columns.any(axis=0))
        width = max(_SCRATCH // (8 * (len(columns) + 2 * pad)), 1)
        for first in range(0, len(live), width):
            some = live[first:first + width]
            # Five times as fast as columns[:, some].
            taken = np.take(columns, some, axis=1)
            filtered[:, some] = sosfiltfilt(sections, taken, axis=0, padlen=pad)[keep]
        # A sample that is not a number reaches the end, and from there every other.
        _require_finite(filtered)
        return filtered.reshape(len(keep), *np.shape(values)[1:])

    def rows(
        self, samples: Samples, length: int, rate: float, keep: np.ndarray
    ) -> np.ndarray:
        """Filter one gap-free segment that comes in parts, none of which is kept.

        Args:
            samples: Gives a slice of the samples, shape ``(K, ...)``.
            length: Number of samples T.
            rate: Sampling rate in [Hz].
            keep: Samples wanted, shape ``(K,)``, increasing.

        Returns:
            What :meth:`apply` gives, to rounding.

        Raises:
            ConfigurationError: As for :meth:`apply`.
            RecordingError: As for :meth:`apply`.
        """
        step, shape = _step(keep), samples(slice(0, 1)).shape[1:]
        if not _is_worth_it(step, shape):
            return self.apply(samples(slice(0, length)), rate, keep)
        pad = self._pad(length, rate)
        filtered = Decimation(self.order, self.cutoff, rate, pad, step).rows(samples, length, keep)
        _require_finite(filtered)
        return filtered.reshape(len(keep), *shape)

    def memory_per_sample(self, step: int) -> float:
        """Numbers in memory per sample while :meth:`rows` filters, beyond some megabytes.

        Args:
            step: Samples from one that is wanted to the next.
        """
        return 1.0 if step < LEAST_STEP else Decimation(
            self.order, self.cutoff, 0.0, 0, step).memory_per_sample

    def _pad(self, samples: int, rate: float) -> int:
        """Samples by which a segment goes on beyond its ends."""
        pad = self.half_length(rate)
        if samples <= pad:
            raise RecordingError(
                'a segment is too short for the filter',
                found=f'{samples} samples ({samples / rate:.3g} s)',
                allowed=f'more than {pad} samples ({pad / rate:.3g} s)',
                fix='Record longer without gaps, or raise the cut-off',
            )
        return pad

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


def _is_worth_it(step: int, shape: tuple[int, ...]) -> bool:
    """Whether signals of a shape are faster filtered a block of samples at a time."""
    return step >= LEAST_STEP and step * math.prod(shape) >= LEAST_BLOCK


def _step(index: np.ndarray) -> int:
    """Distance of samples that are evenly spaced; 0 if they are not, or fewer than two."""
    steps = np.diff(index)
    return int(steps[0]) if len(steps) and (steps == steps[0]).all() else 0


def _require_finite(filtered: np.ndarray) -> None:
    if not np.isfinite(filtered).all():
        raise RecordingError(
            'a signal to be filtered holds a non-finite sample',
            fix='Remove the rows with NaN or infinity, or leave their cells empty')


def _check_cutoff(cutoff: float, rate: float) -> None:
    if cutoff > _HIGHEST * rate:
        raise ConfigurationError(
            'the cut-off is not below half the sampling rate', where='cutoff',
            found=f'{cutoff:g} Hz', allowed=f'at most {_HIGHEST * rate:g} Hz',
            fix='Lower the cut-off or record faster',
        )
    if cutoff < _LOWEST * rate:
        raise ConfigurationError(
            'the cut-off lets nothing through that is measured', where='cutoff',
            found=f'{cutoff:g} Hz', allowed=f'at least {_LOWEST * rate:g} Hz',
            fix='Give the cut-off in Hz: a little above the fastest motion, as 10',
        )


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
