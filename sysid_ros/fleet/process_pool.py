"""Worker processes of the standard library, each with one piece of work at a time.

Unlike those of :mod:`concurrent.futures`, a worker that is killed takes with it no work but its
own: that is given to another one.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from sysid_ros.fleet.pool import ATTEMPTS, LostWork, one_thread_each, usable_processors

# New processes, not forks: what this one has loaded reads its environment no more.
_CONTEXT = multiprocessing.get_context('spawn')
# How long a worker that has nothing to do may take to end, in [s].
_PATIENCE = 5.0


@dataclass
class _Work:
    """A piece of work, and how many workers it was given to."""

    number: int
    item: Any
    attempts: int = 0


@dataclass
class _Worker:
    """A process, its connection, and the work that it has."""

    process: SpawnProcess
    connection: Connection
    work: _Work | None = None

    @classmethod
    def start(cls, function: Callable[[Any], Any]) -> _Worker:
        """Start a process that calls a function for each item that it is sent."""
        own, other = _CONTEXT.Pipe()
        with one_thread_each():
            process = _CONTEXT.Process(target=_serve, args=(other, function))
            process.start()
        other.close()
        return cls(process, own)

    def give(self, work: _Work) -> None:
        """Have a piece of work done; a worker that is gone is noticed when its answer is read."""
        work.attempts += 1
        self.work = work
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(work.item)

    def end(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        if self.work is None:
            self.process.join(_PATIENCE)
        self.process.kill()
        self.process.join()


@dataclass(frozen=True)
class ProcessPool:
    """Carries out work by worker processes.

    Attributes:
        workers: How many; by default one for each processor.
    """

    workers: int = field(default_factory=usable_processors)

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """See :meth:`~sysid_ros.fleet.pool.Pool.map`."""
        waiting = deque(_Work(number, item) for number, item in enumerate(items))
        workers: dict[Connection, _Worker] = {}
        try:
            while waiting or any(worker.work for worker in workers.values()):
                _employ(workers, waiting, function, self.workers)
                for connection in wait(list(workers)):
                    answer = _answer(workers, connection, waiting)
                    if answer is not None:
                        yield answer
        finally:
            for worker in workers.values():
                worker.end()


def _employ(
    workers: dict[Connection, _Worker], waiting: deque[_Work], function: Callable[[Any], Any],
    most: int,
) -> None:
    """Give waiting work to workers that have none, and start those that are missing."""
    idle = [worker for worker in workers.values() if worker.work is None]
    while waiting and (idle or len(workers) < most):
        if not idle:
            new = _Worker.start(function)
            workers[new.connection] = new
            idle.append(new)
        idle.pop().give(waiting.popleft())


def _answer(
    workers: dict[Connection, _Worker], connection: Any, waiting: deque[_Work]
) -> tuple[int, Any] | None:
    """Number and result that a worker sends; None where it was killed, and its work waits again."""
    worker = workers[connection]
    work = worker.work
    try:
        result = connection.recv()
    except (EOFError, ConnectionResetError):
        del workers[connection]
        worker.end()
        if work is None:
            return None
        if work.attempts < ATTEMPTS:
            waiting.appendleft(work)
            return None
        return work.number, LostWork(_how_ended(worker.process.exitcode))
    worker.work = None
    return None if work is None else (work.number, result)


def _how_ended(code: int | None) -> str:
    how = f'with exit code {code}'
    if code is not None and code < 0:
        how = f'by {signal.Signals(-code).name}'
        if -code == signal.SIGKILL:
            how += ', as the system does where memory is short'
    return f'{ATTEMPTS} workers ended on it, the last one {how}'


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Call a function for each item that comes, until nobody sends any more."""
    # Ctrl-C is the business of who started this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            result = function(item)
        except Exception as error:
            result = LostWork(f'{type(error).__name__}: {error}')
        try:
            connection.send(result)
        except (BrokenPipeError, ConnectionResetError):
            return
