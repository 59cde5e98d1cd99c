r"""Compiled: closures of a moving tree, and how they depend on positions and velocities.

Poses, twists and accelerations of bodies are those of :mod:`~sysid_ros.dynamics.tree_dynamics`.
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

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.compiled import INSIDE
from sysid_ros.dynamics.loop_arrays import FRAME, ROD, LoopArrays
from sysid_ros.dynamics.sample_regressor import SampleModel
from sysid_ros.dynamics.spatial_vectors import (
    Spatial,
    Vector,
    both,
    cross,
    dot,
    plus,
    six,
    three,
)
from sysid_ros.dynamics.tree_arrays import TreeWorkspace
from sysid_ros.dynamics.tree_dynamics import ground


class ClosureWorkspace(NamedTuple):
    r"""Workspace for the h rows of all closures at one sample of m joints.

    Attributes:
        ends: Place, velocity, acceleration, angular velocity and angular acceleration of both
            places of a closure, then those of the second less the first, shape ``(3, 15)``.
        rod_jacobian: How the way between the places grows with each body's joint, shape ``(e, 3)``.
        jacobian: Derivatives J of the closures, shape ``(h, m)``.
        bias: How :math:`J v` changes while no joint accelerates, shape ``(h,)``.
        rate: The derivative of :math:`J v` by positions, shape ``(h, m)``.
        slope: That of :math:`J a` and the bias by positions, likewise.
        swirl: That of the bias by velocities, likewise.
        curvature: That of :math:`J^\top\lambda` by positions, shape ``(m, m)``.
    """

    ends: np.ndarray
    rod_jacobian: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    rate: np.ndarray
    slope: np.ndarray
    swirl: np.ndarray
    curvature: np.ndarray


def closure_workspace(loops: LoopArrays, joints: int) -> ClosureWorkspace:
    """Workspace for the closures of a tree of so many joints."""
    rows = (int(loops.row[-1]), joints)
    return ClosureWorkspace(*(np.zeros(shape) for shape in (
        (3, 15), (len(loops.path), 3), rows, rows[:1], rows, rows, rows, (joints, joints))))


@njit(**INSIDE)
def fill_jacobian(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace
) -> None:
    """Write J where the bodies have been placed.

    Args:
        model: The tree.
        loops: What closes its loops.
        tree: After :func:`~sysid_ros.dynamics.tree_dynamics.body_forward_kinematics` of all bodies.
        work: Its ``jacobian`` is filled.
    """
    work.jacobian[:] = 0.0
    for c in range(len(loops.kind)):
        _end_positions(loops, tree, work, c)
        for entry in range(loops.first[c], loops.first[c + 1]):
            _, _, end, j = _step_of(loops, entry)
            move, turn = _axis_at(model, tree, j, three(work.ends, end, 0))
            _add(loops, work, work.jacobian, c, entry, move, turn)


@njit(**INSIDE)
def fill_bias(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace
) -> None:
    """Write how J v changes while no joint accelerates.

    Args:
        model: The tree.
        loops: What closes its loops.
        tree: After :func:`~sysid_ros.dynamics.tree_dynamics.mass_matrix_and_bias`.
        work: Its ``bias`` is filled.
    """
    for c in range(len(loops.kind)):
        _end_positions(loops, tree, work, c)
        _move_ends(model, loops, tree, work, c, 0.0)
        r, way, speed = loops.row[c], three(work.ends, 2, 0), three(work.ends, 2, 3)
        rate, spin_up = three(work.ends, 2, 6), three(work.ends, 2, 12)
        if loops.kind[c] == ROD:
            work.bias[r] = (dot(speed, speed) + dot(way, rate)) / loops.length[c]
            continue
        for i in range(3):
            work.bias[r + i] = rate[i]
            if loops.kind[c] == FRAME:
                work.bias[r + 3 + i] = loops.length[c] * spin_up[i]


@njit(**INSIDE)
def fill_slopes(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace
) -> None:
    """Write how velocities and accelerations of the closures depend on the motion.

    Args:
        model: The tree.
        loops: What closes its loops.
        tree: After :func:`~sysid_ros.dynamics.tree_dynamics.differentiate_torque`.
        work: Its ``rate``, ``slope`` and ``swirl`` are filled.
    """
    for table in (work.rate, work.slope, work.swirl):
        table[:] = 0.0
    for c in range(len(loops.kind)):
        _end_positions(loops, tree, work, c)
        _move_ends(model, loops, tree, work, c, 1.0)
        for entry in range(loops.first[c], loops.first[c + 1]):
            _, _, end, j = _step_of(loops, entry)
            move, _ = _axis_at(model, tree, j, three(work.ends, end, 0))
            speed, rate = _point_slopes(model, tree, work, end, j)
            spin, spin_up, swirl = _turn_slopes(model, tree, work, end, j)
            _add(loops, work, work.rate, c, entry, speed, spin)
            _add(loops, work, work.slope, c, entry, rate, spin_up)
            _add(loops, work, work.swirl, c, entry, (
                2.0 * speed[0], 2.0 * speed[1], 2.0 * speed[2]), swirl)
            if loops.kind[c] == ROD:
                _add_turning_rod(loops, work, c, entry, move, speed)


@njit(**INSIDE)
def fill_curvature(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace,
    multipliers: np.ndarray,
) -> None:
    r"""Write the derivative of :math:`J^\top\lambda` by positions.

    Args:
        model: The tree.
        loops: What closes its loops.
        tree: As for :func:`fill_jacobian`.
        work: Its ``curvature`` is filled, torques of joints first.
        multipliers: Shape ``(h,)``.
    """
    work.curvature[:] = 0.0
    for c in range(len(loops.kind)):
        _end_positions(loops, tree, work, c)
        r, moment = loops.row[c], (0.0, 0.0, 0.0)
        if loops.kind[c] == ROD:
            pull, way = multipliers[r] / loops.length[c], three(work.ends, 2, 0)
            force = (pull * way[0], pull * way[1], pull * way[2])
            _add_rod_rotation(model, loops, tree, work, c, pull)
        else:
            force = (multipliers[r], multipliers[r + 1], multipliers[r + 2])
        if loops.kind[c] == FRAME:
            size = loops.length[c]
            moment = (
                size * multipliers[r + 3], size * multipliers[r + 4], size * multipliers[r + 5])
        _add_second_derivatives(model, loops, tree, work, c, force, moment)


@njit(**INSIDE)
def _step_of(loops: LoopArrays, entry: int) -> tuple[int, float, int, int]:
    """Joint, ratio with its sign, end of the closure, and body of the tree of a path's entry."""
    k, sign = loops.path[entry], loops.sign[entry]
    return loops.source[k], sign * loops.ratio[k], 1 if sign > 0.0 else 0, loops.body[k]


