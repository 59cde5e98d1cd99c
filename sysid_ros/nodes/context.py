"""The start of ROS in a process, and its end, whatever others do or have left behind."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import rclpy
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sysid_ros.runs.abandoned_locks import remove_abandoned_locks
from sysid_ros.runs.middleware import talk_by_udp

# Longest time in [s] that the middleware gets to let go of a process.
_LETTING_GO = 5.0


def start_ros(
    arguments: Sequence[str] | None = None,
    signals: SignalHandlerOptions = SignalHandlerOptions.NO,
) -> None:
    """Initialise rclpy by UDP, after locks that would keep its nodes from being found are removed.

    It takes no time where no lock of Fast DDS is held, and some seconds where one is abandoned.

    Args:
        arguments: Command line with remappings and parameters; by default the process's.
        signals: Which signals rclpy handles.
    """
    talk_by_udp()
    removed = remove_abandoned_locks()
    if removed:
        get_logger('sysid_ros').warning(
            'locks of Fast DDS that a killed process had left were removed, so that nodes are '
            f'found: {", ".join(removed)}')
    rclpy.init(args=arguments, signal_handler_options=signals)


def end_ros(nodes: Iterable[Node] = ()) -> None:
    """Destroy nodes and shut rclpy down; where that does not end, the process ends with code 1.

    A participant of Fast DDS (3.2) that is destroyed while another one of its domain goes, too, may
    wait for a thread that waits for it, once in some hundred times where both end at one moment. It
    keeps Python's lock, so that no signal is heard: what ends it has to be outside of Python.

    Args:
        nodes: The nodes, whose callbacks do not run any more.
    """
    with Path(os.devnull).open('w', encoding='utf-8') as nowhere:
        faulthandler.dump_traceback_later(_LETTING_GO, exit=True, file=nowhere)
        try:
            for node in nodes:
                node.destroy_node()
            rclpy.try_shutdown()
        finally:
            faulthandler.cancel_dump_traceback_later()
