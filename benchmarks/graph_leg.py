"""Masses and friction of a leg with three closed loops on a factor graph, over 50 recordings.

    python benchmarks/graph_leg.py [how many recordings]

Six motors and nine passive joints; encoders at the motors with noise of 1 mrad, and their torques
known to 1 %. Masses come with the shapes of their bodies; all begins up to a fifth off, and the
motion with what encoders say. The truth is Pinocchio's constrained dynamics, integrated by SciPy.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import sys
import time

import _support  # noqa: F401
import numpy as np

from support import leg_recordings as made
from sysid_ros.estimation.trajectory.graph.identification import identify

SEEDS, ERROR, COVERAGE, TIME = 50, 0.02, 0.9, 18.0


def main() -> None:
    """Print the table and the figures."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    recording, errors, inside, times = made.Recording(), [], [], []
    truth = recording.values
    for seed in range(seeds):
        graph = recording.graph(seed)
        begin = time.perf_counter()
        found = identify(graph, made.first_motion(graph))
        times.append(time.perf_counter() - begin)
        away = found.values - truth
        errors.append(away / truth)
        inside.append(np.abs(away) <= 1.96 * found.standard_deviation)
        print(f'{seed}: {times[-1]:.1f} s, {len(found.solution.iterations)} iterations, largest '
              f'error {100 * np.abs(errors[-1]).max():.2f} %', file=sys.stderr)
    worst, share = np.abs(errors).max(axis=0), np.mean(inside, axis=0)
    print(f'open loops of the truth: {recording.gap:.1e} m')
    for name, value, largest, spread, bias, covered in zip(
        made.NAMES, truth, worst, np.std(errors, axis=0), np.mean(errors, axis=0), share,
        strict=True
    ):
        print(f'{name:28s} {value:6.3f}  largest error {100 * largest:.2f} %, mean '
              f'{100 * bias:+.2f} %, spread {100 * spread:.2f} %, '
              f'intervals hold {100 * covered:.0f} %')
    print(f'{np.median(times):.1f} s a fit of {recording.count} steps')
    whole = float(np.mean(inside))
    print(json.dumps([
        {'name': f'closed leg on a graph, largest error of {len(truth)} parameters in {seeds}',
         'value': float(worst.max()), 'unit': '', 'bar': f'<= {ERROR:g}',
         'ok': bool(worst.max() <= ERROR)},
        {'name': 'closed leg on a graph, coverage of 95 % intervals', 'value': whole, 'unit': '',
         'bar': f'>= {COVERAGE:g}', 'ok': bool(whole >= COVERAGE)},
        {'name': 'closed leg on a graph, time of a fit', 'value': float(np.median(times)),
         'unit': 's', 'bar': f'<= {TIME:g}', 'ok': bool(np.median(times) <= TIME)},
    ]))


if __name__ == '__main__':
    main()
