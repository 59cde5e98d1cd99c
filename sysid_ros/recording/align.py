"""From channels with stamps of their own to one uniform, frozen Dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.differentiation import differentiate
from sysid_ros.recording.grid import (
    Interval,
    clock,
    covered,
    even_stamps,
    intersect,
    mean_period,
    on_clock,
    samples_on_clock,
    torque_on_clock,
)
from sysid_ros.recording.masks import mask_saturated, mask_stuck, without_wraps
from sysid_ros.recording.processing import Processing
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.shift import shifted
from sysid_ros.recording.signals import median_filter
from sysid_ros.recording.track import Track

# Stamps that stray by more than this part of a period are reported as jitter.
_JITTER = 0.1


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
    """Put positions, their derivatives and torques on one uniform clock.

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
    warnings, counts = list(recording.warnings), Counter(recording.counts)
    _check_joints(recording, joint_names, warnings)
    positions = _tracks(recording, joint_names, 'position', processing)
    delays = processing.delays(joint_names)
    efforts = _tracks(recording, joint_names, 'effort', processing)
    rate = _rate(positions, processing, recording)
    processing.parallel_filter.factor(rate)
    _report_jitter(positions, processing, warnings)
    positions = [without_wraps(track, continuous, warnings) for track in positions]
    velocities = _measured(recording, joint_names, 'velocity', processing, warnings)
    accelerations = _measured(recording, joint_names, 'acceleration', processing, warnings)
    intervals = _common([*positions, *velocities, *accelerations], processing)
    pieces = [
        _piece(interval, rate, processing, (positions, velocities, accelerations, efforts), delays)
        for interval in _long_enough(intervals, rate, processing, recording, warnings)
    ]
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ('t', 'q', 'v', 'a', 'tau', 'mask')
    }
    # Differentiating twice reaches one sample per order of accuracy to either side.
    spread = (processing.edge(rate) + processing.accuracy) / rate
    efforts = [
        replace(track, t=track.t - delay) for track, delay in zip(efforts, delays, strict=True)
    ]
    if processing.mask_saturation:
        efforts = mask_saturated(
            efforts, effort_limits or {}, processing, columns, warnings, counts
        )
    mask_stuck(positions, efforts, processing, spread, columns, warnings, counts)
    _check_torque(columns['mask'], joint_names, recording)
    edges = np.cumsum([0, *(len(piece.t) for piece in pieces)])
    return Dataset(
        tuple(joint_names), **columns, segments=tuple(zip(edges[:-1], edges[1:], strict=True)),
        rate=rate, source=recording.source, sha256=recording.sha256, warnings=tuple(warnings),
        counts=counts,
    )


def _check_joints(recording: Recording, joints: Sequence[str], warnings: list[str]) -> None:
    for quantity in ('position', 'effort'):
        there = [name for channel in recording.channels_of(quantity) for name in channel.names]
        missing = [name for name in joints if name not in there]
        if missing:
            torque = ': without it there is no torque fit' if quantity == 'effort' else ''
            raise RecordingError(
                f'no {quantity} was recorded for {", ".join(missing)}{torque}',
                where=recording.source, found=', '.join(there) or f'no {quantity} at all',
                fix='Record it, lock the joint in the model, or correct the names in '
                'recording.joints',
            )
    unused = [name for name in recording.joint_names if name not in joints]
    if unused:
        warnings.append(f'recorded but not used: {", ".join(unused)}')


def _tracks(
    recording: Recording, joints: Sequence[str], quantity: str, processing: Processing
) -> list[Track]:
    tracks = []
    for joint in joints:
        channel = recording.channel_of(quantity, joint)
        if channel is None:
            return []
        values = channel.column(joint)
        finite = np.isfinite(values)
        t, values = channel.t[finite], values[finite]
        if len(t) < 2:
            raise RecordingError(
                f'the {quantity} of joint {joint!r} is too short', where=recording.source,
                found=f'{len(t)} samples', allowed='at least 2', fix='Record longer',
            )
        period = mean_period(t)
        longest = processing.max_gap * period
        if processing.stamps == 'uniform':
            t = even_stamps(t, period, covered(t, longest, recording.breaks))
        intervals = covered(t, longest, recording.breaks)
        tracks.append(Track(joint, quantity, t, values, intervals, longest))
    return tracks


def _measured(
    recording: Recording, joints: Sequence[str], quantity: str, processing: Processing,
    warnings: list[str],
) -> list[Track]:
    if processing.differentiation != 'measured':
        return []
    missing = [name for name in joints if recording.channel_of(quantity, name) is None]
    if missing:
        base = 'position' if quantity == 'velocity' else 'velocity'
        warnings.append(
            f'no {quantity} was recorded for {", ".join(missing)}: '
            f'all of it is differentiated from {base}'
        )
        return []
    return _tracks(recording, joints, quantity, processing)


def _rate(positions: list[Track], processing: Processing, recording: Recording) -> float:
    recorded = max(1 / mean_period(track.t) for track in positions)
    slowest = min(1 / mean_period(track.t) for track in positions)
    if processing.minimum_rate is not None and slowest < processing.minimum_rate:
        raise RecordingError(
            'the recording is too slow', where=recording.source, found=f'{slowest:.4g} Hz',
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


def _report_jitter(
    positions: list[Track], processing: Processing, warnings: list[str]
) -> None:
    track = positions[0]
    period = mean_period(track.t)
    steps = np.diff(track.t)
    regular = steps[steps < 1.5 * period]
    jitter = float(np.abs(regular - period).max(initial=0.0)) / period
    if processing.stamps == 'uniform' or jitter < _JITTER:
        return
    text = f'stamps stray by up to {100 * jitter:.0f} % of the sampling period'
    x, before, after = track.values, steps[:-1], steps[1:]
    measured = x[1:-1] - (after * x[:-2] + before * x[2:]) / (before + after)
    even = x[1:-1] - (x[:-2] + x[2:]) / 2
    if np.linalg.norm(even) < 0.5 * np.linalg.norm(measured):
        text += (
            ', but the positions look evenly sampled: processing.stamps: uniform will give '
            'better derivatives'
        )
    warnings.append(text)


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
    interval: Interval, rate: float, processing: Processing,
    tracks: tuple[list[Track], list[Track], list[Track], list[Track]], delays: np.ndarray,
) -> _Piece:
    positions, velocities, accelerations, efforts = tracks
    grid = clock(interval, rate)
    q = _gather(positions, grid, rate, interval)
    if processing.median_window is not None:
        q = median_filter(q, processing.median_window)
    if processing.position_filter is not None:
        q = processing.position_filter.apply(q, rate)
    if processing.smoother is not None:
        q, v, a = processing.smoother.motion(q, rate)
    else:
        v = _gather(velocities, grid, rate, interval) if velocities else differentiate(
            q, rate, processing.accuracy)
        if processing.velocity_filter is not None:
            v = processing.velocity_filter.apply(v, rate)
        a = _gather(accelerations, grid, rate, interval) if accelerations else differentiate(
            v, rate, processing.accuracy)
    if processing.acceleration_filter is not None:
        a = processing.acceleration_filter.apply(a, rate)
    torque = [
        _torque(track, grid, rate, float(delay))
        for track, delay in zip(efforts, delays, strict=True)
    ]
    tau, mask = (np.stack(part, axis=1) for part in zip(*torque, strict=True))
    edge = processing.edge(rate)
    inner = slice(edge, len(grid) - edge)
    return _Piece(*(array[inner] for array in (grid, q, v, a, tau, mask)))


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
