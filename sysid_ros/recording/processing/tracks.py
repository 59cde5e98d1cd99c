"""Samples of every joint on their way to the common clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import RecordingError, nearest_name
from sysid_ros.recording.processing.glitches import without_glitches
from sysid_ros.recording.processing.grid import Interval, covered, even_stamps, mean_period
from sysid_ros.recording.processing.masks import without_wraps
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.track import Track
from sysid_ros.recording.recording import Channel, Recording

# Stamps that stray by more than this part of a period are reported as jitter.
_JITTER = 0.1
# Steps of so many periods miss a sample.
_MISSING = 1.5

# Joints that a message names one by one.
_NAMED = 8


@dataclass(frozen=True, eq=False)
class Tracks:
    """Samples of every joint, one track per joint and quantity, none where not measured."""

    positions: list[Track]
    velocities: list[Track]
    accelerations: list[Track]
    efforts: list[Track]

    @property
    def motion(self) -> list[Track]:
        """Tracks in which no gap is allowed."""
        return [*self.positions, *self.velocities, *self.accelerations]


def gather_tracks(
    recording: Recording, joints: Sequence[str], processing: Processing,
    continuous: frozenset[str], warnings: list[str],
) -> Tracks:
    """Samples of every joint of a recording.

    Args:
        recording: Measured channels.
        joints: Joints wanted.
        processing: What is measured, and what becomes of the stamps.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        warnings: Sentences are added to it.

    Raises:
        RecordingError: A joint has no positions or no torque (it is named, and what was
            recorded is listed), or too few.
    """
    _check_joints(recording, joints, warnings)
    positions = _tracks(recording, joints, 'position', processing)
    efforts = _tracks(recording, joints, 'effort', processing)
    _report_jitter(positions, processing, warnings)
    return Tracks(*without_glitches(
        [without_wraps(track, continuous, warnings) for track in positions],
        [_measured(recording, joints, 'velocity', processing, warnings),
         _measured(recording, joints, 'acceleration', processing, warnings), efforts], warnings))


def _check_joints(recording: Recording, joints: Sequence[str], warnings: list[str]) -> None:
    for quantity, why in (('position', ''), ('effort', ': without it there is no torque fit')):
        there = [name for channel in recording.channels_of(quantity) for name in channel.names]
        missing = [name for name in joints if name not in there]
        if missing:
            raise RecordingError(
                f'no {quantity} was recorded for {", ".join(missing)}{why}',
                where=recording.source, found=', '.join(there) or f'no {quantity} at all',
                fix=_fix_for_missing(quantity, missing, there, joints),
            )
    unused = [name for name in recording.joint_names if name not in joints]
    if unused:
        warnings.append(f'recorded but not used: {", ".join(unused)}')


def _fix_for_missing(
    quantity: str, missing: Sequence[str], there: Sequence[str], joints: Sequence[str]
) -> str:
    """What to do about joints of which a quantity was not recorded, with the line of settings."""
    unused = [name for name in there if name not in joints]
    near = nearest_name(missing[0], unused)
    if near is not None:
        return (
            f'If {near!r} is {missing[0]!r}, correct recording.joints, or for a bag say '
            f'recording: {{rename: {{{near}: {missing[0]}}}}}')
    if quantity == 'effort':
        return (
            'Record it, and name the columns of a table in recording: {effort: {columns: […]}}; '
            f'if nothing drives the joints, say recording: {{unpowered: [{", ".join(missing)}]}}')
    at = ', '.join(f'{name}: 0.0' for name in missing)
    locked = f'{{{at}}}' if len(missing) <= _NAMED else 'rest'
    return (
        f'If they stood still, lock them where they stood, in rad or m: robot: {{locked_joints: '
        f'{locked}}}; if they moved and have no encoder, have their motion sought: fit: '
        f'{{estimator: shooting, trajectory: {{observed: [{", ".join(there)}]}}}}; otherwise '
        'record them, or correct recording.joints')


def _tracks(
    recording: Recording, joints: Sequence[str], quantity: str, processing: Processing
) -> list[Track]:
    if any(recording.channel_of(quantity, joint) is None for joint in joints):
        return []
    known: dict[Channel, _Sampling] = {}
    return [_track(recording, joint, quantity, processing, known) for joint in joints]


def joint_track(
    recording: Recording, joint: str, quantity: str, processing: Processing
) -> Track:
    """Samples of one quantity of one joint of a recording.

    Args:
        recording: Measured channels.
        joint: A joint.
        quantity: A quantity that was recorded of it.
        processing: What a gap is, and what becomes of the stamps.

    Raises:
        RecordingError: The quantity was not recorded of the joint, or too little.
    """
    return _track(recording, joint, quantity, processing, {})


@dataclass(frozen=True, eq=False)
class _Sampling:
    """When samples were taken, as in a track."""

    t: np.ndarray
    period: float
    intervals: list[Interval]
    longest: float

    @classmethod
    def of(cls, t: np.ndarray, breaks: Sequence[float], processing: Processing) -> _Sampling:
        """Intervals without gaps of stamps in [s]; these become uniform where that is set."""
        period = mean_period(t)
        longest = processing.max_gap * period
        if processing.stamps == 'uniform':
            t = even_stamps(t, period, covered(t, longest, breaks))
            period = mean_period(t)
        return cls(t, period, covered(t, longest, breaks), longest)


def _track(
    recording: Recording, joint: str, quantity: str, processing: Processing,
    known: dict[Channel, _Sampling],
) -> Track:
    """A joint's track; joints with all samples of a channel share when these were taken."""
    channel = recording.channel_of(quantity, joint)
    if channel is None:
        raise RecordingError(
            f'no {quantity} was recorded for {joint}', where=recording.source,
            found='; '.join(channel.where for channel in recording.channels),
            fix='Record it, or hold the joint: robot: {locked_joints: rest}, with recording: '
                '{joints: […]}')
    values = channel.column(joint)
    finite = np.isfinite(values)
    whole = bool(finite.all())
    values = values[finite]
    if len(values) < 2:
        raise RecordingError(
            f'the {quantity} of joint {joint!r} is too short', where=recording.source,
            found=f'{len(values)} samples', allowed='at least 2', fix='Record longer',
        )
    sampling = known.get(channel) if whole else None
    if sampling is None:
        sampling = _Sampling.of(channel.t[finite], recording.breaks, processing)
    if whole:
        known[channel] = sampling
    return Track(
        joint, quantity, sampling.t, values, sampling.intervals, sampling.longest,
        sampling.period)


