"""Which topics of a bag hold the joint states of a robot, and under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import Reader

from sysid_ros.errors import RecordingError, listed
from sysid_ros.recording.bag.commands import BAG_COMMAND_TYPES, FLOAT_ARRAY, command_topics
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, JointStateDecoder
from sysid_ros.recording.bag.reader import one_clear_error
from sysid_ros.recording.bag.rosbag2_storage import Rosbag2Reader, open_bag
from sysid_ros.recording.bag.storage import bag_files, check_bag, messages_of
from sysid_ros.recording.guess.column_names import column_names, is_commanded
from sysid_ros.recording.guess.columns import commanded_quantity
from sysid_ros.recording.guess.evidence import Finding, Question

_USUAL = '/joint_states'


@dataclass(frozen=True)
class TopicHead:
    """Contents of the first messages of a topic.

    Attributes:
        topic: Name of the topic.
        messages: How many it has.
        names: Names of its joints.
        has_effort: Whether efforts that are finite and not all zero are among them.
        stamped: Whether messages have stamps.
    """

    topic: str
    messages: int
    names: tuple[str, ...]
    has_effort: bool
    stamped: bool


@dataclass
class BagTopics:
    """Topics and joints of a bag.

    Attributes:
        topic: Topic of the positions.
        effort_topic: Topic of the efforts, if another one; empty otherwise.
        command_topic: Topic of what drives were told, where no effort was recorded; empty
            otherwise.
        commanded: What the name of a topic of numbers says that they are; see
            :func:`~.columns.commanded_quantity`.
        joints: Joints of the robot that were recorded, in its order.
        rename: Names in the bag to names in the robot, where they differ.
        stamped: Whether messages have stamps.
        findings: What was guessed.
        questions: What is open.
    """

    topic: str = ''
    effort_topic: str = ''
    command_topic: str = ''
    commanded: str = ''
    joints: tuple[str, ...] = ()
    rename: dict[str, str] = field(default_factory=dict)
    stamped: bool = True
    findings: list[Finding] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def bag_topics(
    path: Path, moving: Sequence[str], most: float, told: Mapping[str, str] | None = None
) -> BagTopics:
    """Guess which topics of a bag are the robot's.

    Args:
        path: Folder of the bag, or its only file.
        moving: Moving joints of the robot, in order.
        most: Bytes that may be unpacked at once.
        told: ``topic`` and ``command``, the topics where they are known, and ``joints``, separated
            by commas: names in the robot, in the order of those in the bag.

    Raises:
        RecordingError: The bag cannot be read, or has no joint states.
    """
    told = told or {}
    heads = _heads(path, most)
    wanted = told.get('topic')
    if wanted is not None and wanted not in {head.topic for head in heads}:
        raise RecordingError(
            f'there is no topic {wanted} of joint states', where=str(path),
            found=listed(head.topic for head in heads),
            fix='Name one of them, as --topic /joint_states')
    named = {head.topic: _names_in_robot(head.names, moving) for head in heads}
    fitting = sorted(
        (head for head in heads if wanted in (None, head.topic)),
        key=lambda head: (
            -len(named[head.topic]), is_commanded(head.topic), not head.has_effort,
            head.topic != _USUAL, head.topic))
    best = fitting[0]
    found = BagTopics(topic=best.topic, stamped=best.stamped)
    mapping = named[best.topic]
    if not mapping or 'joints' in told:
        mapping = _in_order(found, best, moving, told.get('joints', ''))
    found.joints = tuple(joint for joint in moving if joint in mapping.values())
    found.rename = {name: joint for name, joint in mapping.items() if name != joint}
    found.findings.append(Finding(
        'topic', best.topic, f'{best.messages} messages, {len(found.joints)} of '
        f'{len(moving)} joints of the robot' + _others(fitting[1:], named)))
    if not best.has_effort:
        _find_efforts(found, heads, named)
        if not found.effort_topic:
            _find_commands(found, path, told.get('command', ''))
    if not best.stamped:
        found.findings.append(Finding(
            'stamps', 'those of reception', 'the headers have none'))
    return found


def _others(heads: Sequence[TopicHead], named: Mapping[str, Mapping[str, str]]) -> str:
    """Topics that have joints of the robot, too, for a finding."""
    topics = [head.topic for head in heads if named[head.topic]]
    return f'; not {listed(topics, 3)}' if topics else ''


def _heads(path: Path, most: float) -> list[TopicHead]:
    files = bag_files(path)
    with one_clear_error(path):
        check_bag(path, files, most)
        with open_bag(path) as reader:
            counts: dict[str, int] = {}
            for connection in reader.connections:
                if connection.msgtype == JOINT_STATE:
                    counts[connection.topic] = (
                        counts.get(connection.topic, 0) + connection.msgcount)
            heads = [
                _head(reader, path, topic, count, most)
                for topic, count in counts.items() if count]
            if not heads:
                raise RecordingError(
                    'there are no joint states', where=str(path), found=listed(
                        f'{one.topic} ({one.msgtype})' for one in reader.connections)
                    or 'no topic', allowed=JOINT_STATE,
                    fix='Record them, too, as ros2 bag record /joint_states')
            return heads


def _head(
    reader: Reader | Rosbag2Reader, path: Path, topic: str, count: int, most: float
) -> TopicHead:
    block = next(iter(messages_of(reader, path, (topic,), most)))
    batches = JointStateDecoder().decode_in(block.data, block.start, block.length)
    names = tuple(dict.fromkeys(name for batch in batches for name in batch.names))
    efforts = np.concatenate([batch.values['effort'].ravel() for batch in batches])
    stamped = any(bool(batch.stamps.any()) for batch in batches)
    finite = efforts[np.isfinite(efforts)]
    return TopicHead(topic, count, names, bool(finite.any()), stamped)


def _names_in_robot(names: Sequence[str], moving: Sequence[str]) -> dict[str, str]:
    """Joints of the robot by their names in a bag: equal, or by words that only one has."""
    equal = {name: name for name in names if name in moving}
    if equal:
        return equal
    found = {one.name: one.joint for one in column_names(names, moving) if one.joint}
    return found if len(set(found.values())) == len(found) else {}


def _in_order(
    found: BagTopics, head: TopicHead, moving: Sequence[str], told: str
) -> dict[str, str]:
    """Joints that were told, in the order of the bag; a question where none were."""
    joints = tuple(filter(None, map(str.strip, told.split(','))))
    if joints:
        unknown = [joint for joint in joints if joint not in moving]
        if unknown or len(joints) != len(head.names):
            raise RecordingError(
                '--joints does not fit the bag', found=listed(unknown) or f'{len(joints)} names',
                allowed=f'{len(head.names)} of {listed(moving, 20)}, in the order of '
                f'{listed(head.names, 20)}',
                fix=f'Say --joints {",".join(moving[:3])}…, or leave it out')
        return dict(zip(head.names, joints, strict=True))
    found.questions.append(Question(
        'joints', 'Which joints of the robot are those of the bag?',
        f'{listed(head.names, 20)} in the bag; the robot has {listed(moving, 20)}',
        ','.join(list(moving)[:len(head.names)])))
    return {}


def _find_efforts(
    found: BagTopics, heads: Sequence[TopicHead], named: Mapping[str, Mapping[str, str]]
) -> None:
    """Another topic that has the efforts of the same joints."""
    others = [
        head for head in heads if head.has_effort and head.topic != found.topic
        and set(found.joints) <= set(named[head.topic].values())]
    if len(others) == 1:
        found.effort_topic = others[0].topic
        found.findings.append(Finding(
            'effort', f'of {others[0].topic}', f'{found.topic} has none'))


def _find_commands(found: BagTopics, path: Path, told: str) -> None:
    """The topic of what drives were told; a question where several may be."""
    with one_clear_error(path), open_bag(path) as reader:
        kinds = {
            item.topic: item.msgtype for item in reader.connections
            if item.msgtype in BAG_COMMAND_TYPES and item.msgcount and item.topic != found.topic}
    fitting = [
        topic for topic in command_topics({
            topic: kind for topic, kind in kinds.items()
            if kind != JOINT_STATE or is_commanded(topic)})]
    if told and told not in kinds:
        raise RecordingError(
            f'there is no topic {told} of commands', where=str(path),
            found=listed(f'{topic} ({kind})' for topic, kind in kinds.items()) or 'none',
            allowed=', '.join(BAG_COMMAND_TYPES),
            fix='Name the topic that the drives listen to, as --command /commands')
    if told or len(fitting) == 1:
        found.command_topic = told or fitting[0]
        found.findings.append(Finding(
            'command', f'of {found.command_topic}', f'no effort was recorded; a topic of '
            f'{kinds[found.command_topic]}'))
        if kinds[found.command_topic] == FLOAT_ARRAY:
            found.commanded = commanded_quantity(*column_names([found.command_topic], ()))
    elif fitting:
        found.questions.append(Question(
            'command', 'Which topic holds what the drives were told?',
            f'no effort was recorded; {listed(fitting)}', fitting[0]))
