"""What actuators were told, from a topic of a bag beside the joint states."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.interfaces import Connection as BagConnection
from rosbags.typesys import Stores, get_typestore

from sysid_ros.errors import RecordingError, listed, nearest_name
from sysid_ros.recording.bag.control_messages import (
    CONTROL_TYPES,
    CONTROLLER_STATE,
    commanded_values,
    control_types,
    wanted_point,
)
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, JointStateDecoder
from sysid_ros.recording.bag.mcap import RawMessage
from sysid_ros.recording.bag.reader import BagClock, one_clear_error
from sysid_ros.recording.bag.rosbag2_storage import open_bag
from sysid_ros.recording.bag.storage import bag_files, messages_of, salvaged
from sysid_ros.recording.bag.trajectory_playback import JointPlayback, joint_points
from sysid_ros.recording.description import CommandSettings, RecordingSettings
from sysid_ros.recording.processing.grid import mean_period
from sysid_ros.recording.samples import Samples

JOINT_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
FLOAT_ARRAY = 'std_msgs/msg/Float64MultiArray'
COMMAND_TYPES = (JOINT_TRAJECTORY, FLOAT_ARRAY, JOINT_STATE)
#: Types of the topics of a bag that may hold commands.
BAG_COMMAND_TYPES = (*COMMAND_TYPES, *CONTROL_TYPES)
# A controller that stands still for so long in [s] tells nothing in between.
_PAUSE = 0.5

# Fields of the points of a trajectory, by those of settings.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    'position': ('positions', 'velocities', 'accelerations'), 'velocity': ('velocities',),
    'effort': ('effort',)}


class _Message(NamedTuple):
    """A message of commands: stamps in [ns], zero where it has none, and what it says."""

    stamp: int
    received: int
    content: Any


def read_commands(
    path: Path, settings: RecordingSettings, clock: BagClock, counts: Counter[str]
) -> Samples:
    """Commands of a bag that was checked, on the clock of its joint states.

    A command that was given before the first joint state holds from that on. Messages count from
    their stamps on; those without one, and all where the clock of the stamps was reset, from their
    reception on, less the median time that joint states take from stamp to reception.

    Args:
        path: Folder of the bag, or its only file.
        settings: What it holds, with commands.
        clock: When the joint states were measured.
        counts: Updated with the messages dropped.

    Returns:
        ``command`` of the joints that were told anything, NaN where one was told nothing new.

    Raises:
        RecordingError: The topic is not there, is one of several or of another type, or its
            messages do not hold commands of the joints.
    """
    command = settings.command
    assert command is not None  # required of the caller
    with one_clear_error(path):
        topic, kind, definition, raw = _raw_messages(path, settings, command)
        reading = _CommandReading(
            settings, command, f'{path}: {topic}', counts, mean_period(np.unique(clock.t)),
            float(clock.t.max()))
        messages = list(_decoded(raw, kind, definition, reading.where))
    begins, order = _begins(messages, settings, clock, reading.where)
    for row in order:
        reading.add(kind, float(begins[row]), messages[row].content)
    return reading.samples()


def _raw_messages(
    path: Path, settings: RecordingSettings, command: CommandSettings
) -> tuple[str, str, str, list[RawMessage]]:
    """Topic of the commands, its type and what the bag says it is made of, and its messages."""
    if settings.salvage:
        intact = [
            item for item in salvaged(bag_files(path), settings.most_unpacked)
            if not isinstance(item, str) and item.kind in BAG_COMMAND_TYPES
            and item.topic in {command.topic or item.topic} - _taken(settings, command)]
        topic, kind = _topic({item.topic: item.kind for item in intact}, settings, command, path)
        own = [item for item in intact if item.topic == topic]
        return topic, kind, own[0].definition, own
    with open_bag(path) as reader:
        kinds = {item.topic: item.msgtype for item in reader.connections}
        topic, kind = _topic(kinds, settings, command, path)
        stated = [
            item.msgdef.data for item in reader.connections
            if item.topic == topic and isinstance(item, BagConnection)]
        return topic, kind, ''.join(stated[:1]), [
            RawMessage(topic, kind, received, block.data[start:start + length].tobytes())
            for block in messages_of(reader, path, (topic,), settings.most_unpacked)
            for received, start, length in zip(
                block.received.tolist(), block.start.tolist(), block.length.tolist(), strict=True)]


def _taken(settings: RecordingSettings, command: CommandSettings) -> set[str | None]:
    """Topics that hold commands only where they are named."""
    return {settings.topic, settings.effort_topic} - {command.topic}


def _topic(
    kinds: Mapping[str, str], settings: RecordingSettings, command: CommandSettings, path: Path
) -> tuple[str, str]:
    """The topic of the commands and its type, of those of a bag by topic."""
    fitting = command_topics({
        topic: kind for topic, kind in kinds.items() if topic not in _taken(settings, command)})
    words = [f'{topic} ({kinds[topic]})' for topic in fitting]
    line = 'Say recording: {command: {topic: …}}'
    if command.topic is None and len(fitting) > 1:
        raise RecordingError(
            'several topics may hold the commands', where=str(path), found=listed(words),
            fix=line.replace('…', fitting[0]))
    wanted = command.topic or ''.join(fitting)
    if wanted in kinds and kinds[wanted] not in BAG_COMMAND_TYPES:
        raise RecordingError(
            f'the topic {wanted} is of the wrong type', where=str(path), found=kinds[wanted],
            allowed=', '.join(BAG_COMMAND_TYPES),
            fix=f'{line.replace("…", fitting[0])}, or write it to a table' if fitting else None)
    if wanted not in kinds:
        near = nearest_name(wanted, fitting) or next(iter(fitting), '')
        raise RecordingError(
            f'there is no topic {wanted}' if wanted else 'there is no topic of commands',
            where=str(path), allowed=', '.join(BAG_COMMAND_TYPES),
            found=listed(words) or f'none of these types beside {settings.topic}',
            fix=line.replace('…', near) if near else 'Record what the robot is told, too')
    return wanted, kinds[wanted]


def command_topics(kinds: Mapping[str, str]) -> list[str]:
    """Topics that may hold commands, of those of a bag with their types.

    What controllers say of themselves counts where nothing else says what they were told; values
    of interfaces are measured as a rule, and count where their topic is named alone.

    Args:
        kinds: Types of topics by name.
    """
    said = [topic for topic, kind in kinds.items() if kind in COMMAND_TYPES]
    return said or [topic for topic, kind in kinds.items() if kind == CONTROLLER_STATE]


def _decoded(
    raw: list[RawMessage], kind: str, definition: str, where: str
) -> Iterator[_Message]:
    """Messages in the order of reception."""
    if kind == JOINT_STATE:
        found: dict[int, _Message] = {}
        for batch in JointStateDecoder().decode([message.data for message in raw]):
            for k, row in enumerate(batch.rows.tolist()):
                fields = {name: rows[k] for name, rows in batch.values.items()}
                found[row] = _Message(
                    int(batch.stamps[k]), raw[row].received, (batch.names, fields))
        yield from (found[row] for row in sorted(found))
        return
    types = control_types(kind, definition, where) if kind in CONTROL_TYPES else (
        get_typestore(Stores.ROS2_HUMBLE))
    for message in raw:
        content: Any = types.deserialize_cdr(message.data, kind)
        stamp = 0
        if kind != FLOAT_ARRAY:
            time = content.header.stamp
            stamp = time.sec * 1_000_000_000 + time.nanosec
        yield _Message(stamp, message.received, content)


def _begins(
    messages: list[_Message], settings: RecordingSettings, clock: BagClock, where: str
) -> tuple[np.ndarray, np.ndarray]:
    """When messages begin to count in [s], and their order in time."""
    stamps = np.array([message.stamp for message in messages], dtype=np.int64)
    received = np.array([message.received for message in messages], dtype=np.int64)
    first = clock.received[0]
    on_the_way = float(np.median((clock.received - first) * 1e-9 - clock.t))
    begins = (received - first) * 1e-9 - on_the_way
    if settings.stamps == 'header' and not clock.breaks:
        there = stamps != 0
        told = (stamps - round(clock.start * 1e9)) * 1e-9
        distance = float(np.median(np.abs(told - begins)[there])) if there.any() else 0.0
        if distance > settings.clock_limit:
            raise RecordingError(
                'stamps of commands are far from the time of reception', where=where,
                found=f'{distance:.3g} s', allowed=f'{settings.clock_limit:g} s '
                '(recording.clock_limit)',
                fix='Synchronise the clocks, or set recording: {stamps: receive}')
        begins[there] = told[there]
    return begins, np.argsort(begins, kind='stable')


@dataclass
class _CommandReading:
    """Messages of commands on their way to what each joint was told."""

    settings: RecordingSettings
    command: CommandSettings
    where: str
    counts: Counter[str]
    period: float
    last: float

    def __post_init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._fields: list[str] | None = None
        self._tracks: defaultdict[str, JointPlayback] = defaultdict(
            lambda: JointPlayback(self.period, self.last))
        self._wanted_points: defaultdict[str, list[np.ndarray]] = defaultdict(list)

    def add(self, kind: str, begin: float, content: Any) -> None:
        """Take a message that counts from a time in [s] on."""
        if kind == JOINT_TRAJECTORY:
            self._add_trajectory(begin, content)
            return
        if kind in CONTROL_TYPES:
            self._add_told(kind, begin, content)
            return
        if kind == FLOAT_ARRAY:
            joints = self._wanted(self._array_joints(len(content.data)))
            values = content.data
        else:
            joints, fields = self._wanted(self._renamed(content[0])), content[1]
            values = fields[self.command.field]
            if len(values) != len(joints):
                self._drop([name for name, all_ in fields.items() if len(all_) == len(joints)])
                return
        for joint, value in zip(joints, values.tolist(), strict=True):
            if joint and np.isfinite(value):
                self._tracks[joint].hold(begin, value)

    def _array_joints(self, count: int) -> tuple[str, ...]:
        names = self.command.joints or self.settings.joints
        if len(names) != count:
            raise RecordingError(
                'the numbers of a message are not those of so many joints', where=self.where,
                found=f'{count} numbers', allowed=f'{len(names)} joints: '
                f'{listed(names) or "none is named"}',
                fix='Name their joints in order, recording: {command: {joints: [shoulder, elbow]}}')
        return names

    def _renamed(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names in the model of those in messages."""
        return tuple(self.settings.rename.get(name, name) for name in names)

    def _wanted(self, joints: tuple[str, ...]) -> list[str]:
        """Joints of a message; empty those that are not wanted."""
        self._seen.update(dict.fromkeys(joints))
        wanted = self.settings.joints
        return [joint if not wanted or joint in wanted else '' for joint in joints]

    def _add_trajectory(self, begin: float, content: Any) -> None:
        joints, points = self._wanted(self._renamed(content.joint_names)), content.points
        if not points:
            # It ends the one before.
            for joint in filter(None, joints):
                self._tracks[joint].stop(begin)
            return
        own = _FIELDS[self.command.field]
        if any(len(getattr(point, own[0])) != len(joints) for point in points):
            self._drop([name for name, fields in _FIELDS.items()
                        if len(getattr(points[0], fields[0])) == len(joints)])
            return
        seconds = [
            point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec for point in points]
        columns = [_column(points, name, len(joints)) for name in own]
        for k, joint in enumerate(joints):
            if not joint or not np.isfinite(columns[0][:, k]).all():
                continue
            track, own_points = self._tracks[joint], [column[:, k] for column in columns]
            if self.command.field == 'position' and self.command.between_points == 'splines':
                track.play(begin, joint_points(begin, seconds, own_points))
            else:
                track.step_through(begin, joint_points(begin, seconds, own_points[:1]))

    def _add_told(self, kind: str, begin: float, content: Any) -> None:
        """Take what ros2_control says; where a controller leads to is followed in between."""
        names, values, there = commanded_values(kind, content, self.command.field)
        joints = self._wanted(self._renamed(names))
        if there:
            self._drop(list(there))
            return
        command = self.command
        if kind == CONTROLLER_STATE and (command.field, command.between_points) == (
            'position', 'splines'
        ):
            for joint, point in zip(joints, wanted_point(content), strict=True):
                if joint and np.isfinite(point[0]):
                    self._wanted_points[joint].append(np.array([begin, *point]))
            return
        for joint, value in zip(joints, values.tolist(), strict=True):
            if joint and np.isfinite(value):
                self._tracks[joint].hold(begin, value)

    def _play_wanted(self) -> None:
        """Play what a controller wanted, from each of its states to the next."""
        for joint, rows in self._wanted_points.items():
            points = np.array(rows)
            points = points[np.append(np.diff(points[:, 0]) > 0.0, True)]
            for piece in np.split(points, np.flatnonzero(np.diff(points[:, 0]) > _PAUSE) + 1):
                self._tracks[joint].play(float(piece[0, 0]), piece)

    def _drop(self, there: list[str]) -> None:
        """Leave out a message that has other fields than the one wanted."""
        self.counts[f'commands without one {self.command.field} for each joint dropped'] += 1
        self._fields = there

    def samples(self) -> Samples:
        """What was told up to the last joint state."""
        self._play_wanted()
        commands = {
            joint: self._until(track, self.last)
            for joint, track in self._tracks.items() if len(track.t) and track.t[0] <= self.last}
        if not commands:
            raise self._nothing()
        t = np.unique(np.concatenate([stamps for stamps, _ in commands.values()]))
        values = np.full((len(t), len(commands)), np.nan)
        for column, (stamps, own) in enumerate(commands.values()):
            values[np.searchsorted(t, stamps), column] = own
        return Samples(tuple(commands), t, {'command': values})

    @staticmethod
    def _until(track: JointPlayback, last: float) -> tuple[np.ndarray, np.ndarray]:
        t, values = np.array(track.t), np.array(track.values)
        first = max(int(np.searchsorted(t, 0.0, side='right')) - 1, 0)
        kept = slice(first, int(np.searchsorted(t, last, side='right')))
        return np.maximum(t[kept], 0.0), values[kept]

    def _nothing(self) -> RecordingError:
        if self._fields is not None:
            return RecordingError(
                f'no message has one {self.command.field} for each joint', where=self.where,
                found=', '.join(self._fields) or 'no field with one number for each joint',
                fix='Say what the command is, recording: {command: {field: '
                f'{self._fields[0]}}}}}' if self._fields else None)
        if self._tracks:
            first = min(track.t[0] for track in self._tracks.values())
            return RecordingError(
                'commands come after the last joint state only', where=self.where,
                found=f'the first at {first:.4g} s', fix='Record both at the same time')
        wanted = listed(self.settings.joints)
        return RecordingError(
            'no joint was told anything' + (f' of {wanted}' if wanted else ''), where=self.where,
            found=f'commands of {listed(self._seen)}' if self._seen else 'no message',
            fix='Give the names of the model to those of the messages, recording: '
            '{rename: {name_in_bag: name_in_model}}')


def _column(points: Any, name: str, joints: int) -> np.ndarray:
    """One field of the points of a trajectory, ``(K, joints)``; NaN where it is left out."""
    return np.array([
        values if len(values := getattr(point, name)) == joints else np.full(joints, np.nan)
        for point in points])
