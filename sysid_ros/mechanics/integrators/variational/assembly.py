"""Closed loops of discrete mechanics: where they close, which rows count, how stiff they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.integrators.variational.inspection import inspect
from sysid_ros.mechanics.integrators.variational.step import step_workspace
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.robot.loops import LoopClosure

# Rows whose own part is below this are implied by the others.
_IMPLIED = 1e-7
# Where a neighbour is looked at, in [rad] or [m]: a singular configuration has regular ones.
_NEAR, _SEED = 1e-2, 0
# A gap in [m] or [rad] that counts as closed.
_CLOSED = 1e-8


class Constraints(NamedTuple):
    """Closures and bodies at a configuration.

    Attributes:
        gap: Shape ``(r,)`` in [m] and [rad].
        jacobian: Shape ``(r, n)``.
        stiffness: Derivative of the impulses' effect on the joints, shape ``(n, n)``.
        mass: Mass matrix, shape ``(n, n)``.
        force: Of gravity and springs on the joints, shape ``(n,)``.
        force_by_position: Its derivative, shape ``(n, n)``.
        force_by_parameters: Of all forces at rest by k parameters, shape ``(n, k)``.
    """

    gap: np.ndarray
    jacobian: np.ndarray
    stiffness: np.ndarray
    mass: np.ndarray
    force: np.ndarray
    force_by_position: np.ndarray
    force_by_parameters: np.ndarray


def constraints(
    system: DiscreteSystem, values: TreeValues | None, q: np.ndarray,
    multipliers: np.ndarray | None = None, columns: int = 0,
) -> Constraints:
    """Closures at a configuration.

    Args:
        system: The system.
        values: Parameter values; None where the mass matrix does not matter.
        q: Joint positions, shape ``(n,)``.
        multipliers: Impulses of the constraints, shape ``(r,)``; zero by default.
        columns: How many parameters the values say to differentiate by.
    """
    work = step_workspace(system, columns, columns)
    if values is None:
        bodies = len(system.tree.parent)
        values = TreeValues(
            np.zeros((bodies, 10)), np.zeros(len(system.terms.weights)),
            np.full(len(system.terms.weights), -1), np.zeros(bodies, dtype=bool), system.coupled,
            loaded=False)
    inspect(system, values, work, q, np.zeros_like(q), multipliers)
    found, inner = work.closures, work.lagrangian
    return Constraints(
        found.gap, found.jacobian, found.stiffness, inner.tree.tables[0], inner.tree.joints[1],
        inner.tree.tables[2], inner.by_parameters[0].T)


def independent_rows(
    system: DiscreteSystem, closures: Sequence[LoopClosure], q: np.ndarray
) -> np.ndarray:
    """Rows of the closures that the others do not imply, as planar loops have them.

    Args:
        system: With all rows.
        closures: What closes its loops.
        q: Where they are closed, shape ``(n,)``.

    Returns:
        Indices in ascending order.

    Raises:
        ModelError: The loops are open there, or singular.
    """
    here = constraints(system, None, q)
    _require_closed(system, closures, here.gap)
    kept = _independent(here.jacobian)
    near = q + _NEAR * np.random.default_rng(_SEED).uniform(-1.0, 1.0, len(q))
    there = _independent(constraints(system, None, near).jacobian)
    if len(there) > len(kept):
        raise ModelError(
            'the closures of the loops depend on each other where the motion begins',
            where=', '.join(closure.name for closure in closures),
            found=f'{len(kept)} independent equations', allowed=f'{len(there)}, as nearby',
            fix='Begin elsewhere: in a singular configuration, such as a dead point, motion is '
            'not determined')
    return kept


def _independent(jacobian: np.ndarray) -> np.ndarray:
    _, triangle, order = scipy.linalg.qr(jacobian.T, mode='economic', pivoting=True)
    own = np.abs(np.diagonal(triangle))
    return np.sort(order[:len(own)][own > _IMPLIED * own.max(initial=0.0)])


def _require_closed(
    system: DiscreteSystem, closures: Sequence[LoopClosure], gap: np.ndarray
) -> None:
    worst = np.abs(gap).max(initial=0.0)
    if worst <= _CLOSED:
        return
    row = int(np.argmax(np.abs(gap)))
    closure = closures[int(np.searchsorted(system.closures.row, row, side='right')) - 1]
    raise ModelError(
        'the loop is open where the motion begins', where=f'closure {closure.name!r}',
        found=f'{worst:.3g} m or rad', allowed=f'{_CLOSED:g}',
        fix='Begin where it closes, as a ClosedChain has the positions of a robot with loops')
