"""Kernel of zero-phase filtering: all columns side by side, sample after sample.

A recursive filter cannot run over its own time in parallel, but its columns do not know of each
other: inner loops run over them, so that the compiler turns them into vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import ENTRY


def filter_both_ways(
    sections: np.ndarray, steady: np.ndarray, values: np.ndarray, pad: int
) -> np.ndarray:
    """Filter forwards and backwards, as ``scipy.signal.sosfiltfilt`` does.

    The signal goes on beyond its ends turned by 180 degrees about its end points, and each
    run begins in the steady state of its first sample.

    Args:
        sections: Second-order sections, shape ``(S, 6)``, leading denominators one.
        steady: State of each section in answer to a lasting one, shape ``(S, 2)``.
        values: Samples, shape ``(T, C)``.
        pad: Samples added at either end, less than T.

    Returns:
        Filtered samples, shape ``(T, C)``.
    """
    samples, columns = values.shape
    lines = np.empty((samples + 2 * pad, columns))
    lines[pad:pad + samples] = values
    lines[:pad] = 2.0 * values[0] - values[pad:0:-1]
    lines[pad + samples:] = 2.0 * values[-1] - values[-2:-2 - pad:-1]
    _run_both_ways(sections, steady, lines, pad, np.empty((len(sections), 2, columns)))
    return lines[pad:pad + samples]


# Without liberties: what comes out of a column may not depend on the columns beside it.
@njit(**ENTRY | {'fastmath': False, 'nogil': True})
def _run_both_ways(
    sections: np.ndarray, steady: np.ndarray, lines: np.ndarray, last: int, state: np.ndarray
) -> None:
    """Filter lines in place, forwards and then backwards until the last one that is wanted."""
    count, columns = lines.shape
    for run in range(2 * count - last):
        row = run if run < count else 2 * count - 1 - run
        for s in range(len(sections)):
            b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
            a1, a2 = sections[s, 4], sections[s, 5]
            if run == 0 or run == count:
                for c in range(columns):
                    state[s, 0, c] = steady[s, 0] * lines[row, c]
                    state[s, 1, c] = steady[s, 1] * lines[row, c]
            # Transposed direct form II.
            for c in range(columns):
                x = lines[row, c]
                y = b0 * x + state[s, 0, c]
                state[s, 0, c] = b1 * x - a1 * y + state[s, 1, c]
                state[s, 1, c] = b2 * x - a2 * y
                lines[row, c] = y
