"""What a recording's sensors on links observed, and how much noise they have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.trajectory.inertial_sensors import (
    Accelerometer,
    Gyroscope,
    Mounting,
    PlaceTracker,
)
from sysid_ros.estimation.trajectory.problem import Observation
from sysid_ros.recording.link_sensors import LinkSensorChannel
from sysid_ros.recording.processing.resolution import resolution, sample_noise
from sysid_ros.recording.recording import Recording

_Sensor = Gyroscope | Accelerometer | PlaceTracker
_KINDS: Mapping[str, type[_Sensor]] = {
    'gyroscope': Gyroscope, 'accelerometer': Accelerometer, 'position': PlaceTracker}
# Standard deviation of what rounding to steps of one adds.
_ROUNDED = 1.0 / np.sqrt(12.0)


def link_observations(nodes: np.ndarray, recording: Recording) -> tuple[Observation, ...]:
    """What sensors on links measured from the first node of a segment to the last.

    A sensor that measured nothing meanwhile is left out.

    Args:
        nodes: Times of the nodes in [s], shape ``(N + 1,)``.
        recording: The recording.

    Raises:
        RecordingError: The noise of a sensor cannot be told from its samples.
        ModelError: A place on a link is not three finite numbers.
    """
    found = []
    for channel in recording.sensors:
        first, last = np.searchsorted(channel.t, (nodes[0], np.nextafter(nodes[-1], np.inf)))
        values = channel.values[first:last]
        if np.isfinite(values).any():
            given = channel.mounting
            sensor = _KINDS[given.kind](Mounting(given.link, given.origin, given.rpy))
            found.append(Observation(sensor, channel.t[first:last], values, _noise(channel)))
    return tuple(found)


def _noise(channel: LinkSensorChannel) -> np.ndarray:
    """Standard deviation of each of the three numbers, shape ``(3,)``."""
    given = channel.mounting
    if given.noise is not None:
        return np.full(3, given.factor * given.noise)
    levels = []
    for column in channel.values.T:
        values = column[np.isfinite(column)]
        levels.append(
            max(sample_noise(values), _ROUNDED * (resolution(values) or 0.0))
            if len(values) else np.nan)
    level = np.array(levels)
    # What never changes, as a gyroscope across a plane in simulation, is as sure as the others.
    level = np.where(level > 0.0, level, np.nanmax(level, initial=0.0))
    if not (level > 0.0).all():
        raise RecordingError(
            'a sensor never changes from sample to sample, so that its noise cannot be told',
            where=f'recording: sensors: {channel.name}',
            fix=f'Give its noise, as recording: {{sensors: {{{channel.name}: {{noise: 0.01}}}}}}')
    return level
