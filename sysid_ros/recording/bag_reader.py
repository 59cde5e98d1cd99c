"""Joint states from rosbag2 recordings, sqlite3 and MCAP, checked for damage first."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError, SysidError
from sysid_ros.recording import mcap
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.faults import mend_clock
from sysid_ros.recording.joint_states import JointStateTable
from sysid_ros.recording.samples import Samples

JOINT_STATE = 'sensor_msgs/msg/JointState'
METADATA = 'metadata.yaml'

_SALVAGE = 'Record again, or set recording.salvage: true to read what is left'
_LEAST_MESSAGES = 2
_SQLITE_HEADER = 100


@dataclass(frozen=True, eq=False)
class BagContents:
    """Joint states of a bag, by groups of joints that came together.

    Attributes:
        samples: Rows of the groups, ``t`` relative to ``start``.
        start: Absolute time of ``t = 0`` in [s].
        files: Files the bag consists of.
        counts: Messages dropped, by reason.
        warnings: What a reader of the result has to know, as sentences.
        breaks: Times in [s] at which the clock was reset.
    """

    samples: tuple[Samples, ...]
    start: float
    files: tuple[Path, ...]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    breaks: tuple[float, ...]


def read_bag(path: Path, settings: RecordingSettings) -> BagContents:
    """Read the joint states of a bag, message by message.

    Only numbers are kept in memory. The bag's checksums and structure are
    checked before anything is read; a damaged bag is read only when the
    settings ask for salvage, which is then said in the warnings.

    Args:
        path: Folder of the bag, or one ``.mcap`` or ``.db3`` file.
        settings: Topics, names, clock bounds.

    Returns:
        The joint states.

    Raises:
        RecordingError: The bag is missing or damaged, a topic or joint is not
            in it (what is there is listed), it is empty, or its stamps are zero
            or far from the time of reception.
    """
    files = bag_files(path)
    gathering = _Gathering(settings)
    try:
        if settings.salvage:
            gathering.salvage(files)
        else:
            gathering.warnings += check_bag(path, files)
            gathering.read(path)
    except SysidError:
        raise
    except Exception as error:  # damage reaches sqlite, zstd, CDR and YAML, each with its own
        raise RecordingError(
            f'the bag is damaged: {type(error).__name__}: {error}', where=str(path), fix=_SALVAGE
        ) from error
    return gathering.contents(path, files)


def bag_files(path: Path) -> tuple[Path, ...]:
    """Storage files of a bag, and its metadata file if it has one.

    Raises:
        RecordingError: There is no bag at the path.
    """
    if path.is_file() and path.suffix in ('.mcap', '.db3'):
        return (path,)
    suffixes = ('.mcap', '.db3', '.zstd')
    storage = sorted(
        file for file in path.glob('*') if file.is_file() and file.suffix in suffixes
    )
    if not storage:
        raise RecordingError(
            'there is no bag', where=str(path),
            found='a folder without storage files' if path.is_dir() else 'no such folder or file',
            allowed='a rosbag2 folder, or one .mcap or .db3 file',
        )
    metadata = path / METADATA
    return (*storage, metadata) if metadata.is_file() else tuple(storage)


def check_bag(path: Path, files: tuple[Path, ...]) -> list[str]:
    """Check structure and checksums of a bag's files.

    Args:
        path: Folder of the bag, or its only file.
        files: Files as from :func:`bag_files`.

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
    unseen = []
    for file in files:
        if file.suffix == '.mcap':
            covered = mcap.verify(file)
        elif file.suffix == '.db3':
            covered = _check_sqlite(file)
        else:
            covered = file.name == METADATA  # compared with what is read; archives are not
        if not covered:
            unseen.append(file.name)
    if not unseen:
        return []
    return [f'no checksums in {", ".join(unseen)}: damage to the samples cannot be detected']


