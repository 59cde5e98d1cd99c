"""Joint terms: torques at the joints beside rigid-body dynamics, linear in their parameters.

A term adds columns to the regressor and names for them. Friction, inertia of the drive and
offsets are terms; a new one needs two methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter


class JointTerm(Protocol):
    """What a regressor needs to know about a term."""

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """The k parameters of the term."""

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each parameter, shape ``(T, n, k)``."""

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the sum of weighted columns with respect to q, v and a.

        Args:
            robot: The robot.
            q: Joint positions, shape ``(T, n)``.
            v: Joint velocities.
            a: Joint accelerations.
            weights: Weight of every entry of the columns, shape ``(T, n, k)``.

        Returns:
            Shape ``(3, T, n)``.
        """


def driven_joints(robot: RobotModel) -> tuple[str, ...]:
    """Joints that motors drive: not those a floating base moves by, nor passive ones of loops."""
    others = {*robot.base_joints, *robot.passive_joints}
    return tuple(name for name in robot.joint_names if name not in others)


# A signal that is q, v or a itself, as its derivatives with respect to the three.
_ALONG_Q, _ALONG_V, _ALONG_A = np.eye(3)[:, :, None, None]


@dataclass(frozen=True)
class _PerJoint:
    """One parameter for each of some joints, acting on that joint alone.

    Without names these are the driven joints, and passive ones of closed loops that the
    description says to have it.
    """

    joints: tuple[str, ...] | None = None

    field: ClassVar[str]
    rotational_unit: ClassVar[str]
    linear_unit: ClassVar[str]
    lower: ClassVar[float] = -np.inf

    def _joints(self, robot: RobotModel) -> tuple[str, ...]:
        if self.joints is not None:
            return self.joints
        known = self._prior(robot) if robot.passive_joints else np.zeros(0)
        described = {
            joint for joint in robot.passive_joints if known[robot.joint_index(joint)] != 0.0}
        driven = driven_joints(robot)
        return tuple(name for name in robot.joint_names if name in driven or name in described)

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """One parameter per joint, with the prior of the robot description."""
        prior = self._prior(robot)
        parameters = []
        for joint in self._joints(robot):
            index = robot.joint_index(joint)
            linear = robot.joint_types[index] == 'prismatic'
            unit = self.linear_unit if linear else self.rotational_unit
            parameters.append(
                Parameter(f'{joint}.{self.field}', unit, float(prior[index]), self.lower))
        return parameters

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each parameter, shape ``(T, n, k)``."""
        chosen = [robot.joint_index(joint) for joint in self._joints(robot)]
        signal = self._signal(q, v, a)
        columns = np.zeros((*q.shape, len(chosen)))
        for k, joint in enumerate(chosen):
            columns[:, joint, k] = signal[:, joint]
        return columns

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        along = np.zeros_like(q)
        for k, joint in enumerate(robot.joint_index(joint) for joint in self._joints(robot)):
            along[:, joint] = weights[:, joint, k]
        return along * self._slopes(q, v, a)

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return np.zeros(len(robot.joint_names))

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        raise TypeError(f'{type(self).__name__} has no signal')

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Derivatives of the signal with respect to q, v and a, ``(3, T, n)`` or alike."""
        raise TypeError(f'{type(self).__name__} has no signal')


class ViscousFriction(_PerJoint):
    """Friction proportional to velocity; prior from the description."""

    field = 'viscous_friction'
    rotational_unit = 'N·m·s/rad'
    linear_unit = 'N·s/m'
    lower = 0.0

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'damping')

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return v

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return _ALONG_V


@dataclass(frozen=True)
class CoulombFriction(_PerJoint):
    """Dry friction that opposes motion; prior from the description.

    Args:
        joints: Joints that have it; all by default.
        smoothing: Velocity in [rad/s] or [m/s] over which the sign is smoothed as
            ``tanh(v / smoothing)``; 0 for the sign itself.
    """

    smoothing: float = 0.0

    field = 'coulomb_friction'
    rotational_unit = 'N·m'
    linear_unit = 'N'
    lower = 0.0

    def __post_init__(self) -> None:
        _check_smoothing(self.smoothing)

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'friction')

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return smooth_sign(v, self.smoothing)

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return _ALONG_V * smooth_sign_slope(v, self.smoothing)


@dataclass(frozen=True)
class AsymmetricCoulombFriction:
    """Dry friction of different size in either direction, both at least zero.

    Its mean is Coulomb friction and half its difference a torque offset in motion, so that a
    joint has either it or those two.

    Args:
        joints: Joints that have it; all by default.
        smoothing: As for :class:`CoulombFriction`.
    """

    joints: tuple[str, ...] | None = None
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        _check_smoothing(self.smoothing)

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Friction of forward, then of backward motion, joint by joint."""
        prior = described_dynamics(robot, 'friction')
        return [
            Parameter(
                f'{joint}.coulomb_friction_{direction}',
                'N' if robot.joint_types[index] == 'prismatic' else 'N·m',
                float(prior[index]), lower=0.0,
            )
            for joint, index in self._joints(robot) for direction in ('forward', 'backward')
        ]

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each parameter, shape ``(T, n, k)``."""
        sign = smooth_sign(v, self.smoothing)
        joints = self._joints(robot)
        columns = np.zeros((*v.shape, 2 * len(joints)))
        for k, (_, index) in enumerate(joints):
            columns[:, index, 2 * k] = np.maximum(sign[:, index], 0.0)
            columns[:, index, 2 * k + 1] = np.minimum(sign[:, index], 0.0)
        return columns

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        slope = smooth_sign_slope(v, self.smoothing)
        gradient = np.zeros((3, *v.shape))
        for k, (_, index) in enumerate(self._joints(robot)):
            forward, backward = weights[:, index, 2 * k], weights[:, index, 2 * k + 1]
            gradient[1, :, index] = slope[:, index] * np.where(
                v[:, index] > 0.0, forward, backward
            )
        return gradient

    def _joints(self, robot: RobotModel) -> list[tuple[str, int]]:
        joints = driven_joints(robot) if self.joints is None else self.joints
        return [(joint, robot.joint_index(joint)) for joint in joints]


class TorqueOffset(_PerJoint):
    """Constant torque: sensor bias, a constant part of friction or load; prior from springs."""

    field = 'torque_offset'
    rotational_unit = 'N·m'
    linear_unit = 'N'

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_spring_offset(robot)

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.ones_like(q)

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.zeros((3, 1, 1))


class Armature(_PerJoint):
    """Inertia of the drive seen at the joint: rotor inertia times gear ratio squared.

    The prior is what an MJCF says; a URDF has no word for it.
    """

    field = 'armature'
    rotational_unit = 'kg·m²'
    linear_unit = 'kg'
    lower = 0.0

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'armature')

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return a

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return _ALONG_A


class Stiffness(_PerJoint):
    """Spring across the joint; its rest position shows as a torque offset.

    The prior is what an MJCF says; a URDF has no word for it.
    """

    field = 'stiffness'
    rotational_unit = 'N·m/rad'
    linear_unit = 'N/m'
    lower = 0.0

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'stiffness')

    def _signal(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return q

    def _slopes(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return _ALONG_Q


@dataclass(frozen=True)
class CoupledAxis:
    r"""A drive that turns with several joints, :math:`z = w \cdot q`, as in coupled wrists.

    Its friction and inertia act along z, hence on every joint in w:
    :math:`\tau = w\,(I_a \ddot z + f_v \dot z + f_c\,\mathrm{sign}\,\dot z)`.

    Args:
        name: Name of the axis, first part of its parameters' names.
        weights: Pairs of joint and weight in z.
        smoothing: As for :class:`CoulombFriction`.
        dry: Whether it has Coulomb friction; False where another term brings it.
    """

    name: str
    weights: tuple[tuple[str, float], ...]
    smoothing: float = 0.0
    dry: bool = True

    def __post_init__(self) -> None:
        _check_smoothing(self.smoothing)

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Armature, viscous and Coulomb friction of the axis."""
        self._weights(robot)
        fields = [('armature', 'kg·m²'), ('viscous_friction', 'N·m·s/rad')]
        fields += [('coulomb_friction', 'N·m')] if self.dry else []
        return [Parameter(f'{self.name}.{field}', unit, lower=0.0) for field, unit in fields]

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each parameter, shape ``(T, n, 3)``, or ``(T, n, 2)``."""
        w = self._weights(robot)
        speed = v @ w
        along = [a @ w, speed, *([smooth_sign(speed, self.smoothing)] if self.dry else [])]
        return w[None, :, None] * np.stack(along, axis=-1)[:, None, :]

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        w = self._weights(robot)
        inertia, by_speed, *dry = np.einsum('j,tjk->kt', w, weights)
        for part in dry:
            by_speed = by_speed + part * smooth_sign_slope(v @ w, self.smoothing)
        return np.array([np.zeros_like(inertia), by_speed, inertia])[:, :, None] * w

    def _weights(self, robot: RobotModel) -> np.ndarray:
        w = np.zeros(len(robot.joint_names))
        for joint, weight in self.weights:
            w[robot.joint_index(joint)] = weight
        if not w.any():
            raise ConfigurationError('the coupled axis has no weights', where=self.name)
        return w


def _check_smoothing(smoothing: float) -> None:
    if not 0.0 <= smoothing < np.inf:
        raise ConfigurationError(
            'the smoothing of dry friction cannot be used', found=smoothing,
            allowed='a velocity, zero or more',
        )


def smooth_sign(v: np.ndarray, smoothing: float) -> np.ndarray:
    """Sign of a velocity, smoothed by ``tanh`` over a velocity greater than zero."""
    return np.tanh(v / smoothing) if smoothing > 0.0 else np.sign(v)


def smooth_sign_slope(v: np.ndarray, smoothing: float) -> np.ndarray:
    """Derivative of :func:`smooth_sign`; zero for the sign itself, which has none at zero."""
    if smoothing > 0.0:
        return (1.0 - np.tanh(v / smoothing) ** 2) / smoothing
    return np.zeros_like(v)


# How often the ratio of a coupling enters the friction, drive or spring behind it.
_POWER_OF_RATIO = {'damping': 2, 'friction': 1, 'armature': 2, 'stiffness': 2}


def described_dynamics(robot: RobotModel, attribute: str) -> np.ndarray:
    r"""A joint term of the description as seen at the independent joints, shape ``(n,)``.

    A mimic joint that moves by :math:`g\,v` takes the power :math:`d\,(g v)^2` by damping d
    and :math:`f\,|g v|` by friction f: its joint gets :math:`g^2 d` and :math:`|g| f` of it,
    and :math:`g^2` of its armature and stiffness. Negative values, which no joint has, count
    as none.

    Args:
        robot: The robot.
        attribute: ``'damping'``, ``'friction'``, ``'armature'`` or ``'stiffness'``.
    """
    written = [getattr(joint, attribute) for joint in robot.described_joints.values()]
    weights = np.abs(robot.tree.coupling[:len(written)]) ** _POWER_OF_RATIO[attribute]
    return weights.T @ np.maximum(written, 0.0)


def described_spring_offset(robot: RobotModel) -> np.ndarray:
    r"""Torque of the described springs at position zero in [N·m] or [N], shape ``(n,)``.

    A spring pulls with :math:`k (q_i - r)` where :math:`q_i = G_i q + g_i`; what does not
    depend on q is :math:`G_i^T k (g_i - r)`.

    Args:
        robot: The robot.
    """
    joints = robot.described_joints.values()
    rows = slice(len(robot.described_joints))
    pull = np.array([max(joint.stiffness, 0.0) for joint in joints])
    stretch = robot.tree.coupling_offset[rows] - np.array([joint.rest for joint in joints])
    return robot.tree.coupling[rows].T @ (pull * stretch)
