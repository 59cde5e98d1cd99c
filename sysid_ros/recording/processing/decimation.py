r"""Zero-phase filtering where only every D-th sample is wanted, without the samples in between.

A recursive filter is linear in its state s and the samples x: over a block of D samples the state
of the forward run, that of the backward run, r, and the filtered first sample y are

.. math:: s' = A_s s + W_s x, \quad r = A_r r' + M_r s + W_r x, \quad y = a_y r' + m_y s + w_y x

with s' behind the block and r' what the backward run brings from there. The sums over samples are
one matrix product per block, and what recurs does so from block to block. That is the filter of
``scipy.signal.sosfiltfilt`` to rounding, at a fraction of the time, and the
samples may come a part at a time and need never be in memory together.

References:
    Kailath 1980, section 2.3; Gustafsson 1996 for filtering both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sysid_ros.recording.processing import butterworth
from sysid_ros.recording.processing.decimation_kernels import run_over_blocks

#: Samples of a slice of a signal, shape ``(K, ...)``.
Samples = Callable[[slice], np.ndarray]

#: Fewest samples from one that is wanted to the next that are worth it, and fewest numbers in them:
#: a block costs some microseconds whatever it holds, and few columns are filtered faster whole.
LEAST_STEP, LEAST_BLOCK = 8, 400
# Bytes of samples that are held at once: they should stay near the processor.
_HELD = 4_000_000


@dataclass(frozen=True, eq=False)
class _Block:
    """What a block of samples does to the states of both runs.

    Attributes:
        weights: Of the block's samples in s', r, y and the last sample of the forward run, in
            turn, shape ``(2 k + 2, D)``.
        ahead: Of s in the same, shape ``(2 k + 2, k)``.
        back: Of r' in the same, shape ``(2 k + 2, k)``.
    """

    weights: np.ndarray
    ahead: np.ndarray
    back: np.ndarray


@lru_cache(maxsize=64)
def _block(order: int, cutoff: float, rate: float, samples: int) -> _Block:
    """The block of a Butterworth low-pass, by running it from every state and sample alone."""
    step = _step(butterworth.sections(order, cutoff, rate))
    k = len(step) - 1
    lines = np.eye(samples, 2 * k + samples, 2 * k)
    runs = []
    for own, order_of in ((0, range(samples)), (k, reversed(range(samples)))):
        values = np.eye(k + 1, 2 * k + samples, own)
        for line in order_of:
            values[k] = lines[line]
            values = step @ values
            lines[line] = values[k]
        runs += [values[:k]]
        if not own:
            last = lines[-1:].copy()
    ahead, back, weights = np.split(
        np.concatenate([*runs, lines[:1], last]), [k, 2 * k], axis=1)
    return _Block(*map(np.ascontiguousarray, (weights, ahead, back)))


def _step(table: np.ndarray) -> np.ndarray:
    """One sample of sections in turn: state and sample to state and filtered sample, linearly."""
    k = 2 * len(table)
    state, line = np.eye(k, k + 1).reshape(len(table), 2, k + 1), np.eye(k + 1)[k]
    for (b0, b1, b2, _, a1, a2), own in zip(table, state, strict=True):
        # Transposed direct form II.
        x, line = line, b0 * line + own[0]
        own[0] = b1 * x - a1 * line + own[1]
        own[1] = b2 * x - a2 * line
    return np.concatenate([state.reshape(k, -1), line[None]])


@dataclass(frozen=True)
class Decimation:
    """A Butterworth low-pass run both ways, of whose output every D-th sample is wanted.

    Attributes:
        order: Order of the filter.
        cutoff: Its cut-off frequency in [Hz].
        rate: Sampling rate in [Hz].
        pad: Samples by which a signal goes on beyond its ends, turned by 180 degrees about its end
            points; each run begins in the steady state of its first sample.
        step: Samples D from one that is wanted to the next.
    """

    order: int
    cutoff: float
    rate: float
    pad: int
    step: int

    def rows(self, samples: Samples, length: int, keep: np.ndarray) -> np.ndarray:
        """Filtered samples.

        Args:
            samples: Gives the signal.
            length: Number of its samples, more than ``pad``.
            keep: Samples wanted, ``step`` apart, shape ``(K,)``.

        Returns:
            Shape ``(K, C)``, for signals of C columns.
        """
        signal = _Extended(samples, length, self.pad)
        first = int(keep[0]) + self.pad
        state, last = self._lead(signal, first), signal(0, 1)[0]
        k, ahead = len(state), []
        for block, parts in self._parts(signal, first):
            run_over_blocks(block.ahead, parts, state, False)
            last = parts[-1, -1]
            ahead.append((block, parts[:, k:-1].copy()))
        # Behind the end the forward run stays as it is, and the backward run is steady there.
        state = self._steady()[:, None] * last
        for block, parts in reversed(ahead):
            run_over_blocks(block.back[k:-1], parts, state, True)
        return np.concatenate([parts[:, k] for _, parts in ahead])[:len(keep)]

    @property
    def memory_per_sample(self) -> float:
        """Numbers in memory per sample of a signal, beyond some megabytes."""
        return (2 * ((self.order + 1) // 2) + 1) / self.step

    def _of(self, samples: int) -> _Block:
        return _block(self.order, self.cutoff, self.rate, samples)

    def _steady(self) -> np.ndarray:
        """State in which the filter answers a lasting one, shape ``(k,)``."""
        from scipy.signal import sosfilt_zi  # noqa: PLC0415 (a third of a second to import)

        sections = butterworth.sections(self.order, self.cutoff, self.rate)
        return np.asarray(sosfilt_zi(sections)).reshape(-1)

    def _parts(self, signal: _Extended, first: int) -> Iterator[tuple[_Block, np.ndarray]]:
        """Alike blocks from a sample on to the end, and sums of samples ``(B, 2 k + 2, C)``."""
        whole, rest = divmod(signal.length - first, self.step)
        for sums in self._sums(signal, first, whole):
            yield self._of(self.step), sums
        if rest:
            block = self._of(rest)
            yield block, (block.weights @ signal(signal.length - rest, signal.length))[None]

    def _sums(self, signal: _Extended, first: int, count: int) -> Iterator[np.ndarray]:
        """Weighted sums of the samples of blocks, some at a time, shape ``(B, 2 k + 2, C)``."""
        weights = self._of(self.step).weights
        together = max(_HELD // (8 * signal.columns * self.step), 1)
        for begin in range(0, count, together):
            end = min(begin + together, count)
            values = signal(first + begin * self.step, first + end * self.step)
            yield weights @ values.reshape(end - begin, self.step, -1)

    def _lead(self, signal: _Extended, first: int) -> np.ndarray:
        """State of the forward run before the first sample that is wanted, shape ``(k, C)``."""
        state = self._steady()[:, None] * signal(0, 1)
        block, k, rest = self._of(self.step), len(state), first % self.step
        if rest:
            # The state is steady where the first sample comes again and again before itself.
            before = np.broadcast_to(signal(0, 1), (self.step - rest, signal.columns))
            values = np.concatenate([before, signal(0, rest)])
            state = block.ahead[:k] @ state + block.weights[:k] @ values
        for sums in self._sums(signal, rest, first // self.step):
            run_over_blocks(block.ahead, sums, state, False)
        return state


class _Extended:
    """A signal that goes on beyond its ends, turned by 180 degrees about its end points.

    Args:
        samples: Gives the signal.
        length: Number of its samples.
        pad: Samples beyond either end, fewer than that.

    Attributes:
        length: Number of samples with those beyond the ends.
        columns: Their width.
    """

    def __init__(self, samples: Samples, length: int, pad: int) -> None:
        self._samples, self._own, self._pad = samples, length, pad
        self.length = length + 2 * pad
        self._ends = [self._at(k, k + 1) for k in (0, length - 1)]
        self.columns = self._ends[0].shape[1]

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Samples from ``start`` on and before ``stop``, shape ``(stop - start, C)``."""
        start, stop = start - self._pad, stop - self._pad
        last = self._own - 1
        parts = []
        if start < 0:
            end = min(stop, 0)
            parts.append(2.0 * self._ends[0] - self._at(1 - end, 1 - start)[::-1])
        if start <= last and stop > 0:
            parts.append(self._at(max(start, 0), min(stop, self._own)))
        if stop > self._own:
            begin = max(start, self._own)
            parts.append(
                2.0 * self._ends[1] - self._at(2 * last - stop + 1, 2 * last - begin + 1)[::-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _at(self, start: int, stop: int) -> np.ndarray:
        return self._samples(slice(start, stop)).reshape(stop - start, -1)
