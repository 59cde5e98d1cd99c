"""A process that does one job of the page, so that the server has time for browsers.

The job, its kind, the process that asked for it, and the command line come as JSON in the first
argument; names of entries are relative to the working directory, as in a terminal. What is being
done is told by lines of JSON on standard output. It ends with the process that started it, in
whatever way that ends, and SIGINT ends it as Ctrl-C ends a verb: what was not complete is not kept.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Of prctl: the signal that the kernel sends when the parent is gone; it stops as Ctrl-C does.
_PDEATHSIG = 1
# Least time between two lines on the progress of a step, in [s].
_OFTEN = 0.2

# Standard output as it was at the beginning.
_REPORTS = os.fdopen(os.dup(1), 'w', encoding='utf-8')


def main() -> int:
    """Do what the first argument asks for.

    Returns:
        0 when there is a result, 1 when it is an error, 130 when it was stopped.
    """
    # What a library prints is no report.
    os.dup2(2, 1)
    order = json.loads(sys.argv[1])
    # A thread that waits for the parent's end would keep this process from forking.
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGINT)
    if os.getppid() != order['parent']:
        return 1
    try:
        # Takes a second: only now that it ends with its parent.
        from sysid_ros.errors import SysidError
        from sysid_ros.numerics.progress import shown_by
        from sysid_ros.studio.error_notes import error_note
        from sysid_ros.studio.jobs import job_of
        from sysid_ros.studio.work import carried_out

        try:
            with shown_by(_Parts().show):
                result = carried_out(job_of(order), order['command'], stage)
        except SysidError as error:
            _say({'error': error_note(error)})
            return 1
    except KeyboardInterrupt:
        return 130
    _say({'result': result})
    return 0


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Tell that a step is under way, and how long it took."""
    begin = time.monotonic()
    _say({'stage': text})
    yield
    _say({'ended': time.monotonic() - begin})


class _Parts:
    """Tells how far a step is, some times a second at most."""

    def __init__(self) -> None:
        self._work, self._told = '', 0.0

    def show(self, what: str, done: int, count: int) -> None:
        """Tell it; this is a :data:`~sysid_ros.numerics.progress.Show`."""
        now = time.monotonic()
        if what == self._work and done and now - self._told < _OFTEN:
            return
        self._work, self._told = what, now
        _say({'part': [what, done, count]})


def _say(line: dict[str, Any]) -> None:
    _REPORTS.write(json.dumps(line, allow_nan=False) + '\n')
    _REPORTS.flush()


if __name__ == '__main__':
    sys.exit(main())
