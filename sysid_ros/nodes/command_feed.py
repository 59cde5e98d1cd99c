"""The topic of what actuators are told, recorded beside joint states as it is on the wire."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.nodes.fast_lane import PolledSubscription
from sysid_ros.nodes.identification_settings import IdentificationNodeSettings
from sysid_ros.nodes.joint_state_feed import Tap
from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.nodes.reception import ReceptionClock, qos_problem
from sysid_ros.recording.bag.commands import (
    BAG_COMMAND_TYPES,
    FLOAT_ARRAY,
    JOINT_TRAJECTORY,
)
from sysid_ros.recording.bag.control_messages import CONTROL_TYPES
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE

# Two seconds of 1 kHz, and time in [s] between two looks for who publishes the topic.
_DEPTH, _LOOK = 2000, 0.5
_CLASSES: dict[str, type] = {
    JOINT_TRAJECTORY: JointTrajectory, FLOAT_ARRAY: Float64MultiArray, JOINT_STATE: JointState}


class CommandFeed:
    """A subscription to commands, from when somebody publishes them to the clean-up of a node.

    The type of the topic is that of its publisher. The last command from before a recording goes
    to its beginning, since it holds until the next one.

    Args:
        node: Node that subscribes.
        topic: Topic of the commands.
        reliable: Whether lost messages are asked for again; publishers have to offer it.
        tap: Called with the messages of every poll.

    Attributes:
        topic: The topic, with its namespace.
        kind: Type of its messages; empty before it is known.
    """

    def __init__(self, node: SysidNode[Any], topic: str, *, reliable: bool, tap: Tap) -> None:
        self._node, self._tap, self.kind = node, tap, ''
        self.topic = str(node.resolve_topic_name(topic))
        self._qos = QoSProfile(depth=_DEPTH, reliability=(
            ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT))
        self._clock = ReceptionClock(node)
        self._polled: PolledSubscription | None = None
        self._last: tuple[bytes, int] | None = None
        self._looked, self._missing = -np.inf, False

    def poll(self) -> None:
        """Hand on what came since the last call; look for a publisher before there is one."""
        if self._polled is None:
            self._subscribe()
            return
        clock = self._clock.now()
        # Before simulated time has begun, nothing can be said to be received.
        taken = self._polled.take() if clock != 0 else []
        if taken:
            received = np.array([stamp for _, stamp in taken])
            stamps = self._clock.stamps(received, clock).tolist()
            payloads = [payload for payload, _ in taken]
            self._last = payloads[-1], stamps[-1]
            self._tap(payloads, stamps)

    def _subscribe(self) -> None:
        if now() < self._looked + _LOOK:
            return
        self._looked = now()
        kinds = self._published()
        if len(kinds) == 1 and kinds[0] in BAG_COMMAND_TYPES:
            kind = _class_of(kinds[0])
            self._missing = kind is None
            if kind is not None:
                self.kind = kinds[0]
                self._polled = self._node.poll(kind, self.topic, self._qos, raw=True)

    def _published(self) -> list[str]:
        return sorted({
            each.topic_type for each in self._node.get_publishers_info_by_topic(self.topic)})

    def repeat_last(self) -> None:
        """Hand on the last command once more, for a recording that has begun since."""
        if self._last is not None:
            payload, stamp = self._last
            self._tap([payload], [stamp])

    def require_heard(self) -> None:
        """Refuse to record without a publisher of commands; they may come later.

        Raises:
            RecordingError: There is none, or what it publishes are no commands.
        """
        if self._missing:
            raise RecordingError(
                'the commands of the actuators cannot be taken: control_msgs is not installed',
                where=self.topic, fix='Install control_msgs of the ROS distribution')
        if self._polled is None:
            kinds = self._published()
            raise RecordingError(
                'nobody publishes the commands of the actuators', where=self.topic,
                found=', '.join(kinds) or 'no publisher', allowed=', '.join(BAG_COMMAND_TYPES),
                fix='Start what commands the robot, or name another topic: recording: {command: '
                '{topic: …}} in the settings, or the parameter command_topic')

    def qos_problem(self) -> str:
        """A publisher from which nothing can be received, in words; empty where there is none."""
        return qos_problem(self._node, self.topic, self._qos)

    def warnings(self) -> Iterator[str]:
        """What is wrong with what comes in, a sentence each."""
        if self._missing:
            yield f'{self.topic}: control_msgs, of which its messages are, is not installed'
        elif self._polled is None:
            yield f'{self.topic}: nobody publishes the commands of the actuators'


def _class_of(kind: str) -> type | None:
    """The class of messages of a type; None where ``control_msgs`` is not installed."""
    if kind not in CONTROL_TYPES:
        return _CLASSES[kind]
    try:
        messages = importlib.import_module('control_msgs.msg')
    except ImportError:
        return None
    return cast('type | None', getattr(messages, kind.rsplit('/', maxsplit=1)[1], None))


def command_feeds(
    node: SysidNode[IdentificationNodeSettings], setup: FitSetup, tap: Tap
) -> tuple[CommandFeed, ...]:
    """The subscription to what the actuators of a robot are told; none where it has no actuators.

    Commands that are fields of the joint states need none of their own.

    Args:
        node: The node.
        setup: The robot, and what its recordings hold.
        tap: Takes the messages.

    Raises:
        ConfigurationError: It is not said which topic has the commands.
    """
    if actuated(setup.model) is None:
        return ()
    settings, described = node.settings, setup.settings.recording.command
    topic = settings.command_topic or (described.topic if described is not None else None)
    if not topic:
        raise ConfigurationError(
            'the robot has actuators, and it is not said which topic has their commands',
            where='command_topic', found='empty',
            allowed=f'a topic of {", ".join(BAG_COMMAND_TYPES)}',
            fix='Set this parameter, or add recording: {command: {topic: '
            '/arm_controller/joint_trajectory}} to the settings')
    heard = {node.resolve_topic_name(name) for name in (settings.topic, settings.effort_topic)
             if name}
    if node.resolve_topic_name(topic) in heard:
        return ()
    return (CommandFeed(node, topic, reliable=settings.reliable, tap=tap),)
