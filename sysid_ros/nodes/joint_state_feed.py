"""Joint states of a topic, taken in as bytes and decoded in bulk."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.reception import ReceptionClock, qos_problem
from sysid_ros.recording.bag.joint_state_cdr import FIELDS
from sysid_ros.recording.live.joint_states import LiveJointStates, LiveSettings

# Two seconds of 1 kHz: what may wait while the process has no time.
_DEPTH = 2000

#: Takes serialized messages and their times of reception in [ns].
Tap = Callable[[Sequence[bytes], Sequence[int]], None]


class JointStateFeed:
    """A subscription to joint states, from ``configure`` of a node to its clean-up.

    Args:
        node: Node that subscribes.
        joints: Joints wanted, by their name in the model.
        topic: Topic of ``sensor_msgs/JointState``.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        settings: How joint states are taken in.
        quantities: Fields that the messages hold; the first must be there and finite.
        reliable: Whether lost messages are asked for again; publishers have to offer it.
        tap: Called with the messages of every poll before they are decoded.

    Attributes:
        live: What is known of the joints, as of the last poll.
        topic: The topic, with its namespace.
    """

    def __init__(
        self, node: SysidNode[Any], joints: Sequence[str], *, topic: str = 'joint_states',
        continuous: Collection[str] = frozenset(), settings: LiveSettings | None = None,
        quantities: Sequence[str] = FIELDS, reliable: bool = False, tap: Tap | None = None,
    ) -> None:
        self._node, self._tap = node, tap
        self.live = LiveJointStates(
            joints, continuous=continuous, settings=settings, quantities=quantities)
        self._qos = QoSProfile(depth=_DEPTH, reliability=(
            ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT))
        self._clock = ReceptionClock(node)
        self._polled = node.poll(JointState, topic, self._qos, raw=True)
        self.topic: str = self._polled.subscription.topic_name

    def poll(self) -> LiveJointStates:
        """Decode what came since the last call. Call it from a timer, every 10 to 50 ms."""
        clock = self._clock.now()
        # Before simulated time has begun, nothing can be said to be received.
        taken = self._polled.take() if clock != 0 else []
        if taken:
            payloads = [payload for payload, _ in taken]
            received = np.array([stamp for _, stamp in taken])
            # When they were received, on the steady clock and on that of their stamps.
            ago = np.maximum(time.time_ns() - received, 0)
            steady = (time.monotonic() - 1e-9 * ago).tolist()
            stamps = self._clock.stamps(received, clock).tolist()
            if self._tap is not None:
                self._tap(payloads, stamps)
            self.live.receive(payloads, stamps, steady)
        return self.live

    def publishers(self) -> int:
        """How many publishers the topic has."""
        return int(self._node.count_publishers(self.topic))

    def warnings(self) -> Iterator[str]:
        """What is wrong with what comes in, a sentence each."""
        live, topic = self.live, self.topic
        if live.missing:
            yield f'{topic}: nothing was heard of {", ".join(live.missing)}'
        if live.stuck:
            yield (f'{topic}: the position of {", ".join(live.stuck)} is stuck: it stopped dead in '
                   'mid-motion while stamps go on')
        if live.bad_in_a_row:
            yield f'{topic}: the last {live.bad_in_a_row} positions are not finite'
        if live.zero_stamps:
            yield f'{topic}: messages have a zero stamp'
        if live.clock_distance > live.settings.clock_warning:
            yield f'{topic}: stamps are {live.clock_distance:.3g} s from the clock'
        if self.publishers() > 1:
            yield f'{topic}: there are {self.publishers()} publishers'

    def qos_problem(self) -> str:
        """A publisher from which nothing can be received, in words; empty where there is none."""
        return qos_problem(self._node, self.topic, self._qos)
