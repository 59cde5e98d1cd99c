"""Compiled: accelerations of planar mechanisms, forces of their constraints, and derivatives."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from sysid_ros.estimation.trajectory.graph import (
    generalised_inverse,
    planar_arrays,
    planar_constraints,
    planar_forces,
)
from sysid_ros.estimation.trajectory.graph.generalised_inverse import (
    add_product,
    apply,
    fill_saddle,
    invert,
)
from sysid_ros.estimation.trajectory.graph.planar_arrays import (
    COMPILED,
    ConstraintArrays,
    ForceArrays,
)
from sysid_ros.estimation.trajectory.graph.planar_constraints import add_curvature, constrain
from sysid_ros.estimation.trajectory.graph.planar_forces import add_forces, regress

#: Files that are compiled into :func:`respond`.
SOURCES = (generalised_inverse, planar_arrays, planar_constraints, planar_forces)


def _compiled(sources: str) -> Callable[..., int]:
    """The whole response as one call; a digest of the files is part of what is compiled."""

    @njit(**COMPILED)
    def respond(
        loops: ConstraintArrays, arrays: ForceArrays, rank: int, values: np.ndarray,
        mass: np.ndarray, rest: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
        response: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, by_torque: np.ndarray,
        by_values: np.ndarray,
    ) -> int:
        r"""Accelerations and multipliers of S samples, with their derivatives.

        .. math:: \begin{pmatrix} M & J^T \\ J & 0 \end{pmatrix}
                  \begin{pmatrix} a \\ \lambda \end{pmatrix}
                  = \begin{pmatrix} Q \\ -\dot J v \end{pmatrix}

        and the same matrix for all derivatives (implicit function theorem).

        Args:
            loops: Its constraints.
            arrays: Its bodies and forces.
            rank: That of the matrix: of constraints that repeat others only one counts.
            values: Its parameters, shape ``(p,)``.
            mass: The mass matrix, shape ``(n, n)``.
            rest: Forces of gravity, shape ``(n,)``.
            q: Coordinates, shape ``(S, n)``.
            v: Velocities, likewise.
            torque: Torques, shape ``(S, u)``.
            response: Filled, accelerations first, shape ``(S, n + m)``.
            by_q: Filled, shape ``(S, n + m, n)``.
            by_v: Likewise.
            by_torque: Filled, shape ``(S, n + m, u)``.
            by_values: Filled, shape ``(S, n + m, p)``; of width 0 where it is not wanted.

        Returns:
            The first sample whose matrix has a lower rank, or -1.
        """
        sources  # noqa: B018
        n, m = q.shape[1], len(loops.kind)
        gap, bias = np.empty((1, m)), np.empty((1, m))
        jacobian, rate, slope = np.empty((1, m, n)), np.empty((1, m, n)), np.empty((1, m, n))
        work, inverse = np.empty((n + m, 2 * (n + m))), np.empty((n + m, n + m))
        top, force_q, force_v = np.empty((n, n)), np.empty(n), np.empty(n)
        right, rows, zero = np.empty(n + m), np.empty((n, len(values))), np.zeros((1, n))
        for s in range(len(q)):
            here = slice(s, s + 1)
            constrain(loops, q[here], v[here], zero, gap, jacobian, rate, bias, slope)
            force_q[:], force_v[:] = 0.0, 0.0
            right[:n] = rest
            for k in range(len(arrays.inputs)):
                right[arrays.inputs[k]] += torque[s, k]
            add_forces(arrays, values, q[s], v[s], right, force_q, force_v)
            fill_saddle(mass, jacobian[0], bias[0], work, right)
            if not invert(work, rank, inverse):
                return s
            apply(inverse, right, response[s])
            constrain(
                loops, q[here], v[here], response[here, :n], gap, jacobian, rate, bias, slope)
            top[:, :] = 0.0
            add_curvature(loops, q[s], response[s, n:], top)
            by_q[s, :, :] = 0.0
            by_v[s, :, :] = 0.0
            add_product(-1.0, inverse, 0, top, by_q[s])
            add_product(-1.0, inverse, n, slope[0], by_q[s])
            add_product(-2.0, inverse, n, rate[0], by_v[s])
            for i in range(n + m):
                for j in range(n):
                    by_q[s, i, j] += inverse[i, j] * force_q[j]
                    by_v[s, i, j] += inverse[i, j] * force_v[j]
                for k in range(len(arrays.inputs)):
                    by_torque[s, i, k] = inverse[i, arrays.inputs[k]]
            if by_values.shape[2]:
                rows[:, :] = 0.0
                regress(arrays, q[s], v[s], response[s, :n], rows)
                by_values[s, :, :] = 0.0
                add_product(-1.0, inverse, 0, rows, by_values[s])
        return -1

    return respond


respond = _compiled(hashlib.sha256(b''.join(
    Path(str(module.__file__)).read_bytes() for module in SOURCES)).hexdigest())
