"""Which samples count: stuck sensors, saturated torques, slow joints, wrapped encoders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.numerics.arrays import runs
from sysid_ros.recording.checks.faults import frozen_torque_runs, run_edges, stuck_runs
from sysid_ros.recording.processing.grid import Interval
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.track import Track

# A torque this close to the effort limit, relative to it, is at the limit; one that far beyond
# it shows that the description's limit is not the drive's.
_AT_LIMIT = 0.005
_BEYOND_LIMIT = 0.05

# A plateau of clipped values is at least so long, in samples, and so many times longer than
# runs of equal values are elsewhere, where only the sensor's resolution makes them.
_PLATEAU = 4
_PLATEAU_RATIO = 3.0
# It ends in a corner. Half a plateau's length beyond its end, the rounded top of a quantised
# but smooth signal has fallen by three steps of the quantisation, a clipped one by more.
_CORNER = 8.0

# Positions that jump by a turn, give or take the motion between two samples in [rad].
_WRAP_TOLERANCE = 0.5


def faster_than(
    v: np.ndarray, minimum_velocity: float | Sequence[float], joint_names: Sequence[str]
) -> np.ndarray:
    """Where joints move at least at a given speed.

    Args:
        v: Joint velocities in [rad/s] or [m/s], shape ``(T, n)``.
        minimum_velocity: Speed in [rad/s] or [m/s]; one number, or one per joint.
        joint_names: The n joints.

    Returns:
        True where the joint is fast enough, shape ``(T, n)``.

    Raises:
        ConfigurationError: There is neither one number nor one per joint.
    """
    speeds = np.atleast_1d(np.asarray(minimum_velocity, dtype=float))
    if speeds.shape not in ((1,), (len(joint_names),)):
        raise ConfigurationError(
            'a list per joint has the wrong length', where='minimum_velocity',
            found=f'{len(speeds)} numbers', allowed=f'{len(joint_names)}, or one for all',
            fix='Write one number for all, as fit: {minimum_velocity: 0.02}',
        )
    return np.abs(v) >= speeds


def saturated_runs(values: np.ndarray, limit: float = np.inf) -> list[tuple[int, int]]:
    """Stretches of a torque that was clipped.

    Either it is within half a percent of the limit, unless it also goes well beyond, which
    shows that the limit is not the drive's. Or it stays at exactly its largest or
    smallest value, far longer than it stays at any other, and leaves it by a corner.

    Args:
        values: Torque of one joint, shape ``(T,)``.
        limit: Largest torque in [N·m] or [N], if it is known.

    Returns:
        Half-open index ranges, in order.
    """
    clipped = np.zeros(len(values), dtype=bool)
    size = np.abs(values)
    if np.isfinite(limit) and limit > 0 and size.max(initial=0.0) <= (1 + _BEYOND_LIMIT) * limit:
        clipped |= size >= (1 - _AT_LIMIT) * limit
    for start, stop in _plateaus(values):
        clipped[start:stop] = True
    return runs(clipped)


def _plateaus(values: np.ndarray) -> list[tuple[int, int]]:
    if len(values) < 3 * _PLATEAU:
        return []
    steps = np.abs(np.diff(values))
    span = float(np.ptp(values))
    if span == 0.0:
        return []
    grain = max(float(steps[steps > 0].min()), 1e-9 * span)
    edges = run_edges(values)
    starts, lengths = edges[:-1], np.diff(edges)
    extreme = np.isin(values[starts], (values.max(), values.min()))
    others = lengths[~extreme]
    usual = float(np.percentile(others, 99)) if len(others) else 1.0
    long = extreme & (lengths >= max(_PLATEAU, _PLATEAU_RATIO * usual))
    return [
        (start, stop) for start, stop in zip(starts[long].tolist(), edges[1:][long].tolist(),
                                             strict=True)
        if _has_corner(values, start, stop, grain)
    ]


def _has_corner(values: np.ndarray, start: int, stop: int, grain: float) -> bool:
    half = max((stop - start) // 2, 1)
    around = [k for k in (start - half, stop - 1 + half) if 0 <= k < len(values)]
    return any(abs(values[k] - values[start]) > _CORNER * grain for k in around)


def mask_saturated(
    efforts: list[Track], limits: Mapping[str, float], processing: Processing, spread: float,
    columns: dict[str, np.ndarray], warnings: list[str], counts: Counter[str],
) -> list[Track]:
    """Mask clipped torques, count them and say so.

    Args:
        efforts: One track per joint, as recorded.
        limits: Largest torque by joint in [N·m] or [N], as far as known.
        processing: Speed below which a joint stands still.
        spread: How far a wrong torque reaches through its filter, in [s].
        columns: The data on the common clock; ``mask`` is changed.
        warnings: Sentences are added to it.
        counts: The number of masked samples is added to it.

    Returns:
        The tracks without what was clipped, so that it is not taken for a stuck sensor.
    """
    kept = []
    for index, track in enumerate(efforts):
        limit = limits.get(track.joint, np.inf)
        inside, before = np.ones(len(track.t), dtype=bool), int(columns['mask'][:, index].sum())
        levels = []
        for start, stop in saturated_runs(track.values, limit):
            rows = _between(columns['t'], track.t[start] - spread, track.t[stop - 1] + spread)
            level = float(np.abs(track.values[start:stop]).max())
            # A joint at rest may hold its largest torque for long without being clipped.
            if level < (1 - _AT_LIMIT) * limit and not _moves(columns, rows, index, processing):
                continue
            columns['mask'][rows, index] = False
            inside[start:stop] = False
            levels.append(level)
        kept.append(replace(track, t=track.t[inside], values=track.values[inside]))
        masked = before - int(columns['mask'][:, index].sum())
        if masked:
            counts['saturated torque samples masked'] += masked
            warnings.append(
                f'the torque of joint {track.joint!r} saturates at {max(levels):.4g}: '
                f'{100 * masked / len(columns["t"]):.2g} % of its samples are masked'
            )
    return kept


def _moves(
    columns: dict[str, np.ndarray], rows: slice, index: int, processing: Processing
) -> bool:
    speed = np.abs(columns['v'][rows, index])
    return bool(len(speed)) and float(np.median(speed)) > processing.standstill_velocity


def mask_left_out(
    stretches: Sequence[Interval], spread: float, columns: dict[str, np.ndarray],
    warnings: list[str], counts: Counter[str],
) -> None:
    """Mask the torques of stretches that do not count, and say so.

    Args:
        stretches: From and to so many seconds.
        spread: How far a wrong torque reaches through its filter, in [s].
        columns: The data on the common clock; ``mask`` is changed.
        warnings: A sentence is added to it.
        counts: The number of masked samples is added to it.
    """
    t, mask = columns['t'], columns['mask']
    rows = np.zeros(len(t), dtype=bool)
    for start, stop in stretches:
        rows[_between(t, start - spread, stop + spread)] = True
    if rows.any():
        counts['samples left out'] += int(rows.sum())
        warnings.append(
            f'torques are left out from {_spans(stretches)}, {100 * rows.mean():.2g} % of the '
            'samples (processing.leave_out)')
    mask[rows] = False


def _spans(stretches: Sequence[Interval]) -> str:
    """Stretches in words."""
    return ' and '.join(f'{start:.6g} to {stop:.6g} s' for start, stop in stretches)


def mask_stuck(
    positions: list[Track], efforts: list[Track], processing: Processing, spread: float,
    torque_spread: float, columns: dict[str, np.ndarray], warnings: list[str], counts: Counter[str],
) -> None:
    """Mask samples of sensors that froze in motion, count them and say so.

    Args:
        positions: One track per joint, as recorded.
        efforts: One track per joint, as recorded.
        processing: How long values must be frozen, and what standstill is.
        spread: How far a wrong position reaches through filters and derivatives, in [s].
        torque_spread: How far a wrong torque reaches through its filter, in [s].
        columns: The data on the common clock; ``mask`` is changed.
        warnings: Sentences are added to it.
        counts: The number of stuck sensors is added to it.
    """
    t, mask = columns['t'], columns['mask']
    for index, track in enumerate(positions):
        for start, stop in _frozen(track, processing, stuck=True):
            # A wrong position spoils the torques of every joint it carries or is carried by.
            mask[_between(t, start - spread, stop + spread)] = False
            _report_stuck(track, start, stop, warnings, counts)
        effort = efforts[index]
        for start, stop in _frozen(effort, processing, stuck=False):
            rows = _between(t, start - torque_spread, stop + torque_spread)
            if _moves(columns, rows, index, processing):
                mask[rows, index] = False
                _report_stuck(effort, start, stop, warnings, counts)


def _between(t: np.ndarray, start: float, stop: float) -> slice:
    # A rounded stamp must not leave the last sample out.
    slack = 1e-9 * max(abs(start), abs(stop), 1.0)
    return slice(*np.searchsorted(t, (start - slack, stop + slack)))


def _frozen(track: Track, processing: Processing, stuck: bool) -> list[Interval]:
    if len(track.t) < 2:
        return []
    least = max(int(np.ceil(processing.frozen_after / track.period)), 2)
    find = stuck_runs if stuck else frozen_torque_runs
    found = find(track.values, least)
    # A torque that never changes at all is a missing drive, not a sensor that froze.
    found = [run for run in found if run != (0, len(track.t))]
    return [(float(track.t[start]), float(track.t[stop - 1])) for start, stop in found]


def _report_stuck(
    track: Track, start: float, stop: float, warnings: list[str], counts: Counter[str]
) -> None:
    counts['stuck sensors masked'] += 1
    warnings.append(
        f'the {track.quantity} of joint {track.joint!r} is stuck from {start:.3f} s to '
        f'{stop:.3f} s: these samples are masked'
    )


def without_wraps(track: Track, continuous: Collection[str], warnings: list[str]) -> Track:
    """Positions of a joint that turns on, made continuous; of other joints, a warning.

    Args:
        track: Positions of one joint.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        warnings: A sentence is added where a joint with limits jumps by a turn.

    Returns:
        The track, unwrapped when the joint is continuous.
    """
    if track.joint in continuous:
        return replace(track, values=np.unwrap(track.values))
    jumps = np.flatnonzero(
        np.abs(np.abs(np.diff(track.values)) - 2 * np.pi) < _WRAP_TOLERANCE
    )
    if len(jumps):
        warnings.append(
            f'the position of joint {track.joint!r} jumps by a turn at '
            f'{track.t[jumps[0] + 1]:.3f} s and {len(jumps) - 1} times more, but the joint is not '
            'continuous: nothing was unwrapped. Make the joint continuous in the description, or '
            'mend the recording'
        )
    return track