class _Gathering:
    """State of reading one bag."""

    def __init__(self, settings: RecordingSettings) -> None:
        self.settings = settings
        self.counts: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._stamps = array('q')
        self._received = array('q')
        # The layout of this message is the same in every ROS 2 distribution.
        self._types = get_typestore(Stores.ROS2_HUMBLE)
        split = settings.effort_topic is not None
        state = ('position', 'velocity') if split else ('position', 'velocity', 'effort')
        self._tables = {settings.topic: self._table(state)}
        if settings.effort_topic is not None:
            self._tables[settings.effort_topic] = self._table(('effort',))

    def read(self, path: Path) -> None:
        """Read a bag that was checked."""
        with Reader(path) as reader:
            connections = [
                connection for topic in self._tables
                for connection in _joint_state_connections(reader, topic, path)
            ]
            noted = Counter({topic: 0 for topic in self._tables})
            for connection in connections:
                noted[connection.topic] += connection.msgcount
            read: Counter[str] = Counter()
            for connection, received, data in reader.messages(connections=connections):
                read[connection.topic] += 1
                self._add(connection.topic, received, data)
        for topic, count in noted.items():
            if read[topic] != count:
                raise RecordingError(
                    f'the bag is damaged: messages of {topic} are missing or too many',
                    where=str(path), found=read[topic], allowed=f'{count} as noted in the bag',
                    fix=_SALVAGE,
                )

    def salvage(self, files: tuple[Path, ...]) -> None:
        """Read whatever is intact."""
        damage = []
        there: Counter[tuple[str, str]] = Counter()
        for item in _salvaged(files):
            if isinstance(item, str):
                damage.append(item)
                continue
            there[item.topic, item.kind] += 1
            if item.kind == JOINT_STATE and item.topic in self._tables:
                try:
                    self._add(item.topic, item.received, item.data)
                except Exception:  # a message that cannot be decoded is part of the damage
                    self.counts['messages that cannot be decoded dropped'] += 1
        for topic in self._tables:
            if not there[topic, JOINT_STATE]:
                listed = [f'{name} ({kind}, {count})' for (name, kind), count in there.items()]
                raise RecordingError(
                    f'nothing of {topic} could be salvaged', where=str(files[0].parent),
                    found='; '.join(listed) or 'no intact message at all',
                )
        self.warnings.append(
            f'salvaged from a damaged bag: {sum(there.values())} messages read; '
            + ('; '.join(damage) if damage else 'no damage was met')
        )

    def contents(self, path: Path, files: tuple[Path, ...]) -> BagContents:
        """Check names and stamps, and make up the tables."""
        if self._tables[self.settings.topic].seen:
            self._check_joints(path)
        if len(self._stamps) < _LEAST_MESSAGES:
            raise RecordingError(
                'the bag is too short', where=str(path),
                found=f'{len(self._stamps)} usable messages on {", ".join(self._tables)}',
                allowed=f'at least {_LEAST_MESSAGES}, and some seconds of motion for a fit',
                fix='Record while the robot moves',
            )
        received = np.array(self._received, dtype=np.int64)
        stamps = np.array(self._stamps, dtype=np.int64) if (
            self.settings.stamps == 'header') else received
        self._check_zero(stamps, path)
        # Nanoseconds since 1970 do not fit into a float: they are made relative first.
        origin = int(stamps[0])
        t, breaks = mend_clock(
            (stamps - origin) * 1e-9, (received - received[0]) * 1e-9,
            self.settings.reset_tolerance,
        )
        self._check_distance(t + (origin - int(received[0])) * 1e-9, received, path)
        first = float(t.min())
        self.warnings += [
            f'the clock jumped back at {at - first:.3f} s: what follows was shifted on by the '
            'times of reception and made a segment of its own' for at in breaks
        ]
        samples = [group for table in self._tables.values() for group in table.groups(t - first)]
        return BagContents(
            tuple(samples), origin * 1e-9 + first, files, self.counts, tuple(self.warnings),
            tuple(at - first for at in breaks),
        )

    def _table(self, quantities: tuple[str, ...]) -> JointStateTable:
        return JointStateTable(
            self.settings.joints, self.settings.rename, quantities, self.counts
        )

    def _add(self, topic: str, received: int, data: bytes) -> None:
        message: Any = self._types.deserialize_cdr(data, JOINT_STATE)
        stamp = message.header.stamp
        if self._tables[topic].add(message, len(self._stamps)):
            self._stamps.append(stamp.sec * 1_000_000_000 + stamp.nanosec)
            self._received.append(received)

    def _check_joints(self, path: Path) -> None:
        table = self._tables[self.settings.topic]
        missing = [name for name in self.settings.joints if name not in table.seen]
        if missing:
            raise RecordingError(
                f'joints are not on {self.settings.topic}: {", ".join(missing)}', where=str(path),
                found=', '.join(table.seen) or 'no joint at all',
                fix='Correct recording.joints or recording.rename, or use the bag of this robot',
            )
        unknown = [name for name in table.seen if name not in table.joints]
        if unknown:
            self.warnings.append(f'joints in the bag that were ignored: {", ".join(unknown)}')

    def _check_zero(self, stamps: np.ndarray, path: Path) -> None:
        zero = int(np.count_nonzero(stamps == 0))
        if zero:
            raise RecordingError(
                'messages have a zero stamp', where=str(path),
                found=f'{zero} of {len(stamps)} messages', allowed='the time of measurement',
                fix='Stamp the joint states at their source, or set recording.stamps: receive '
                'to use the less exact times of reception',
            )

    def _check_distance(self, t: np.ndarray, received: np.ndarray, path: Path) -> None:
        distance = np.abs(t - (received - received[0]) * 1e-9)
        farthest, far = float(distance.max()), int(np.sum(distance > self.settings.clock_warning))
        if farthest > self.settings.clock_limit:
            raise RecordingError(
                'stamps are far from the time of reception', where=str(path),
                found=f'{farthest:.3g} s', allowed=f'{self.settings.clock_limit:g} s '
                '(recording.clock_limit)',
                fix='Synchronise the clocks, record with the clock of the stamps, or raise the '
                'limit',
            )
        if far:
            self.counts['stamps far from the time of reception'] += far
            self.warnings.append(
                f'{far} stamps are more than {self.settings.clock_warning:g} s from the time of '
                f'reception, up to {farthest:.3g} s'
            )


def _joint_state_connections(reader: Reader, topic: str, path: Path) -> list[Any]:
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


def _salvaged(files: tuple[Path, ...]) -> Iterator[mcap.RawMessage | str]:
    for file in files:
        if file.suffix == '.mcap':
            yield from mcap.salvage(file)
        elif file.suffix == '.db3':
            yield from _salvage_sqlite(file)
        elif file.name != METADATA:
            yield f'{file.name}: compressed files cannot be salvaged'


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
            found=f'{path.stat().st_size} bytes', allowed=f'{expected} bytes', fix=_SALVAGE,
        )
    with closing(_open_sqlite(path)) as database:
        verdict = [row[0] for row in database.execute('PRAGMA integrity_check(3)')]
    if verdict != ['ok']:
        raise RecordingError(
            f'the bag is damaged: {"; ".join(map(str, verdict))}', where=str(path), fix=_SALVAGE
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
