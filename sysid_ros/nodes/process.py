"""The process around a node: it ends by a signal, after the robot has come to rest.

rclpy's own handling of SIGINT closes the context at once, before a motion could be cancelled. So
signals are handled here: the node is deactivated, which begins the stop; the executor goes on
until the node is at rest, for a bounded time; then all is closed.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from sysid_ros.errors import SysidError
from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.numerics.kernel_indexes import remove_unreadable_indexes

# Longest time that a node may take to come to rest, and longest sleep between looks at signals.
_GRACE = 5.0
_LOOK = 0.1


def run(make_node: Callable[[], SysidNode[Any]], arguments: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT or SIGTERM.

    The node is configured and activated at once if its parameter ``autostart`` says so; otherwise
    its lifecycle is in the hands of others.

    Args:
        make_node: Makes the node, once ROS is there.
        arguments: Command line with remappings and parameters; by default the process's.

    Returns:
        The exit code: 0 after a signal, 1 when the node cannot start.
    """
    remove_unreadable_indexes()
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    signals: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        signals.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, remember)
    try:
        node = make_node()
    except SysidError as error:
        print(error, file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    try:
        return _spin(node, signals)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _spin(node: SysidNode[Any], signals: list[int]) -> int:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    started = None
    if node.settings.autostart:
        node.trigger_configure()
        if not node.configured:
            return 1
        started = node.activation.request()

    def spin_once() -> None:
        if node.lane is not None:
            node.lane.run_once(lambda: serve(0.0))
        else:
            serve(_LOOK)

    def serve(longest: float) -> None:
        try:
            executor.spin_once(timeout_sec=longest)
        except Exception as error:  # noqa: BLE001 (one callback must not end the process)
            node.complain(error)

    failed = False
    while not (signals or failed):
        # None: somebody else has taken the lifecycle into his hands meanwhile.
        failed = started is not None and started.done() and started.result() is False
        if not failed:
            spin_once()
    node.activation.withdraw()
    if node.active:
        node.trigger_deactivate()
    deadline = now() + _GRACE
    # A second signal does not wait.
    while not (node.at_rest() and node.activation.settled) and (
        now() < deadline and len(signals) < 2
    ):
        spin_once()
    if node.configured:
        node.trigger_cleanup()
    executor.shutdown()
    return int(failed)
