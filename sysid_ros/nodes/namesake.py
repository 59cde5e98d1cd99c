"""Whether a node of the same name is alive: two of them would answer for one another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sysid_ros.errors import SysidError
from sysid_ros.msg import Heartbeat

if TYPE_CHECKING:
    from sysid_ros.nodes.node import SysidNode

# How long nodes take to find one another, how long a heartbeat of the other one is waited for, and
# how often it is looked for, in [s].
_DISCOVERY, _PATIENCE, _LOOK = 1.0, 1.5, 0.02


def require_alone(node: SysidNode[Any], topic: str, born: float) -> None:
    """Refuse to go on beside a living node of the same name.

    The graph of ROS shows a node that was killed for many seconds, so that only a heartbeat counts.
    A node beats by its executor; called within one of its callbacks, no heartbeat is its own.

    Args:
        node: The node.
        topic: Topic of the heartbeats.
        born: When the node was made, by the steady clock in [s].

    Raises:
        SysidError: There is such a node.
    """
    time.sleep(max(born + _DISCOVERY - time.monotonic(), 0.0))
    own = node.get_fully_qualified_name()
    names = [f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()]
    if names.count(own) < 2:
        return
    heard = node.poll(Heartbeat, topic)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        time.sleep(_LOOK)
        if any(beat.node == own for beat, _ in heard.take()):
            raise SysidError(
                f'another node {own} is alive', where=own,
                fix='End it, or give this one a name or namespace of its own: '
                '--ros-args -r __ns:=/robot2')
