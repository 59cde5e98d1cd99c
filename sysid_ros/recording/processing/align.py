"""From channels with stamps of their own to one uniform, frozen Dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.differentiation import differentiate
from sysid_ros.recording.processing.grid import (
    Interval,
    clock,
    intersect,
    on_clock,
    samples_on_clock,
    torque_on_clock,
)
from sysid_ros.recording.processing.masks import mask_left_out, mask_saturated, mask_stuck
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.shift import shifted
from sysid_ros.recording.processing.signals import median_filter
from sysid_ros.recording.processing.track import Track
from sysid_ros.recording.processing.tracks import Tracks, gather_tracks
from sysid_ros.recording.recording import Recording


@dataclass(frozen=True, eq=False)
class Clock:
    """The uniform clock of a data set, for those that have to go on with it.

    Attributes:
        rate: Stamps per second; that of the positions where left out.
        stretches: Gap-free intervals and the time each counts from, as (start, stop, anchor)
            in [s].
    """

    rate: float | None = None
    stretches: tuple[tuple[float, float, float], ...] = ()

    def anchor(self, interval: Interval, slack: float) -> float:
        """The time in [s] an interval counts from: that of a stretch it goes on with, if any."""
        for start, stop, anchor in self.stretches:
            if start - slack <= interval[0] < stop:
                return anchor
        return interval[0]


@dataclass(frozen=True, eq=False)
class _Piece:
    """The rows of one segment."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    mask: np.ndarray


def align(
    recording: Recording,
    joint_names: Sequence[str],
    processing: Processing,
    continuous: frozenset[str] = frozenset(),
    effort_limits: Mapping[str, float] | None = None,
) -> Dataset:
    """Resample positions, their derivatives and torques on one uniform clock.

    Stamps that are uniform to 1e-6 of a period are kept and nothing is
    interpolated. Otherwise positions, velocities and accelerations are
    interpolated by cubic splines and torques by straight lines, never across
    gaps, breaks or the ends of a channel. The edges of the filters are cut off.

    Args:
        recording: Measured channels.
        joint_names: Joints of the model, in the order of the columns wanted.
        processing: Filters, derivatives, gaps.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        effort_limits: Largest torque by joint in [N·m] or [N], as far as known.

    Returns:
        The data set.

    Raises:
        RecordingError: A joint was not recorded or has no torque (it is named,
            and what was recorded is listed), the rate is too low, or no segment
            is long enough (how much is needed is said).
        ConfigurationError: A filter does not fit the sampling rate.
    """
    return align_from(
        Clock(), recording, joint_names, processing, continuous, effort_limits or {})[0]


def align_from(
    before: Clock,
    recording: Recording,
    joint_names: Sequence[str],
    processing: Processing,
    continuous: frozenset[str],
    effort_limits: Mapping[str, float],
) -> tuple[Dataset, Clock]:
    """Align a part of a recording, on the clock of the part before.

    Args:
        before: Clock of the part before, which this part overlaps; an empty one to begin.
        recording: As for :func:`align`, like what follows.
        joint_names: Joints wanted.
        processing: Filters, derivatives, gaps.
        continuous: Joints without limits.
        effort_limits: Largest torque by joint.

    Returns:
        The data set, and its clock with one stretch per segment.

    Raises:
        RecordingError: As for :func:`align`.
        ConfigurationError: As for :func:`align`.
    """
    warnings, counts = list(recording.warnings), Counter(recording.counts)
    tracks = gather_tracks(recording, joint_names, processing, continuous, warnings)
    rate = before.rate or common_rate(
        [track.period for track in tracks.positions], processing, recording.source)
    processing.parallel_filter.factor(rate)
    stretches = tuple(
        (*interval, before.anchor(interval, 1 / rate))
        for interval in _long_enough(
            _common(tracks.motion, processing), rate, processing, recording, warnings)
    )
    delays = processing.delays(joint_names)
    pieces = [_piece(stretch, rate, processing, tracks, delays) for stretch in stretches]
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ('t', 'q', 'v', 'a', 'tau', 'mask')
    }
    _mask(tracks, delays, rate, processing, effort_limits, columns, warnings, counts)
    _check_torque(columns['mask'], joint_names, recording)
    edges = np.cumsum([0, *(len(piece.t) for piece in pieces)])
    return Dataset(
        tuple(joint_names), **columns, segments=tuple(zip(edges[:-1], edges[1:], strict=True)),
        rate=rate, source=recording.source, sha256=recording.sha256, warnings=tuple(warnings),
        counts=counts,
    ), Clock(rate, stretches)


