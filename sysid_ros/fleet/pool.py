"""What carries out the fits of a batch: this process, worker processes, or Dask."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from sysid_ros.numerics.forked import ONE_PROCESS

#: How many workers a piece of work may end, before it is given up.
ATTEMPTS = 3
#: Environment of a worker: fits side by side have one thread each, and fork no helpers.
ONE_THREAD = {
    name: '1' for name in (
        ONE_PROCESS, 'NUMBA_NUM_THREADS', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS',
        'OPENBLAS_NUM_THREADS', 'VECLIB_MAXIMUM_THREADS')}
# What Dask adds to the environment of the process that starts its workers, and leaves there.
_OF_DASK = ('MALLOC_TRIM_THRESHOLD_', 'PYTHONHASHSEED', '__DASK_PARENT_PID')


@dataclass(frozen=True)
class LostWork:
    """A piece of work that no worker brought to an end.

    Attributes:
        reason: Why, in words.
    """

    reason: str


class Pool(Protocol):
    """Carries out a function for many items."""

    @property
    def workers(self) -> int:
        """How many at a time."""

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of each item, as they are done; of lost ones a :class:`LostWork`.

        Args:
            function: A function of a module, which processes can be told by its name.
            items: What it is called with; items and results can be pickled.
        """


@dataclass(frozen=True)
class SerialPool:
    """Carries out one item after the other in this process."""

    workers: int = 1

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """See :meth:`Pool.map`."""
        for number, item in enumerate(items):
            yield number, function(item)


class _RestoredVariables:
    """Variables of the environment as they were, once the last of the blocks that use it ends.

    Blocks may end in any order, as those of generators and threads do.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._lock = threading.Lock()
        self._blocks = 0
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._before = {name: os.environ.get(name) for name in self._names}
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks:
                return
            for name, value in self._before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


_RESTORED = _RestoredVariables((*ONE_THREAD, *_OF_DASK))


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes that are started inherit :data:`ONE_THREAD`."""
    with _RESTORED:
        os.environ.update(ONE_THREAD)
        yield


def usable_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))
