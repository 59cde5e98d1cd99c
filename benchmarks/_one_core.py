"""One pinned core and one thread for a benchmark and its reference; imported before NumPy.

NumPy's BLAS asks for the number of cores once, when it is loaded.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
for _library in ('OMP', 'OPENBLAS', 'MKL', 'NUMBA'):
    os.environ[f'{_library}_NUM_THREADS'] = '1'

REPEATS = 5


def median_times(*works: Callable[[], object]) -> list[float]:
    """Median times of some works in [s], each run once to warm up, then in turns."""
    times: list[list[float]] = [[] for _ in works]
    for repeat in range(REPEATS + 1):
        for work, measured in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            if repeat:
                measured.append(time.perf_counter() - start)
    return [statistics.median(measured) for measured in times]
