"""Sensors on links from topics of a bag, on the clock of its joint states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.reader import BagClock
from sysid_ros.recording.bag.sensor_messages import IMU, POINT, POSE, read_sensor
from sysid_ros.recording.link_sensors import LinkSensorChannel, LinkSensorSettings

# Types of the messages, and columns of the vector, by what a sensor measures.
_TYPES = {'gyroscope': (IMU,), 'accelerometer': (IMU,), 'position': (POSE, POINT)}
_COLUMNS = {'gyroscope': slice(0, 3), 'accelerometer': slice(3, 6), 'position': slice(0, 3)}


def read_link_sensors(
    path: Path, sensors: Mapping[str, LinkSensorSettings], clock: BagClock
) -> tuple[LinkSensorChannel, ...]:
    """What sensors on links measured.

    Args:
        path: Folder of a bag that was checked, or its only file.
        sensors: What settings say of them, by their names; each has a topic.
        clock: When the joint states were measured.

    Raises:
        RecordingError: A topic is not there or of another type, an IMU says that it does not
            measure a vector, or the clock of the joint states was reset.
    """
    if clock.breaks:
        raise RecordingError(
            'the clock was reset, and sensors on links have clocks of their own', where=str(path),
            found=f'at {clock.breaks[0]:.3f} s',
            fix='Cut the bag there, or leave recording: sensors: out')
    found = []
    for name, sensor in sensors.items():
        track = read_sensor(
            path, sensor.topic or '', _TYPES[sensor.kind],
            f'Correct recording: sensors: {name}: topic, or record it again')
        found.append(LinkSensorChannel.of_samples(
            name, sensor, track.t - clock.start, track.values[:, _COLUMNS[sensor.kind]]))
    return tuple(found)