@njit(**INSIDE)
def _axis_at(model: SampleModel, tree: TreeWorkspace, j: int, p: Vector) -> Spatial:
    """How a point and its body's axes move per unit of the joint of body j."""
    z = three(tree.screw, j, 0)
    if model.revolute[j]:
        return (cross(z, plus(p, three(tree.pose, j, 9), -1.0)), z)
    return (z, (0.0, 0.0, 0.0))


@njit(**INSIDE)
def _end_positions(loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace, c: int) -> None:
    """Positions of both ends of a closure in the world, and their difference."""
    pose, ends = tree.pose, work.ends
    for end in range(2):
        body = loops.held[c, end]
        x = (loops.point[c, end, 0], loops.point[c, end, 1], loops.point[c, end, 2])
        for i in range(3):
            ends[end, i] = x[i] if body < 0 else (
                pose[body, 9 + i] + dot(three(pose, body, 3 * i), x))
    for i in range(3):
        ends[2, i] = ends[1, i] - ends[0, i]


@njit(**INSIDE)
def _move_ends(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace, c: int,
    share: float,
) -> None:
    """How the places of a closure move; the joints' accelerations count by a share."""
    ends = work.ends
    for end in range(2):
        p = three(ends, end, 0)
        (spin, slide), (spin_up, rise) = _motion_of(model, tree, loops.held[c, end], share)
        speed = plus(slide, cross(spin, p), 1.0)
        rate = plus(plus(rise, cross(spin_up, p), 1.0), cross(spin, speed), 1.0)
        for i in range(3):
            ends[end, 3 + i], ends[end, 6 + i] = speed[i], rate[i]
            ends[end, 9 + i], ends[end, 12 + i] = spin[i], spin_up[i]
    for i in range(3, 15):
        ends[2, i] = ends[1, i] - ends[0, i]


@njit(**INSIDE)
def _motion_of(
    model: SampleModel, tree: TreeWorkspace, body: int, share: float
) -> tuple[Spatial, Spatial]:
    """Twist and spatial acceleration of a body, or of the ground."""
    if body < 0:
        return ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), ground(model)
    return six(tree.twist, body), both(six(tree.rate, body), six(tree.joint_rate, body), share)


