r"""Joint terms that are linear in their amplitudes only, given values of other parameters.

Those others are shapes of a friction curve, or, where friction grows with the load, the
inertial parameters. A nonlinear term stands at certain values and ``at`` moves it to others.
Its torque has as derivatives its columns and, beside them, its slopes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from sysid_ros.mechanics.joint_terms.law import (
    MOST_SHAPES,
    Law,
    LawColumns,
    Shape,
    law_by_constant,
)
from sysid_ros.mechanics.joint_terms.term import (
    DescribedTerm,
    JointTerm,
    LawTerm,
    direction,
    driven_joints,
    unit_at,
)
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter, ParameterSet

#: A direction in joint space by name: pairs of joint and weight.
Axis = tuple[str, tuple[tuple[str, float], ...]]

#: Derivative of a friction curve: the names of its shape and of its amplitude, the derivative
#: ``(T,)``, and the weights ``(n,)`` of the joint or axis.
SlopeCurve = tuple[str, str, np.ndarray, np.ndarray]


class ShapeParameter(NamedTuple):
    """A constant of a law that can be identified.

    Attributes:
        field: Its name behind that of a joint or axis.
        prior: Where the search for it begins.
        lower: Least value, above zero.
        upper: Largest value.
        is_velocity: Whether it is in [rad/s] or [m/s]; else it has no unit.
    """

    field: str
    prior: float
    lower: float
    upper: float
    is_velocity: bool = False


class ColumnsOfConstants(NamedTuple):
    """Columns by one law, with the parameters that constants of the law are.

    Attributes:
        columns: The columns.
        constants: Names of the parameters, empty for a constant that is given.
        derivative: Whether they are derivatives by a constant, and no torque.
        by_load: Whether the law is of the torque per unit of the size of the joint's load, the
            rigid-body torque.
    """

    columns: LawColumns
    constants: tuple[str, ...] = ()
    derivative: bool = False
    by_load: bool = False


class NonlinearTerm(DescribedTerm, JointTerm):
    """A joint term whose columns depend on values of parameters, where the term stands.

    Each shape among its parameters has finite bounds above zero, and a column of zeros.
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

    def constant_columns(self, robot: RobotModel) -> list[ColumnsOfConstants] | None:
        """Columns by laws, and columns of derivatives by the constants that are identified.

        None where laws do not say them, or a constant is a parameter of another term, too.
        """
        return None


