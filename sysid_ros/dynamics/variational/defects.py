"""By how much neighbouring states contradict discrete mechanics, compiled.

For states of positions and velocities, momenta being M(q) v, the defects of a step are what its
two equations leave: :math:`M(q_0) v_0 + D_1 L_d + F^-` and :math:`M(q_1) v_1 - D_2 L_d - F^+`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.dynamics import sample_regressor, spatial_vectors, tree_dynamics, tree_terms
from sysid_ros.dynamics.spatial_vectors import COMPILED
from sysid_ros.dynamics.tree_dynamics import TreeValues
from sysid_ros.dynamics.variational import balance as balance_module
from sysid_ros.dynamics.variational import lagrangian, system
from sysid_ros.dynamics.variational.balance import (
    ALL,
    BalanceRoom,
    Drive,
    Quadrature,
    balance,
    differentiate_by_parameters,
)
from sysid_ros.dynamics.variational.lagrangian import look
from sysid_ros.dynamics.variational.system import DiscreteSystem

#: Files that are compiled into the call.
SOURCES = (
    sample_regressor, spatial_vectors, tree_dynamics, tree_terms, balance_module, lagrangian,
    system)


class Defects(NamedTuple):
    """Defects of N steps and their derivatives; a state is n positions, then n velocities.

    Attributes:
        values: Of the first equation, then of the second, shape ``(N, 2 n)``.
        here: By the state before, shape ``(N, 2 n, 2 n)``.
        after: By the state after, likewise.
        parameters: By k parameters, shape ``(N, 2 n, k)``.
    """

    values: np.ndarray
    here: np.ndarray
    after: np.ndarray
    parameters: np.ndarray


@njit(**COMPILED)
def _add_momentum(
    system: DiscreteSystem, values: TreeValues, room: BalanceRoom, state: np.ndarray,
    first: int, defect: np.ndarray, by_state: np.ndarray, by_parameters: np.ndarray,
) -> None:
    """Add the momentum of a state and its derivatives to one of the equations."""
    joints = len(room.v)
    for j in range(joints):
        room.at[j], room.v[j] = state[0, j], state[1, j]
    look(system, values, room.tree, room.at, room.v, True)
    room.by_parameters[:] = 0.0
    differentiate_by_parameters(system, values, room, 0.0, 0.0, 1.0, 0.0, 0.0)
    for i in range(joints):
        defect[first + i] += room.tree.joints[0, i]
        for j in range(joints):
            by_state[first + i, j] += room.tree.tables[1, i, j]
            by_state[first + i, joints + j] += room.tree.tables[0, i, j]
        for c in range(by_parameters.shape[1]):
            by_parameters[first + i, c] += room.by_parameters[1, c, i]


def _compiled(sources: str) -> Callable[..., None]:
    """All steps as one call; the digest stands for the files whose functions are called."""

    @njit(cache=True, **COMPILED)
    def find_defects(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        room: BalanceRoom, states: np.ndarray, h: float, out: Defects,
    ) -> None:
        sources  # noqa: B018
        joints = states.shape[2]
        for k in range(len(states) - 1):
            for j in range(joints):
                room.q[0, j], room.q[1, j] = states[k, 0, j], states[k + 1, 0, j]
            balance(system, values, drive, rule, room, k, 0.0, 1.0, h, ALL)
            for i in range(joints):
                m = joints + i
                out.values[k, i], out.values[k, m] = room.momentum[0, i], -room.momentum[1, i]
                for j in range(joints):
                    out.here[k, i, j] = room.first_by_start[i, j]
                    out.after[k, i, j] = room.newton[i, j]
                    out.here[k, m, j] = -room.second_by_start[i, j]
                    out.after[k, m, j] = -room.second_by_end[i, j]
                for c in range(out.parameters.shape[2]):
                    out.parameters[k, i, c] = room.by_parameters[0, c, i]
                    out.parameters[k, m, c] = -room.by_parameters[1, c, i]
            _add_momentum(system, values, room, states[k], 0, out.values[k], out.here[k],
                          out.parameters[k])
            _add_momentum(system, values, room, states[k + 1], joints, out.values[k],
                          out.after[k], out.parameters[k])

    return find_defects


#: Fill the defects of states ``(N + 1, 2, n)`` that are h apart in [s]; ``out`` is zero before.
find_defects: Callable[..., Any] = _compiled(hashlib.sha256(b''.join(
    Path(str(module.__file__)).read_bytes() for module in SOURCES)).hexdigest())
