"""Joint states of a topic, taken in as bytes and decoded in bulk."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from rclpy.qos import (
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from sensor_msgs.msg import JointState

from sysid_ros.nodes.node import SysidNode
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
        self._simulated = bool(node.get_parameter('use_sim_time').value)
        self._last = 0
        self._polled = node.poll(JointState, topic, self._qos, raw=True)
        self.topic: str = self._polled.subscription.topic_name

    def poll(self) -> LiveJointStates:
        """Decode what came since the last call. Call it from a timer, every 10 to 50 ms."""
        clock = self._node.get_clock().now().nanoseconds if self._simulated else None
        # Before simulated time has begun, nothing can be said to be received.
        taken = self._polled.take() if clock != 0 else []
        if taken:
            payloads = [payload for payload, _ in taken]
            received = np.array([stamp for _, stamp in taken])
            # When they were received, on the steady clock and on that of their stamps.
            ago = np.maximum(time.time_ns() - received, 0)
            steady = (time.monotonic() - 1e-9 * ago).tolist()
            stamps = self._in_order(received if clock is None else clock - ago, clock).tolist()
            if self._tap is not None:
                self._tap(payloads, stamps)
            self.live.receive(payloads, stamps, steady)
        return self.live

    def _in_order(self, received: np.ndarray, clock: int | None) -> np.ndarray:
        """Times of reception that tell the order of arrival, also where the clock is coarse."""
        count = np.arange(len(received))
        # A clock that was set back starts anew.
        latest = int(received[-1]) if clock is None else clock
        first = min(self._last + 1, latest)
        ordered = np.maximum.accumulate(np.maximum(received, first) - count) + count
        self._last = int(ordered[-1])
        return ordered

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
        """A publisher from which nothing can be received, with its policies and ours, in words.

        Empty where there is none.
        """
        for publisher in self._node.get_publishers_info_by_topic(self.topic):
            compatibility, reason = qos_check_compatible(publisher.qos_profile, self._qos)
            if compatibility == QoSCompatibility.ERROR:
                name = f'{publisher.node_namespace.rstrip("/")}/{publisher.node_name}'
                return (
                    f'{self.topic}: nothing is received from {name} (found '
                    f'{_policies(publisher.qos_profile)}; asked for {_policies(self._qos)}): '
                    f'{reason.strip().rstrip(";")}. Offer what is asked for, or ask for less.'
                )
        return ''


def _policies(profile: QoSProfile) -> str:
    return (
        f'reliability {profile.reliability.name.lower()}, '
        f'durability {profile.durability.name.lower()}'
    )
