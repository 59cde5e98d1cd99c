"""Compiled: factors of small dense matrices, in place."""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be reordered, but a value that is not a number must stay one.
_COMPILED = {
    'cache': True, '_nrt': False, 'error_model': 'numpy',
    'fastmath': {'reassoc', 'contract', 'arcp', 'nsz'},
}


@njit(**_COMPILED)
def factorise(table: np.ndarray) -> bool:
    """LU factors without exchanges, L with a diagonal of ones; False if a pivot is not positive.

    It is for matrices whose symmetric part is positive definite.
    """
    n = len(table)
    for c in range(n):
        if not table[c, c] > 0.0:
            return False
        for r in range(c + 1, n):
            factor = table[r, c] / table[c, c]
            table[r, c] = factor
            if factor != 0.0:
                for k in range(c + 1, n):
                    table[r, k] -= factor * table[c, k]
    return True


@njit(**_COMPILED)
def decompose(table: np.ndarray, pivot: np.ndarray, count: int) -> bool:
    """LU factors with row exchanges, in place; False if a pivot is zero or no number."""
    for c in range(count):
        best = c
        for r in range(c + 1, count):
            if np.abs(table[r, c]) > np.abs(table[best, c]):
                best = r
        pivot[c] = best
        if not np.abs(table[best, c]) > 0.0:
            return False
        if best != c:
            for k in range(count):
                table[c, k], table[best, k] = table[best, k], table[c, k]
        for r in range(c + 1, count):
            factor = table[r, c] / table[c, c]
            table[r, c] = factor
            if factor != 0.0:
                for k in range(c + 1, count):
                    table[r, k] -= factor * table[c, k]
    return True


@njit(**_COMPILED)
def solve(
    table: np.ndarray, pivot: np.ndarray, count: int, right: np.ndarray, first: int
) -> None:
    """Solve with LU factors for one right side, from place ``first`` on, in place."""
    for c in range(count):
        if pivot[c] != c:
            right[first + c], right[first + pivot[c]] = right[first + pivot[c]], right[first + c]
    for c in range(count):
        for r in range(c + 1, count):
            right[first + r] -= table[r, c] * right[first + c]
    for r in range(count - 1, -1, -1):
        rest = right[first + r]
        for c in range(r + 1, count):
            rest -= table[r, c] * right[first + c]
        right[first + r] = rest / table[r, r]
