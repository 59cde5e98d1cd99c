"""The first fit: what it takes from nothing, and that compiling ahead leaves nothing to compile.

``sysid fit`` of an arm with default settings finds an empty cache. Then ``sysid compile`` fills
another on all cores, and each estimator fits a small robot in fresh processes, from the recording
to the run folder. A first fit finds a copy of that cache as it was compiled, a later one the copy
that the first one left; first and later ones take turns. Their medians are compared, in time of the
processor and with all imports: single fits of 3 s differ by a third, whichever comes first.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMPILE_BAR, RATIO_BAR, TURNS = 180.0, 1.2, 5
#: Bar of a first ``sysid fit`` without any compiled function, in [s].
COLD_BAR = 8.0

_PLAIN = """
robot: {urdf: arm.urdf}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
"""


def fit(estimator: str) -> None:
    """In a process of its own: fit, and tell the time taken in [s] and the functions compiled."""
    from sysid_ros.runs.compile_ahead import Compilations
    from sysid_ros.runs.workloads import fit_small

    robot = {'collocation': 'pendulum', 'shooting': 'pendulum', 'variational': 'pendulum',
             'graph': 'pendulum', 'discrete': 'dry_pendulum'}.get(estimator, 'arm')
    with tempfile.TemporaryDirectory() as folder, Compilations() as compilations:
        fit_small(robot, estimator, Path(folder))
    print(json.dumps([time.process_time(), len(compilations.names)]))


def run(*arguments: str, cache: str, check: bool = True) -> str:
    """What a Python process prints that finds compiled functions in a folder."""
    threads = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
    return subprocess.run(
        [sys.executable, *arguments], check=check, text=True, stdout=subprocess.PIPE,
        env=os.environ | threads | {'NUMBA_CACHE_DIR': cache}).stdout


def from_nothing() -> dict[str, Any]:
    """The figure of a first fit by default settings, as a stranger's who compiled nothing ahead."""
    from sysid_ros.runs.workloads import recorded

    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as cache:
        folder = Path(name)
        recorded(folder, 'plain_arm')
        (folder / 'plain.yaml').write_text(_PLAIN, encoding='utf-8')
        start = time.perf_counter()
        # What the verdict says, by the exit code, does not matter here.
        run('-m', 'sysid_ros.cli.main', 'fit', str(folder / 'plain.yaml'), '--holdout', '0.3', '-o',
            str(folder / 'run'), cache=cache, check=False)
        seconds = time.perf_counter() - start
        assert (folder / 'run' / 'estimate.json').is_file(), 'the fit left no estimate'
    return {
        'name': f'first fit of an arm from nothing, {len(os.sched_getaffinity(0))} cores',
        'value': seconds, 'unit': 's', 'bar': f'<= {COLD_BAR:g} s', 'ok': seconds <= COLD_BAR}


def timed_fit(estimator: str, cache: str) -> tuple[float, int]:
    """Time of the processor of a fit in a process of its own, in [s], and functions compiled."""
    seconds, compiled = json.loads(run(__file__, estimator, cache=cache).splitlines()[-1])
    return seconds, compiled


def of_estimator(estimator: str, compiled_ahead: str) -> dict[str, Any]:
    """The figure of an estimator."""
    firsts, laters, compiled = [], [], 0
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as name:
            cache = shutil.copytree(compiled_ahead, Path(name) / 'cache')
            seconds, functions = timed_fit(estimator, str(cache))
            firsts.append(seconds)
            compiled = max(compiled, functions)
            laters.append(timed_fit(estimator, str(cache))[0])
    first, warm = statistics.median(firsts), statistics.median(laters)
    print(f'{estimator}: first {first:.2f} s, later {warm:.2f} s, {compiled} functions compiled',
          flush=True)
    return {
        'name': f'first fit by {estimator}, over later ones, medians of {TURNS}',
        'value': first / warm, 'unit': '',
        'reference': f'{warm:.2f} s; {compiled} functions compiled', 'ratio': None,
        'bar': f'<= {RATIO_BAR:g}, nothing compiled',
        'ok': compiled == 0 and first <= RATIO_BAR * warm}


def main() -> None:
    """Measure, and print the figures."""
    from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS

    figures = [from_nothing()]
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        run('-m', 'sysid_ros.cli.main', 'compile', cache=cache)
        seconds = time.perf_counter() - start
        figures += [{
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
