r"""Joint terms that are linear in their amplitudes only, given values of other parameters.

Those others are shapes of a friction curve, or, where friction grows with the load, the
inertial parameters. A nonlinear term stands at certain values and ``at`` moves it to others.
Its torque has as derivatives its columns and, beside them, its slopes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sysid_ros.dynamics.terms import (
    described_dynamics,
    driven_joints,
    smooth_sign,
    smooth_sign_slope,
)
from sysid_ros.errors import ConfigurationError
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

#: A direction in joint space by name: pairs of joint and weight.
Axis = tuple[str, tuple[tuple[str, float], ...]]

#: Derivative of a friction curve: the names of its shape and of its amplitude, the derivative
#: ``(T,)``, and the weights ``(n,)`` of the joint or axis.
SlopeCurve = tuple[str, str, np.ndarray, np.ndarray]

# Where the search for a shape begins, and its range: velocities in [rad/s] or [m/s].
_SMOOTHING = (0.02, 1e-4, 0.5)
_STRIBECK_VELOCITY = (0.1, 1e-3, 10.0)
_POWER = (0.5, 0.1, 0.9)
_SMOOTHED = '.coulomb_smoothing'


class NonlinearTerm(ABC):
    """A joint term whose columns depend on values of parameters."""

    @abstractmethod
    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Amplitudes and shapes; each shape has finite bounds above zero."""

    @abstractmethod
    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each amplitude, zero for shapes, shape ``(T, n, k)``."""

    @abstractmethod
    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``.

        Where the term stands; see :class:`~sysid_ros.dynamics.terms.JointTerm`.
        """

    @abstractmethod
    def at(self, robot: RobotModel, parameters: ParameterSet) -> Self:
        """The term at the values of a robot's parameters; itself if it stands there."""

    def shape_slopes(
        self, robot: RobotModel, parameters: ParameterSet, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Derivatives of the term's torque by shapes, shape ``(T, n)`` each, by name.

        Args:
            robot: The robot.
            parameters: All parameters, at the values where the term stands.
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
        """
        return {}

    def inertial_slopes(
        self, robot: RobotModel, parameters: ParameterSet, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> np.ndarray | None:
        """Derivatives of the term's torque by all inertial parameters, ``(T, n, 10 b)``.

        None where it does not depend on them; arguments as for :meth:`shape_slopes`.
        """
        return None

    def shapes(self, robot: RobotModel) -> tuple[str, ...]:
        """Names of the parameters the term's torque is not linear in."""
        return ()


@dataclass(frozen=True)
class ShapedFriction(NonlinearTerm):
    r"""Friction along joints or axes, an amplitude times a curve over velocity.

    :math:`\tau = w\,A\,c(w \cdot v;\, s)` with the amplitude A and the shapes s.

    Args:
        joints: Joints that have it; all by default.
        axes: Axes that several joints turn, which have it too.
        values: Values of shapes by name; those that are not given are initial ones.
    """

    joints: tuple[str, ...] | None = None
    axes: tuple[Axis, ...] = ()
    values: tuple[tuple[str, float], ...] = ()

    amplitude: ClassVar[str]
    rotational_unit: ClassVar[str] = 'N·m'
    linear_unit: ClassVar[str] = 'N'

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Amplitudes of all axes, then their shapes."""
        prior = self._prior(robot)
        amplitudes, shapes = [], []
        for name, weights in self.directions(robot):
            index = robot.joint_index(name) if name in robot.joint_names else None
            linear = index is not None and robot.joint_types[index] == 'prismatic'
            amplitudes.append(Parameter(
                f'{name}.{self.amplitude}', self.linear_unit if linear else self.rotational_unit,
                0.0 if index is None else float(prior[index]), lower=0.0,
            ))
            if not weights.any():
                raise ConfigurationError('the axis has no weights', where=name)
            shapes += self._own_shapes(name, 'm/s' if linear else 'rad/s')
        return amplitudes + shapes

    def shapes(self, robot: RobotModel) -> tuple[str, ...]:
        """Names of the shapes."""
        return tuple(
            shape.name for name, _ in self.directions(robot)
            for shape in self._own_shapes(name, '')
        )

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each amplitude, zero for shapes, shape ``(T, n, k)``."""
        weights = self.weights(robot)
        columns = np.zeros((*v.shape, len(weights) + len(self.shapes(robot))))
        columns[:, :, :len(weights)] = self.curves(robot, v)[:, None] * weights.T
        return columns

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        gradient = np.zeros((3, *v.shape))
        for k, (name, w) in enumerate(self.directions(robot)):
            along = (weights[:, :, k] @ w) * self._slope(name, v @ w)
            gradient[1] += along[:, None] * w
        return gradient

    def curves(self, robot: RobotModel, v: np.ndarray) -> np.ndarray:
        """The curve along every joint and axis, shape ``(T, k)``, with k amplitudes."""
        directions = self.directions(robot)
        curves = [self._curve(name, v @ w) for name, w in directions]
        return np.stack(curves, axis=1) if curves else np.zeros((len(v), 0))

    def slope_curves(self, robot: RobotModel, v: np.ndarray) -> list[SlopeCurve]:
        """Derivatives of the curves by shapes."""
        return [
            (shape, f'{name}.{self.amplitude}', slope, w)
            for name, w in self.directions(robot)
            for shape, slope in self._slopes(name, v @ w).items()
        ]

    def at(self, robot: RobotModel, parameters: ParameterSet) -> Self:
        """The term with the shapes that the parameters say."""
        values = tuple(
            (shape, parameters[shape])
            for name, _ in self.directions(robot) for shape in self._shapes_used(name)
        )
        return self if values == self.values else replace(self, values=values)

    def shape_slopes(
        self, robot: RobotModel, parameters: ParameterSet, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Derivatives of the term's torque by its shapes, shape ``(T, n)`` each, by name."""
        return {
            shape: parameters[amplitude] * slope[:, None] * w
            for shape, amplitude, slope, w in self.slope_curves(robot, v)
        }

    def sharpened(self) -> Self:
        """The term with the sign itself in place of an identified smoothing."""
        return replace(self, values=tuple(
            (shape, 0.0 if shape.endswith(_SMOOTHED) else value) for shape, value in self.values
        ))

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return np.zeros(len(robot.joint_names))

    def weights(self, robot: RobotModel) -> np.ndarray:
        """Directions of all joints and axes in joint space, shape ``(k, n)``."""
        weights = [w for _, w in self.directions(robot)]
        return np.array(weights).reshape(-1, len(robot.joint_names))

    def directions(self, robot: RobotModel) -> list[tuple[str, np.ndarray]]:
        """Names of joints and axes, each with its weights in joint space, shape ``(n,)``."""
        joints = driven_joints(robot) if self.joints is None else self.joints
        named = [(joint, ((joint, 1.0),)) for joint in joints] + list(self.axes)
        directions = []
        for name, weights in named:
            w = np.zeros(len(robot.joint_names))
            for joint, weight in weights:
                w[robot.joint_index(joint)] = weight
            directions.append((name, w))
        return directions

    def _value(self, shape: str, initial: float) -> float:
        return dict(self.values).get(shape, initial)

    def _own_shapes(self, name: str, unit: str) -> list[Parameter]:
        raise TypeError(f'{type(self).__name__} has no shapes')

    def _shapes_used(self, name: str) -> tuple[str, ...]:
        return tuple(shape.name for shape in self._own_shapes(name, ''))

    def _curve(self, name: str, speed: np.ndarray) -> np.ndarray:
        raise TypeError(f'{type(self).__name__} has no curve')

    def _slope(self, name: str, speed: np.ndarray) -> np.ndarray:
        """Derivative of the curve by the speed, zero where it has none."""
        raise TypeError(f'{type(self).__name__} has no slope')

    def _slopes(self, name: str, speed: np.ndarray) -> dict[str, np.ndarray]:
        """Derivatives of the curve by its shapes."""
        raise TypeError(f'{type(self).__name__} has no slopes')


@dataclass(frozen=True)
class SmoothCoulombFriction(ShapedFriction):
    r"""Dry friction whose sign is smoothed over an identified velocity.

    :math:`c = \tanh(\dot z / v_0)`; the prior of the amplitude is ``<dynamics friction>``.
    """

    amplitude = 'coulomb_friction'

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return described_dynamics(robot, 'friction')

    def _own_shapes(self, name: str, unit: str) -> list[Parameter]:
        return [Parameter(smoothing_of(name), unit, *_SMOOTHING)]

    def _curve(self, name: str, speed: np.ndarray) -> np.ndarray:
        return smooth_sign(speed, shared_smoothing(self, name))

    def _slope(self, name: str, speed: np.ndarray) -> np.ndarray:
        return smooth_sign_slope(speed, shared_smoothing(self, name))

    def _slopes(self, name: str, speed: np.ndarray) -> dict[str, np.ndarray]:
        return {smoothing_of(name): slope_by_smoothing(speed, shared_smoothing(self, name))}


@dataclass(frozen=True)
class StribeckFriction(ShapedFriction):
    r"""What dry friction has more at low speed, beside the Coulomb friction of the axis.

    :math:`c = \mathrm{s}(\dot z)\,\exp(-|\dot z / v_s|^\delta)` with the sign s smoothed as
    that of Coulomb friction (Armstrong-Hélouvry, Dupont and Canudas de Wit 1994).

    Args:
        smoothing: Velocity in [rad/s] or [m/s] over which the sign is smoothed; None where
            it is the identified one of :class:`SmoothCoulombFriction` on the same axis.
        exponent: The exponent δ, where it is not identified.
        identify_exponent: Whether δ is a shape, too, between 0.5 and 2.5.
    """

    smoothing: float | None = 0.0
    exponent: float = 2.0
    identify_exponent: bool = False

    amplitude = 'stribeck_friction'

    def sharpened(self) -> Self:
        """The term with the sign itself, whether its smoothing is given or identified."""
        term = super().sharpened()
        return replace(term, smoothing=0.0) if self.smoothing else term

    def _own_shapes(self, name: str, unit: str) -> list[Parameter]:
        shapes = [Parameter(f'{name}.stribeck_velocity', unit, *_STRIBECK_VELOCITY)]
        if self.identify_exponent:
            shapes.append(Parameter(f'{name}.stribeck_exponent', '', self.exponent, 0.5, 2.5))
        return shapes

    def _shapes_used(self, name: str) -> tuple[str, ...]:
        own = super()._shapes_used(name)
        return own if self.smoothing is not None else (*own, smoothing_of(name))

    def _sign(self, name: str, speed: np.ndarray) -> np.ndarray:
        return smooth_sign(speed, shared_smoothing(self, name))

    def _decay(self, name: str, speed: np.ndarray) -> tuple[np.ndarray, float, float]:
        """|v / v_s|, v_s and the exponent."""
        velocity = self._value(f'{name}.stribeck_velocity', _STRIBECK_VELOCITY[0])
        exponent = self._value(f'{name}.stribeck_exponent', self.exponent)
        return np.abs(speed) / velocity, velocity, exponent

    def _curve(self, name: str, speed: np.ndarray) -> np.ndarray:
        ratio, _, exponent = self._decay(name, speed)
        return self._sign(name, speed) * np.exp(-ratio**exponent)

    def _slope(self, name: str, speed: np.ndarray) -> np.ndarray:
        ratio, velocity, exponent = self._decay(name, speed)
        # |v|^(δ - 1) has no value at zero where δ < 1; there the sign is zero, too.
        moving = np.where(ratio > 0.0, ratio, 1.0)
        decay = exponent * moving ** (exponent - 1.0) / velocity * np.sign(speed)
        rise = smooth_sign_slope(speed, shared_smoothing(self, name))
        return (rise - self._sign(name, speed) * decay) * np.exp(-ratio**exponent)

    def _slopes(self, name: str, speed: np.ndarray) -> dict[str, np.ndarray]:
        ratio, velocity, exponent = self._decay(name, speed)
        power = ratio**exponent
        curve = self._sign(name, speed) * np.exp(-power)
        slopes = {f'{name}.stribeck_velocity': curve * exponent * power / velocity}
        if self.identify_exponent:
            logarithm = np.log(np.where(ratio > 0.0, ratio, 1.0))
            slopes[f'{name}.stribeck_exponent'] = -curve * power * logarithm
        if self.smoothing is None:
            smoothing = shared_smoothing(self, name)
            slopes[smoothing_of(name)] = slope_by_smoothing(speed, smoothing) * np.exp(-power)
        return slopes


@dataclass(frozen=True)
class PowerLawFriction(ShapedFriction):
    r"""Viscous friction that grows ever less with speed, :math:`c = s(\dot z)|\dot z|^\alpha`.

    Lubricants that thin under shear show it; alpha is identified between 0.1 and 0.9.
    """

    amplitude = 'power_friction'
    rotational_unit = 'N·m·(s/rad)^α'
    linear_unit = 'N·(s/m)^α'

    def _own_shapes(self, name: str, unit: str) -> list[Parameter]:
        return [Parameter(f'{name}.power_exponent', '', *_POWER)]

    def _curve(self, name: str, speed: np.ndarray) -> np.ndarray:
        exponent = self._value(f'{name}.power_exponent', _POWER[0])
        return np.sign(speed) * np.abs(speed) ** exponent

    def _slope(self, name: str, speed: np.ndarray) -> np.ndarray:
        exponent = self._value(f'{name}.power_exponent', _POWER[0])
        size = np.abs(speed)
        moving = np.where(size > 0.0, size, np.inf)
        return exponent * moving ** (exponent - 1.0)

    def _slopes(self, name: str, speed: np.ndarray) -> dict[str, np.ndarray]:
        size = np.abs(speed)
        logarithm = np.log(np.where(size > 0.0, size, 1.0))
        return {f'{name}.power_exponent': self._curve(name, speed) * logarithm}


def smoothing_of(name: str) -> str:
    """Name of the smoothing velocity of a joint's or axis' dry friction."""
    return f'{name}{_SMOOTHED}'


def slope_by_smoothing(v: np.ndarray, smoothing: float) -> np.ndarray:
    """Derivative of ``tanh(v / smoothing)`` by the smoothing."""
    ratio = v / smoothing
    # 1 - tanh² loses all digits where the sign is settled, without harm: it is zero there.
    return -ratio / smoothing * (1.0 - np.tanh(ratio) ** 2)


def shared_smoothing(term: NonlinearTerm, name: str) -> float:
    """Velocity that the sign of a term's dry friction is smoothed over, given or identified.

    Args:
        term: A term with values of shapes, and a smoothing where it may be given.
        name: Joint or axis.
    """
    given: float | None = getattr(term, 'smoothing', None)
    if given is not None:
        return given
    values: tuple[tuple[str, float], ...] = getattr(term, 'values', ())
    return dict(values).get(smoothing_of(name), _SMOOTHING[0])
