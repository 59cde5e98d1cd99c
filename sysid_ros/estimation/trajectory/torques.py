"""Torques at the nodes of a segment, from samples with stamps of their own."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded

from sysid_ros.errors import RecordingError

# Nodes may lie beyond the ends of a signal by this part of their step.
_BEYOND = 1e-2


def at_nodes(
    nodes: np.ndarray, t: np.ndarray, values: np.ndarray, *, held: bool = False
) -> np.ndarray:
    r"""Values at nodes, between which straight lines come nearest to a signal.

    It is the projection in :math:`L^2` on broken lines: frequencies above those of the nodes do
    not fold back, and the impulse of the signal is kept, about every node and as a whole. A
    signal sampled at the nodes stays as it is.

    Args:
        nodes: Times of evenly spaced nodes in [s], shape ``(N + 1,)``.
        t: Stamps of the signal in [s], increasing, shape ``(T,)``.
        values: The signal, finite, shape ``(T,)``.
        held: Whether it stays as it is from one stamp to the next, as what a drive was told
            does; otherwise straight lines join its samples.

    Returns:
        Shape ``(N + 1,)``.

    Raises:
        RecordingError: The signal does not reach from the first node to the last.
    """
    step = float(nodes[-1] - nodes[0]) / (len(nodes) - 1)
    slack = _BEYOND * step
    if not len(t) or t[0] > nodes[0] + slack or (not held and t[-1] < nodes[-1] - slack):
        raise RecordingError(
            'a signal does not reach over all nodes',
            found=f'{t[0]:.6g} s to {t[-1]:.6g} s' if len(t) else 'no samples',
            allowed=f'{nodes[0]:.6g} s to {nodes[-1]:.6g} s')
    edges = np.union1d(nodes, t[(t > nodes[0]) & (t < nodes[-1])])
    if held:
        left = right = values[np.maximum(np.searchsorted(t, edges[:-1], side='right') - 1, 0)]
    else:
        joined = np.interp(edges, t, values)
        left, right = joined[:-1], joined[1:]
    moments = _moments(nodes, step, edges, left, right)
    banded = np.full((2, len(nodes)), step / 6.0)
    banded[0] = 2.0 * step / 3.0
    banded[0, [0, -1]] = step / 3.0
    return solveh_banded(banded, moments, lower=True)


def _moments(
    nodes: np.ndarray, step: float, edges: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Integrals of a piecewise linear signal times the hat of every node, exact (Simpson)."""
    cell = np.clip(np.searchsorted(nodes, edges[:-1], side='right') - 1, 0, len(nodes) - 2)
    u, w = (edges[:-1] - nodes[cell]) / step, (edges[1:] - nodes[cell]) / step
    share = np.diff(edges) / 6.0
    middle = 2.0 * (left + right)
    rising = share * (u * left + 0.5 * (u + w) * middle + w * right)
    falling = share * (left + middle + right) - rising
    size = len(nodes)
    return np.bincount(cell, falling, size) + np.bincount(cell + 1, rising, size)
