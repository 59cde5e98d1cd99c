"""What can be wrong with closed loops, found where they are put together."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closure_arrays import Closures
from sysid_ros.robot.loops import Loops
from sysid_ros.robot.model import JointLimits

# Singular values below this part of the largest are rounding.
_RANK = 1e-8
# A driven joint that would open the loops by more than this part of its motion is not free to
# move; less is rounding in the description.
_BLOCKED = 1e-3
# Positions in [rad] or [m] beyond a limit that still count as within.
_LIMIT_TOLERANCE = 1e-6


def require_full_actuation(loops: Loops, jacobian: np.ndarray) -> None:
    r"""Refuse loops that leave a passive joint free: the rank of :math:`J_u` is below u.

    Args:
        loops: The loops.
        jacobian: Derivatives of the closing equations, shape ``(rows, m)``.

    Raises:
        ModelError: The joints that are free to move while all driven ones stand, and whether
            more equations than joints could hold them elsewhere.
    """
    passive = jacobian[:, loops.passive]
    _, values, right = np.linalg.svd(passive)
    largest = values.max(initial=0.0)
    rank = int(np.sum(values > _RANK * largest)) if largest else 0
    if rank == len(loops.passive):
        return
    free = np.abs(right[rank:]).max(axis=0) > 1e-6
    names = ', '.join(name for name, is_free in zip(loops.passive_names, free, strict=True)
                      if is_free)
    raise ModelError(
        'the driven joints do not determine all passive ones where the loops are assembled',
        where='closures',
        found=f'{rank} independent closing equations for {len(loops.passive)} passive joints; '
        f'free to move: {names}',
        allowed=f'{len(loops.passive)} independent equations',
        fix='Drive or lock one of these joints or close a further loop; if they are free in this '
        'one configuration only, which is singular then, give another assembly',
    )


def require_independent_motors(loops: Loops, jacobian: np.ndarray) -> None:
    r"""Refuse driven joints that block each other: :math:`J_a` has parts outside of :math:`J_u`.

    Args:
        loops: The loops.
        jacobian: Derivatives of the closing equations where they hold, shape ``(rows, m)``.

    Raises:
        ModelError: The driven joints that cannot move by themselves.
    """
    passive, driven = jacobian[:, loops.passive], jacobian[:, loops.actuated]
    rest = driven - passive @ np.linalg.lstsq(passive, driven, rcond=None)[0]
    blocked = np.linalg.norm(rest, axis=0) > _BLOCKED * np.linalg.norm(jacobian, axis=0).max()
    if blocked.any():
        names = [loops.joint_names[k] for k in loops.actuated[blocked]]
        raise ModelError(
            'driven joints cannot be moved independently, since the loops couple them',
            where='closures', found=', '.join(names),
            allowed='as many driven joints as the loops leave free',
            fix='List fewer joints as actuated',
        )


def require_within_limits(loops: Loops, limits: JointLimits, q: np.ndarray) -> None:
    """Refuse an assembly that a passive joint could not have.

    Args:
        loops: The loops.
        limits: Limits of all joints of the tree.
        q: The closed configuration, shape ``(m,)``.

    Raises:
        ModelError: The first passive joint beyond its limits.
    """
    for joint in loops.passive:
        low, high = limits.lower[joint], limits.upper[joint]
        if not low - _LIMIT_TOLERANCE <= q[joint] <= high + _LIMIT_TOLERANCE:
            raise ModelError(
                'the loops are assembled on a branch that a passive joint cannot take',
                where=loops.joint_names[joint], found=f'{q[joint]:.4g}',
                allowed=f'{low:.4g} to {high:.4g}',
                fix='Give an assembly near the configuration the robot really has',
            )


def refuse_open_loops(
    loops: Loops, closures: Closures, q: np.ndarray, gap: np.ndarray, singular: bool
) -> NoReturn:
    """Refuse loops that do not close, with the closure and its gap.

    Args:
        loops: The loops.
        closures: What closes them, as arrays.
        q: Where the search for a closed configuration ended, shape ``(m,)``.
        gap: Residuals there in [m], shape ``(rows,)``.
        singular: Whether it ended at a singular configuration.

    Raises:
        ModelError: Always.
    """
    sizes = np.maximum.reduceat(np.abs(gap), closures.row[:-1])
    worst = int(np.argmax(sizes))
    positions = ', '.join(
        f'{name} {position:.4g}' for name, position in zip(loops.joint_names, q, strict=True))
    raise ModelError(
        'the loops cannot be closed near the assembly'
        + (', where they are singular' if singular else ''),
        where=f'closure {loops.closures[worst].name!r}',
        found=f'open by {sizes[worst]:.4g} m at {positions}', allowed='closed loops',
        fix='Give an assembly nearer to the real configuration; if there is none, the places or '
        'lengths of this closure contradict the rest of the description',
    )
