"""What a joint term is: torques at the joints beside rigid-body dynamics.

A term adds columns to the regressor and names for them. What its columns are made of is said by
its laws; friction, inertia of the drive and offsets are terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.law import Law, LawColumns, Shape
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter
from sysid_ros.settings import StrictSettings

#: Joints that have a term: all of them, or some by name.
JointSelection = Literal['all'] | tuple[str, ...]


class TermKeys(StrictSettings):
    """Keys of the ``robot: terms:`` section, which joint terms bring; see ``TermSettings``."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Any key of a registered term."""


class JointTerm(Protocol):
    """A joint term as columns of the torque regressor."""

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


class DescribedTerm:
    """Names of a joint term in settings files and robot descriptions.

    Attributes:
        fields: What its amplitudes are called behind the name of their joint or axis.
        shape_fields: What its shapes are called, parameters that it is not linear in.
        keys: Keys of the ``robot: terms:`` section, each with its type and default.
        friction: Whether it is friction.
        described: What a description as this package reads it calls the term: an attribute of
            :class:`~sysid_ros.robot.description.described.DescribedJoint`; empty for none.
        urdf: The attribute of ``<dynamics>`` in a URDF, empty where it has no place.
        mjcf: The attribute of ``<joint>`` in an MJCF, empty where it has no place.
        where_described: Whether settings that leave the key out mean the joints whose description
            has the term.
        laws: The laws that it brings.
    """

    fields: ClassVar[tuple[str, ...]] = ()
    shape_fields: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[Mapping[str, tuple[Any, Any]]] = {}
    friction: ClassVar[bool] = False
    described: ClassVar[str] = ''
    urdf: ClassVar[str] = ''
    mjcf: ClassVar[str] = ''
    where_described: ClassVar[bool] = False
    laws: ClassVar[tuple[Law, ...]] = ()

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """The terms that settings ask for, none or more.

        Args:
            settings: The ``robot: terms:`` section.
            robot: The robot, for the joints that ``all`` stands for.

        Raises:
            ConfigurationError: They contradict themselves.
        """
        selection = getattr(settings, next(iter(cls.keys)))
        return [cls(as_joints(selection))] if selection else []  # type: ignore[call-arg, list-item]

    @classmethod
    def check_settings(cls, settings: TermKeys) -> None:
        """Refuse settings that no robot could have.

        Raises:
            ConfigurationError: What contradicts what.
        """


class LawTerm(DescribedTerm, JointTerm):
    """A joint term whose columns are by laws."""

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """The columns, law by law."""
        raise TypeError(f'{type(self).__name__} has no laws')

    def columns(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Torque per unit of each parameter, zero for shapes, shape ``(T, n, k)``."""
        parts = self.law_columns(robot)
        count = sum(len(part.place) for part in parts) + self.shape_count(robot)
        columns = np.zeros((*q.shape, count))
        for part in parts:
            part.fill((q, v, a), columns)
        return columns

    def gradient(
        self, robot: RobotModel, q: np.ndarray, v: np.ndarray, a: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the weighted columns with respect to q, v and a, ``(3, T, n)``."""
        gradient = np.zeros((3, *q.shape))
        for part in self.law_columns(robot):
            part.add_gradient((q, v, a), weights, gradient)
        return gradient

    def says_all(self) -> bool:
        """Whether the laws say all of the term; a class of its own may have other columns."""
        return type(self).columns is LawTerm.columns and type(self).gradient is LawTerm.gradient

    def shape_count(self, robot: RobotModel) -> int:
        """How many columns of shapes there are behind those by laws."""
        return 0


@dataclass(frozen=True)
class PerJoint(LawTerm):
    """One parameter for each of some joints, acting on that joint alone, by one law.

    Without names these are the driven joints, and passive ones of closed loops that the
    description says to have it.

    Args:
        joints: Joints that have it.
    """

    joints: tuple[str, ...] | None = None

    law: ClassVar[Law]
    rotational_unit: ClassVar[str]
    linear_unit: ClassVar[str]
    lower: ClassVar[float] = -np.inf

    def __init_subclass__(cls) -> None:
        """The one law is all laws."""
        cls.laws = (cls.law,)

    @property
    def shape(self) -> Shape:
        """Constants of the law."""
        return ()

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """One parameter per joint, with the prior of the robot description."""
        prior = self._prior(robot)
        return [
            Parameter(
                f'{joint}.{self.fields[0]}',
                unit_at(robot, joint, self.rotational_unit, self.linear_unit),
                float(prior[robot.joint_index(joint)]), self.lower)
            for joint in self._joints(robot)]

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """All columns, by the one law."""
        return [LawColumns.of_joints(self.law, self.shape, robot, self._joints(robot))]

    def _joints(self, robot: RobotModel) -> tuple[str, ...]:
        if self.joints is not None:
            return self.joints
        known = self._prior(robot) if robot.passive_joints else np.zeros(0)
        described = {
            joint for joint in robot.passive_joints if known[robot.joint_index(joint)] != 0.0}
        driven = driven_joints(robot)
        return tuple(name for name in robot.joint_names if name in driven or name in described)

    def _prior(self, robot: RobotModel) -> np.ndarray:
        if self.described:
            return described_dynamics(robot, self.described)
        return np.zeros(len(robot.joint_names))


def driven_joints(robot: RobotModel) -> tuple[str, ...]:
    """Joints that motors drive: not those a floating base moves by, nor passive ones of loops."""
    others = {*robot.base_joints, *robot.passive_joints}
    return tuple(name for name in robot.joint_names if name not in others)


def unit_at(robot: RobotModel, name: str, rotational: str, linear: str) -> str:
    """The unit of a joint's parameter by the kind of joint; axes of several joints turn."""
    slides = name in robot.joint_names and (
        robot.joint_types[robot.joint_index(name)] == 'prismatic')
    return linear if slides else rotational


def direction(
    robot: RobotModel, name: str, weights: tuple[tuple[str, float], ...]
) -> np.ndarray:
    """Weights of joints as a direction in joint space, shape ``(n,)``.

    Args:
        robot: The robot.
        name: Of the axis.
        weights: Pairs of joint and weight.

    Raises:
        ConfigurationError: All weights are zero.
    """
    w = np.zeros(len(robot.joint_names))
    for joint, weight in weights:
        w[robot.joint_index(joint)] = weight
    if not w.any():
        raise ConfigurationError(
            'the axis has no weights', where=name,
            fix='Say by how much it turns with each joint, as weights: {elbow: 1.0, wrist: -0.5}')
    return w


def as_joints(selection: JointSelection) -> tuple[str, ...] | None:
    """Joints by name, None for all."""
    return None if selection == 'all' else selection


def without(
    selection: JointSelection, others: JointSelection, robot: RobotModel
) -> JointSelection:
    """Joints that are not among others."""
    if not others:
        return selection
    named = driven_joints(robot) if selection == 'all' else selection
    return () if others == 'all' else tuple(name for name in named if name not in others)


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