def _measured(
    recording: Recording, joints: Sequence[str], quantity: str, processing: Processing,
    warnings: list[str],
) -> list[Track]:
    if processing.differentiation not in ('measured', 'measured4'):
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


def evenly_sampled(track: Track) -> bool:
    """Whether stamps jitter, but samples were taken evenly, as their smoothness shows.

    Args:
        track: Positions with their stamps as measured.
    """
    return _jitter(track) >= _JITTER and _smoother_evenly(track)


def _jitter(track: Track) -> float:
    """Largest distance of a step without a gap from the period, in periods."""
    steps = np.diff(track.t)
    regular = steps[steps < _MISSING * track.period]
    return float(np.abs(regular - track.period).max(initial=0.0)) / track.period


def _smoother_evenly(track: Track) -> bool:
    """Whether positions lie on smoother curves when their stamps are taken as even.

    Where a sample is missing they do in no case, and nothing is told.
    """
    steps, x = np.diff(track.t), track.values
    before, after = steps[:-1], steps[1:]
    whole = np.maximum(before, after) < _MISSING * track.period
    measured = (x[1:-1] - (after * x[:-2] + before * x[2:]) / (before + after))[whole]
    even = (x[1:-1] - (x[:-2] + x[2:]) / 2)[whole]
    return bool(np.linalg.norm(even) < 0.5 * np.linalg.norm(measured))


def _report_jitter(
    positions: list[Track], processing: Processing, warnings: list[str]
) -> None:
    track = positions[0]
    jitter = _jitter(track)
    if processing.stamps == 'uniform' or jitter < _JITTER:
        return
    text = f'stamps stray by up to {100 * jitter:.0f} % of the sampling period'
    if _smoother_evenly(track):
        text += (
            ', but the positions look evenly sampled: processing.stamps: uniform will give '
            'better derivatives'
        )
    warnings.append(text)
