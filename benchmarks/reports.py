"""Size of the report of each robot, and the time that it takes beside its fit.

Robots of the shared recordings (``SYSID_DATA``), an arm that stands still, one that moves poorly
and a fit of states and parameters. The time is that from the evaluation to the written files: what
is simulated for the report, the document and the page.
"""

from __future__ import annotations

# isort: off
import _support  # noqa: F401 (test/support)

# isort: on
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from support.report_cases import REAL, SIMULATED
from sysid_ros.errors import SysidError
from sysid_ros.runs import fit

BAR_BYTES, BAR_SECONDS = 5e6, 3.0


def timed(seconds: list[float], function: Any) -> Any:
    """The function, which also notes how long each call took in [s], as a user waits for it."""
    def call(*arguments: Any, **more: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **more)
        finally:
            seconds.append(time.perf_counter() - start)
    return call


def measured(name: str, data: Path) -> list[dict[str, Any]]:
    """Figures of the report of one robot."""
    seconds: list[float] = []
    source, write = fit.report_source, fit.write_report
    fit.report_source, fit.write_report = timed(seconds, source), timed(seconds, write)
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = (REAL | SIMULATED)[name](Path(folder), data)
            size = (run / 'report.html').stat().st_size
    finally:
        fit.report_source, fit.write_report = source, write
    took = sum(seconds)
    print(f'{name}: {size / 1e6:.2f} MB, {took:.2f} s', flush=True)
    return [
        {'name': f'page of {name}', 'value': size / 1e6, 'unit': 'MB',
         'bar': f'<= {BAR_BYTES / 1e6:g} MB', 'ok': size <= BAR_BYTES},
        {'name': f'report of {name}, beside the fit', 'value': took, 'unit': 's',
         'bar': f'<= {BAR_SECONDS:g} s', 'ok': took <= BAR_SECONDS}]


def main() -> None:
    """Measure the reports that are named, or all, and print the figures."""
    data = Path(os.environ.get('SYSID_DATA', '../shared/data'))
    names = sys.argv[1:] or [*SIMULATED, *(REAL if data.is_dir() else ())]
    figures = []
    for name in names:
        try:
            figures += measured(name, data)
        except SysidError as error:
            figures.append({'name': f'report of {name}: {error}', 'ok': False})
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
