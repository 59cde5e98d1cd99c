"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sysid_ros.cli.colours import has_colours
from sysid_ros.numerics.progress import shown_by

# What terminals take for: dim, as before, and back to the beginning of a line that is cleared.
_DIM, _PLAIN, _AGAIN = '\x1b[2m', '\x1b[0m', '\r\x1b[K'
# Time between two lines where there is no terminal, in [s].
_SELDOM = 10.0
# Time between two writings of a line of a terminal in [s].
_OFTEN = 0.1


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
        with shown_by(_Line(text).show if terminal else None):
            yield
    except BaseException:
        if terminal:
            print(file=sys.stderr)
        raise
    done = f'{text}: {time.perf_counter() - start:.1f} s'
    shown = f'{_DIM}{done}{_PLAIN}' if has_colours(sys.stderr) else done
    print(f'{_AGAIN}{shown}' if terminal else done, file=sys.stderr)


class _Line:
    """The line of a terminal that says how far a step is, and about how long it still takes.

    Args:
        text: What the step is.
    """

    def __init__(self, text: str) -> None:
        self._text, self._work = text, ''
        self._began = self._shown = 0.0

    def show(self, what: str, done: int, count: int) -> None:
        """Write it over, some times a second at most.

        This is a :data:`~sysid_ros.numerics.progress.Show`. Of the time left it speaks after the
        first part, as if all parts took equally long.
        """
        now = time.perf_counter()
        if what != self._work or not done:
            self._work, self._began, self._shown = what, now, 0.0
        if now - self._shown < _OFTEN:
            return
        self._shown = now
        said = f'{self._text} … {what}'.rstrip()
        if count:
            said += f', {done} of {count}' if what else f' {done} of {count}'
        left = (now - self._began) * (count - done) / done if done else 0.0
        if left >= 1.0:
            said += f', about {left:.0f} s left'
        columns = shutil.get_terminal_size().columns
        print(f'{_AGAIN}{said[:columns - 1]}', end='', file=sys.stderr, flush=True)


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
