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

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closed_chain import closed_chain, neutral_configuration
from sysid_ros.mechanics.dry_friction_step import DryFrictionStep, GearLoads
from sysid_ros.mechanics.joint_terms.coupled_axis import CoupledAxis
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler

# Change of velocity for derivatives, and velocity that counts as the limit at zero.
_DIFFERENCE = 1e-6
_CREEP = 1e-9
# Viscous friction alone makes less torque than this in [N·m] at such a speed.
_MOST_CREEP_TORQUE = 1e-6


@dataclass(frozen=True, eq=False)
class ForwardDynamics:
    r"""A robot with given parameters, moved by torques; many samples S at once.

    Dry friction is not smoothed: on each friction axis k with direction :math:`w_k` it is the
    set-valued law :math:`\lambda_k \in f_k\,\mathrm{Sign}(w_k \cdot v)`, so joints stick and
    break away as they should. Where it grows with the load of a gear, :math:`f_k` is found
    together with the acceleration that the load comes from.

    Args:
        model: Torque model; the smoothing of its dry friction is ignored.
        values: Parameter values, shape ``(p,)``.

    Raises:
        ModelError: A robot with closed loops has friction by load.
    """

    model: TorqueModel
    values: np.ndarray

    def __post_init__(self) -> None:
        loaded = any(isinstance(term, LoadFriction) for term in self.model.terms)
        if loaded and self.model.robot.loops is not None:
            raise ModelError(
                'motion of closed loops with friction that grows with the load is not simulated',
                where=self.model.robot.name,
            )

    @cached_property
    def _sharp(self) -> TorqueModel:
        """The model at the values, with the sign itself where dry friction was smoothed.

        Drive gains are taken out: torques are multiplied by them before anything else. So is
        friction by load, which is no function of the motion before the acceleration is known.
        """
        here = self.model.at(self.values)
        return TorqueModel(here.robot, [
            _sharpened(term) for term in here.terms if not isinstance(term, LoadFriction)])

    @cached_property
    def _sharp_values(self) -> np.ndarray:
        """Parameter values without those of friction by load."""
        inertial = 10 * len(self.model.robot.body_names)
        return np.concatenate([self.values[:inertial], *(
            values for term, values in self._all_terms if not isinstance(term, LoadFriction))])

    @cached_property
    def _all_terms(self) -> list[tuple[JointTerm, np.ndarray]]:
        """Joint terms of the model with their values."""
        terms = self.model.terms
        counts = [len(term.parameters(self.model.robot.opened)) for term in terms]
        stops = len(self.values) - sum(counts) + np.cumsum(counts)
        return [
            (term, self.values[stop - count:stop])
            for term, count, stop in zip(terms, counts, stops, strict=True)
        ]

    @cached_property
    def _by_load(self) -> np.ndarray:
        """Dry friction of each joint per size of its load, shape ``(n,)``."""
        found = np.zeros(len(self.model.robot.joint_names))
        for term, values in self._all_terms:
            if isinstance(term, LoadFriction):
                for value, (_, direction) in zip(
                        values, term.directions(self.model.robot), strict=True):
                    found += value * direction
        return found

    def _torque(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, blocks: int = 1
    ) -> np.ndarray:
        """Torques of blocks of the same S positions, shape ``(blocks · S, n)``."""
        if self.model.robot.loops is None or blocks == 1:
            return self._sharp.linear_torque(self._sharp_values, q, v, a)
        # Loops are followed from sample to sample: equal positions belong side by side.
        order = np.arange(len(q)).reshape(blocks, -1).T.ravel()
        torque = np.empty_like(q)
        torque[order] = self._sharp.linear_torque(
            self._sharp_values, q[order], v[order], a[order])
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
        """Joint terms with sharp signs, without friction by load, with their values."""
        values = [
            values for term, values in self._all_terms if not isinstance(term, LoadFriction)]
        return list(zip(self._sharp.terms, values, strict=True))

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
            ModelError: Friction grows with the load.
            numpy.linalg.LinAlgError: A mass matrix is singular.
        """
        if self._by_load.any():
            raise ModelError(
                'friction grows with the load, which depends on the acceleration sought',
                where=self.model.robot.name,
                fix='Take steps, or accelerations() of sysid_ros.mechanics.tree.acceleration')
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
        stays stable however strong viscous friction is. Friction that falls with the speed is
        implicit as far as it takes half of the inertia: more of it would turn forces around.
        Dry friction acts by the velocity at the end of the step, so that it stops a joint and
        never reverses it (Moreau's time stepping; Acary and Brogliato 2008, chapter 10).

        Args:
            q: Joint positions in [rad] or [m], shape ``(S, n)``.
            v: Joint velocities, shape ``(S, n)``.
            tau: Mean torque of the step, shape ``(S, n)``; at the joints of a base that floats
                its mean acceleration, which it follows whatever the torques are.
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
        damping = damping + _falling_too_fast(mass, damping, axes, h)
        right = np.broadcast_to(axes.T, (samples, *axes.T.shape))
        net, base = self._gains * tau - bias, len(self.model.robot.base_joints)
        net[:, :base], damping[:, :base] = tau[:, :base], 0.0
        mass[:, :base] = np.eye(base, mass.shape[2])
        right = np.concatenate([h * net[..., None], right], axis=2)
        solved = np.linalg.solve(mass + 0.5 * h * damping, right)
        sliding = DryFrictionStep(v + solved[..., 0], solved[..., 1:], axes, h)
        end, stopped = sliding.stopped_by(
            level, np.sign(v @ axes.T), self._gear_loads(sliding, middle, v))
        return middle + 0.5 * h * end, end, stopped | torn

    def _gear_loads(self, sliding: DryFrictionStep, middle: np.ndarray, v: np.ndarray) -> GearLoads:
        """Loads of the gears in a step: rigid-body torques, linear in the change of velocity.

        Args:
            sliding: The step without dry friction.
            middle: Positions in the middle of the step, shape ``(S, n)``.
            v: Velocities before it, shape ``(S, n)``.
        """
        gears = GearLoads.none(len(v), len(self._axes))
        joints = v.shape[1]
        # Negative friction by load, which only an inconsistent estimate has, is none.
        gears.friction[:joints] = np.maximum(self._by_load, 0.0)
        if gears.friction.any():
            blocks = joints + 2
            a = np.zeros((blocks, *v.shape))
            a[0] = (sliding.free - v) / sliding.h
            a[2:] = np.eye(joints)[:, None]
            speeds = np.zeros_like(a)
            speeds[0] = 0.5 * (v + sliding.free)
            inertials = self.values[:10 * len(self.model.robot.body_names)]
            load = recursive_newton_euler(
                self.model.robot, inertials, np.tile(middle, (blocks, 1)),
                speeds.reshape(-1, joints), a.reshape(-1, joints)).reshape(a.shape)
            gears.load[:, :joints] = load[0]
            mass = np.moveaxis(load[2:] - load[1], 0, 2)
            gears.response[:, :joints] = mass @ sliding.response / sliding.h
        return gears

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


def _falling_too_fast(
    mass: np.ndarray, damping: np.ndarray, axes: np.ndarray, h: float
) -> np.ndarray:
    r"""Damping that friction axes lack to minus the most that a step may take implicitly.

    An implicit midpoint step divides the force along an axis w by :math:`m + h d / 2`, with the
    inertia :math:`m = 1 / (w^T M^{-1} w)` that it feels: with d below :math:`-m / h` by less than
    half of it.

    Args:
        mass: Mass matrices M, shape ``(S, n, n)``.
        damping: Derivative of the torque by velocity, shape ``(S, n, n)``.
        axes: Directions w, shape ``(k, n)``.
        h: Step in [s].

    Returns:
        Damping to add, shape ``(S, n, n)``.
    """
    along = np.einsum('kn,snm,km->sk', axes, damping, axes) / np.sum(axes**2, axis=1) ** 2
    if not (along < 0.0).any():
        return np.zeros_like(damping)
    moved = np.einsum('kn,snk->sk', axes, np.linalg.solve(
        mass, np.broadcast_to(axes.T, (len(mass), *axes.T.shape))))
    # An axis without inertia, which only an inconsistent estimate has, is left as it is.
    least = np.full_like(moved, -np.inf)
    np.divide(-1.0, h * moved, out=least, where=h * moved > np.finfo(float).tiny)
    return np.einsum('sk,kn,km->snm', np.maximum(least - along, 0.0), axes, axes)


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
