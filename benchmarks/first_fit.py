"""Compiling ahead: how long it takes, and that the first fit after it compiles nothing.

``sysid compile`` fills an empty cache on all cores. Then each estimator fits a small robot in
fresh processes, from the recording to the run folder: the first one against the fastest of those
after it, in time of the processor and with all imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMPILE_BAR, RATIO_BAR, LATER = 180.0, 1.2, 3


def fit(estimator: str) -> None:
    """In a process of its own: fit, and tell the time taken in [s] and the functions compiled."""
    from sysid_ros.runs.compile_ahead import Compilations
    from sysid_ros.runs.workloads import fit_small

    robot = {'collocation': 'pendulum', 'shooting': 'pendulum', 'variational': 'pendulum',
             'graph': 'pendulum', 'discrete': 'dry_pendulum'}.get(estimator, 'arm')
    with tempfile.TemporaryDirectory() as folder, Compilations() as compilations:
        fit_small(robot, estimator, Path(folder))
    print(json.dumps([time.process_time(), len(compilations.names)]))


def run(*arguments: str, cache: str) -> str:
    """What a Python process prints that finds compiled functions in a folder."""
    threads = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
    return subprocess.run(
        [sys.executable, *arguments], check=True, text=True, stdout=subprocess.PIPE,
        env=os.environ | threads | {'NUMBA_CACHE_DIR': cache}).stdout


def of_estimator(estimator: str, cache: str) -> dict[str, Any]:
    """The figure of an estimator."""
    (first, compiled), *later = (
        json.loads(run(__file__, estimator, cache=cache).splitlines()[-1])
        for _ in range(1 + LATER))
    warm = min(seconds for seconds, _ in later)
    print(f'{estimator}: first {first:.2f} s, later {warm:.2f} s, {compiled} functions compiled',
          flush=True)
    return {
        'name': f'first fit by {estimator}, over later ones', 'value': first / warm, 'unit': '',
        'reference': f'{warm:.2f} s; {compiled} functions compiled', 'ratio': None,
        'bar': f'<= {RATIO_BAR:g}, nothing compiled',
        'ok': compiled == 0 and first <= RATIO_BAR * warm}


def main() -> None:
    """Measure, and print the figures."""
    from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS

    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        run('-m', 'sysid_ros.cli.main', 'compile', cache=cache)
        seconds = time.perf_counter() - start
        figures = [{
            'name': f'sysid compile, {len(os.sched_getaffinity(0))} cores', 'value': seconds,
            'unit': 's', 'bar': f'<= {COMPILE_BAR:g} s', 'ok': seconds <= COMPILE_BAR}]
        figures += [
            of_estimator(estimator, cache)
            for estimator in (*REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS)]
    print(json.dumps(figures))


if __name__ == '__main__':
    if len(sys.argv) > 1:
        fit(sys.argv[1])
    else:
        main()
