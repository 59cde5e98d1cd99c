"""The start of ROS in a process, whatever another one left behind when it was killed."""

from __future__ import annotations

from collections.abc import Sequence

import rclpy
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from sysid_ros.runs.abandoned_locks import remove_abandoned_locks


def start_ros(
    arguments: Sequence[str] | None = None,
    signals: SignalHandlerOptions = SignalHandlerOptions.NO,
) -> None:
    """Initialise rclpy, after locks that would keep its nodes from being found are removed.

    It takes no time where no lock of Fast DDS is held, and some seconds where one is abandoned.

    Args:
        arguments: Command line with remappings and parameters; by default the process's.
        signals: Which signals rclpy handles.
    """
    removed = remove_abandoned_locks()
    if removed:
        get_logger('sysid_ros').warning(
            'locks of Fast DDS that a killed process had left were removed, so that nodes are '
            f'found: {", ".join(removed)}')
    rclpy.init(args=arguments, signal_handler_options=signals)
