"""Joint states from rosbag2 recordings, sqlite3 and MCAP, checked for damage first."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import Reader

from sysid_ros.errors import RecordingError, SysidError
from sysid_ros.numerics.progress import tell, work
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, Batch, JointStateDecoder
from sysid_ros.recording.bag.mcap_messages import Messages
from sysid_ros.recording.bag.rosbag2_storage import Rosbag2Reader, open_bag
from sysid_ros.recording.bag.storage import (
    SALVAGE,
    bag_files,
    check_bag,
    joint_state_connections,
    messages_of,
    salvaged,
)
from sysid_ros.recording.checks.faults import mend_clock
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.joint_states import JointStateTable
from sysid_ros.recording.samples import Samples

_LEAST_MESSAGES = 2

# Stamp of a message that was never stamped, and how these are counted.
_NEVER = 0
# The second stamp in [ns] of stamps that count from zero is below.
_SOON = 1_000_000_000
_UNSTAMPED = 'messages with a zero stamp dropped'
# So many of them, or this part of all, may be.
_FEW, _FEW_OF_ALL = 5, 0.01
# Messages decoded together.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class BagClock:
    """When the messages of a bag were measured.

    Attributes:
        t: Time of every message that was stored in [s], from 0 on, in the order of arrival.
        received: Its time of reception in [ns].
        start: Absolute time of ``t = 0`` in [s].
        breaks: Times in [s] at which the clock was reset.
    """

    t: np.ndarray
    received: np.ndarray
    start: float
    breaks: tuple[float, ...]


@dataclass
class JointStateGathering:
    """Joint states being read from a bag, many messages at a time.

    Only numbers are kept in memory.

    Attributes:
        settings: Topics, names, clock bounds.
        stored: Whether the samples are kept, or only their stamps.
        counts: Messages dropped, by reason.
        warnings: What a reader of the result has to know, as sentences.
    """

    settings: RecordingSettings
    stored: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stamps = array('q')
        self._received = array('q')
        self._decoder = JointStateDecoder()
        self._most = self.settings.most_unpacked
        effort_topic = self.settings.effort_topic
        state = ('position', 'velocity') + (() if effort_topic is not None else ('effort',))
        self._tables = {self.settings.topic: self._table(state)}
        if effort_topic is not None:
            self._tables[effort_topic] = self._table(('effort',))

    def _table(self, quantities: tuple[str, ...]) -> JointStateTable:
        return JointStateTable(
            self.settings.joints, self.settings.rename, quantities, self.counts,
            quantities if self.stored else (),
        )

    def read_checked(self, path: Path) -> tuple[Path, ...]:
        """Read all of a bag.

        The bag's checksums and structure are checked before anything is read; a damaged bag
        is read only when the settings ask for salvage, which is then said in the warnings.

        Args:
            path: Folder of the bag, or one ``.mcap`` or ``.db3`` file.

        Returns:
            Files of the bag.

        Raises:
            RecordingError: The bag is missing or damaged, or a topic or joint is not in it
                (what is there is listed).
        """
        files = bag_files(path)
        with one_clear_error(path):
            if self.settings.salvage:
                self._salvage(files)
            else:
                self.warnings += check_bag(path, files, self._most)
                self._read_all(path)
        if self._tables[self.settings.topic].seen:
            self._check_joints(path)
        return files

    def read_part(self, path: Path, start: int, stop: int) -> None:
        """Read what was received from ``start`` on and before ``stop``, in [ns].

        Args:
            path: Folder of a bag that was checked, or its only file.
            start: First time of reception.
            stop: Time of reception after the last.

        Raises:
            RecordingError: The bag cannot be read.
        """
        with one_clear_error(path), open_bag(path) as reader:
            self._read(reader, path, start, stop)

    def _read_all(self, path: Path) -> None:
        with open_bag(path) as reader:
            read, noted = self._read(reader, path)
        for topic, count in noted.items():
            if read[topic] != count:
                raise RecordingError(
                    f'the bag is damaged: messages of {topic} are missing or too many',
                    where=str(path), found=read[topic], allowed=f'{count} as noted in the bag',
                    fix=SALVAGE,
                )

    def _read(
        self, reader: Reader | Rosbag2Reader, path: Path, start: int | None = None,
        stop: int | None = None,
    ) -> tuple[Counter[str], Counter[str]]:
        """Messages read, and those noted in the bag, by topic."""
        connections = [
            connection for topic in self._tables
            for connection in joint_state_connections(reader, topic, path)
        ]
        noted = Counter({topic: 0 for topic in self._tables})
        for connection in connections:
            noted[connection.topic] += connection.msgcount
        read: Counter[str] = Counter()
        # Of a part of the bag nobody knows how many messages it has.
        count = noted.total() if start is None and stop is None else 0
        with work(f'messages of {path.name}'):
            for block in messages_of(reader, path, tuple(self._tables), self._most, start, stop):
                self._add(block)
                for number, topic in enumerate(block.topics):
                    read[topic] += int(np.count_nonzero(block.topic == number))
                tell(read.total(), count)
        return read, noted

    def _salvage(self, files: tuple[Path, ...]) -> None:
        damage = []
        there: Counter[tuple[str, str]] = Counter()
        items = salvaged(files, self._most)
        while part := list(islice(items, _BLOCK)):
            damage += [item for item in part if isinstance(item, str)]
            messages = [item for item in part if not isinstance(item, str)]
            there.update((message.topic, message.kind) for message in messages)
            topics = tuple(self._tables)
            of_use = [
                message for message in messages
                if message.kind == JOINT_STATE and message.topic in topics]
            self._add_intact(Messages.of(
                topics, [topics.index(message.topic) for message in of_use],
                [message.received for message in of_use], [message.data for message in of_use]))
        for topic in self._tables:
            if not there[topic, JOINT_STATE]:
                listed = [f'{name} ({kind}, {count})' for (name, kind), count in there.items()]
                raise RecordingError(
                    f'nothing of {topic} could be salvaged', where=str(files[0].parent),
                    found='; '.join(listed) or 'no intact message at all',
                    fix='Set recording: {topic: …} to one of these, or record again',
                )
        self.warnings.append(
            f'salvaged from a damaged bag: {sum(there.values())} messages read; '
            + ('; '.join(damage) if damage else 'no damage was met')
        )

    def _add_intact(self, block: Messages) -> None:
        try:
            self._add(block)
        except Exception:  # a message that cannot be decoded is part of the damage
            if len(block) <= 1:
                self.counts['messages that cannot be decoded dropped'] += len(block)
                return
            half = len(block) // 2
            self._add_intact(block.select(slice(half)))
            self._add_intact(block.select(slice(half, None)))

    def _add(self, block: Messages) -> None:
        """Store a block of messages, in the order of arrival.

        Nothing is stored or counted when a message cannot be decoded. Messages without a stamp
        are left out where stamps count.
        """
        stamps = np.zeros(len(block), dtype=np.int64)
        accepted = np.zeros(len(block), dtype=bool)
        decoded: list[tuple[JointStateTable, Batch, np.ndarray]] = []
        for number, table in enumerate(self._tables.values()):
            rows = np.flatnonzero(block.topic == number)
            for batch in self._decoder.decode_in(
                block.data, block.start[rows], block.length[rows]
            ):
                decoded.append((table, batch, rows[batch.rows]))
        if self.settings.stamps == 'header':
            decoded = self._stamped(decoded)
        batches = [part for part in decoded if part[0].accepts(part[1])]
        for _, batch, at in batches:
            stamps[at], accepted[at] = batch.stamps, True
        # Messages that were stored are numbered in the order of arrival, over all topics.
        numbers = len(self._stamps) + np.cumsum(accepted) - 1
        for table, batch, at in batches:
            table.store(batch, numbers[at])
        self._stamps.frombytes(stamps[accepted].tobytes())
        self._received.frombytes(block.received[accepted].tobytes())

    def _stamped(
        self, decoded: list[tuple[JointStateTable, Batch, np.ndarray]]
    ) -> list[tuple[JointStateTable, Batch, np.ndarray]]:
        """Messages without those that were never stamped, which are counted."""
        found = []
        for table, batch, at in decoded:
            there = batch.stamps != _NEVER
            second = batch.stamps[1:2]
            if not self._stamps and at[0] == 0 and ((second > 0) & (second < _SOON)).any():
                there[0] = True  # of stamps that count from zero
            if there.all():
                found.append((table, batch, at))
                continue
            self.counts[_UNSTAMPED] += int(np.count_nonzero(~there))
            if there.any():
                found.append((table, batch.select(there), at[there]))
        return found

    def clock(self, path: Path) -> BagClock:
        """Check the stamps of all that was read, and mend resets of the clock.

        Args:
            path: The bag, for messages.

        Raises:
            RecordingError: There are too few messages, or stamps that are zero, far from the
                time of reception, or jump back again and again.
        """
        _check_unstamped(self.counts[_UNSTAMPED], len(self._stamps), path)
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
        return BagClock(
            t - first, received, origin * 1e-9 + first, tuple(at - first for at in breaks))

    @property
    def stored_messages(self) -> int:
        """Number of messages that were of use."""
        return len(self._stamps)

    def samples(self, t: np.ndarray) -> tuple[Samples, ...]:
        """Rows by groups of joints that came together.

        Args:
            t: Time of every message that was stored in [s].
        """
        return tuple(group for table in self._tables.values() for group in table.groups(t))

    def stamps(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """When the position of each joint was measured, in [s], strictly increasing.

        Args:
            t: Time of every message that was stored in [s].
        """
        return {
            name: stamps
            for group in self._tables[self.settings.topic].groups(t)
            for stamps in [np.unique(group.t)] for name in group.names
        }

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


@contextmanager
def one_clear_error(path: Path) -> Iterator[None]:
    """Damage reaches sqlite, zstd, CDR and YAML, each with errors of its own.

    Args:
        path: The bag, for the message.

    Raises:
        RecordingError: Whatever went wrong within.
    """
    try:
        yield
    except SysidError:
        raise
    except Exception as error:
        raise RecordingError(
            f'the bag is damaged: {type(error).__name__}: {str(error).rstrip(".")}',
            where=str(path), fix=SALVAGE,
        ) from error


def _check_unstamped(without: int, stamped: int, path: Path) -> None:
    """Refuse a bag whose publisher does not stamp; that of a driver that starts is left out."""
    if without > max(_FEW, _FEW_OF_ALL * (without + stamped)):
        raise RecordingError(
            'messages have a zero stamp', where=str(path),
            found=f'{without} of {without + stamped} messages', allowed='the time of measurement',
            fix='Stamp the joint states at their source, or set recording.stamps: receive '
            'to use the less exact times of reception',
        )
