"""The process around nodes: it ends by a signal, after the robot has come to rest.

rclpy's own handling of SIGINT closes the context at once, before a motion could be cancelled. So
signals are handled here: the nodes are deactivated, which begins the stop; their executors go on
until they are at rest, for a bounded time; then all is closed.

Where there are several nodes, one that tells a robot where to go has a thread and an executor of
its own, so that no callback of another one holds it up, and the main thread has nothing else to do
than to hear signals. They share what a process has: libraries, Python's lock, one DDS participant.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from rclpy.executors import Executor
from rclpy.task import Future

from sysid_ros.errors import SysidError
from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.nodes.executor import make_executor
from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.numerics.kernel_indexes import remove_unreadable_indexes

# Longest time that a node may take to come to rest, and longest sleep between looks at signals.
_GRACE = 5.0
_LOOK = 0.1
# Time in [s] that goes on after the last node has settled.
_DELIVERY = 0.1
# Longest time in [s] that one thread keeps Python's lock while others want it: one that writes a
# bag or verifies a motion must hold up neither an answer nor a robot.
_SWITCH_INTERVAL = 0.0005


class _Ending:
    """Whether, and how soon, a process is to end: what its threads know in common.

    Attributes:
        failed: Whether a node cannot start.
    """

    def __init__(self) -> None:
        self._signals: list[int] = []
        self.failed = False

    def listen(self) -> None:
        """Take over SIGINT and SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._remember)

    def _remember(self, number: int, _: FrameType | None) -> None:
        self._signals.append(number)

    @property
    def asked(self) -> bool:
        """Whether it is to end."""
        return self.failed or bool(self._signals)

    @property
    def hurried(self) -> bool:
        """Whether it waits for nobody: a second signal does not."""
        return len(self._signals) > 1


def run(
    *make_nodes: Callable[[], SysidNode[Any]], arguments: Sequence[str] | None = None
) -> int:
    """Run nodes until SIGINT or SIGTERM.

    A node is configured and activated at once if its parameter ``autostart`` says so; otherwise
    its lifecycle is in the hands of others. Where one of them cannot start, all of them end.

    Args:
        make_nodes: Each makes a node, once ROS is there.
        arguments: Command line with remappings and parameters; by default the process's.

    Returns:
        The exit code: 0 after a signal, 1 when a node cannot start.
    """
    remove_unreadable_indexes()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    start_ros(arguments)
    ending, nodes = _Ending(), list[SysidNode[Any]]()
    ending.listen()
    try:
        nodes += (make_node() for make_node in make_nodes)
        for node in nodes:
            node.ending = lambda: ending.asked
        _spin_all(nodes, ending)
    except SysidError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        end_ros(nodes)
    return int(ending.failed)


def _spin_all(nodes: Sequence[SysidNode[Any]], ending: _Ending) -> None:
    """Run nodes to their end, each group of those that may wait for one another in a thread."""
    others = [node for node in nodes if not node.moves_robot]
    groups = [[node] for node in nodes if node.moves_robot] + ([others] if others else [])
    if len(groups) == 1:
        _spin(groups[0], ending)
        return
    threads = [threading.Thread(target=_spin_or_end, args=(group, ending)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        # Signals are handled here, however long a callback of a node takes.
        thread.join()


def _spin_or_end(nodes: Sequence[SysidNode[Any]], ending: _Ending) -> None:
    """Run some of the nodes; all end where that breaks down."""
    try:
        _spin(nodes, ending)
    except BaseException:
        ending.failed = True
        raise


def _spin(nodes: Sequence[SysidNode[Any]], ending: _Ending) -> None:
    executor = make_executor()
    for node in nodes:
        executor.add_node(node)
    activations = _start(nodes, ending)
    while not ending.asked:
        # None: somebody else has taken the lifecycle into his hands meanwhile.
        if any(one.done() and one.result() is False for one in activations):
            ending.failed = True
        else:
            _spin_once(executor, nodes)
    for node in nodes:
        node.activation.withdraw()
        if node.active:
            node.trigger_deactivate()
    busy = now()
    deadline = busy + _GRACE
    # Answers that were given leave the executor a little later.
    while now() < min(busy + _DELIVERY, deadline) and not ending.hurried:
        _spin_once(executor, nodes)
        if not all(_settled(node) for node in nodes):
            busy = now()
    for node in nodes:
        if node.configured:
            node.trigger_cleanup()
    executor.shutdown()


def _start(nodes: Sequence[SysidNode[Any]], ending: _Ending) -> list[Future[bool | None]]:
    """Configure the nodes that start by themselves; when each of them is active."""
    activations = []
    for node in nodes:
        if node.settings.autostart and not ending.asked:
            node.trigger_configure()
            if not node.configured:
                # Not where it gave up since the process is to end.
                ending.failed = not ending.asked
                break
            activations.append(node.activation.request())
    return activations


def _settled(node: SysidNode[Any]) -> bool:
    """Whether a node may end."""
    return not node.configured or (node.at_rest() and node.activation.settled)


def _spin_once(executor: Executor, nodes: Sequence[SysidNode[Any]]) -> None:
    """Wait for the next callback, or for the next tick of a fast lane."""
    def serve(longest: float) -> None:
        try:
            executor.spin_once(timeout_sec=longest)
        except Exception as error:  # noqa: BLE001 (one callback must not end the process)
            nodes[0].complain(error)

    lane = nodes[0].lane
    if lane is None:
        serve(_LOOK)
    else:
        lane.run_once(lambda: serve(0.0))
