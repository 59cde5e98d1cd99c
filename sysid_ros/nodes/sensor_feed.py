"""Topics of sensors that are recorded beside joint states, as they are on the wire."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu

from sysid_ros.errors import RecordingError
from sysid_ros.nodes.identification_settings import IdentificationNodeSettings
from sysid_ros.nodes.joint_state_feed import Tap
from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.nodes.reception import ReceptionClock, qos_problem
from sysid_ros.recording.bag.link_sensors import MESSAGES
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH
from sysid_ros.recording.link_sensors import LinkSensorSettings

# Two seconds of 1 kHz, and silence in [s] after which a sensor has stopped.
_DEPTH, _STALE = 2000, 0.5
_CLASSES: dict[str, type] = {WRENCH: WrenchStamped, IMU: Imu}
# The parameter that names the topics of each type.
_PARAMETERS = {WRENCH: 'wrench_topics', IMU: 'imu_topics'}


class SensorFeed:
    """A subscription to one sensor, from ``configure`` of a node to its clean-up.

    Args:
        node: Node that subscribes.
        kind: Type of the messages, one of ``WRENCH`` and ``IMU``.
        topic: Their topic.
        reliable: Whether lost messages are asked for again; publishers have to offer it.
        tap: Called with the messages of every poll.

    Attributes:
        kind: Type of the messages.
        topic: The topic, with its namespace.
    """

    def __init__(
        self, node: SysidNode[Any], kind: str, topic: str, *, reliable: bool, tap: Tap
    ) -> None:
        self._node, self.kind, self._tap = node, kind, tap
        self._qos = QoSProfile(depth=_DEPTH, reliability=(
            ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT))
        self._clock, self._heard = ReceptionClock(node), -math.inf
        self._polled = node.poll(_CLASSES[kind], topic, self._qos, raw=True)
        self.topic: str = self._polled.subscription.topic_name

    def poll(self) -> None:
        """Hand on what came since the last call."""
        clock = self._clock.now()
        # Before simulated time has begun, nothing can be said to be received.
        taken = self._polled.take() if clock != 0 else []
        if taken:
            self._heard = now()
            received = np.array([stamp for _, stamp in taken])
            self._tap(
                [payload for payload, _ in taken], self._clock.stamps(received, clock).tolist())

    def require_heard(self) -> None:
        """Refuse to record without this sensor.

        Raises:
            RecordingError: It is silent.
        """
        silence = now() - self._heard
        if silence > _STALE:
            raise RecordingError(
                'a sensor that is to be recorded is silent', where=self.topic,
                found='nothing was heard of it' if math.isinf(silence) else
                f'the last message came {silence:.3g} s ago', allowed=f'{_STALE:g} s',
                fix=f'Start its driver ({self.kind}), or take the topic out of the parameter '
                f'{_PARAMETERS[self.kind]}')

    def qos_problem(self) -> str:
        """A publisher from which nothing can be received, in words; empty where there is none."""
        return qos_problem(self._node, self.topic, self._qos)

    def warnings(self) -> Iterator[str]:
        """What is wrong with what comes in, a sentence each."""
        if now() - self._heard > _STALE:
            yield f'{self.topic}: the sensor is silent'


def sensor_feeds(
    node: SysidNode[IdentificationNodeSettings], sensors: Iterable[LinkSensorSettings],
    tap: Callable[[int], Tap], first: int,
) -> tuple[SensorFeed, ...]:
    """Subscriptions to the sensors that parameters name, and to those that fits take.

    Args:
        node: The node.
        sensors: Sensors on links that the settings of fits name.
        tap: Gives what takes the messages of the topic of a number.
        first: Number of the first topic.
    """
    settings = node.settings
    named = [
        (kind, topic) for kind, parameter in _PARAMETERS.items()
        for topic in getattr(settings, parameter)]
    fitted = [
        (kind, sensor.topic) for sensor in sensors
        for kind in MESSAGES[sensor.kind] if kind in _CLASSES and sensor.topic]
    known = {node.resolve_topic_name(topic): (kind, topic) for kind, topic in (*named, *fitted)}
    return tuple(
        SensorFeed(node, kind, topic, reliable=settings.reliable, tap=tap(first + k))
        for k, (kind, topic) in enumerate(known.values()))
