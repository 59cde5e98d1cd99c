"""Publishes the joint states of a bag with their own stamps, and their time on ``/clock``.

Started as a process by ``sysid replay``. Whoever listens should have ``use_sim_time`` set.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from sysid_ros.errors import SysidError
from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.nodes.conversions import to_time
from sysid_ros.recording.bag.messages import joint_state_messages, joint_state_topics

# Time between messages on /clock in [s], by the wall.
_CLOCK_PERIOD = 0.002
# How long the clock stands at the beginning of the bag before the first message, in [s].
_LEAD = 0.2
# How long somebody who has not acknowledged is waited for, in [s].
_PATIENCE = 5.0
_DEPTH = 1000


class Replay:
    """Publishes a bag.

    Args:
        node: Node that publishes.
        path: The bag.
        topics: Topics of joint states.
        rate: Seconds of the bag per second.
    """

    def __init__(self, node: Node, path: Path, topics: Sequence[str], rate: float) -> None:
        self._path, self._rate = path, rate
        self._clock: Publisher[Clock] = node.create_publisher(Clock, '/clock', QoSProfile(
            depth=10, reliability=ReliabilityPolicy.RELIABLE))
        qos = QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.RELIABLE)
        self._publishers = {
            topic: node.create_publisher(JointState, topic, qos) for topic in topics}

    def wait_for_listeners(self, seconds: float) -> bool:
        """Wait until somebody listens to every topic and to the clock; whether it is so.

        Args:
            seconds: Longest time to wait.
        """
        publishers = (*self._publishers.values(), self._clock)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if all(own.get_subscription_count() for own in publishers):
                return True
            time.sleep(0.02)
        return False

    def play(self) -> int:
        """Publish all of the bag; returns how many messages."""
        count, first, begin, told = 0, None, time.monotonic(), -1.0
        for message in joint_state_messages(self._path, tuple(self._publishers)):
            if first is None:
                first = message.received
                self._begin(first)
                begin = time.monotonic()
            due = begin + (message.received - first) * 1e-9 / self._rate
            while (now := time.monotonic()) < due or now > told + _CLOCK_PERIOD:
                if now > told + _CLOCK_PERIOD:
                    told = now
                    passed = min(now, due) - begin
                    self._tell(first + round(passed * self._rate * 1e9))
                time.sleep(max(min(due - time.monotonic(), _CLOCK_PERIOD), 0.0))
            self._publishers[message.topic].publish(message.data)
            count += 1
        for publisher in self._publishers.values():
            publisher.wait_for_all_acked(Duration(seconds=_PATIENCE))
        return count

    def _begin(self, nanoseconds: int) -> None:
        """Let the clock be known before it is needed."""
        for _ in range(round(_LEAD / _CLOCK_PERIOD)):
            self._tell(nanoseconds)
            time.sleep(_CLOCK_PERIOD)

    def _tell(self, nanoseconds: int) -> None:
        self._clock.publish(Clock(clock=to_time(nanoseconds)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish a bag; returns the exit code."""
    parser = argparse.ArgumentParser(prog='replay', description=__doc__)
    parser.add_argument('bag', type=Path)
    parser.add_argument('--rate', type=float, default=1.0)
    parser.add_argument('--topic', action='append', default=[])
    parser.add_argument('--wait', type=float, default=0.0)
    options = parser.parse_args(arguments)
    start_ros([], SignalHandlerOptions.ALL)
    node = Node('replay')
    try:
        topics = joint_state_topics(options.bag, options.topic)
        replay = Replay(node, options.bag, topics, options.rate)
        if not replay.wait_for_listeners(options.wait):
            print(f'nobody listens to all of {", ".join(topics)} and /clock', file=sys.stderr)
        print(f'{replay.play()} messages on {", ".join(topics)}')
    except SysidError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        end_ros([node])
    return 0


if __name__ == '__main__':
    sys.exit(main())
