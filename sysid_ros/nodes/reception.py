"""What is heard of a topic that is taken as bytes: when, and whether at all."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from sysid_ros.nodes.node import SysidNode


class ReceptionClock:
    """Times of reception that tell the order of arrival, also where the clock is coarse.

    Args:
        node: Node whose clock counts where it is simulated.
    """

    def __init__(self, node: SysidNode[Any]) -> None:
        self._node, self._last = node, 0
        self._simulated = bool(node.get_parameter('use_sim_time').value)

    def now(self) -> int | None:
        """Simulated time in [ns], 0 before it has begun; None where it is not simulated."""
        return int(self._node.get_clock().now().nanoseconds) if self._simulated else None

    def stamps(self, received: np.ndarray, clock: int | None) -> np.ndarray:
        """When messages were received on the clock of their stamps in [ns], increasing.

        Args:
            received: When they were, in [ns] since 1970.
            clock: What :meth:`now` gave when they were taken.
        """
        ago = np.maximum(time.time_ns() - received, 0)
        stamps = received if clock is None else clock - ago
        count = np.arange(len(stamps))
        # A clock that was set back starts anew.
        latest = int(stamps[-1]) if clock is None else clock
        first = min(self._last + 1, latest)
        ordered: np.ndarray = np.maximum.accumulate(np.maximum(stamps, first) - count) + count
        self._last = int(ordered[-1])
        return ordered


def qos_problem(node: SysidNode[Any], topic: str, wanted: QoSProfile) -> str:
    """A publisher from which nothing can be received, with its policies and ours, in words.

    Args:
        node: The node that listens.
        topic: The topic, with its namespace.
        wanted: Its policies.

    Returns:
        A sentence; empty where there is none.
    """
    for publisher in node.get_publishers_info_by_topic(topic):
        compatibility, reason = qos_check_compatible(publisher.qos_profile, wanted)
        if compatibility == QoSCompatibility.ERROR:
            name = f'{publisher.node_namespace.rstrip("/")}/{publisher.node_name}'
            return (
                f'{topic}: nothing is received from {name} (found '
                f'{_policies(publisher.qos_profile)}; asked for {_policies(wanted)}): '
                f'{reason.strip().rstrip(";")}. Offer what is asked for, or ask for less.'
            )
    return ''


def _policies(profile: QoSProfile) -> str:
    return (
        f'reliability {profile.reliability.name.lower()}, '
        f'durability {profile.durability.name.lower()}'
    )
