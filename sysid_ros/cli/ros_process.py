"""Verbs that talk to ROS 2 become a process that knows it: the terminal does without."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from sysid_ros.errors import ConfigurationError

_INTERRUPTED = 130


def become(module: str, words: Sequence[str]) -> NoReturn:
    """Go on as another module, which is sent the signals of this process and ends with its code.

    Args:
        module: A module of ``sysid_ros.nodes`` that can be run.
        words: Its arguments.

    Raises:
        ConfigurationError: ROS 2 is not there.
    """
    environment = _environment()
    sys.stdout.flush()
    os.execve(  # noqa: S606  # no shell, and the words are those of the user
        sys.executable, [sys.executable, '-m', module, *words], environment)


def begin(module: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start another module as a process of its own, which prints where this one does.

    Args:
        module: A module of ``sysid_ros.nodes`` that can be run.
        words: Its arguments.

    Raises:
        ConfigurationError: ROS 2 is not there.
    """
    return subprocess.Popen(  # noqa: S603  # no shell, and the words are those of the user
        [sys.executable, '-m', module, *words], env=_environment(), stdin=subprocess.DEVNULL)


def answer_of(module: str, words: Sequence[str], seconds: float) -> str:
    """What another module prints that knows ROS, as a process of its own.

    Args:
        module: A module of ``sysid_ros.nodes`` that can be run.
        words: Its arguments.
        seconds: Longest time it may take.

    Raises:
        ConfigurationError: ROS 2 is not there, or the process fails.
    """
    try:
        done = subprocess.run(  # noqa: S603  # no shell, and the words are those of the user
            [sys.executable, '-m', module, *words], env=_environment(), timeout=seconds,
            capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(
            'ROS 2 does not answer', found=f'nothing within {seconds:g} s',
            fix='Look at RMW_IMPLEMENTATION, ROS_DOMAIN_ID and the network') from error
    if done.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ['nothing'])[-1]
        raise ConfigurationError(
            'ROS 2 cannot be asked', found=last, fix='Look at RMW_IMPLEMENTATION and ROS_DOMAIN_ID')
    return done.stdout


def _environment() -> dict[str, str]:
    """Environment of a process that knows ROS.

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
    return environment
