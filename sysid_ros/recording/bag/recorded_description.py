"""The robot's description that a bag has beside its joint states, where it was recorded, too."""

from __future__ import annotations

from pathlib import Path

from rosbags.typesys import Stores, get_typestore

from sysid_ros.recording.bag.reader import one_clear_error
from sysid_ros.recording.bag.rosbag2_storage import open_bag

_STRING, _NAME = 'std_msgs/msg/String', 'robot_description'


def recorded_description(path: Path) -> str | None:
    """Text of the first ``robot_description`` of a bag; None where there is none.

    Args:
        path: Folder of the bag, or its only file.

    Raises:
        RecordingError: The bag cannot be read.
    """
    with one_clear_error(path), open_bag(path) as reader:
        topics = [
            connection for connection in reader.connections
            if connection.msgtype == _STRING and connection.topic.rpartition('/')[2] == _NAME]
        for connection, _, data in reader.messages(topics[:1]) if topics else ():
            store = get_typestore(Stores.ROS2_HUMBLE)
            return str(store.deserialize_cdr(data, connection.msgtype).data)
    return None
