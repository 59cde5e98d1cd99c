r"""Where closed loops with springs hang at rest, and how that depends on parameters.

With joints held, the others are where gravity, springs and closures balance,
:math:`L_q + H^\top\lambda + \tau = 0,\ h = 0`. Stiffness that is sought moves that place: a
recording that begins at rest begins elsewhere for every trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.mechanics.integrators.variational.assembly import constraints
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.joint_terms.dispatch import VARIABLE
from sysid_ros.mechanics.joint_terms.law import CONSTANT

# A step of Newton's method in [rad] or [m] that is rounding, the longest, and the most of them.
_EXACT, _LONGEST, _MOST_STEPS = 1e-12, 0.2, 200


class Rest(NamedTuple):
    """A place of rest.

    Attributes:
        positions: Of all joints in [rad] or [m], shape ``(n,)``.
        slopes: Derivatives by the k parameters that are sought, shape ``(n, k)``.
        forces: Of the closures in [N] and [N·m], shape ``(r,)``.
    """

    positions: np.ndarray
    slopes: np.ndarray
    forces: np.ndarray


def resting(
    integrator: VariationalIntegrator, values: np.ndarray, guess: np.ndarray,
    held: Sequence[int] = (),
) -> Rest:
    """The place of rest next to a guess.

    Args:
        integrator: The system, and what is sought.
        values: Parameter values, shape ``(p,)``.
        guess: Joint positions, shape ``(n,)``.
        held: Indices of joints that something holds where they are.

    Raises:
        EstimationError: There is none nearby, or it is not determined, or not stable.
    """
    system, known = integrator.at(values)
    constant = system.terms.laws.code[:, VARIABLE] == CONSTANT
    steady = -known.amplitudes[constant] @ system.terms.weights[constant]
    q, forces = np.array(guess, dtype=float), np.zeros(system.rows)
    free = np.setdiff1d(np.arange(len(q)), np.asarray(held, dtype=int))
    joints, zero = len(free), np.zeros((system.rows, system.rows))
    for _ in range(_MOST_STEPS):
        here = constraints(system, known, q, forces, len(integrator.free_parameters))
        across = here.jacobian[:, free]
        stiffness = (here.force_by_position + here.stiffness)[np.ix_(free, free)]
        matrix = np.block([[stiffness, across.T], [across, zero]])
        balance = (here.force + steady)[free] + across.T @ forces
        right = np.concatenate([-balance, -here.gap])
        try:
            step = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            break
        size = np.abs(step[:joints]).max(initial=0.0)
        part = min(1.0, _LONGEST / max(size, _EXACT))
        q[free] += part * step[:joints]
        forces += part * step[joints:]
        if size <= _EXACT:
            _require_stable(integrator, stiffness, across)
            slopes = np.zeros((len(q), len(integrator.free_parameters)))
            change = np.vstack([
                -here.force_by_parameters[free], np.zeros((system.rows, slopes.shape[1]))])
            slopes[free] = np.linalg.solve(matrix, change)[:joints]
            return Rest(q, slopes, forces)
    raise EstimationError(
        'no place of rest was found', where=integrator.model.robot.name,
        found=f'an imbalance of {np.abs(right).max():.3g}', fix='Begin nearer to it, or see '
        'whether springs hold every joint that nothing else does')


def _require_stable(
    integrator: VariationalIntegrator, stiffness: np.ndarray, across: np.ndarray
) -> None:
    """Refuse a place that the least push would end: from there a simulation goes anywhere."""
    within = scipy.linalg.null_space(across) if len(across) else np.eye(len(stiffness))
    steepest = np.linalg.eigvalsh(within.T @ stiffness @ within)[-1] if within.size else -1.0
    if not steepest < 0.0:
        raise EstimationError(
            'the place of rest is not stable', where=integrator.model.robot.name,
            found=f'a stiffness of {-steepest:.3g} N·m/rad or N/m', allowed='above zero',
            fix='Begin nearer to where everything hangs')
