"""Real-time priority: what moves a robot does not wait for what does not."""

from __future__ import annotations

import os
from pathlib import Path

from sysid_ros.errors import ConfigurationError

_THREADS = Path('/proc/self/task')


def take_priority(priority: int) -> None:
    """Give every thread of this process, those of DDS too, a real-time priority (SCHED_FIFO).

    Threads and processes that begin later are ordinary ones: no fit or verification takes the
    processor from what moves the robot.

    Args:
        priority: From 1 to 99; 0 leaves the process as it is.

    Raises:
        ConfigurationError: The system does not allow it.
    """
    if not priority:
        return
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for thread in _THREADS.iterdir():
            os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise ConfigurationError(
            'the process gets no real-time priority, and may be held up by others',
            where='realtime_priority', found=f'{priority}: {error}',
            fix="Allow it to the user ('rtprio' in /etc/security/limits.conf), or set it to 0",
        ) from error
