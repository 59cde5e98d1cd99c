"""Joint states of a bag as they lie in it, for whoever wants them again as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.mcap import RawMessage
from sysid_ros.recording.bag.reader import one_clear_error
from sysid_ros.recording.bag.rosbag2_storage import open_bag
from sysid_ros.recording.bag.storage import bag_files, check_bag, messages_of

# Bytes that may be unpacked at once.
_MOST = 3e8


def joint_state_topics(path: Path, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Topics of joint states in a bag that is whole.

    Args:
        path: Folder of the bag, or its only file.
        wanted: Topics that must be there; all there are where empty.

    Raises:
        RecordingError: The bag is damaged or not there, or a topic is not in it, or of another
            type; what is there is listed.
    """
    files = bag_files(path)
    with one_clear_error(path):
        check_bag(path, files, _MOST)
        with open_bag(path) as reader:
            kinds = {item.topic: item.msgtype for item in reader.connections}
    found = tuple(topic for topic, kind in kinds.items() if kind == JOINT_STATE)
    missing = [topic for topic in wanted if topic not in found]
    if missing or not found:
        raise RecordingError(
            'there are no joint states' + (f' on {", ".join(missing)}' if missing else ''),
            where=str(path), allowed=JOINT_STATE,
            found='; '.join(f'{topic} ({kind})' for topic, kind in kinds.items()) or 'no topic',
            fix='Record them, as ros2 bag record /joint_states, or set recording: {topic: /…}',
        )
    return tuple(wanted) or found


def joint_state_messages(path: Path, topics: Sequence[str]) -> Iterator[RawMessage]:
    """Messages of a bag in the order of their reception.

    Args:
        path: Folder of the bag, or its only file.
        topics: Topics wanted.

    Raises:
        RecordingError: The bag cannot be read.
    """
    with one_clear_error(path), open_bag(path) as reader:
        for block in messages_of(reader, path, tuple(topics), _MOST):
            for number, received, start, length in zip(
                block.topic.tolist(), block.received.tolist(), block.start.tolist(),
                block.length.tolist(), strict=True,
            ):
                data = block.data[start:start + length].tobytes()
                yield RawMessage(block.topics[number], JOINT_STATE, received, data)
