"""Sensors on links from topics of a bag, on the clock of its joint states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.reader import BagClock
from sysid_ros.recording.bag.sensor_messages import IMU, POINT, POSE, WRENCH, read_sensor
from sysid_ros.recording.link_sensors import LinkSensorChannel, LinkSensorSettings

#: Types of the messages by what a sensor measures.
MESSAGES = {
    'gyroscope': (IMU,), 'accelerometer': (IMU,), 'position': (POSE, POINT), 'force': (WRENCH,),
    'moment': (WRENCH,)}
# Columns of the vector among those of a message.
_COLUMNS = {
    'gyroscope': slice(0, 3), 'accelerometer': slice(3, 6), 'position': slice(0, 3),
    'force': slice(0, 3), 'moment': slice(3, 6)}


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
    found, tracks = [], {}
    for name, sensor in sensors.items():
        topic, kinds = sensor.topic or '', MESSAGES[sensor.kind]
        if (topic, kinds) not in tracks:
            # One message has both vectors of an IMU or a wrench.
            tracks[topic, kinds] = read_sensor(
                path, topic, kinds,
                f'Correct recording: sensors: {name}: topic, or record it again')
        track = tracks[topic, kinds]
        found.append(LinkSensorChannel.of_samples(
            name, sensor, track.t - clock.start, track.values[:, _COLUMNS[sensor.kind]]))
    return tuple(found)
