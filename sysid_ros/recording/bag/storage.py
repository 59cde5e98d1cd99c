"""Files of a bag: found, checked for damage, and what is left of damaged ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import zstandard
from rosbags.rosbag2 import Reader

from sysid_ros.errors import RecordingError, nearest_file
from sysid_ros.recording.bag import mcap
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE
from sysid_ros.recording.bag.mcap_messages import ChunkedFile, Messages
from sysid_ros.recording.bag.prefetch import prefetched
from sysid_ros.recording.bag.rosbag2_storage import METADATA, Rosbag2Reader, files_in, foreign_bag
from sysid_ros.recording.file_kind import file_kind, format_fix

#: How a warning begins that damage of a bag would not be seen.
UNCHECKED = 'no checksums in'
SALVAGE = 'Record again, or set recording.salvage: true to read what is left'

_SUFFIXES = ('.mcap', '.db3', '.zstd')
_SQLITE_HEADER = 100
# Messages taken together where they come one by one.
_BLOCK = 8192
# Times its size that a compressed file may hold; joint states at rest come near to 50.
_RATIO = 100


def bag_files(path: Path) -> tuple[Path, ...]:
    """Storage files of a bag, and its metadata file if it has one.

    Raises:
        RecordingError: There is no bag at the path.
    """
    if path.is_file() and path.suffix in ('.mcap', '.db3'):
        return (path,)
    foreign = foreign_bag(path)
    candidates = foreign.files if foreign is not None else tuple(
        file for file in path.glob('*') if file.suffix in _SUFFIXES)
    storage = sorted(file for file in candidates if file.is_file())
    if not storage:
        raise RecordingError(
            'there is no bag', where=str(path), found=_instead_of_bag(path),
            allowed='a rosbag2 folder, or one .mcap or .db3 file',
            fix=_fix_for_no_bag(path) or 'Name the folder that ros2 bag record wrote',
        )
    metadata = path / METADATA
    return (*storage, metadata) if metadata.is_file() else tuple(storage)


def _instead_of_bag(path: Path) -> str:
    if path.is_dir():
        return 'a folder without storage files'
    if not path.exists():
        return f'no such folder or file in {path.parent.resolve()}'
    kind = file_kind(path)
    return kind[0] if kind else f'a file that ends in {path.suffix or "nothing"}'


def _fix_for_no_bag(path: Path) -> str | None:
    if not path.exists():
        return nearest_file(path)
    kind = file_kind(path)
    if kind is not None and kind[1] == 'rosbag':
        return 'Name it .mcap or .db3, after what it is'
    return format_fix(kind[1]) if kind else None


def check_bag(path: Path, files: tuple[Path, ...], most: float) -> list[str]:
    """Check structure and checksums of a bag's files.

    Args:
        path: Folder of the bag, or its only file.
        files: Files as from :func:`bag_files`.
        most: Bytes that may be unpacked at once.

    Returns:
        A warning where damage could go unseen.

    Raises:
        RecordingError: A file is damaged, or the bag was never finished.
    """
    if path.is_dir() and files[-1].name != METADATA:
        raise RecordingError(
            f'the bag has no {METADATA}, so its recording was not finished', where=str(path),
            fix='Run ros2 bag reindex, or set recording.salvage: true to read what is left',
        )
    require_bounded(files, most)
    unseen = []
    for file in files:
        if file.suffix == '.mcap':
            covered = mcap.verify(file, most)
        elif file.suffix == '.db3':
            covered = _check_sqlite(file)
        else:
            covered = file.name == METADATA  # compared with what is read; archives are not
        if not covered:
            unseen.append(file.name)
    if not unseen:
        return []
    return [f'{UNCHECKED} {", ".join(unseen)}: damage to the samples cannot be detected']


def joint_state_connections(reader: Reader | Rosbag2Reader, topic: str, path: Path) -> list[Any]:
    """Connections of a topic.

    Raises:
        RecordingError: There are none, or one of another type; what is there is listed.
    """
    there = '; '.join(
        f'{connection.topic} ({connection.msgtype}, {connection.msgcount})'
        for connection in reader.connections
    )
    found = [connection for connection in reader.connections if connection.topic == topic]
    wrong = [connection for connection in found if connection.msgtype != JOINT_STATE]
    if not found or wrong:
        raise RecordingError(
            f'the topic {topic} is of the wrong type' if wrong else f'there is no topic {topic}',
            where=str(path), found=there or 'no topic at all', allowed=JOINT_STATE,
            fix='Name one of the topics in recording.topic',
        )
    return found


def messages_of(
    reader: Reader | Rosbag2Reader, path: Path, topics: Sequence[str], most: float,
    start: int | None = None, stop: int | None = None,
) -> Iterator[Messages]:
    """Messages of some topics in the order of reception.

    Args:
        reader: The open bag, which was checked.
        path: Its folder, or its only file.
        topics: The topics.
        most: Bytes that may be unpacked at once.
        start: First time of reception in [ns].
        stop: Time of reception after the last.
    """
    items = _one_by_one(reader, topics, start, stop)
    if not isinstance(reader, Rosbag2Reader):
        files = [path] if path.is_file() else files_in(path)
        mode = (reader.compression_mode or '').lower()
        if mode == 'message':
            items = _unpacked_messages(files, topics, most, start, stop)
        chunked = [
            ChunkedFile(file, most) for file in files if not mode and file.suffix == '.mcap']
        if len(chunked) == len(files) and all(file.whole for file in chunked):
            for each in chunked:
                yield from prefetched(each.messages(topics, start, stop))
            return
    while block := list(islice(items, _BLOCK)):
        names, received, payloads = zip(*block, strict=True)
        yield Messages.of(topics, [topics.index(name) for name in names], received, payloads)


def _one_by_one(
    reader: Reader | Rosbag2Reader, topics: Sequence[str], start: int | None, stop: int | None
) -> Iterator[tuple[str, int, bytes]]:
    """Topic, time of reception in [ns] and bytes of each message."""
    connections = [item for item in reader.connections if item.topic in topics]
    for connection, received, data in reader.messages(connections, start, stop):
        yield connection.topic, received, bytes(data)


def _unpacked_messages(
    files: Sequence[Path], topics: Sequence[str], most: float, start: int | None, stop: int | None
) -> Iterator[tuple[str, int, bytes]]:
    """Messages of a bag whose messages were compressed one by one."""
    for item in salvaged(tuple(files), most):
        if isinstance(item, str):
            raise RecordingError(item, fix=SALVAGE)
        if item.topic in topics and (start is None or item.received >= start) and (
            stop is None or item.received < stop
        ):
            data = mcap.unpacked(item.data, 'zstd', int(most))
            if len(data) > most:
                raise _too_large(files[0], f'a message of {item.topic}', most)
            yield item.topic, item.received, data


def require_bounded(files: Sequence[Path], most: float) -> None:
    """Refuse compressed files that would fill the disk when they are unpacked.

    Args:
        files: Files of a bag.
        most: Bytes that may be unpacked at once; a file may hold a hundred times its size more.

    Raises:
        RecordingError: One holds more, or cannot be unpacked.
    """
    for file in files:
        if file.suffix == '.zstd':
            allowed, size = most + _RATIO * file.stat().st_size, 0
            with file.open('rb') as packed, zstandard.ZstdDecompressor().stream_reader(
                packed, read_across_frames=True
            ) as stream:
                while block := stream.read(1 << 20):
                    size += len(block)
                    if size > allowed:
                        raise _too_large(file, 'it', allowed)


def _too_large(file: Path, what: str, most: float) -> RecordingError:
    return RecordingError(
        'the bag unpacks to more than is allowed', where=str(file),
        found=f'{what} has more than {most / 1e6:g} MB', allowed=f'{most / 1e6:g} MB',
        fix='Raise recording.memory_limit if the bag is to be trusted')


def salvaged(files: tuple[Path, ...], most: float) -> Iterator[mcap.RawMessage | str]:
    """Messages that are intact, and for each damage a sentence.

    Args:
        files: Files of the bag.
        most: Bytes that may be unpacked at once.
    """
    for file in files:
        if file.suffix == '.mcap':
            yield from mcap.salvage(file, most)
        elif file.suffix == '.db3':
            yield from _salvage_sqlite(file)
        elif file.name != METADATA:
            yield f'{file.name}: files that are compressed or of another storage cannot be salvaged'


def _open_sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro&immutable=1', uri=True)


def _check_sqlite(path: Path) -> bool:
    """Integrity of the tree of pages; sqlite has no checksum of what is in them."""
    with path.open('rb') as file:
        header = file.read(_SQLITE_HEADER)
    page, pages = int.from_bytes(header[16:18], 'big'), int.from_bytes(header[28:32], 'big')
    # A page size of 1 stands for 65536. SQLite itself fills a short last page with zeros.
    expected = (65536 if page == 1 else page) * pages
    if len(header) < _SQLITE_HEADER or path.stat().st_size < expected:
        raise RecordingError(
            'the bag is damaged: the file is truncated', where=str(path),
            found=f'{path.stat().st_size} bytes', allowed=f'{expected} bytes', fix=SALVAGE,
        )
    with closing(_open_sqlite(path)) as database:
        verdict = [row[0] for row in database.execute('PRAGMA integrity_check(3)')]
    if verdict != ['ok']:
        raise RecordingError(
            f'the bag is damaged: {"; ".join(map(str, verdict))}', where=str(path), fix=SALVAGE
        )
    return False


def _salvage_sqlite(path: Path) -> Iterator[mcap.RawMessage | str]:
    try:
        with closing(_open_sqlite(path)) as database:
            # Opens a database that is shorter than its header says.
            database.execute('PRAGMA writable_schema=ON')
            topics = {
                row[0]: (row[1], row[2])
                for row in database.execute('SELECT id, name, type FROM topics')
            }
            # In the order of the table: the index may be what is damaged.
            for topic, received, data in database.execute(
                'SELECT topic_id, timestamp, data FROM messages'
            ):
                if topic in topics and isinstance(received, int) and isinstance(data, bytes):
                    yield mcap.RawMessage(*topics[topic], received, data)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        yield f'{path}: {error}'
