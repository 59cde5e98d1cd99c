r"""Forward dynamics of a torque model: how the robot moves under given joint torques.

Everything is taken from the regressor of the inverse dynamics, so whatever a
:class:`~sysid_ros.mechanics.torque_model.TorqueModel` can express can be simulated: coupled
joints, geared rotors, springs, coupled axes. At an acceleration of zero it gives the bias, at
unit accelerations the columns of the mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closed_chain import closed_chain, neutral_configuration
from sysid_ros.mechanics.joint_terms.coupled_axis import CoupledAxis
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.torque_model import TorqueModel

# Change of velocity for derivatives, and velocity that counts as the limit at zero.
_DIFFERENCE = 1e-6
_CREEP = 1e-9
# Viscous friction alone makes less torque than this in [N·m] at such a speed.
_MOST_CREEP_TORQUE = 1e-6
# The sweeps over the friction axes end at this part of the largest change of velocity.
_TOLERANCE = 1e-10
_MAX_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class ForwardDynamics:
    r"""A robot with given parameters, moved by torques; many samples S at once.

    Dry friction is not smoothed: on each friction axis k with direction :math:`w_k` it is the
    set-valued law :math:`\lambda_k \in f_k\,\mathrm{Sign}(w_k \cdot v)`, so joints stick and
    break away as they should.

    Args:
        model: Torque model; the smoothing of its dry friction is ignored.
        values: Parameter values, shape ``(p,)``.

    Raises:
        ModelError: The model has friction by load, which depends on the acceleration sought.
    """

    model: TorqueModel
    values: np.ndarray

    def __post_init__(self) -> None:
        if any(isinstance(term, LoadFriction) for term in self.model.terms):
            raise ModelError(
                'motion under friction that grows with the load cannot be simulated',
                where=self.model.robot.name,
            )

    @cached_property
    def _sharp(self) -> TorqueModel:
        """The model at the values, with the sign itself where dry friction was smoothed.

        Drive gains are taken out: torques are multiplied by them before anything else.
        """
        here = self.model.at(self.values)
        return TorqueModel(here.robot, [_sharpened(term) for term in here.terms])

    def _torque(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, blocks: int = 1
    ) -> np.ndarray:
        """Torques of blocks of the same S positions, shape ``(blocks · S, n)``."""
        if self.model.robot.loops is None or blocks == 1:
            return self._sharp.linear_torque(self.values, q, v, a)
        # Loops are followed from sample to sample: equal positions belong side by side.
        order = np.arange(len(q)).reshape(blocks, -1).T.ravel()
        torque = np.empty_like(q)
        torque[order] = self._sharp.linear_torque(self.values, q[order], v[order], a[order])
        return torque

    @cached_property
    def _axes(self) -> np.ndarray:
        """Directions of the friction axes in joint space, joints first, shape ``(k, n)``."""
        coupled = [axes for term in self._sharp.terms if (axes := self._coupled(term)).size]
        return np.vstack([np.eye(len(self.model.robot.joint_names)), *coupled])

    def _coupled(self, term: JointTerm) -> np.ndarray:
        """Directions of a term's friction beside the joints themselves, shape ``(k, n)``."""
        names = self.model.robot.joint_names
        axes: list[tuple[tuple[str, float], ...]] = []
        if isinstance(term, CoupledAxis):
            axes = [term.weights]
        elif isinstance(term, ShapedFriction):
            axes = [weights for _, weights in term.axes]
        rows = [[dict(weights).get(joint, 0.0) for joint in names] for weights in axes]
        return np.reshape(rows, (-1, len(names)))

    @cached_property
    def _terms(self) -> list[tuple[JointTerm, np.ndarray]]:
        """Joint terms with their values."""
        counts = [len(term.parameters(self.model.robot.opened)) for term in self._sharp.terms]
        stops = len(self.values) - sum(counts) + np.cumsum(counts)
        return [
            (term, self.values[stop - count:stop])
            for term, count, stop in zip(self._sharp.terms, counts, stops, strict=True)
        ]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass matrices with all drive inertias, shape ``(S, n, n)``.

        Args:
            q: Joint positions in [rad] or [m], shape ``(S, n)``.
        """
        samples, joints = q.shape
        rest = np.zeros(((joints + 1) * samples, joints))
        a = np.vstack([np.zeros_like(q), np.repeat(np.eye(joints), samples, axis=0)])
        torque = self._torque(np.tile(q, (joints + 1, 1)), rest, a, joints + 1)
        return _columns(torque, samples)

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations while every joint with dry friction slides.

        Args:
            q: Joint positions in [rad] or [m], shape ``(S, n)``.
            v: Joint velocities, shape ``(S, n)``.
            tau: Joint torques in [N·m] or [N], shape ``(S, n)``.

        Returns:
            Shape ``(S, n)``.

        Raises:
            numpy.linalg.LinAlgError: A mass matrix is singular.
        """
        net = self._gains * tau - self._torque(q, v, np.zeros_like(q))
        return np.linalg.solve(self.mass_matrix(q), net[..., None])[..., 0]

    @cached_property
    def _gains(self) -> np.ndarray:
        return self.model.at(self.values).gains

    def step(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Advance all samples by one step.

        The velocity takes a linearly implicit midpoint step, which is of second order and
        stays stable however strong viscous friction is; dry friction acts by the velocity at
        the end of the step, so that it stops a joint and never reverses it (Moreau's time
        stepping; Acary and Brogliato 2008, chapter 10).

        Args:
            q: Joint positions in [rad] or [m], shape ``(S, n)``.
            v: Joint velocities, shape ``(S, n)``.
            tau: Mean torque of the step, shape ``(S, n)``.
            h: Step in [s].

        Returns:
            Positions and velocities after it, ``(S, n)`` each, and which samples cannot go on,
            shape ``(S,)``: dry friction could not be solved for, or loops not be closed.

        Raises:
            numpy.linalg.LinAlgError: A mass matrix is singular.
        """
        samples, axes = len(q), self._axes
        middle, torn = self._closable(q + 0.5 * h * v)
        level = self._dry_levels
        # At zero itself the smooth part of friction that differs by direction is not defined.
        moving = np.where(np.abs(v) < _CREEP, _CREEP, v)
        bias, mass, damping = self._linearised(middle, moving, level)
        # Negative friction, which only an inconsistent estimate has, cannot make a joint stick.
        bias = bias + (np.minimum(level, 0.0) * np.sign(v @ axes.T)) @ axes
        right = np.broadcast_to(axes.T, (samples, *axes.T.shape))
        right = np.concatenate([h * (self._gains * tau - bias)[..., None], right], axis=2)
        solved = np.linalg.solve(mass + 0.5 * h * damping, right)
        free, response = v + solved[..., 0], solved[..., 1:]
        impulse, stopped = _solve_dry_friction(
            np.ascontiguousarray(axes @ response), free @ axes.T,
            np.tile(h * np.maximum(level, 0.0), (samples, 1)))
        v = free - np.einsum('snk,sk->sn', response, impulse)
        return middle + 0.5 * h * v, v, stopped | torn

    def _closable(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions that loops can be closed at, and where they took the place of others.

        One sample beyond a dead point must not end the simulation of all.
        """
        if self.model.robot.loops is None:
            return q, np.zeros(len(q), dtype=bool)
        chain, assembled = closed_chain(self.model.robot), neutral_configuration(self.model.robot)
        torn = ~np.isfinite(q).all(axis=1)
        q = np.where(torn[:, None], assembled, q)
        # The way to a sample begins at that before: only the first that is not reached is judged.
        while not (reached := chain.reachable(q)[1]).all():
            first = int(np.argmin(reached))
            torn[first] = True
            q[first] = q[first - 1] if first else assembled
        return q, torn

    def _linearised(
        self, q: np.ndarray, v: np.ndarray, level: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Torque at rest of acceleration, without dry friction, and its derivatives.

        Returns:
            Bias ``(S, n)``, mass matrix and derivative of the bias by velocity ``(S, n, n)``.
        """
        samples, joints = q.shape
        unit = np.repeat(np.eye(joints), samples, axis=0)
        none, blocks = np.zeros_like(unit), 2 * joints + 1
        speeds = np.tile(v, (blocks, 1))
        speeds[(joints + 1) * samples:] += _DIFFERENCE * unit
        torque = self._torque(
            np.tile(q, (blocks, 1)), speeds, np.vstack([np.zeros_like(q), unit, none]), blocks
        )
        torque -= (level * np.sign(speeds @ self._axes.T)) @ self._axes
        moved = np.vstack([torque[:samples], torque[(joints + 1) * samples:]])
        damping = _columns(moved, samples) / _DIFFERENCE
        return torque[:samples], _columns(torque[:(joints + 1) * samples], samples), damping

    @cached_property
    def _dry_levels(self) -> np.ndarray:
        """Torque on each friction axis at a velocity just above zero, shape ``(k,)``.

        No term's dry friction depends on the position.
        """
        first = joints = len(self.model.robot.joint_names)
        level = np.zeros(len(self._axes))
        for term, values in self._terms:
            coupled = self._coupled(term)
            if isinstance(term, ShapedFriction):
                jumps = self._jumps(term, values)
                own = len(jumps) - len(coupled)
                level[:joints] += jumps[:own] @ term.weights(self.model.robot)[:own]
                level[first:first + len(coupled)] = jumps[own:]
            else:
                axis = coupled[0] if len(coupled) else np.ones(joints)
                jump = self._jump(term, values, axis)
                if len(coupled):
                    level[first] = jump @ axis / (axis @ axis)
                else:
                    level[:joints] += jump
            first += len(coupled)
        return level

    def _jump(self, term: JointTerm, values: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """Torque of a linear term on driven joints that creep along an axis, shape ``(n,)``."""
        robot = self.model.robot
        tree, loops = robot.opened, robot.loops
        driven = np.arange(len(axis)) if loops is None else loops.actuated
        creep = np.full((1, len(tree.joint_names)), _CREEP)
        creep[:, driven] *= axis
        rest = np.zeros_like(creep)
        jump = 0.5 * (
            term.columns(tree, rest, creep, rest) - term.columns(tree, rest, -creep, rest)
        )[0] @ values
        if loops is not None and (jump[loops.passive] > _MOST_CREEP_TORQUE).any():
            raise ModelError(
                'motion under dry friction of passive joints cannot be simulated',
                where=robot.name, found=', '.join(loops.passive_names),
                fix='Leave their Coulomb friction out',
            )
        return np.asarray(jump[driven])

    def _jumps(self, term: ShapedFriction, values: np.ndarray) -> np.ndarray:
        """Friction of a term just above zero speed on each of its joints and axes, ``(k,)``."""
        weights = term.weights(self.model.robot)
        jumps = [
            0.5 * (term.curves(self.model.robot, creep) - term.curves(self.model.robot, -creep))
            for creep in _CREEP * weights[:, None]
        ]
        return np.array([jump[0, k] for k, jump in enumerate(jumps)]) * values[:len(weights)]


def _columns(torque: np.ndarray, samples: int) -> np.ndarray:
    """Matrices whose columns are the later blocks less the first, shape ``(S, n, n)``."""
    blocks = torque.reshape(-1, samples, torque.shape[1])
    return np.moveaxis(blocks[1:] - blocks[0], 0, 2)


def _sharpened(term: JointTerm) -> JointTerm:
    if isinstance(term, DriveGain):
        return replace(term, values=())
    if isinstance(term, ShapedFriction):
        return term.sharpened()
    smoothed = getattr(term, 'smoothing', 0.0) > 0.0
    return replace(term, smoothing=0.0) if smoothed else term  # type: ignore[type-var]


@njit(cache=True)
def _solve_dry_friction(
    response: np.ndarray, free: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Impulses of dry friction, by projected Gauss-Seidel sweeps over the axes.

    Args:
        response: Velocity of the axes per impulse on them, shape ``(S, k, k)``.
        free: Velocity of the axes without dry friction, shape ``(S, k)``.
        most: Largest impulse of each axis, shape ``(S, k)``.

    Returns:
        Impulses ``(S, k)``, and where the sweeps did not settle, ``(S,)``.
    """
    samples, axes = free.shape
    impulse = np.zeros((samples, axes))
    unsettled = np.ones(samples, dtype=np.bool_)
    for s in range(samples):
        for _ in range(_MAX_SWEEPS):
            largest, moved = 0.0, 0.0
            for k in range(axes):
                if most[s, k] == 0.0:
                    continue
                speed = free[s, k]
                for m in range(axes):
                    speed -= response[s, k, m] * impulse[s, m]
                target = impulse[s, k] + speed / response[s, k, k]
                target = min(max(target, -most[s, k]), most[s, k])
                step = abs(target - impulse[s, k]) * abs(response[s, k, k])
                impulse[s, k] = target
                moved = max(moved, step)
                largest = max(largest, abs(free[s, k]))
            if moved <= _TOLERANCE * largest:
                unsettled[s] = False
                break
    return impulse, unsettled
