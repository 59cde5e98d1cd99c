"""Look at a running system: joint states, controllers, descriptions; print what is there as JSON.

Started as a process by ``sysid init nodes``, with the time to listen in [s], then arguments of ROS.
Nothing is published, and nothing moves.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.runs.robot_graph import (
    ARRAY,
    FOLLOW_JOINT_TRAJECTORY,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    CommandInterface,
    DescriptionTopic,
    JointStateTopic,
    RobotGraph,
)

_STRING = 'std_msgs/msg/String'
_DESCRIPTION = 'robot_description'
_FEEDBACK = '/_action/feedback'
# Messages that are kept of a topic while nobody looks, and between two looks at the graph, in [s].
_DEPTH, _LOOK = 1000, 0.25
# Longest wait for parameters of a node, in [s]; it tells more about a controller, and no more.
_PATIENCE = 1.0


@dataclass
class _Heard:
    """Messages of one topic of joint states.

    Attributes:
        times: When they came, in [s].
        joints: All joints that were named.
        placed: Those that had a position.
        driven: Those that had an effort other than zero.
    """

    times: list[float] = field(default_factory=list)
    joints: dict[str, None] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    driven: set[str] = field(default_factory=set)

    def take(self, message: Any) -> None:
        """Note one message."""
        self.times.append(time.monotonic())
        self.joints.update(dict.fromkeys(message.name))
        for values, seen, counts in (
            (message.position, self.placed, np.isfinite),
            (message.effort, self.driven, lambda x: np.isfinite(x) & (x != 0.0)),
        ):
            if len(values) == len(message.name):
                seen.update(np.array(message.name)[counts(np.array(values, dtype=float))].tolist())

    @property
    def rate(self) -> float:
        """Messages a second, zero where fewer than two came."""
        span = self.times[-1] - self.times[0] if self.times else 0.0
        return (len(self.times) - 1) / span if span > 0.0 else 0.0


class GraphObserver:
    """Looks at the graph of a running system through one node.

    Args:
        node: The node; it publishes nothing.
        spin: Lets its callbacks run for so many seconds.
    """

    def __init__(self, node: Any, spin: Callable[[float], None]) -> None:
        self._node, self._spin = node, spin
        self._heard: dict[str, _Heard] = {}

    def observe(self, seconds: float) -> RobotGraph:
        """What there is, and what joint states say while they are listened to.

        Args:
            seconds: How long to listen.
        """
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            self._listen()
            self._spin(min(_LOOK, left))
        types = self._types()
        return RobotGraph(
            seconds=seconds, nodes=self._nodes(),
            joint_states=tuple(map(self._joint_states, sorted(self._heard))),
            commands=tuple(self._commands(types)),
            descriptions=tuple(
                self._description(topic) for topic, kinds in sorted(types.items())
                if _STRING in kinds and topic.rpartition('/')[2] == _DESCRIPTION
                and self._publishers(topic)))

    def _types(self) -> dict[str, list[str]]:
        return dict(self._node.get_topic_names_and_types())

    def _nodes(self) -> tuple[str, ...]:
        own = self._node.get_name()
        return tuple(sorted({
            _full(name, space) for name, space in self._node.get_node_names_and_namespaces()
            if name != own}))

    def _listen(self) -> None:
        """Subscribe to topics of joint states that were not there before."""
        for topic, kinds in self._types().items():
            if JOINT_STATE in kinds and topic not in self._heard and self._publishers(topic):
                self._heard[topic] = _Heard()
                # Whoever offers more than best effort offers that, too.
                self._node.create_subscription(
                    JointState, topic, self._heard[topic].take,
                    QoSProfile(depth=_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT))

    def _publishers(self, topic: str) -> tuple[str, ...]:
        return _nodes_of(self._node.get_publishers_info_by_topic(topic))

    def _joint_states(self, topic: str) -> JointStateTopic:
        heard = self._heard[topic]
        reliable = [
            one.qos_profile.reliability == ReliabilityPolicy.RELIABLE
            for one in self._node.get_publishers_info_by_topic(topic)]
        return JointStateTopic(
            topic, self._publishers(topic), heard.rate, tuple(heard.joints),
            positions=bool(heard.joints) and heard.placed >= set(heard.joints),
            efforts=bool(heard.driven), reliable=bool(reliable) and all(reliable))

    def _commands(self, types: dict[str, list[str]]) -> list[CommandInterface]:
        """Actions, and topics that somebody takes commands from."""
        found = []
        for topic, kinds in sorted(types.items()):
            action, feedback, _ = topic.rpartition(_FEEDBACK)
            if feedback and f'{FOLLOW_JOINT_TRAJECTORY}_FeedbackMessage' in kinds:
                found += [
                    (action, FOLLOW_JOINT_TRAJECTORY, node) for node in self._publishers(topic)]
            for kind in (JOINT_TRAJECTORY, ARRAY):
                if kind in kinds:
                    found += [(topic, kind, node) for node in _nodes_of(
                        self._node.get_subscriptions_info_by_topic(topic))]
        own = _full(self._node.get_name(), self._node.get_namespace())
        said = {node: self._parameters(node, ('joints', 'interface_name'))
                for node in dict.fromkeys(node for *_, node in found) if node != own}
        return [
            CommandInterface(
                name, kind, node, tuple(said[node].get('joints') or ()),
                str(said[node].get('interface_name') or ''))
            for name, kind, node in found if node in said]

    def _description(self, topic: str) -> DescriptionTopic:
        publishers = self._publishers(topic)
        prefixes = [
            str(self._parameters(node, ('frame_prefix',)).get('frame_prefix') or '')
            for node in publishers]
        return DescriptionTopic(topic, publishers, next(filter(None, prefixes), ''))

    def _parameters(self, node: str, names: Sequence[str]) -> dict[str, Any]:
        """Texts and lists of texts that a node has as parameters; nothing where it is silent."""
        client = self._node.create_client(GetParameters, f'{node}/get_parameters')
        try:
            deadline = time.monotonic() + _PATIENCE
            while not client.service_is_ready():
                if time.monotonic() > deadline:
                    return {}
                self._spin(0.02)
            future = client.call_async(GetParameters.Request(names=list(names)))
            while not future.done() and time.monotonic() < deadline:
                self._spin(0.02)
            if not future.done() or future.result() is None:
                return {}
            return {
                name: value.string_value or list(value.string_array_value)
                for name, value in zip(names, future.result().values, strict=False)}
        finally:
            self._node.destroy_client(client)


def _full(name: str, space: str) -> str:
    return f'{space.rstrip("/")}/{name}'


def _nodes_of(endpoints: Sequence[Any]) -> tuple[str, ...]:
    """Full names of the nodes of publishers or subscriptions."""
    return tuple(sorted({_full(one.node_name, one.node_namespace) for one in endpoints}))


def main(arguments: Sequence[str] | None = None) -> int:
    """Look, and print what there is as JSON; returns the exit code.

    Args:
        arguments: Time to listen in [s], then arguments of ROS; by default the process's.
    """
    seconds, *ros = sys.argv[1:] if arguments is None else list(arguments)
    start_ros(ros, SignalHandlerOptions.ALL)
    node = Node('_sysid_init')
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin(time_to_spin: float) -> None:
        deadline = time.monotonic() + time_to_spin
        while (left := deadline - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)

    try:
        print(GraphObserver(node, spin).observe(float(seconds)).to_json())
    except KeyboardInterrupt:
        return 130
    finally:
        executor.shutdown()
        end_ros([node])
    return 0


if __name__ == '__main__':
    sys.exit(main())