def _mask(
    tracks: Tracks, delays: np.ndarray, rate: float, processing: Processing,
    effort_limits: Mapping[str, float], columns: dict[str, np.ndarray], warnings: list[str],
    counts: Counter[str],
) -> None:
    # Differentiating twice reaches one sample per order of accuracy to either side.
    spread = (processing.edge(rate) + processing.accuracy) / rate
    efforts = [
        replace(track, t=track.t - delay)
        for track, delay in zip(tracks.efforts, delays, strict=True)
    ]
    low_pass = processing.torque_filter
    torque_spread = 0.0 if low_pass is None else low_pass.support(rate) / rate
    mask_left_out(processing.leave_out, torque_spread, columns, warnings, counts)
    if processing.mask_saturation:
        efforts = mask_saturated(
            efforts, effort_limits, processing, torque_spread, columns, warnings, counts)
    mask_stuck(
        tracks.positions, efforts, processing, spread, torque_spread, columns, warnings, counts)


def common_rate(periods: Sequence[float], processing: Processing, source: str) -> float:
    """Rate of the uniform clock in [Hz].

    Args:
        periods: Sampling period of every joint's position in [s].
        processing: The rates wanted.
        source: The recording, for messages.

    Raises:
        RecordingError: The recording is slower than the settings allow.
    """
    recorded, slowest = 1 / min(periods), 1 / max(periods)
    if processing.minimum_rate is not None and slowest < processing.minimum_rate:
        raise RecordingError(
            'the recording is too slow', where=source, found=f'{slowest:.4g} Hz',
            allowed=f'at least {processing.minimum_rate:g} Hz (processing.minimum_rate)',
            fix='Record faster',
        )
    if processing.rate is None:
        return recorded
    if processing.rate < 0.95 * recorded:
        raise RecordingError(
            'resampling below the recorded rate folds frequencies back', where='processing.rate',
            found=f'{processing.rate:g} Hz', allowed=f'at least {recorded:.4g} Hz',
            fix='Decimate with processing.parallel_filter.decimate_to',
        )
    return processing.rate


def _common(tracks: list[Track], processing: Processing) -> list[Interval]:
    first = max(track.t[0] for track in tracks) + processing.trim[0]
    last = min(track.t[-1] for track in tracks) - processing.trim[1]
    common: list[Interval] = [(first, last)] if first < last else []
    for track in tracks:
        common = intersect(common, track.intervals)
    return common


def _long_enough(
    intervals: list[Interval], rate: float, processing: Processing, recording: Recording,
    warnings: list[str],
) -> list[Interval]:
    needed = processing.needed(rate)
    long = [interval for interval in intervals if len(clock(interval, rate)) >= needed]
    if not long:
        longest = max((stop - start for start, stop in intervals), default=0.0)
        raise RecordingError(
            'no stretch without a gap is long enough', where=recording.source,
            found=f'{longest:.4g} s', allowed=f'at least {needed / rate:.4g} s '
            f'({needed} samples at {rate:.4g} Hz) for these filters',
            fix='Record longer without gaps, or raise the cut-off frequencies',
        )
    if len(long) > 1:
        warnings.append(f'the data are split into {len(long)} segments by gaps or resets')
    lost = sum(stop - start for start, stop in intervals if (start, stop) not in long)
    if lost > 0:
        warnings.append(
            f'{len(intervals) - len(long)} stretches between gaps are shorter than '
            f'{needed / rate:.3g} s and left out, {lost:.3g} s together'
        )
    return long


