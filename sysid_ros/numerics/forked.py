"""Arrays computed by a forked process while this one computes others.

A fork has all that was read and imported, so that it begins at once. What it finds comes back as
plain arrays. Where there is one processor only, or the process has threads, which a fork would
leave behind with the locks they hold, or a fork fails, or the environment says that processes side
by side share the processors already, everything is computed here: results are the same.
"""

from __future__ import annotations

import gc
import io
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO, NoReturn

import numpy as np

from sysid_ros.numerics.progress import shown_by, tell

#: Environment variable that is set where as many processes fit as there are processors.
ONE_PROCESS = 'SYSID_ONE_PROCESS'
#: What a computation gives.
Arrays = tuple[np.ndarray, ...]

# Bytes of each number in a queue, which are read at once or not at all, and numbers that any queue
# has room for.
_BYTES, _MOST = 2, 2000


class Forked:
    """A computation in a forked process, which ends with ``with`` at the latest.

    Args:
        compute: Gives the arrays; it must not rely on what it changes.
    """

    def __init__(self, compute: Callable[[], Arrays]) -> None:
        self._compute = compute
        self._child = 0
        self._answer: BinaryIO | None = None

    def __enter__(self) -> Forked:
        if processors() > 1:
            self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._wait()

    @property
    def running(self) -> bool:
        """Whether another process computes, whose result was not taken yet."""
        return bool(self._child)

    def result(self) -> Arrays:
        """The arrays; computed here if the other process did not, with its error if it has one."""
        if self._child and self._answer is not None:
            content = self._answer.read()
            if self._wait() == 0:
                return _unpacked(content)
        return self._compute()

    def _start(self) -> None:
        read, write = os.pipe()
        try:
            self._child = os.fork()
        except OSError:
            os.close(read)
            os.close(write)
            return
        if not self._child:
            _answer(self._compute, write)
        os.close(write)
        self._answer = open(read, 'rb')  # noqa: SIM115 (closed by _wait)

    def _wait(self) -> int:
        """Exit code of the process, negative after a signal."""
        if self._answer is not None:
            self._answer.close()
        child, self._child = self._child, 0
        try:
            _, status = os.waitpid(child, 0)
        except ChildProcessError:
            # This is a later fork of the process that had it computed.
            return -1
        return os.waitstatus_to_exitcode(status)


def processors() -> int:
    """Processors that forks of this process may use: one where it must not be forked."""
    if os.environ.get(ONE_PROCESS):
        return 1
    try:
        threads = len(os.listdir('/proc/self/task'))
    except OSError:
        return 1
    return len(os.sched_getaffinity(0)) if threads == 1 else 1


def forked_map(compute: Callable[[int], Arrays], count: int) -> list[Arrays]:
    """Arrays of the numbers from 0 on, computed by as many processes as there are processors.

    Each process takes the last number that is left when it is done with one: lists of candidates
    begin with the simplest, and no process should be left with a long one at the end.

    Args:
        compute: Gives the arrays of a number; it must not rely on what it changes.
        count: How many numbers.

    Returns:
        What ``compute`` gives, in order; an error is that of the first number that has one.
    """
    helpers = min(processors(), count) - 1
    if helpers < 1 or count > _MOST:
        return [_computed(compute, number, number, count) for number in range(count)]
    queue, write = os.pipe()
    os.write(write, b''.join(number.to_bytes(_BYTES) for number in reversed(range(count))))
    os.close(write)
    parent, found = os.getpid(), dict[int, Arrays]()
    with ExitStack() as stack:
        stack.callback(os.close, queue)

        def taken() -> Arrays:
            """The numbers that one process took and how many arrays each gave, and these."""
            numbers, lengths, arrays = [], [], list[np.ndarray]()
            while os.getppid() == parent and (item := os.read(queue, _BYTES)):
                given = compute(int.from_bytes(item))
                numbers.append(int.from_bytes(item))
                lengths.append(len(given))
                arrays += given
            return np.array([numbers, lengths], dtype=np.int64).reshape(2, -1), *arrays

        others = [stack.enter_context(Forked(taken)) for _ in range(helpers)]
        try:
            while item := os.read(queue, _BYTES):
                # Numbers are taken from the last one down.
                number = int.from_bytes(item)
                found[number] = _computed(compute, number, count - 1 - number, count)
        except Exception:  # noqa: S110  # it comes again below, unless one before it has one
            pass
        for other in others:
            found |= _by_number(other.result())
    return [found[number] if number in found else compute(number) for number in range(count)]


def _computed(compute: Callable[[int], Arrays], number: int, done: int, count: int) -> Arrays:
    tell(done, count)
    return compute(number)


def _by_number(answer: Arrays) -> dict[int, Arrays]:
    """What a process took of a queue."""
    (numbers, lengths), *arrays = answer
    ends = np.cumsum(lengths)
    return {
        int(number): tuple(arrays[end - length:end])
        for number, length, end in zip(numbers, lengths, ends, strict=True)}


def _answer(compute: Callable[[], Arrays], write: int) -> NoReturn:
    """Compute, write the arrays, and end this process, which is a fork."""
    code = 1
    try:
        # Looking for garbage would copy memory that both share.
        gc.disable()
        # What is told here nobody sees: the process that forked tells how far all is.
        with shown_by(None):
            content = _packed(compute())
        with open(write, 'wb') as stream:
            stream.write(content)
        code = 0
    finally:
        # Whatever went wrong, who forked computes again and says so.
        os._exit(code)


def _packed(arrays: Sequence[np.ndarray]) -> bytes:
    stream = io.BytesIO()
    for array in arrays:
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _unpacked(content: bytes) -> Arrays:
    stream, arrays = io.BytesIO(content), []
    while stream.tell() < len(content):
        arrays.append(np.load(stream, allow_pickle=False))
    return tuple(arrays)
