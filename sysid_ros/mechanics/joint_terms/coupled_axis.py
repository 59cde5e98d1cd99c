r"""Drives that turn with several joints, as in coupled wrists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import (
    CoulombFriction,
    check_smoothing,
    fixed_smoothing,
    named_axes,
)
from sysid_ros.mechanics.joint_terms.law import LawColumns
from sysid_ros.mechanics.joint_terms.term import JointTerm, LawTerm, TermKeys, direction
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import Parameter
from sysid_ros.settings import StrictSettings


class CoupledAxisSettings(StrictSettings):
    """A drive that turns with several joints; see :class:`CoupledAxis`.

    Attributes:
        name: Name of the axis.
        weights: Weight of each joint in the axis' angle.
    """

    name: str
    weights: dict[str, float]


@dataclass(frozen=True)
class CoupledAxis(LawTerm):
    r"""A drive that turns with several joints, :math:`z = w \cdot q`, as in coupled wrists.

    Its friction and inertia act along z, hence on every joint in w:
    :math:`\tau = w\,(I_a \ddot z + f_v \dot z + f_c\,\mathrm{sign}\,\dot z)`.

    Args:
        name: Name of the axis, first part of its parameters' names.
        weights: Pairs of joint and weight in z.
        smoothing: As for :class:`~sysid_ros.mechanics.joint_terms.coulomb.CoulombFriction`.
        dry: Whether it has Coulomb friction; False where another term brings it.
    """

    name: str
    weights: tuple[tuple[str, float], ...]
    smoothing: float = 0.0
    dry: bool = True

    keys = {'coupled_axes': (tuple[CoupledAxisSettings, ...], Field(
        (), description='Drives that turn with several joints.'))}

    def __post_init__(self) -> None:
        check_smoothing(self.smoothing)

    @property
    def _terms(self) -> tuple[type[Armature | ViscousFriction | CoulombFriction], ...]:
        return (Armature, ViscousFriction, *((CoulombFriction,) if self.dry else ()))

    def parameters(self, robot: RobotModel) -> list[Parameter]:
        """Armature, viscous and Coulomb friction of the axis."""
        direction(robot, self.name, self.weights)
        return [
            Parameter(f'{self.name}.{term.fields[0]}', term.rotational_unit, lower=0.0)
            for term in self._terms]

    def law_columns(self, robot: RobotModel) -> list[LawColumns]:
        """One column for each of them."""
        w = direction(robot, self.name, self.weights)[None]
        shapes = ((), (), (self.smoothing,))
        return [
            LawColumns(term.law, shape, np.array([k]), w)
            for k, (term, shape) in enumerate(zip(self._terms, shapes, strict=False))]

    @classmethod
    def from_settings(cls, settings: TermKeys, robot: RobotModel) -> list[JointTerm]:
        """One for each axis; an identified smoothing comes with friction of its own."""
        smoothing = fixed_smoothing(settings)
        return [
            cls(name, weights, smoothing or 0.0, dry=smoothing is not None)
            for name, weights in named_axes(settings)]
