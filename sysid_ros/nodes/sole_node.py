"""One node of a name: a second one of the same fully qualified name is refused.

Two of them would both move one robot, or both write one store, and whoever asks one of them would
be answered by either. Two things tell:

- On one computer a node that is configured is bound to an abstract Unix socket whose address is its
  ROS domain and its name. The kernel frees it with the process, however that ends: a node that died
  a moment ago is in nobody's way, while the graph of ROS still shows it for up to 20 s.
- On other computers an active node of this name is heard by its heartbeats.
"""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import time
from collections import deque

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from sysid_ros.errors import ConfigurationError
from sysid_ros.msg import Heartbeat
from sysid_ros.nodes.fast_lane import PolledSubscription

# Heartbeats that are kept until they are taken, and how long one is a sign of life, in [s].
_BEATS = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
_ALIVE = 1.0
# Longest address of such a socket in bytes, the zero that it begins with included.
_LONGEST = 107
# Process, user and group of whoever is bound: struct ucred of the kernel.
_CREDENTIALS = struct.Struct('3i')
# Sockets of nodes that are configured.
_BOUND: set[socket.socket] = set()


class SoleNode:
    """Keeps the name of a node for it alone while it is configured.

    Args:
        node: The node.
        topic: Topic of the heartbeats.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._socket: socket.socket | None = None
        self._beats: PolledSubscription | None = None
        self._own: deque[tuple[int, int]] = deque(maxlen=2 * _BEATS.depth)

    def take_name(self) -> None:
        """Keep the name, and listen for whoever else has it.

        Raises:
            ConfigurationError: Another node of this computer has it.
        """
        name = self._node.get_fully_qualified_name()
        assert self._node.context is not None  # it has been initialised
        self._socket = _bound(_address(self._node.context.get_domain_id(), name), name)
        self._beats = PolledSubscription(self._node, Heartbeat, self._topic, _BEATS)

    def require_unheard(self) -> None:
        """Refuse to go on while an active node of the same name is heard.

        Raises:
            ConfigurationError: One is.
        """
        if self._beats is None:
            return
        name, latest = self._node.get_fully_qualified_name(), time.time_ns() - 1e9 * _ALIVE
        for heartbeat, received in self._beats.take():
            foreign = heartbeat.node == name and _moment(heartbeat) not in self._own
            active = heartbeat.state in (Heartbeat.ACTIVE, Heartbeat.WORKING)
            if foreign and active and received > latest:
                raise _second(name, 'one that is active and whose heartbeats are heard')

    def give_name_back(self) -> None:
        """Let another node have the name."""
        if self._beats is not None:
            self._node.destroy_subscription(self._beats.subscription)
            self._beats = None
        if self._socket is not None:
            _BOUND.discard(self._socket)
            self._socket.close()
            self._socket = None

    def know_again(self, heartbeat: Heartbeat) -> None:
        """Remember a heartbeat as one of the node's own."""
        self._own.append(_moment(heartbeat))


def _moment(heartbeat: Heartbeat) -> tuple[int, int]:
    return heartbeat.stamp.sec, heartbeat.stamp.nanosec


def _address(domain: int, name: str) -> bytes:
    address = f'\0sysid_ros/{domain}{name}'.encode()
    if len(address) <= _LONGEST:
        return address
    return f'\0sysid_ros/{hashlib.sha256(address).hexdigest()}'.encode()


def _bound(address: bytes, name: str) -> socket.socket | None:
    """A socket that is bound to an address; None where the system has no such addresses."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        if error.errno != errno.EADDRINUSE:
            return None
        raise _second(name, f'{_holder(address)} on this computer') from error
    _BOUND.add(made)
    return made


def _holder(address: bytes) -> str:
    """The process that is bound to an address, in words."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(address)
            credentials = asking.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return 'another process'
    return f'process {_CREDENTIALS.unpack(credentials)[0]}'


def _second(name: str, found: str) -> ConfigurationError:
    return ConfigurationError(
        'there is a node of this name already', where=name, found=found, allowed='one',
        fix='End that one, or give this one another name or namespace: '
        '--ros-args -r __node:=NAME -r __ns:=/NAMESPACE')


def _unbind_forked() -> None:
    """A process that was forked must not keep a name when the node has ended."""
    for made in _BOUND:
        made.close()


os.register_at_fork(after_in_child=_unbind_forked)
