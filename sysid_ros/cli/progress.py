"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What terminals take for: dim, as before, and back to the beginning of a line that is cleared.
_DIM, _PLAIN, _AGAIN = '\x1b[2m', '\x1b[0m', '\r\x1b[K'
# Time between two lines where there is no terminal, in [s].
_SELDOM = 10.0


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show that a step of the work is under way, and how long it took.

    Nothing turns meanwhile: that would take a thread, and a process that has threads is not
    forked (:mod:`sysid_ros.numerics.forked`).

    Args:
        text: What is being done, as in ``'Reading the recording'``.
    """
    start = time.perf_counter()
    terminal = sys.stderr.isatty()
    if terminal:
        print(f'{text} …', end='', file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        if terminal:
            print(file=sys.stderr)
        raise
    done = f'{text}: {time.perf_counter() - start:.1f} s'
    print(f'{_AGAIN}{_DIM}{done}{_PLAIN}' if terminal else done, file=sys.stderr)


@contextmanager
def counting() -> Iterator[Callable[[str], None]]:
    """Show how far work is: one line of a terminal that changes, or lines that are rare in a file.

    Yields:
        Takes the line.
    """
    terminal, shown, last = sys.stderr.isatty(), -_SELDOM, ''

    def show(text: str) -> None:
        nonlocal shown, last
        last = text
        if terminal:
            print(f'{_AGAIN}{text}', end='', file=sys.stderr, flush=True)
        elif time.perf_counter() - shown >= _SELDOM:
            shown, last = time.perf_counter(), ''
            print(text, file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if last:
            print('' if terminal else last, file=sys.stderr)
