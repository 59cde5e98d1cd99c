"""Compiled: equations of motion and constraints as one matrix, and products with its inverse."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph.planar_arrays import COMPILED


@njit(**COMPILED)
def add_product(
    sign: float, matrix: np.ndarray, first: int, right: np.ndarray, target: np.ndarray
) -> None:
    """Add columns of a matrix, from the first on, times a matrix to another."""
    for i in range(len(matrix)):
        for k in range(len(right)):
            factor = sign * matrix[i, first + k]
            if factor != 0.0:
                for j in range(right.shape[1]):
                    target[i, j] += factor * right[k, j]


@njit(**COMPILED)
def apply(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """The product of a matrix and a vector, written to another."""
    for i in range(len(matrix)):
        out[i] = 0.0
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]


@njit(**COMPILED)
def fill_saddle(
    mass: np.ndarray, jacobian: np.ndarray, bias: np.ndarray, work: np.ndarray, right: np.ndarray
) -> None:
    """Write a mass matrix bordered by constraints, and what constraints ask of accelerations.

    Args:
        mass: Shape ``(n, n)``.
        jacobian: Of the constraints, shape ``(m, n)``.
        bias: What velocities make of their second derivatives, shape ``(m,)``.
        work: Its first ``n + m`` columns are written.
        right: Its last m entries are written.
    """
    n, m = len(mass), len(jacobian)
    work[:, :n + m] = 0.0
    work[:n, :n] = mass
    for r in range(m):
        right[n + r] = -bias[r]
        for i in range(n):
            work[n + r, i] = work[i, n + r] = jacobian[r, i]
