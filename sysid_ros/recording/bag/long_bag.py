"""A bag whose samples do not fit into the memory allowed for them, read a part at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.reader import BagClock, JointStateGathering
from sysid_ros.recording.bag.rosbag2_storage import open_bag
from sysid_ros.recording.bag.storage import (
    bag_files,
    joint_state_connections,
    messages_of,
    require_bounded,
)
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import read_hashed, recording_of
from sysid_ros.recording.processing.grid import mean_period
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.samples import Samples

# Bytes of arrays at the peak of reading and aligning, per byte of message.
_COPIES = 4.0
# Times that of a window that is used while the next one is made.
_WITH_NEXT = 1.5


@dataclass(frozen=True, eq=False)
class LongBag:
    """Joint states of a bag of which only the stamps are kept in memory.

    The bag's checksums, its structure and all its stamps were checked.

    Attributes:
        path: Folder of the bag, or its only file.
        settings: What it holds.
        clock: When each of its messages was measured.
        periods: Sampling period of every joint's position in [s], by joint.
        sha256: Hash of its files.
        counts: Messages dropped, by reason.
        warnings: What a reader of the result has to know, as sentences.
        window: Time in [s] whose samples fit into the memory allowed for them, aligned while those
            of the window before are used.
    """

    path: Path
    settings: RecordingSettings
    clock: BagClock
    periods: Mapping[str, float]
    sha256: str
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    window: float

    @classmethod
    def survey(cls, settings: RecordingSettings, base: str | Path) -> LongBag:
        """Read all of a bag, and keep the stamps.

        Args:
            settings: Description of the recording.
            base: Folder that file names are relative to.

        Raises:
            RecordingError: As for :func:`~sysid_ros.recording.load.load_recording`.
        """
        path = Path(base) / (settings.file or '')
        gathering = JointStateGathering(settings, stored=False)
        sha256 = read_hashed(gathering, path)
        clock = gathering.clock(path)
        periods = {
            name: mean_period(t) for name, t in gathering.stamps(clock.t).items() if len(t) > 1
        }
        share = settings.memory_limit * 1e6 / (_WITH_NEXT * _bytes_needed(path, settings))
        return cls(
            path, settings, clock, periods, sha256, dict(gathering.counts),
            tuple(gathering.warnings), share * float(clock.t.max()),
        )

    @property
    def duration(self) -> float:
        """Time from the first to the last message in [s]."""
        return float(self.clock.t.max())

    def between(self, start: float, stop: float) -> Recording:
        """The samples with ``start <= t < stop``, as a recording on the bag's own clock.

        Args:
            start: First time in [s].
            stop: Time after the last in [s].

        Raises:
            RecordingError: There are none, or the bag has changed since it was surveyed.
        """
        t, received = self.clock.t, self.clock.received
        wanted = received[(t >= start) & (t < stop)]
        if not len(wanted):
            raise RecordingError(
                'there is no sample', where=str(self.path), found=f'none in {start:.4g} s to '
                f'{stop:.4g} s', fix='Check the clock of the joint states',
            )
        first, last = int(wanted.min()), int(wanted.max()) + 1
        gathering = JointStateGathering(self.settings)
        gathering.read_part(self.path, first, last)
        t = t[(received >= first) & (received < last)]
        if gathering.stored_messages != len(t):
            raise RecordingError(
                'the bag has changed while it was read', where=str(self.path),
                found=f'{gathering.stored_messages} messages', allowed=len(t),
                fix='Wait until the recording has ended, and fit again',
            )
        samples = [_between(group, start, stop) for group in gathering.samples(t)]
        return recording_of(
            [group for group in samples if len(group.t)], self.settings, str(self.path),
            self.sha256, self.clock, self.counts, self.warnings,
        )


def _between(samples: Samples, start: float, stop: float) -> Samples:
    rows = (samples.t >= start) & (samples.t < stop)
    values = {name: array[rows] for name, array in samples.values.items()}
    return Samples(samples.names, samples.t[rows], values)


def is_long(settings: RecordingSettings, base: str | Path) -> bool:
    """Whether the samples of a recording need more memory than the settings allow.

    What cannot be read is not long: reading it will say why. Nor is what is to be salvaged.

    Args:
        settings: Description of the recording.
        base: Folder that file names are relative to.
    """
    if settings.format != 'rosbag' or settings.salvage:
        return False
    try:
        needed = _bytes_needed(Path(base) / (settings.file or ''), settings)
    except Exception:  # each kind of damage has errors of its own
        return False
    return needed > settings.memory_limit * 1e6


def _bytes_needed(path: Path, settings: RecordingSettings) -> float:
    topics = [settings.topic] + ([settings.effort_topic] if settings.effort_topic else [])
    most = settings.most_unpacked
    require_bounded(bag_files(path), most)
    with open_bag(path) as reader:
        needed = 0
        for topic in topics:
            connections = joint_state_connections(reader, topic, path)
            first = next(messages_of(reader, path, (topic,), most), None)
            if first is not None:
                size = int(first.length[0])
                needed += size * sum(connection.msgcount for connection in connections)
    return _COPIES * needed
