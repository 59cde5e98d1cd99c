"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show that a step of the work is under way, and how long it took.

    Args:
        text: What is being done, as in ``'Reading the recording'``.
    """
    start = time.perf_counter()
    if not sys.stderr.isatty():
        yield
        print(_done(text, start), file=sys.stderr)
        return
    from rich.console import Console  # for people at a terminal only

    console = Console(stderr=True, highlight=False)
    with console.status(f'{text} …'):
        yield
    console.print(_done(text, start), style='dim')


def _done(text: str, start: float) -> str:
    return f'{text}: {time.perf_counter() - start:.1f} s'