@dataclass(frozen=True)
class ShapedFriction(LawTerm, NonlinearTerm):
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

    law: ClassVar[Law]
    #: The constants of the law, in their order.
    shape_parameters: ClassVar[tuple[ShapeParameter, ...]]
    #: Those that another term of the joint or axis brings as parameters.
    shared: ClassVar[tuple[str, ...]] = ()
    rotational_unit: ClassVar[str] = 'N·m'
    linear_unit: ClassVar[str] = 'N'

    def __init_subclass__(cls) -> None:
        """The one law is all laws, and its constants are named as shapes."""
        cls.laws = (cls.law,)
        cls.shape_fields = tuple(one.field for one in cls.shape_parameters)

    @property
    def given(self) -> dict[str, float]:
        """Constants of the law that are not to be identified, by field."""
        return {}

    @property
    def amplitude(self) -> str:
        """Field of the amplitude."""
        return self.fields[0]

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Amplitudes of all axes, then their shapes."""
        prior = self._prior(robot)
        amplitudes, shapes = [], []
        for name, _ in self.directions(robot):
            known = prior[robot.joint_index(name)] if name in robot.joint_names else 0.0
            amplitudes.append(Parameter(
                f'{name}.{self.amplitude}',
                unit_at(robot, name, self.rotational_unit, self.linear_unit), float(known),
                lower=0.0))
            velocity = unit_at(robot, name, 'rad/s', 'm/s')
            shapes += [
                Parameter(
                    f'{name}.{one.field}', velocity if one.is_velocity else '', *one[1:4])
                for one in self._own_shapes]
        return amplitudes + shapes

    def shapes(self, robot: RobotModel) -> tuple[str, ...]:
        """Names of the shapes."""
        return tuple(
            f'{name}.{one.field}' for name, _ in self.directions(robot)
            for one in self._own_shapes)

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """A column for each joint and axis; shapes, whose columns are zero, come behind."""
        columns = []
        for k, (name, w) in enumerate(self.directions(robot)):
            alone = np.flatnonzero(w) if name in robot.joint_names else None
            columns.append(LawColumns(self.law, self._shape(name), np.array([k]), w[None], alone))
        return columns

    def constant_columns(self, robot: RobotModel) -> list[ColumnsOfConstants] | None:
        """As for all; None of a class with columns of its own, or that shares a constant."""
        if not self.says_all():
            return None
        found, derivatives = [], []
        place = len(self.directions(robot))
        for part, (name, _) in zip(self.law_columns(robot), self.directions(robot), strict=True):
            names = tuple(
                '' if one.field in self.given else f'{name}.{one.field}'
                for one in self.shape_parameters)
            if any(one.field in self.shared and own
                   for one, own in zip(self.shape_parameters, names, strict=True)):
                return None
            found.append(ColumnsOfConstants(part, names))
            unused = ('',) * (MOST_SHAPES - 1 - len(names))
            for number, own in enumerate(names):
                if own:
                    derivatives.append(ColumnsOfConstants(
                        part._replace(
                            law=law_by_constant(self.law, number), place=np.array([place])),
                        (*names, *unused, f'{name}.{self.amplitude}'), derivative=True))
                    place += 1
        return found + derivatives

    def curves(self, robot: RobotModel, v: np.ndarray) -> np.ndarray:
        """The curve along every joint and axis, shape ``(T, k)``, with k amplitudes."""
        curves = [
            self.law.value(v @ w, self._shape(name)) for name, w in self.directions(robot)]
        return np.stack(curves, axis=1) if curves else np.zeros((len(v), 0))

    def slope_curves(self, robot: RobotModel, v: np.ndarray) -> list[SlopeCurve]:
        """Derivatives of the curves by shapes."""
        found = []
        for name, w in self.directions(robot):
            shape, speed = self._shape(name), v @ w
            value = self.law.value(speed, shape)
            found += [
                (f'{name}.{one.field}', f'{name}.{self.amplitude}', slope(speed, value, shape), w)
                for one, slope in zip(self.shape_parameters, self.law.by_shape, strict=True)
                if one.field not in self.given]
        return found

    def at(self, robot: RobotModel, parameters: ParameterSet) -> Self:
        """The term with the shapes that the parameters say."""
        values = tuple(
            (shape, parameters[shape])
            for name, _ in self.directions(robot)
            for one in self.shape_parameters if one.field not in self.given
            for shape in (f'{name}.{one.field}',))
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
        if self.law.smoothing is None:
            return self
        sharp = self.shape_parameters[self.law.smoothing].field
        return replace(self, values=tuple(
            (shape, 0.0 if shape.endswith(f'.{sharp}') else value)
            for shape, value in self.values))

    def weights(self, robot: RobotModel) -> np.ndarray:
        """Directions of all joints and axes in joint space, shape ``(k, n)``."""
        weights = [w for _, w in self.directions(robot)]
        return np.array(weights).reshape(-1, len(robot.joint_names))

    def directions(self, robot: RobotModel) -> list[tuple[str, np.ndarray]]:
        """Names of joints and axes, each with its weights in joint space, shape ``(n,)``."""
        joints = driven_joints(robot) if self.joints is None else self.joints
        named = [(joint, ((joint, 1.0),)) for joint in joints] + list(self.axes)
        return [(name, direction(robot, name, weights)) for name, weights in named]

    @property
    def _own_shapes(self) -> list[ShapeParameter]:
        """Constants of the law that are parameters of this term."""
        return [one for one in self.shape_parameters
                if one.field not in self.given and one.field not in self.shared]

    def _shape(self, name: str) -> Shape:
        """Constants of the law of a joint or axis where the term stands."""
        values = dict(self.values)
        return tuple(
            self.given.get(one.field, values.get(f'{name}.{one.field}', one.prior))
            for one in self.shape_parameters)

    def _prior(self, robot: RobotModel) -> np.ndarray:
        return np.zeros(len(robot.joint_names))

    def shape_count(self, robot: RobotModel) -> int:
        """How many columns of shapes there are behind those by laws."""
        return len(self.shapes(robot))
