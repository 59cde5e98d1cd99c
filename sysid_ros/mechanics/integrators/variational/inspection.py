"""A look at one state of a system: a simulation that ends where it begins."""

from __future__ import annotations

import numpy as np

from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import Drive, Quadrature
from sysid_ros.mechanics.integrators.variational.rollout import Steps, simulate
from sysid_ros.mechanics.integrators.variational.step import StepWorkspace
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.numerics.by_reference import Referred, referred


def inspect(
    system: DiscreteSystem, values: TreeValues, work: StepWorkspace, q: np.ndarray, v: np.ndarray,
    multipliers: np.ndarray | None = None,
) -> None:
    """Fill the workspace with what belongs to a state.

    That is: gaps of the closures, their Jacobian and geometric stiffness, momentum and slope of
    the Lagrangian and their derivatives, those by parameters of all forces at rest, then of the
    momentum.

    It is no compiled call of its own, since that would compile all of mechanics once more.

    Args:
        system: What moves.
        values: Its parameter values.
        work: Is filled.
        q: Joint positions in [rad] or [m], shape ``(n,)``.
        v: Joint velocities, shape ``(n,)``.
        multipliers: Impulses of the constraints, shape ``(r,)``; zero by default.
    """
    joints, rows, none = len(q), system.rows, np.zeros(0)
    work.lagrangian.q[0], work.speed[:] = q, v
    work.multipliers[:] = 0.0 if multipliers is None else multipliers
    gains = np.zeros((1, 0, 0))
    drive = Drive(
        np.zeros((1, joints)), np.zeros(0, dtype=np.int64), np.zeros((1, 0)), np.zeros((0, 0)),
        gains, gains)
    steps = Steps(np.zeros((1, joints)), np.zeros((0, rows)), np.zeros(0, dtype=np.int64))
    rule = Quadrature(none, none, none, none)
    simulate(
        *referred(system, values, drive, rule, work), np.empty_like(work.state),
        Referred(steps), 1.0, 1, 1.0, np.zeros((1, 2, joints)),
        np.zeros((1, 2, joints, 0)))
