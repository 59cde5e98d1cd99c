r"""Compiled: forgetting only what the next sample tells anew.

A sample with rows :math:`\Gamma` has of the information :math:`\Omega` so far the part

.. math:: G = (1 - \mu)\,\Omega\Gamma^T(\Gamma\Omega\Gamma^T)^{-1}\Gamma\Omega

given up for it, and :math:`G\hat\theta` of the vector b, so that the estimate is what it was in
the directions that are forgotten. Directions without news keep all (Cao and Schwartz 2000; Cho,
Lee and Shin 2023, eq. (28)).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy import uint64

from sysid_ros.estimation.regression.recursive.state import State, Workspace
from sysid_ros.numerics.jit import CACHED

# Arrays come in and none is made: counting references to them would take longer than the
# mathematics.
# A joint whose row the others tell but for this part makes nothing of its own be forgotten.
_DEPENDENT = 1e-9


@njit(**CACHED)
def forget_directions(
    state: State, work: Workspace, free: np.ndarray, rows: np.ndarray, usable: np.ndarray,
    memory: float,
) -> None:
    """Directional forgetting: take off the information what a sample tells anew.

    Args:
        state: Its information and vector are changed; it holds no recent sums.
        work: Workspace for a step.
        free: Columns of the free parameters, shape ``(f,)``.
        rows: Regressor of the sample, shape ``(n, p)``, all finite where usable.
        usable: True where a row counts, shape ``(n,)``.
        memory: The part mu that is kept of what is told anew, between 0 and 1.
    """
    information_rows, count = work.information_rows, len(state.theta)
    for j in range(len(information_rows)):
        row, new = work.rows[j], information_rows[j]
        for k in range(count):
            row[k] = rows[j, free[k]] if usable[j] else 0.0
            new[k] = 0.0
        for i in range(count):
            omega, entry, total = state.information[i], row[i], 0.0
            for k in range(uint64(i + 1), uint64(count)):
                new[k] += omega[k] * entry
                total += omega[k] * row[k]
            new[i] += omega[i] * entry + total
        _orthogonalise(information_rows, work.rows, j)
    for new in information_rows:
        value = 0.0
        for k in range(count):
            value += new[k] * state.theta[k]
        for i in range(count):
            part, omega = (1.0 - memory) * new[i], state.information[i]
            for k in range(uint64(i), uint64(count)):
                omega[k] -= part * new[k]
            state.information[count, i] -= part * value


@njit(**CACHED)
def _orthogonalise(information_rows: np.ndarray, rows: np.ndarray, j: int) -> None:
    """Gram-Schmidt step in the metric of the information: take off the rows of joints before."""
    row, new, count = rows[j], information_rows[j], information_rows.shape[1]
    size = 0.0
    for k in range(count):
        size += new[k] * row[k]
    left = size
    for i in range(j):
        share = 0.0
        for k in range(count):
            share += information_rows[i, k] * row[k]
        left -= share * share
        for k in range(count):
            new[k] -= share * information_rows[i, k]
    scale = 1.0 / np.sqrt(left) if left > _DEPENDENT * size else 0.0
    for k in range(count):
        new[k] *= scale
