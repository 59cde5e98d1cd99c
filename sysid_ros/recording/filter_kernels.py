"""Kernel of zero-phase filtering: all columns side by side, sample after sample.

A recursive filter cannot run over its own time in parallel, but its columns do not know of each
other: inner loops run over them, so that the compiler turns them into vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def filter_both_ways(
    sections: np.ndarray, steady: np.ndarray, values: np.ndarray, chosen: np.ndarray, pad: int,
    keep: np.ndarray, out: np.ndarray,
) -> None:
    """Filter forwards and backwards, as ``scipy.signal.sosfiltfilt`` does.

    The signal goes on beyond its ends turned by 180 degrees about its end points, and each
    run begins in the steady state of its first sample.

    Args:
        sections: Second-order sections, shape ``(S, 6)``, leading denominators one.
        steady: State of each section in answer to a lasting one, shape ``(S, 2)``.
        values: Samples, shape ``(T, M)``.
        chosen: Columns to filter, shape ``(C,)``.
        pad: Samples added at either end, less than T.
        keep: Samples wanted, shape ``(K,)``, increasing.
        out: Filtered samples are written to these columns of it, shape ``(K, M)``.
    """
    samples, columns = len(values), len(chosen)
    last = samples - 1
    forward = np.empty((samples + 2 * pad, columns))
    state = np.empty((len(sections), 2, columns))
    for row in range(len(forward)):
        line = forward[row]
        if row < pad:
            for c in range(columns):
                line[c] = 2.0 * values[0, chosen[c]] - values[pad - row, chosen[c]]
        elif row < pad + samples:
            for c in range(columns):
                line[c] = values[row - pad, chosen[c]]
        else:
            for c in range(columns):
                at = chosen[c]
                line[c] = 2.0 * values[last, at] - values[2 * last + pad - row, at]
        if row == 0:
            _start(state, steady, line)
        _step(sections, state, line)
    line = forward[-1]
    _start(state, steady, line)
    wanted = len(keep) - 1
    for row in range(len(forward) - 1, pad - 1, -1):
        if wanted < 0:
            break
        line = forward[row]
        _step(sections, state, line)
        if row - pad == keep[wanted]:
            for c in range(columns):
                out[wanted, chosen[c]] = line[c]
            wanted -= 1


@njit(cache=True, inline='always')
def _start(state: np.ndarray, steady: np.ndarray, line: np.ndarray) -> None:
    for s in range(len(steady)):
        for c in range(len(line)):
            state[s, 0, c] = steady[s, 0] * line[c]
            state[s, 1, c] = steady[s, 1] * line[c]


@njit(cache=True, inline='always')
def _step(sections: np.ndarray, state: np.ndarray, line: np.ndarray) -> None:
    """One sample of every column through all sections (transposed direct form II)."""
    for s in range(len(sections)):
        b0, b1, b2 = sections[s, 0], sections[s, 1], sections[s, 2]
        a1, a2 = sections[s, 4], sections[s, 5]
        first, second = state[s, 0], state[s, 1]
        for c in range(len(line)):
            x = line[c]
            y = b0 * x + first[c]
            first[c] = b1 * x - a1 * y + second[c]
            second[c] = b2 * x - a2 * y
            line[c] = y
