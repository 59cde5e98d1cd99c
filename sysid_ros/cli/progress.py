"""Progress on standard error, so that standard output stays clean for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show that a step of the work is under way, and how long it took.

    Args:
        text: What is being done, as in ``'Reading the recording'``.
    """
    console = Console(stderr=True, highlight=False)
    start = time.perf_counter()
    if sys.stderr.isatty():
        with console.status(f'{text} …'):
            yield
    else:
        yield
    console.print(f'{text}: {time.perf_counter() - start:.1f} s', style='dim')