def _piece(
    stretch: tuple[float, float, float], rate: float, processing: Processing, tracks: Tracks,
    delays: np.ndarray,
) -> _Piece:
    start, stop, anchor = stretch
    interval = (start, stop)
    grid = clock(interval, rate, anchor)
    q = _filtered(_gather(tracks.positions, grid, rate, interval), rate, processing)
    if processing.smoother is not None:
        q, v, a = processing.smoother.motion(q, rate)
    else:
        v = (
            _gather(tracks.velocities, grid, rate, interval) if tracks.velocities
            else differentiate(q, rate, processing.accuracy)
        )
        unfiltered = v
        if processing.velocity_filter is not None:
            v = processing.velocity_filter.apply(v, rate)
        a = (
            _gather(tracks.accelerations, grid, rate, interval) if tracks.accelerations
            else differentiate(
                v if processing.differentiate_filtered else unfiltered, rate, processing.accuracy)
        )
    if processing.acceleration_filter is not None:
        a = processing.acceleration_filter.apply(a, rate)
    torque = [
        _torque(track, grid, rate, float(delay))
        for track, delay in zip(tracks.efforts, delays, strict=True)
    ]
    tau, mask = (np.stack(part, axis=1) for part in zip(*torque, strict=True))
    edge = processing.edge(rate)
    inner = slice(edge, len(grid) - edge)
    if processing.torque_filter is not None:
        tau = processing.torque_filter.apply(tau, rate)
        mask[inner] = processing.torque_filter.usable(mask, rate, np.arange(len(grid))[inner])
    return _Piece(*(array[inner] for array in (grid, q, v, a, tau, mask)))


def smoothed_with_slope(
    values: np.ndarray, rate: float, processing: Processing
) -> tuple[np.ndarray, np.ndarray]:
    """Signals of one gap-free segment filtered as positions are, and their derivatives.

    Args:
        values: Samples, shape ``(T, k)``.
        rate: Sampling rate in [Hz].
        processing: Filters and derivatives.

    Returns:
        Both of shape ``(T, k)``; near the ends they are rough.
    """
    values = _filtered(values, rate, processing)
    if processing.smoother is not None:
        smooth, slope, _ = processing.smoother.motion(values, rate)
        return smooth, slope
    return values, differentiate(values, rate, processing.accuracy)


def _filtered(q: np.ndarray, rate: float, processing: Processing) -> np.ndarray:
    """Positions without spikes and without what is above the cut-off of their filter."""
    if processing.median_window is not None:
        q = median_filter(q, processing.median_window)
    if processing.position_filter is not None:
        q = processing.position_filter.apply(q, rate)
    return q


def _torque(
    track: Track, grid: np.ndarray, rate: float, delay: float
) -> tuple[np.ndarray, np.ndarray]:
    """A torque on the clock, moved back by its delay, and where it is known."""
    lag = round(delay * rate, 9)
    if lag == 0.0 or samples_on_clock(track.t, grid, rate) is None:
        return torque_on_clock(track.t, track.values, grid + delay, rate, track.longest)
    # Whole periods need no interpolation; the rest must not smooth, as straight lines do.
    whole = round(lag)
    values, known = torque_on_clock(
        track.t, track.values, grid + whole / rate, rate, track.longest
    )
    return shifted(values, known, lag - whole)


def _gather(
    tracks: list[Track], grid: np.ndarray, rate: float, interval: Interval
) -> np.ndarray:
    columns = []
    for track in tracks:
        # Only samples of the same gap-free stretch: a spline must not see beyond a gap.
        start, stop = next(
            (start, stop) for start, stop in track.intervals
            if start <= interval[0] and interval[1] <= stop
        )
        rows = slice(*np.searchsorted(track.t, (start, np.nextafter(stop, np.inf))))
        columns.append(on_clock(track.t[rows], track.values[rows, None], grid, rate)[:, 0])
    return np.stack(columns, axis=1)


def _check_torque(mask: np.ndarray, joints: Sequence[str], recording: Recording) -> None:
    silent = [joints[int(index)] for index in np.flatnonzero(~mask.any(axis=0))]
    if silent:
        raise RecordingError(
            f'there is no usable torque sample of {", ".join(silent)}', where=recording.source,
            fix='Check that efforts are recorded while the joints move',
        )
