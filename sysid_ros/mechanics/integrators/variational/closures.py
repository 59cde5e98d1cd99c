"""Closures as holonomic constraints of a discrete system, in its joints, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.closures.closure_kernels import fill_gaps_and_jacobian, fill_stiffness
from sysid_ros.mechanics.integrators.variational.lagrangian import Frames
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.tree.tree_terms import project_to_joints
from sysid_ros.numerics.jit import INSIDE


class ConstraintWorkspace(NamedTuple):
    """Workspace for the closures of one configuration.

    Attributes:
        gap: Shape ``(r,)``.
        bodies: Jacobian body by body, shape ``(r, b)``.
        jacobian: The same at the joints, shape ``(r, n)``; the same memory unless coupled.
        ends: The two places of a closure and their distance, shape ``(3, 3)``.
        rod_jacobian: How that distance grows with each joint, shape ``(e, 3)``.
        pairs: Geometric stiffness, body by body, shape ``(b, b)``.
        stiffness: The same at the joints, shape ``(n, n)``; the same memory unless coupled.
    """

    gap: np.ndarray
    bodies: np.ndarray
    jacobian: np.ndarray
    ends: np.ndarray
    rod_jacobian: np.ndarray
    pairs: np.ndarray
    stiffness: np.ndarray


def constraint_workspace(system: DiscreteSystem) -> ConstraintWorkspace:
    """Workspace for the closures of a system."""
    (bodies, joints), rows = system.tree.coupling.shape, system.rows
    own, pairs = np.zeros((rows, bodies)), np.zeros((bodies, bodies))
    jacobian, stiffness = own, pairs
    if system.coupled:
        jacobian, stiffness = np.zeros((rows, joints)), np.zeros((joints, joints))
    return ConstraintWorkspace(
        np.zeros(rows), own, jacobian, np.zeros((3, 3)),
        np.zeros((len(system.closures.body), 3)), pairs, stiffness)


@njit(**INSIDE)
def fill_closures(system: DiscreteSystem, frames: Frames, work: ConstraintWorkspace) -> None:
    """Gaps and their Jacobian where the bodies have been placed.

    Args:
        system: What moves.
        frames: After
            :func:`~sysid_ros.mechanics.integrators.variational.lagrangian.forward_kinematics`.
        work: Its ``gap`` and ``jacobian`` are filled.
    """
    coupling, bodies, jacobian = system.tree.coupling, work.bodies, work.jacobian
    fill_gaps_and_jacobian(system.closures, frames, work.ends, work.gap, bodies)
    if system.coupled:
        for k in range(len(jacobian)):
            for j in range(jacobian.shape[1]):
                total = 0.0
                for i in range(bodies.shape[1]):
                    total += bodies[k, i] * coupling[i, j]
                jacobian[k, j] = total


@njit(**INSIDE)
def fill_geometric_stiffness(
    system: DiscreteSystem, frames: Frames, work: ConstraintWorkspace, multipliers: np.ndarray
) -> None:
    r"""Derivative of :math:`H^\top\lambda` by positions, where the loops are closed.

    Args:
        system: What moves.
        frames: After
            :func:`~sysid_ros.mechanics.integrators.variational.lagrangian.forward_kinematics`.
        work: Its ``stiffness`` is filled.
        multipliers: Shape ``(r,)``.
    """
    fill_stiffness(
        system.closures, frames, work.ends, work.rod_jacobian, multipliers, work.pairs)
    if system.coupled:
        project_to_joints(system.tree.coupling, True, work.pairs, work.stiffness)
