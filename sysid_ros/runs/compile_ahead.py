"""Compiles ahead what fits, searches and nodes need, on all cores.

What is compiled is kept in the caches of Numba, where every process finds it. The functions of
one cache entry that two processes compile at once may be lost to one of them, so tasks that
compiled something are done again until nothing is left to compile.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core import event

from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.workloads import WORKLOADS, Workload

# What is still compiled then finds no place in a cache.
_ROUNDS = 4

#: Told of a task that is done: tasks done and in all, its name, and functions it has compiled.
Progress = Callable[[int, int, str, int], None]


class Compilations(event.Listener):
    """Functions that this process compiles, rather than loads from a cache, while entered.

    Attributes:
        names: Module and name of each.
    """

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        """Note a function that is being compiled."""
        function = event.data['dispatcher'].py_func
        self.names.append(f'{function.__module__}.{function.__qualname__}')

    def on_end(self, event: Any) -> None:
        """It was noted when it began."""

    def __enter__(self) -> Compilations:
        event.register('numba:compile', self)
        return self

    def __exit__(self, *error: object) -> None:
        event.unregister('numba:compile', self)


@dataclass(frozen=True)
class Compiled:
    """What compiling ahead came to.

    Attributes:
        count: Functions that were compiled; 0 where all were there.
        rounds: How often tasks were done, the last time to see that nothing is left.
    """

    count: int
    rounds: int


def compile_ahead(
    progress: Progress, workloads: Sequence[Workload] = WORKLOADS, processes: int | None = None
) -> Compiled:
    """Do all tasks until none compiles anything.

    Args:
        progress: Told of every task that is done.
        workloads: The tasks.
        processes: How many work at once; by default one a core.

    Raises:
        ConfigurationError: Something is compiled again and again, so no cache keeps it.
    """
    left, count = list(workloads), 0
    for rounds in range(1, _ROUNDS + 1):
        found = _done(left, progress, processes or len(os.sched_getaffinity(0)))
        count += sum(len(names) for names in found.values())
        left = [workload for workload in left if found[workload.name]]
        if not left:
            return Compiled(count, rounds)
    again = sorted({name for workload in left for name in found[workload.name]})
    raise ConfigurationError(
        'compiled functions are not kept', where='NUMBA_CACHE_DIR', found=', '.join(again[:5]),
        allowed='a folder that can be written', fix='Set it to one: export NUMBA_CACHE_DIR=...')


def _done(
    workloads: Sequence[Workload], progress: Progress, processes: int
) -> dict[str, list[str]]:
    """Functions that each task has compiled, by its name."""
    found: dict[str, list[str]] = {}
    # Processes of their own that begin anew: nothing has been loaded in them.
    with ProcessPoolExecutor(
        min(processes, len(workloads)), multiprocessing.get_context('spawn')
    ) as pool:
        jobs = {pool.submit(_run, workload): workload.name for workload in workloads}
        for job in as_completed(jobs):
            found[jobs[job]] = job.result()
            progress(len(found), len(workloads), jobs[job], len(found[jobs[job]]))
    return found


def _run(workload: Workload) -> list[str]:
    """Do a task; names of what it compiled."""
    with tempfile.TemporaryDirectory() as folder, Compilations() as compilations:
        workload.run(Path(folder))
    return compilations.names
