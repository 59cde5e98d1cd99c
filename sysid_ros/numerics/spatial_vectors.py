"""Spatial vectors in the world, compiled: an angular part, then a linear one, at its origin.

References:
    Featherstone 2008, chapter 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import INSIDE

Vector = tuple[float, float, float]
Spatial = tuple[Vector, Vector]


@njit(**INSIDE)
def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit(**INSIDE)
def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**INSIDE)
def plus(a: Vector, b: Vector, factor: float) -> Vector:
    """Vector a plus the vector b times a factor."""
    return (a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2])


@njit(**INSIDE)
def spatial_plus(x: Spatial, y: Spatial, factor: float) -> Spatial:
    """Spatial vector x plus the spatial vector y times a factor."""
    return (plus(x[0], y[0], factor), plus(x[1], y[1], factor))


@njit(**INSIDE)
def power(motion: Spatial, force: Spatial) -> float:
    r"""Power of a force f along a motion m, :math:`m \cdot f`."""
    return dot(motion[0], force[0]) + dot(motion[1], force[1])


@njit(**INSIDE)
def motion_cross(twist: Spatial, motion: Spatial) -> Spatial:
    r"""Spatial cross product :math:`V \times m` of a twist and a motion vector."""
    linear = plus(cross(twist[0], motion[1]), cross(twist[1], motion[0]), 1.0)
    return (cross(twist[0], motion[0]), linear)


@njit(**INSIDE)
def force_cross(twist: Spatial, force: Spatial) -> Spatial:
    r"""Spatial cross product :math:`V \times^* f` of a twist and a force vector."""
    angular = plus(cross(twist[0], force[0]), cross(twist[1], force[1]), 1.0)
    return (angular, cross(twist[0], force[1]))


@njit(**INSIDE)
def inertia_times(table: np.ndarray, i: int, motion: Spatial) -> Spatial:
    """Inertia times a motion.

    Args:
        table: Mass, first moments and second moments xx, xy, yy, xz, yz, zz, shape ``(b, 10)``.
        i: Which row is meant.
        motion: A twist or an acceleration.
    """
    (x, y, z), (a, b, c) = motion
    m, h = table[i, 0], (table[i, 1], table[i, 2], table[i, 3])
    xx, xy, yy, xz, yz, zz = (
        table[i, 4], table[i, 5], table[i, 6], table[i, 7], table[i, 8], table[i, 9])
    spin = (
        (yy + zz) * x - xy * y - xz * z,
        (xx + zz) * y - xy * x - yz * z,
        (xx + yy) * z - xz * x - yz * y)
    turn = cross((x, y, z), h)
    return (
        plus(spin, cross(h, (a, b, c)), 1.0),
        (m * a + turn[0], m * b + turn[1], m * c + turn[2]))


@njit(**INSIDE)
def three(table: np.ndarray, i: int, k: int) -> Vector:
    """Three numbers of row i from column k on."""
    return (table[i, k], table[i, k + 1], table[i, k + 2])


@njit(**INSIDE)
def six(table: np.ndarray, i: int) -> Spatial:
    """The spatial vector in row i; rows are not handed over, which would count references."""
    return (three(table, i, 0), three(table, i, 3))


@njit(**INSIDE)
def put(table: np.ndarray, i: int, x: Spatial) -> None:
    """Write a spatial vector into row i."""
    table[i, 0], table[i, 1], table[i, 2] = x[0]
    table[i, 3], table[i, 4], table[i, 5] = x[1]


@njit(**INSIDE)
def coriolis_times(momenta: np.ndarray, i: int, x: Vector) -> Spatial:
    """The matrix 2B times the angular part of a motion, the only one it looks at.

    Args:
        momenta: Momentum and D, row by row, shape ``(b, 12)``.
        i: Which row is meant.
        x: The angular part.
    """
    x = (2.0 * x[0], 2.0 * x[1], 2.0 * x[2])
    d0, d1, d2 = three(momenta, i, 3), three(momenta, i, 6), three(momenta, i, 9)
    trace = d0[0] + d1[1] + d2[2]
    angular = (
        trace * x[0] - d0[0] * x[0] - d1[0] * x[1] - d2[0] * x[2],
        trace * x[1] - d0[1] * x[0] - d1[1] * x[1] - d2[1] * x[2],
        trace * x[2] - d0[2] * x[0] - d1[2] * x[1] - d2[2] * x[2])
    return (angular, cross(x, three(momenta, i, 0)))


@njit(**INSIDE)
def axis_times_coriolis(momenta: np.ndarray, i: int, axis: Spatial) -> Vector:
    """The angular part of an axis times the matrix 2B; its linear part is zero.

    Args:
        momenta: Momentum and D, row by row, shape ``(b, 12)``.
        i: Which row is meant.
        axis: The axis.
    """
    z, s = axis
    z = (2.0 * z[0], 2.0 * z[1], 2.0 * z[2])
    d0, d1, d2 = three(momenta, i, 3), three(momenta, i, 6), three(momenta, i, 9)
    trace = d0[0] + d1[1] + d2[2]
    angular = (trace * z[0] - dot(d0, z), trace * z[1] - dot(d1, z), trace * z[2] - dot(d2, z))
    return plus(angular, cross(three(momenta, i, 0), s), 2.0)
