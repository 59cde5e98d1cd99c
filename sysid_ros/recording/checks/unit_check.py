"""Positions and stamps in other units than described: the limits of the joints tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.recording.units import DEGREE, TIME_UNITS
from sysid_ros.robot.model import RobotModel

# Positions so many times as large as the limits are in another unit, if in that one all joints
# stay within so many times theirs, and so many radians more.
_BEYOND, _WITHIN, _MARGIN = 3.0, 1.2, 0.1
# Slower than this part of their limits, on stamps so far apart in [s], or faster than so many
# times them, on stamps so close, joints move in another time.
_CREEPS, _RARE = 5e-3, 0.5
_FLIES, _DENSE = 30.0, 5e-5
# Periods in [s] and speeds, in parts of the limits, of recordings that a robot makes.
_PERIODS, _SPEEDS = (1e-4, 0.2), (_CREEPS, 5.0)
# Limit of a joint whose description has none, in [rad/s] or [m/s].
_USUAL = 2.0
# Speeds are means over this part of the recording, above encoder noise; all but so many are lower.
_STRETCHES, _MOST = 200, 0.995


def unit_mistakes(
    recording: Recording, robot: RobotModel, settings: RecordingSettings
) -> Iterator[RecordingError]:
    """Units of positions and stamps that look wrong, with the setting that would be right.

    Args:
        recording: What was recorded, as described.
        robot: The robot; limits of its joints say which motion is possible.
        settings: How the recording is described.
    """
    in_degrees = _degrees(recording, robot)
    if in_degrees is not None:
        # Speeds, too, would be those of another unit.
        yield in_degrees
        return
    other_time = _other_time(recording, robot, settings)
    if other_time is not None:
        yield other_time


def _degrees(recording: Recording, robot: RobotModel) -> RecordingError | None:
    """Angles far beyond the limits of the joints that all lie within them as degrees."""
    far: list[str] = []
    for k, name in enumerate(robot.joint_names):
        limits = np.abs([robot.limits.lower[k], robot.limits.upper[k]])
        channel = recording.channel_of('position', name)
        if (
            channel is None or robot.joint_types[k] != 'revolute'
            or not np.isfinite(limits).all() or not limits.max() > 0.0
        ):
            continue
        largest, limit = float(np.abs(channel.column(name)).max()), float(limits.max())
        if largest * DEGREE > _WITHIN * limit + _MARGIN:
            return None
        if largest > _BEYOND * limit:
            far.append(f'{name} up to {largest:.3g}, limit {limit:.3g} rad')
    if not far:
        return None
    return RecordingError(
        'positions look like degrees: in radians joints go far beyond their limits, in degrees '
        'all stay within', where='recording.position.unit', found='; '.join(far),
        allowed='radians, or the unit said', fix='Set recording.position.unit to deg; if the '
        'limits of the description are wrong or positions are those of the motors '
        '(recording.position.side), correct that, or set processing.unit_check to warn')


def _other_time(
    recording: Recording, robot: RobotModel, settings: RecordingSettings
) -> RecordingError | None:
    """Stamps that make the joints creep or fly."""
    motions = [
        _motion(channel, channel.column(name), float(robot.limits.velocity[k]))
        for k, name in enumerate(robot.joint_names)
        for channel in (recording.channel_of('position', name),)
        if channel is not None and len(channel.t) > _STRETCHES]
    if not motions:
        return None
    period, speed = (float(np.max(values)) for values in zip(*motions, strict=True))
    if not speed > 0.0:
        return None
    creeps = period > _RARE and speed < _CREEPS
    if not (creeps or (period < _DENSE and speed > _FLIES)):
        return None
    return RecordingError(
        'stamps look like another unit of time', where='recording.time',
        found=f'{period:.3g} s between samples, and joints at {100.0 * speed:.2g} % of their '
        'speed limits at most', allowed='seconds, or the unit said',
        fix=f'{_right_time(period, speed, settings)}; if this is how the robot moved, set '
        'processing.unit_check to warn')


def _motion(channel: Channel, q: np.ndarray, limit: float) -> tuple[float, float]:
    """Time between samples in [s], and the largest speed in parts of the limit."""
    apart = len(q) // _STRETCHES
    speeds = np.abs(q[apart:] - q[:-apart]) / (channel.t[apart:] - channel.t[:-apart])
    usual = limit if np.isfinite(limit) and limit > 0.0 else _USUAL
    return channel.period, float(np.quantile(speeds, _MOST)) / usual


def _right_time(period: float, speed: float, settings: RecordingSettings) -> str:
    """The setting under which period and speed are those of a robot."""
    time = settings.time
    if time is None:
        return 'Correct the stamps where the messages are made'
    if time.rate is not None:
        return (
            f'Set recording.time.rate to samples per second, not {time.rate:.4g}'
            + (f' (its inverse is {1.0 / time.rate:.4g})' if time.rate < 1.0 else ''))
    now = TIME_UNITS[time.unit]
    fitting = [
        unit for unit, seconds in TIME_UNITS.items()
        if _PERIODS[0] <= period * seconds / now <= _PERIODS[1]
        and _SPEEDS[0] <= speed * now / seconds <= _SPEEDS[1]]
    if not fitting:
        return f'Set recording.time.unit, which is {time.unit}, to what the stamps are in'
    return f'Set recording.time.unit to {" or ".join(fitting)}'
