"""Masses and friction of a four-bar from noisy sensors on a factor graph, over 50 recordings.

Encoder noise of 1 mrad, gyroscope noise of 0.01 rad/s and a torque known to 1 %; masses of rods
whose shape is known, and the crank's friction, begun up to a fifth off. The errors, and how many
95 % intervals hold the truth.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import time

import _support  # noqa: F401
import numpy as np

from support import four_bar_recordings as made
from sysid_ros.estimation.trajectory.graph.identification import identify

SEEDS, ERROR, COVERAGE = 50, 0.02, 0.9


def main() -> None:
    """Print the errors and the figures."""
    recording, errors, inside, times = made.Recording(), [], [], []
    for seed in range(SEEDS):
        graph = recording.graph(seed)
        begin = time.perf_counter()
        found = identify(graph)
        times.append(time.perf_counter() - begin)
        away = found.values - made.TRUTH
        errors.append(away / made.TRUTH)
        inside.append(np.abs(away) <= 1.96 * found.standard_deviation)
    worst, share = np.abs(errors).max(axis=0), np.mean(inside, axis=0)
    for name, largest, spread, covered in zip(
        made.NAMES, worst, np.std(errors, axis=0), share, strict=True
    ):
        print(f'{name:24s} largest error {100 * largest:.3f} %, spread {100 * spread:.3f} %, '
              f'intervals hold {100 * covered:.0f} %')
    print(f'{np.median(times):.2f} s a fit of {recording.count} steps')
    whole = float(np.mean(inside))
    print(json.dumps([
        {'name': f'four-bar on a graph, largest error of {len(made.NAMES)} parameters in {SEEDS}',
         'value': float(worst.max()), 'unit': '', 'bar': f'<= {ERROR:g}',
         'ok': bool(worst.max() <= ERROR)},
        {'name': 'four-bar on a graph, coverage of 95 % intervals', 'value': whole, 'unit': '',
         'bar': f'>= {COVERAGE:g}', 'ok': bool(whole >= COVERAGE)},
    ]))


if __name__ == '__main__':
    main()
