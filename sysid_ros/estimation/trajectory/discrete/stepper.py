"""Simulation of mechanisms, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.complementarity import solve_mlcp
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import (
    BodyParameters,
    MechanismArrays,
    Workspace,
    workspace_for,
)
from sysid_ros.estimation.trajectory.discrete.poses import integrate_poses
from sysid_ros.estimation.trajectory.discrete.sweep import ContactModes
from sysid_ros.robot.inertia import central_inertia

# By which parts friction gives way, the later ones where there is too much of it for the pivots as
# it is: for modes to begin with.
_EASED = (0.0, 1e-3, 1e-2, 1e-1, 1.0)
_CONTRADICTED = 'modes that a solution of the complementarity problem contradicts'
# Error of a quaternion's length that is no rounding.
_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class Motion:
    """A simulated motion of b bodies in K steps.

    Attributes:
        states: Position in [m], quaternion (x, y, z, w), velocity in [m/s] and angular velocity
            in [rad/s] of one body after the other, in the world's axes, shape ``(K + 1, 13 b)``.
        impulses: Of m constraints in [N·s] or [N·m·s] and, behind them, of the dry friction of f
            drives, shape ``(K, m + f)``.
        modes: Which contacts push, and which drives slip, in each step.
    """

    states: np.ndarray
    impulses: np.ndarray
    modes: ContactModes


def simulate(
    arrays: MechanismArrays, parameters: BodyParameters, start: np.ndarray, torques: np.ndarray,
    step: float
) -> Motion:
    r"""Simulate a mechanism with regularised steps (SPOOK).

    Steps are those of leapfrog: each velocity is meant half a step before the pose beside it. A
    start whose velocity is meant at its pose shifts the motion by half a step. With a start as
    meant and damping times of a few steps or less, errors are of second order in the step. Two
    things make them of first order: dry friction, which sets in and lets go at the ends of steps;
    and a damping time :math:`\gamma` that stays as steps get shorter. It leaves a joint open by
    :math:`\gamma h / 2` times the acceleration across it, and takes energy from the motion.

    Args:
        arrays: Bodies and constraints.
        parameters: Parameter values.
        start: First state, shape ``(13 b,)``.
        torques: Mean commands of the drives from half a step before each pose to half a step after
            it, in [N·m] or [N] before their gain, shape ``(K, f)``.
        step: Length of a step in [s].

    Raises:
        EstimationError: Start, torques or step are not such; a mass matrix is not positive definite
            or a body turns too far within a step; no impulses fulfil what contacts and dry friction
            demand.
    """
    count, bodies = len(torques), len(parameters.bodies)
    constraints, drives = len(arrays.compliance), len(arrays.dry)
    _check(start, torques, step, bodies, drives)
    work = workspace_for(bodies, constraints, drives)
    states = np.empty((count + 1, 13 * bodies))
    states[0] = start
    impulses = np.empty((count, constraints + drives))
    modes = ContactModes.of(count, constraints, drives)
    first = 0
    while first < count:
        stuck = sweep.simulate(
            arrays, parameters, step, torques, first, states, impulses, modes, work)
        if stuck < 0:
            break
        complement(arrays, parameters, step, states[stuck], torques[stuck], work)
        impulses[stuck] = work.impulse
        integrate_poses(step, states[stuck], work.velocity, states[stuck + 1])
        for place in (stuck, stuck + 1):
            if place < count:
                remember(modes, place, work)
        first = stuck + 1
    return Motion(states, impulses, modes)


def _check(
    start: np.ndarray, torques: np.ndarray, step: float, bodies: int, drives: int
) -> None:
    """Raise if compiled steps would read what is not there."""
    for name, array, shape in (
            ('the start', start, (13 * bodies,)), ('the torques', torques, (len(torques), drives))):
        if np.shape(array) != shape:
            raise EstimationError(
                f'the shape of {name} does not fit the mechanism', where='simulation',
                found=f'shape {np.shape(array)}', allowed=shape)
        if not np.isfinite(array).all():
            raise EstimationError(f'{name} with a value that is not finite', where='simulation')
    if not 0.0 < step < np.inf:
        raise EstimationError(
            'the length of a step is none', where='simulation', found=step, allowed='above zero')
    sizes = np.linalg.norm(np.reshape(start, (bodies, 13))[:, 3:7], axis=1)
    if np.abs(sizes - 1.0).max(initial=0.0) > _UNIT:
        raise EstimationError(
            'a quaternion of the start is not of unit length', where='simulation',
            found=sizes[np.abs(sizes - 1.0).argmax()], fix='Normalise it')


def remember(modes: ContactModes, step: int, work: Workspace) -> None:
    """Keep the modes of a step."""
    modes.pushing[step], modes.sign[step] = work.pushing, work.sign
    modes.slip[step] = work.slip


def complement(
    arrays: MechanismArrays, parameters: BodyParameters, step: float, state: np.ndarray,
    torque: np.ndarray, work: Workspace,
) -> None:
    """Find a step's modes as a mixed linear complementarity problem, where trying did not.

    Args:
        arrays: Bodies and constraints.
        parameters: Parameter values.
        step: Length of the step in [s].
        state: Shape ``(13 b,)``.
        torque: Commands of the drives, shape ``(f,)``.
        work: Modes, impulses and the next velocity are filled.

    Raises:
        EstimationError: As for :func:`simulate`.
    """
    if not sweep.assemble(arrays, parameters, step, state, torque, work):
        raise _without_mass(parameters, step, state)
    for eased in _EASED:
        problem = _Complementarity(arrays, work, eased)
        found = solve_mlcp(problem.matrix, problem.offset, problem.free)
        if found.status.ok:
            problem.adopt(found.values)
            if sweep.try_modes(arrays, work, True):
                return
            # Where modes are on the verge of others, each contradicts the other by rounding.
            problem.adopt(found.values)
            if eased == 0.0 and sweep.try_modes(arrays, work, False):
                return
    raise EstimationError(
        'no impulses fulfil what contacts and dry friction demand',
        found=_CONTRADICTED if found.status.ok else found.status.value.rstrip('.'),
        fix='Shorten the step, or raise compliances')


def _without_mass(parameters: BodyParameters, step: float, state: np.ndarray) -> EstimationError:
    """Why a mass matrix, gyroscopic forces included, is not positive definite."""
    for k, own in enumerate(parameters.bodies):
        if not (own[0] > 0.0 and np.linalg.eigvalsh(central_inertia(own)[2])[0] > 0.0):
            return EstimationError(
                'the mass matrix of a body is not positive definite', where=f'body {k}',
                found=f'mass {own[0]:.4g} kg', fix='Give it a mass and moments of inertia')
    turned = step * np.linalg.norm(state.reshape(-1, 13)[:, 10:], axis=1).max()
    return EstimationError(
        'a body turns too far within a step', found=f'{turned:.3g} rad',
        fix='Shorten the step; if the motion should be slow, give constraints a damping time')


class _Complementarity:
    r"""A step as a mixed linear complementarity problem (Discrete multibody dynamics, eq. 2.27).

    Its unknowns z are impulses that may have either sign; then, at least zero, those of rows
    that press on friction, forwards and backwards, of contacts, of the friction of drives,
    forwards and backwards, and the speeds at which drives slip.

    Args:
        arrays: Bodies and constraints.
        work: With the problem of the step.
        eased: Part of what friction does to its own speed by which it gives way. It is none of the
            tiny one that modes are solved with: pivots of that size would be rounding.
    """

    def __init__(self, arrays: MechanismArrays, work: Workspace, eased: float) -> None:
        m = len(work.gap)
        self.arrays, self.work = arrays, work
        dry = np.flatnonzero(arrays.dry)
        pressing = np.zeros(m, dtype=bool)
        for j in dry:
            if work.bound[j, 1] != 0.0:
                pressing[arrays.loaded[j, 0]:arrays.loaded[j, 1]] = True
        two_sided = ~arrays.one_sided
        either = np.flatnonzero(two_sided & ~pressing)
        both, contacts = np.flatnonzero(two_sided & pressing), np.flatnonzero(arrays.one_sided)
        self.rows = np.concatenate([either, both, both, contacts, m + dry, m + dry])
        self.ways = np.concatenate([
            np.ones(len(either) + len(both)), -np.ones(len(both)),
            np.ones(len(contacts) + len(dry)), -np.ones(len(dry))])
        self.free, self.dry = len(either), dry
        self._fill(m, eased)

    def _fill(self, m: int, eased: float) -> None:
        work, arrays, dry = self.work, self.arrays, self.dry
        size, slips = len(self.rows), len(dry)
        by_lower, by_upper = (self.ways[:, None] * part[self.rows]
            for part in (work.by_lower, work.by_upper))
        matrix = np.zeros((size + slips,) * 2)
        matrix[:size, :size] = by_upper @ by_lower.T
        matrix[range(size), range(size)] += np.where(
            self.rows < m, work.stable[1, self.rows], eased * np.diag(matrix)[:size])
        ahead = scipy.linalg.solve_triangular(
            work.mass, work.momentum, lower=True, unit_diagonal=True)
        offset = np.zeros(size + slips)
        offset[:size] = by_upper @ ahead - self.ways * work.right[self.rows]
        for k, j in enumerate(dry):
            own = np.flatnonzero(self.rows == m + j)
            matrix[own, size + k] = 1.0
            matrix[size + k, own] = -1.0
            start, stop = arrays.loaded[j]
            pressing = np.flatnonzero((self.rows >= start) & (self.rows < stop))
            matrix[size + k, pressing] += work.bound[j, 1] * arrays.arms[self.rows[pressing]]
            offset[size + k] = work.bound[j, 0]
        self.matrix, self.offset = matrix, offset

    def adopt(self, values: np.ndarray) -> None:
        """Set the modes that a solution has."""
        work, m = self.work, len(self.work.gap)
        impulse = np.zeros(len(work.impulse))
        np.add.at(impulse, self.rows, self.ways * values[:len(self.rows)])
        work.sign[:] = np.where((impulse[:m] < 0.0) & ~self.arrays.one_sided, -1.0, 1.0)
        work.pushing[:] = impulse[:m] > 0.0
        for k, j in enumerate(self.dry):
            way = -np.sign(impulse[m + j]) or np.sign(work.speed[j]) or 1.0
            work.slip[j] = way if values[len(self.rows) + k] > 0.0 else 0.0