@njit(**INSIDE)
def _point_slopes(
    model: SampleModel, tree: TreeWorkspace, work: ClosureWorkspace, end: int, j: int
) -> tuple[Vector, Vector]:
    """Derivatives of velocity and acceleration of an end by the position of body j's joint."""
    ends, p = work.ends, three(work.ends, end, 0)
    move, turn = _axis_at(model, tree, j, p)
    (spin, slide), (spin_up, rise) = _motion_of(model, tree, model.parent[j], 1.0)
    carried = plus(slide, cross(spin, p), 1.0)
    speed = plus(three(ends, end, 3), carried, -1.0)
    rate = plus(plus(rise, cross(spin_up, p), 1.0), cross(spin, carried), 1.0)
    rate = plus(plus(three(ends, end, 6), rate, -1.0), cross(spin, speed), -2.0)
    swung, turned = cross(spin, move), cross(turn, speed)
    by_q = plus(cross(spin_up, move), cross(spin, plus(swung, turned, 2.0)), 1.0)
    return plus(swung, turned, 1.0), plus(by_q, cross(turn, rate), 1.0)


@njit(**INSIDE)
def _turn_slopes(
    model: SampleModel, tree: TreeWorkspace, work: ClosureWorkspace, end: int, j: int
) -> tuple[Vector, Vector, Vector]:
    """How an end turns and spins up by a joint's position, and spins up by its velocity."""
    nought = (0.0, 0.0, 0.0)
    if not model.revolute[j]:
        return nought, nought, nought
    z = three(tree.screw, j, 0)
    (spin, _), (spin_up, _) = _motion_of(model, tree, model.parent[j], 1.0)
    own = plus(three(work.ends, end, 9), spin, -1.0)
    own_up = plus(plus(three(work.ends, end, 12), spin_up, -1.0), cross(spin, own), -1.0)
    turned = cross(z, own)
    return (
        turned, plus(cross(spin, turned), cross(z, own_up), 1.0),
        plus(cross(spin, z), turned, 1.0))


@njit(**INSIDE)
def _add(
    loops: LoopArrays, work: ClosureWorkspace, table: np.ndarray, c: int, entry: int, move: Vector,
    turn: Vector,
) -> None:
    """Add what an end does per unit of a joint to the rows of its closure."""
    column, by, _, _ = _step_of(loops, entry)
    r, kind, size = loops.row[c], loops.kind[c], loops.length[c]
    if kind == ROD:
        table[r, column] += by * dot(three(work.ends, 2, 0), move) / size
        return
    for i in range(3):
        table[r + i, column] += by * move[i]
        if kind == FRAME:
            table[r + 3 + i, column] += by * size * turn[i]


@njit(**INSIDE)
def _add_turning_rod(
    loops: LoopArrays, work: ClosureWorkspace, c: int, entry: int, move: Vector, speed: Vector
) -> None:
    """Add what comes of the turning of a rod, whose row is along it."""
    column, by, _, _ = _step_of(loops, entry)
    r, factor = loops.row[c], by / loops.length[c]
    along = factor * dot(three(work.ends, 2, 3), move)
    work.rate[r, column] += along
    work.swirl[r, column] += 2.0 * along
    work.slope[r, column] += factor * (
        dot(three(work.ends, 2, 6), move) + 2.0 * dot(three(work.ends, 2, 3), speed))


@njit(**INSIDE)
def _add_second_derivatives(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace, c: int,
    force: Vector, moment: Vector,
) -> None:
    """Add second derivatives of the positions and rotations of ends, times force and moment."""
    table, last = work.curvature, loops.first[c + 1]
    for entry in range(loops.first[c], last):
        column, by, end, j = _step_of(loops, entry)
        move, turn = _axis_at(model, tree, j, three(work.ends, end, 0))
        arm = cross(move, force)
        # A path leads from an end inwards, so that what follows on the same side is before.
        for other in range(entry, last):
            before, ratio, side, i = _step_of(loops, other)
            if side != end or not model.revolute[i]:
                continue
            # Both carry the sign of their end.
            z, factor = three(tree.screw, i, 0), by * ratio * loops.sign[entry]
            value = factor * dot(z, arm)
            table[column, before] += value
            if other != entry:
                table[before, column] += value
                table[column, before] += factor * dot(moment, cross(z, turn))


@njit(**INSIDE)
def _add_rod_rotation(
    model: SampleModel, loops: LoopArrays, tree: TreeWorkspace, work: ClosureWorkspace, c: int,
    pull: float
) -> None:
    """Add what the rotation of a rod adds to the second derivatives of its length."""
    first, last = loops.first[c], loops.first[c + 1]
    for entry in range(first, last):
        _, by, end, j = _step_of(loops, entry)
        move, _ = _axis_at(model, tree, j, three(work.ends, end, 0))
        for i in range(3):
            work.rod_jacobian[entry, i] = by * move[i]
    for entry in range(first, last):
        column = loops.source[loops.path[entry]]
        for other in range(first, last):
            work.curvature[column, loops.source[loops.path[other]]] += pull * dot(
                three(work.rod_jacobian, entry, 0), three(work.rod_jacobian, other, 0))
