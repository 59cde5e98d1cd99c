"""A process that fits or judges once, so that whoever asked for it has time for other things.

It takes orders by lines of JSON on standard input, a word and a job: ``warm_up`` as often as
wanted, then ``fit`` or ``judge`` once; with ``--early`` it loads its modules before the first one.
It reports by lines of JSON on standard output, takes one thread and a low priority, but for a
warm-up that somebody waits for, and ends when its standard input does: with the process that
started it, in whatever way that ends.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
from typing import Any

# Reception comes first.
_NICENESS = 10
_BLOCK = 1 << 16
_EARLY = '--early'

# Standard output as it was at the beginning.
_REPORTS = os.fdopen(os.dup(1), 'w', encoding='utf-8')


def main() -> int:
    """Carry out what standard input orders.

    Returns:
        0 when there is a result, 1 when it is an error.
    """
    # What a library prints is no report.
    os.dup2(2, 1)
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    if _EARLY in sys.argv:
        importlib.import_module('sysid_ros.runs.fit_job')
        importlib.import_module('sysid_ros.runs.warm_up')
    # Takes a second: only now that nothing else has to be done first.
    from sysid_ros.errors import SysidError

    result, polite = None, False
    try:
        while result is None:
            work, job = json.loads(orders.get())
            if not (polite or job.get('awaited')):
                os.nice(_NICENESS)
                polite = True
            result = _carried_out(work, job)
            _say({'ready': True} if result is None else {'result': result})
    except SysidError as error:
        _say({'error': str(error), 'kind': type(error).__name__})
        return 1
    return 0


def _carried_out(work: str, job: dict[str, Any]) -> dict[str, Any] | None:
    """What came of a job; None of a warm-up."""
    from sysid_ros.runs.fit_job import fit_job, judgement_job
    from sysid_ros.runs.job import FitJob, JudgementJob, WarmUpJob
    from sysid_ros.runs.warm_up import load_for_fits
    from sysid_ros.settings import parse_settings

    _say({'begun': work != 'warm_up'})
    if work == 'warm_up':
        _report('Loading compiled functions', 0.0)
        load_for_fits(parse_settings(WarmUpJob, job, work))
        return None
    if work == 'judge':
        return judgement_job(parse_settings(JudgementJob, job, work), _report)
    return fit_job(parse_settings(FitJob, job, work), _report)


def _report(stage: str, progress: float) -> None:
    _say({'stage': stage, 'progress': progress})


def _say(line: dict[str, Any]) -> None:
    _REPORTS.write(json.dumps(line, allow_nan=False) + '\n')
    _REPORTS.flush()


def _listen(orders: queue.SimpleQueue[bytes]) -> None:
    """Pass lines of standard input on, and end the process with them."""
    # Not through sys.stdin, whose lock would hang an orderly end.
    rest = b''
    while block := os.read(0, _BLOCK):
        *lines, rest = (rest + block).split(b'\n')
        for line in lines:
            orders.put(line)
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
