"""Time of fits by shooting to five recordings of 10 s at 500 Hz of a double pendulum.

The pendulum moves in MuJoCo, driven or swinging freely, its description is off by up to 30 %, and
the fit takes the way of the command line: settings that name robot, recordings and joints, and
leave the length of pieces to the estimator. It counts from recordings that are read to the estimate
with its intervals, once everything is compiled.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import convergence
import numba
from _mechanisms import MECHANISMS

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.evaluation.study import Study

DURATION, STEP, SEED, REPEATS = 10.0, 0.002, 1, 3
SECONDS_BAR, PROCESSORS = 5.0, 2
# Positions in [rad] that recordings begin at, at rest.
POSES = {
    'double pendulum': ((1.6, 0.8), (2.4, -0.9), (-1.2, 0.4), (0.7, 1.5), (-2.0, -0.6)),
    'driven double pendulum': ((0.0, 0.0), (0.3, -0.5), (-0.6, 0.2), (0.8, 0.8), (-0.3, 0.9))}


def problem_of(name: str) -> tuple[ShootingEstimator, TrajectoryProblem]:
    """The estimator and the problem of the recordings of a pendulum."""
    mechanism = replace(MECHANISMS[name], poses=POSES[name], duration=DURATION)
    with tempfile.TemporaryDirectory() as folder:
        first, *others = (Identification.load(path) for path in convergence.written(
            Path(folder), mechanism, 'shooting', STEP, None, SEED))
        study = Study.load(FitSetup.of(first), others=others, estimator='shooting')
    method = study.settings.build_trajectory('shooting')
    assert study.trajectory is not None and isinstance(method, ShootingEstimator)
    return method, study.trajectory


def fit(name: str) -> dict[str, Any]:
    """The least time of some fits of a pendulum."""
    method, problem = problem_of(name)
    times: list[tuple[float, float]] = []
    for _ in range(REPEATS + 1):
        wall, processor = time.perf_counter(), time.process_time()
        estimate, solution = method.fitted(problem)
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = min(times[1:])
    told = (
        f'{processor:.1f} s of processor time, {estimate.iterations} steps, '
        f'pieces of {getattr(solution, "horizon", 0.0):.2g} s, {estimate.status.name}')
    print(f'{name}: {wall:.1f} s, {told}')
    return {
        'name': f'shooting, five recordings of 10 s at 500 Hz, {name}', 'value': wall, 'unit': 's',
        'reference': told, 'ratio': None, 'bar': f'<= {SECONDS_BAR:g} s on {PROCESSORS} processors',
        'ok': estimate.status.ok and wall <= SECONDS_BAR}


def main() -> None:
    processors = sorted(os.sched_getaffinity(0))[:PROCESSORS]
    os.sched_setaffinity(0, processors)
    # Linear algebra has one thread, as in the command line; simulation one for each processor.
    numba.config.NUMBA_NUM_THREADS = len(processors)
    print(json.dumps([fit(name) for name in POSES]))


if __name__ == '__main__':
    main()
