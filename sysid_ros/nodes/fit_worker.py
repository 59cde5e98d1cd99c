"""A process that fits or judges once, so that whoever asked for it has time for other things.

It reports by lines of JSON on standard output, takes a low priority and one thread, and ends when
its standard input does: with the process that started it, in whatever way that ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

# Reception comes first.
_NICENESS = 10

# Standard output as it was at the beginning.
_REPORTS = os.fdopen(os.dup(1), 'w', encoding='utf-8')


def main(arguments: list[str] | None = None) -> int:
    """Carry out the job in a file.

    Args:
        arguments: What to do, ``fit`` or ``judge``, and the name of the file; by default from the
            command line.

    Returns:
        0 when there is a result, 1 when it is an error.
    """
    work, path = sys.argv[1:] if arguments is None else arguments
    os.nice(_NICENESS)
    # What a library prints is no report.
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Takes a second: only now that nothing else has to be done first.
    from sysid_ros.errors import SysidError
    from sysid_ros.runs.fit_job import fit_job, judgement_job
    from sysid_ros.runs.job import FitJob, JudgementJob
    from sysid_ros.settings import parse_settings

    try:
        content = json.loads(Path(path).read_text(encoding='utf-8'))
        if work == 'judge':
            result = judgement_job(parse_settings(JudgementJob, content, path), _report)
        else:
            result = fit_job(parse_settings(FitJob, content, path), _report)
        _say({'result': result})
    except SysidError as error:
        _say({'error': str(error), 'kind': type(error).__name__})
        return 1
    return 0


def _report(stage: str, progress: float) -> None:
    _say({'stage': stage, 'progress': progress})


def _say(line: dict[str, Any]) -> None:
    _REPORTS.write(json.dumps(line, allow_nan=False) + '\n')
    _REPORTS.flush()


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock would hang an orderly end.
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
