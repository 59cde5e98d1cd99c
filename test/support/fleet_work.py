"""Work for pools of processes: some of it ends the process that it runs in."""

import os
import signal
from pathlib import Path


def squared(number):
    return number * number


def end_process_once(path):
    """End the process by SIGKILL, unless the file is there, which it writes before."""
    path = Path(path)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def end_process_if_odd(number):
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def refuse_odd(number):
    if number % 2:
        raise ValueError(f'{number} is odd')
    return number


def threads_of_libraries(_):
    """How many threads libraries are allowed, and processors that a fit may fork for."""
    from sysid_ros.numerics.forked import processors

    return os.environ['OPENBLAS_NUM_THREADS'], os.environ['NUMBA_NUM_THREADS'], processors()
