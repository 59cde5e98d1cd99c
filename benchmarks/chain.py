"""Normal equations of a chain of states with parameters: time, growth and memory.

4000 steps of 24 states with 13 parameters, as a Furuta pendulum in maximal coordinates has; every
residual touches two nodes and all parameters. The reference is SciPy's solver of banded systems,
given the same matrix without its parameters, their columns as further right-hand sides.
"""

from __future__ import annotations

import json
import resource
import statistics
import time

import numpy as np
import scipy.linalg
from _one_core import median_times

from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals

STATES, PARAMETERS, STEPS = 24, 13, 4000
LONG = (25_000, 50_000, 100_000)
SOLVE, AT_ONCE = 0.08, 2000
# Time per step may grow by this from the shortest to the longest chain.
GROWTH = 1.3


def residuals(steps):
    """Residuals of all steps in parts, so that the longest chain fits."""
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(AT_ONCE, STATES, 2 * STATES + PARAMETERS + 1))
    for start in range(0, steps, AT_ONCE):
        nodes = np.arange(start, min(start + AT_ONCE, steps))
        yield Residuals(nodes, kinds[:len(nodes)], True)
    # The start is measured.
    first = rng.normal(size=(1, STATES, STATES + PARAMETERS + 1))
    yield Residuals(np.zeros(1, dtype=np.int64), first, False)


def equations(steps):
    """Normal equations of a chain, weakly damped, as a solver's are."""
    return NormalEquations.of(steps + 1, STATES, PARAMETERS, residuals(steps))


def solved(chain):
    """A step of states and parameters."""
    curvature = chain.curvature
    everywhere = np.full(PARAMETERS, np.inf)
    return chain.eliminated(1e-6 * curvature[0], 1e-6 * curvature[1]).step(
        -everywhere, everywhere)


def banded(chain):
    """A step by SciPy: bands of the states, then a Schur complement of the parameters."""
    blocks, gradient = chain.chain, chain.gradient
    count, n = len(blocks), STATES
    bands = np.zeros((2 * n, count * n))
    diagonal, beside = blocks[:, :, :n].copy(), blocks[:, :, n:2 * n]
    diagonal[:, np.arange(n), np.arange(n)] *= 1.0 + 1e-6
    for offset in range(2 * n):
        line = np.zeros((count, n))
        for row in range(n):
            if row + offset < n:
                line[:, row] = diagonal[:, row, row + offset]
            elif row + offset < 2 * n:
                line[:, row] = beside[:, row, row + offset - n]
        bands[2 * n - 1 - offset, offset:] = line.ravel()[:count * n - offset]
    border = blocks[:, :, 2 * n:2 * n + PARAMETERS].reshape(-1, PARAMETERS)
    right = np.column_stack([border, gradient[0].ravel()])
    start = time.perf_counter()
    found = scipy.linalg.solveh_banded(bands, right, check_finite=False)
    corner = np.triu(chain.corner[:, :-1])
    corner = corner + np.triu(corner, 1).T + 1e-6 * np.diag(np.diagonal(corner))
    schur = corner - border.T @ found[:, :-1]
    moved = -np.linalg.solve(schur, gradient[1] - border.T @ found[:, -1])
    states = -(found[:, :-1] @ moved + found[:, -1])
    return time.perf_counter() - start, states.reshape(count, n), moved


def growth():
    """Seconds per step and peak memory of ever longer chains."""
    per_step = []
    for steps in LONG:
        start = time.perf_counter()
        chain = equations(steps)
        added = time.perf_counter() - start
        start = time.perf_counter()
        solved(chain)
        took = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        per_step.append((added + took) / steps)
        print(f'{steps} steps: {added:.2f} s to add up, {took:.2f} s to solve, '
              f'{1e6 * per_step[-1]:.1f} µs a step, at most {memory:.2f} GB so far')
    return per_step, memory


def main():
    """Print the figures."""
    chain = equations(STEPS)
    took, added = median_times(lambda: solved(chain), lambda: equations(STEPS))
    states, moved = solved(chain)
    reference = statistics.median(banded(chain)[0] for _ in range(3))
    _, other, other_moved = banded(chain)
    error = max(
        np.abs(states - other).max() / np.abs(other).max(),
        np.abs(moved - other_moved).max() / np.abs(other_moved).max())
    print(f'{STEPS} steps: {1e3 * added:.0f} ms to add up, {1e3 * took:.0f} ms to solve; SciPy '
          f'{1e3 * reference:.0f} ms; the two differ by {error:.1e}')
    per_step, memory = growth()
    print(json.dumps([
        {'name': f'solve {STEPS} steps of {STATES} states, {PARAMETERS} parameters',
         'value': took, 'unit': 's', 'reference': f'scipy solveh_banded {reference:.3f} s',
         'ratio': reference / took, 'bar': f'<= {SOLVE:g} s', 'ok': bool(took <= SOLVE)},
        {'name': 'difference to SciPy', 'value': float(error), 'unit': 'relative',
         'bar': '<= 1e-6', 'ok': bool(error <= 1e-6)},
        {'name': f'time per step, {LONG[-1]} over {LONG[0]} steps',
         'value': per_step[-1] / per_step[0], 'unit': 'ratio', 'bar': f'<= {GROWTH:g}',
         'ok': bool(per_step[-1] <= GROWTH * per_step[0])},
        {'name': f'memory, {LONG[-1]} steps', 'value': memory, 'unit': 'GB', 'bar': None,
         'ok': True},
    ]))


if __name__ == '__main__':
    main()
