"""Friction models that a robot's joint terms can be given, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.joint_terms.terms import joint_terms
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import StrictSettings

FrictionModel = Literal[
    'viscous', 'dry', 'coulomb', 'asymmetric', 'smooth_coulomb', 'power', 'stribeck', 'load',
    'power_load', 'stribeck_load',
]

_SMOOTH: Mapping[str, Any] = {'coulomb_smoothing': 'identified', 'asymmetric_coulomb': ()}
# What each candidate changes in the joint terms of the settings. Friction beyond Coulomb's is on
# the joints that have Coulomb friction.
_CHANGES: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    'viscous': ({'coulomb_friction': ()}, ()),
    'dry': ({'viscous_friction': ()}, ()),
    'coulomb': ({}, ()),
    'asymmetric': ({}, ('asymmetric_coulomb',)),
    'smooth_coulomb': (_SMOOTH, ()),
    'power': (_SMOOTH, ('power_friction',)),
    'stribeck': (_SMOOTH, ('stribeck_friction',)),
    'load': (_SMOOTH, ('load_friction',)),
    'power_load': (_SMOOTH, ('power_friction', 'load_friction')),
    'stribeck_load': (_SMOOTH, ('stribeck_friction', 'load_friction')),
}


class FrictionSelection(StrictSettings):
    """The ``fit: friction_selection:`` section of a settings file.

    Attributes:
        candidates: Friction models to choose from: ``coulomb`` (as the joint terms say),
            ``viscous`` (that without dry friction), ``dry`` (that without viscous friction),
            ``asymmetric``, ``smooth_coulomb`` (identified smoothing), and with that
            smoothing ``power``, ``stribeck``, ``load``, ``power_load`` and ``stribeck_load``.
        folds: Stretches of time, each held out once for either kind of fold.
        gap: Time beside a held-out stretch that is not used at all in [s].
    """

    candidates: tuple[FrictionModel, ...] = Field(
        default=('viscous', 'dry', 'coulomb', 'smooth_coulomb', 'power', 'stribeck', 'load',
                 'power_load', 'stribeck_load'),
        min_length=1,
    )
    folds: int = Field(default=5, ge=2)
    gap: float = Field(default=0.5, ge=0.0)


def friction_candidate(terms: TermSettings, name: FrictionModel) -> TermSettings:
    """Joint terms with another friction model.

    Args:
        terms: The joint terms of the settings.
        name: The friction model.
    """
    changes, selections = _CHANGES[name]
    # Friction beyond damping and Coulomb's is that of the candidate alone.
    plain: dict[str, Any] = {
        next(iter(term.keys)): () for term in joint_terms()
        if term.friction and term.keys and not term.urdf}
    chosen: dict[str, Any] = {key: terms.coulomb_friction for key in selections}
    if 'stribeck_friction' in chosen and terms.coulomb_friction != 'all':
        axes = tuple(axis.name for axis in terms.coupled_axes)
        chosen['stribeck_friction'] = (*terms.coulomb_friction, *axes)
    if terms.coulomb_smoothing == 'identified' and not changes:
        chosen['coulomb_smoothing'] = 0.0
    # Without what is unset: the description fills that in.
    return TermSettings.model_validate(
        terms.model_dump(exclude_unset=True) | plain | dict(changes) | chosen
    )


def leaves_out_described(name: FrictionModel, robot: RobotModel) -> bool:
    """Whether a friction model is without a friction that the robot's description has.

    Args:
        name: The friction model.
        robot: The robot.
    """
    without = [key for key, value in _CHANGES[name][0].items() if value == ()]
    return any(
        bool(described_dynamics(robot.opened, term.described).any()) for term in joint_terms()
        if term.friction and term.described and set(term.keys) & set(without))
