"""Compiled work that threads share, each with a workspace of its own.

Compiled functions that let go of the interpreter run side by side. Threads end with the work they
share: a process that has any cannot be forked, see :mod:`~sysid_ros.numerics.forked`. Nor can one
that has threads of BLAS, which take longer than one for matrices as small as those of fits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numba
from threadpoolctl import threadpool_limits

from sysid_ros.numerics.forked import ONE_PROCESS


def usable_threads() -> int:
    """Threads that this process may use; one where processes side by side share the processors."""
    if os.environ.get(ONE_PROCESS):
        return 1
    return min(len(os.sched_getaffinity(0)), int(numba.config.NUMBA_NUM_THREADS))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS computes in the thread that calls it, and has none of its own that forbid a fork.

    For programs that load NumPy as they like: ours say so before it is loaded. Threads of Python
    stay, and forbid one.
    """
    with threadpool_limits(1, user_api='blas'):
        if threading.active_count() == 1:
            _end_blas_threads()
        yield


def _end_blas_threads() -> None:
    """End the threads of OpenBLAS, which does that before any fork, and begins them when needed."""
    try:
        child = os.fork()
    except OSError:
        return
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def in_threads(work: Callable[[Iterator[int]], None], count: int, most: int | None = None) -> None:
    """Work on the numbers from 0 on in this thread and others.

    Args:
        work: Called once by each thread with an iterator of all, from which each takes the next
            that is left; an error of any is raised here.
        count: How many numbers.
        most: Most threads; None for as many as the process may use.
    """
    numbers = iter(range(count))
    others = min(usable_threads() if most is None else most, count) - 1
    if others < 1:
        work(numbers)
        return
    with ThreadPoolExecutor(others) as pool:
        tasks = [pool.submit(work, numbers) for _ in range(others)]
        work(numbers)
    for task in tasks:
        task.result()
