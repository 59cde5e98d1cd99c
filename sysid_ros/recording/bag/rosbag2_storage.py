"""Bags that only rosbag2 itself knows, read and written through ``rosbag2_py``.

These are bags in storages other than MCAP and sqlite3, compressed by other means than zstd, or of
a later version of the metadata. ``rosbag2_py`` comes with a ROS distribution. It has neither
checksums to look at nor a bound on what it unpacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import ModuleType, TracebackType
from typing import Any

from rosbags.rosbag2 import Reader

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.settings import load_yaml

METADATA = 'metadata.yaml'

_ABOUT = 'rosbag2_bagfile_information'
# What is read without rosbag2_py.
_STORAGES, _COMPRESSION, _VERSION = ('mcap', 'sqlite3'), 'zstd', 9
_OWN = 'storage mcap or sqlite3, not compressed or by zstd, metadata up to version 9'
_FORMAT = 'cdr'


@dataclass(frozen=True)
class ForeignBag:
    """A bag that is only read through ``rosbag2_py``.

    Attributes:
        path: Its folder.
        files: Files that its metadata lists.
        storage: Name of the storage.
        compressed: Whether files or messages are compressed.
        why: Why, in words.
    """

    path: Path
    files: tuple[Path, ...]
    storage: str
    compressed: bool
    why: str


@dataclass(frozen=True)
class Connection:
    """A topic of a bag, with the type and number of its messages."""

    topic: str
    msgtype: str
    msgcount: int


def files_in(path: Path) -> list[Path]:
    """Storage files that the metadata of a bag lists.

    Args:
        path: Folder of the bag.

    Raises:
        ConfigurationError: The metadata cannot be read.
        KeyError, TypeError: It is not what rosbag2 writes.
    """
    names = load_yaml(path / METADATA)[_ABOUT]['relative_file_paths']
    return [path / PurePath(name).name for name in names]


def foreign_bag(path: Path) -> ForeignBag | None:
    """The reason why a bag cannot be read without ``rosbag2_py``; None where there is none.

    Args:
        path: Folder of the bag, or its only file.
    """
    if not (path / METADATA).is_file():
        return None
    try:
        about = load_yaml(path / METADATA)[_ABOUT]
        storage, version = str(about['storage_identifier']), int(about['version'])
        mode = str(about.get('compression_mode') or 'none').lower()
        compression = str(about.get('compression_format') or '')
        files = tuple(files_in(path))
    except (ConfigurationError, KeyError, TypeError, ValueError, AttributeError):
        # Damaged; whoever reads it says how.
        return None
    compressed = mode != 'none'
    if storage not in _STORAGES:
        why = f'storage {storage!r}'
    elif compressed and compression != _COMPRESSION:
        why = f'compression {compression!r}'
    elif version > _VERSION:
        why = f'metadata of version {version}'
    else:
        return None
    return ForeignBag(path, files, storage, compressed, why)


def open_bag(path: Path) -> Reader | Rosbag2Reader:
    """Reader of a bag, a context manager.

    Args:
        path: Folder of the bag, or its only file.

    Raises:
        RecordingError: The bag is only read through ``rosbag2_py``, which is not there, or has no
            such storage either.
    """
    foreign = foreign_bag(path)
    return Reader(path) if foreign is None else Rosbag2Reader(foreign)


class Rosbag2Reader:
    """Reads a bag through ``rosbag2_py``, as ``rosbags.rosbag2.Reader`` does.

    Args:
        bag: The bag.

    Attributes:
        connections: Its topics, once it is entered.
        end_time: Time after its last message in [ns] since 1970.

    Raises:
        RecordingError: ``rosbag2_py`` is not there, or does not know the storage.
    """

    def __init__(self, bag: ForeignBag) -> None:
        self._bag = bag
        self._rosbag2 = _rosbag2_py(str(bag.path), bag.why)
        known = self._rosbag2.get_registered_readers()
        if bag.storage not in known:
            raise _no_plugin(str(bag.path), bag.storage, known)
        self.connections: list[Connection] = []
        self.end_time = 0

    def __enter__(self) -> Rosbag2Reader:
        metadata = self._opened().get_metadata()
        self.connections = [
            Connection(topic.topic_metadata.name, topic.topic_metadata.type, topic.message_count)
            for topic in metadata.topics_with_message_count]
        self.end_time = metadata.starting_time.nanoseconds + metadata.duration.nanoseconds + 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.connections = []

    def messages(
        self, connections: Collection[Connection], start: int | None = None,
        stop: int | None = None,
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Messages of some topics in the order of reception.

        Args:
            connections: The topics.
            start: First time of reception in [ns].
            stop: Time of reception after the last.

        Yields:
            Topic, time of reception and bytes of each.
        """
        wanted = {connection.topic: connection for connection in connections}
        reader = self._opened()
        reader.set_filter(self._rosbag2.StorageFilter(topics=list(wanted)))
        if start is not None:
            reader.seek(start)
        while reader.has_next():
            topic, data, received = reader.read_next()
            # Not every storage keeps the filter when it seeks.
            if topic in wanted and (start is None or received >= start) and (
                stop is None or received < stop
            ):
                yield wanted[topic], received, data

    def _opened(self) -> Any:
        rosbag2 = self._rosbag2
        reader = (rosbag2.SequentialCompressionReader if self._bag.compressed
                  else rosbag2.SequentialReader)()
        reader.open(*_options(rosbag2, self._bag.path, self._bag.storage))
        return reader


def write_joint_states(
    path: Path, storage: str, topic: str,
    messages: Iterable[tuple[Iterable[int], Iterable[bytes]]],
) -> None:
    """Write joint states to a bag through ``rosbag2_py``.

    Args:
        path: Folder of the new bag.
        storage: Name of its storage.
        topic: Topic of the messages.
        messages: Times of reception in [ns] and serialized messages, a block at a time.

    Raises:
        RecordingError: ``rosbag2_py`` is not there, or does not know the storage.
    """
    rosbag2 = _rosbag2_py(str(path), f'storage {storage!r}')
    known = rosbag2.get_registered_writers()
    if storage not in known:
        raise _no_plugin(str(path), storage, known)
    writer = rosbag2.SequentialWriter()
    writer.open(*_options(rosbag2, path, storage))
    writer.create_topic(rosbag2.TopicMetadata(
        id=0, name=topic, type=JOINT_STATE, serialization_format=_FORMAT))
    for stamps, payloads in messages:
        for stamp, payload in zip(stamps, payloads, strict=True):
            writer.write(topic, payload, stamp)
    writer.close()


def _options(rosbag2: ModuleType, path: Path, storage: str) -> tuple[Any, Any]:
    return (
        rosbag2.StorageOptions(uri=str(path), storage_id=storage),
        rosbag2.ConverterOptions(
            input_serialization_format=_FORMAT, output_serialization_format=_FORMAT))


def _rosbag2_py(where: str, why: str) -> ModuleType:
    try:
        import rosbag2_py
    except ImportError as error:
        raise RecordingError(
            f'only rosbag2 itself knows such a bag, and it is not there: {error}', where=where,
            found=why, allowed=_OWN,
            fix='Source the ROS distribution that it belongs to, or convert it there by '
            'ros2 bag convert') from error
    module: ModuleType = rosbag2_py
    return module


def _no_plugin(where: str, storage: str, known: Iterable[str]) -> RecordingError:
    return RecordingError(
        'the sourced rosbag2 has no such storage', where=where, found=repr(storage),
        allowed=', '.join(sorted(known)),
        fix='Install its plugin, usually the package rosbag2_storage_ and the name')
