"""The robot description that a running robot publishes, for settings files that name none."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node
from std_msgs.msg import String

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.configuration import load_settings_file, names_description
from sysid_ros.nodes.fast_lane import PolledSubscription
from sysid_ros.nodes.node import LATCHED

TOPIC = 'robot_description'
# Longest wait for the description, and time between two looks, in [s].
_PATIENCE, _LOOK = 15.0, 0.02


def published_description(
    node: Node, file: Path, ending: Callable[[], bool] = lambda: False,
    patience: float = _PATIENCE,
) -> str:
    """Robot description of the latched topic, where a settings file names none.

    Args:
        node: The node; the topic is ``robot_description`` in its namespace.
        file: The settings file.
        ending: Whether to give up, as when the process is to end.
        patience: How long to wait for the description in [s].

    Returns:
        URDF or MJCF as text; empty where the file names a description of its own.

    Raises:
        ConfigurationError: The file cannot be read, nobody publishes a description, or it was
            given up.
    """
    if names_description(load_settings_file(file)):
        return ''
    polled = PolledSubscription(node, String, TOPIC, LATCHED)
    try:
        deadline = time.monotonic() + patience
        while not (heard := polled.take()):
            if ending():
                raise ConfigurationError(
                    'ended while it waited for the robot description', where=str(file),
                    fix='Name the file, as robot: {urdf: robot.urdf}, or start the publisher of '
                    f'{polled.subscription.topic_name} before')
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    'there is no robot description', where=f'{file}: robot',
                    found=f'no urdf, and nothing on {polled.subscription.topic_name} within '
                    f'{patience:g} s',
                    fix='Name the file, as robot: {urdf: robot.urdf}, or start '
                    'robot_state_publisher in the namespace of this node')
            time.sleep(_LOOK)
    finally:
        node.destroy_subscription(polled.subscription)
    message, _ = heard[-1]
    return str(message.data)
