"""Verbs that talk to ROS 2 become a process that knows it: the terminal does without."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sysid_ros.errors import ConfigurationError


def become(module: str, words: Sequence[str]) -> NoReturn:
    """Go on as another module, which is sent the signals of this process and ends with its code.

    Args:
        module: A module of ``sysid_ros.nodes`` that can be run.
        words: Its arguments.

    Raises:
        ConfigurationError: ROS 2 is not there.
    """
    if importlib.util.find_spec('rclpy') is None:
        raise ConfigurationError(
            'ROS 2 is not there', found='no module rclpy',
            fix='Source a ROS 2 distribution, or install sysid_ros with its wheels',
        )
    environment = dict(os.environ)
    # A mark of ROS wheels, which tells Python that libraries were found already.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    sys.stdout.flush()
    os.execve(  # noqa: S606  # no shell, and the words are those of the user
        sys.executable, [sys.executable, '-m', module, *words], environment)
