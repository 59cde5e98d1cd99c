r"""Compiled: closures of a moving tree, and how they depend on positions and velocities.

With joint j a point p moves by :math:`w_j = z_j \times (p - o_j)`, or by :math:`z_j` on a slide.
Seen from the body before the joint, which turns with :math:`\omega`, it has a velocity u and an
acceleration r, and both turn with the joint:

.. math:: \partial\dot p/\partial q_j = \omega \times w_j + z_j \times u, \qquad
          \partial\ddot p/\partial v_j = 2\,\partial\dot p/\partial q_j,

.. math:: \partial\ddot p/\partial q_j = \dot\omega \times w_j
              + \omega \times (\omega \times w_j + 2 z_j \times u) + z_j \times r.

The same holds for the angular velocity :math:`\omega + \Omega` and acceleration
:math:`\dot\omega + \omega \times \Omega + \dot\Omega` of a body beyond the joint, but for a slide:

.. math:: \partial\Omega/\partial q_j = z_j \times \Omega, \qquad
          \partial\dot\Omega/\partial q_j = z_j \times \dot\Omega.

Only the bodies between both places and their common ancestor count: all else moves both alike.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closure_arrays import FRAME, ROD, Closures
from sysid_ros.mechanics.closures.closure_kernels import (
    BodyFrames,
    add_column,
    end_positions,
    point_jacobian_column,
)
from sysid_ros.numerics.jit import INSIDE
from sysid_ros.numerics.spatial_vectors import Spatial, Vector, cross, dot, plus, six, three
from sysid_ros.numerics.tables import clear


class BodyMotion(BodyFrames, Protocol):
    """Poses, twists and spatial accelerations of b bodies."""

    @property
    def twist(self) -> np.ndarray:
        """Their twists, shape ``(b, 6)``."""

    @property
    def rate(self) -> np.ndarray:
        """Their spatial accelerations, shape ``(b, 6)``."""


class ClosureWorkspace(NamedTuple):
    r"""Workspace for the h rows of all closures at one sample of m joints.

    Attributes:
        ends: Position, velocity, acceleration, angular velocity and angular acceleration of both
            places of a closure, then those of the second less the first, shape ``(3, 15)``.
        rod_jacobian: Jacobian of the vector between the two places, shape ``(e, 3)``.
        jacobian: Derivatives J of the closures, shape ``(h, m)``.
        bias: Bias acceleration :math:`\dot J v`, shape ``(h,)``.
        dv_dq: Derivative of :math:`J v` by positions, shape ``(h, m)``.
        da_dq: Derivative of :math:`J a + \dot J v` by positions, shape ``(h, m)``.
        da_dv: Derivative of :math:`\dot J v` by velocities, shape ``(h, m)``.
        stiffness: Derivative of :math:`J^\top\lambda` by positions, shape ``(m, m)``.
    """

    ends: np.ndarray
    rod_jacobian: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    dv_dq: np.ndarray
    da_dq: np.ndarray
    da_dv: np.ndarray
    stiffness: np.ndarray


def closure_workspace(closures: Closures, joints: int) -> ClosureWorkspace:
    """Workspace for the closures of a tree of so many joints."""
    rows = (int(closures.row[-1]), joints)
    return ClosureWorkspace(*(np.zeros(shape) for shape in (
        (3, 15), (len(closures.body), 3), rows, rows[:1], rows, rows, rows, (joints, joints))))


@njit(**INSIDE)
def fill_bias(
    closures: Closures, bodies: BodyMotion, ground: Spatial, ends: np.ndarray, bias: np.ndarray
) -> None:
    r"""Write the bias acceleration :math:`\dot J v` of the closures.

    Args:
        closures: The closures, of which all rows are kept.
        bodies: How the bodies move while no joint accelerates.
        ground: Spatial acceleration of the world.
        ends: Workspace, shape ``(3, 15)``.
        bias: Is filled, shape ``(h,)``.
    """
    for c in range(len(closures.kind)):
        _end_motion(closures, bodies, ground, ends, c)
        r, way, speed = closures.row[c], three(ends, 2, 0), three(ends, 2, 3)
        rate, spin_up = three(ends, 2, 6), three(ends, 2, 12)
        if closures.kind[c] == ROD:
            bias[r] = (dot(speed, speed) + dot(way, rate)) / closures.length[c]
            continue
        for i in range(3):
            bias[r + i] = rate[i]
            if closures.kind[c] == FRAME:
                bias[r + 3 + i] = closures.length[c] * spin_up[i]


@njit(**INSIDE)
def fill_derivatives(
    closures: Closures, parent: np.ndarray, bodies: BodyMotion, ground: Spatial,
    work: ClosureWorkspace,
) -> None:
    """Write derivatives of the velocities and accelerations of the closures by the motion.

    Args:
        closures: The closures, of which all rows are kept.
        parent: Of each body, shape ``(b,)``.
        bodies: How the bodies move.
        ground: Spatial acceleration of the world.
        work: Its ``dv_dq``, ``da_dq`` and ``da_dv`` are filled.
    """
    ends, axis = work.ends, bodies.axis
    clear(work.dv_dq)
    clear(work.da_dq)
    clear(work.da_dv)
    for c in range(len(closures.kind)):
        _end_motion(closures, bodies, ground, ends, c)
        closure = (closures.kind[c], closures.row[c], closures.length[c])
        for entry in range(closures.first[c], closures.first[c + 1]):
            end, j = closures.end[entry], closures.body[entry]
            column, weight = closures.column[entry], closures.weight[entry]
            move, turn = point_jacobian_column(axis, j, three(ends, end, 0)), three(axis, j, 0)
            carrier = _body_motion(bodies, parent[j], ground)
            speed, rate = _point_derivatives(ends, end, carrier, move, turn)
            spin, spin_up, spin_up_by_v = _rotation_derivatives(ends, end, carrier, turn)
            add_column(closures.place, closure, ends, work.dv_dq, column, weight, speed, spin)
            add_column(closures.place, closure, ends, work.da_dq, column, weight, rate, spin_up)
            add_column(closures.place, closure, ends, work.da_dv, column, weight, (
                2.0 * speed[0], 2.0 * speed[1], 2.0 * speed[2]), spin_up_by_v)
            if closures.kind[c] == ROD:
                _add_rod_derivatives(closures, work, c, entry, move, speed)


@njit(**INSIDE)
def _end_motion(
    closures: Closures, bodies: BodyMotion, ground: Spatial, ends: np.ndarray, c: int
) -> None:
    """Positions, velocities and accelerations of the two places of closure c."""
    end_positions(closures, bodies.pose, ends, c)
    for end in range(2):
        p = three(ends, end, 0)
        (spin, slide), (spin_up, rise) = _body_motion(bodies, closures.ends[c, end], ground)
        speed = plus(slide, cross(spin, p), 1.0)
        rate = plus(plus(rise, cross(spin_up, p), 1.0), cross(spin, speed), 1.0)
        for i in range(3):
            ends[end, 3 + i], ends[end, 6 + i] = speed[i], rate[i]
            ends[end, 9 + i], ends[end, 12 + i] = spin[i], spin_up[i]
    for i in range(3, 15):
        ends[2, i] = ends[1, i] - ends[0, i]


@njit(**INSIDE)
def _body_motion(bodies: BodyMotion, body: int, ground: Spatial) -> tuple[Spatial, Spatial]:
    """Twist and spatial acceleration of a body, or of the ground."""
    if body < 0:
        return ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), ground
    return six(bodies.twist, body), six(bodies.rate, body)


@njit(**INSIDE)
def _point_derivatives(
    ends: np.ndarray, end: int, carrier: tuple[Spatial, Spatial], move: Vector, turn: Vector
) -> tuple[Vector, Vector]:
    """Derivatives of velocity and acceleration of an end by the position of a joint.

    Its carrier is the body before it.
    """
    ((spin, slide), (spin_up, rise)), p = carrier, three(ends, end, 0)
    carried = plus(slide, cross(spin, p), 1.0)
    speed = plus(three(ends, end, 3), carried, -1.0)
    rate = plus(plus(rise, cross(spin_up, p), 1.0), cross(spin, carried), 1.0)
    rate = plus(plus(three(ends, end, 6), rate, -1.0), cross(spin, speed), -2.0)
    spin_part, turn_part = cross(spin, move), cross(turn, speed)
    by_q = plus(cross(spin_up, move), cross(spin, plus(spin_part, turn_part, 2.0)), 1.0)
    return plus(spin_part, turn_part, 1.0), plus(by_q, cross(turn, rate), 1.0)


@njit(**INSIDE)
def _rotation_derivatives(
    ends: np.ndarray, end: int, carrier: tuple[Spatial, Spatial], turn: Vector
) -> tuple[Vector, Vector, Vector]:
    """Derivatives of an end's rotation by the position and the velocity of a joint.

    Those of the angular velocity and of the angular acceleration by position, then of the
    angular acceleration by velocity.
    """
    (spin, _), (spin_up, _) = carrier
    own = plus(three(ends, end, 9), spin, -1.0)
    own_up = plus(plus(three(ends, end, 12), spin_up, -1.0), cross(spin, own), -1.0)
    turned = cross(turn, own)
    return (
        turned, plus(cross(spin, turned), cross(turn, own_up), 1.0),
        plus(cross(spin, turn), turned, 1.0))


@njit(**INSIDE)
def _add_rod_derivatives(
    closures: Closures, work: ClosureWorkspace, c: int, entry: int, move: Vector, speed: Vector
) -> None:
    """Add the derivatives that the rotation of a rod brings, since its row is along it."""
    r, column, ends = closures.row[c], closures.column[entry], work.ends
    factor = closures.weight[entry] / closures.length[c]
    along = factor * dot(three(ends, 2, 3), move)
    work.dv_dq[r, column] += along
    work.da_dv[r, column] += 2.0 * along
    work.da_dq[r, column] += factor * (
        dot(three(ends, 2, 6), move) + 2.0 * dot(three(ends, 2, 3), speed))
