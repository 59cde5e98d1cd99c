"""By how much neighbouring states contradict discrete mechanics, compiled.

For states of positions and velocities, momenta being M(q) v, the defects of a step are what its
two equations leave: :math:`M(q_0) v_0 + D_1 L_d + F^-` and :math:`M(q_1) v_1 - D_2 L_d - F^+`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sysid_ros.mechanics.integrators.variational import discrete_lagrangian, lagrangian, system
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import (
    ALL,
    Drive,
    EulerLagrangeWorkspace,
    Quadrature,
    differentiate_by_parameters,
    discrete_euler_lagrange,
)
from sysid_ros.mechanics.integrators.variational.lagrangian import (
    evaluate_lagrangian,
    lagrangian_second_derivatives,
)
from sysid_ros.mechanics.integrators.variational.system import DiscreteSystem
from sysid_ros.mechanics.joint_terms import dispatch
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.tree import (
    forward_kinematics,
    loaded_gears,
    tree_arrays,
    tree_dynamics,
    tree_terms,
)
from sysid_ros.mechanics.tree.tree_arrays import TreeValues
from sysid_ros.numerics import by_reference, dense, spatial_vectors, tables
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest
from sysid_ros.numerics.tables import clear_tables

#: Files that are compiled into the call.
SOURCES = (
    by_reference, compiled, dense, forward_kinematics, loaded_gears, sample_regressor,
    *dispatch.SOURCES, spatial_vectors, tree_arrays, tree_dynamics, tree_terms,
    discrete_lagrangian, lagrangian, system, tables)


class Defects(NamedTuple):
    """Defects of N steps and their derivatives; a state is n positions, then n velocities.

    Attributes:
        values: Of the first equation, then of the second, shape ``(N, 2 n)``.
        here: By the state before, shape ``(N, 2 n, 2 n)``.
        after: By the state after, shape ``(N, 2 n, 2 n)``.
        parameters: By k parameters, shape ``(N, 2 n, k)``.
    """

    values: np.ndarray
    here: np.ndarray
    after: np.ndarray
    parameters: np.ndarray


@njit(**INSIDE)
def _add_momentum(
    system: DiscreteSystem, values: TreeValues, work: EulerLagrangeWorkspace, state: np.ndarray,
    first: int, defect: np.ndarray, by_state: np.ndarray, by_parameters: np.ndarray,
) -> None:
    """Add the momentum of a state and its derivatives to one of the equations."""
    at, v, tree, own = work.at, work.v, work.tree, work.by_parameters
    momentum, tables, joints = tree.joints, tree.tables, len(work.v)
    for j in range(joints):
        at[j], v[j] = state[0, j], state[1, j]
    evaluate_lagrangian(system, values, tree, at, v)
    lagrangian_second_derivatives(system, values.amplitudes, tree, work.at)
    clear_tables(own)
    differentiate_by_parameters(system, values, work, 0.0, 0.0, 1.0, 0.0, 0.0)
    for i in range(joints):
        defect[first + i] += momentum[0, i]
        for j in range(joints):
            by_state[first + i, j] += tables[1, i, j]
            by_state[first + i, joints + j] += tables[0, i, j]
        for c in range(by_parameters.shape[1]):
            by_parameters[first + i, c] += own[1, c, i]


def _compiled(sources: str) -> Callable[..., None]:
    """All steps as one call; the digest stands for the files whose functions are called."""

    @njit(**ENTRY)
    def find_defects(
        system: DiscreteSystem, values: TreeValues, drive: Drive, rule: Quadrature,
        work: EulerLagrangeWorkspace, states: np.ndarray, h: float, out: Defects,
    ) -> None:
        sources  # noqa: B018
        joints, q, momentum, own = states.shape[2], work.q, work.momentum, work.by_parameters
        newton, first, second, mixed = (
            work.newton, work.first_by_start, work.second_by_end, work.second_by_start)
        defects, here, after, parameters = out.values, out.here, out.after, out.parameters
        # Any numbers, not those that are known here, or all would be compiled once more for them.
        zero = min(joints, 0)
        level = max(zero, ALL)
        for k in range(len(states) - 1):
            for j in range(joints):
                q[0, j], q[1, j] = states[k, 0, j], states[k + 1, 0, j]
            discrete_euler_lagrange(system, values, drive, rule, work, k, 0.0, 1.0, h, level)
            for i in range(joints):
                m = joints + i
                defects[k, i], defects[k, m] = momentum[0, i], -momentum[1, i]
                for j in range(joints):
                    here[k, i, j], after[k, i, j] = first[i, j], newton[i, j]
                    here[k, m, j], after[k, m, j] = -mixed[i, j], -second[i, j]
                for c in range(parameters.shape[2]):
                    parameters[k, i, c], parameters[k, m, c] = own[0, c, i], -own[1, c, i]
            _add_momentum(
                system, values, work, states[k], zero, defects[k], here[k], parameters[k])
            _add_momentum(
                system, values, work, states[k + 1], joints, defects[k], after[k],
                parameters[k])

    return find_defects


# Named tuples come by reference.
#: Fill the defects of states ``(N + 1, 2, n)`` that are h apart in [s]; ``out`` is zero before.
find_defects: Callable[..., Any] = _compiled(digest(*SOURCES))
