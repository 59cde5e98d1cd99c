"""Compiled: what belongs to one body, in the axes of the world."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import Workspace
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Vector, cross, dot, plus


@njit(**INSIDE)
def first_moments(work: Workspace, body: int) -> Vector:
    """First moments of a body in the world's axes."""
    return (work.inertia[body, 0, 0], work.inertia[body, 0, 1], work.inertia[body, 0, 2])


@njit(**INSIDE)
def axis_of(rotations: np.ndarray, body: int, c: int) -> Vector:
    """One of a body's axes."""
    return (rotations[body, 0, c], rotations[body, 1, c], rotations[body, 2, c])


@njit(**INSIDE)
def dyad(a: Vector, b: Vector, x: Vector) -> Vector:
    """The symmetric matrix of two axes, the same or not, times a vector."""
    one, other = dot(a, x), dot(b, x)
    if a == b:
        return (a[0] * one, a[1] * one, a[2] * one)
    return (a[0] * other + b[0] * one, a[1] * other + b[1] * one, a[2] * other + b[2] * one)


@njit(**INSIDE)
def angular_momentum(work: Workspace, body: int, x: Vector) -> Vector:
    """Second moments of a body times a vector."""
    table = work.inertia
    return (
        table[body, 1, 0] * x[0] + table[body, 1, 1] * x[1] + table[body, 1, 2] * x[2],
        table[body, 2, 0] * x[0] + table[body, 2, 1] * x[1] + table[body, 2, 2] * x[2],
        table[body, 3, 0] * x[0] + table[body, 3, 1] * x[1] + table[body, 3, 2] * x[2])


@njit(**INSIDE)
def gyroscopic(work: Workspace, body: int, omega: Vector, u: Vector) -> tuple[Vector, Vector]:
    r"""Force and moment that a turning body calls for.

    :math:`\tfrac12 (\omega \times (u \times mc) + u \times (\omega \times mc),\ \omega \times I u
    + u \times I \omega)`; for u like :math:`\omega` the gyroscopic ones.
    """
    mc = first_moments(work, body)
    force = plus(cross(omega, cross(u, mc)), cross(u, cross(omega, mc)), 1.0)
    moment = plus(
        cross(omega, angular_momentum(work, body, u)),
        cross(u, angular_momentum(work, body, omega)), 1.0)
    return (
        (0.5 * force[0], 0.5 * force[1], 0.5 * force[2]),
        (0.5 * moment[0], 0.5 * moment[1], 0.5 * moment[2]))


@njit(**INSIDE)
def angular_velocity(state: np.ndarray, body: int) -> Vector:
    """Angular velocity of a body."""
    first = 13 * body + 10
    return (state[first], state[first + 1], state[first + 2])


@njit(**INSIDE)
def change(u: np.ndarray, state: np.ndarray, own: int, part: int) -> Vector:
    """Change of a body's velocity, or of its angular velocity."""
    first = 13 * (own // 6) + 7 + part
    return (
        u[own + part] - state[first], u[own + part + 1] - state[first + 1],
        u[own + part + 2] - state[first + 2])
